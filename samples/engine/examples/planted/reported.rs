//! Faults that people reported of the netcode of games and of libraries that games use, who has them,
//! and how they play so that it shows.

use netreel_sample_engine::{Fault, Mode, Peer, Topology};

use super::fault::{self, Planted};

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);

const P2P: Topology = Topology::PeerToPeer;
const SERVER: Topology = Topology::ClientServer;

const fn report(
    fault: Fault,
    at: Peer,
    mode: Mode,
    topology: Topology,
    source: &'static str,
) -> (Planted, &'static str) {
    (fault::plant(fault, at, mode, topology, None), source)
}

/// All of them, each with the public report: repository and number.
pub const REPORTED: [(Planted, &str); 20] = {
    use Mode::{Host, Owner};
    [
        report(
            Fault::IgnoreLateAcks,
            A,
            Owner,
            P2P,
            "cBournhonesque/lightyear#1684",
        ),
        report(Fault::ResendOldNumber, A, Owner, P2P, "whirvis/JRakNet#17"),
        report(Fault::EmptyCount, A, Owner, P2P, "Sandertv/go-raknet#1"),
        report(
            Fault::NoKeepAlive,
            A,
            Owner,
            P2P,
            "DMeville/Steamworks-P2P-Plus#3",
        ),
        report(
            Fault::TimeOutShort,
            HOST,
            Owner,
            P2P,
            "TheRandomLabs/RandomPatches#131",
        ),
        report(
            Fault::DropEarly,
            A,
            Owner,
            P2P,
            "lidgren/lidgren-network-gen3#62",
        ),
        report(
            Fault::StreamWrapsEarly,
            A,
            Owner,
            P2P,
            "kinnay/NintendoClients#14",
        ),
        report(
            Fault::DropAtFullQueue,
            A,
            Owner,
            P2P,
            "IntQuant/noita_entangled_worlds#515",
        ),
        report(
            Fault::DeliverAsTheyCome,
            HOST,
            Host,
            SERVER,
            "whirvis/JRakNet#1",
        ),
        report(
            Fault::RefuseFullPackets,
            A,
            Owner,
            P2P,
            "mas-bandwidth/reliable#27",
        ),
        report(Fault::ThrottleFalls, A, Owner, P2P, "blue-nebula/base#241"),
        report(
            Fault::IdAgain,
            A,
            Owner,
            P2P,
            "Unity-Technologies/com.unity.netcode.gameobjects#214",
        ),
        report(
            Fault::CreateToJoined,
            A,
            Owner,
            P2P,
            "BeardedManStudios/ForgeNetworkingRemastered#270",
        ),
        report(
            Fault::HiddenUpdated,
            A,
            Owner,
            P2P,
            "Unity-Technologies/com.unity.netcode.gameobjects#915",
        ),
        report(Fault::AckOfNewest, A, Owner, P2P, "luanti-org/luanti#3713"),
        report(
            Fault::AckOfAllBefore,
            HOST,
            Owner,
            SERVER,
            "cBournhonesque/lightyear#740",
        ),
        report(
            Fault::WrongDirtyField,
            A,
            Owner,
            P2P,
            "MirrorNetworking/Mirror#3458",
        ),
        report(
            Fault::FirstObjectsOnly,
            HOST,
            Owner,
            SERVER,
            "ddnet/ddnet#4379",
        ),
        report(
            Fault::RelayBack,
            HOST,
            Owner,
            SERVER,
            "Unity-Technologies/com.unity.netcode.gameobjects#2851",
        ),
        report(
            Fault::NegativesOff,
            HOST,
            Owner,
            SERVER,
            "FirstGearGames/FishNet#1067",
        ),
    ]
};

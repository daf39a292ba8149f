//! Faults that people reported of the netcode of games and of libraries that games use, who has them,
//! and how they play so that it shows.

use netreel_sample_engine::Fault::*;
use netreel_sample_engine::Mode::{Host, Owner};

use super::fault::{HOST, P2P, Planted, SERVER, at_a, at_server, plant};

/// All of them, each with the public report: repository and number.
pub const REPORTED: [(Planted, &str); 20] = [
    (at_a(IgnoreLateAcks), "cBournhonesque/lightyear#1684"),
    (at_a(ResendOldNumber), "whirvis/JRakNet#17"),
    (at_a(EmptyCount), "Sandertv/go-raknet#1"),
    (at_a(NoKeepAlive), "DMeville/Steamworks-P2P-Plus#3"),
    (
        plant(TimeOutShort, HOST, Owner, P2P),
        "TheRandomLabs/RandomPatches#131",
    ),
    (at_a(DropEarly), "lidgren/lidgren-network-gen3#62"),
    (at_a(StreamWrapsEarly), "kinnay/NintendoClients#14"),
    (at_a(DropAtFullQueue), "IntQuant/noita_entangled_worlds#515"),
    (
        plant(DeliverAsTheyCome, HOST, Host, SERVER),
        "whirvis/JRakNet#1",
    ),
    (at_a(RefuseFullPackets), "mas-bandwidth/reliable#27"),
    (at_a(ThrottleFalls), "blue-nebula/base#241"),
    (
        at_a(IdAgain),
        "Unity-Technologies/com.unity.netcode.gameobjects#214",
    ),
    (
        at_a(CreateToJoined),
        "BeardedManStudios/ForgeNetworkingRemastered#270",
    ),
    (
        at_a(HiddenUpdated),
        "Unity-Technologies/com.unity.netcode.gameobjects#915",
    ),
    (at_a(AckOfNewest), "luanti-org/luanti#3713"),
    (at_server(AckOfAllBefore), "cBournhonesque/lightyear#740"),
    (at_a(WrongDirtyField), "MirrorNetworking/Mirror#3458"),
    (at_server(FirstObjectsOnly), "ddnet/ddnet#4379"),
    (
        at_server(RelayBack),
        "Unity-Technologies/com.unity.netcode.gameobjects#2851",
    ),
    (at_server(NegativesOff), "FirstGearGames/FishNet#1067"),
];

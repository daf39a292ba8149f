//! Faults, who has them, how they play so that it shows, and the rule of `netreel check` that is meant
//! to find it.

use netreel_sample_engine::{Fault, Mode, Peer, Topology};

use super::fault::{self, Planted};

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);
const X: Peer = Peer(3);

const P2P: Topology = Topology::PeerToPeer;
const SERVER: Topology = Topology::ClientServer;

/// The wire of the sessions: that of the samples, and who is host, which all know when they connect.
pub fn wire() -> String {
    let boxes = include_str!("../../../wires/boxes.wire");
    let field = "    topology: Topology;\n";
    let host = format!("{field}    let host: u4 = 0 @host;             // HOST is 0\n");
    boxes.replacen(field, &host, 1)
}

/// What rules go by that find nothing without a bound.
pub const BOUNDS: &str = "\
[head-of-line-wait]
longest = \"1900ms\"
[rtt-step]
highest = \"350ms\"
[tick-stall]
longest = \"500ms\"
";

const fn plant(
    fault: Fault,
    at: Peer,
    mode: Mode,
    topology: Topology,
    rule: &'static str,
) -> Planted {
    fault::plant(fault, at, mode, topology, Some(rule))
}

/// All of them.
pub const TABLE: [Planted; 46] = {
    use Mode::{Host, Owner};
    [
        plant(Fault::AckUnreceived, A, Owner, P2P, "ack-of-unreceived"),
        plant(Fault::AckAhead, A, Owner, P2P, "ack-of-unreceived"),
        plant(Fault::ForgetAck, A, Owner, P2P, "never-acked"),
        plant(Fault::SequenceTwice, A, Owner, P2P, "duplicate-sequence"),
        plant(Fault::SequenceBack, A, Owner, P2P, "duplicate-sequence"),
        plant(Fault::NeverResend, A, Owner, P2P, "reliable-not-delivered"),
        plant(Fault::ResendEveryTick, A, Owner, P2P, "resend-storm"),
        plant(Fault::ResendTimerShort, A, Owner, P2P, "resend-storm"),
        plant(Fault::IgnoreAcks, A, Owner, P2P, "reliable-stuck"),
        plant(Fault::NeverAck, A, Owner, P2P, "reliable-stuck"),
        plant(Fault::AcksStand, A, Owner, P2P, "reliable-stuck"),
        plant(
            Fault::FragmentIndexOff,
            A,
            Owner,
            P2P,
            "fragments-never-join",
        ),
        plant(Fault::ForgetCreate, A, Owner, P2P, "destroy-untold"),
        plant(Fault::DestroyTwice, A, Owner, P2P, "told-twice"),
        plant(Fault::RewriteResend, A, Owner, P2P, "copies-differ"),
        plant(Fault::UpdateTwice, A, Owner, P2P, "update-twice"),
        plant(Fault::UpdateUnowned, A, Owner, P2P, "update-unowned"),
        plant(Fault::OriginWrong, A, Owner, P2P, "origin-wrong"),
        plant(Fault::ForgetCreate, A, Owner, P2P, "objects-differ-at-rest"),
        plant(
            Fault::ForgetDestroy,
            A,
            Owner,
            P2P,
            "objects-differ-at-rest",
        ),
        plant(
            Fault::ForgetAnnounce,
            HOST,
            Host,
            P2P,
            "objects-differ-at-rest",
        ),
        plant(
            Fault::NeverDeliver,
            HOST,
            Host,
            SERVER,
            "objects-differ-at-rest",
        ),
        plant(
            Fault::RelayNoCreate,
            HOST,
            Owner,
            SERVER,
            "objects-differ-at-rest",
        ),
        plant(
            Fault::RelayNoDestroy,
            HOST,
            Owner,
            SERVER,
            "objects-differ-at-rest",
        ),
        plant(
            Fault::RelayNoMigrate,
            HOST,
            Owner,
            SERVER,
            "objects-differ-at-rest",
        ),
        plant(Fault::MisnameOwner, A, Owner, P2P, "objects-differ-at-rest"),
        plant(Fault::MisnameHeir, A, Owner, P2P, "objects-differ-at-rest"),
        plant(
            Fault::UpdateBeforeCreate,
            A,
            Owner,
            P2P,
            "update-before-create",
        ),
        plant(Fault::CounterNotRaised, HOST, Owner, P2P, "two-owners"),
        plant(Fault::DeliverTwice, HOST, Owner, SERVER, "told-twice"),
        plant(Fault::CreateTwice, A, Owner, P2P, "told-twice"),
        plant(Fault::MigrateTwice, A, Owner, P2P, "told-twice"),
        plant(Fault::RelayTwice, HOST, Owner, SERVER, "told-twice"),
        plant(Fault::ForgetLostUpdate, A, Owner, P2P, "values-differ"),
        plant(Fault::ForgetField, A, Owner, P2P, "values-differ"),
        plant(Fault::TailByte, A, Owner, P2P, "undecodable-packet"),
        plant(Fault::CutPacket, A, Owner, P2P, "undecodable-packet"),
        plant(Fault::ResendLate, A, Owner, P2P, "head-of-line-wait"),
        plant(Fault::HoldAcks, A, Owner, P2P, "rtt-step"),
        plant(Fault::AckUnsent, A, Owner, P2P, "ack-of-unsent"),
        plant(Fault::CounterFalls, HOST, Owner, P2P, "counter-falls"),
        plant(
            Fault::UpdateAfterDestroy,
            A,
            Owner,
            P2P,
            "update-after-destroy",
        ),
        plant(Fault::SkipPlace, A, Owner, P2P, "stream-gap"),
        plant(Fault::TakeUnasked, A, Owner, P2P, "migrate-not-from-host"),
        plant(Fault::Stall, A, Owner, P2P, "tick-stall"),
        plant(Fault::Stall, HOST, Host, SERVER, "tick-stall"),
    ]
};

/// Faults of which no packet tells: they show where the games say what they believe
/// (`SimWorldStart::says_beliefs`).
pub const SAID: [Planted; 4] = {
    use Mode::Owner;
    [
        plant(Fault::SwallowUpdates, A, Owner, P2P, "belief-differs"),
        plant(Fault::NeverDeliver, A, Owner, P2P, "belief-differs"),
        plant(Fault::DeliverTwice, A, Owner, P2P, "belief-differs"),
        plant(Fault::ForgetTombstones, X, Owner, P2P, "belief-differs"),
    ]
};

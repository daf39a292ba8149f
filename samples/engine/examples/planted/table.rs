//! Faults, who has them, how they play so that it shows, and the rule of `netreel check` that is meant
//! to find it.

use netreel_sample_engine::Fault::{self, *};
use netreel_sample_engine::Mode::{Host, Owner};
use netreel_sample_engine::Peer;

use super::fault::{self, HOST, P2P, Planted, SERVER, plant};

const X: Peer = Peer(3);

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

const fn found(planted: Planted, rule: &'static str) -> Planted {
    let rule = Some(rule);
    Planted { rule, ..planted }
}

const fn at_a(fault: Fault, rule: &'static str) -> Planted {
    found(fault::at_a(fault), rule)
}

const fn at_server(fault: Fault, rule: &'static str) -> Planted {
    found(fault::at_server(fault), rule)
}

/// All of them.
pub const TABLE: [Planted; 46] = [
    at_a(AckUnreceived, "ack-of-unreceived"),
    at_a(AckAhead, "ack-of-unreceived"),
    at_a(ForgetAck, "never-acked"),
    at_a(SequenceTwice, "duplicate-sequence"),
    at_a(SequenceBack, "duplicate-sequence"),
    at_a(NeverResend, "reliable-not-delivered"),
    at_a(ResendEveryTick, "resend-storm"),
    at_a(ResendTimerShort, "resend-storm"),
    at_a(IgnoreAcks, "reliable-stuck"),
    at_a(NeverAck, "reliable-stuck"),
    at_a(AcksStand, "reliable-stuck"),
    at_a(FragmentIndexOff, "fragments-never-join"),
    at_a(ForgetCreate, "destroy-untold"),
    at_a(DestroyTwice, "told-twice"),
    at_a(RewriteResend, "copies-differ"),
    at_a(UpdateTwice, "update-twice"),
    at_a(UpdateUnowned, "update-unowned"),
    at_a(OriginWrong, "origin-wrong"),
    at_a(ForgetCreate, "objects-differ-at-rest"),
    at_a(ForgetDestroy, "objects-differ-at-rest"),
    found(
        plant(ForgetAnnounce, HOST, Host, P2P),
        "objects-differ-at-rest",
    ),
    found(
        plant(NeverDeliver, HOST, Host, SERVER),
        "objects-differ-at-rest",
    ),
    at_server(RelayNoCreate, "objects-differ-at-rest"),
    at_server(RelayNoDestroy, "objects-differ-at-rest"),
    at_server(RelayNoMigrate, "objects-differ-at-rest"),
    at_a(MisnameOwner, "objects-differ-at-rest"),
    at_a(MisnameHeir, "objects-differ-at-rest"),
    at_a(UpdateBeforeCreate, "update-before-create"),
    found(plant(CounterNotRaised, HOST, Owner, P2P), "two-owners"),
    at_server(DeliverTwice, "told-twice"),
    at_a(CreateTwice, "told-twice"),
    at_a(MigrateTwice, "told-twice"),
    at_server(RelayTwice, "told-twice"),
    at_a(ForgetLostUpdate, "values-differ"),
    at_a(ForgetField, "values-differ"),
    at_a(TailByte, "undecodable-packet"),
    at_a(CutPacket, "undecodable-packet"),
    at_a(ResendLate, "head-of-line-wait"),
    at_a(HoldAcks, "rtt-step"),
    at_a(AckUnsent, "ack-of-unsent"),
    found(plant(CounterFalls, HOST, Owner, P2P), "counter-falls"),
    at_a(UpdateAfterDestroy, "update-after-destroy"),
    at_a(SkipPlace, "stream-gap"),
    at_a(TakeUnasked, "migrate-not-from-host"),
    at_a(Stall, "tick-stall"),
    found(plant(Stall, HOST, Host, SERVER), "tick-stall"),
];

/// Faults of which no packet tells: they show where the games say what they believe
/// (`SimWorldStart::says_beliefs`).
pub const SAID: [Planted; 4] = [
    at_a(SwallowUpdates, "belief-differs"),
    at_a(NeverDeliver, "belief-differs"),
    at_a(DeliverTwice, "belief-differs"),
    found(plant(ForgetTombstones, X, Owner, P2P), "belief-differs"),
];

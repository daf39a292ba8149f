//! What a row of a session may cost.

use std::collections::BTreeMap;

use netreel_protocol::session::Packet;
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};
use netreel_transport::LinkFaults;

use crate::played::Played;

/// How many bytes a packet each column may take: a tenth more than it took when this was written.
/// Each packet has a send and mostly a receipt, which are rows of their own in the columns of ends,
/// and 1.4 messages.
const BYTES_MAX: [(&str, f64); 20] = [
    // Of packets.
    ("link", 0.72),
    ("told", 2.2),
    ("receipt", 2.4),
    ("state", 0.62),
    ("odd", 0.76),
    ("passing", 0.0),
    // Of ends.
    ("numbers", 3.7),
    ("times", 9.0),
    ("connections", 1.6),
    ("lengths", 3.5),
    ("packets", 3.6),
    // Forgotten once the ends are matched.
    ("hashes", 0.0),
    // Of what the wire says.
    ("facts", 29.3),
    ("first message", 1.4),
    ("shapes", 0.17),
    // Values of objects in three of four messages, each value once.
    ("properties", 28.0),
    ("events of connections", 0.0),
    // One packet in 32 carries a fragment, of 960 bytes on average.
    ("fragments", 33.0),
    ("fragments, by message", 0.42),
    // No game says what it believes.
    ("words of games", 0.0),
];

/// How many bytes a packet all of them may take.
const SUM_MAX: f64 = 88.0;

#[test]
fn each_column_of_a_session_takes_few_bytes_a_packet() {
    let script = Script::Boxes { ticks: u64::MAX };
    let mut start = SimWorldStart::new(1, Mode::Owner, Topology::PeerToPeer, script);
    start.faults = LinkFaults {
        loss: 0.02,
        duplicate: 0.01,
        ..LinkFaults::default()
    };
    // Four nodes send a little more than eleven packets a tick between them.
    let played = Played::new(&start, |world| world.run(20_000 / 11));
    let session = &played.session;
    let packets = session.packet_count();
    assert!((20_000..22_000).contains(&packets), "{packets}");
    assert!(session.message_count() > packets);

    let memory = session.memory().into_iter();
    let taken: BTreeMap<&str, f64> = memory
        .map(|(name, bytes)| (name, bytes as f64 / packets as f64))
        .collect();
    let names: Vec<&str> = taken.keys().copied().collect();
    let bounds = BTreeMap::from(BYTES_MAX);
    assert_eq!(names, bounds.keys().copied().collect::<Vec<_>>());
    for (name, bytes) in &taken {
        assert!(*bytes <= bounds[name], "{name}: {bytes}, of {taken:#?}");
    }
    let sum: f64 = taken.values().sum();
    assert!(sum <= SUM_MAX, "{sum}: {taken:#?}");
}

#[test]
fn a_packet_that_is_handed_out_is_small() {
    assert!(size_of::<Packet>() <= 160, "{}", size_of::<Packet>());
}

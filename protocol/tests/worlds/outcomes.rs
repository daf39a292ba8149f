//! The demonstration has one outcome for each way to play, whatever the network is like.

use std::time::Duration;

use netreel_protocol::history::Level;
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};
use netreel_transport::LinkFaults;

use crate::played::Played;

#[test]
fn the_findings_of_all_levels_are_the_same_however_slow_the_links_are() {
    let expected = |way| match way {
        (Mode::Host, Topology::PeerToPeer) => {
            vec!["migrate-before-create at X", "zombie-object at X"]
        }
        (Mode::Owner | Mode::Counter, Topology::PeerToPeer) => vec![
            "migrate-before-create at X",
            "stale-message-ignored at X",
            "two-owners at A",
        ],
        (Mode::Owner | Mode::Counter, Topology::ClientServer) => vec!["two-owners at A"],
        (Mode::Handshake, Topology::PeerToPeer) => {
            vec!["migrate-before-create at X", "stale-message-ignored at X"]
        }
        (Mode::Host | Mode::Handshake, Topology::ClientServer) => vec![],
        (Mode::Queue | Mode::Order, _) => vec![],
    };
    for seed in 0..8 {
        let topologies = [Topology::PeerToPeer, Topology::ClientServer];
        let ways = Mode::ALL
            .iter()
            .flat_map(|&mode| topologies.map(|it| (mode, it)));
        for (mode, topology) in ways {
            let mut start = SimWorldStart::new(seed, mode, topology, Script::Demonstration);
            start.faults = LinkFaults {
                delay: Duration::from_millis(seed % 7 * 10),
                jitter: Duration::from_millis(10 + seed * 37 % 150),
                ..LinkFaults::default()
            };
            let played = Played::to_rest(&start);
            let levels = [Level::Info, Level::Warning, Level::Error];
            let mut found: Vec<String> = levels.map(|level| played.named(level)).concat();
            found.sort();
            assert_eq!(
                found,
                expected((mode, topology)),
                "seed {seed} {mode:?} {topology:?}"
            );
        }
    }
}

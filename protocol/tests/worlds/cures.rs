//! The other cures of the race: what the wire's rules make of their packets is what the engines believe,
//! and a correct engine does nothing wrong.

use std::collections::BTreeSet;

use netreel_protocol::history::Level;
use netreel_sample_engine::{Mode, SimWorldStart, Topology};

use crate::played::{Played, boxes};

const SEEDS: u64 = 8;

fn start(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    boxes(seed, mode, topology)
}

fn check(mode: Mode, usual: &[&str]) {
    let mut wrong = Vec::new();
    for topology in [Topology::PeerToPeer, Topology::ClientServer] {
        for seed in 0..SEEDS {
            let what = format!("{mode} {topology:?} seed {seed}");
            let played = Played::to_rest(&start(seed, mode, topology));
            for peer in played.world.running() {
                if played.believed(peer) != played.real(peer) {
                    wrong.push(format!("{what}: {peer:?} believes something else"));
                }
            }
            let findings = played.history.findings.iter();
            let found: BTreeSet<String> = findings
                .filter(|it| it.level > Level::Info && !usual.contains(&it.rule))
                .map(|it| format!("{what}: {} {:?}: {}", it.rule, it.level, it.sentence))
                .collect();
            wrong.extend(found);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn in_mode_queue_what_packets_tell_is_what_happened() {
    check(Mode::Queue, &[]);
}

#[test]
fn in_mode_handshake_what_packets_tell_is_what_happened() {
    check(Mode::Handshake, &[]);
}

#[test]
fn in_mode_order_what_packets_tell_is_what_happened() {
    check(Mode::Order, &[]);
}

/// The hole: UPDATEs of a former owner are taken, so that values differ in the end.
#[test]
fn in_mode_counter_what_packets_tell_is_what_happened() {
    check(Mode::Counter, &["values-differ", "difference-lasts"]);
}

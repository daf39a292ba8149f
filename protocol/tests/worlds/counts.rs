//! Lost, duplicated and reordered packets are counted as they were dealt out.

use std::collections::BTreeMap;
use std::time::Duration;

use netreel_protocol::session::{Fate, NodeId, PacketId};
use netreel_sample_engine::{Mode, Peer, Topology};
use netreel_transport::{LinkEnd, LinkFaults, mix};

use crate::played::{Played, WAYS, boxes};

/// The n-th packet of a link meets the n-th verdict.
fn verdicts(
    played: &Played,
    seed: u64,
    faults: impl Fn(Peer, Peer) -> LinkFaults,
) -> Vec<(bool, bool)> {
    let mut sent: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    let peer = |node: NodeId| Peer(played.session.nodes[usize::from(node.0)].peer.unwrap() as u8);
    played
        .session
        .packets()
        .map(|packet| {
            let n = sent.entry((packet.from, packet.to)).or_default();
            let (from, to) = (peer(packet.from), peer(packet.to));
            let ends = (LinkEnd(u16::from(from.0)), LinkEnd(u16::from(to.0)));
            // What leaves draws from a randomness of its own.
            let verdict =
                faults(from, to).verdict(mix(&[seed, 0]), ends, (*n, packet.length as usize));
            *n += 1;
            (verdict.lost, verdict.copy.is_some() && !verdict.lost)
        })
        .collect()
}

#[test]
fn each_packet_is_lost_or_doubled_exactly_where_the_faults_said_so() {
    for seed in 0..30 {
        for (mode, topology) in WAYS {
            let start = boxes(seed, mode, topology);
            let played = Played::to_rest(&start);
            let faults = |from, to| *start.link_faults.get(&(from, to)).unwrap_or(&start.faults);
            let verdicts = verdicts(&played, seed, faults);
            let end = played.session.span.end.0;
            for (packet, (lost, doubled)) in played.session.packets().zip(verdicts) {
                let sent = packet.sent.expect("every sender is recorded").time.0;
                if sent + 1_500_000_000 > end {
                    continue; // it may still be under way
                }
                let expected = if lost { Fate::Lost } else { Fate::Received };
                assert_eq!(packet.fate, expected, "seed {seed} {mode:?} {topology:?}");
                assert_eq!(
                    packet.duplicates.len(),
                    usize::from(doubled),
                    "seed {seed} {mode:?} {topology:?} {packet:?}"
                );
            }
        }
    }
}

#[test]
fn a_link_without_faults_loses_doubles_and_reorders_nothing() {
    let mut start = boxes(3, Mode::Host, Topology::PeerToPeer);
    start.faults = LinkFaults::default();
    start.link_faults.clear();
    let played = Played::to_rest(&start);
    for link in played.history.links(&played.session).values() {
        assert_eq!(
            (link.lost, link.duplicated, link.reordered, link.resent),
            (0, 0, 0, 0)
        );
    }
}

#[test]
fn a_link_that_only_delays_takes_exactly_so_long() {
    let mut start = boxes(3, Mode::Host, Topology::PeerToPeer);
    start.faults = LinkFaults::default();
    start.link_faults.clear();
    start.latency = Duration::from_millis(25);
    let played = Played::to_rest(&start);
    for link in played.history.links(&played.session).values() {
        let (shortest, _, longest) = link.latency_ns.expect("packets arrived");
        assert!(shortest >= 25_000_000, "{shortest}");
        // It waits for the receiver's next tick.
        assert!(longest < 25_000_000 + 2 * 16_666_667, "{longest}");
    }
}

#[test]
fn only_a_link_that_reorders_has_packets_out_of_order() {
    let mut start = boxes(4, Mode::Owner, Topology::PeerToPeer);
    start.nodes = 2;
    start.link_faults.clear();
    start.faults = LinkFaults::default();
    let reorders = LinkFaults {
        reorder: 0.3,
        ..LinkFaults::default()
    };
    start.link_faults.insert((Peer(0), Peer(1)), reorders);
    let played = Played::to_rest(&start);
    let links = played.history.links(&played.session);
    let reordered = |from, to| links[&(NodeId(from), NodeId(to))].reordered;
    assert!(reordered(0, 1) > 0);
    assert_eq!(reordered(1, 0), 0);
}

#[test]
fn what_was_lost_and_reliable_was_sent_again() {
    let mut start = boxes(6, Mode::Owner, Topology::PeerToPeer);
    start.faults.loss = 0.3;
    let played = Played::to_rest(&start);
    let (session, history) = (&played.session, &played.history);
    let resent = history.resends().count();
    assert!(resent > 10, "{resent}");
    for (copy, earlier) in history.resends() {
        let [one, other] = [copy, earlier].map(|id| session.message(id).unwrap());
        assert_eq!(one.facts.reliable_sequence, other.facts.reliable_sequence);
        assert_eq!(one.facts.object, other.facts.object);
    }
}

#[test]
fn a_packet_is_acked_only_after_it_arrived() {
    let played = Played::to_rest(&boxes(6, Mode::Owner, Topology::ClientServer));
    let (session, history) = (&played.session, &played.history);
    let mut acked_count = 0;
    for (packet, id) in session.packets().zip((0..).map(PacketId)) {
        if let Some(acked) = history.acked(session, id) {
            acked_count += 1;
            assert!(packet.received.expect("it arrived").time < acked.time);
        }
    }
    assert!(acked_count * 2 > session.packet_count());
}

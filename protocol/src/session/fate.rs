//! What became of each packet that nobody is known to have received.

use std::collections::BTreeMap;

use super::proxied::is_dropped;
use super::{Fate, Node, NodeId, Packet, SessionTime};

/// A receiver that recorded for less than this after a send may still have got the packet.
pub(super) const WAIT_NS_MIN: i64 = 100_000_000;

/// Fills in [`Packet::fate`]. `from_start` tells of each node whether nothing can have reached it
/// before its reel began.
///
/// The last that a reel holds is not an outcome where the reel is not complete: what is missing
/// there may have been held back on its way and have come with what followed. A packet is lost
/// there only where one that was sent later on the same link did arrive. What a proxy dropped is
/// lost, whatever the receiver's reel holds.
pub(super) fn decide(packets: &mut [Packet], nodes: &[Node], from_start: &[bool]) {
    let waits = waits(packets);
    let overtakers = last_arrived(packets);
    for packet in packets {
        let Some(sent) = packet.departed() else {
            continue;
        };
        if packet.received.is_some() || packet.fate == Fate::SendFailed {
            continue;
        }
        if is_dropped(&packet.faults) {
            packet.fate = Fate::Lost;
            continue;
        }
        // What a capture cut may be a packet that was received and could not be told from others.
        if packet.sent.is_none() && packet.cut.is_some() {
            continue;
        }
        let place = usize::from(packet.to.0);
        let Some(receiver) = nodes.get(place).filter(|node| node.recorded) else {
            continue;
        };
        let from_start = from_start.get(place).copied().unwrap_or(false);
        let wait_ns = waits
            .get(&(packet.from, packet.to))
            .copied()
            .unwrap_or(WAIT_NS_MIN);
        let until = SessionTime(sent.time.0.saturating_add(wait_ns));
        let began = from_start || receiver.span.start <= sent.time;
        let holds = |hole: &super::Hole| hole.time.start <= until && sent.time <= hole.time.end;
        let settled = receiver.complete
            || overtakers
                .get(&(packet.from, packet.to))
                .is_some_and(|&last| last > sent.time);
        let waited = until <= receiver.span.end;
        if began && settled && waited && !receiver.holes.iter().any(holds) {
            packet.fate = Fate::Lost;
        }
    }
}

/// For each link, how long a packet may take: twice the longest way seen there, at least
/// [`WAIT_NS_MIN`].
fn waits(packets: &[Packet]) -> BTreeMap<(NodeId, NodeId), i64> {
    let mut waits = BTreeMap::new();
    for packet in packets {
        let (Some(sent), Some(received)) = (packet.departed(), packet.received) else {
            continue;
        };
        let twice_ns = received
            .time
            .0
            .saturating_sub(sent.time.0)
            .saturating_mul(2);
        let wait_ns = waits.entry((packet.from, packet.to)).or_insert(WAIT_NS_MIN);
        *wait_ns = twice_ns.max(*wait_ns);
    }
    waits
}

/// For each link, when the last packet that is known to have arrived was sent.
fn last_arrived(packets: &[Packet]) -> BTreeMap<(NodeId, NodeId), SessionTime> {
    let mut last = BTreeMap::new();
    for packet in packets.iter().filter(|packet| packet.received.is_some()) {
        let Some(sent) = packet.departed() else {
            continue;
        };
        let latest = last.entry((packet.from, packet.to)).or_insert(sent.time);
        *latest = sent.time.max(*latest);
    }
    last
}

#[cfg(test)]
mod tests {
    use netreel_reel::EventNumber;

    use super::*;
    use crate::session::{Hole, Stamp};

    const SECOND: i64 = 1_000_000_000;

    fn packet(sent: i64) -> Packet {
        let sent = Some(Stamp {
            number: EventNumber(1),
            time: SessionTime(sent),
        });
        Packet {
            from: NodeId(0),
            to: NodeId(1),
            sent,
            ..Packet::default()
        }
    }

    fn receiver(start: i64, end: i64) -> Node {
        let span = SessionTime(start)..SessionTime(end);
        Node {
            recorded: true,
            complete: true,
            span,
            ..Node::default()
        }
    }

    fn check(mut packets: Vec<Packet>, receiver: Node, from_start: bool, expected: Fate) {
        decide(
            &mut packets,
            &[Node::default(), receiver],
            &[true, from_start],
        );
        assert_eq!(packets[0].fate, expected);
    }

    #[test]
    fn a_receiver_that_recorded_on_and_never_got_it_lost_it() {
        check(vec![packet(0)], receiver(0, SECOND), false, Fate::Lost);
    }

    #[test]
    fn a_reel_that_ends_soon_after_the_send_leaves_it_unknown() {
        check(
            vec![packet(SECOND - 1)],
            receiver(0, SECOND),
            false,
            Fate::Unknown,
        );
    }

    #[test]
    fn a_slow_link_is_given_twice_its_longest_way() {
        let mut slow = packet(0);
        slow.received = Some(Stamp {
            number: EventNumber(9),
            time: SessionTime(SECOND),
        });
        check(
            vec![packet(SECOND), slow],
            receiver(0, 2 * SECOND),
            false,
            Fate::Unknown,
        );
    }

    #[test]
    fn a_reel_that_was_switched_on_after_the_send_leaves_it_unknown() {
        check(vec![packet(0)], receiver(10, SECOND), false, Fate::Unknown);
    }

    #[test]
    fn a_send_before_the_receiver_opened_its_socket_is_lost() {
        check(vec![packet(0)], receiver(10, SECOND), true, Fate::Lost);
    }

    #[test]
    fn a_reel_that_was_cut_leaves_unknown_what_nothing_overtook() {
        let cut = Node {
            complete: false,
            ..receiver(0, SECOND)
        };
        check(vec![packet(0)], cut, false, Fate::Unknown);
    }

    #[test]
    fn a_packet_that_a_later_one_overtook_is_lost_in_a_cut_reel_too() {
        let cut = Node {
            complete: false,
            ..receiver(0, SECOND)
        };
        let mut later = packet(1);
        later.received = Some(Stamp {
            number: EventNumber(9),
            time: SessionTime(2),
        });
        check(vec![packet(0), later], cut, false, Fate::Lost);
    }

    #[test]
    fn a_hole_in_the_receivers_reel_leaves_it_unknown() {
        let mut holed = receiver(0, SECOND);
        let time = SessionTime(10)..SessionTime(20);
        holed.holes.push(Hole {
            time,
            before: EventNumber(5),
            why: "dropped".to_owned(),
        });
        check(vec![packet(0)], holed, false, Fate::Unknown);
    }

    #[test]
    fn a_receiver_without_a_reel_leaves_it_unknown() {
        let node = Node {
            recorded: false,
            ..receiver(0, SECOND)
        };
        check(vec![packet(0)], node, false, Fate::Unknown);
    }
}

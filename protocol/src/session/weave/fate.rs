//! What became of each packet that nobody is known to have received.

use std::collections::BTreeMap;
use std::ops::Range;

use netreel_reel::EventNumber;

use super::order::Order;
use crate::session::clock::map::ClockMap;
use crate::session::read::scan::Scan;
use crate::session::{Fate, Node, NodeId, SessionTime};

/// A receiver that recorded for less than this after a send may still have got the packet.
pub(crate) const WAIT_NS_MIN: i64 = 100_000_000;

/// How long a packet of any link is waited for at least, before what follows from it is certain.
const CERTAIN_NS_MIN: i64 = 800_000_000;

/// The same where nothing arrived on the link at all: nobody knows how slow it is. No game is played
/// on a slower one.
const FIRST_WAIT_NS: i64 = 5_000_000_000;

/// What is known of all packets, of which some were received: how long a packet of each link may
/// be on its way, and which is the last that arrived.
///
/// The last that a reel holds is not an outcome where the reel is not complete: what is missing
/// there may have been held back on its way and have come with what followed. A packet is lost
/// there only where one that was sent later on the same link did arrive. What a proxy dropped is
/// lost, whatever the receiver's reel holds. Before a hole it is the same as before the end: what was
/// held back may have come in it.
///
/// Whether a reel held that moment is known as far as its clock is. Packets of the same link tell
/// without a clock: what was sent well before and after has arrived.
#[derive(Clone, Default)]
pub(crate) struct Fates {
    /// Of each link, by its place among those of all packets; `None` where nothing arrived.
    links: Vec<Option<Arrivals>>,
    /// When the holes of each node begin and end, in the order of their beginnings.
    holes: BTreeMap<NodeId, Vec<Range<SessionTime>>>,
    /// Of each node.
    margins: Vec<Margins>,
}

/// How far the times may be off, by a node's clock, at which its reel begins and ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Margins {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The most at any edge of a hole.
    pub holes_ns: u64,
}

/// What arrived on a link.
#[derive(Clone)]
struct Arrivals {
    /// How long a packet may take: twice the longest way seen there, at least [`WAIT_NS_MIN`].
    wait_ns: i64,
    /// When the first and the last packet that are known to have arrived were sent.
    first: SessionTime,
    last: SessionTime,
    /// For each hole of the receiver, when the last of the packets was sent that arrived between the
    /// hole before and this one.
    before: Vec<Option<SessionTime>>,
}

impl Margins {
    /// Of each node.
    pub fn all(order: &Order<'_>) -> Vec<Margins> {
        let mut margins = vec![Margins::default(); order.nodes.len()];
        for (reel, node) in order.roads.cast.recorded(order.node_of) {
            if let Some(slot) = node.of_mut(&mut margins) {
                *slot = Margins::new(&order.roads.scans[reel], &order.clocks[reel].map);
            }
        }
        margins
    }

    fn new(scan: &Scan, clock: &ClockMap) -> Margins {
        let (first, last) = scan.span.unwrap_or_default();
        let edges = scan.holes.iter().flat_map(|hole| {
            let before = EventNumber(hole.before.0.saturating_sub(1));
            let from = hole.from.map(|from| clock.error_ns(before, from));
            let until = clock.error_ns(hole.before, hole.until);
            from.into_iter().chain([until])
        });
        Margins {
            begin_ns: clock.error_ns(EventNumber(0), first),
            end_ns: clock.error_ns(EventNumber(u64::MAX), last),
            holes_ns: edges.max().unwrap_or(0),
        }
    }
}

/// A packet that nobody is known to have received.
#[derive(Clone)]
pub(crate) struct Missing {
    /// Its link, by its place among those of all packets, and to whom that goes.
    pub link: usize,
    pub to: NodeId,
    /// When it left its sender, or was first seen; and how far that may be off.
    pub departed: SessionTime,
    pub error_ns: u64,
    /// Whether a proxy says that it dropped it.
    pub dropped: bool,
    /// Whether nobody has its send, and who saw it has its first bytes: it may be a packet that was
    /// received and could not be told from others. Or whether it may have come as somebody else's.
    pub doubtful: bool,
    /// Whether the receiver closed its socket after the send and left packets in its buffer.
    pub unread: bool,
}

impl Fates {
    /// Of no packet yet.
    pub fn new(nodes: &[Node], margins: Vec<Margins>) -> Fates {
        let holed = (0..)
            .map(NodeId)
            .zip(nodes)
            .filter(|(_, node)| !node.holes.is_empty());
        let holes = holed.map(|(id, node)| {
            let mut holes: Vec<_> = node.holes.iter().map(|hole| hole.time.clone()).collect();
            holes.sort_by_key(|hole| (hole.start, hole.end));
            (id, holes)
        });
        Fates {
            links: Vec::new(),
            holes: holes.collect(),
            margins,
        }
    }

    /// Takes a packet that was received, and left its sender at a moment.
    pub fn arrived(
        &mut self,
        (link, to): (usize, NodeId),
        departed: SessionTime,
        received: SessionTime,
    ) {
        let twice_ns = received.0.saturating_sub(departed.0).saturating_mul(2);
        if link >= self.links.len() {
            self.links.resize(link + 1, None);
        }
        let arrivals = self.links[link].get_or_insert_with(|| Arrivals {
            wait_ns: WAIT_NS_MIN,
            first: departed,
            last: departed,
            before: Vec::new(),
        });
        arrivals.wait_ns = twice_ns.max(arrivals.wait_ns);
        arrivals.first = departed.min(arrivals.first);
        arrivals.last = departed.max(arrivals.last);
        if self.holes.is_empty() {
            return;
        }
        let holes = self.holes.get(&to).map_or(&[][..], Vec::as_slice);
        let next = holes.partition_point(|hole| hole.start < received);
        if next < holes.len() {
            arrivals.before.resize(holes.len(), None);
            let before = &mut arrivals.before[next];
            *before = Some(departed).max(*before);
        }
    }

    /// How long a packet of any link may take.
    pub fn wait_ns(&self) -> i64 {
        let links = self.links.iter().map(|link| match link {
            Some(arrivals) => arrivals.wait_ns,
            None => FIRST_WAIT_NS,
        });
        links.fold(CERTAIN_NS_MIN, i64::max)
    }

    /// What became of a packet; asked once all that arrived is known. `from_start` tells of each
    /// node whether nothing can have reached it before its reel began.
    pub fn of(&self, packet: &Missing, nodes: &[Node], from_start: &[bool]) -> Fate {
        if packet.dropped {
            return Fate::Lost;
        }
        let place = usize::from(packet.to.0);
        let receiver = nodes.get(place).filter(|node| node.recorded);
        let (Some(receiver), false) = (receiver, packet.doubtful) else {
            return Fate::Unknown;
        };
        let from_start = from_start.get(place).copied().unwrap_or(false);
        let arrivals = self.links.get(packet.link).and_then(Option::as_ref);
        let wait_ns = arrivals.map_or(FIRST_WAIT_NS, |arrivals| arrivals.wait_ns);
        let sent = packet.departed;
        if packet.unread && arrivals.is_none_or(|arrivals| arrivals.last < sent) {
            return Fate::Unread;
        }
        let until = SessionTime(sent.0.saturating_add(wait_ns));
        let margins = self.margins.get(place).cloned().unwrap_or_default();
        let slack_ns = |own_ns: u64| {
            let both_ns = own_ns.saturating_add(packet.error_ns);
            i64::try_from(both_ns).unwrap_or(i64::MAX)
        };
        let later = |time: SessionTime, by_ns: i64| SessionTime(time.0.saturating_add(by_ns));
        let [begin_ns, end_ns, hole_ns] =
            [margins.begin_ns, margins.end_ns, margins.holes_ns].map(slack_ns);
        let was_there = arrivals.is_some_and(|it| later(it.first, wait_ns) <= sent);
        let began = from_start || was_there || later(receiver.span.start, begin_ns) <= sent;
        let holes = self.holes.get(&packet.to).map_or(&[][..], Vec::as_slice);
        let mut newest: Option<SessionTime> = None;
        let in_hole = (0..).zip(holes).any(|(place, hole): (usize, _)| {
            let before = arrivals.and_then(|arrivals| *arrivals.before.get(place)?);
            newest = newest.max(before);
            let overtaken = newest.is_some_and(|newest| newest > sent);
            let is_before = sent <= later(hole.end, hole_ns);
            is_before && (hole.start <= later(until, hole_ns) || !overtaken)
        });
        let settled = receiver.complete || arrivals.is_some_and(|arrivals| arrivals.last > sent);
        let is_there = arrivals.is_some_and(|it| it.last >= until);
        let waited = is_there || later(until, end_ns) <= receiver.span.end;
        if began && settled && waited && !in_hole {
            Fate::Lost
        } else {
            Fate::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Hole, Stamp};

    const SECOND: i64 = 1_000_000_000;

    /// A packet of the one link: when it was sent, and when it arrived.
    struct Packet {
        sent: SessionTime,
        received: Option<Stamp>,
    }

    fn packet(sent: i64) -> Packet {
        Packet {
            sent: SessionTime(sent),
            received: None,
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

    /// What became of the first packet?
    fn check(packets: Vec<Packet>, receiver: Node, from_start: bool, expected: Fate) {
        let link = (0, NodeId(1));
        let mut fates = Fates::new(&[Node::default(), receiver.clone()], Vec::new());
        for packet in &packets {
            if let Some(received) = packet.received {
                fates.arrived(link, packet.sent, received.time);
            }
        }
        let missing = Missing {
            link: link.0,
            to: link.1,
            departed: packets[0].sent,
            error_ns: 0,
            dropped: false,
            doubtful: false,
            unread: false,
        };
        let nodes = [Node::default(), receiver];
        assert_eq!(fates.of(&missing, &nodes, &[true, from_start]), expected);
    }

    #[test]
    fn a_receiver_that_recorded_on_and_never_got_it_lost_it() {
        check(vec![packet(0)], receiver(0, 6 * SECOND), false, Fate::Lost);
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
    fn a_link_on_which_nothing_arrived_may_be_a_slow_one() {
        // On one of 2 s nothing has arrived yet.
        for end in [SECOND / 3, 2 * SECOND, 4 * SECOND] {
            check(vec![packet(0)], receiver(0, end), false, Fate::Unknown);
        }
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
        check(vec![packet(0)], receiver(10, 6 * SECOND), true, Fate::Lost);
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

    /// A hole that comes so late that no packet of the link ever took that long.
    fn holed_late() -> Node {
        let mut holed = receiver(0, 9 * SECOND);
        holed.holes.push(Hole {
            time: SessionTime(5 * SECOND)..SessionTime(6 * SECOND),
            before: EventNumber(5),
            why: "dropped".to_owned(),
        });
        holed
    }

    #[test]
    fn what_was_held_back_until_a_hole_may_have_come_in_it() {
        check(vec![packet(SECOND)], holed_late(), false, Fate::Unknown);
    }

    #[test]
    fn what_a_later_packet_overtook_before_a_hole_is_lost() {
        let later = Packet {
            received: Some(Stamp {
                number: EventNumber(1),
                time: SessionTime(2 * SECOND + 10),
            }),
            ..packet(2 * SECOND)
        };
        check(vec![packet(SECOND), later], holed_late(), false, Fate::Lost);
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

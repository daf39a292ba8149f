//! What a directed link did to packets, and what it would do to others.

use std::ops::Range;

use netreel_reel::EventNumber;

/// How many recorded packets tell how probably another one is lost.
const NEIGHBOURS: usize = 16;

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct PlanSend {
    pub node: usize,
    pub turn: usize,
    /// On the session's clock.
    pub at_ns: i64,
    pub link: usize,
    pub hash: u64,
    pub lost: bool,
    /// Of [`Plan::arrivals`](super::plan::Plan), by node, the first at each first.
    pub arrivals: Range<usize>,
}

/// A receipt of a packet whose sender is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub node: usize,
    pub number: EventNumber,
    /// About when it came to the receiver, who read it later: on the session's clock.
    pub came_ns: i64,
}

/// The packets of one sender, from one of its sockets to one address, by time.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Of those that arrived somewhere: when each was sent, and its place among the sends.
    arrived: Vec<(i64, usize)>,
    /// Of those of which it is known: when each was sent, and whether it was lost.
    known: Vec<(i64, bool)>,
}

impl Link {
    pub fn push(&mut self, send: &PlanSend, place: usize) {
        let arrived = !send.arrivals.is_empty();
        if arrived {
            self.arrived.push((send.at_ns, place));
        }
        if arrived || send.lost {
            self.known.push((send.at_ns, send.lost && !arrived));
        }
    }

    pub fn sort(&mut self) {
        self.arrived.sort_unstable();
        self.known.sort_unstable();
    }

    /// How probably a packet that is sent at `at_ns` is lost.
    pub fn loss(&self, at_ns: i64) -> f64 {
        let mut from = self.known.partition_point(|known| known.0 < at_ns);
        let mut until = from;
        while until - from < NEIGHBOURS {
            let before = from.checked_sub(1).and_then(|place| self.known.get(place));
            let behind = self.known.get(until);
            let is_before = match (before, behind) {
                (Some(before), Some(behind)) => at_ns - before.0 <= behind.0 - at_ns,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            if is_before { from -= 1 } else { until += 1 }
        }
        let near = self.known.get(from..until).unwrap_or_default();
        let lost = near.iter().filter(|known| known.1).count();
        match near.len() {
            0 => 0.0,
            of => lost as f64 / of as f64,
        }
    }

    /// Where and when a packet arrives that is sent at `at_ns`, once a node: like the recorded one
    /// that was sent nearest to it, but not past those around it. Nothing where none arrived.
    pub fn arrivals(
        &self,
        (sends, arrivals): (&[PlanSend], &[Arrival]),
        at_ns: i64,
    ) -> Vec<Arrival> {
        let behind = self.arrived.partition_point(|arrived| arrived.0 <= at_ns);
        let before = behind.checked_sub(1);
        let sent = |place: usize| self.arrived.get(place).copied();
        let nearest = match (before.and_then(sent), sent(behind)) {
            (Some(before), Some(behind)) if at_ns - before.0 <= behind.0 - at_ns => Some(before),
            (_, Some(behind)) => Some(behind),
            (before, None) => before,
        };
        let Some((nearest_ns, nearest)) = nearest else {
            return Vec::new();
        };
        let all = |send: usize| {
            let range = sends.get(send).map(|send| send.arrivals.clone());
            range
                .and_then(|range| arrivals.get(range))
                .unwrap_or_default()
        };
        let at_node = |send: Option<(i64, usize)>, node: usize| {
            let of = all(send?.1);
            let first = of.partition_point(|it| it.node < node);
            let first = of.get(first).filter(|it| it.node == node)?;
            Some(first.came_ns)
        };
        let mut like = firsts(all(nearest));
        for arrival in &mut like {
            let recorded_ns = arrival.came_ns;
            let moved_ns = recorded_ns.saturating_add(at_ns - nearest_ns);
            let came_ns = if nearest_ns <= at_ns {
                let next = at_node(sent(behind), arrival.node);
                next.filter(|&next| next >= recorded_ns)
                    .map_or(moved_ns, |next| moved_ns.min(next))
            } else {
                let last = at_node(before.and_then(sent), arrival.node);
                last.filter(|&last| last <= recorded_ns)
                    .map_or(moved_ns, |last| moved_ns.max(last))
            };
            arrival.came_ns = came_ns.max(at_ns);
        }
        like
    }
}

/// The first arrival at each node: a packet may have come there many times.
fn firsts(arrivals: &[Arrival]) -> Vec<Arrival> {
    let (mut rest, mut firsts) = (arrivals, Vec::new());
    while let Some(first) = rest.first() {
        firsts.push(*first);
        let behind = rest.partition_point(|it| it.node <= first.node);
        rest = rest.get(behind..).unwrap_or_default();
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link whose packets were sent and came then; `None`: lost.
    fn link(packets: &[(i64, Option<i64>)]) -> (Link, Vec<PlanSend>, Vec<Arrival>) {
        let (mut link, mut sends, mut arrivals) = (Link::default(), Vec::new(), Vec::new());
        for (place, &(at_ns, came)) in packets.iter().enumerate() {
            let first = arrivals.len();
            arrivals.extend(came.map(|came_ns| Arrival {
                node: 1,
                number: EventNumber(place as u64),
                came_ns,
            }));
            let send = PlanSend {
                node: 0,
                turn: 0,
                at_ns,
                link: 0,
                hash: 0,
                lost: came.is_none(),
                arrivals: first..arrivals.len(),
            };
            link.push(&send, place);
            sends.push(send);
        }
        link.sort();
        (link, sends, arrivals)
    }

    #[track_caller]
    fn check(packets: &[(i64, Option<i64>)], at_ns: i64, expected: &[i64]) {
        let (link, sends, arrivals) = link(packets);
        let came = link.arrivals((&sends, &arrivals), at_ns);
        let came: Vec<i64> = came.iter().map(|arrival| arrival.came_ns).collect();
        assert_eq!(came, expected);
    }

    #[test]
    fn a_packet_takes_as_long_as_the_nearest_one() {
        let packets = [(100, Some(110)), (200, Some(250))];
        check(&packets, 120, &[130]);
        check(&packets, 190, &[240]);
        check(&packets, 300, &[350]);
        check(&packets, 20, &[30]);
    }

    #[test]
    fn what_is_sent_into_a_held_link_comes_when_it_opens() {
        let held = [
            (100, Some(110)),
            (200, Some(900)),
            (300, Some(900)),
            (400, Some(900)),
        ];
        check(&held, 290, &[900]);
        check(&held, 201, &[900]);
    }

    #[test]
    fn it_overtakes_nothing_that_kept_its_order() {
        let packets = [(100, Some(200)), (150, Some(205))];
        check(&packets, 120, &[205]);
        check(&packets, 140, &[200]);
    }

    #[test]
    fn where_none_arrived_none_arrives() {
        check(&[(100, None), (200, None)], 150, &[]);
    }

    #[test]
    fn how_probably_it_is_lost_is_the_share_of_its_neighbours() {
        let outage = (0..100).map(|n| (n * 10, (n < 50).then_some(n * 10 + 5)));
        let (link, ..) = link(&outage.collect::<Vec<_>>());
        assert_eq!(
            [link.loss(100), link.loss(495), link.loss(900)],
            [0.0, 0.5, 1.0]
        );
    }
}

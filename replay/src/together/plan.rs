//! What is read of a session before it is played on.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use netreel_reel::{Duration, Ending, Endpoint, Event, EventNumber, Record, Reel, SocketId, Time};

use super::link::{Arrival, Link, PlanSend};
use crate::replayable::is_turn;

/// A session as it is to be played on.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Its nodes.
    pub nodes: Vec<StoryNode>,
    /// Its packets: whose send is whose receipt.
    pub packets: Vec<StoryPacket>,
}

/// A node of a [`Story`].
#[derive(Clone, Debug)]
pub struct StoryNode {
    /// What people call it. The randomness that it is given follows from it.
    pub name: String,
    /// The reel that its layer is played from; `None`: what it sent arrives as it did.
    pub reel: Option<Arc<Reel>>,
    /// Where packets reach it.
    pub endpoints: Vec<Endpoint>,
}

/// A packet of a [`Story`].
#[derive(Clone, Debug)]
pub struct StoryPacket {
    /// Who sent it, by the place in [`Story::nodes`].
    pub from: usize,
    /// Whom it was sent to.
    pub to: usize,
    /// The event of its send in the sender's reel.
    pub sent: Option<EventNumber>,
    /// The events of its receipts in the receiver's reel; several where it was duplicated.
    pub receipts: Vec<EventNumber>,
    /// Whether it is known that it never arrived.
    pub lost: bool,
}

/// A session, read: what was done when, by whom, and what became of each packet.
#[derive(Debug, Default)]
pub struct Plan {
    pub(crate) nodes: Vec<PlanNode>,
    pub(crate) sends: Vec<PlanSend>,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) links: Vec<Link>,
    /// By sender, its socket, and the address that it sends to.
    pub(crate) link_of: BTreeMap<(usize, SocketId, Endpoint), usize>,
    /// The turns of all nodes in the order in which they are played.
    pub(crate) schedule: Vec<(usize, usize)>,
    /// Links, hashes of payloads, times and sends, in this order: those of which it is known what
    /// became of them.
    pub(crate) equals: Vec<(usize, u64, i64, usize)>,
    /// The first node that packets reach there.
    pub(crate) node_at: BTreeMap<Endpoint, usize>,
    /// What a packet takes on a link of which nothing is known. ns.
    pub(crate) usual_ns: i64,
}

#[derive(Debug, Default)]
pub(crate) struct PlanNode {
    pub name: String,
    pub reel: Option<Arc<Reel>>,
    pub endpoints: Vec<Endpoint>,
    pub is_cut: bool,
    /// The first is what happened before the first tick or call.
    pub turns: Vec<PlanTurn>,
    /// Sends by their events.
    pub sends: Vec<(EventNumber, usize)>,
    pub receipts: Vec<PlanReceipt>,
}

/// From one tick, or call of the game, to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanTurn {
    pub first: EventNumber,
    /// The number behind its last event.
    pub end: EventNumber,
    pub time: Time,
    /// On the session's clock, ns; never before the turn before it.
    pub at_ns: i64,
    /// Whether the layer asked for packets in it.
    pub asks: bool,
    /// When the turn began in which it had last asked before this one; on the session's clock.
    pub asked_ns: Option<i64>,
    /// The place in [`Plan::schedule`].
    pub rank: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanReceipt {
    pub number: EventNumber,
    pub time: Time,
    pub turn: usize,
    pub socket: SocketId,
    pub from: Endpoint,
    /// Its packet, where its sender is played; and about when it came.
    pub send: Option<(usize, i64)>,
    /// The latest, of those of this turn up to here: about when it came, and the rank of the turn
    /// that sent it.
    pub latest: (i64, usize),
}

impl Plan {
    /// Reads `story`. `clock` gives the session's time of an event of a node, by the node's place,
    /// in nanoseconds. Reads every reel once.
    pub fn new(story: &Story, clock: &dyn Fn(usize, Time, EventNumber) -> i64) -> Plan {
        let mut plan = Plan::default();
        for (place, node) in story.nodes.iter().enumerate() {
            plan.read(place, node, &|time, number| clock(place, time, number));
        }
        plan.bind(&story.packets, clock);
        plan.order();
        plan.rank_receipts();
        let sends = plan.sends.iter().enumerate();
        plan.equals = sends
            .filter(|(_, send)| send.lost || !send.arrivals.is_empty())
            .map(|(place, send)| (send.link, send.hash, send.at_ns, place))
            .collect();
        plan.equals.sort_unstable();
        let mut delays: Vec<i64> = plan.delays().collect();
        delays.sort_unstable();
        plan.usual_ns = delays.get(delays.len() / 2).copied().unwrap_or(0);
        plan
    }

    /// Says what a packet takes on a link of which nothing is known. Without it that is what packets of other
    /// links take.
    pub fn set_usual(&mut self, usual: Duration) {
        self.usual_ns = i64::try_from(usual.as_nanos()).unwrap_or(i64::MAX);
    }

    /// Where and when a packet arrives that is sent on a link at `at_ns`; see [`Link::arrivals`].
    pub(crate) fn arrivals_on(&self, link: &Link, at_ns: i64) -> Vec<Arrival> {
        link.arrivals((&self.sends, &self.arrivals), at_ns)
    }

    fn delays(&self) -> impl Iterator<Item = i64> + '_ {
        self.sends.iter().filter_map(|send| {
            let arrival = self.arrivals.get(send.arrivals.clone())?.first()?;
            Some(arrival.came_ns - send.at_ns)
        })
    }

    fn read(&mut self, place: usize, node: &StoryNode, clock: &dyn Fn(Time, EventNumber) -> i64) {
        let mut read = PlanNode {
            name: node.name.clone(),
            reel: node.reel.clone(),
            endpoints: node.endpoints.clone(),
            ..PlanNode::default()
        };
        if let Some(reel) = &node.reel {
            read.is_cut = *reel.ending() != Ending::Clean;
            reel.for_each(|record| self.read_event(place, &mut read, record, clock));
        }
        for &endpoint in &node.endpoints {
            self.node_at.entry(endpoint).or_insert(place);
        }
        self.nodes.push(read);
    }

    fn read_event(
        &mut self,
        place: usize,
        node: &mut PlanNode,
        record: &Record<'_>,
        clock: &dyn Fn(Time, EventNumber) -> i64,
    ) {
        let begins = is_turn(&record.event);
        if begins || node.turns.is_empty() {
            let last = node.turns.last();
            let before = last.map_or(i64::MIN, |turn| turn.at_ns);
            let asked_ns = last.and_then(|last| last.asks.then_some(last.at_ns).or(last.asked_ns));
            let turn = PlanTurn {
                first: record.number,
                end: record.number,
                time: record.time,
                at_ns: clock(record.time, record.number).max(before),
                asks: false,
                asked_ns,
                rank: 0,
            };
            // What comes before the first tick or call is a turn of its own, often an empty one.
            if begins && node.turns.is_empty() {
                node.turns.push(turn);
            }
            node.turns.push(turn);
        }
        let turn = node.turns.len() - 1;
        let Some(now) = node.turns.last_mut() else {
            return;
        };
        now.end = record.number.next();
        match record.event {
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                let next = self.links.len();
                let link = *self.link_of.entry((place, socket, to)).or_insert(next);
                if link == next {
                    self.links.push(Link::default());
                }
                let send = self.sends.len();
                node.sends.push((record.number, send));
                self.sends.push(PlanSend {
                    node: place,
                    turn,
                    at_ns: clock(record.time, record.number),
                    link,
                    hash: hash(payload),
                    lost: false,
                    arrivals: 0..0,
                });
            }
            Event::Received { socket, from, .. } => {
                now.asks = true;
                node.receipts.push(PlanReceipt {
                    number: record.number,
                    time: record.time,
                    turn,
                    socket,
                    from,
                    send: None,
                    latest: (i64::MIN, 0),
                });
            }
            Event::PollEmpty { .. } | Event::ReceiveFailed { .. } => now.asks = true,
            _ => {}
        }
    }

    /// Ties receipts to their sends.
    fn bind(&mut self, packets: &[StoryPacket], clock: &dyn Fn(usize, Time, EventNumber) -> i64) {
        let mut ends: Vec<(usize, usize, usize)> = Vec::new();
        for packet in packets {
            let sender = self.nodes.get(packet.from);
            let send = packet.sent.and_then(|sent| sender?.send_at(sent));
            let Some(send) = send else { continue };
            if let Some(send) = self.sends.get_mut(send) {
                send.lost |= packet.lost;
            }
            for &number in &packet.receipts {
                let receiver = self.nodes.get(packet.to);
                if let Some(receipt) = receiver.and_then(|it| it.receipt_at(number)) {
                    ends.push((send, packet.to, receipt));
                }
            }
        }
        ends.sort_unstable();
        for &(send, node, receipt) in &ends {
            let at_ns = self.sends[send].at_ns;
            let receiver = &self.nodes[node];
            let found = receiver.receipts[receipt];
            let read_ns = clock(node, found.time, found.number);
            let asked_ns = receiver.turns.get(found.turn).and_then(|it| it.asked_ns);
            let came_ns = came(asked_ns, at_ns, read_ns);
            let place = self.arrivals.len();
            self.arrivals.push(Arrival {
                node,
                number: found.number,
                came_ns,
            });
            self.nodes[node].receipts[receipt].send = Some((send, came_ns));
            let of = &mut self.sends[send].arrivals;
            let start = match of.end {
                0 => place,
                _ => of.start,
            };
            *of = start..place + 1;
        }
        for (place, send) in self.sends.iter().enumerate() {
            self.links[send.link].push(send, place);
        }
        self.links.iter_mut().for_each(Link::sort);
    }

    /// The order in which turns are played: that of time, but none before one whose packets it got
    /// in the recording, as far as turns can be put so.
    fn order(&mut self) {
        let mut all: Vec<(i64, usize, usize)> = Vec::new();
        for (node, it) in self.nodes.iter().enumerate() {
            let turns = it.turns.iter().enumerate();
            all.extend(turns.map(|(turn, it)| (it.at_ns, node, turn)));
        }
        all.sort_unstable();
        // Not seen, waiting for others, done.
        let mut states: Vec<Vec<u8>> = self
            .nodes
            .iter()
            .map(|it| vec![0; it.turns.len()])
            .collect();
        let mut stack: Vec<(usize, usize, usize)> = Vec::new();
        for (_, node, turn) in all {
            if states[node][turn] == 0 {
                states[node][turn] = 1;
                stack.push((node, turn, 0));
            }
            while let Some((node, turn, asked)) = stack.last_mut() {
                let (node, turn) = (*node, *turn);
                match self.needs(node, turn, *asked) {
                    Some(needed) => {
                        *asked += 1;
                        if let Some((other, before)) = needed
                            && states[other][before] == 0
                        {
                            states[other][before] = 1;
                            stack.push((other, before, 0));
                        }
                    }
                    None => {
                        states[node][turn] = 2;
                        self.nodes[node].turns[turn].rank = self.schedule.len();
                        self.schedule.push((node, turn));
                        stack.pop();
                    }
                }
            }
        }
    }

    /// Says of each receipt what came latest in its turn.
    fn rank_receipts(&mut self) {
        for node in 0..self.nodes.len() {
            let mut latest = (0, (i64::MIN, 0));
            for place in 0..self.nodes[node].receipts.len() {
                let receipt = self.nodes[node].receipts[place];
                if receipt.turn != latest.0 {
                    latest = (receipt.turn, (i64::MIN, 0));
                }
                if let Some((send, came_ns)) = receipt.send {
                    let sender = &self.sends[send];
                    let rank = self.nodes[sender.node].turns[sender.turn].rank;
                    latest.1 = latest.1.max((came_ns, rank));
                }
                self.nodes[node].receipts[place].latest = latest.1;
            }
        }
    }

    /// The nth thing that is to be played before a turn; `Some(None)`: it is nothing.
    #[allow(clippy::option_option)] // the end of a list, and an empty place in it
    fn needs(&self, node: usize, turn: usize, n: usize) -> Option<Option<(usize, usize)>> {
        let it = self.nodes.get(node)?;
        if n == 0 {
            return Some(turn.checked_sub(1).map(|before| (node, before)));
        }
        let receipt = it.receipts_in(turn).get(n - 1)?;
        let send = receipt.send.and_then(|(send, _)| self.sends.get(send));
        Some(send.map(|send| (send.node, send.turn)))
    }
}

impl PlanNode {
    pub fn send_at(&self, number: EventNumber) -> Option<usize> {
        let place = self.sends.binary_search_by_key(&number, |it| it.0).ok()?;
        self.sends.get(place).map(|it| it.1)
    }

    pub fn receipt_at(&self, number: EventNumber) -> Option<usize> {
        let receipts = &self.receipts;
        receipts.binary_search_by_key(&number, |it| it.number).ok()
    }

    pub fn receipt(&self, number: EventNumber) -> Option<&PlanReceipt> {
        self.receipts.get(self.receipt_at(number)?)
    }

    pub fn receipts_in(&self, turn: usize) -> &[PlanReceipt] {
        let from = self.receipts.partition_point(|it| it.turn < turn);
        let until = self.receipts.partition_point(|it| it.turn <= turn);
        self.receipts.get(from..until).unwrap_or_default()
    }

    /// The sends of a turn.
    pub fn sends_in(&self, turn: usize) -> &[(EventNumber, usize)] {
        let Some(turn) = self.turns.get(turn) else {
            return &[];
        };
        let from = self.sends.partition_point(|it| it.0 < turn.first);
        let until = self.sends.partition_point(|it| it.0 < turn.end);
        self.sends.get(from..until).unwrap_or_default()
    }
}

/// About when a packet came that was sent, and read, then: in the middle of the time in which it
/// can have come. `asked_ns`: when the receiver had asked before and not got it.
fn came(asked_ns: Option<i64>, sent_ns: i64, read_ns: i64) -> i64 {
    let earliest = asked_ns.map_or(sent_ns, |asked_ns| asked_ns.max(sent_ns));
    if earliest < read_ns {
        earliest + (read_ns - earliest) / 2
    } else {
        read_ns
    }
}

pub(crate) fn hash(payload: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(payload);
    hasher.finish()
}

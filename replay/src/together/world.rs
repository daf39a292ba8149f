//! The network, and all nodes, of a session that is played on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use netreel_reel::{Endpoint, Event, EventNumber, Record, SendOutcome, SocketId, Time};
use netreel_transport::{Datagram, Draw, ReceiveError, SendError, Step, mix};

use super::lane::{Item, NodePlayed, Outgoing, Place, Waiting};
use super::plan::{Arrival, Plan, hash};
use super::unlike::{Unlike, unlike};
use crate::ReelEvents;

/// The same bytes on a link are taken for the recorded packet if they are sent within this of it.
const EQUAL_WITHIN_NS: u64 = 1_000_000_000;

/// Takes the events of the nodes that are played, each node's in order.
pub trait Sink: Send {
    /// An event of a node, by its place in the story.
    fn write(&mut self, node: usize, record: &Record<'_>);
}

/// Nobody keeps them.
impl Sink for () {
    fn write(&mut self, _node: usize, _record: &Record<'_>) {}
}

/// What has become of a recorded send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Taken {
    #[default]
    Not,
    /// Its receivers have it, but it is not sent yet.
    Ahead,
    Sent,
}

pub(super) struct World {
    pub plan: Arc<Plan>,
    pub lanes: Vec<NodePlayed>,
    pub sink: Box<dyn Sink>,
    taken: Vec<Taken>,
    seed: u64,
    /// Of the turn that is played.
    rank: usize,
    /// Packets that were sent off the recording, so far.
    unrecorded: u64,
}

impl World {
    pub fn new(plan: Arc<Plan>, seed: u64, sink: Box<dyn Sink>) -> World {
        let lanes = plan.nodes.iter().map(|node| {
            let mut lane = NodePlayed::new(&node.name, seed);
            if let Some(reel) = &node.reel {
                lane.events = Some(ReelEvents::new(Arc::clone(reel)));
                lane.is_cut = node.is_cut;
                lane.socket = reel.endpoints().first().map_or(SocketId(0), |it| it.0);
                lane.report.played = true;
                lane.report.recorded = node.sends.len() as u64;
            }
            lane
        });
        World {
            lanes: lanes.collect(),
            taken: vec![Taken::default(); plan.sends.len()],
            plan,
            sink,
            seed,
            rank: 0,
            unrecorded: 0,
        }
    }

    /// Begins a turn: what begins it, a tick or a call.
    pub fn begin(&mut self, node: usize, turn: usize) -> Option<(EventNumber, Option<Vec<u8>>)> {
        let plan = Arc::clone(&self.plan);
        let it = *plan.nodes.get(node)?.turns.get(turn)?;
        let lane = self.lanes.get_mut(node)?;
        self.rank = it.rank;
        lane.turn = turn;
        lane.shift_ns = i128::from(it.at_ns) - i128::from(it.time.0);
        let begins = lane.load(turn == 0);
        lane.pass_to(it.time);
        self.receive_unsent(node, turn);
        let lane = self.lanes.get_mut(node)?;
        let begins = begins?;
        let begins = begins.as_record();
        lane.write(self.sink.as_mut(), node, begins.event);
        lane.begun_by = begins.number;
        let call = match begins.event {
            Event::Input { call } => {
                lane.report.inputs += 1;
                Some(call.to_vec())
            }
            event => {
                if let Event::Tick { tick, time } = event {
                    lane.tick = (tick, time);
                }
                lane.report.ticks += 1;
                None
            }
        };
        Some((begins.number, call))
    }

    /// What comes in this turn without being sent: from nodes that are not played, what no reel has
    /// sent, failed receives, and what is to be sent only after it was answered.
    fn receive_unsent(&mut self, node: usize, turn: usize) {
        let plan = Arc::clone(&self.plan);
        let Some(of) = plan.nodes.get(node) else {
            return;
        };
        let mut ahead = Vec::new();
        for receipt in of.receipts_in(turn) {
            let Some((send, _)) = receipt.send else {
                continue;
            };
            let sender = &plan.sends[send];
            let later = plan.nodes[sender.node].turns[sender.turn].rank > self.rank;
            if later && self.taken[send] == Taken::Not && self.lanes[sender.node].is_on() {
                self.taken[send] = Taken::Ahead;
                ahead.push(receipt.number);
            }
        }
        let Some(lane) = self.lanes.get_mut(node) else {
            return;
        };
        let mut items = Vec::new();
        for record in lane.script() {
            let time = Some(record.time);
            let (socket, what) = match record.event {
                Event::Received {
                    socket,
                    from,
                    payload,
                } => {
                    let receipt = of.receipt(record.number);
                    let is_sent = receipt.is_some_and(|it| it.send.is_some());
                    if is_sent && !ahead.contains(&record.number) {
                        continue;
                    }
                    let payload = payload.into();
                    (socket, Waiting::Packet { from, payload })
                }
                Event::ReceiveFailed { socket, code } => (socket, Waiting::Failed(code)),
                _ => continue,
            };
            let place = (record.number, true, 0, 0);
            items.push((place, Item { socket, time, what }));
        }
        lane.inbox.extend(items);
    }

    /// Ends a turn: what was sent off the recording goes its way.
    pub fn end(&mut self, node: usize) {
        let Some(lane) = self.lanes.get_mut(node) else {
            return;
        };
        lane.end_turn(self.sink.as_mut(), node);
        let turn = lane.turn;
        let outgoing = std::mem::take(&mut lane.outgoing);
        if !outgoing.is_empty() {
            self.send_all(node, turn, outgoing);
        }
    }

    /// Counts what was not sent.
    pub fn finish(&mut self) {
        for (send, taken) in self.plan.sends.iter().zip(&self.taken) {
            let report = &mut self.lanes[send.node].report;
            report.missing += u64::from(*taken != Taken::Sent);
            report.not_sent_after_all += u64::from(*taken == Taken::Ahead);
        }
        for lane in &mut self.lanes {
            lane.report.left = lane.left.clone();
        }
    }

    pub fn now(&mut self, node: usize) -> Time {
        let Some(lane) = self.lanes.get_mut(node) else {
            return Time::ZERO;
        };
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(self.sink.as_mut(), node);
            let expected = expected.as_ref().map(|it| it.as_record());
            if let Some(record) = expected
                && let Event::Clock { value } = record.event
            {
                lane.step(record.time);
                lane.write(self.sink.as_mut(), node, record.event);
                return lane.clock_said(value);
            }
            lane.leave_by(Step::Clock);
        }
        let value = lane.clock_off();
        if !lane.is_past_end {
            lane.write(self.sink.as_mut(), node, Event::Clock { value });
        }
        value
    }

    pub fn random(&mut self, node: usize) -> u64 {
        let Some(lane) = self.lanes.get_mut(node) else {
            return 0;
        };
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(self.sink.as_mut(), node);
            let expected = expected.as_ref().map(|it| it.as_record());
            match expected {
                Some(record) if matches!(record.event, Event::Random { .. }) => {
                    lane.step(record.time);
                }
                _ => lane.leave_by(Step::Random),
            }
        }
        let value = lane.random();
        if !lane.is_past_end {
            lane.write(self.sink.as_mut(), node, Event::Random { value });
        }
        value
    }

    pub fn note(&mut self, node: usize, text: &str) {
        let Some(lane) = self.lanes.get_mut(node) else {
            return;
        };
        if !lane.is_past_end && !lane.has_note(text) {
            let text = text.as_bytes();
            lane.write(self.sink.as_mut(), node, Event::Note { text });
        }
    }

    pub fn send(
        &mut self,
        node: usize,
        socket: Option<SocketId>,
        to: Endpoint,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let Some(lane) = self.lanes.get_mut(node) else {
            return Ok(());
        };
        let own = socket.unwrap_or(lane.socket);
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(self.sink.as_mut(), node);
            let record = expected.as_ref().map(|it| it.as_record());
            if let Some(record) = record
                && let Event::Sent {
                    socket: on,
                    to: recorded_to,
                    payload: recorded,
                } = record.event
                && socket.is_none_or(|socket| socket == on)
                && (recorded_to, recorded) == (to, payload)
            {
                lane.step(record.time);
                let outcome = lane.send_outcome(record.number);
                let of = lane.write(self.sink.as_mut(), node, record.event);
                let result = Event::SendResult { of, outcome };
                lane.write(self.sink.as_mut(), node, result);
                let sent = self.plan.nodes[node].send_at(record.number);
                if let Some(sent) = sent {
                    self.send_recorded(node, sent, payload.into());
                }
                return match outcome {
                    SendOutcome::Sent => Ok(()),
                    SendOutcome::Short(taken) => Err(SendError::Short(taken)),
                    SendOutcome::Failed(code) => Err(SendError::Os(code)),
                };
            }
            let packet = payload.to_vec();
            lane.leave_by(Step::Send { to, packet });
        }
        if lane.is_past_end {
            return Ok(());
        }
        lane.pass_to_send(to);
        let at_ns = lane.at_ns(lane.now);
        let sent = Event::Sent {
            socket: own,
            to,
            payload,
        };
        let of = lane.write(self.sink.as_mut(), node, sent);
        let outcome = SendOutcome::Sent;
        lane.write(self.sink.as_mut(), node, Event::SendResult { of, outcome });
        lane.outgoing.push(Outgoing {
            socket: own,
            to,
            at_ns,
            payload: payload.into(),
        });
        Ok(())
    }

    pub fn receive(
        &mut self,
        node: usize,
        socket: Option<SocketId>,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        let plan = Arc::clone(&self.plan);
        let Some(lane) = self.lanes.get_mut(node).filter(|lane| !lane.is_past_end) else {
            return Ok(None);
        };
        let mut place = None;
        if lane.is_on() {
            let expected = lane.expected(self.sink.as_mut(), node);
            match expected.as_ref().map(|it| it.as_record()) {
                Some(record) => {
                    place = lane.first_until(record.number, socket);
                    match unlike(lane, &record, socket, place) {
                        None => lane.step(record.time),
                        Some(Unlike::Step) => lane.leave_by(Step::Receive),
                        Some(Unlike::Came(why)) => lane.leave(record.number, record.time, why),
                    }
                }
                None => lane.leave_by(Step::Receive),
            }
            if lane.is_past_end {
                return Ok(None);
            }
        }
        if !lane.is_on() {
            let turn = plan.nodes[node].turns.get(lane.turn);
            let end = turn.map_or(EventNumber(u64::MAX), |turn| turn.end);
            place = lane.first_until(end, socket);
        }
        let item = place.and_then(|place| lane.inbox.remove(&place));
        let Some(Item { socket, time, what }) = item else {
            let socket = socket.unwrap_or(lane.socket);
            lane.write(self.sink.as_mut(), node, Event::PollEmpty { socket });
            return Ok(None);
        };
        if let Some(time) = time {
            let next = plan.nodes[node].turns.get(lane.turn + 1);
            lane.pass_to(next.map_or(time, |next| time.min(next.time)));
        }
        match what {
            Waiting::Failed(code) => {
                let failed = Event::ReceiveFailed { socket, code };
                lane.write(self.sink.as_mut(), node, failed);
                Err(ReceiveError(code))
            }
            Waiting::Packet { from, payload } => {
                let length = payload.len().min(buffer.len());
                buffer[..length].copy_from_slice(&payload[..length]);
                let payload = &buffer[..length];
                let received = Event::Received {
                    socket,
                    from,
                    payload,
                };
                lane.write(self.sink.as_mut(), node, received);
                lane.report.received += 1;
                Ok(Some(Datagram { from, length }))
            }
        }
    }

    /// A packet takes the place of a recorded one: it arrives where and when that did.
    fn send_recorded(&mut self, node: usize, send: usize, payload: Arc<[u8]>) {
        let plan = Arc::clone(&self.plan);
        let recorded = &plan.sends[send];
        let report = &mut self.lanes[node].report;
        match recorded.hash == hash(&payload) {
            true => report.equal += 1,
            false => report.changed += 1,
        }
        if std::mem::replace(&mut self.taken[send], Taken::Sent) == Taken::Ahead {
            return;
        }
        for arrival in plan
            .arrivals
            .get(recorded.arrivals.clone())
            .unwrap_or_default()
        {
            let receipt = plan.nodes[arrival.node].receipt(arrival.number);
            let Some(receipt) = receipt else { continue };
            let item = Item {
                socket: receipt.socket,
                time: Some(receipt.time),
                what: Waiting::Packet {
                    from: receipt.from,
                    payload: Arc::clone(&payload),
                },
            };
            let place = (receipt.number, true, 0, 0);
            self.lanes[arrival.node].inbox.insert(place, item);
        }
    }

    /// What a node sent off its recording in one turn: each takes the place of a recorded packet,
    /// or goes as the link's packets went at that time.
    fn send_all(&mut self, node: usize, turn: usize, outgoing: Vec<Outgoing>) {
        let plan = Arc::clone(&self.plan);
        let links: Vec<Option<usize>> = outgoing
            .iter()
            .map(|it| plan.link_of.get(&(node, it.socket, it.to)).copied())
            .collect();
        let hashes: Vec<u64> = outgoing.iter().map(|it| hash(&it.payload)).collect();
        let mut free: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
        for &(_, send) in plan.nodes[node].sends_in(turn) {
            if self.taken[send] != Taken::Sent {
                free.entry(plan.sends[send].link)
                    .or_default()
                    .push_back(send);
            }
        }
        let mut found: Vec<Option<usize>> = vec![None; outgoing.len()];
        for (place, found) in found.iter_mut().enumerate() {
            let of_link = links[place].and_then(|link| free.get_mut(&link));
            if let Some(of_link) = of_link
                && let Some(at) = of_link
                    .iter()
                    .position(|&send| plan.sends[send].hash == hashes[place])
            {
                *found = of_link.remove(at);
            }
        }
        for (place, found) in found.iter_mut().enumerate() {
            let of_link = links[place].and_then(|link| free.get_mut(&link));
            if let (None, Some(of_link)) = (&found, of_link) {
                *found = of_link.pop_front();
            }
        }
        for (place, it) in outgoing.into_iter().enumerate() {
            self.unrecorded += 1;
            let number = self.unrecorded;
            if let Some(send) = found[place] {
                self.send_recorded(node, send, it.payload);
                continue;
            }
            let equal = links[place].and_then(|link| self.equal(link, hashes[place], it.at_ns));
            match equal {
                Some(send) => {
                    self.lanes[node].report.equal += 1;
                    self.taken[send] = Taken::Sent;
                    if !plan.sends[send].arrivals.is_empty() {
                        self.send_like_others(node, links[place], it);
                    }
                }
                None => {
                    self.lanes[node].report.new += 1;
                    let loss = links[place].map_or(0.0, |link| plan.links[link].loss(it.at_ns));
                    let mut draw = Draw::new(mix(&[self.seed, node as u64, number]));
                    if !draw.chance(loss) {
                        self.send_like_others(node, links[place], it);
                    }
                }
            }
        }
    }

    /// The recorded packet of a link with the same bytes that nobody has sent yet, of which it is
    /// known what became of it, and that was sent nearest to this time.
    fn equal(&self, link: usize, hash: u64, at_ns: i64) -> Option<usize> {
        let equals = &self.plan.equals;
        let from = equals.partition_point(|it| (it.0, it.1) < (link, hash));
        let same = equals.get(from..)?.iter();
        let same = same.take_while(|it| (it.0, it.1) == (link, hash));
        let near = same.filter_map(|it| {
            let send = self.plan.sends.get(it.2)?;
            let away = send.at_ns.abs_diff(at_ns);
            let is_free = self.taken.get(it.2) == Some(&Taken::Not);
            let is_known = send.lost || !send.arrivals.is_empty();
            (is_free && is_known && away <= EQUAL_WITHIN_NS).then_some((away, it.2))
        });
        near.min().map(|it| it.1)
    }

    /// A packet goes as others of its link went.
    fn send_like_others(&mut self, node: usize, link: Option<usize>, it: Outgoing) {
        let plan = Arc::clone(&self.plan);
        let link = link.and_then(|link| plan.links.get(link));
        let arrivals = link.map(|link| link.arrivals(&plan, it.at_ns));
        let like = arrivals.filter(|it| !it.is_empty());
        let like = like.unwrap_or_else(|| {
            let mut nodes = plan.nodes.iter();
            let to = nodes.position(|node| node.endpoints.contains(&it.to));
            let arrival = to.filter(|_| link.is_none()).map(|node| Arrival {
                node,
                number: EventNumber(u64::MAX),
                came_ns: it.at_ns.saturating_add(plan.usual_ns.max(0)),
            });
            arrival.into_iter().collect()
        });
        for arrival in like {
            let receiver = &plan.nodes[arrival.node];
            let Some(place) = self.place(arrival.node, arrival.came_ns) else {
                continue;
            };
            let like = receiver.receipt(arrival.number);
            let (socket, from) = match like {
                Some(receipt) => (receipt.socket, receipt.from),
                None => (
                    socket_at(receiver.reel.as_deref(), it.to).unwrap_or_default(),
                    self.address(node, it.socket),
                ),
            };
            let item = Item {
                socket,
                time: None,
                what: Waiting::Packet {
                    from,
                    payload: Arc::clone(&it.payload),
                },
            };
            self.lanes[arrival.node].inbox.insert(place, item);
        }
    }

    /// Where a packet stands at its receiver that comes there at this time: in the first turn that
    /// is not before it, and before what came later. `None`: its recording is over by then.
    fn place(&self, node: usize, came_ns: i64) -> Option<Place> {
        let plan = &self.plan;
        let receiver = plan.nodes.get(node)?;
        let turns = &receiver.turns;
        let first = turns.partition_point(|turn| turn.at_ns < came_ns || turn.rank <= self.rank);
        let turn = turns.get(first)?;
        let mut number = turn.first.next();
        for receipt in receiver.receipts_in(first) {
            let later = receipt.send.is_some_and(|(send, other_ns)| {
                let sender = &plan.sends[send];
                let rank = plan.nodes[sender.node].turns[sender.turn].rank;
                (other_ns, rank) > (came_ns, self.rank)
            });
            if later {
                number = receipt.number;
                break;
            }
            number = receipt.number.next();
        }
        Some((number, false, came_ns, self.unrecorded))
    }

    /// How others see a socket of a node.
    fn address(&self, node: usize, socket: SocketId) -> Endpoint {
        let it = &self.plan.nodes[node];
        let sockets = it.reel.iter().flat_map(|reel| reel.endpoints());
        let local = sockets.into_iter().find(|at| at.0 == socket).map(|at| at.1);
        let seen = it.endpoints.iter().copied();
        let mut seen = seen.filter(|at| local.is_none_or(|local| local.port() == at.port()));
        let unknown = || Endpoint::from(([0, 0, 0, 0], 0));
        local
            .filter(|local| !local.ip().is_unspecified())
            .or_else(|| seen.next())
            .or(local)
            .unwrap_or_else(unknown)
    }
}

fn socket_at(reel: Option<&netreel_reel::Reel>, to: Endpoint) -> Option<SocketId> {
    let mut sockets = reel?.endpoints().iter();
    sockets.find(|at| at.1.port() == to.port()).map(|at| at.0)
}

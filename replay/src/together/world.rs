//! The network, and all nodes, of a session that is played on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::{Believed, Endpoint, Event, EventNumber, SendOutcome, SocketId, Time};
use netreel_transport::{Datagram, Draw, ReceiveError, SendError, Step, mix};

use super::lane::{Item, NodePlayed, Outgoing, Place, Unlike, Waiting, unlike};
use super::link::Arrival;
use super::plan::{Plan, PlanNode, hash};
use super::reels::Sink;
use super::stands_for::{Sends, Taken};
use crate::ReelEvents;

pub(super) struct World {
    pub plan: Arc<Plan>,
    pub lanes: Vec<NodePlayed>,
    pub sink: Box<dyn Sink>,
    sends: Sends,
    /// Receipts, by node, of packets that were given before it was their turn to be sent.
    ahead: BTreeSet<(usize, EventNumber)>,
    seed: u64,
    /// Of the turn that is played.
    rank: usize,
    /// Packets that were sent off the recording, so far.
    unrecorded: u64,
    /// How others see a socket of a node, as far as that was asked.
    addresses: BTreeMap<(usize, SocketId), Endpoint>,
    /// A node's socket at a port, as far as that was asked.
    sockets: BTreeMap<(usize, u16), SocketId>,
}

impl World {
    pub fn new(plan: Arc<Plan>, seed: u64, sink: Box<dyn Sink>) -> World {
        let lanes = plan.nodes.iter().enumerate().map(|(place, node)| {
            let mut lane = NodePlayed::new(place, &node.name, seed);
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
            sends: Sends::of(&plan),
            ahead: BTreeSet::new(),
            plan,
            sink,
            seed,
            rank: 0,
            unrecorded: 0,
            addresses: BTreeMap::new(),
            sockets: BTreeMap::new(),
        }
    }

    fn lane(&mut self, node: usize) -> (&mut NodePlayed, &mut dyn Sink) {
        (&mut self.lanes[node], self.sink.as_mut())
    }

    /// Begins a turn: what begins it, a tick or a call.
    pub fn begin(&mut self, node: usize, turn: usize) -> Option<(EventNumber, Option<Vec<u8>>)> {
        let plan = Arc::clone(&self.plan);
        let it = *plan.nodes.get(node)?.turns.get(turn)?;
        self.rank = it.rank;
        let (lane, _) = self.lane(node);
        lane.turn = turn;
        lane.shift_ns = i128::from(it.at_ns) - i128::from(it.time.0);
        let begins = lane.load(turn == 0);
        lane.pass_to(it.time);
        self.receive_unsent(node, turn);
        let (lane, sink) = self.lane(node);
        let begins = begins?;
        let begins = begins.as_record();
        lane.write(sink, begins.event);
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
        let of = &plan.nodes[node];
        for receipt in of.receipts_in(turn) {
            let Some((send, _)) = receipt.send else {
                continue;
            };
            let sender = &plan.sends[send];
            let later = plan.nodes[sender.node].turns[sender.turn].rank > self.rank;
            let is_sent = self.sends.get(send) == Taken::Sent;
            if later && !is_sent && self.lanes[sender.node].is_on() {
                self.sends.take(send, Taken::Ahead, &plan);
                self.ahead.insert((node, receipt.number));
            }
        }
        let lane = &mut self.lanes[node];
        let mut items = Vec::new();
        for record in lane.script.iter() {
            let time = Some(record.time);
            let (socket, what) = match record.event {
                Event::Received {
                    socket,
                    from,
                    payload,
                } => {
                    let receipt = of.receipt(record.number);
                    let is_sent = receipt.is_some_and(|it| it.send.is_some());
                    if is_sent && !self.ahead.contains(&(node, record.number)) {
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
        for (place, item) in items {
            lane.inbox.insert(place, item);
        }
    }

    /// Ends a turn: what was sent off the recording goes its way.
    pub fn end(&mut self, node: usize) {
        let (lane, sink) = self.lane(node);
        lane.end_turn(sink);
        let turn = lane.turn;
        let outgoing = std::mem::take(&mut lane.outgoing);
        if !outgoing.is_empty() {
            self.send_all(node, turn, outgoing);
        }
    }

    /// Counts what was not sent.
    pub fn finish(&mut self) {
        for (place, send) in self.plan.sends.iter().enumerate() {
            let report = &mut self.lanes[send.node].report;
            let taken = self.sends.get(place);
            report.missing += u64::from(taken != Taken::Sent);
            report.not_sent_after_all += u64::from(taken == Taken::Ahead);
        }
        for lane in &mut self.lanes {
            lane.report.left = lane.left.clone();
        }
    }

    pub fn now(&mut self, node: usize) -> Time {
        let (lane, sink) = self.lane(node);
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(sink);
            let expected = expected.as_ref().map(|it| it.as_record());
            if let Some(record) = expected
                && let Event::Clock { value } = record.event
            {
                lane.step(record.time);
                lane.write(sink, record.event);
                return lane.clock_said(value);
            }
            lane.leave_by(Step::Clock);
        }
        let value = lane.clock_off();
        if !lane.is_past_end {
            lane.write(sink, Event::Clock { value });
        }
        value
    }

    pub fn random(&mut self, node: usize) -> u64 {
        let (lane, sink) = self.lane(node);
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(sink);
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
            lane.write(sink, Event::Random { value });
        }
        value
    }

    pub fn note(&mut self, node: usize, text: &str) {
        let (lane, sink) = self.lane(node);
        if !lane.is_past_end && !lane.has_note(text) {
            let text = text.as_bytes();
            lane.write(sink, Event::Note { text });
        }
    }

    /// What a layer says of itself that it believes. What its game said is not told again: the game is not
    /// played on.
    pub fn believes(&mut self, node: usize, object: u64, believed: Believed<'_>) {
        let (lane, sink) = self.lane(node);
        if !lane.is_past_end {
            let event = Event::Believed { object, believed };
            lane.write(sink, event);
        }
    }

    pub fn send(
        &mut self,
        node: usize,
        socket: Option<SocketId>,
        to: Endpoint,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let (lane, sink) = self.lane(node);
        let own = socket.unwrap_or(lane.socket);
        if lane.is_on() && !lane.is_past_end {
            let expected = lane.expected(sink);
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
                let of = lane.write(sink, record.event);
                let result = Event::SendResult { of, outcome };
                lane.write(sink, result);
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
        let of = lane.write(sink, sent);
        let outcome = SendOutcome::Sent;
        lane.write(sink, Event::SendResult { of, outcome });
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
        let (lane, sink) = self.lane(node);
        if lane.is_past_end {
            return Ok(None);
        }
        let mut place = None;
        if lane.is_on() {
            let expected = lane.expected(sink);
            match expected.as_ref().map(|it| it.as_record()) {
                Some(record) => {
                    place = lane.inbox.first_until(record.number, socket);
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
            place = lane.inbox.first_until(end, socket);
        }
        let item = place.and_then(|place| lane.inbox.remove(&place));
        let Some(Item { socket, time, what }) = item else {
            let socket = socket.unwrap_or(lane.socket);
            lane.write(sink, Event::PollEmpty { socket });
            return Ok(None);
        };
        if let Some(time) = time {
            let next = plan.nodes[node].turns.get(lane.turn + 1);
            lane.pass_to(next.map_or(time, |next| time.min(next.time)));
        }
        match what {
            Waiting::Failed(code) => {
                let failed = Event::ReceiveFailed { socket, code };
                lane.write(sink, failed);
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
                lane.write(sink, received);
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
        if recorded.hash == hash(&payload) {
            report.equal += 1
        } else {
            report.changed += 1
        }
        self.sends.take(send, Taken::Sent, &plan);
        let arrivals = plan.arrivals.get(recorded.arrivals.clone());
        for arrival in arrivals.unwrap_or_default() {
            if self.ahead.contains(&(arrival.node, arrival.number)) {
                continue;
            }
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
        let link = |it: &Outgoing| plan.link_of.get(&(node, it.socket, it.to)).copied();
        let sent: Vec<(Option<usize>, u64)> = outgoing
            .iter()
            .map(|it| (link(it), hash(&it.payload)))
            .collect();
        let found = self.sends.in_turn(&plan, (node, turn), &sent);
        for ((it, found), (link, hash)) in outgoing.into_iter().zip(found).zip(sent) {
            self.unrecorded += 1;
            let number = self.unrecorded;
            if let Some(send) = found {
                self.send_recorded(node, send, it.payload);
                continue;
            }
            match link.and_then(|link| self.sends.equal(&plan, link, hash, it.at_ns)) {
                Some(send) => {
                    self.lanes[node].report.equal += 1;
                    self.sends.take(send, Taken::Sent, &plan);
                    if !plan.sends[send].arrivals.is_empty() {
                        self.send_like_others(node, link, it);
                    }
                }
                None => {
                    self.lanes[node].report.new += 1;
                    let loss = link.map_or(0.0, |link| plan.links[link].loss(it.at_ns));
                    let mut draw = Draw::new(mix(&[self.seed, node as u64, number]));
                    if !draw.chance(loss) {
                        self.send_like_others(node, link, it);
                    }
                }
            }
        }
    }

    /// A packet goes as others of its link went.
    fn send_like_others(&mut self, node: usize, link: Option<usize>, it: Outgoing) {
        let plan = Arc::clone(&self.plan);
        let link = link.and_then(|link| plan.links.get(link));
        let arrivals = link.map(|link| plan.arrivals_on(link, it.at_ns));
        let like = arrivals.filter(|it| !it.is_empty()).unwrap_or_else(|| {
            let to = plan.node_at.get(&it.to).copied();
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
                    self.socket_at(arrival.node, it.to.port()),
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
        let receipts = receiver.receipts_in(first);
        let later = receipts.partition_point(|it| it.latest <= (came_ns, self.rank));
        let number = match (receipts.get(later), receipts.last()) {
            (Some(later), _) => later.number,
            (None, Some(last)) => last.number.next(),
            (None, None) => turn.first.next(),
        };
        Some((number, false, came_ns, self.unrecorded))
    }

    /// How others see a socket of a node.
    fn address(&mut self, node: usize, socket: SocketId) -> Endpoint {
        let plan = &self.plan;
        let look = || address(&plan.nodes[node], socket);
        *self.addresses.entry((node, socket)).or_insert_with(look)
    }

    /// A node's socket at a port; the first where it has none there.
    fn socket_at(&mut self, node: usize, port: u16) -> SocketId {
        let plan = &self.plan;
        let look = || {
            let mut sockets = plan.nodes[node].reel.iter().flat_map(|it| it.endpoints());
            let found = sockets.find(|at| at.1.port() == port).map(|at| at.0);
            found.unwrap_or_default()
        };
        *self.sockets.entry((node, port)).or_insert_with(look)
    }
}

fn address(it: &PlanNode, socket: SocketId) -> Endpoint {
    let sockets = it.reel.iter().flat_map(|reel| reel.endpoints());
    let local = sockets.into_iter().find(|at| at.0 == socket).map(|at| at.1);
    let mut seen = it
        .endpoints
        .iter()
        .copied()
        .filter(|at| local.is_none_or(|local| local.port() == at.port()));
    let unknown = || Endpoint::from(([0, 0, 0, 0], 0));
    local
        .filter(|local| !local.ip().is_unspecified())
        .or_else(|| seen.next())
        .or(local)
        .unwrap_or_else(unknown)
}

//! What all runs of an exploration have in common: a recorded session, ready to be played any number of
//! times.

use std::sync::{Arc, Mutex, Weak};

use netreel_reel::{Duration, Endpoint, Event, EventNumber, OwnedRecord, Reel, SocketId, Time};
use netreel_system::locked;

use super::change::{Change, ChangeKind, Moment};
use super::stuck::{Call, Watched};
use crate::together::Plan;
use crate::together::link::Arrival;
use crate::together::plan::{PlanNode, PlanReceipt, PlanTurn, hash};

/// A recorded session, ready to be played any number of times.
///
/// Behind the end of the recording the nodes tick on for [`GroundOptions::rest`], so that what is under way
/// arrives and is answered.
#[derive(Debug)]
pub struct Ground {
    pub(super) plan: Arc<Plan>,
    pub(super) nodes: Vec<GroundNode>,
    /// Nodes and turns in the order in which they are played.
    pub(super) order: Vec<(usize, u32)>,
    /// What usually lies between two ticks of a node.
    pub(super) period_ns: u64,
    options: GroundOptions,
    /// Behind the middle of the time in which nodes tick on, nothing is moved: what is moved has time to
    /// settle. On the session's clock.
    still_ns: i64,
    /// When the recording ends. On the session's clock.
    end_ns: i64,
    /// Whether from there on every link brings what is sent, and every node ticks.
    heals: bool,
    /// Of each that plays it, the call that it is in.
    watched: Mutex<Vec<Weak<Watched>>>,
}

/// How a session is played behind its end.
#[derive(Clone, Copy, Debug)]
pub struct GroundOptions {
    /// For how long the nodes tick on.
    pub rest: Duration,
    /// The only node that is played: what others sent arrives as it did, or as a change says.
    pub alone: Option<usize>,
}

#[derive(Debug)]
pub(super) struct GroundNode {
    pub name: String,
    pub reel: Option<Arc<Reel>>,
    pub socket: SocketId,
    pub turns: Vec<GroundTurn>,
    /// What the clock said, turn by turn.
    pub clocks: Vec<Time>,
    pub randoms: Vec<u64>,
    /// When each receipt of the plan came: later than the one before it.
    pub came_ns: Vec<i64>,
    /// Packets that arrive without being sent by a layer.
    pub unsent: Vec<Unsent>,
}

impl GroundNode {
    /// Those of its reel, where it is played.
    pub fn sockets(&self) -> &[(SocketId, Endpoint)] {
        self.reel.as_ref().map_or(&[], |reel| reel.endpoints())
    }
}

/// One turn of a node: a tick, or a call of the game.
#[derive(Debug)]
pub(super) struct GroundTurn {
    pub begins: Begins,
    /// On the session's clock.
    pub at_ns: i64,
    /// On the node's clock.
    pub time: Time,
    /// The place in [`Ground::order`].
    pub rank: usize,
    /// Of [`GroundNode::clocks`].
    pub clocks: std::ops::Range<usize>,
    /// What the clock says where the recording has no read.
    pub clock: Time,
    /// What the layer has no part in: sockets that are opened and closed.
    pub beside: Vec<OwnedRecord>,
}

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begins {
    /// The layer is made.
    Start,
    /// A tick, and the game's own time.
    Tick(u64, Time),
    /// A call of the game.
    Call(Arc<[u8]>),
}

/// A packet of a node without a layer.
#[derive(Debug)]
pub(super) struct Unsent {
    pub from: usize,
    pub at: Moment,
    pub socket: SocketId,
    pub source: Endpoint,
    pub payload: Arc<[u8]>,
}

/// Where a packet of a layer goes when nothing is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Natural {
    /// The receiver, by its place.
    pub node: usize,
    /// When it is there.
    pub at: Moment,
    /// By which socket.
    pub socket: SocketId,
    /// From where.
    pub source: Endpoint,
}

impl Natural {
    /// What comes as this receipt of a node did.
    fn like(receipt: &PlanReceipt, node: usize, at: Moment) -> Natural {
        Natural {
            node,
            at,
            socket: receipt.socket,
            source: receipt.from,
        }
    }
}

impl Ground {
    /// A session that was made small, as a test of an engine: behind its end what was dropped of it is made
    /// up for. The nodes tick on for `rest`, also those that had no tick, and a link on which nothing came
    /// brings what is sent. An engine that heals is whole then.
    pub fn healing(plan: Arc<Plan>, rest: Duration) -> Ground {
        let options = GroundOptions { rest, alone: None };
        Ground::made(plan, options, true)
    }

    /// Reads the reels of `plan` once more, for what a layer is answered.
    pub fn new(plan: Arc<Plan>, options: GroundOptions) -> Ground {
        Ground::made(plan, options, false)
    }

    fn made(plan: Arc<Plan>, options: GroundOptions, heals: bool) -> Ground {
        let places = 0..plan.nodes.len();
        let mut nodes: Vec<GroundNode> = places
            .map(|node| read(&plan, node, options.alone))
            .collect();
        let ends = nodes
            .iter()
            .filter_map(|node| Some(node.turns.last()?.at_ns));
        let end_ns = ends.max().unwrap_or(0);
        let still_ns = match options.alone {
            None => end_ns.saturating_add(ns(options.rest / 2)),
            Some(_) => i64::MAX,
        };
        let schedule = plan.schedule.iter();
        let mut order: Vec<(usize, u32)> = schedule
            .map(|&(node, turn)| (node, turn_number(turn)))
            .collect();
        if options.alone.is_none() && !options.rest.is_zero() {
            let until_ns = end_ns.saturating_add(ns(options.rest));
            rest(&mut nodes, &mut order, until_ns, heals);
        }
        for (rank, &(node, turn)) in order.iter().enumerate() {
            if let Some(turn) = nodes[node].turns.get_mut(turn as usize) {
                turn.rank = rank;
            }
        }
        let mut ground = Ground {
            period_ns: period_ns(&nodes),
            options,
            still_ns,
            end_ns,
            heals,
            watched: Mutex::default(),
            plan,
            nodes,
            order,
        };
        ground.gather_unsent();
        ground
    }

    /// The same session, whose nodes tick on for another time.
    pub fn resting(&self, rest: Duration) -> Ground {
        let options = GroundOptions {
            rest,
            ..self.options
        };
        Ground::new(Arc::clone(&self.plan), options)
    }

    /// The only node that is played, where it is not all.
    pub(super) fn alone(&self) -> Option<usize> {
        self.options.alone
    }

    /// For how long the nodes tick on behind the end of the recording.
    pub fn rest(&self) -> Duration {
        self.options.rest
    }

    /// When the recording ends, on the session's clock, in nanoseconds.
    pub(super) fn end_ns(&self) -> i64 {
        self.end_ns
    }

    /// A number for what is played: every record of the reels, the nodes, their turns, and how packets go.
    pub fn number(&self) -> u64 {
        let mut words = Vec::new();
        for node in &self.nodes {
            words.extend([node.turns.len() as u64, number_of(node.name.as_bytes())]);
            words.extend(node.came_ns.iter().map(|ns| *ns as u64));
            let Some(reel) = &node.reel else { continue };
            words.push(number_of(&reel.header().start));
            reel.for_each(|record| {
                words.push(record.time.0);
                words.push(super::tables::number(
                    &format_args!("{:?}", record.event).to_string(),
                ));
            });
        }
        words.push(self.plan.usual_ns as u64);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        number_of(&bytes)
    }

    /// The names of the nodes, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("?", |node| node.name.as_str())
    }

    /// The reel that a node's layer is made from, where it is played.
    pub fn reel(&self, node: usize) -> Option<&Arc<Reel>> {
        self.nodes.get(node)?.reel.as_ref()
    }

    /// When a receipt of the recording came to a node, by the number of its event.
    pub fn came(&self, node: usize, receipt: EventNumber) -> Option<Moment> {
        let of = self.plan.nodes.get(node)?;
        let place = of.receipt_at(receipt)?;
        Some(Moment {
            turn: turn_number(of.receipts.get(place)?.turn),
            ns: *self.nodes.get(node)?.came_ns.get(place)?,
        })
    }

    /// The calls into layers that are under way, of all that play this session.
    pub fn calls(&self) -> Vec<Call> {
        let watched = locked(&self.watched);
        let calls = watched.iter().enumerate().filter_map(|(player, it)| {
            let (number, node, turn) = it.upgrade()?.call()?;
            Some(Call {
                player,
                number,
                node,
                at_ns: self.turn_ns(node, turn).unwrap_or_default(),
            })
        });
        calls.collect()
    }

    /// Somebody plays this session.
    pub(super) fn watch(&self) -> Arc<Watched> {
        let watched = Arc::new(Watched::default());
        let mut all = locked(&self.watched);
        all.push(Arc::downgrade(&watched));
        watched
    }

    /// When the turn at this place of [`Ground::order`] is, on the session's clock, in nanoseconds.
    pub(super) fn rank_ns(&self, rank: usize) -> i64 {
        let turn = self.order.get(rank);
        let at_ns = turn.and_then(|&(node, turn)| self.turn_ns(node, turn));
        at_ns.unwrap_or(i64::MAX)
    }

    /// So long nodes must believe again what they believe without changes before a run is left: two round
    /// trips, so that what was under way has come, and what was answered; half a second where more was done
    /// than to hold links, so that what was lost is sent again. Who is played alone waits for nobody. ns.
    pub(super) fn quiet_ns(&self, changes: &[Change]) -> i64 {
        let round_trips_ns = self.plan.usual_ns.saturating_mul(4);
        let holds = |it: &Change| it.kind == ChangeKind::Hold;
        match self.options.alone {
            Some(_) => 0,
            None if changes.iter().all(holds) => round_trips_ns,
            None => round_trips_ns.max(RESENT_NS),
        }
    }

    /// How many turns a run has at most.
    pub fn turns(&self) -> usize {
        self.order.len()
    }

    /// Where a node's turn stands in [`Ground::order`]; behind the last one its end.
    pub(super) fn rank(&self, (node, turn): (usize, u32)) -> usize {
        let of = self.nodes.get(node);
        let turn = of.and_then(|of| of.turns.get(turn as usize));
        turn.map_or(self.order.len(), |turn| turn.rank)
    }

    /// The last turn of a node in which something is moved.
    pub(super) fn last_turn_to_move(&self, node: usize) -> u32 {
        let Some(of) = self.nodes.get(node) else {
            return u32::MAX;
        };
        let turn = of.turns.partition_point(|turn| turn.at_ns <= self.still_ns);
        turn_number(turn.saturating_sub(1))
    }

    /// Whether a turn of a node is a call of the game.
    pub(super) fn is_call(&self, (node, turn): (usize, u32)) -> bool {
        let begins = &self.nodes[node].turns[turn as usize].begins;
        matches!(begins, Begins::Call(_))
    }

    /// When a node's turn is, on the session's clock, in nanoseconds.
    pub(super) fn turn_ns(&self, node: usize, turn: u32) -> Option<i64> {
        let of = self.nodes.get(node)?;
        Some(of.turns.get(turn as usize)?.at_ns)
    }

    /// Where the packet goes that a node sends in a turn on a link, the nth one of that turn and link.
    pub(super) fn natural(
        &self,
        (node, turn): (usize, u32),
        (socket, to): (SocketId, Endpoint),
        (nth, at_ns): (usize, i64),
        out: &mut Vec<Natural>,
    ) {
        let plan = &*self.plan;
        let link = plan.link_of.get(&(node, socket, to)).copied();
        if let Some(link) = link {
            let sends = plan.nodes[node].sends_in(turn as usize);
            let mut of_link = sends.iter().filter(|send| plan.sends[send.1].link == link);
            if let Some(&(_, send)) = of_link.nth(nth) {
                return self.as_recorded(send, out);
            }
            let arrivals = plan.arrivals_on(&plan.links[link], at_ns);
            if !arrivals.is_empty() || !self.heals || at_ns < self.end_ns {
                return self.arrive(&arrivals, out);
            }
        }
        let usual_ns = at_ns.saturating_add(plan.usual_ns.max(0));
        if let Some(&receiver) = plan.node_at.get(&to)
            && let Some(at) = self.moment(receiver, usual_ns)
        {
            let source = plan.nodes[node].endpoints.first().copied();
            out.push(Natural {
                node: receiver,
                at,
                socket: self.nodes[receiver].socket,
                source: source.unwrap_or(to),
            });
        }
    }

    fn arrive(&self, arrivals: &[Arrival], out: &mut Vec<Natural>) {
        for arrival in arrivals {
            let receipt = self.plan.nodes[arrival.node].receipt(arrival.number);
            if let (Some(receipt), Some(at)) = (receipt, self.moment(arrival.node, arrival.came_ns))
            {
                out.push(Natural::like(receipt, arrival.node, at));
            }
        }
    }

    pub(super) fn as_recorded(&self, send: usize, out: &mut Vec<Natural>) {
        let plan = &*self.plan;
        let arrivals = plan.arrivals.get(plan.sends[send].arrivals.clone());
        for arrival in arrivals.unwrap_or_default() {
            let of = &plan.nodes[arrival.node];
            if let Some(place) = of.receipt_at(arrival.number) {
                let receipt = &of.receipts[place];
                let at = Moment {
                    turn: turn_number(receipt.turn),
                    ns: self.nodes[arrival.node].came_ns[place],
                };
                out.push(Natural::like(receipt, arrival.node, at));
            }
        }
    }

    /// When a packet is there that comes at this time: in the first turn that is not before it.
    pub(super) fn moment(&self, node: usize, came_ns: i64) -> Option<Moment> {
        let turns = &self.nodes.get(node)?.turns;
        let turn = turns.partition_point(|turn| turn.at_ns < came_ns);
        turns.get(turn)?;
        Some(Moment {
            turn: u32::try_from(turn).ok()?,
            ns: came_ns,
        })
    }

    fn gather_unsent(&mut self) {
        let plan = Arc::clone(&self.plan);
        for (node, of) in plan.nodes.iter().enumerate() {
            let Some(reel) = &self.nodes[node].reel else {
                continue;
            };
            let mut receipts = of.receipts.iter().zip(&self.nodes[node].came_ns);
            let mut unsent = Vec::new();
            reel.for_each(|record| {
                let Event::Received { payload, .. } = record.event else {
                    return;
                };
                let Some((receipt, &came_ns)) = receipts.next() else {
                    return;
                };
                let sender = receipt.send.map(|(send, _)| plan.sends[send].node);
                let is_played = sender.is_some_and(|sender| self.nodes[sender].reel.is_some());
                if is_played {
                    return;
                }
                let from = sender.or_else(|| plan.node_at.get(&receipt.from).copied());
                unsent.push(Unsent {
                    from: from.unwrap_or(usize::MAX),
                    at: Moment {
                        turn: turn_number(receipt.turn),
                        ns: came_ns,
                    },
                    socket: receipt.socket,
                    source: receipt.from,
                    payload: payload.into(),
                });
            });
            self.nodes[node].unsent = unsent;
        }
    }
}

fn read(plan: &Plan, node: usize, alone: Option<usize>) -> GroundNode {
    let of = &plan.nodes[node];
    let reel = of.reel.clone();
    let reel = reel.filter(|_| alone.is_none_or(|it| it == node));
    let mut read = GroundNode {
        name: of.name.clone(),
        socket: SocketId(0),
        turns: of.turns.iter().map(empty).collect(),
        clocks: Vec::new(),
        randoms: Vec::new(),
        came_ns: came(of),
        unsent: Vec::new(),
        reel: reel.clone(),
    };
    let Some(reel) = reel else { return read };
    read.socket = reel.endpoints().first().map_or(SocketId(0), |it| it.0);
    let mut turn = 0;
    let mut last = (Time::ZERO, Time::ZERO);
    reel.for_each(|record| {
        while turn + 1 < of.turns.len() && record.number >= of.turns[turn + 1].first {
            turn += 1;
            let clocks = read.clocks.len();
            read.turns[turn].clocks = clocks..clocks;
            let passed = read.turns[turn].time.since(last.1);
            read.turns[turn].clock = last.0 + passed;
        }
        let it = &mut read.turns[turn];
        match record.event {
            Event::Tick { tick, time } => it.begins = Begins::Tick(tick, time),
            Event::Input { call } => it.begins = Begins::Call(call.into()),
            Event::Clock { value } => {
                if it.clocks.is_empty() {
                    it.clock = value;
                }
                read.clocks.push(value);
                it.clocks.end = read.clocks.len();
                last = (value, it.time);
            }
            Event::Random { value } => read.randoms.push(value),
            Event::SocketOpened { .. } | Event::SocketClosed { .. } => {
                it.beside.push(OwnedRecord::copy_of(record));
            }
            _ => {}
        }
    });
    read
}

/// What was lost is sent again by then, as a rule. ns.
const RESENT_NS: i64 = 500_000_000;

/// So much lies between two packets that are read in one turn: what is put between them has room. ns.
const BETWEEN_RECEIPTS_NS: i64 = 1000;

/// When each packet came, none at the same time as the one before it in a turn: the order in which they
/// were read stays.
fn came(node: &PlanNode) -> Vec<i64> {
    let mut last = (usize::MAX, i64::MIN);
    let receipts = node.receipts.iter().map(|receipt| {
        let turn_ns = node.turns.get(receipt.turn).map_or(0, |turn| turn.at_ns);
        // Of what nobody recorded at its sender the turn alone is known.
        let known_ns = match receipt.latest.0 {
            i64::MIN => turn_ns,
            latest_ns => latest_ns,
        };
        let ns = if last.0 == receipt.turn {
            known_ns.max(last.1.saturating_add(BETWEEN_RECEIPTS_NS))
        } else {
            known_ns
        };
        last = (receipt.turn, ns);
        ns
    });
    receipts.collect()
}

fn empty(turn: &PlanTurn) -> GroundTurn {
    GroundTurn {
        begins: Begins::Start,
        at_ns: turn.at_ns,
        time: turn.time,
        rank: turn.rank,
        clocks: 0..0,
        clock: turn.time,
        beside: Vec::new(),
    }
}

/// As runs number turns.
fn turn_number(turn: usize) -> u32 {
    u32::try_from(turn).unwrap_or(u32::MAX)
}

fn ns(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

/// The ticks among these turns, the last first.
pub(super) fn ticks_back(turns: &[GroundTurn]) -> impl Iterator<Item = (u64, Time, &GroundTurn)> {
    turns.iter().rev().filter_map(|turn| match turn.begins {
        Begins::Tick(tick, time) => Some((tick, time, turn)),
        _ => None,
    })
}

/// How a node ticks on.
#[derive(Clone, Copy)]
struct Beat {
    /// What lies between two ticks, on the node's clock and in the game's own time.
    step: Duration,
    virtual_step: Duration,
}

/// Of a node of which nothing is known.
const USUAL_BEAT: Beat = Beat {
    step: Duration::from_nanos(16_666_667),
    virtual_step: Duration::from_nanos(16_666_667),
};

/// How a node ticked last; `None` before its second tick.
fn beat(node: &GroundNode) -> Option<Beat> {
    let ticks = ticks_back(&node.turns).map(|(_, time, turn)| (time, turn.time));
    let last: Vec<_> = ticks.take(33).collect();
    let (newest, oldest) = (last.first()?, last.last()?);
    let between = u128::from(last.len() as u64 - 1);
    let part = |newest: Time, oldest: Time| {
        let step = newest.since(oldest).as_nanos().checked_div(between)?;
        Some(Duration::from_nanos(
            u64::try_from(step).unwrap_or(u64::MAX),
        ))
    };
    Some(Beat {
        step: part(newest.1, oldest.1)?.max(Duration::from_millis(1)),
        virtual_step: part(newest.0, oldest.0)?,
    })
}

/// Lets every node tick on behind the end, as it ticked last; `all`: as another one did where it had no two
/// ticks.
fn rest(nodes: &mut [GroundNode], order: &mut Vec<(usize, u32)>, until_ns: i64, all: bool) {
    let beats: Vec<Option<Beat>> = nodes.iter().map(beat).collect();
    let other = beats.iter().flatten().next().copied();
    let other = all.then(|| other.unwrap_or(USUAL_BEAT));
    let mut more: Vec<(i64, usize, u32)> = Vec::new();
    for (place, (node, own)) in nodes.iter_mut().zip(beats).enumerate() {
        let (Some(beat), Some(last)) = (own.or(other), node.turns.last()) else {
            continue;
        };
        if node.reel.is_none() {
            continue;
        }
        let last_ns = last.at_ns;
        let newest = ticks_back(&node.turns).next();
        let (mut tick, mut time, newest) = newest.unwrap_or((0, Time::ZERO, last));
        let (mut at_ns, mut now, mut clock) = (newest.at_ns, newest.time, newest.clock);
        let step_ns = ns(beat.step);
        while at_ns < until_ns {
            (tick, time) = (tick + 1, time + beat.virtual_step);
            (now, clock) = (now + beat.step, clock + beat.step);
            at_ns = at_ns.saturating_add(step_ns);
            let clocks = node.clocks.len();
            more.push((at_ns.max(last_ns), place, turn_number(node.turns.len())));
            node.turns.push(GroundTurn {
                begins: Begins::Tick(tick, time),
                at_ns: at_ns.max(last_ns),
                time: now,
                rank: 0,
                clocks: clocks..clocks,
                clock,
                beside: Vec::new(),
            });
        }
    }
    more.sort_unstable();
    order.extend(more.into_iter().map(|(_, node, turn)| (node, turn)));
}

/// The middle one of the times between two ticks.
fn period_ns(nodes: &[GroundNode]) -> u64 {
    let mut between = Vec::new();
    for node in nodes {
        let ticks: Vec<i64> = ticks_back(&node.turns).map(|it| it.2.at_ns).collect();
        let pairs = ticks.windows(2);
        between.extend(pairs.map(|it| it[0].saturating_sub(it[1]).max(0)));
    }
    between.sort_unstable();
    let middle = between.get(between.len() / 2).copied().unwrap_or(0);
    u64::try_from(middle).unwrap_or(0)
}

/// A number for these bytes, the same in every run.
pub fn number_of(payload: &[u8]) -> u64 {
    hash(payload)
}

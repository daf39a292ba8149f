//! One way through a session: the layers of all nodes, over a network that is changed here and there; and
//! what it came to.

use std::collections::BTreeSet;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use netreel_reel::Event;
use netreel_transport::{Layer, ObjectBelief, Shared};
use netreel_wire::Wire;
use serde::{Deserialize, Serialize};

use super::change::{Change, ChangeKind, due};
use super::cut::{Cut, PacketId};
use super::ground::{Begins, Ground};
use super::looks::{Looks, Row, Watch};
use super::marks::{Swap, swaps};
use super::net::{Broken, Delivery, Net, NetState, NodeSocket};
use super::stuck::Watched;
use super::tables::{Difference, Parting, Table, differences, number};
use crate::together::Sink;

/// Makes the layer of a node, by its place.
pub type MakeNode<'a, E> = dyn FnMut(usize, Shared<NodeSocket>) -> Result<Box<dyn Layer>, E> + 'a;

/// A state is kept every so many turns of each node, ticks and calls, or less often.
const STATE_TURNS: usize = 8;

/// How many bytes the states that are kept take at most, about.
const STATES_BYTES: usize = 256 << 20;

/// A state takes this many times as much memory as what its layers write of it.
const BYTES_PER_SAVED: usize = 8;

/// The most states that are kept, and the most where layers do not say how large one is.
const STATES_MAX: usize = 8192;
const STATES_UNKNOWN: usize = 256;

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// What layers said that is broken.
    pub broken: Vec<Broken>,
    /// A layer that panicked: its node, and what it said.
    pub panicked: Option<(usize, String)>,
    /// Of what nodes part when all is delivered, and do not without the changes; of a node that is played
    /// alone, of what it believes otherwise than without them.
    pub differences: Vec<Difference>,
    /// Whether the run was left before its end: all nodes came to believe what they believe without the
    /// changes, or agreed on something else for a second.
    pub left: bool,
    /// Turns of nodes that were played.
    pub turns: u64,
}

impl Ran {
    /// Whether it came to something that no engine wants.
    pub fn is_wrong(&self) -> bool {
        !self.broken.is_empty() || self.panicked.is_some() || !self.differences.is_empty()
    }
}

/// A layer that does not do the same when it is given the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Who sent something else, or believes something else at the end, by its place; `None`: it cannot be
    /// told.
    pub node: Option<usize>,
    /// When what it sent comes, on the session's clock, in nanoseconds.
    pub at_ns: Option<i64>,
    /// Whether it was brought back to a state of its own; else it began anew.
    pub is_restored: bool,
}

/// How a layer is brought back to where it was.
enum Kept {
    Fork(Box<dyn Layer>),
    State(Vec<u8>),
}

/// The layers and the network before a turn.
struct Snapshot {
    rank: usize,
    layers: Vec<Option<Kept>>,
    net: NetState,
}

/// Plays a session any number of times.
pub struct Runner<'a, E> {
    ground: Arc<Ground>,
    net: Shared<Net>,
    sockets: Vec<Shared<NodeSocket>>,
    layers: Vec<Option<Box<dyn Layer>>>,
    make: Box<MakeNode<'a, E>>,
    snapshots: Vec<Snapshot>,
    looks: Looks,
    /// Deliveries without changes.
    base: Vec<Delivery>,
    base_differences: Vec<Difference>,
    /// What layers say is broken without changes.
    base_broken: Vec<Broken>,
    /// What nodes believe at the end without changes.
    base_tables: Vec<Option<Table>>,
    watched: Arc<Watched>,
}

impl<'a, E> Runner<'a, E> {
    /// Plays `ground` once as it is, and keeps states on the way. What that came to.
    ///
    /// # Errors
    /// A layer that cannot be made.
    pub fn new(ground: Arc<Ground>, make: Box<MakeNode<'a, E>>) -> Result<(Runner<'a, E>, Ran), E> {
        let net = Shared::new(Net::new(Arc::clone(&ground)));
        let sockets = (0..ground.nodes.len()).map(|node| {
            let net = net.clone();
            Shared::new(NodeSocket { net, node })
        });
        let mut runner = Runner {
            sockets: sockets.collect(),
            layers: ground.nodes.iter().map(|_| None).collect(),
            make,
            snapshots: Vec::new(),
            looks: Looks::new(ground.nodes.len()),
            base: Vec::new(),
            base_differences: Vec::new(),
            base_broken: Vec::new(),
            base_tables: Vec::new(),
            net,
            watched: ground.watch(),
            ground,
        };
        let mut ran = Ran::default();
        runner.play(0, &[], &mut ran, Mode::Base)?;
        runner.base = runner.delivered(&mut ran);
        runner.base_tables = runner.beliefs(&[]);
        ran.differences = differences(&runner.base_tables);
        runner.base_differences.clone_from(&ran.differences);
        runner.base_broken.clone_from(&ran.broken);
        Ok((runner, ran))
    }

    /// What is played.
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }

    /// What a run without changes delivers.
    pub(super) fn base(&self) -> &[Delivery] {
        &self.base
    }

    /// What every node believes after the last run; `None` where it does not say so, or has died.
    pub fn beliefs(&self, changes: &[Change]) -> Vec<Option<Table>> {
        let mut rows = Vec::new();
        let table = |node: usize| {
            let says = self.read(changes, node, &mut rows);
            says.then(|| rows.iter().copied().collect())
        };
        (0..self.layers.len()).map(table).collect()
    }

    /// What was delivered so far; what layers said on the way goes to `ran`.
    fn delivered(&self, ran: &mut Ran) -> Vec<Delivery> {
        let mut net = self.net.lock();
        ran.broken = mem::take(&mut net.broken);
        mem::take(&mut net.trace)
    }

    /// Plays the session with these changes. What is delivered from before the first of them on, up to where
    /// the run was left, goes to `trace`.
    ///
    /// # Errors
    /// A layer that cannot be made anew.
    pub(super) fn run(&mut self, changes: &[Change], trace: &mut Vec<Delivery>) -> Result<Ran, E> {
        let first = changes.iter().map(|it| self.ground.rank(it.first_turn()));
        let until = first.min().unwrap_or(0);
        let at = self.snapshots.partition_point(|it| it.rank <= until);
        let rank = match at.checked_sub(1) {
            Some(at) => self.restore(at, changes)?,
            None => self.begin(changes),
        };
        trace.clear();
        let mut ran = Ran::default();
        self.play(rank, changes, &mut ran, Mode::Changed)?;
        let mut net = self.net.lock();
        trace.append(&mut net.trace);
        ran.broken = mem::take(&mut net.broken);
        drop(net);
        self.leave_out_known(&mut ran);
        if !ran.left && ran.panicked.is_none() {
            ran.differences = self.parted(changes);
        }
        Ok(ran)
    }

    /// What a run with these changes comes to.
    ///
    /// # Errors
    /// A layer that cannot be made anew.
    pub fn ran(&mut self, changes: &[Change]) -> Result<Ran, E> {
        self.run(changes, &mut Vec::new())
    }

    /// What these changes put into another order, as the wire reads it.
    ///
    /// # Errors
    /// A layer that cannot be made anew.
    pub fn swaps(&mut self, changes: &[Change], wire: &Wire) -> Result<Vec<Swap>, E> {
        let mut trace = Vec::new();
        self.run(changes, &mut trace)?;
        Ok(swaps(&trace, wire))
    }

    /// Plays the session with these changes, without what is cut, from its first event to its last, and
    /// hands every event of every node to `sink`. What it came to, and the packets that were delivered.
    ///
    /// # Errors
    /// A layer that cannot be made.
    pub fn write(
        &mut self,
        changes: &[Change],
        cut: &Cut,
        sink: Box<dyn Sink>,
    ) -> Result<(Ran, Vec<PacketId>), E> {
        let (ran, trace) = self.whole(changes, cut, Some(sink))?;
        let packets = trace.iter().filter_map(|it| it.sent).collect();
        Ok((ran, packets))
    }

    /// What a whole run delivers.
    pub(super) fn trace(&mut self, changes: &[Change], cut: &Cut) -> Result<Vec<Delivery>, E> {
        Ok(self.whole(changes, cut, None)?.1)
    }

    fn whole(
        &mut self,
        changes: &[Change],
        cut: &Cut,
        sink: Option<Box<dyn Sink>>,
    ) -> Result<(Ran, Vec<Delivery>), E> {
        self.begin(changes);
        let mut net = self.net.lock();
        net.cut = (!cut.is_nothing()).then(|| Arc::new(cut.clone()));
        net.sink = sink;
        drop(net);
        let mut ran = Ran::default();
        let played = self.play(0, changes, &mut ran, Mode::Whole);
        let mut net = self.net.lock();
        (net.sink, net.cut) = (None, None);
        drop(net);
        let trace = self.delivered(&mut ran);
        self.leave_out_known(&mut ran);
        played?;
        if ran.panicked.is_none() {
            ran.differences = self.parted(changes);
        }
        Ok((ran, trace))
    }

    fn begin(&mut self, changes: &[Change]) -> usize {
        self.layers.iter_mut().for_each(|layer| *layer = None);
        self.net.lock().go_on(NetState::new(&self.ground), changes);
        0
    }

    fn restore(&mut self, at: usize, changes: &[Change]) -> Result<usize, E> {
        let snapshot = &self.snapshots[at];
        for (node, kept) in snapshot.layers.iter().enumerate() {
            match kept {
                None => self.layers[node] = None,
                Some(Kept::Fork(layer)) => self.layers[node] = layer.fork(),
                Some(Kept::State(state)) => {
                    let layer = match &mut self.layers[node] {
                        Some(layer) => layer,
                        none => none.insert((self.make)(node, self.sockets[node].clone())?),
                    };
                    if layer.restore(state).is_err() {
                        return Ok(self.begin(changes));
                    }
                }
            }
        }
        let snapshot = &self.snapshots[at];
        let state = snapshot.net.clone().changed(changes);
        self.net.lock().go_on(state, changes);
        Ok(snapshot.rank)
    }

    /// How many turns lie between two states that are kept, as large as the layers are now: few, as long as
    /// all of them have room.
    fn states_between(&self) -> usize {
        let played = self.layers.iter().flatten();
        let sizes = played.map(|layer| layer.save().map(|state| state.len()));
        let size: Option<usize> = sizes.sum();
        let most = match size {
            Some(size) => STATES_BYTES / (size * BYTES_PER_SAVED).max(1),
            None => STATES_UNKNOWN,
        };
        let most = most.clamp(1, STATES_MAX);
        let between = self.ground.turns().div_ceil(most);
        between.max(STATE_TURNS * self.ground.nodes.len())
    }

    fn keep(&mut self, rank: usize) {
        let mut layers = Vec::new();
        for layer in &self.layers {
            // A layer that does not begin before is made by its first turn.
            let Some(layer) = layer else {
                layers.push(None);
                continue;
            };
            let kept = match layer.fork() {
                Some(fork) => Some(Kept::Fork(fork)),
                None => layer.save().map(Kept::State),
            };
            let Some(kept) = kept else { return };
            layers.push(Some(kept));
        }
        let net = self.net.lock().state.clone();
        self.snapshots.push(Snapshot { rank, layers, net });
    }

    /// What a node believes now; whether anybody says so, and the node lives.
    fn read(&self, changes: &[Change], node: usize, rows: &mut Vec<Row>) -> bool {
        let stops = |it: &Change| it.kind == ChangeKind::Stop && it.to == node;
        !changes.iter().any(stops) && read(self.layers[node].as_deref(), &self.net, node, rows)
    }

    /// Leaves out what layers say without changes too.
    fn leave_out_known(&self, ran: &mut Ran) {
        let known = |it: &Broken| {
            let mut base = self.base_broken.iter();
            base.any(|base| (base.node, &base.words) == (it.node, &it.words))
        };
        ran.broken.retain(|it| !known(it));
    }

    /// Of what nodes part at the end, and do not without changes; a node that is played alone parts from what
    /// it believes without them.
    fn parted(&self, changes: &[Change]) -> Vec<Difference> {
        let tables = self.beliefs(changes);
        let mut played = (0..self.ground.nodes.len()).filter(|&it| self.ground.reel(it).is_some());
        if let (Some(alone), None) = (played.next(), played.next()) {
            let two = [self.base_tables[alone].clone(), tables[alone].clone()];
            let mut found = differences(&two);
            found.iter_mut().for_each(|it| it.nodes = vec![alone]);
            return found;
        }
        let mut found = differences(&tables);
        found.retain(|it| !self.base_differences.contains(it));
        found
    }

    /// Plays the session without changes once more, from its beginning and from a state in its middle, and
    /// compares what is delivered and believed with the first time; what is not the same, if something is
    /// not. Such an engine does not follow from what it is given, and nothing that is said of its runs holds.
    ///
    /// # Errors
    /// A layer that cannot be made anew.
    pub fn unlike_itself(&mut self) -> Result<Option<Unlike>, E> {
        let middle = self.snapshots.len() / 2;
        let mut ways = vec![None];
        ways.extend((middle > 0).then_some(Some(middle)));
        for snapshot in ways {
            let from = match snapshot {
                Some(at) => self.restore(at, &[])?,
                None => self.begin(&[]),
            };
            let mut ran = Ran::default();
            self.play(from, &[], &mut ran, Mode::Whole)?;
            let trace = mem::take(&mut self.net.lock().trace);
            let before = match snapshot {
                Some(_) => self.base.len().saturating_sub(trace.len()),
                None => 0,
            };
            let base = self.base.get(before..).unwrap_or_default();
            let mut pairs = base.iter().zip(&trace);
            let unlike = pairs
                .find(|(base, now)| !base.is_like(now))
                .map(|it| it.0)
                .or_else(|| base.get(trace.len()));
            let sender = unlike.map(|it| (it.from, it.natural.ns));
            let tables = self.beliefs(&[]);
            let mut nodes = tables.iter().zip(&self.base_tables).enumerate();
            let believes = nodes.find(|(_, (now, base))| now != base).map(|it| it.0);
            if sender.is_some() || believes.is_some() || trace.len() > self.base.len() {
                return Ok(Some(Unlike {
                    node: sender.map(|it| it.0).or(believes),
                    at_ns: sender.map(|it| it.1),
                    is_restored: snapshot.is_some(),
                }));
            }
        }
        Ok(None)
    }

    /// Whether layers, or their games, say what they believe.
    pub fn says_beliefs(&self) -> bool {
        self.looks.says()
    }

    /// The nodes that believe something else again and again at the end of a run without changes: they do not
    /// come to rest, and what is said of them at the end is of one moment.
    pub fn restless(&self) -> Vec<usize> {
        self.looks.restless()
    }

    fn play(
        &mut self,
        from: usize,
        changes: &[Change],
        ran: &mut Ran,
        mode: Mode,
    ) -> Result<(), E> {
        let ground = Arc::clone(&self.ground);
        let cut = self.net.lock().cut.clone();
        let ends = changes.iter().map(|it| ground.rank(it.last_turn()));
        let over = ends.max().unwrap_or(0);
        let mut keep_at = 0;
        let mut watch = Watch::default();
        let quiet_ns = ground.quiet_ns(changes);
        for rank in from..ground.order.len() {
            match mode {
                Mode::Base => {
                    if self.looks.is_due(rank) {
                        let (layers, net) = (&self.layers, &self.net);
                        self.looks
                            .take(|node, rows| read(layers[node].as_deref(), net, node, rows));
                    }
                    if rank >= keep_at {
                        self.keep(rank);
                        keep_at = rank + self.states_between();
                    }
                }
                Mode::Changed if rank > over && self.looks.is_due(rank) => {
                    let at_ns = ground.rank_ns(rank);
                    let rows = |node, rows: &mut Vec<Row>| self.read(changes, node, rows);
                    if watch.is_over(&self.looks, (rank, at_ns), quiet_ns, rows) {
                        ran.left = true;
                        return Ok(());
                    }
                }
                _ => {}
            }
            let (node, turn) = ground.order[rank];
            if ground.nodes[node].reel.is_none() {
                continue;
            }
            for turn in due(changes, node, turn) {
                let stops = |it: &Change| {
                    it.kind == ChangeKind::Stop && it.to == node && it.since.turn <= turn
                };
                let plays = cut.as_ref().is_none_or(|cut| cut.plays(node, turn));
                if changes.iter().any(stops) || !plays {
                    continue;
                }
                ran.turns += 1;
                if let Err(words) = self.turn(node, turn)? {
                    ran.panicked = Some((node, words));
                    self.layers[node] = None;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One turn of a node; what a panic said, if there was one.
    fn turn(&mut self, node: usize, turn: u32) -> Result<Result<(), String>, E> {
        let ground = Arc::clone(&self.ground);
        let it = &ground.nodes[node].turns[turn as usize];
        let mut net = self.net.lock();
        net.begin(node, turn);
        match it.begins {
            Begins::Start => {}
            Begins::Tick(tick, time) => {
                net.write(node, Event::Tick { tick, time });
            }
            Begins::Call(ref call) => {
                net.write(node, Event::Input { call });
            }
        }
        drop(net);
        let layer = match &mut self.layers[node] {
            Some(layer) => layer,
            none => none.insert((self.make)(node, self.sockets[node].clone())?),
        };
        let mut io = self.sockets[node].clone();
        let call = self.watched.begin(node, turn);
        let played = catch_unwind(AssertUnwindSafe(|| match &it.begins {
            Begins::Start => {}
            Begins::Tick(..) => layer.tick(&mut io),
            // What a layer refuses it has not done: that is an answer, not a fault.
            Begins::Call(call) => drop(layer.input(call, &mut io)),
        }));
        drop(call);
        Ok(played.map_err(|panic| {
            let words = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            words.unwrap_or("a panic without words").to_owned()
        }))
    }
}

/// What a node's layer says that it believes now, else what was said of it on the way; whether anybody says
/// so.
fn read(
    layer: Option<&(dyn Layer + 'static)>,
    net: &Shared<Net>,
    node: usize,
    rows: &mut Vec<Row>,
) -> bool {
    rows.clear();
    let Some(layer) = layer else { return false };
    let mut take = |belief: ObjectBelief| {
        rows.push((belief.object, (belief.owner, belief.values)));
    };
    if layer.beliefs(&mut take) {
        if !rows.is_sorted_by_key(|row| row.0) {
            rows.sort_by_key(|row| row.0);
        }
        return true;
    }
    let net = net.lock();
    let state = &net.state.nodes[node];
    let said = state.beliefs.iter();
    rows.extend(said.map(|(&object, it)| (object, (it.0, number(&it.1)))));
    state.says_beliefs
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Without changes: states are kept.
    Base,
    /// Left when nodes believe again what they believe without changes.
    Changed,
    /// To the end.
    Whole,
}

/// What a wrong run came to, apart from when: two runs of the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Outcome {
    /// The objects of which nodes part, in what, and the nodes.
    pub partings: Vec<(u64, Parting, Vec<usize>)>,
    /// What layers said, and who.
    pub broken: Vec<(usize, String)>,
    /// Who panicked, and the words.
    pub panicked: Option<(usize, String)>,
}

impl Outcome {
    /// What a run came to.
    pub fn of(ran: &Ran) -> Outcome {
        let partings = ran
            .differences
            .iter()
            .map(|it| (it.object, it.parting, it.nodes.clone()));
        let broken: BTreeSet<_> = ran
            .broken
            .iter()
            .map(|it| (it.node, it.words.clone()))
            .collect();
        Outcome {
            partings: partings.collect(),
            broken: broken.into_iter().collect(),
            panicked: ran.panicked.clone(),
        }
    }

    /// Whether all that is wrong here is wrong there too.
    pub fn is_in(&self, other: &Outcome) -> bool {
        self.partings.iter().all(|it| other.partings.contains(it))
            && self.broken.iter().all(|it| other.broken.contains(it))
            && (self.panicked.is_none() || self.panicked == other.panicked)
    }
}

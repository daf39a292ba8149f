//! What a session says, held against what happened.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::session::{Fate, NodeId, Packet, Session, Stamp};
use netreel_reel::Endpoint;

use crate::clock::Clock;
use crate::network::{Kept, World};
use crate::reels::{Happened, Truth, reels};
use crate::traffic::{Kind, Sent};

/// How many packets were put together rightly.
#[derive(Default, Debug, Clone)]
pub struct Score {
    pub packets: u64,
    pub wrong: u64,
    /// Not put together, and told as packets of a node without a reel.
    pub split: u64,
    /// Wrong, and not marked as doubtful.
    pub silent: u64,
    pub doubtful: u64,
    /// What was wrong first and not marked, in words.
    pub first: Option<String>,
}

impl Score {
    pub fn add(&mut self, other: &Score) {
        self.packets += other.packets;
        self.wrong += other.wrong;
        self.split += other.split;
        self.silent += other.silent;
        self.doubtful += other.doubtful;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// What a session says of a world, and what is known of that.
pub struct Judged {
    pub world: World,
    pub session: Session,
    truth: Truth,
    /// For each node with a reel the machine.
    machines: BTreeMap<NodeId, usize>,
    /// For each other node the machines that somebody knows by its endpoint.
    others: BTreeMap<NodeId, BTreeSet<usize>>,
}

impl Judged {
    pub fn new(world: World) -> Judged {
        let (inputs, truth) = reels(&world);
        let session = Session::builder().workers(2).build(inputs);
        let session = session.unwrap_or_else(|error| panic!("{error}"));
        let endpoints = world.endpoints();
        let (mut machines, mut others) = (BTreeMap::new(), BTreeMap::new());
        for (id, node) in (0..).map(NodeId).zip(&session.nodes) {
            match node.name.strip_prefix('n').and_then(|it| it.parse().ok()) {
                Some(place) => {
                    machines.insert(id, place);
                }
                None => {
                    let name = node.name.split(' ').next().unwrap_or_default();
                    let named: Option<Endpoint> = name.parse().ok();
                    let its = endpoints.iter().filter(|(it, _)| Some(*it) == named);
                    others.insert(id, its.map(|(_, machine)| *machine).collect());
                }
            }
        }
        Judged {
            machines,
            others,
            world,
            session,
            truth,
        }
    }

    /// The node of a machine, and the events that it sent or received by, with their true times.
    pub fn events(&self, machine: usize) -> (NodeId, Vec<(u64, u64)>) {
        let node = self.machines.iter().find(|(_, known)| **known == machine);
        let own = self.truth.iter().filter(|((of, _), _)| *of == machine);
        let own = own.map(|((_, number), happened)| (*number, happened.at));
        (*node.expect("its node").0, own.collect())
    }

    fn happened(&self, node: NodeId, stamp: Stamp) -> Option<Happened> {
        let machine = *self.machines.get(&node)?;
        self.truth.get(&(machine, stamp.number.0)).copied()
    }

    /// Whether a node is a machine.
    fn is(&self, node: NodeId, machine: usize) -> bool {
        let others = self.others.get(&node);
        self.machines.get(&node) == Some(&machine)
            || others.is_some_and(|others| others.contains(&machine))
    }

    /// Whether it is told that a recorded node's packets are not all there, or that one that was
    /// recorded is also known by an endpoint of which nothing tells that it is its own.
    fn is_split(&self, packet: &Packet, real: &Sent) -> bool {
        let kept = |machine: usize| self.world.machines[machine].kept != Kept::Nothing;
        let is_other = |node: NodeId| self.others.contains_key(&node);
        let from = is_other(packet.from) && kept(real.from);
        let to = is_other(packet.to) && kept(real.to);
        let lacks = self.session.warnings();
        let lacks = lacks.iter().any(|it| it.contains("does not hold"));
        packet.fate != Fate::Lost && (from || to || packet.sent.is_none() && lacks)
    }

    /// Counts, by kind of payload, which packets were told as they were.
    pub fn matching(&self, scores: &mut BTreeMap<Kind, Score>) {
        let mut seen = 0u64;
        for packet in self.session.packets() {
            let (kind, wrong, is_split) = self.wrong(&packet);
            seen += u64::from(packet.sent.is_some());
            seen += u64::from(packet.received.is_some()) + packet.duplicates.len() as u64;
            let is_silent = wrong.is_some() && !packet.doubtful && !is_split;
            let score = Score {
                packets: 1,
                wrong: u64::from(wrong.is_some()),
                split: u64::from(is_split),
                silent: u64::from(is_silent),
                doubtful: u64::from(packet.doubtful),
                first: wrong
                    .filter(|_| is_silent)
                    .map(|why| format!("{why}: {packet:?}")),
            };
            scores.entry(kind).or_default().add(&score);
        }
        assert_eq!(seen, self.truth.len() as u64, "each event is told once");
    }

    /// What is wrong with a packet, what kind of payload it has, and whether it was not put together
    /// and is told so.
    fn wrong(&self, packet: &Packet) -> (Kind, Option<String>, bool) {
        let sent = packet.sent.map(|stamp| self.happened(packet.from, stamp));
        let receipts = packet.received.into_iter().chain(packet.duplicates.clone());
        let receipts: Vec<Option<Happened>> = receipts
            .map(|stamp| self.happened(packet.to, stamp))
            .collect();
        let all = sent.into_iter().chain(receipts.iter().copied());
        let all: Option<Vec<Happened>> = all.collect();
        let Some(all) = all else {
            let wrong = Some("an event of another node".to_owned());
            return (Kind::Numbered, wrong, false);
        };
        let first = all.first().expect("a packet has an event");
        let real = &self.world.sends[first.packet];
        let kept = |machine: usize| &self.world.machines[machine].kept;
        let wrong = || {
            if !self.is(packet.from, real.from) || !self.is(packet.to, real.to) {
                let names = (self.session.name(packet.from), self.session.name(packet.to));
                let truth = (real.from, real.to);
                return Some(format!("between {names:?}, really {truth:?}"));
            }
            if all.iter().any(|it| it.packet != first.packet) {
                let sent = |it: &Happened| (self.world.sends[it.packet].at, it.at);
                let times: Vec<(u64, u64)> = all.iter().map(sent).collect();
                return Some(format!("receipts of other sends: {times:?}"));
            }
            let has_send = kept(real.from).has(real.at);
            if has_send != packet.sent.is_some() {
                return Some("its send is another packet's".to_owned());
            }
            let arrived = real.arrived.iter().filter(|&&at| kept(real.to).has(at));
            if has_send && receipts.len() != arrived.count() {
                return Some(format!("not all receipts, of {real:?}"));
            }
            match packet.fate {
                Fate::Received if receipts.is_empty() => Some("received by nobody".to_owned()),
                Fate::Lost if !real.arrived.is_empty() => {
                    Some(format!("lost, but it arrived: {real:?}"))
                }
                // Around a step nobody knows how long packets take.
                Fate::Unknown
                    if receipts.is_empty() && *kept(real.to) == Kept::All && !self.is_set() =>
                {
                    // The world goes on for three seconds after all that happened.
                    Some("lost, and not told".to_owned())
                }
                Fate::SendFailed | Fate::Unread => Some("what did not happen".to_owned()),
                _ => None,
            }
        };
        let wrong = wrong();
        let is_split = wrong.is_some() && self.is_split(packet, real);
        (real.kind, wrong, is_split)
    }

    /// Holds every time against the truth. `None` where the session says that it found no clocks that
    /// explain all packets. That some are early is a guess about equal payloads, and told.
    ///
    /// # Errors
    /// A time that is further off than its bound says, or a packet that is early without a word.
    pub fn times(&self) -> Result<Option<u64>, String> {
        self.times_on(&self.world.machines[0].clock)
    }

    /// The same where the first clock may be one of those that were set: packets alone do not tell a
    /// step of it from one of all others, so that the session may be told on the first clock with some
    /// of its steps. Also whether it is.
    ///
    /// # Errors
    /// As for [`Judged::times`].
    pub fn times_on_any(&self) -> Result<(Option<u64>, bool), String> {
        let even = &self.world.machines[0].clock;
        let mut why = None;
        for set in 0..1u32 << even.steps.len() {
            let mut clock = even.clone();
            let mut place = 0;
            clock.steps.retain(|_| {
                place += 1;
                set >> (place - 1) & 1 == 1
            });
            match self.times_on(&clock) {
                Ok(known) => return Ok((known, set > 0)),
                Err(other) => why = why.or(Some(other)),
            }
        }
        Err(why.unwrap_or_default())
    }

    /// The same where the session is told on a clock.
    fn times_on(&self, first: &Clock) -> Result<Option<u64>, String> {
        let warnings = self.session.warnings();
        let is_explained = !warnings.iter().any(|it| it.contains("fit no clocks"));
        let zero = self.zero();
        let (mut known, mut is_early) = (0, false);
        for packet in self.session.packets() {
            if let (Some(sent), Some(received)) = (packet.sent, packet.received) {
                is_early |= sent.time > received.time;
            }
            let sends = packet.sent.into_iter().map(|stamp| (packet.from, stamp));
            let receipts = packet.received.into_iter().chain(packet.duplicates.clone());
            let receipts = receipts.map(|stamp| (packet.to, stamp));
            for (node, stamp) in sends.chain(receipts) {
                let Some(happened) = self.happened(node, stamp) else {
                    return Err(format!("an event of another node: {packet:?}"));
                };
                let truth = i128::from(first.shows(happened.at)) - zero;
                let off = (i128::from(stamp.time.0) - truth).unsigned_abs();
                let bound = self.session.clock_error_at(node, stamp.number);
                let bound = bound.ok_or("an event without a bound")?;
                if off > u128::from(bound) {
                    return Err(format!(
                        "{} is {off} ns off at {} ns, and {bound} is said",
                        self.session.name(node),
                        happened.at
                    ));
                }
                known += u64::from(bound != u64::MAX);
            }
        }
        let says_so = warnings
            .iter()
            .any(|it| it.contains("seem to arrive before they were sent"));
        match is_early && !says_so {
            true => Err("packets arrive before they were sent, and nothing says so".to_owned()),
            false => Ok(is_explained.then_some(known)),
        }
    }

    /// Whether a clock was set.
    fn is_set(&self) -> bool {
        let mut machines = self.world.machines.iter();
        machines.any(|machine| !machine.clock.steps.is_empty())
    }

    /// The session's zero on the first machine's clock.
    fn zero(&self) -> i128 {
        let first = &self.world.machines[0].clock;
        let found = self.session.packets().find_map(|packet| {
            let ends = [(packet.from, packet.sent), (packet.to, packet.received)];
            ends.into_iter().find_map(|(node, stamp)| {
                let stamp = stamp.filter(|_| self.machines.get(&node) == Some(&0))?;
                let happened = self.happened(node, stamp)?;
                Some(i128::from(first.shows(happened.at)) - i128::from(stamp.time.0))
            })
        });
        found.expect("the first machine took part")
    }
}

//! Which ways through a session are tried, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use netreel_transport::Draw;
use netreel_wire::Wire;

use super::change::{Change, Moment};
use super::ground::Ground;
use super::races::{BaseOrder, Candidate, Marks, Orders, Tries};
use super::run::{MakeNode, Ran, Runner};
use super::tables::Parting;

/// What is tried, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What the network may do.
    pub tries: Tries,
    /// The most changes of one run.
    pub changes_max: usize,
    /// The most runs.
    pub runs_max: u64,
    /// How many threads play. At least one.
    pub jobs: usize,
    /// Instead of the orders, one change after another by chance, from this seed on: for comparison.
    pub by_chance: Option<u64>,
}

/// So many ways wait to be tried at most; what would take longest is given up beyond.
const WAITING_MAX: usize = 400_000;

/// So many runs are made before their results are looked at, however many threads there are: what is tried next
/// follows from them.
const BATCH: usize = 64;

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs.
    pub runs: u64,
    /// Turns of nodes that were played in them.
    pub turns: u64,
    /// Orders that were seen.
    pub orders: u64,
    /// Ways that would have led to an order that was seen, or waited, and were not tried.
    pub saved: u64,
    /// Runs that came to something wrong.
    pub wrong: u64,
    /// Ways that wait.
    pub waiting: u64,
    /// Ways that were given up because too many waited.
    pub given_up: u64,
}

/// What a wrong run came to, apart from when: two runs of the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let partings = ran.differences.iter();
        let partings = partings.map(|it| (it.object, it.parting, it.nodes.clone()));
        let broken = ran.broken.iter().map(|it| (it.node, it.words.clone()));
        let broken: BTreeSet<_> = broken.collect();
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

/// A way that came to something wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// What the network did.
    pub changes: Vec<Change>,
    /// What came of it.
    pub ran: Ran,
    /// The number of the run, from 1.
    pub run: u64,
}

/// What an exploration says on its way.
pub enum Told<'a> {
    /// A way came to something wrong that no way before it came to.
    Wrong(&'a Wrong),
    /// A way had an order that was not seen before, and layers do not say what they believe: somebody else
    /// has to judge it.
    Other(&'a Wrong),
    /// It has come so far.
    Counts(&'a Counts),
}

/// How an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// How far it came.
    pub counts: Counts,
    /// Whether nothing is left to be tried within the limits.
    pub whole: bool,
    /// Whether layers, or their games, say what they believe.
    pub says_beliefs: bool,
}

/// Makes what makes layers, for each thread.
pub type Makers<'a, E> = dyn Fn() -> Box<MakeNode<'a, E>> + Sync + 'a;

/// A way that waits.
struct Way {
    before: Arc<[Change]>,
    /// `None`: it was tried, and what may be changed besides is still to be looked for.
    change: Option<Change>,
}

impl Way {
    fn changes(&self) -> Vec<Change> {
        self.before.iter().copied().chain(self.change).collect()
    }
}

/// What a thread made of a way.
struct Result1 {
    changes: Vec<Change>,
    ran: Ran,
    order: u64,
    /// Whether it was played to be judged.
    tried: bool,
    candidates: Vec<Candidate>,
}

/// Tries other orders than the recorded one, those with the fewest changes first, and of these the shortest
/// ones. What it says and does is the same for any number of threads.
///
/// # Errors
/// A layer that cannot be made.
pub fn explore<E: Send>(
    ground: &Arc<Ground>,
    makers: &Makers<'_, E>,
    wire: Option<&Wire>,
    limits: &Limits,
    tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
) -> Result<Explored, E> {
    let mut search = Search::new(limits);
    let (mut first, _) = Runner::new(Arc::clone(ground), makers())?;
    let says_beliefs = first.says_beliefs();
    let mut marks = Marks::new(wire);
    let order = &BaseOrder::of(first.base(), &mut marks);
    let base = Orders::of(first.base(), &[], order, &mut marks);
    search.seen.insert(base.order);
    search.reached.insert(base.order);
    search.says_beliefs = says_beliefs;
    search.counts.orders = 1;
    match limits.by_chance {
        Some(seed) => search.chance = Some(Chance::new(ground, &limits.tries, seed)),
        None => search.add(&[], base.candidates(ground, &limits.tries, i64::MIN)),
    }
    let jobs = limits.jobs.max(1);
    let ended = std::thread::scope(|scope| {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 1..jobs {
            let (ways, take) = std::sync::mpsc::channel::<Arc<Batch>>();
            let (give, results) = std::sync::mpsc::channel::<Option<E>>();
            to.push(ways);
            from.push(results);
            scope.spawn(move || {
                let runner = Runner::new(Arc::clone(ground), makers());
                let mut marks = Marks::new(wire);
                let (mut runner, failed) = match runner {
                    Ok((runner, _)) => (Some(runner), None),
                    Err(error) => (None, Some(error)),
                };
                let mut failed = failed;
                while let Ok(batch) = take.recv() {
                    let ended = match &mut runner {
                        Some(runner) => batch
                            .work(runner, &mut marks, (ground, order), limits)
                            .err(),
                        None => failed.take(),
                    };
                    if give.send(ended).is_err() {
                        return;
                    }
                }
            });
        }
        loop {
            let ways = search.next(BATCH);
            if ways.is_empty() {
                return Ok(true);
            }
            let batch = Arc::new(Batch::new(ways));
            for worker in &to {
                let _ = worker.send(Arc::clone(&batch));
            }
            batch.work(&mut first, &mut marks, (ground, order), limits)?;
            for worker in &from {
                if let Ok(Some(error)) = worker.recv() {
                    return Err(error);
                }
            }
            for result in batch.results() {
                if search.take(result, tell).is_break() {
                    return Ok(false);
                }
            }
            search.counts.waiting = search.waiting.len() as u64;
            if tell(Told::Counts(&search.counts)).is_break() {
                return Ok(false);
            }
            if search.counts.runs >= limits.runs_max {
                return Ok(search.waiting.is_empty() && search.chance.is_none());
            }
        }
    })?;
    Ok(Explored {
        counts: search.counts,
        whole: ended && search.counts.given_up == 0 && search.chance.is_none(),
        says_beliefs,
    })
}

/// Ways that all threads take from.
struct Batch {
    ways: Vec<Way>,
    next: AtomicUsize,
    results: Mutex<BTreeMap<usize, Result1>>,
}

impl Batch {
    fn new(ways: Vec<Way>) -> Batch {
        Batch {
            ways,
            next: AtomicUsize::new(0),
            results: Mutex::new(BTreeMap::new()),
        }
    }

    fn work<E>(
        &self,
        runner: &mut Runner<'_, E>,
        marks: &mut Marks<'_>,
        (ground, base): (&Ground, &BaseOrder),
        limits: &Limits,
    ) -> Result<(), E> {
        let mut trace = Vec::new();
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(way) = self.ways.get(place) else {
                return Ok(());
            };
            let changes = way.changes();
            let ran = runner.run(&changes, &mut trace)?;
            let orders = Orders::of(&trace, &changes, base, marks);
            let goes_on = way.change.is_none() && limits.by_chance.is_none();
            let since_ns = changes.iter().map(Change::begins_ns).max();
            let candidates = match goes_on {
                true => orders.candidates(ground, &limits.tries, since_ns.unwrap_or(i64::MIN)),
                false => Vec::new(),
            };
            let result = Result1 {
                changes,
                ran,
                order: orders.order,
                tried: !goes_on,
                candidates,
            };
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            results.insert(place, result);
        }
    }

    fn results(&self) -> impl Iterator<Item = Result1> {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *results).into_values()
    }
}

/// By how much a way is put back: the number of its changes, its class, how long it takes, when it came.
type Cost = (usize, u8, i64, u64);

struct Search<'a> {
    limits: &'a Limits,
    counts: Counts,
    /// Orders that were reached, or that a way that waits should reach.
    seen: BTreeSet<u64>,
    reached: BTreeSet<u64>,
    says_beliefs: bool,
    waiting: BTreeMap<Cost, Way>,
    outcomes: BTreeSet<Outcome>,
    added: u64,
    chance: Option<Chance>,
}

impl<'a> Search<'a> {
    fn new(limits: &'a Limits) -> Search<'a> {
        Search {
            limits,
            counts: Counts::default(),
            seen: BTreeSet::new(),
            reached: BTreeSet::new(),
            says_beliefs: false,
            waiting: BTreeMap::new(),
            outcomes: BTreeSet::new(),
            added: 0,
            chance: None,
        }
    }

    fn next(&mut self, count: usize) -> Vec<Way> {
        let left = self.limits.runs_max.saturating_sub(self.counts.runs);
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut ways = Vec::new();
        while ways.len() < count {
            let way = match &mut self.chance {
                Some(chance) => Some(chance.way()),
                None => self.waiting.pop_first().map(|it| it.1),
            };
            let Some(way) = way else { break };
            ways.push(way);
        }
        ways
    }

    /// Puts candidates behind these changes among those that wait.
    fn add(&mut self, before: &[Change], candidates: Vec<Candidate>) {
        let before: Arc<[Change]> = before.into();
        let length: i64 = before.iter().map(Change::length_ns).sum();
        let mut candidates = candidates;
        candidates.sort_by_key(|it| (it.class, it.change.length_ns(), it.change));
        for Candidate {
            change,
            class,
            order,
        } in candidates
        {
            if !self.seen.insert(order) {
                self.counts.saved += 1;
                continue;
            }
            self.added += 1;
            let length = length.saturating_add(change.length_ns());
            let cost = (before.len() + 1, class, length, self.added);
            let change = Some(change);
            let before = Arc::clone(&before);
            self.waiting.insert(cost, Way { before, change });
        }
        while self.waiting.len() > WAITING_MAX {
            self.waiting.pop_last();
            self.counts.given_up += 1;
        }
    }

    /// Keeps a way that came to nothing wrong, to look for what may be changed besides once all ways with as
    /// many changes were tried.
    fn go_on(&mut self, changes: &[Change]) {
        self.added += 1;
        let length = changes.iter().map(Change::length_ns).sum();
        let way = Way {
            before: changes.into(),
            change: None,
        };
        self.waiting
            .insert((changes.len() + 1, 0, length, self.added), way);
    }

    fn take(
        &mut self,
        result: Result1,
        tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.counts.runs += 1;
        self.counts.turns += result.ran.turns;
        if !result.tried {
            self.add(&result.changes, result.candidates);
            return ControlFlow::Continue(());
        }
        let is_new = self.reached.insert(result.order);
        self.seen.insert(result.order);
        self.counts.orders += u64::from(is_new);
        if result.ran.is_wrong() {
            self.counts.wrong += 1;
            if self.outcomes.insert(Outcome::of(&result.ran)) {
                let run = self.counts.runs;
                let (changes, ran) = (result.changes, result.ran);
                return tell(Told::Wrong(&Wrong { changes, ran, run }));
            }
            return ControlFlow::Continue(());
        }
        if result.changes.len() < self.limits.changes_max && self.limits.by_chance.is_none() {
            self.go_on(&result.changes);
        }
        if is_new && !self.says_beliefs {
            let run = self.counts.runs;
            let (changes, ran) = (result.changes, result.ran);
            return tell(Told::Other(&Wrong { changes, ran, run }));
        }
        ControlFlow::Continue(())
    }
}

/// Holds of any link, at any time, of any length: what a loop over random delays would try.
struct Chance {
    draw: Draw,
    /// Links, sender and receiver, with the times of the receiver's turns.
    links: Vec<(usize, usize)>,
    turns: Vec<Vec<i64>>,
    hold_max_ns: i64,
}

impl Chance {
    fn new(ground: &Ground, tries: &Tries, seed: u64) -> Chance {
        let nodes = ground.nodes.len();
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let only = |to: usize| tries.only.is_none_or(|only| only == to);
        let times =
            |node: &super::ground::GroundNode| node.turns.iter().map(|it| it.at_ns).collect();
        Chance {
            draw: Draw::new(seed),
            links: all.filter(|&(from, to)| from != to && only(to)).collect(),
            turns: ground.nodes.iter().map(times).collect(),
            hold_max_ns: tries.hold_max_ns,
        }
    }

    /// As many changes as there are links: each is held once, for some time.
    fn way(&mut self) -> Way {
        let mut changes = Vec::new();
        for place in 0..self.links.len() {
            let (from, to) = self.links[place];
            let turns = &self.turns[to];
            let turn = self.draw.below(turns.len() as u64) as usize;
            let length = self.draw.below(self.hold_max_ns.max(1) as u64) as i64;
            let (Some(&since_ns), Some(end)) = (turns.get(turn), turns.last()) else {
                continue;
            };
            let until_ns = since_ns.saturating_add(length).min(*end);
            let until = turns.partition_point(|at| *at < until_ns);
            let moment = |turn: usize, ns| Moment {
                turn: u32::try_from(turn).unwrap_or(u32::MAX),
                ns,
            };
            let (since, until) = (moment(turn, i64::MIN), moment(until, until_ns));
            // The time of a hold is that of its turn; what comes in the turn is held from the first on.
            let since = Moment {
                ns: since_ns,
                ..since
            };
            changes.push(Change::Hold {
                from,
                to,
                since,
                until,
            });
        }
        Way {
            before: changes.into(),
            change: None,
        }
    }
}

/// Makes every change as short as it can be while the run still comes to all that is wrong in `outcome`:
/// drops those that are not needed, and halves holds.
///
/// # Errors
/// A layer that cannot be made anew.
pub fn tighten<E>(
    runner: &mut Runner<'_, E>,
    changes: &[Change],
    outcome: &Outcome,
) -> Result<Vec<Change>, E> {
    let mut trace = Vec::new();
    let mut changes = changes.to_vec();
    let mut fails = |changes: &[Change]| {
        let ran = runner.run(changes, &mut trace);
        ran.map(|ran| outcome.is_in(&Outcome::of(&ran)))
    };
    let mut place = 0;
    while place < changes.len() && changes.len() > 1 {
        let mut fewer = changes.clone();
        fewer.remove(place);
        match fails(&fewer)? {
            true => changes = fewer,
            false => place += 1,
        }
    }
    for place in 0..changes.len() {
        let Change::Hold { since, until, .. } = changes[place] else {
            continue;
        };
        // The shortest lies in a turn between: it is looked for by halves, as far as halves tell.
        let (mut low, mut high) = (since.turn, until.turn);
        while high.saturating_sub(low) > 1 {
            let middle = low + (high - low) / 2;
            let Change::Hold { from, to, .. } = changes[place] else {
                break;
            };
            let share =
                f64::from(middle - since.turn) / f64::from((until.turn - since.turn).max(1));
            let ns = since.ns + ((until.ns - since.ns) as f64 * share) as i64;
            let shorter = Change::Hold {
                from,
                to,
                since,
                until: Moment { turn: middle, ns },
            };
            let mut tried = changes.clone();
            tried[place] = shorter;
            match fails(&tried)? {
                true => (changes, high) = (tried, middle),
                false => low = middle,
            }
        }
    }
    Ok(changes)
}

//! Which ways through a session are tried, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use netreel_wire::Wire;

use super::base_order::BaseOrder;
use super::chance::{ByChance, Chance};
use super::change::Change;
use super::counts::Counts;
use super::deeds::Deeds;
use super::ground::Ground;
use super::marks::Marks;
use super::races::{Candidate, Orders};
use super::run::{MakeNode, Ran, Runner};
use super::tables::Parting;
use super::tries::Tries;
use super::waiting::{Meant, Waiting, Way};

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
    /// Instead of the orders, one way after another by chance.
    pub by_chance: Option<ByChance>,
}

/// How many runs are made before their results are looked at, however many threads there are: what is tried next
/// follows from them.
const BATCH: usize = 64;

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

/// What a thread made of a way.
struct Result1 {
    changes: Vec<Change>,
    ran: Ran,
    order: u64,
    /// The order that it should have had.
    meant: Option<Meant>,
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
    let ticks = limits.tries.ticks;
    let deeds = ticks.then(|| Deeds::of(first.base(), &mut marks, ground));
    let order = &BaseOrder::beside(deeds, first.base(), &mut marks);
    let base = Orders::of(first.base(), &[], order, &mut marks);
    search.waiting.reached(base.order, None);
    search.says_beliefs = says_beliefs;
    search.counts.orders = 1;
    match limits.by_chance {
        Some(by) => {
            let chance = Chance::new((by, ground), &limits.tries, first.base(), &mut marks);
            search.chance = Some(chance);
        }
        None => {
            let candidates = base.candidates(ground, &limits.tries, &[]);
            search.waiting.add(&[], candidates);
        }
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
            search.waiting.count(&mut search.counts);
            if tell(Told::Counts(&search.counts)).is_break() {
                return Ok(false);
            }
            if search.counts.runs >= limits.runs_max {
                return Ok(search.waiting.is_empty() && search.chance.is_none());
            }
        }
    })?;
    search.waiting.count(&mut search.counts);
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
            let candidates = match goes_on {
                true => orders.candidates(ground, &limits.tries, &changes),
                false => Vec::new(),
            };
            let result = Result1 {
                changes,
                ran,
                order: orders.order,
                meant: way.meant,
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

struct Search<'a> {
    limits: &'a Limits,
    counts: Counts,
    says_beliefs: bool,
    waiting: Waiting,
    outcomes: BTreeSet<Outcome>,
    chance: Option<Chance>,
}

impl<'a> Search<'a> {
    fn new(limits: &'a Limits) -> Search<'a> {
        Search {
            limits,
            counts: Counts::default(),
            says_beliefs: false,
            waiting: Waiting::default(),
            outcomes: BTreeSet::new(),
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
                None => self.waiting.next(),
            };
            let Some(way) = way else { break };
            ways.push(way);
        }
        ways
    }

    fn take(
        &mut self,
        result: Result1,
        tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.counts.runs += 1;
        self.counts.turns += result.ran.turns;
        if !result.tried {
            self.waiting.add(&result.changes, result.candidates);
            return ControlFlow::Continue(());
        }
        let is_new = self.waiting.reached(result.order, result.meant);
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
            self.waiting.go_on(&result.changes);
        }
        if is_new && !self.says_beliefs {
            let run = self.counts.runs;
            let (changes, ran) = (result.changes, result.ran);
            return tell(Told::Other(&Wrong { changes, ran, run }));
        }
        ControlFlow::Continue(())
    }
}

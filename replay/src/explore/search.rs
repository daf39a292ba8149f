//! Which ways through a session are tried, in which order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use netreel_system::locked;
use netreel_wire::Wire;

use super::base_order::{BaseOrder, Deeds};
use super::chance::{ByChance, Chance};
use super::change::Change;
use super::ground::Ground;
use super::kept::Kept;
use super::marks::Marks;
use super::net::Delivery;
use super::races::{Candidate, Orders, Tries};
use super::run::{MakeNode, Ran, Runner};
use super::waiting::{Counts, Meant, Way};

pub(super) use super::run::Outcome;

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

/// How many runs are made before their results are looked at, however many threads there are: what is tried
/// next follows from them.
const BATCH: usize = 64;

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
    /// A way came to something wrong that no way before it came to. Whoever finds that it comes right when
    /// nodes play on says so by the flag: then the way counts as one that came to nothing, and what comes to
    /// the same is told again.
    Wrong(&'a Wrong, &'a mut bool),
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
    explore_on(ground, makers, wire, (limits, None), tell).map(|it| it.0)
}

/// The same from where an exploration of the same session, with the same layers and the same of `limits` but
/// for runs and threads, ended; and where this one ends.
///
/// # Errors
/// A layer that cannot be made.
pub fn explore_on<E: Send>(
    ground: &Arc<Ground>,
    makers: &Makers<'_, E>,
    wire: Option<&Wire>,
    (limits, kept): (&Limits, Option<Kept>),
    tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
) -> Result<(Explored, Kept), E> {
    let is_new = kept.is_none();
    let mut search = Search::new(limits, kept.unwrap_or_default());
    let (mut first, _) = Runner::new(Arc::clone(ground), makers())?;
    let says_beliefs = first.says_beliefs();
    let mut marks = Marks::new(wire);
    let ticks = limits.tries.ticks;
    let deeds = ticks.then(|| Deeds::of(first.base(), &mut marks, ground));
    let mut order = BaseOrder::beside(deeds, first.base(), &mut marks);
    order.singles = limits.tries.losses > 0 || limits.tries.overtakes;
    let order = &order;
    let base = Orders::of(first.base(), &[], order, &mut marks);
    search.says_beliefs = says_beliefs;
    search.begin(is_new, ground, &base, (first.base(), &mut marks));
    let jobs = limits.jobs.max(1);
    let ended = std::thread::scope(|scope| {
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for _ in 1..jobs {
            let (ways, take) = channel::<Arc<Batch>>();
            let (give, results) = channel::<Option<E>>();
            to.push(ways);
            from.push(results);
            scope.spawn(move || {
                let runner = Runner::new(Arc::clone(ground), makers());
                let runner = runner.map(|(runner, _)| runner);
                work(
                    runner,
                    Marks::new(wire),
                    (ground, order, limits),
                    (&take, &give),
                );
            });
        }
        loop {
            let ways = search.next();
            if ways.is_empty() {
                return Ok(search.is_whole());
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
            for (result, behind) in batch.results().zip(1..) {
                if search.take(result, tell).is_break() {
                    search.give_back(&batch.ways[behind..]);
                    return Ok(search.is_whole());
                }
            }
            search.count();
            if tell(Told::Counts(&search.kept.counts)).is_break() {
                return Ok(search.is_whole());
            }
        }
    })?;
    search.count();
    let explored = Explored {
        counts: search.kept.counts,
        whole: ended && search.kept.counts.given_up == 0,
        says_beliefs,
    };
    Ok((explored, search.kept))
}

/// Tries ways as long as there are any; says of each batch that it is done, or why not.
fn work<E>(
    runner: Result<Runner<'_, E>, E>,
    mut marks: Marks<'_>,
    (ground, order, limits): (&Ground, &BaseOrder, &Limits),
    (take, give): (&Receiver<Arc<Batch>>, &Sender<Option<E>>),
) {
    let (mut runner, mut failed) = match runner {
        Ok(runner) => (Some(runner), None),
        Err(error) => (None, Some(error)),
    };
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
}

/// Ways that all threads take from.
#[derive(Default)]
struct Batch {
    ways: Vec<Way>,
    next: AtomicUsize,
    results: Mutex<BTreeMap<usize, Result1>>,
}

impl Batch {
    fn new(ways: Vec<Way>) -> Batch {
        Batch {
            ways,
            ..Batch::default()
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
            let candidates = if goes_on {
                orders.candidates(ground, &limits.tries, &changes)
            } else {
                Vec::new()
            };
            let result = Result1 {
                changes,
                ran,
                order: orders.order,
                meant: way.meant,
                tried: !goes_on,
                candidates,
            };
            locked(&self.results).insert(place, result);
        }
    }

    fn results(&self) -> impl Iterator<Item = Result1> {
        std::mem::take(&mut *locked(&self.results)).into_values()
    }
}

struct Search<'a> {
    limits: &'a Limits,
    kept: Kept,
    says_beliefs: bool,
    chance: Option<Chance>,
}

impl<'a> Search<'a> {
    fn new(limits: &'a Limits, kept: Kept) -> Search<'a> {
        Search {
            limits,
            kept,
            says_beliefs: false,
            chance: None,
        }
    }

    /// Begins with the recorded order, and with what can be tried of it.
    fn begin(
        &mut self,
        is_new: bool,
        ground: &Arc<Ground>,
        base: &Orders,
        (played, marks): (&[Delivery], &mut Marks<'_>),
    ) {
        if is_new {
            self.kept.waiting.reached(base.order, None);
            self.kept.counts.orders = 1;
        }
        match self.limits.by_chance {
            Some(by) => {
                let mut chance = Chance::new((by, ground), &self.limits.tries, played, marks);
                (0..self.kept.drawn).for_each(|_| drop(chance.way()));
                self.chance = Some(chance);
            }
            None if is_new => {
                let candidates = base.candidates(ground, &self.limits.tries, &[]);
                self.kept.waiting.add(&[], candidates);
            }
            None => {}
        }
    }

    /// What is played next, at once: as much as may still be played of what is due.
    fn next(&mut self) -> Vec<Way> {
        let kept = &mut self.kept;
        let left = self.limits.runs_max.saturating_sub(kept.counts.runs);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        if left == 0 {
            return Vec::new();
        }
        // What is due together does not follow from how much may be played.
        if kept.due.is_empty() {
            for _ in 0..BATCH {
                let way = match &mut self.chance {
                    Some(chance) => {
                        kept.drawn += 1;
                        Some(chance.way())
                    }
                    None => kept.waiting.next(),
                };
                let Some(way) = way else { break };
                kept.due.push_back(way);
            }
        }
        let count = left.min(kept.due.len());
        kept.due.drain(..count).collect()
    }

    /// Ways that were played, and whose results nobody took.
    fn give_back(&mut self, ways: &[Way]) {
        let ways = ways.iter().rev().cloned();
        ways.for_each(|way| self.kept.due.push_front(way));
    }

    fn count(&mut self) {
        let kept = &mut self.kept;
        kept.waiting.count(&mut kept.counts);
        // Nobody counts what is drawn and was not played.
        if self.chance.is_none() {
            kept.counts.waiting += kept.due.len() as u64;
        }
    }

    /// Whether nothing is left to be tried.
    fn is_whole(&self) -> bool {
        self.kept.due.is_empty() && self.kept.waiting.is_empty() && self.chance.is_none()
    }

    /// Looks later for what may be changed besides these.
    fn go_on(&mut self, changes: &[Change]) {
        if changes.len() < self.limits.changes_max && self.limits.by_chance.is_none() {
            self.kept.waiting.go_on(changes);
        }
    }

    /// The last run, as it is told.
    fn wrong(&self, changes: Vec<Change>, ran: Ran) -> Wrong {
        let run = self.kept.counts.runs;
        Wrong { changes, ran, run }
    }

    fn take(
        &mut self,
        result: Result1,
        tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.kept.counts.runs += 1;
        self.kept.counts.turns += result.ran.turns;
        if !result.tried {
            self.kept.waiting.add(&result.changes, result.candidates);
            return ControlFlow::Continue(());
        }
        let is_new = self.kept.waiting.reached(result.order, result.meant);
        self.kept.counts.orders += u64::from(is_new);
        if result.ran.is_wrong() {
            let outcome = Outcome::of(&result.ran);
            if self.kept.outcomes.contains(&outcome) {
                self.kept.counts.wrong += 1;
                return ControlFlow::Continue(());
            }
            let wrong = self.wrong(result.changes, result.ran);
            let mut heals = false;
            let told = tell(Told::Wrong(&wrong, &mut heals));
            if heals {
                self.go_on(&wrong.changes);
            } else {
                self.kept.counts.wrong += 1;
                self.kept.outcomes.insert(outcome);
            }
            return told;
        }
        self.go_on(&result.changes);
        if is_new && !self.says_beliefs {
            return tell(Told::Other(&self.wrong(result.changes, result.ran)));
        }
        ControlFlow::Continue(())
    }
}

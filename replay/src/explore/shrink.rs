//! The smallest session that still fails, and changes as few and as short as they can be.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_wire::Wire;

use super::change::{Change, ChangeKind, Moment};
use super::cut::{Cut, PacketId};
use super::ground::Ground;
use super::marks::{Marks, Swap, swaps};
use super::races::{BaseOrder, Orders, Tries};
use super::run::Runner;
use super::search::Outcome;

/// Time is left out in no more pieces than these; what is smaller goes turn by turn.
const STRETCHES_MAX: usize = 64;

/// A session that still fails, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// What of the recording is left.
    pub cut: Cut,
    /// Runs.
    pub tries: u64,
    /// Whether dropping any one turn or packet of it cures it; else the time was over before.
    pub minimal: bool,
}

/// Plays a session without what is cut: whether it still fails for the same reason, and the packets that
/// were delivered; `None` where nobody wants to go on.
pub type Try<'a, E> = dyn FnMut(&Cut) -> Result<Option<(bool, Vec<PacketId>)>, E> + 'a;

/// Drops of a session what it fails without: nodes, stretches of time, turns (ticks and calls of the game),
/// packets; the largest pieces first, until dropping any one turn or packet cures it.
///
/// # Errors
/// Those of `try_it`.
pub fn shrink<E>(ground: &Ground, try_it: &mut Try<'_, E>) -> Result<Shrunk, E> {
    let mut shrinking = Shrinking {
        ground,
        cut: Cut::nothing(ground),
        packets: Vec::new(),
        tries: 0,
        over: false,
        by_halves: true,
        dropped: 0,
        try_it,
    };
    // What is delivered is known after a try.
    shrinking.fails(&Cut::nothing(ground))?;
    shrinking.shorten()?;
    shrinking.calls()?;
    shrinking.stretches()?;
    shrinking.nodes()?;
    shrinking.stretches()?;
    // What takes time to show takes few turns where the time between them stays.
    shrinking.cut = shrinking.cut.clone().frozen();
    shrinking.turns()?;
    shrinking.lose()?;
    let closed = shrinking.cut.closed(ground);
    shrinking.fails(&closed)?;
    shrinking.by_halves = false;
    // What a piece less leads to, a resend for one, is a piece as well: until none of all can be dropped.
    loop {
        let before = shrinking.dropped;
        shrinking.turns()?;
        shrinking.lose()?;
        if shrinking.over || shrinking.dropped == before {
            break;
        }
    }
    Ok(Shrunk {
        minimal: !shrinking.over,
        cut: shrinking.cut,
        tries: shrinking.tries,
    })
}

/// A change of the order in which packets come that makes a session healthy, the shortest of those that do.
///
/// `cut` is what of the session is played, and with it what may be changed; `heals` plays it with a change,
/// and says whether it is healthy. The change, and what it puts into another order.
///
/// # Errors
/// Those of `heals`, and a layer that cannot be made.
pub fn cure<E>(
    runner: &mut Runner<'_, E>,
    ground: &Ground,
    wire: Option<&Wire>,
    (cut, tries): (&Cut, &Tries),
    heals: &mut Heals<'_, E>,
) -> Result<Option<(Change, Vec<Swap>)>, E> {
    let mut marks = Marks::new(wire);
    let trace = runner.trace(&[], cut)?;
    let base = BaseOrder::of(&trace, &mut marks);
    let orders = Orders::of(&trace, &[], &base, &mut marks);
    let mut candidates = orders.candidates(ground, tries, &[]);
    candidates.sort_by_key(|it| (it.class, it.change.length_ns(), it.change));
    for candidate in candidates {
        let changes = [candidate.change];
        if heals(runner, &changes)? {
            let swaps = match wire {
                Some(wire) => swaps(&runner.trace(&changes, cut)?, wire),
                None => Vec::new(),
            };
            return Ok(Some((candidate.change, swaps)));
        }
    }
    Ok(None)
}

/// Plays a session with changes: whether it is healthy.
pub type Heals<'a, E> = dyn FnMut(&mut Runner<'_, E>, &[Change]) -> Result<bool, E> + 'a;

struct Shrinking<'a, 't, E> {
    ground: &'a Ground,
    cut: Cut,
    /// Those that the smallest session so far delivers.
    packets: Vec<PacketId>,
    tries: u64,
    over: bool,
    /// Whether large pieces are tried before single ones: once that was done, single ones are left.
    by_halves: bool,
    /// How many pieces were dropped.
    dropped: u64,
    try_it: &'a mut Try<'t, E>,
}

impl<E> Shrinking<'_, '_, E> {
    /// Whether a session still fails; if so, it is the smallest so far.
    fn fails(&mut self, cut: &Cut) -> Result<bool, E> {
        if self.over {
            return Ok(false);
        }
        self.tries += 1;
        let Some((fails, packets)) = (self.try_it)(cut)? else {
            self.over = true;
            return Ok(false);
        };
        if fails {
            self.cut = cut.clone();
            self.packets = packets;
        }
        Ok(fails)
    }

    /// Ends it as early as it still fails.
    fn shorten(&mut self) -> Result<(), E> {
        let turns = self.cut.turns(self.ground);
        let (mut low, mut high) = (0, turns.len());
        while high - low > turns.len() / 256 + 1 {
            let middle = low + (high - low) / 2;
            let cut = self
                .cut
                .without(turns[middle..].iter().copied(), self.ground);
            if self.fails(&cut)? {
                high = middle
            } else {
                low = middle
            }
        }
        Ok(())
    }

    /// Drops whole nodes.
    fn nodes(&mut self) -> Result<(), E> {
        for node in 0..self.ground.nodes.len() {
            let turns = self.cut.turns(self.ground);
            let of = turns.into_iter().filter(|it| it.0 == node);
            let cut = self.cut.without(of, self.ground);
            self.fails(&cut)?;
        }
        Ok(())
    }

    /// Drops all that happens in stretches of time, of all nodes.
    fn stretches(&mut self) -> Result<(), E> {
        let mut slices: BTreeMap<i64, Vec<(usize, u32)>> = BTreeMap::new();
        let period = i64::try_from(self.ground.period_ns.max(1)).unwrap_or(i64::MAX);
        for (node, turn) in self.cut.turns(self.ground) {
            let at_ns = self.ground.nodes[node].turns[turn as usize].at_ns;
            let slice = slices.entry(at_ns.div_euclid(period)).or_default();
            slice.push((node, turn));
        }
        let slices: Vec<_> = slices.into_values().collect();
        let least = slices.len().div_ceil(STRETCHES_MAX);
        self.reduce((slices, least), &|cut, slices, ground| {
            cut.without(slices.iter().flatten().copied(), ground)
        })
    }

    /// Drops calls of the game, and lets the network go on as it did: whatever they led to comes to rest as
    /// before.
    fn calls(&mut self) -> Result<(), E> {
        let mut turns = self.cut.turns(self.ground);
        turns.retain(|&turn| self.ground.is_call(turn));
        self.drop_turns(turns)
    }

    /// Drops single turns.
    fn turns(&mut self) -> Result<(), E> {
        self.drop_turns(self.cut.turns(self.ground))
    }

    fn drop_turns(&mut self, turns: Vec<(usize, u32)>) -> Result<(), E> {
        self.reduce((turns, 1), &|cut, turns, ground| {
            cut.without(turns.iter().copied(), ground)
        })
    }

    /// Loses packets.
    fn lose(&mut self) -> Result<(), E> {
        let packets = self.packets.clone();
        self.reduce((packets, 1), &|cut, packets, _| {
            cut.losing(packets.iter().copied())
        })
    }

    /// Drops pieces, by halves, quarters and so on, down to so few; or single ones alone.
    fn reduce<T: Clone>(
        &mut self,
        (mut items, least): (Vec<T>, usize),
        without: &dyn Fn(&Cut, &[T], &Ground) -> Cut,
    ) -> Result<(), E> {
        let mut size = if self.by_halves {
            items.len().div_ceil(2).max(1)
        } else {
            1
        };
        loop {
            let mut place = 0;
            while place < items.len() && !self.over {
                let until = (place + size).min(items.len());
                let cut = without(&self.cut, &items[place..until], self.ground);
                if self.fails(&cut)? {
                    items.drain(place..until);
                    self.dropped += 1;
                } else {
                    place = until
                }
            }
            if size <= least.max(1) || self.over {
                return Ok(());
            }
            size = size.div_ceil(2).max(least);
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
    let ground = Arc::clone(runner.ground());
    let mut fails = |changes: &[Change]| {
        let ran = runner.run(changes, &mut trace);
        ran.map(|ran| outcome.is_in(&Outcome::of(&ran)))
    };
    let mut place = 0;
    while place < changes.len() && changes.len() > 1 {
        let mut fewer = changes.clone();
        fewer.remove(place);
        if fails(&fewer)? {
            changes = fewer
        } else {
            place += 1
        }
    }
    for place in 0..changes.len() {
        let change = changes[place];
        if change.kind != ChangeKind::Hold {
            continue;
        }
        // The shortest lies in a turn between: it is looked for by halves, as far as halves tell.
        let (mut low, mut high) = (change.since.turn, change.until.turn);
        while high.saturating_sub(low) > 1 {
            let middle = low + (high - low) / 2;
            let ns = ground.turn_ns(change.to, middle);
            let ns = ns.unwrap_or(change.until.ns);
            let mut tried = changes.clone();
            tried[place].until = Moment { turn: middle, ns };
            if fails(&tried)? {
                (changes, high) = (tried, middle)
            } else {
                low = middle
            }
        }
    }
    Ok(changes)
}

//! What scripts of a thread may take: steps, and processor time where steps are slow.

use std::cell::Cell;

/// How many steps of the Lua machine all calls of one packet may take together: this many for any
/// packet and this many for each of its bytes, but no more than the most.
const STEPS: u64 = 1_000_000;
const STEPS_A_BYTE: u64 = 2_500;
const STEPS_MAX: u64 = 10_000_000;
/// Many times what a step takes. Where all steps of a packet so far have taken more than this on
/// average, and [`FREE_NS`] in all, each [`STEP_NS`] count as one.
const SLOW_STEP_NS: u64 = 100;
const STEP_NS: u64 = 10;
/// Many times what a call takes that uses all of its memory, page by page.
const FREE_NS: u64 = 100_000_000;
/// A packet whose scripts took this long, and some times what a step takes for each of theirs, counts
/// among all packets of a file by its time.
const LONG_NS: u64 = 1_000_000;
const LONG_STEP_NS: u64 = 25;

thread_local! {
    /// Steps that the scripts of this thread's packet have taken.
    static SPENT: Cell<u64> = const { Cell::new(0) };
    /// The processor time at the begin of their first call.
    static BEGUN_NS: Cell<Option<u64>> = const { Cell::new(None) };
    /// How much of it they had taken when it was last looked at.
    static TAKEN_NS: Cell<u64> = const { Cell::new(0) };
    /// How many they may take.
    static ALLOWED: Cell<u64> = const { Cell::new(STEPS_MAX) };
}

/// How fast the steps of this thread's packet are taken.
pub(super) struct Pace;

impl Pace {
    /// Notes where the processor time of the packet's first call begins.
    pub(super) fn begin() {
        if BEGUN_NS.get().is_none() {
            BEGUN_NS.set(Some(processor_ns()));
        }
    }

    /// Counts the time that was taken, where steps are too slow to be counted by themselves.
    pub(super) fn keep(line: usize) -> mlua::Result<()> {
        let Some(begun) = BEGUN_NS.get() else {
            return Ok(());
        };
        let taken = processor_ns().saturating_sub(begun);
        TAKEN_NS.set(taken);
        let spent = SPENT.get();
        if taken < FREE_NS || taken / SLOW_STEP_NS < spent {
            return Ok(());
        }
        spend((taken / STEP_NS).saturating_sub(spent), line)
    }
}

/// The processor time that this thread has taken.
fn processor_ns() -> u64 {
    let taken = netreel_system::clock::processor_time();
    u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
thread_local! {
    /// Steps that were counted, whatever time counted beside them.
    pub(super) static COUNTED: Cell<u64> = const { Cell::new(0) };
}

/// Takes this much processor time.
#[cfg(test)]
pub(super) fn work_for(ns: u64) {
    let begun = processor_ns();
    while processor_ns() - begun < ns {}
}

#[cfg(test)]
pub(super) fn counted() -> u64 {
    COUNTED.get()
}

/// A packet of this many bytes begins: its scripts have taken no steps.
pub(crate) fn begin_packet(bytes: usize) {
    let steps = STEPS.saturating_add(STEPS_A_BYTE.saturating_mul(bytes as u64));
    ALLOWED.set(steps.min(STEPS_MAX));
    SPENT.set(0);
    BEGUN_NS.set(None);
    TAKEN_NS.set(0);
}

/// A script begins that may take this many steps.
pub(super) fn begin(steps: u64) {
    begin_packet(0);
    ALLOWED.set(steps);
}

/// Lets the scripts of this thread take this many steps more.
pub(super) fn allow(steps: u64) {
    ALLOWED.set(ALLOWED.get().saturating_add(steps));
}

/// Does something beside a script, for it: the script's steps and its clock stand still, whatever other
/// scripts are called in that.
pub(super) fn aside<R>(work: impl FnOnce() -> R) -> R {
    let (spent, allowed) = (SPENT.get(), ALLOWED.get());
    let taken = BEGUN_NS
        .get()
        .map(|begun| processor_ns().saturating_sub(begun));
    let done = work();
    SPENT.set(spent);
    ALLOWED.set(allowed);
    BEGUN_NS.set(taken.map(|taken| processor_ns().saturating_sub(taken)));
    done
}

/// How many steps the scripts of this thread's packet have taken.
pub(crate) fn steps() -> u64 {
    SPENT.get()
}

/// What the scripts of this thread's packet count among all packets of a file besides their steps:
/// their time, where that is much more than such steps take.
pub(crate) fn slow() -> u64 {
    let (spent, taken) = (SPENT.get(), TAKEN_NS.get());
    if taken >= LONG_NS && taken / LONG_STEP_NS > spent {
        (taken / STEP_NS).saturating_sub(spent)
    } else {
        0
    }
}

/// The scripts of this thread have taken this many steps only.
pub(super) fn take_back(steps: u64) {
    SPENT.set(steps);
}

/// Counts this many steps; an error that names the line, where one is known (else 0), where these are
/// too many.
pub(super) fn spend(steps: u64, line: usize) -> mlua::Result<()> {
    SPENT.set(SPENT.get().saturating_add(steps));
    let most = ALLOWED.get();
    let place = match line {
        0 => String::new(),
        line => format!("lua:{line}: "),
    };
    if SPENT.get() > most {
        Err(mlua::Error::runtime(format!(
            "{place}more than the limit of {most} steps"
        )))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_took_long_with_few_steps_counts_by_its_time() {
        begin_packet(0);
        Pace::begin();
        spend(1000, 0).expect("few");
        assert_eq!(slow(), 0);
        work_for(5_000_000);
        Pace::keep(0).expect("not yet too long");
        assert!(slow() >= 499_000, "{}", slow());
        assert_eq!(steps(), 1000, "what it may still take is as before");
    }

    #[test]
    fn a_packet_counts_by_its_steps_where_these_are_many() {
        begin_packet(0);
        Pace::begin();
        spend(900_000, 0).expect("as many as it may");
        work_for(2_000_000);
        Pace::keep(0).expect("not too long");
        assert_eq!((steps(), slow()), (900_000, 0));
        begin_packet(0);
        assert_eq!((steps(), slow()), (0, 0), "the next packet begins anew");
    }
}

//! Work on several processors whose results do not depend on how many there are.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many processors there are to work on.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The numbers up to one, in stretches of this many.
pub(crate) fn stretches(count: usize, each: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..count).step_by(each);
    starts.map(move |start| start..count.min(start + each))
}

/// Does the same with each of some things; the results are in the order of the things.
pub(crate) fn map<T: Send, R: Send>(
    things: Vec<T>,
    workers: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if workers <= 1 || things.len() <= 1 {
        return things.into_iter().map(work).collect();
    }
    let things: Vec<Mutex<Option<T>>> = things.into_iter().map(|it| Mutex::new(Some(it))).collect();
    let results: Vec<Mutex<Option<R>>> = things.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(things.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(thing), Some(slot)) = (things.get(place), results.get(place)) else {
                        return;
                    };
                    let thing = thing.lock().ok().and_then(|mut thing| thing.take());
                    let result = thing.map(&work);
                    if let Ok(mut slot) = slot.lock() {
                        *slot = result;
                    }
                }
            });
        }
    });
    // A worker that panicked has ended this thread with it, so that every slot is filled.
    let results = results
        .into_iter()
        .filter_map(|slot| slot.into_inner().ok());
    results.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_things() {
        let things: Vec<u64> = (0..1000).collect();
        let squares: Vec<u64> = things.iter().map(|it| it * it).collect();
        for workers in [1, 2, 7] {
            assert_eq!(map(things.clone(), workers, |it| it * it), squares);
        }
    }
}

//! Steps among locks, from a reel onto the tape.

use netreel_reel::ThreadId;
use netreel_reel::tape::{NO_THREAD, Order, STEPS_AT, THREADS_MAX};

/// Of each thread: where the number of its next step is to stand that waits for its turn.
#[derive(Default)]
pub(super) struct Steps {
    /// The first one of each thread, by index.
    first: Vec<u64>,
    /// Where among the entries the place for the next one lies; 0 before the first.
    latest: Vec<usize>,
}

/// Where in an [`Order`] the next step stands.
const NEXT_AT: usize = std::mem::offset_of!(Order, next);

impl Steps {
    /// This thread comes to a step whose details lie at `at` among the entries.
    pub(super) fn come(&mut self, entries: &mut [u8], thread: u16, count: u64, at: usize) {
        let index = usize::from(thread);
        if self.first.len() <= index {
            self.first.resize(index + 1, 0);
            self.latest.resize(index + 1, 0);
        }
        match self.latest.get(index).copied() {
            Some(0) | None => {
                if let Some(first) = self.first.get_mut(index) {
                    *first = count;
                }
            }
            Some(place) => {
                if let Some(next) = entries.get_mut(place + NEXT_AT..place + NEXT_AT + 8) {
                    next.copy_from_slice(&count.to_ne_bytes());
                }
            }
        }
        if let Some(latest) = self.latest.get_mut(index) {
            *latest = at;
        }
    }

    /// Writes each thread's first one into the tape.
    pub(super) fn put_first(&self, tape: &mut [u8]) {
        for (index, first) in self.first.iter().take(THREADS_MAX).enumerate() {
            let at = STEPS_AT + index * 8;
            if let Some(place) = tape.get_mut(at..at + 8) {
                place.copy_from_slice(&first.to_ne_bytes());
            }
        }
    }
}

/// The step's number in its thread, and who had the lock before. `None` where the details have no
/// such thing.
pub(super) fn read(
    details: &[u8],
    index: impl Fn(ThreadId) -> Option<u16>,
) -> Option<(u64, Order)> {
    let (count, rest) = details.split_first_chunk()?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let thread = ((word >> 48) as u16).checked_sub(1);
    let before = thread.and_then(|thread| index(ThreadId(thread)));
    let order = Order {
        before: before.map_or(NO_THREAD, u64::from),
        step: word & ((1 << 48) - 1),
        next: 0,
    };
    Some((u64::from_le_bytes(*count), order))
}

/// As the tape has it.
pub(super) fn bytes(order: &Order) -> [u8; size_of::<Order>()] {
    let mut bytes = [0; size_of::<Order>()];
    bytes[..8].copy_from_slice(&order.before.to_ne_bytes());
    bytes[8..16].copy_from_slice(&order.step.to_ne_bytes());
    bytes[16..].copy_from_slice(&order.next.to_ne_bytes());
    bytes
}

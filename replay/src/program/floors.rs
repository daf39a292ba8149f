//! Which of a program's threads has the floor, where one ran at a time, from a reel onto the tape.

use netreel_reel::tape::{FLOORS_AT, NextFloor, THREADS_MAX};

/// Of each thread, by index.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Its entries so far, but those of the floor.
    entries: u64,
    first: NextFloor,
    /// Where among the entries the place for the next one lies; 0 before the first.
    latest: usize,
}

/// When each thread gives the floor up.
#[derive(Default)]
pub(super) struct Floors(Vec<Place>);

impl Floors {
    fn of(&mut self, thread: u16) -> Option<&mut Place> {
        let index = usize::from(thread);
        if self.0.len() <= index {
            self.0.resize(index + 1, Place::default());
        }
        self.0.get_mut(index)
    }

    /// The thread comes to an entry.
    pub(super) fn goes_on(&mut self, thread: u16) {
        if let Some(place) = self.of(thread) {
            place.entries += 1;
        }
    }

    /// The thread gets the floor back behind this many calls; the details of that lie at `at` among
    /// the entries.
    pub(super) fn comes(&mut self, entries: &mut [u8], thread: u16, points: u64, at: usize) {
        let Some(place) = self.of(thread) else { return };
        let next = NextFloor {
            entries: place.entries + 1,
            points,
            all: 0,
        };
        match place.latest {
            0 => place.first = next,
            latest => {
                let whole = bytes(&next);
                if let Some(room) = entries.get_mut(latest..latest + whole.len()) {
                    room.copy_from_slice(&whole);
                }
            }
        }
        place.latest = at;
    }

    /// Writes into the tape when each gives it up first.
    pub(super) fn put_first(&self, tape: &mut [u8]) {
        for (index, place) in self.0.iter().take(THREADS_MAX).enumerate() {
            let at = FLOORS_AT + index * size_of::<NextFloor>();
            let whole = bytes(&NextFloor {
                all: place.entries,
                ..place.first
            });
            if let Some(room) = tape.get_mut(at..at + whole.len()) {
                room.copy_from_slice(&whole);
            }
        }
    }
}

/// As the tape has it.
pub(super) fn bytes(next: &NextFloor) -> [u8; size_of::<NextFloor>()] {
    let mut bytes = [0; size_of::<NextFloor>()];
    bytes[..8].copy_from_slice(&next.entries.to_ne_bytes());
    bytes[8..16].copy_from_slice(&next.points.to_ne_bytes());
    bytes[16..].copy_from_slice(&next.all.to_ne_bytes());
    bytes
}

//! Files that the program changed when it was recorded: where they lie in a replay.

use netreel_shared::tape::{SCRATCH_AT, SCRATCH_MAX, TapeControl};

use crate::paths::is_below;
use crate::sys;

use super::{place_at, tape};

/// The paths that lie in a folder of the command's.
#[derive(Clone, Copy)]
pub struct KeptFiles {
    tape: &'static TapeControl,
}

/// `None`: this process is not replayed.
#[inline]
pub fn kept_files() -> Option<KeptFiles> {
    tape().map(|tape| KeptFiles { tape })
}

impl KeptFiles {
    /// The folder in which they lie, each at its path; empty where there is none.
    pub fn folder(&self) -> &'static [u8] {
        // SAFETY: the tape has this room.
        let place = unsafe { &*place_at::<[u8; SCRATCH_MAX]>(self.tape, SCRATCH_AT) };
        let end = place.iter().position(|byte| *byte == 0);
        place.get(..end.unwrap_or(0)).unwrap_or(&[])
    }

    /// Whether this path is one of them, or lies below one.
    pub fn has(&self, path: &[u8]) -> bool {
        if self.folder().is_empty() {
            return false;
        }
        let place = place_at::<u8>(self.tape, self.tape.files_at as usize);
        // SAFETY: the command made the tape; all that is said to lie on it does.
        let mut list = unsafe { sys::slice(place, self.tape.files_length) };
        while let Some((length, rest)) = list.split_first_chunk() {
            let length = usize::from(u16::from_le_bytes(*length));
            let Some((kept, rest)) = rest.split_at_checked(length) else {
                return false;
            };
            if is_below(path, kept) {
                return true;
            }
            list = rest;
        }
        false
    }
}

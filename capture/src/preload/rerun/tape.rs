//! The memory of a tape, which this side and the program share.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::Ordering;

use memmap2::MmapMut;
use netreel_reel::tape::{
    CAME_AT, CAME_MAX, ENTRIES_AT, OPENED_AT, Opened, PRINTED_AT, PRINTED_MAX, SCRATCH_AT,
    SCRATCH_MAX, TapeControl, state,
};
use rustix::fs::MemfdFlags;

use super::super::again::{Came, Printed};

/// The tape's memory.
pub(super) struct Tape {
    pub file: File,
    pub memory: MmapMut,
}

impl Tape {
    pub fn new(bytes: &[u8], scratch: &[u8]) -> io::Result<Tape> {
        let fd = rustix::fs::memfd_create("netreel-tape", MemfdFlags::CLOEXEC)?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        // SAFETY: a file that nobody else knows, but the program, which is trusted with it as far
        // as its own answers go: what is read from it is looked at as bytes of strangers.
        let mut memory = unsafe { MmapMut::map_mut(&file)? };
        if memory.len() < ENTRIES_AT {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let place = memory.get_mut(SCRATCH_AT..SCRATCH_AT + SCRATCH_MAX - 1);
        let place = place.and_then(|place| place.get_mut(..scratch.len()));
        place
            .ok_or(io::ErrorKind::InvalidFilename)?
            .copy_from_slice(scratch);
        Ok(Tape { file, memory })
    }

    pub fn control(&self) -> &TapeControl {
        // SAFETY: the memory is longer, begins at a page, and any bytes are a control page.
        unsafe { &*self.memory.as_ptr().cast::<TapeControl>() }
    }

    pub fn came(&self) -> Option<Came> {
        let control = self.control();
        if control.state.load(Ordering::Acquire) != state::PARTED {
            return None;
        }
        // SAFETY: plain numbers, which another process may write at any time.
        let what = unsafe { (&raw const control.came).read_volatile() };
        let length = (what.length as usize).min(CAME_MAX);
        let bytes = self.memory.get(CAME_AT..CAME_AT + length)?.to_vec();
        Some(Came { what, bytes })
    }

    pub fn opened(&self) -> Vec<Opened> {
        let count = self.control().opened.load(Ordering::Acquire) as usize;
        let all = self.memory.get(OPENED_AT..SCRATCH_AT).unwrap_or(&[]);
        let (all, _) = all.as_chunks::<{ size_of::<Opened>() }>();
        let word = |bytes: &[u8], at: usize| {
            let eight = bytes.get(at..).and_then(|rest| rest.first_chunk());
            eight.map_or(0, |it| u64::from_ne_bytes(*it))
        };
        let each = all.iter().take(count);
        each.map(|it| Opened {
            path: word(it, 0),
            sum: word(it, 8),
        })
        .collect()
    }

    pub fn printed(&self, index: usize) -> Printed {
        let Some(printed) = self.control().printed.get(index) else {
            return Printed::default();
        };
        let differs = printed.differs.load(Ordering::Acquire).checked_sub(1);
        let length = printed.came.load(Ordering::Relaxed) as usize;
        let at = PRINTED_AT + index * PRINTED_MAX;
        let line = self.memory.get(at..at + length.min(PRINTED_MAX));
        Printed {
            bytes: printed.now.load(Ordering::Relaxed),
            differs: differs.map(|place| (place, line.unwrap_or_default().to_vec())),
        }
    }
}

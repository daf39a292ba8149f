//! What the drainer does on a full disk: it waits for room, and names the hole.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netreel_reel::{Event, WriteError};
use netreel_system::codes::{NO_ROOM, NO_ROOM_FOR_USER};

use super::{Drainer, Full, own};
use crate::pause::Pause;
use crate::series::code;

/// How often it is tried again to write on a disk that was full.
const ROOM_EVERY: Duration = Duration::from_millis(500);

impl Drainer {
    /// Nothing could be written. Where the disk is full, what was pushed stays in the rings, and
    /// what finds no room there is dropped and counted, until there is room again.
    pub fn wait_for_room(&mut self, error: WriteError) -> Result<Pause, WriteError> {
        let code = code(&error);
        if ![NO_ROOM, NO_ROOM_FOR_USER].contains(&code)
            || self.shared.finishing.load(Ordering::Acquire)
        {
            return Err(error);
        }
        self.shared.no_room.store(code, Ordering::Release);
        self.gate.0.set_full(true);
        self.triggers.look_for_signal();
        if let Some(ring) = &mut self.ring {
            ring.refuse(&error.to_string());
        }
        self.gate.0.made_progress();
        let before = self.full.take();
        let since = before.map_or_else(Instant::now, |full| full.since);
        self.full = Some(Full { since, error });
        Ok(Pause::Doze(Instant::now() + ROOM_EVERY))
    }

    /// Tries whether there is room again, and names the hole.
    pub fn look_for_room(&mut self) -> Result<(), WriteError> {
        let Some(full) = &self.full else {
            return Ok(());
        };
        let (error, seconds) = (full.error.to_string(), full.since.elapsed().as_secs_f64());
        self.seal()?;
        self.back()?;
        self.full = None;
        self.shared.no_room.store(0, Ordering::Release);
        self.gate.0.set_full(false);
        let number = self.rings(|rings| rings.control().next.0.fetch_add(1, Ordering::SeqCst));
        let text = format!(
            "for {seconds:.1} s nothing could be written ({error}); what found no room in the \
             buffers meanwhile is counted as dropped"
        );
        self.note = Some((number, text));
        Ok(())
    }

    /// Writes the note, whose turn it is.
    pub fn write_note(&mut self) -> Result<(), WriteError> {
        if let Some((number, text)) = &self.note {
            let text = text.as_bytes();
            let note = own(*number, self.latest, Event::Note { text });
            self.series.push(&note)?;
        }
        self.note = None;
        Ok(())
    }

    /// The number of the note, where there is one.
    pub fn note_number(&self) -> Option<u64> {
        self.note.as_ref().map(|(number, _)| *number)
    }
}

//! Recording into memory: no thread, no file, the same to the byte every time.

use std::sync::{Arc, Mutex, PoisonError};

use netreel_reel::{Event, EventNumber, Header, Record, ReelWriter, ThreadId, Time, WriteError};

use crate::pusher::Pusher;

/// Records into memory, for simulated worlds and tests. Clones record into the same reel.
#[derive(Clone, Debug)]
pub struct MemoryRecorder {
    reel: Arc<Mutex<MemoryReel>>,
}

/// The reel of a [`MemoryRecorder`].
#[derive(Debug)]
pub struct MemoryReel {
    /// `None` once finished.
    writer: Option<ReelWriter<Vec<u8>>>,
    on: bool,
    sockets: u32,
    threads: u16,
    dropped: u64,
}

impl MemoryRecorder {
    /// Starts a reel. Fails where the header is larger than a reel holds (16 MiB).
    pub fn create(header: &Header) -> Result<MemoryRecorder, WriteError> {
        let writer = Some(ReelWriter::create(Vec::new(), header)?);
        let reel = MemoryReel {
            writer,
            on: true,
            sockets: 0,
            threads: 0,
            dropped: 0,
        };
        Ok(MemoryRecorder {
            reel: Arc::new(Mutex::new(reel)),
        })
    }

    /// A pusher with a thread number of its own.
    pub fn pusher(&self) -> Pusher {
        let mut reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = ThreadId(reel.threads);
        reel.threads = reel.threads.saturating_add(1);
        drop(reel);
        Pusher::into_memory(self.reel.clone(), thread)
    }

    /// Ends the reel and returns its bytes. Pushers that still live record nothing any more.
    /// A second call returns no bytes.
    pub fn finish(&self) -> Vec<u8> {
        let mut reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner);
        reel.tell_dropped(Time::ZERO, ThreadId(0));
        // Appending to memory does not fail; an index that is too large leaves a reel without one.
        let finished = reel.writer.take().and_then(|writer| writer.finish().ok());
        finished.unwrap_or_default()
    }
}

impl MemoryReel {
    pub(crate) fn open_socket(&mut self) -> u32 {
        self.sockets += 1;
        self.sockets - 1
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on && self.writer.is_some()
    }

    pub(crate) fn switch(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.on, on) != on
    }

    pub(crate) fn push(
        &mut self,
        time: Time,
        thread: ThreadId,
        event: Event<'_>,
    ) -> Option<EventNumber> {
        if !self.is_on() {
            return None;
        }
        self.push_while_off(time, thread, event)
    }

    pub(crate) fn push_while_off(
        &mut self,
        time: Time,
        thread: ThreadId,
        event: Event<'_>,
    ) -> Option<EventNumber> {
        self.tell_dropped(time, thread);
        let writer = self.writer.as_mut()?;
        let number = writer.next_number();
        match writer.push(&Record {
            number,
            time,
            thread,
            event,
        }) {
            Ok(()) => Some(number),
            Err(_) => {
                self.dropped += 1;
                None
            }
        }
    }

    fn tell_dropped(&mut self, time: Time, thread: ThreadId) {
        let count = std::mem::take(&mut self.dropped);
        if let Some(writer) = self.writer.as_mut().filter(|_| count > 0) {
            let number = writer.next_number();
            let event = Event::Dropped { count };
            // A few bytes into memory: it cannot fail.
            let _ = writer.push(&Record {
                number,
                time,
                thread,
                event,
            });
        }
    }
}

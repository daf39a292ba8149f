//! A reel that is recorded into memory.

use netreel_reel::{Event, EventNumber, Header, Record, ReelWriter, ThreadId, Time, WriteError};

/// The reel of a recorder into memory.
#[derive(Debug)]
pub struct MemoryReel {
    /// `None` once finished.
    writer: Option<ReelWriter<Vec<u8>>>,
    on: bool,
    sockets: u32,
    threads: u16,
    dropped: u64,
}

impl MemoryReel {
    pub(crate) fn create(header: &Header) -> Result<MemoryReel, WriteError> {
        let writer = Some(ReelWriter::create(Vec::new(), header)?);
        Ok(MemoryReel {
            writer,
            on: true,
            sockets: 0,
            threads: 0,
            dropped: 0,
        })
    }

    /// The next thread's number.
    pub(crate) fn open_thread(&mut self) -> ThreadId {
        let thread = ThreadId(self.threads);
        self.threads = self.threads.saturating_add(1);
        thread
    }

    /// Ends the reel; its bytes, or none where it ended before.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.tell_dropped(Time::ZERO, ThreadId(0));
        // Appending to memory does not fail; an index that is too large leaves a reel without one.
        let finished = self.writer.take().and_then(|writer| writer.finish().ok());
        finished.unwrap_or_default()
    }

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

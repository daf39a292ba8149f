//! A thread of the reel for each interface, as whoever reads the reel tells them apart.

use std::collections::BTreeMap;

use netreel_reel::{Event, EventNumber, ThreadId, Time};

use crate::import::Scribe;
use netreel_record::{Pusher, RecordError, Recorder, Summary};

/// A reel that is recorded, with a pusher for each interface; where there are no more pushers, the
/// last one serves the others as well.
pub(super) struct Threads {
    pub recorder: Recorder,
    /// By the place of the interface. The first tells of the recording, too.
    pushers: Vec<Thread>,
    /// What is known of each interface, by its place: the kind of link, and the name.
    interfaces: BTreeMap<usize, (u32, Vec<u8>)>,
    told_rotations: u64,
}

struct Thread {
    pusher: Pusher,
    /// The interface that its latest `Interface` event names.
    told: Option<usize>,
}

impl Threads {
    pub fn new(recorder: Recorder) -> Result<Threads, RecordError> {
        let pusher = recorder.pusher()?;
        Ok(Threads {
            recorder,
            pushers: vec![Thread { pusher, told: None }],
            interfaces: BTreeMap::new(),
            told_rotations: 0,
        })
    }

    /// An event that belongs to no interface.
    pub fn push(&mut self, time: Time, event: Event<'_>) -> Option<EventNumber> {
        self.pushers.first_mut()?.pusher.push(time, event)
    }

    /// Interfaces are told again where the reel has gone on in a new file: the files before it may
    /// be deleted, and a window begins later than they.
    pub fn look(&mut self) {
        let rotations = self.recorder.rotations();
        if std::mem::replace(&mut self.told_rotations, rotations) != rotations {
            for thread in &mut self.pushers {
                thread.told = None;
            }
        }
    }

    pub fn finish(self) -> Result<Summary, RecordError> {
        drop(self.pushers);
        self.recorder.finish()
    }

    /// The pusher of an interface that was told of, which knows that it is at it.
    fn at(&mut self, interface: usize, time: Time) -> Option<&mut Pusher> {
        while self.pushers.len() <= interface {
            let Ok(pusher) = self.recorder.pusher() else {
                break;
            };
            self.pushers.push(Thread { pusher, told: None });
        }
        let place = interface.min(self.pushers.len().checked_sub(1)?);
        let thread = self.pushers.get_mut(place)?;
        if thread.told != Some(interface)
            && let Some((link_type, name)) = self.interfaces.get(&interface)
        {
            let (link_type, name) = (*link_type, name.as_slice());
            let event = Event::Interface { link_type, name };
            let told = thread.pusher.push(time, event);
            thread.told = told.map(|_| interface);
        }
        Some(&mut thread.pusher)
    }
}

impl Scribe for Threads {
    type Error = std::convert::Infallible;

    /// `thread` is the place of the interface.
    fn write(
        &mut self,
        time: Time,
        thread: ThreadId,
        event: Event<'_>,
    ) -> Result<EventNumber, Self::Error> {
        let interface = usize::from(thread.0);
        let pushed = match event {
            // Told with the first packet that passes it.
            Event::Interface { link_type, name } => {
                self.interfaces
                    .insert(interface, (link_type, name.to_vec()));
                None
            }
            Event::Seen { .. }
            | Event::Sent { .. }
            | Event::SendResult { .. }
            | Event::Received { .. }
            | Event::Cut { .. } => self
                .at(interface, time)
                .and_then(|pusher| pusher.push(time, event)),
            _ => self.push(time, event),
        };
        // What is not taken is counted in the reel.
        Ok(pushed.unwrap_or_default())
    }
}

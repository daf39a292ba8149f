//! Who takes what nodes do: the reels that playing on writes.

use std::sync::{Arc, Mutex, MutexGuard};

use netreel_reel::{Append, Event, Header, Record, ReelWriter, ThreadId, WriteError};
use netreel_system::locked;

/// Writes a reel for each node. Clones write the same ones: one goes to [`play`](super::play), one
/// stays to finish them.
#[derive(Debug)]
pub struct Reels<W: Append>(Arc<Mutex<Vec<Slot<W>>>>);

#[derive(Debug)]
struct Slot<W: Append> {
    writer: Option<ReelWriter<W>>,
    failed: Option<WriteError>,
}

impl<W: Append> Clone for Reels<W> {
    fn clone(&self) -> Reels<W> {
        Reels(Arc::clone(&self.0))
    }
}

impl<W: Append> Reels<W> {
    /// Starts a reel for each node that has a header here, into what stands beside it.
    pub fn create(nodes: Vec<Option<(Header, W)>>) -> Result<Reels<W>, WriteError> {
        let slot = |node: Option<(Header, W)>| {
            let writer = node
                .map(|(header, out)| ReelWriter::create(out, &header))
                .transpose()?;
            let failed = None;
            Ok::<_, WriteError>(Slot { writer, failed })
        };
        let slots = nodes.into_iter().map(slot).collect::<Result<_, _>>()?;
        Ok(Reels(Arc::new(Mutex::new(slots))))
    }

    /// Ends them, each with a note as its last event. What `is_cut` says, by the node's place, is
    /// left without an end, because the recording that was played on had none: it is `None` here.
    /// A second call finds none.
    pub fn finish(
        &self,
        note: &str,
        is_cut: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<W>>, WriteError> {
        let slots = std::mem::take(&mut *self.slots());
        let finish = |(node, slot): (usize, Slot<W>)| {
            if let Some(error) = slot.failed {
                return Err(error);
            }
            let Some(mut writer) = slot.writer else {
                return Ok(None);
            };
            let number = writer.next_number();
            let text = note.as_bytes();
            writer.push(&Record {
                number,
                time: writer
                    .totals()
                    .span()
                    .map_or(netreel_reel::Time::ZERO, |span| span.1),
                thread: ThreadId(0),
                event: Event::Note { text },
            })?;
            if is_cut(node) {
                writer.seal()?;
                return Ok(None);
            }
            writer.finish().map(Some)
        };
        slots.into_iter().enumerate().map(finish).collect()
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot<W>>> {
        locked(&self.0)
    }
}

impl<W: Append + Send> Sink for Reels<W> {
    fn write(&mut self, node: usize, record: &Record<'_>) {
        let mut slots = self.slots();
        let Some(slot) = slots.get_mut(node) else {
            return;
        };
        if let Some(writer) = &mut slot.writer
            && slot.failed.is_none()
        {
            slot.failed = writer.push(record).err();
        }
    }
}

/// Takes the events of the nodes that are played, each node's in order.
pub trait Sink: Send {
    /// An event of a node, by its place in the story.
    fn write(&mut self, node: usize, record: &Record<'_>);
}

/// Nobody keeps them.
impl Sink for () {
    fn write(&mut self, _node: usize, _record: &Record<'_>) {}
}

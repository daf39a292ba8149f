//! IP packets that wait for their fragments.

use std::collections::BTreeMap;

use etherparse::defrag::IpDefragBuf;

use super::layers::{Fragment, Fragmented};

/// Packets that wait at the same time, at most; each holds up to 64 KiB. The oldest goes first.
const WAITING_MAX: usize = 256;
/// How long a packet waits: what RFC 791 and Linux give it.
const WAIT_NS: u64 = 30_000_000_000;

/// The packets that are under way. etherparse's buffers, but a pool of our own: its pool has no
/// bounds, and a capture may come from anybody.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    waiting: BTreeMap<Fragmented, Waiting>,
    added: u64,
    given_up: u64,
}

#[derive(Debug)]
struct Waiting {
    since: u64,
    number: u64,
    buffer: IpDefragBuf,
}

impl Fragments {
    /// Takes a fragment; the payload of the whole packet, where this was the last one missing.
    pub fn add(&mut self, fragment: &Fragment<'_>, time: u64) -> Option<Vec<u8>> {
        let key = &fragment.of;
        // The number comes round again: what has waited for too long is another packet's.
        let stale = |waiting: &Waiting| time.saturating_sub(waiting.since) > WAIT_NS;
        if self.waiting.get(key).is_some_and(stale) {
            self.give_up(key);
        }
        if !self.waiting.contains_key(key) && self.waiting.len() >= WAITING_MAX {
            let oldest = self
                .waiting
                .iter()
                .min_by_key(|(_, waiting)| waiting.number)
                .map(|(key, _)| key.clone());
            oldest.iter().for_each(|key| self.give_up(key));
        }
        self.added += 1;
        let number = self.added;
        let waiting = self.waiting.entry(key.clone()).or_insert_with(|| Waiting {
            since: time,
            number,
            buffer: IpDefragBuf::new(key.protocol, Vec::new(), Vec::new()),
        });
        let added = waiting
            .buffer
            .add(fragment.offset, fragment.more, fragment.payload);
        if added.is_err() {
            self.give_up(key);
            return None;
        }
        if !waiting.buffer.is_complete() {
            return None;
        }
        let whole = self.waiting.remove(key)?;
        Some(whole.buffer.take_bufs().0)
    }

    /// Packets that will never be whole.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Packets that wait still.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn give_up(&mut self, key: &Fragmented) {
        self.given_up += u64::from(self.waiting.remove(key).is_some());
    }
}

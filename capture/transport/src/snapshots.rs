//! When a recorder writes down the layer's state.

use netreel_reel::{Duration, Time};

/// When a snapshot is due. It follows from the reel alone, so that a world which is played twice has
/// them at the same places.
#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    every: Duration,
    /// The last one, or the begin.
    latest: Option<Time>,
    /// How large the last one was.
    size: u64,
    /// Bytes that were recorded since.
    since: u64,
    /// Something is missing before: the next one is due at once.
    wanted: bool,
}

impl Snapshots {
    pub(crate) fn new(every: Duration) -> Snapshots {
        Snapshots {
            every,
            latest: None,
            size: 0,
            since: 0,
            wanted: false,
        }
    }

    /// So many bytes were recorded.
    pub(crate) fn recorded(&mut self, bytes: usize) {
        self.since = self.since.saturating_add(bytes as u64);
    }

    /// Something was not recorded: nothing behind it can be replayed without a snapshot.
    pub(crate) fn lost(&mut self) {
        self.wanted = true;
    }

    /// Whether one is due. Snapshots take no more than half of a reel.
    pub(crate) fn due(&mut self, now: Time) -> bool {
        let latest = *self.latest.get_or_insert(now);
        let is_time = now.since(latest) >= self.every;
        self.wanted || (is_time && self.since >= self.size)
    }

    /// One was written, or cannot be.
    pub(crate) fn taken(&mut self, now: Time, size: usize) {
        self.latest = Some(now);
        self.size = size as u64;
        self.since = 0;
        self.wanted = false;
    }
}

//! When a recorder writes down the layer's state.

use netreel_reel::{Duration, Time};

/// How often a recorder writes down the layer's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPlan {
    /// As often as this, on the clock of the reel,
    pub every: Duration,
    /// and not before this many times the bytes of the last snapshot were recorded of other events:
    /// what bounds the cost.
    pub others: u64,
}

impl Default for SnapshotPlan {
    fn default() -> SnapshotPlan {
        SnapshotPlan {
            every: Duration::from_secs(1),
            others: 16,
        }
    }
}

/// When a snapshot is due. It follows from the reel alone, so that a world which is played twice has
/// them at the same places.
#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    plan: SnapshotPlan,
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
    pub fn new(plan: SnapshotPlan) -> Snapshots {
        Snapshots {
            plan,
            latest: None,
            size: 0,
            since: 0,
            wanted: false,
        }
    }

    /// How many bytes were recorded.
    pub fn recorded(&mut self, bytes: usize) {
        self.since = self.since.saturating_add(bytes as u64);
    }

    /// Something was not recorded: nothing behind it can be replayed without a snapshot.
    pub fn lost(&mut self) {
        self.wanted = true;
    }

    /// Whether one is due.
    pub fn due(&mut self, now: Time) -> bool {
        let latest = *self.latest.get_or_insert(now);
        let is_time = now.since(latest) >= self.plan.every;
        self.wanted || (is_time && self.since >= self.size.saturating_mul(self.plan.others))
    }

    /// One was written, or cannot be.
    pub fn taken(&mut self, now: Time, size: usize) {
        self.latest = Some(now);
        self.size = size as u64;
        self.since = 0;
        self.wanted = false;
    }
}

//! Ring mode as the writing thread sees it: what is asked for, and when a part ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_reel::{Event, EventNumber, Time};
use netreel_transport::monotonic_now;

use super::{FinishedPart, Keeper, Request, Requests, Ring, TriggerNews, Triggers, Windows};
use crate::anchor::utc_now_ns;
use crate::options::Summary;
use crate::series::Ended;

/// The ring mode of one recording.
pub(crate) struct RingRecording {
    /// Where it is, its first part.
    base: PathBuf,
    windows: Windows,
    keeper: Keeper,
    requests: Arc<Requests>,
    triggers: Triggers,
    /// When the part under way began.
    begun: Time,
    /// Whether it starts with a snapshot; `None` as long as it holds nothing.
    snapshot: Option<bool>,
    /// What was asked for and has not been dealt with.
    ready: Vec<Request>,
    /// Whether it was told that the part under way cannot be ended.
    stuck: bool,
}

impl RingRecording {
    /// For the recording at `path`.
    pub fn start(
        path: &Path,
        ring: Ring,
        requests: Arc<Requests>,
        triggers: Triggers,
    ) -> std::io::Result<RingRecording> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(RingRecording {
            base: path.to_owned(),
            windows: Windows::new(ring),
            keeper: Keeper::start(folder, triggers.clone(), requests.clone())?,
            requests,
            triggers,
            begun: monotonic_now(),
            snapshot: None,
            ready: Vec::new(),
            stuck: false,
        })
    }

    /// Whether something that was asked for is still to be done.
    pub fn is_waiting(&self) -> bool {
        self.requests.is_waiting() || !self.ready.is_empty() || self.windows.are_open()
    }

    /// Whether the part under way is to end before `event`, so that the next one starts with it.
    pub fn ends_before(&self, event: &Event<'_>) -> bool {
        let snapshot = matches!(event, Event::Snapshot { .. });
        snapshot
            && self.snapshot.is_some()
            && monotonic_now().since(self.begun) >= self.windows.part_time_at_snapshot()
    }

    /// An event was written into the part under way.
    pub fn wrote(&mut self, event: &Event<'_>) {
        if self.snapshot.is_none() {
            self.snapshot = Some(matches!(event, Event::Snapshot { .. }));
        }
    }

    /// Whether the part under way is to end now: what was asked for, up to the event before
    /// `written`, wants it. Where it cannot be ended, [`act`](RingRecording::act) goes on without.
    pub fn wants_cut(&mut self, written: EventNumber) -> bool {
        if self.requests.is_waiting() {
            self.ready.extend(self.requests.take(written));
        }
        let now = monotonic_now();
        let mut ready = self.ready.iter();
        let asked = ready.any(|request| self.windows.wants_cut_for(&request.trigger));
        self.snapshot.is_some() && (asked || self.windows.wants_cut_to_close(now))
    }

    /// The part under way was ended.
    pub fn ended(&mut self, file: Ended) {
        let now = monotonic_now();
        let part = FinishedPart {
            file,
            from: self.begun,
            until: now,
            snapshot: self.snapshot.take().unwrap_or(false),
        };
        self.begun = now;
        self.stuck = false;
        self.keeper.order(self.windows.finished(part, now));
    }

    /// Deals with what was asked for, and with what is due.
    pub fn act(&mut self) {
        let now = monotonic_now();
        let requests = std::mem::take(&mut self.ready);
        for request in &requests {
            let actions = self.windows.request(request, now, utc_now_ns());
            self.keeper.order(actions);
        }
        self.keeper.done(requests.len());
        if requests.is_empty() {
            self.keeper.order(self.windows.tick(now));
        }
    }

    /// Nothing can be written now, as `why` says: no window is kept.
    pub fn refuse(&mut self, why: &str) {
        let all = EventNumber(u64::MAX);
        self.ready.extend(self.requests.take(all));
        for _ in &self.ready {
            let base = self.base.display();
            let why = format!("{base}: no window is kept now: {why}");
            self.triggers.tell(TriggerNews::Refused(why));
        }
        self.requests.done(self.ready.len());
        self.ready.clear();
    }

    /// A part that a window wants could not be ended; the recording goes on in it.
    pub fn could_not_end(&mut self, path: &Path) {
        if std::mem::replace(&mut self.stuck, true) {
            return;
        }
        self.triggers.tell(TriggerNews::Failed(format!(
            "{}: cannot be ended now; what a window wants of it is kept later",
            path.display()
        )));
    }

    /// The recording has ended with the part at `path`, of which all else is counted in `done`.
    /// Waits until all is kept, and counts the other parts. `why` it has ended is told to triggers
    /// that come later.
    pub fn finish(mut self, path: PathBuf, why: &str, done: &mut Summary) {
        let base = self.base.display();
        let why = format!("{base}: no window is kept any more, because recording has ended: {why}");
        self.ready.extend(self.requests.close(why));
        self.act();
        self.ended(Ended {
            path,
            ..Ended::default()
        });
        self.keeper.order(self.windows.close());
        let there = self.windows.there();
        done.files += u32::try_from(there.len().saturating_sub(1)).unwrap_or(u32::MAX);
        done.bytes += there.map(|file| file.bytes).sum::<u64>();
        let deleted = self.windows.deleted();
        done.files_deleted += deleted.parts;
        done.events_deleted += deleted.events;
    }
}

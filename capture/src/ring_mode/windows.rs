//! Which parts of a recording are kept, and which are deleted. Decides; touches no file.

use std::collections::VecDeque;
use std::path::PathBuf;

use netreel_reel::Time;

use super::trigger::window_name;
use super::{Request, Ring};
use crate::series::Ended;

/// A part that was ended. Times are those of the writing thread's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedPart {
    pub(crate) file: Ended,
    pub(crate) from: Time,
    pub(crate) until: Time,
    /// Whether it starts with a snapshot of the engine.
    pub(crate) snapshot: bool,
}

/// What is to be done with files. Folders are names beside the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Give the part a second name in the window's folder.
    Keep { window: String, part: PathBuf },
    /// Delete the part.
    Delete(PathBuf),
    /// The window has another name from now on: move what is there of this recording.
    Rename { from: String, to: String },
    /// All that there is up to the trigger was kept.
    Opened { window: String },
    /// The window has its last part.
    Closed { window: String },
    /// No window is kept; why.
    Refuse(String),
}

/// The parts of a recording in ring mode, and the window that is being kept.
#[derive(Debug)]
pub(crate) struct Windows {
    ring: Ring,
    parts: VecDeque<FinishedPart>,
    open: Option<Open>,
    kept: u32,
    deleted: Deleted,
}

/// What was deleted of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deleted {
    pub(crate) parts: u32,
    pub(crate) events: u64,
}

#[derive(Debug)]
struct Open {
    /// The moment and the id of the earliest trigger: the window's name.
    named: (i64, u64),
    window: String,
    from: Time,
    until: Time,
    /// Triggers up to here are of this window.
    merges_until: Time,
    /// However many triggers come, the window reaches no further.
    limit: Time,
    kept_until: Time,
}

/// Triggers that come so soon after a window's first are of the same window.
const MERGE_NS: u64 = 1_000_000_000;
/// Parts are kept so much longer than the window, because other nodes' requests are under way for
/// a while.
const SLACK_NS: u64 = 2_000_000_000;

impl Windows {
    pub(crate) fn new(ring: Ring) -> Windows {
        Windows {
            ring,
            parts: VecDeque::new(),
            open: None,
            kept: 0,
            deleted: Deleted::default(),
        }
    }

    /// A part that is so old is ended before a snapshot, so that the next one starts with it.
    pub(crate) fn part_ns_at_snapshot(&self) -> u64 {
        nanos(self.ring.part_time()) / 2
    }

    /// A part was ended.
    pub(crate) fn finished(&mut self, part: FinishedPart, now: Time) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(open) = &mut self.open
            && part.from < open.until
        {
            open.kept_until = open.kept_until.max(part.until);
            let window = open.window.clone();
            let part = part.file.path.clone();
            actions.push(Action::Keep { window, part });
        }
        self.parts.push_back(part);
        actions.extend(self.delete_old(now));
        actions
    }

    /// Whether the part under way has to be ended before [`request`](Windows::request) is called.
    pub(crate) fn wants_cut_for(&self, now: Time) -> bool {
        self.kept < self.ring.windows_max && !self.is_merging(now)
    }

    fn is_merging(&self, now: Time) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| now <= open.merges_until)
    }

    /// A trigger. `utc_ns` is the calendar's time at `now`. The part under way was ended if that was
    /// wanted.
    pub(crate) fn request(&mut self, request: &Request, now: Time, utc_ns: i64) -> Vec<Action> {
        let trigger = &request.trigger;
        let ago_ns = utc_ns.saturating_sub(trigger.utc_ns);
        let moment = match u64::try_from(ago_ns) {
            Ok(ago_ns) => Time(now.0.saturating_sub(ago_ns)),
            // The other node's clock is ahead of this one's.
            Err(_) => Time(now.0.saturating_add(ago_ns.unsigned_abs())),
        };
        let from = Time(moment.0.saturating_sub(millis_ns(trigger.before_ms)));
        let until = Time(moment.0.saturating_add(millis_ns(trigger.after_ms)));
        let named = (trigger.utc_ns, trigger.id);
        if !self.is_merging(now) {
            let mut actions = self.close();
            actions.extend(self.open(named, from, until, now));
            return actions;
        }
        let mut actions = Vec::new();
        if let Some(open) = &mut self.open {
            open.until = open
                .until
                .max(until.min(open.limit))
                .max(now.min(open.limit));
            open.merges_until = open.merges_until.max(open.until);
            if named < open.named {
                open.named = named;
                let to = window_name(named.0, named.1);
                let from = std::mem::replace(&mut open.window, to.clone());
                actions.push(Action::Rename { from, to });
            }
        }
        actions
    }

    fn open(&mut self, named: (i64, u64), from: Time, until: Time, now: Time) -> Vec<Action> {
        let window = window_name(named.0, named.1);
        if self.kept >= self.ring.windows_max {
            let why = format!(
                "{window}: not kept, because there are {} windows already",
                self.kept
            );
            return vec![Action::Refuse(why)];
        }
        self.kept += 1;
        let first = self.first_needed(from);
        let keep = |part: &FinishedPart| Action::Keep {
            window: window.clone(),
            part: part.file.path.clone(),
        };
        let mut actions: Vec<Action> = self.parts.iter().skip(first).map(keep).collect();
        actions.push(Action::Opened {
            window: window.clone(),
        });
        let merges_until = Time(now.0.saturating_add(MERGE_NS)).max(until);
        let length_ns = nanos(self.ring.before).max(MERGE_NS);
        self.open = Some(Open {
            named,
            window,
            from,
            until,
            merges_until,
            limit: Time(now.0.saturating_add(length_ns)).max(until),
            kept_until: self.parts.back().map_or(Time::ZERO, |part| part.until),
        });
        actions
    }

    /// Whether the part under way has to be ended so that the open window gets its last part.
    pub(crate) fn wants_cut_to_close(&self, now: Time) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| now > open.merges_until && open.kept_until < open.until)
    }

    /// What is due by now, the part under way having been ended if that was wanted.
    pub(crate) fn tick(&mut self, now: Time) -> Vec<Action> {
        let over = |open: &Open| now > open.merges_until && open.kept_until >= open.until;
        if self.open.as_ref().is_some_and(over) {
            return self.close();
        }
        Vec::new()
    }

    /// No further part belongs to the open window.
    pub(crate) fn close(&mut self) -> Vec<Action> {
        let closed = self.open.take();
        let closed = closed.map(|open| Action::Closed {
            window: open.window,
        });
        closed.into_iter().collect()
    }

    /// The first part of a window that starts at `from`: the one that holds that moment, or an
    /// earlier one that starts with a snapshot, up to a window's length back.
    fn first_needed(&self, from: Time) -> usize {
        let holds = self.parts.iter().position(|part| part.until > from);
        let holds = holds.unwrap_or(self.parts.len());
        let Some(part) = self.parts.get(holds) else {
            return holds;
        };
        let reach_ns = nanos(self.ring.before);
        let mut earlier = self.parts.iter().enumerate().take(holds + 1).rev();
        let near = |other: &FinishedPart| part.from.0.saturating_sub(other.from.0) <= reach_ns;
        let snapshot = earlier.find(|(_, other)| other.snapshot && near(other));
        snapshot.map_or(holds, |(place, _)| place)
    }

    /// The files of the parts that are there.
    pub(crate) fn there(&self) -> impl ExactSizeIterator<Item = &Ended> {
        self.parts.iter().map(|part| &part.file)
    }

    pub(crate) fn deleted(&self) -> Deleted {
        self.deleted
    }

    fn delete_old(&mut self, now: Time) -> Vec<Action> {
        let reach_ns = nanos(self.ring.before).saturating_add(SLACK_NS);
        let mut from = Time(now.0.saturating_sub(reach_ns));
        if let Some(open) = &self.open {
            from = from.min(open.from);
        }
        let first = self.first_needed(from);
        let mut actions = Vec::new();
        for part in self.parts.drain(..first) {
            self.deleted.parts += 1;
            self.deleted.events += part.file.events;
            actions.push(Action::Delete(part.file.path));
        }
        actions
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn millis_ns(millis: u32) -> u64 {
    u64::from(millis) * 1_000_000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netreel_reel::{Trigger, TriggerCause};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A recording in parts of one second, each named by the second that it starts in; UTC is the
    /// clock's own time.
    struct Recording {
        windows: Windows,
        part_from: u64,
        now: u64,
        actions: Vec<Action>,
    }

    impl Recording {
        fn new(before_s: u64) -> Recording {
            Recording {
                windows: Windows::new(Ring::new(Duration::from_secs(before_s))),
                part_from: 0,
                now: 0,
                actions: Vec::new(),
            }
        }

        fn cut(&mut self, snapshot: bool) {
            let part = FinishedPart {
                file: Ended {
                    path: format!("{}", self.part_from / 1_000_000).into(),
                    ..Ended::default()
                },
                from: Time(self.part_from),
                until: Time(self.now),
                snapshot,
            };
            self.part_from = self.now;
            let done = self.windows.finished(part, Time(self.now));
            self.actions.extend(done);
        }

        /// Lets seconds pass; `snapshots` says of a part's first second whether it starts with one.
        fn pass(&mut self, seconds: u64, snapshots: impl Fn(u64) -> bool) {
            for _ in 0..seconds {
                self.now += SECOND;
                self.cut(snapshots(self.part_from / SECOND));
                let done = self.windows.tick(Time(self.now));
                self.actions.extend(done);
            }
        }

        fn trigger(&mut self, id: u64, ago_ms: u64, after_ms: u32) {
            let utc_ns = (self.now - ago_ms * 1_000_000) as i64;
            let before_ms = self.windows.ring.before.as_millis() as u32;
            let trigger = Trigger {
                cause: TriggerCause::CALL,
                id,
                utc_ns,
                before_ms,
                after_ms,
                from_peer: false,
            };
            if self.windows.wants_cut_for(Time(self.now)) {
                self.cut(false);
            }
            let number = None;
            let request = Request { trigger, number };
            let now = self.now;
            let done = self.windows.request(&request, Time(now), now as i64);
            self.actions.extend(done);
        }

        fn deleted(&self) -> Vec<String> {
            let deleted = self.actions.iter().filter_map(|action| match action {
                Action::Delete(path) => Some(path.display().to_string()),
                _ => None,
            });
            deleted.collect()
        }

        /// The parts that were kept, window by window, in the order of their opening.
        fn kept(&self) -> Vec<Vec<String>> {
            let mut windows: Vec<(String, Vec<String>)> = Vec::new();
            for action in &self.actions {
                match action {
                    Action::Keep { window, part } => {
                        let part = part.display().to_string();
                        match windows.iter_mut().find(|known| known.0 == *window) {
                            Some(known) => known.1.push(part),
                            None => windows.push((window.clone(), vec![part])),
                        }
                    }
                    Action::Rename { from, to } => {
                        for known in &mut windows {
                            if known.0 == *from {
                                known.0.clone_from(to);
                            }
                        }
                    }
                    _ => {}
                }
            }
            windows.into_iter().map(|window| window.1).collect()
        }
    }

    #[test]
    fn what_is_older_than_the_window_and_its_slack_is_deleted() {
        let mut recording = Recording::new(5);
        recording.pass(10, |_| false);
        assert_eq!(recording.deleted(), ["0", "1000", "2000"]);
    }

    #[test]
    fn without_a_trigger_nothing_is_kept() {
        let mut recording = Recording::new(5);
        recording.pass(30, |_| false);
        assert_eq!(recording.kept(), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_trigger_keeps_the_window_before_it() {
        let mut recording = Recording::new(3);
        recording.pass(10, |_| false);
        recording.now += SECOND / 2;
        recording.trigger(1, 0, 0);
        recording.pass(10, |_| false);
        let expected = ["7000", "8000", "9000", "10000"];
        assert_eq!(recording.kept(), [expected]);
    }

    #[test]
    fn a_window_starts_at_the_snapshot_before_it() {
        let mut recording = Recording::new(3);
        recording.pass(10, |part| part == 5 || part == 9);
        recording.trigger(1, 0, 0);
        let kept = recording.kept().remove(0);
        assert_eq!(kept[..3], ["5000", "6000", "7000"]);
    }

    #[test]
    fn a_snapshot_that_is_too_far_back_is_not_waited_for() {
        let mut recording = Recording::new(3);
        recording.pass(60, |part| part == 0);
        recording.trigger(1, 0, 0);
        assert_eq!(recording.kept()[0][0], "57000");
        assert!(recording.deleted().contains(&"0".to_owned()));
    }

    #[test]
    fn what_comes_after_is_kept_where_it_was_asked_for() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 2500);
        recording.pass(10, |_| false);
        let kept = recording.kept().remove(0);
        assert_eq!(kept.last().unwrap(), "12000");
        let closed = recording.actions.iter();
        let closed = closed.filter(|action| matches!(action, Action::Closed { .. }));
        assert_eq!(closed.count(), 1);
    }

    #[test]
    fn triggers_that_come_together_are_of_one_window() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 0);
        recording.now += SECOND / 2;
        recording.trigger(2, 0, 0);
        recording.pass(5, |_| false);
        assert_eq!(recording.kept().len(), 1);
        let named: Vec<_> = recording.kept().remove(0);
        assert_eq!(named.last().unwrap(), "10000", "up to the second trigger");
    }

    #[test]
    fn the_earliest_trigger_names_the_window() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 0);
        recording.trigger(2, 100, 0);
        let early = window_name((recording.now - SECOND / 10) as i64, 2);
        let renamed = recording.actions.iter().find_map(|action| match action {
            Action::Rename { to, .. } => Some(to.clone()),
            _ => None,
        });
        assert_eq!(renamed, Some(early));
    }

    #[test]
    fn later_triggers_make_windows_that_share_parts() {
        let mut recording = Recording::new(4);
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 0);
        recording.pass(2, |_| false);
        recording.trigger(2, 0, 0);
        let kept = recording.kept();
        assert_eq!(kept.len(), 2);
        assert!(kept[1].iter().any(|part| kept[0].contains(part)));
    }

    #[test]
    fn triggers_without_end_do_not_make_a_window_without_end() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        for id in 0..100 {
            recording.trigger(id, 0, 0);
            recording.now += SECOND / 2;
        }
        let longest = recording.kept().iter().map(Vec::len).max().unwrap();
        assert!(longest <= 8, "{longest}");
    }

    #[test]
    fn more_windows_than_allowed_are_refused() {
        let mut recording = Recording::new(2);
        recording.windows.ring.windows_max = 1;
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 0);
        recording.pass(5, |_| false);
        recording.trigger(2, 0, 0);
        assert_eq!(recording.kept().len(), 1);
        assert!(matches!(recording.actions.last(), Some(Action::Refuse(_))));
    }

    #[test]
    fn a_request_of_a_moment_ago_keeps_the_same_seconds() {
        let mut recording = Recording::new(3);
        recording.pass(10, |_| false);
        recording.trigger(1, 1500, 0);
        assert_eq!(recording.kept()[0][0], "5000");
    }
}

//! Which parts of a recording are kept, and which are deleted. Decides; touches no file.
//!
//! What is one window follows from the triggers' times on the calendar alone: the first of them and
//! all within its reach. So every node that hears of the same triggers keeps the same windows,
//! whatever the order in which it hears of them; a window whose first trigger comes late gets
//! another name.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::PathBuf;

use netreel_reel::{Time, Trigger};

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
    /// The window has another name from now on: move what was kept of these parts.
    Rename {
        from: String,
        to: String,
        parts: Vec<PathBuf>,
    },
    /// All that there is up to the trigger was kept.
    Opened { window: String },
    /// The trigger is of a window that another one opened.
    Joined { window: String, id: u64 },
    /// The window has its last part.
    Closed { window: String },
    /// No window is kept; why.
    Refuse(String),
}

/// The parts of a recording in ring mode, and the windows that are being kept.
#[derive(Debug)]
pub(crate) struct Windows {
    ring: Ring,
    parts: VecDeque<FinishedPart>,
    /// When the latest part ended.
    ended: Time,
    /// The triggers of the last while, in the order of the calendar.
    asked: Vec<Asked>,
    /// Their windows, one for each group.
    windows: Vec<Window>,
    kept: u32,
    deleted: Deleted,
}

/// What was deleted of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deleted {
    pub(crate) parts: u32,
    pub(crate) events: u64,
}

/// A trigger's moment on the calendar, and its id. The first trigger of a window names it.
type Named = (i64, u64);

#[derive(Clone, Copy, Debug)]
struct Asked {
    named: Named,
    /// If it is the first of a window, later triggers up to here on the calendar are of the same.
    reaches_utc_ns: i64,
    came: Time,
    from: Time,
    until: Time,
}

#[derive(Debug)]
struct Window {
    named: Named,
    name: String,
    from: Time,
    until: Time,
    /// Up to here other triggers may come for it.
    settles: Time,
    /// However many triggers come, the window reaches no further.
    limit: Time,
    /// The parts that were to be kept for it.
    parts: BTreeSet<PathBuf>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Refused,
}

/// Triggers that come so soon after a window's first are of the same window.
const MERGE_NS: u64 = 1_000_000_000;
/// Parts are kept so much longer than the window, because other nodes' requests are under way for
/// a while.
const SLACK_NS: u64 = 2_000_000_000;
/// For a trigger that joins a window late, so long others are waited for.
const LATE_NS: u64 = 250_000_000;
/// A trigger is remembered for so long: a request is heard for 30 s around its time, and sent for 3.
const REMEMBERED_NS: u64 = 35_000_000_000;
/// So many triggers are remembered, beside those that name a window.
const ASKED_MAX: usize = 256;

impl Windows {
    pub(crate) fn new(ring: Ring) -> Windows {
        Windows {
            ring,
            parts: VecDeque::new(),
            ended: Time::ZERO,
            asked: Vec::new(),
            windows: Vec::new(),
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
        for window in &mut self.windows {
            if window.state == State::Open && part.from < window.until {
                actions.extend(window.keep(&part));
            }
        }
        self.ended = self.ended.max(part.until);
        self.parts.push_back(part);
        actions.extend(self.delete_old(now));
        actions
    }

    /// Whether the part under way has to be ended before [`request`](Windows::request) is called:
    /// the trigger opens a window.
    pub(crate) fn wants_cut_for(&self, trigger: &Trigger) -> bool {
        let asked = Asked::new(trigger, Time::ZERO, trigger.utc_ns);
        let near = |first: &Asked| {
            let (first, later) = if first.named <= asked.named {
                (first, &asked)
            } else {
                (&asked, first)
            };
            later.named.0 <= first.reaches_utc_ns
        };
        let groups = groups(&self.asked);
        let mut firsts = groups.iter().filter_map(|it| self.asked.get(it.start));
        self.kept < self.ring.windows_max && !firsts.any(near)
    }

    /// A trigger. `utc_ns` is the calendar's time at `now`. The part under way was ended if that was
    /// wanted.
    pub(crate) fn request(&mut self, request: &Request, now: Time, utc_ns: i64) -> Vec<Action> {
        self.forget(now);
        let fresh = Asked::new(&request.trigger, now, utc_ns);
        let place = self
            .asked
            .partition_point(|other| other.named < fresh.named);
        self.asked.insert(place, fresh);
        let groups = groups(&self.asked);
        let mut actions = Vec::new();
        for group in &groups {
            let members = self.asked.get(group.clone()).unwrap_or_default().to_vec();
            let fresh = group.contains(&place).then_some(fresh.named);
            actions.extend(self.settle(&members, fresh, now));
        }
        if self.asked.len() > ASKED_MAX {
            let first = |place: &usize| groups.iter().any(|group| group.start == *place);
            if let Some(place) = (0..self.asked.len()).rev().find(|place| !first(place)) {
                self.asked.remove(place);
            }
        }
        actions
    }

    /// Gives a group of triggers its window. `fresh` is the one that has just come, if it is among
    /// them.
    fn settle(&mut self, members: &[Asked], fresh: Option<Named>, now: Time) -> Vec<Action> {
        let Some(first) = members.first().map(|first| first.named) else {
            return Vec::new();
        };
        let of_them = |window: &Window| members.iter().any(|it| it.named == window.named);
        let (mut own, others): (Vec<Window>, Vec<Window>) = std::mem::take(&mut self.windows)
            .into_iter()
            .partition(of_them);
        self.windows = others;
        own.sort_by_key(|window| window.state == State::Refused);
        let mut own = own.into_iter();
        let Some(mut window) = own.next() else {
            return self.open(members, fresh, now);
        };
        let mut actions = Vec::new();
        let name = window_name(first.0, first.1);
        window.named = first;
        let before = std::mem::replace(&mut window.name, name.clone());
        if before != name && window.state != State::Refused {
            actions.push(window.renamed(before));
        }
        // Two windows whose first triggers are of one window now.
        for other in own {
            window.from = window.from.min(other.from);
            window.until = window.until.max(other.until);
            if other.state != State::Refused {
                self.kept = self.kept.saturating_sub(1);
                window.parts.extend(other.parts.iter().cloned());
                let before = other.name;
                let parts = other.parts.into_iter().collect();
                let to = name.clone();
                actions.push(Action::Rename {
                    from: before,
                    to,
                    parts,
                });
            }
        }
        if window.state == State::Refused {
            actions.extend(fresh.map(|_| self.refuse(&name)));
            self.windows.push(window);
            return actions;
        }
        for member in members {
            window.from = window.from.min(member.from);
            window.until = window.until.max(member.until.min(window.limit));
        }
        if let Some(fresh) = fresh {
            // Its event is in the part under way.
            window.until = window.until.max(now.min(window.limit));
            if now > window.settles {
                window.settles = Time(now.0.saturating_add(LATE_NS));
            }
            window.settles = window.settles.max(window.until);
            window.state = State::Open;
            if fresh != first {
                actions.push(Action::Joined {
                    window: name,
                    id: fresh.1,
                });
            }
        }
        let needed = self.first_needed(window.from);
        for part in self.parts.iter().skip(needed) {
            if part.from < window.until {
                actions.extend(window.keep(part));
            }
        }
        self.windows.push(window);
        actions
    }

    fn open(&mut self, members: &[Asked], fresh: Option<Named>, now: Time) -> Vec<Action> {
        let Some(first) = members.first() else {
            return Vec::new();
        };
        let mut window = Window::new(first, &self.ring, now);
        let name = window.name.clone();
        if self.kept >= self.ring.windows_max {
            window.state = State::Refused;
            self.windows.push(window);
            return vec![self.refuse(&name)];
        }
        self.kept += 1;
        for member in members {
            window.from = window.from.min(member.from);
            // One that came before is in a part that was ended for it, or in the one under way.
            let known = Some(member.named) != fresh;
            let until = member
                .until
                .max(if known { member.came } else { Time::ZERO });
            window.until = window.until.max(until.min(window.limit));
        }
        let first = self.first_needed(window.from);
        let parts = self.parts.iter().skip(first);
        let mut actions: Vec<Action> = parts.filter_map(|part| window.keep(part)).collect();
        actions.push(Action::Opened { window: name });
        self.windows.push(window);
        actions
    }

    fn refuse(&self, name: &str) -> Action {
        Action::Refuse(format!(
            "{name}: not kept, because there are {} windows already",
            self.kept
        ))
    }

    /// Forgets triggers to which no other one can belong any more.
    fn forget(&mut self, now: Time) {
        let remembered = |asked: &Asked| now.0.saturating_sub(asked.came.0) < REMEMBERED_NS;
        let mut left = Vec::new();
        for group in groups(&self.asked) {
            let members = self.asked.get(group).unwrap_or_default();
            let of_them = |window: &Window| members.iter().any(|it| it.named == window.named);
            let open = |window: &Window| window.state == State::Open && of_them(window);
            if members.iter().any(remembered) || self.windows.iter().any(open) {
                left.extend_from_slice(members);
            } else {
                self.windows.retain(|window| !of_them(window));
            }
        }
        self.asked = left;
    }

    /// Whether the part under way has to be ended so that an open window gets its last part.
    pub(crate) fn wants_cut_to_close(&self, now: Time) -> bool {
        let mut open = self.windows.iter().filter(|it| it.state == State::Open);
        open.any(|window| now > window.settles && self.ended < window.until)
    }

    /// What is due by now, the part under way having been ended if that was wanted.
    pub(crate) fn tick(&mut self, now: Time) -> Vec<Action> {
        let ended = self.ended;
        self.close_where(|window| now > window.settles && ended >= window.until)
    }

    /// No further part belongs to any window.
    pub(crate) fn close(&mut self) -> Vec<Action> {
        self.close_where(|_| true)
    }

    fn close_where(&mut self, due: impl Fn(&Window) -> bool) -> Vec<Action> {
        let mut actions = Vec::new();
        for window in &mut self.windows {
            if window.state == State::Open && due(window) {
                window.state = State::Closed;
                let window = window.name.clone();
                actions.push(Action::Closed { window });
            }
        }
        actions
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
        let first = self.first_needed(Time(now.0.saturating_sub(reach_ns)));
        let mut actions = Vec::new();
        for part in self.parts.drain(..first) {
            self.deleted.parts += 1;
            self.deleted.events += part.file.events;
            actions.push(Action::Delete(part.file.path));
        }
        actions
    }
}

impl Asked {
    fn new(trigger: &Trigger, now: Time, utc_ns: i64) -> Asked {
        let ago_ns = utc_ns.saturating_sub(trigger.utc_ns);
        let moment = match u64::try_from(ago_ns) {
            Ok(ago_ns) => Time(now.0.saturating_sub(ago_ns)),
            // The other node's clock is ahead of this one's.
            Err(_) => Time(now.0.saturating_add(ago_ns.unsigned_abs())),
        };
        let after_ns = millis_ns(trigger.after_ms);
        let reach_ns = after_ns.max(MERGE_NS);
        Asked {
            named: (trigger.utc_ns, trigger.id),
            reaches_utc_ns: trigger.utc_ns.saturating_add_unsigned(reach_ns),
            came: now,
            from: Time(moment.0.saturating_sub(millis_ns(trigger.before_ms))),
            until: Time(moment.0.saturating_add(after_ns)),
        }
    }
}

/// The triggers of each window: the first, and those within its reach.
fn groups(asked: &[Asked]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut reaches = i64::MIN;
    for (place, each) in asked.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if each.named.0 <= reaches => group.end = place + 1,
            _ => {
                reaches = each.reaches_utc_ns;
                groups.push(place..place + 1);
            }
        }
    }
    groups
}

impl Window {
    fn new(first: &Asked, ring: &Ring, now: Time) -> Window {
        let length_ns = nanos(ring.before).max(MERGE_NS).saturating_add(SLACK_NS);
        Window {
            named: first.named,
            name: window_name(first.named.0, first.named.1),
            from: first.from,
            until: first.until,
            settles: Time(now.0.saturating_add(MERGE_NS)).max(first.until),
            limit: Time(now.0.saturating_add(length_ns)).max(first.until),
            parts: BTreeSet::new(),
            state: State::Open,
        }
    }

    fn keep(&mut self, part: &FinishedPart) -> Option<Action> {
        let part = part.file.path.clone();
        let window = self.name.clone();
        let fresh = self.parts.insert(part.clone());
        fresh.then_some(Action::Keep { window, part })
    }

    fn renamed(&self, before: String) -> Action {
        Action::Rename {
            from: before,
            to: self.name.clone(),
            parts: self.parts.iter().cloned().collect(),
        }
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
    const MILLI: u64 = 1_000_000;

    fn text(part: &std::path::Path) -> String {
        part.display().to_string()
    }

    /// A recording in parts of one second, each named by the second that it starts in; UTC is the
    /// clock's own time.
    struct Recording {
        windows: Windows,
        part_from: u64,
        now: u64,
        actions: Vec<Action>,
        /// Each part's name, and when it began and ended.
        cuts: Vec<(String, u64, u64)>,
    }

    impl Recording {
        fn new(before_s: u64) -> Recording {
            Recording {
                windows: Windows::new(Ring::new(Duration::from_secs(before_s))),
                part_from: 0,
                now: 0,
                actions: Vec::new(),
                cuts: Vec::new(),
            }
        }

        /// The part that holds what happened just before this moment.
        fn part_before(&self, at: u64) -> &str {
            let mut cuts = self.cuts.iter();
            let part = cuts.find(|(_, from, until)| *from < at && at <= *until);
            &part.unwrap().0
        }

        fn cut(&mut self, snapshot: bool) {
            let mut name = format!("{}", self.part_from / MILLI);
            while self.cuts.iter().any(|(other, ..)| *other == name) {
                name.push('+');
            }
            self.cuts.push((name.clone(), self.part_from, self.now));
            let part = FinishedPart {
                file: Ended {
                    path: name.into(),
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
            if self.windows.wants_cut_for(&trigger) {
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
                Action::Delete(path) => Some(text(path)),
                _ => None,
            });
            deleted.collect()
        }

        /// The windows with the parts that were kept, in the order of their opening.
        fn named(&self) -> Vec<(String, Vec<String>)> {
            let mut windows: Vec<(String, Vec<String>)> = Vec::new();
            for action in &self.actions {
                match action {
                    Action::Keep { window, part } => {
                        let part = text(part);
                        match windows.iter_mut().find(|known| known.0 == *window) {
                            Some(known) => known.1.push(part),
                            None => windows.push((window.clone(), vec![part])),
                        }
                    }
                    Action::Rename { from, to, parts } => {
                        let moved = windows.iter().position(|known| known.0 == *from).unwrap();
                        let moved = windows.remove(moved).1;
                        let mut paths: Vec<_> = parts.iter().map(|it| text(it)).collect();
                        paths.retain(|part| moved.contains(part));
                        assert_eq!(paths.len(), moved.len(), "all that was kept is moved");
                        match windows.iter_mut().find(|known| known.0 == *to) {
                            Some(known) => known.1.extend(moved),
                            None => windows.push((to.clone(), moved)),
                        }
                    }
                    _ => {}
                }
            }
            windows
        }

        fn kept(&self) -> Vec<Vec<String>> {
            self.named().into_iter().map(|window| window.1).collect()
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
        assert_eq!(named.last().unwrap(), "10000+", "up to the second trigger");
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

    /// Which windows a node has in the end that hears of these triggers: `(id, pulled, heard)`, in
    /// milliseconds.
    fn heard(triggers: &[(u64, u64, u64)]) -> Recording {
        let mut node = Recording::new(3);
        node.pass(10, |_| false);
        let start = node.now;
        let mut by_arrival = triggers.to_vec();
        by_arrival.sort_by_key(|(id, _, heard)| (*heard, *id));
        for (id, pulled, heard) in by_arrival {
            let at = start + heard * MILLI;
            while node.now + SECOND <= at {
                node.pass(1, |_| false);
            }
            node.now = at;
            node.trigger(id, heard - pulled, 0);
            // Its event lies in the part that was ended for it, or in the one under way.
            node.now += 1;
        }
        node.pass(5, |_| false);
        node
    }

    #[test]
    fn two_nodes_with_triggers_a_second_apart_keep_the_same_windows_however_long_they_are_underway()
    {
        let names = |node: &Recording| {
            let names: BTreeSet<String> = node.named().into_iter().map(|window| window.0).collect();
            names
        };
        for apart in (0..2500).step_by(10) {
            for under_way in [0, 1, 9, 10, 11, 300, 1100] {
                let a = heard(&[(1, 0, 0), (2, apart, apart + under_way)]);
                let b = heard(&[(1, 0, under_way), (2, apart, apart)]);
                assert_eq!(
                    names(&a),
                    names(&b),
                    "{apart} ms apart, {under_way} under way"
                );
                let expected = if apart > 1000 { 2 } else { 1 };
                assert_eq!(names(&a).len(), expected, "{apart} ms apart");
            }
        }
    }

    #[test]
    fn all_orders_in_which_triggers_are_heard_make_the_same_windows_with_every_trigger_in_one() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut draw = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for round in 0..500 {
            let pulled: Vec<(u64, u64)> = (1..=2 + draw(6)).map(|id| (id, draw(4000))).collect();
            let mut expected: Option<BTreeSet<String>> = None;
            for _ in 0..4 {
                let heard_at: Vec<_> = pulled
                    .iter()
                    .map(|(id, at)| (*id, *at, at + draw(1500)))
                    .collect();
                let node = heard(&heard_at);
                let windows = node.named();
                let names: BTreeSet<String> = windows.iter().map(|it| it.0.clone()).collect();
                assert_eq!(names.len(), windows.len(), "round {round}");
                let expected = expected.get_or_insert_with(|| names.clone());
                assert_eq!(*expected, names, "round {round}: {heard_at:?}");
                // All seconds in front of a trigger, up to where its event is, are in one window.
                for (id, at, came) in &heard_at {
                    let first = node.part_before((10_000 + at - 2999) * MILLI);
                    let last = node.part_before((10_000 + came) * MILLI);
                    let has = |parts: &[String], name| parts.iter().any(|part| part == name);
                    let mut windows = windows.iter();
                    let found = windows.any(|(_, parts)| has(parts, first) && has(parts, last));
                    let all = node.named();
                    assert!(
                        found,
                        "round {round}: trigger {id} of {heard_at:?}: {all:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_trigger_that_is_of_a_window_already_says_of_which() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        let name = window_name(recording.now as i64, 1);
        recording.trigger(1, 0, 0);
        recording.now += SECOND / 2;
        recording.trigger(2, 0, 0);
        let joined = Action::Joined {
            window: name,
            id: 2,
        };
        assert!(recording.actions.contains(&joined));
    }

    #[test]
    fn a_trigger_that_joins_a_window_that_is_closed_already_is_in_it_all_the_same() {
        let mut recording = Recording::new(3);
        recording.pass(10, |_| false);
        recording.trigger(1, 0, 0);
        recording.pass(2, |_| false);
        // From another node, under way for a while.
        recording.now += SECOND / 2;
        recording.trigger(2, 1600, 0);
        recording.pass(2, |_| false);
        let kept = recording.kept();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].last().unwrap(), "12000");
        let closed = |action: &&Action| matches!(action, Action::Closed { .. });
        assert_eq!(recording.actions.iter().filter(closed).count(), 2);
    }

    #[test]
    fn triggers_are_forgotten_once_no_other_one_can_be_of_their_window() {
        let mut recording = Recording::new(2);
        recording.pass(10, |_| false);
        for id in 0..1000 {
            recording.trigger(id, 0, 0);
        }
        assert!(recording.windows.asked.len() <= ASKED_MAX);
        for id in 0..100 {
            recording.pass(5, |_| false);
            recording.trigger(1000 + id, 0, 0);
        }
        assert!(recording.windows.asked.len() < 10);
        assert!(recording.windows.windows.len() < 10);
    }
}

//! Windows in virtual time: no file is touched, and nothing waits.

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
fn two_nodes_with_triggers_a_second_apart_keep_the_same_windows_however_long_they_are_underway() {
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

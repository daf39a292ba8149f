//! Which parts of a recording are kept, and which are deleted. Decides; touches no file.
//!
//! What is one window follows from the triggers' times on the calendar alone: the first of them and
//! all within its reach. So every node that hears of the same triggers keeps the same windows,
//! whatever the order in which it hears of them; a window whose first trigger comes late gets
//! another name.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use netreel_reel::{Time, Trigger};

use super::trigger::window_name;
use super::{Request, Ring};
use crate::series::Ended;

/// A part that was ended. Times are those of the writing thread's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedPart {
    pub file: Ended,
    pub from: Time,
    pub until: Time,
    /// Whether it starts with a snapshot of the engine.
    pub snapshot: bool,
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
    pub parts: u32,
    pub events: u64,
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
const MERGE: Duration = Duration::from_secs(1);
/// Parts are kept this much longer than the window, because other nodes' requests are under way for
/// a while.
const SLACK: Duration = Duration::from_secs(2);
/// How long a trigger that joins a window late waits for others.
const LATE: Duration = Duration::from_millis(250);
/// A trigger is remembered for this long: a request is heard for 30 s around its time, and sent for 3.
const REMEMBERED: Duration = Duration::from_secs(35);
/// How many triggers are remembered, beside those that name a window.
const ASKED_MAX: usize = 256;

impl Windows {
    pub fn new(ring: Ring) -> Windows {
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
    pub fn part_time_at_snapshot(&self) -> Duration {
        self.ring.part_time() / 2
    }

    /// A part was ended.
    pub fn finished(&mut self, part: FinishedPart, now: Time) -> Vec<Action> {
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
    pub fn wants_cut_for(&self, trigger: &Trigger) -> bool {
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
    pub fn request(&mut self, request: &Request, now: Time, utc_ns: i64) -> Vec<Action> {
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
                actions.push(Action::Rename {
                    from: other.name,
                    to: name.clone(),
                    parts: other.parts.into_iter().collect(),
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
                window.settles = now + LATE;
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
        let remembered = |asked: &Asked| now.since(asked.came) < REMEMBERED;
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
    pub fn wants_cut_to_close(&self, now: Time) -> bool {
        let mut open = self.windows.iter().filter(|it| it.state == State::Open);
        open.any(|window| now > window.settles && self.ended < window.until)
    }

    /// Whether a window still waits for a part.
    pub fn are_open(&self) -> bool {
        self.windows.iter().any(|it| it.state == State::Open)
    }

    /// What is due by now, the part under way having been ended if that was wanted.
    pub fn tick(&mut self, now: Time) -> Vec<Action> {
        let ended = self.ended;
        self.close_where(|window| now > window.settles && ended >= window.until)
    }

    /// No further part belongs to any window.
    pub fn close(&mut self) -> Vec<Action> {
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
        let holds = self
            .parts
            .iter()
            .position(|part| part.until > from)
            .unwrap_or(self.parts.len());
        let Some(part) = self.parts.get(holds) else {
            return holds;
        };
        let mut earlier = self.parts.iter().enumerate().take(holds + 1).rev();
        let near = |other: &FinishedPart| part.from.since(other.from) <= self.ring.before;
        let snapshot = earlier.find(|(_, other)| other.snapshot && near(other));
        snapshot.map_or(holds, |(place, _)| place)
    }

    /// The files of the parts that are there.
    pub fn there(&self) -> impl ExactSizeIterator<Item = &Ended> {
        self.parts.iter().map(|part| &part.file)
    }

    pub fn deleted(&self) -> Deleted {
        self.deleted
    }

    fn delete_old(&mut self, now: Time) -> Vec<Action> {
        let reach = self.ring.before.saturating_add(SLACK);
        let first = self.first_needed(now - reach);
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
        let apart = Duration::from_nanos(ago_ns.unsigned_abs());
        let moment = match ago_ns {
            0.. => now - apart,
            // The other node's clock is ahead of this one's.
            _ => now + apart,
        };
        let after = Duration::from_millis(trigger.after_ms.into());
        let reach_ns = after.max(MERGE).as_nanos() as u64;
        Asked {
            named: (trigger.utc_ns, trigger.id),
            reaches_utc_ns: trigger.utc_ns.saturating_add_unsigned(reach_ns),
            came: now,
            from: moment - Duration::from_millis(trigger.before_ms.into()),
            until: moment + after,
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
        let length = ring.before.max(MERGE).saturating_add(SLACK);
        Window {
            named: first.named,
            name: window_name(first.named.0, first.named.1),
            from: first.from,
            until: first.until,
            settles: (now + MERGE).max(first.until),
            limit: (now + length).max(first.until),
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

#[cfg(test)]
mod tests;

//! Idle time, folded: where nothing happens for most of a session, the axis leaves it out.

use std::ops::Range;

use netreel_protocol::session::SessionTime;

/// Shorter idle times are never folded, in ns.
const IDLE_NS_MIN: i64 = 10_000_000_000;

/// At most this many are folded, the longest.
const FOLDS_MAX: usize = 64;

/// What is left of a folded time is at least this, in ns.
const SHOWN_NS_MIN: i64 = 1_000_000;

/// The idle times of a session, each drawn as if it lasted [`Folds::shown_ns`].
///
/// There are two scales of time: that of the session, and that of the axis, which lacks what is
/// folded. Without folds they are the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folds {
    gaps: Vec<Gap>,
    shown_ns: i64,
}

#[derive(Clone, Debug, PartialEq)]
struct Gap {
    start: i64,
    end: i64,
    /// How much is left out before it.
    before: i64,
}

/// Idle times under way.
#[derive(Clone, Debug)]
pub struct Idle {
    until: i64,
    gaps: Vec<Range<i64>>,
}

impl Idle {
    /// Of a session that begins then.
    pub fn new(start: SessionTime) -> Idle {
        Idle {
            until: start.0,
            gaps: Vec::new(),
        }
    }

    /// Something happened from then to then; in the order of beginnings.
    pub fn push(&mut self, start: i64, end: i64) {
        if start.saturating_sub(self.until) >= IDLE_NS_MIN {
            self.gaps.push(self.until..start);
        }
        self.until = self.until.max(end);
    }

    /// What is to be folded: nothing, unless most of the session is idle.
    pub fn finish(mut self, span: &Range<SessionTime>) -> Folds {
        self.push(span.end.0, span.end.0);
        let length = |gap: &Range<i64>| gap.end.saturating_sub(gap.start);
        let mut gaps = self.gaps;
        gaps.sort_by_key(|gap| std::cmp::Reverse(length(gap)));
        gaps.truncate(FOLDS_MAX);
        gaps.sort_by_key(|gap| gap.start);
        let idle: i64 = gaps.iter().map(length).fold(0, i64::saturating_add);
        let busy = span
            .end
            .0
            .saturating_sub(span.start.0)
            .saturating_sub(idle)
            .max(0);
        if busy >= idle {
            return Folds::default();
        }
        Folds::new(gaps, (busy / 40).max(SHOWN_NS_MIN))
    }
}

impl Folds {
    fn new(gaps: Vec<Range<i64>>, shown_ns: i64) -> Folds {
        let mut before: i64 = 0;
        let gaps = gaps.into_iter().map(|gap| {
            let fold = Gap {
                start: gap.start,
                end: gap.end,
                before,
            };
            let left_out = gap.end.saturating_sub(gap.start).saturating_sub(shown_ns);
            before = before.saturating_add(left_out.max(0));
            fold
        });
        Folds {
            gaps: gaps.collect(),
            shown_ns,
        }
    }

    /// Whether anything is folded.
    pub fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The folded times that touch a stretch of the session.
    pub fn within(&self, time: &Range<i64>) -> impl Iterator<Item = Range<i64>> + '_ {
        let first = self.gaps.partition_point(|gap| gap.end <= time.start);
        let end = time.end;
        self.gaps
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |gap| gap.start < end)
            .map(|gap| gap.start..gap.end)
    }

    /// From the session's time to the axis'.
    pub fn axis(&self, time: i64) -> i64 {
        let place = self.gaps.partition_point(|gap| gap.start < time);
        let Some(gap) = place.checked_sub(1).and_then(|place| self.gaps.get(place)) else {
            return time;
        };
        let length = gap.end.saturating_sub(gap.start).max(1);
        let start = gap.start.saturating_sub(gap.before);
        let shown = self.shown_ns.min(length);
        let inside = time.saturating_sub(gap.start);
        if inside >= length {
            let behind = inside - length;
            return start.saturating_add(shown).saturating_add(behind);
        }
        let part = i128::from(inside) * i128::from(shown) / i128::from(length);
        start.saturating_add(part as i64)
    }

    /// From the axis' time to the session's.
    pub fn session(&self, time: i64) -> i64 {
        let start = |gap: &Gap| gap.start.saturating_sub(gap.before);
        let place = self.gaps.partition_point(|gap| start(gap) < time);
        let Some(gap) = place.checked_sub(1).and_then(|place| self.gaps.get(place)) else {
            return time;
        };
        let length = gap.end.saturating_sub(gap.start).max(1);
        let shown = self.shown_ns.min(length);
        let inside = time.saturating_sub(start(gap));
        if inside >= shown {
            return gap.end.saturating_add(inside - shown);
        }
        let part = i128::from(inside) * i128::from(length) / i128::from(shown.max(1));
        gap.start.saturating_add(part as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn idle(events: &[i64], end: i64) -> Folds {
        let mut idle = Idle::new(SessionTime(0));
        events.iter().for_each(|&at| idle.push(at, at));
        idle.finish(&(SessionTime(0)..SessionTime(end)))
    }

    #[test]
    fn little_idle_time_stays_as_it_is() {
        assert!(idle(&[0, S, 2 * S], 3 * S).is_empty());
        // Eleven idle seconds among forty busy ones.
        let busy: Vec<i64> = (0..40).map(|second| second * S).collect();
        let mut events = busy.clone();
        events.push(51 * S);
        assert!(idle(&events, 52 * S).is_empty());
    }

    #[test]
    fn days_between_two_bursts_are_folded() {
        let day = 86_400 * S;
        let folds = idle(&[0, 4 * S, 3 * day, 3 * day + 4 * S], 3 * day + 4 * S);
        assert!(!folds.is_empty());
        let shown = folds.axis(3 * day + 4 * S) - folds.axis(0);
        assert!(shown < 9 * S, "{shown} ns");
        // What is not idle keeps its length.
        assert_eq!(folds.axis(3 * day + 4 * S) - folds.axis(3 * day), 4 * S);
    }

    #[test]
    fn there_and_back_is_the_same_outside_folds_and_near_inside() {
        let day = 86_400 * S;
        let folds = idle(&[0, S, 3 * day, 3 * day + S, 9 * day], 9 * day + S);
        for time in [-5, 0, S, 3 * day, 3 * day + S / 2, 9 * day, 10 * day] {
            assert_eq!(folds.session(folds.axis(time)), time, "{time}");
        }
        let inside = 2 * day;
        let again = folds.session(folds.axis(inside));
        assert!((again - inside).abs() < day / 1_000, "{again}");
        let times = (0..100).map(|part| folds.axis(part * day / 10));
        assert!(times.collect::<Vec<_>>().is_sorted());
    }
}

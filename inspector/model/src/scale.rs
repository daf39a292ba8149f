//! Time on the horizontal axis: what is visible, and which pixel shows which moment.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::session::SessionTime;

use crate::folds::Folds;
use crate::text;

/// The shortest stretch of time that can fill the axis, in ns.
pub const RANGE_NS_MIN: i64 = 1_000;

/// A visible stretch of time laid over a number of pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    start: i64,
    end: i64,
    /// The same on the axis, which lacks what is folded.
    axis: (i64, i64),
    width: f32,
    folds: Arc<Folds>,
}

impl Scale {
    /// `time` over `width` pixels. An empty range is widened to [`RANGE_NS_MIN`], a width below one
    /// pixel to one.
    pub fn new(time: &Range<SessionTime>, width: f32) -> Scale {
        Scale::folded(time, width, Arc::default())
    }

    /// The same without what is folded.
    pub fn folded(time: &Range<SessionTime>, width: f32, folds: Arc<Folds>) -> Scale {
        let start = time.start.0;
        let end = time.end.0.max(start.saturating_add(RANGE_NS_MIN));
        let left = folds.axis(start);
        Scale {
            start,
            end,
            axis: (left, folds.axis(end).max(left.saturating_add(1))),
            width: if width >= 1.0 { width } else { 1.0 },
            folds,
        }
    }

    /// Pixels from the left edge; below 0 or above the width where the time is not visible.
    pub fn x(&self, time: SessionTime) -> f32 {
        self.exact_x(time) as f32
    }

    /// The same, exact also far outside the visible time.
    pub fn exact_x(&self, time: SessionTime) -> f64 {
        let (left, right) = self.axis;
        let from = |at: i64| (i128::from(at) - i128::from(left)) as f64;
        from(self.folds.axis(time.0)) / from(right) * f64::from(self.width)
    }

    /// The time shown `x` pixels from the left edge.
    pub fn time(&self, x: f32) -> SessionTime {
        SessionTime(self.folds.session(self.axis.0.saturating_add(self.ns(x))))
    }

    /// How many ns of the axis `pixels` pixels are.
    pub fn ns(&self, pixels: f32) -> i64 {
        let (left, right) = self.axis;
        let length = (i128::from(right) - i128::from(left)) as f64;
        (f64::from(pixels) / f64::from(self.width) * length).round() as i64
    }

    /// The width in whole pixels.
    pub fn columns(&self) -> usize {
        self.width.min(65_536.0).floor() as usize
    }

    /// The stretch of time that a column of pixels shows. Neighbouring columns share their edge.
    pub fn column(&self, column: usize) -> Range<i64> {
        self.edge(column)..self.edge(column + 1)
    }

    /// The visible time in ns.
    pub fn range(&self) -> Range<i64> {
        self.start..self.end
    }

    /// The visible times that are folded, and how long each is: `2.8 days`.
    pub fn gaps(&self) -> Vec<(Range<SessionTime>, String)> {
        self.folds
            .within(&self.range())
            .map(|gap| {
                let length = text::duration(gap.end.saturating_sub(gap.start));
                (SessionTime(gap.start)..SessionTime(gap.end), length)
            })
            .collect()
    }

    /// Columns of a pixel each, which stand where they stand when the visible time moves.
    pub(crate) fn grid(&self) -> Grid {
        Grid {
            length: self.length(),
            columns: self.columns().max(1) as i128,
        }
    }

    fn length(&self) -> i128 {
        i128::from(self.axis.1) - i128::from(self.axis.0)
    }

    pub(crate) fn edge(&self, column: usize) -> i64 {
        let columns = self.columns() as i128;
        let (left, right) = (i128::from(self.axis.0), i128::from(self.axis.1));
        let at = left + (right - left) * column as i128 / columns.max(1);
        if column == 0 {
            return self.start;
        }
        if self.columns() == column {
            self.end
        } else {
            self.folds.session(at as i64)
        }
    }
}

/// Columns that do not move with the visible time: one begins at 0 of the axis, and all are as wide as
/// a pixel was when they were laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// How much of the axis, in ns, ...
    length: i128,
    /// ... is this many columns.
    columns: i128,
}

impl Grid {
    /// Whether its columns are as wide as the pixels of a scale: over all of them they differ by less
    /// than half of one. Rounding moves the two ends of the visible time apart by a few ns.
    pub fn is_of(&self, scale: &Scale) -> bool {
        let off = (self.length - scale.length()).abs();
        self.columns == scale.columns().max(1) as i128 && off * self.columns * 2 < self.length
    }

    /// The columns that a scale shows at least a part of.
    pub fn places(&self, scale: &Scale) -> Range<i64> {
        let (left, right) = scale.axis;
        self.at(left)..self.at(right.saturating_sub(1)).saturating_add(1)
    }

    /// The column of a moment.
    pub fn place(&self, scale: &Scale, time: SessionTime) -> i64 {
        self.at(scale.folds.axis(time.0))
    }

    fn at(&self, axis: i64) -> i64 {
        (i128::from(axis) * self.columns).div_euclid(self.length) as i64
    }

    /// Where a column begins on the axis: at the first ns that is in it.
    fn axis(&self, place: i64) -> i64 {
        let before = i128::from(place) * self.length + self.columns - 1;
        before.div_euclid(self.columns) as i64
    }

    /// When a column begins.
    pub fn time(&self, scale: &Scale, place: i64) -> i64 {
        scale.folds.session(self.axis(place))
    }

    /// The same in pixels from the left edge.
    pub fn x(&self, scale: &Scale, place: i64) -> f32 {
        let from = i128::from(place) * self.length - i128::from(scale.axis.0) * self.columns;
        (from as f64 / scale.length() as f64) as f32 * scale.width / self.columns as f32
    }
}

/// A labelled moment of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub time: SessionTime,
    /// What to write there; empty for a minor tick.
    pub label: String,
}

/// Most ticks of a frame.
const TICKS_MAX: usize = 4096;

/// Up to this many seconds of a session are written as seconds, longer ones as a clock has them.
const SECONDS_MAX: i64 = 1_000;

/// Ticks at round times for a visible range: labelled ones at least `spacing` pixels apart, five
/// minor steps between two of them. What is folded has none.
pub fn ticks(scale: &Scale, spacing: f32) -> Vec<Tick> {
    let range = scale.range();
    let least = scale.ns(spacing).max(1);
    let furthest = range.start.saturating_abs().max(range.end.saturating_abs());
    let is_clock = furthest / SECOND >= SECONDS_MAX;
    let step = if is_clock {
        clock_step(least)
    } else {
        round_step(least)
    };
    let minor = (step / 5).max(1);
    let mut ticks = Vec::new();
    let mut from = range.start;
    let last = range.end..range.end;
    let gaps = scale.folds.within(&range).chain(std::iter::once(last));
    for gap in gaps {
        let end = gap.start.min(range.end);
        let mut time = from.div_euclid(minor).saturating_mul(minor);
        while time <= end && ticks.len() < TICKS_MAX {
            if time >= from {
                let major = time.rem_euclid(step) == 0;
                ticks.push(Tick {
                    time: SessionTime(time),
                    label: match (major, is_clock) {
                        (false, _) => String::new(),
                        (true, false) => label(time, step),
                        (true, true) => clock(time, step),
                    },
                });
            }
            time = time.saturating_add(minor);
        }
        from = gap.end;
    }
    ticks
}

const SECOND: i64 = 1_000_000_000;

/// The shortest of 1, 2 or 5 times a power of ten that is not below `least`.
fn round_step(least: i64) -> i64 {
    let mut power: i64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= least {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The same of the steps of a clock: parts of a minute, an hour and a day, then days.
fn clock_step(least: i64) -> i64 {
    const STEPS: [i64; 17] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    ];
    const DAY: i64 = 86_400;
    if least <= SECOND {
        return round_step(least);
    }
    let seconds = least / SECOND + i64::from(least % SECOND > 0);
    let step = STEPS.into_iter().find(|step| *step >= seconds);
    let days = seconds / DAY + i64::from(seconds % DAY > 0);
    step.unwrap_or_else(|| round_step(days).saturating_mul(DAY))
        .saturating_mul(SECOND)
}

/// A time with as many decimals of a second as `step` needs.
fn label(time: i64, step: i64) -> String {
    let (sign, seconds, fraction) = parts(time, step);
    format!("{sign}{seconds}{fraction} s")
}

/// The sign of a time, its whole seconds, and the rest with as many decimals as `step` needs.
fn parts(time: i64, step: i64) -> (&'static str, u64, String) {
    let sign = if time < 0 { "-" } else { "" };
    let absolute = time.unsigned_abs();
    let (seconds, rest) = (absolute / 1_000_000_000, absolute % 1_000_000_000);
    let mut fraction = String::new();
    let decimals = decimals(step);
    if decimals > 0 {
        fraction = format!(".{rest:09}");
        fraction.truncate(1 + decimals);
    }
    (sign, seconds, fraction)
}

/// A time as a clock has it: `2d 13:04:05.25`, of days and seconds as much as `step` needs.
fn clock(time: i64, step: i64) -> String {
    let (sign, all, fraction) = parts(time, step);
    let (days, hours) = (all / 86_400, all / 3_600 % 24);
    let (minutes, seconds) = (all / 60 % 60, all % 60);
    let days = match days {
        0 => String::new(),
        days => format!("{days}d "),
    };
    if step % (86_400 * SECOND) == 0 {
        return format!("{sign}{}", if days.is_empty() { "0d" } else { days.trim() });
    }
    if step % (60 * SECOND) == 0 {
        return format!("{sign}{days}{hours:02}:{minutes:02} h");
    }
    format!("{sign}{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}")
}

/// How many decimals of a second a step needs.
fn decimals(step: i64) -> usize {
    let mut decimals = 0;
    let mut unit = SECOND;
    while decimals < 9 && step % unit != 0 {
        unit /= 10;
        decimals += 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: Range<i64>, width: f32) -> Vec<String> {
        let scale = Scale::new(&(SessionTime(range.start)..SessionTime(range.end)), width);
        ticks(&scale, 100.0)
            .into_iter()
            .map(|tick| tick.label)
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn labels_have_the_decimals_that_their_distance_needs() {
        assert_eq!(
            labels(0..10_000_000_000, 600.0),
            ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]
        );
        assert_eq!(
            labels(12_300_000_000..12_400_000_000, 400.0),
            ["12.30 s", "12.35 s", "12.40 s"]
        );
    }

    #[test]
    fn a_long_session_has_the_labels_of_a_clock() {
        let s = 1_000_000_000;
        assert_eq!(
            labels(3_600 * s..3_660 * s, 400.0),
            ["01:00:00", "01:00:15", "01:00:30", "01:00:45", "01:01:00"]
        );
        assert_eq!(
            labels(0..4 * 86_400 * s, 400.0),
            ["0d", "1d", "2d", "3d", "4d"]
        );
        let years = labels(0..23 * 365 * 86_400 * s, 800.0);
        assert_eq!(years.get(1).map(String::as_str), Some("2000d"), "{years:?}");
    }

    #[test]
    fn time_and_pixel_are_inverse() {
        let scale = Scale::new(&(SessionTime(-500)..SessionTime(1_000_000)), 1600.0);
        for x in [0.0_f32, 1.0, 799.5, 1600.0] {
            assert!((scale.x(scale.time(x)) - x).abs() < 0.01, "{x}");
        }
    }

    #[test]
    fn columns_cover_the_range_without_gap_or_overlap() {
        let scale = Scale::new(&(SessionTime(7)..SessionTime(1_000_003)), 777.0);
        let mut at = 7;
        for column in 0..scale.columns() {
            assert_eq!(scale.column(column).start, at);
            at = scale.column(column).end;
        }
        assert_eq!(at, 1_000_003);
    }
}

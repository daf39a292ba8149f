//! Time on the horizontal axis: what is visible, and which pixel shows which moment.

use std::ops::Range;

use netreel_protocol::session::SessionTime;

/// The shortest stretch of time that can fill the axis, in ns.
pub const RANGE_NS_MIN: i64 = 1_000;

/// A visible stretch of time laid over a number of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    start: i64,
    end: i64,
    width: f32,
}

impl Scale {
    /// `time` over `width` pixels. An empty range is widened to [`RANGE_NS_MIN`], a width below one
    /// pixel to one.
    pub fn new(time: &Range<SessionTime>, width: f32) -> Scale {
        let start = time.start.0;
        Scale {
            start,
            end: time.end.0.max(start.saturating_add(RANGE_NS_MIN)),
            width: if width >= 1.0 { width } else { 1.0 },
        }
    }

    /// Pixels from the left edge; below 0 or above the width where the time is not visible.
    pub fn x(&self, time: SessionTime) -> f32 {
        let part = (time.0 - self.start) as f64 / (self.end - self.start) as f64;
        (part * f64::from(self.width)) as f32
    }

    /// The time shown `x` pixels from the left edge.
    pub fn time(&self, x: f32) -> SessionTime {
        let part = f64::from(x) / f64::from(self.width);
        SessionTime(self.start + (part * (self.end - self.start) as f64).round() as i64)
    }

    /// How many ns `pixels` pixels are.
    pub fn ns(&self, pixels: f32) -> i64 {
        (f64::from(pixels) / f64::from(self.width) * (self.end - self.start) as f64).round() as i64
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

    fn edge(&self, column: usize) -> i64 {
        let columns = self.columns() as i128;
        let span = i128::from(self.end) - i128::from(self.start);
        (i128::from(self.start) + span * column as i128 / columns.max(1)) as i64
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

/// Ticks at round times for a visible range: labelled ones at least `spacing` pixels apart, five
/// minor steps between two of them.
pub fn ticks(scale: &Scale, spacing: f32) -> Vec<Tick> {
    let range = scale.range();
    let least = scale.ns(spacing).max(1);
    let step = round_step(least);
    let minor = (step / 5).max(1);
    let mut ticks = Vec::new();
    let mut time = range.start.div_euclid(minor) * minor;
    while time <= range.end && ticks.len() < 4096 {
        if time >= range.start {
            let major = time.rem_euclid(step) == 0;
            ticks.push(Tick {
                time: SessionTime(time),
                label: if major {
                    label(time, step)
                } else {
                    String::new()
                },
            });
        }
        time += minor;
    }
    ticks
}

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

/// A time with as many decimals of a second as `step` needs.
fn label(time: i64, step: i64) -> String {
    let mut decimals = 0;
    let mut unit: i64 = 1_000_000_000;
    while decimals < 9 && step % unit != 0 {
        unit /= 10;
        decimals += 1;
    }
    let sign = if time < 0 { "-" } else { "" };
    let absolute = time.unsigned_abs();
    let seconds = absolute / 1_000_000_000;
    let fraction = format!("{:09}", absolute % 1_000_000_000);
    match fraction.get(..decimals) {
        Some(digits) if !digits.is_empty() => format!("{sign}{seconds}.{digits} s"),
        _ => format!("{sign}{seconds} s"),
    }
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

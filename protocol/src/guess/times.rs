//! Numbers that grow as time does.

use super::fields::{Field, Order, Role};
use super::numbers::{PAIRS_MIN, Shape, is_free};
use super::packets::{Group, Packets};

impl Packets {
    /// Numbers that grow as the recording's time does.
    pub(super) fn times(&self, group: &Group, meanings: &mut Vec<Field>) {
        let mut found: Vec<Field> = Vec::new();
        for width in [8, 4, 3, 2] {
            for order in [Order::Little, Order::Big] {
                for place in group.begin..group.end {
                    let shape = Shape {
                        place,
                        width,
                        order,
                    };
                    if shape.fits(group)
                        && self.distinct(group, shape.low()) >= PAIRS_MIN
                        && !self.is_filling(group, shape.low())
                    {
                        found.extend(self.time(group, shape));
                    }
                }
            }
        }
        // The surest; of those that are as sure, the likelier width.
        let width = |time: &Field| {
            let mut widths = [4, 2, 8, 3].iter();
            widths.position(|width| *width == time.width)
        };
        found.sort_by_key(|time| (-(time.confidence * 50.0) as i64, width(time), time.shape()));
        for time in found {
            if is_free(meanings, time.shape()) {
                meanings.push(time);
            }
        }
    }

    fn time(&self, group: &Group, shape: Shape) -> Option<Field> {
        const UNITS: [(&str, f64); 3] = [
            ("nanoseconds", 1e9),
            ("microseconds", 1e6),
            ("milliseconds", 1e3),
        ];
        let step = |before: usize, after: usize| {
            let (old, new) = (self.read(shape, before)?, self.read(shape, after)?);
            let step = new.wrapping_sub(old) & shape.mask();
            let apart_ns = self.packets[after]
                .time_ns
                .saturating_sub(self.packets[before].time_ns);
            let seconds = apart_ns as f64 / 1e9;
            Some((step as f64, seconds))
        };
        for (unit, rate) in UNITS {
            // A packet may be late by so much; where that is much of what the number can tell, anything fits.
            let late = rate * 0.01;
            if late > shape.mask() as f64 / 256.0 {
                continue;
            }
            let (mut agree, mut total, mut grown, mut span) = (0, 0, 0.0, 0.0);
            self.pairs(&group.members, |before, after| {
                let Some((step, seconds)) = step(before, after) else {
                    return;
                };
                let expected = seconds * rate;
                // Shorter than packets are late, or longer than the number can tell.
                if seconds < 0.005 || expected > shape.mask() as f64 / 4.0 {
                    return;
                }
                total += 1;
                let is_close = (step - expected).abs() <= expected * 0.25 + late;
                agree += usize::from(is_close);
                if is_close {
                    grown += step;
                    span += expected;
                }
            });
            if total >= PAIRS_MIN
                && agree * 100 >= total * 95
                && (grown - span).abs() <= span * 0.05
            {
                let what = format!("grows as {unit} do");
                let most = (agree, total, "steps");
                return Some(Field::of_most(shape, Role::Time, &what, most));
            }
        }
        None
    }
}

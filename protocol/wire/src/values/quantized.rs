//! Floats as integers between a lowest and a highest value.

/// How a writer chooses the integer of a value that lies between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Of two that are as near, the even one.
    #[default]
    Nearest,
    Down,
    Up,
    /// Towards the integer whose value is nearer to 0.
    TowardZero,
}

/// 0 is `low`, all ones is `high`, the others lie evenly between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantized {
    pub low: f64,
    pub high: f64,
    /// 1 to 53.
    pub bits: u8,
    pub rounding: Rounding,
}

impl Quantized {
    fn steps(self) -> f64 {
        (u64::MAX >> (64 - u32::from(self.bits.clamp(1, 64)))) as f64
    }

    /// What an integer stands for.
    pub(crate) fn value(self, raw: u64) -> f64 {
        self.low + (self.high - self.low) * (raw as f64 / self.steps())
    }

    /// The integer that a writer chooses; `None` where the value is further from the range than
    /// half a step.
    pub(crate) fn raw(self, value: f64) -> Option<u64> {
        let steps = self.steps();
        let place = (value - self.low) / (self.high - self.low) * steps;
        if !(-0.5..=steps + 0.5).contains(&place) {
            return None;
        }
        let nearest = place.round_ties_even().clamp(0.0, steps);
        // What the integer itself stands for is not rounded away by the last bit of a float.
        if self.value(nearest as u64) == value {
            return Some(nearest as u64);
        }
        let rounded = match self.rounding {
            Rounding::Nearest => nearest,
            Rounding::Down => place.floor(),
            Rounding::Up => place.ceil(),
            Rounding::TowardZero if value < 0.0 => place.ceil(),
            Rounding::TowardZero => place.floor(),
        };
        Some(rounded.clamp(0.0, steps) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(rounding: Rounding, value: f64, expected: Option<u64>) {
        let quantized = Quantized {
            low: -128.0,
            high: 127.0,
            bits: 8,
            rounding,
        };
        assert_eq!(quantized.raw(value), expected, "{value} {rounding:?}");
    }

    #[test]
    fn a_writer_rounds_as_it_was_told() {
        check(Rounding::Nearest, 0.5, Some(128));
        check(Rounding::Nearest, 1.5, Some(130));
        check(Rounding::Nearest, -0.6, Some(127));
        check(Rounding::Down, -0.6, Some(127));
        check(Rounding::Down, 0.6, Some(128));
        check(Rounding::Up, 0.1, Some(129));
        check(Rounding::TowardZero, -0.9, Some(128));
        check(Rounding::TowardZero, 0.9, Some(128));
        check(Rounding::Down, -128.2, Some(0));
        check(Rounding::Nearest, 128.0, None);
        check(Rounding::Nearest, f64::NAN, None);
    }

    proptest! {
        #[test]
        fn what_an_integer_stands_for_comes_back_to_it(
            raw in any::<u64>(),
            bits in 1..=53u8,
            low in -1e6..1e6,
            size in 1e-3..1e6,
            rounding in prop::sample::select(vec![
                Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::TowardZero,
            ]),
        ) {
            // More bits than the floats between the two ends have room for cannot come back.
            let bits = bits.min(24);
            let quantized = Quantized { low, high: low + size, bits, rounding };
            let raw = raw & u64::MAX >> (64 - u32::from(bits));
            let value = quantized.value(raw);
            let distinct = quantized.value(raw.wrapping_add(1)) != value
                && quantized.value(raw.wrapping_sub(1)) != value;
            prop_assume!(distinct && size / f64::from(1 << bits) > low.abs() * 1e-13);
            prop_assert_eq!(quantized.raw(value), Some(raw));
        }
    }
}

//! Sequence numbers that start again from 0, laid out on one line.

use netreel_wire::Sequence;

/// The number on the line that reads `sequence` on the wire and lies closest to `near`.
pub(super) fn unwrap(sequence: Sequence, near: i64) -> i64 {
    if sequence.bits >= 63 {
        return i64::try_from(sequence.value).unwrap_or(i64::MAX);
    }
    let modulus = 1i64 << sequence.bits.max(1);
    let value = (sequence.value & (modulus as u64 - 1)) as i64;
    let ahead = value.wrapping_sub(near).rem_euclid(modulus);
    let distance = if ahead > modulus / 2 {
        ahead - modulus
    } else {
        ahead
    };
    near.saturating_add(distance)
}

/// How many numbers lie between the first and the last of a range, the first included.
pub(super) fn span(first: u64, last: u64, bits: u8) -> u64 {
    let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
    last.wrapping_sub(first) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u64, bits: u8, near: i64, expected: i64) {
        assert_eq!(unwrap(Sequence { value, bits }, near), expected);
    }

    #[test]
    fn a_number_near_the_last_is_itself() {
        check(17, 16, 15, 17);
    }

    #[test]
    fn zero_after_the_highest_goes_on() {
        check(0, 16, 65_535, 65_536);
    }

    #[test]
    fn a_late_number_after_the_wrap_lies_before_it() {
        check(65_534, 16, 65_537, 65_534);
    }

    #[test]
    fn a_late_number_in_the_third_lap_stays_in_its_lap() {
        check(65_530, 16, 3 * 65_536 + 2, 3 * 65_536 - 6);
    }

    #[test]
    fn sixty_four_bits_never_wrap() {
        check(u64::MAX, 64, 5, i64::MAX);
    }
}

//! Checked arithmetic on exact integers, the same at compile time and at run time.

use crate::syntax::ast::{Arithmetic, Compare};

/// Values below this one are unresolved: each names the field of the connection's state that no
/// packet has set. No result of arithmetic is one of them.
const RESOLVED_MIN: i128 = i128::MIN + (1 << 16);

/// The value of a field of the connection's state that no packet has set.
pub(crate) fn unresolved(field: u16) -> i128 {
    i128::MIN + i128::from(field)
}

/// The field of the connection's state that a value lacks, if it does.
#[inline]
pub(crate) fn unresolved_field(value: i128) -> Option<u16> {
    (value < RESOLVED_MIN).then(|| (value - i128::MIN) as u16)
}

/// The result, or why there is none. With an operand that is unresolved, so is the result.
#[inline]
pub(crate) fn evaluate(operator: Arithmetic, a: i128, b: i128) -> Result<i128, &'static str> {
    if let (Ok(small_a), Ok(small_b)) = (i64::try_from(a), i64::try_from(b))
        && let Some(result) = of_small(operator, small_a, small_b)
    {
        return Ok(result);
    }
    evaluate_large(operator, a, b)
}

/// Nearly all numbers are small, and these operators cannot fail with them.
#[inline]
fn of_small(operator: Arithmetic, a: i64, b: i64) -> Option<i128> {
    Some(match operator {
        Arithmetic::Add => i128::from(a) + i128::from(b),
        Arithmetic::Subtract => i128::from(a) - i128::from(b),
        Arithmetic::Multiply => i128::from(a) * i128::from(b),
        Arithmetic::Divide if b > 0 => (a / b).into(),
        Arithmetic::Remainder if b > 0 => (a % b).into(),
        Arithmetic::BitAnd => (a & b).into(),
        Arithmetic::BitOr => (a | b).into(),
        Arithmetic::BitXor => (a ^ b).into(),
        Arithmetic::Least => a.min(b).into(),
        Arithmetic::Greatest => a.max(b).into(),
        _ => return None,
    })
}

fn evaluate_large(operator: Arithmetic, a: i128, b: i128) -> Result<i128, &'static str> {
    if a < RESOLVED_MIN || b < RESOLVED_MIN {
        return Ok(if a < RESOLVED_MIN { a } else { b });
    }
    match exact(operator, a, b) {
        Ok(result) if result < RESOLVED_MIN => Err(TOO_LARGE),
        result => result,
    }
}

const TOO_LARGE: &str = "the result is too large";

fn exact(operator: Arithmetic, a: i128, b: i128) -> Result<i128, &'static str> {
    match operator {
        Arithmetic::Add => a.checked_add(b).ok_or(TOO_LARGE),
        Arithmetic::Subtract => a.checked_sub(b).ok_or(TOO_LARGE),
        Arithmetic::Multiply => a.checked_mul(b).ok_or(TOO_LARGE),
        Arithmetic::Divide if b == 0 => Err("division by zero"),
        Arithmetic::Divide => a.checked_div(b).ok_or(TOO_LARGE),
        Arithmetic::Remainder if b == 0 => Err("division by zero"),
        Arithmetic::Remainder => a.checked_rem(b).ok_or(TOO_LARGE),
        Arithmetic::BitAnd => Ok(a & b),
        Arithmetic::BitOr => Ok(a | b),
        Arithmetic::BitXor => Ok(a ^ b),
        Arithmetic::ShiftLeft => {
            let factor = 1i128.checked_shl(shift(b)?).filter(|&factor| factor > 0);
            factor
                .and_then(|factor| a.checked_mul(factor))
                .ok_or(TOO_LARGE)
        }
        Arithmetic::ShiftRight => Ok(a >> shift(b)?),
        Arithmetic::Least => Ok(a.min(b)),
        Arithmetic::Greatest => Ok(a.max(b)),
        Arithmetic::CountOnes if a < 0 => Err("a negative number has no count of ones"),
        Arithmetic::CountOnes => Ok(i128::from(a.count_ones())),
    }
}

fn shift(by: i128) -> Result<u32, &'static str> {
    match u32::try_from(by) {
        Ok(by) if by < 128 => Ok(by),
        _ => Err("a shift is by 0 to 127 bits"),
    }
}

/// 1 where the comparison holds, 0 where not; unresolved where an operand is.
pub(crate) fn compared(operator: Compare, a: i128, b: i128) -> i128 {
    if a < RESOLVED_MIN || b < RESOLVED_MIN {
        return if a < RESOLVED_MIN { a } else { b };
    }
    i128::from(compare(operator, a, b))
}

/// Whether the comparison holds.
#[inline]
pub(crate) fn compare(operator: Compare, a: i128, b: i128) -> bool {
    // Without a branch, which would be another one each time: whether it holds for less, equal, greater.
    let holds: u8 = match operator {
        Compare::Equal => 0b010,
        Compare::NotEqual => 0b101,
        Compare::Less => 0b001,
        Compare::LessOrEqual => 0b011,
        Compare::Greater => 0b100,
        Compare::GreaterOrEqual => 0b110,
    };
    holds >> (a.cmp(&b) as i8 + 1) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operator: Arithmetic, a: i128, b: i128, expected: Result<i128, &'static str>) {
        assert_eq!(evaluate(operator, a, b), expected, "{a} {operator:?} {b}");
    }

    #[test]
    fn results_are_exact_or_missing() {
        let ends = [i64::MIN, -7, -1, 0, 1, 2, i64::MAX];
        for (a, b) in ends.into_iter().flat_map(|a| ends.map(|b| (a, b))) {
            for operator in [
                Arithmetic::Add,
                Arithmetic::Subtract,
                Arithmetic::Multiply,
                Arithmetic::Divide,
                Arithmetic::Remainder,
                Arithmetic::BitAnd,
                Arithmetic::BitOr,
                Arithmetic::BitXor,
                Arithmetic::Least,
                Arithmetic::Greatest,
            ] {
                let (a, b) = (a.into(), b.into());
                check(operator, a, b, evaluate_large(operator, a, b));
            }
        }
        check(Arithmetic::Subtract, 1, 2, Ok(-1));
        check(
            Arithmetic::Add,
            i128::MAX,
            1,
            Err("the result is too large"),
        );
        check(Arithmetic::Divide, -7, 2, Ok(-3));
        check(Arithmetic::Divide, 1, 0, Err("division by zero"));
        check(Arithmetic::Remainder, 1, 0, Err("division by zero"));
        check(
            Arithmetic::Subtract,
            -1,
            i128::MAX,
            Err("the result is too large"),
        );
    }

    #[test]
    fn what_is_unresolved_stays_so() {
        let missing = unresolved(7);
        check(Arithmetic::Add, missing, 1, Ok(missing));
        check(Arithmetic::Divide, 1, missing, Ok(missing));
        check(
            Arithmetic::Multiply,
            unresolved(3),
            missing,
            Ok(unresolved(3)),
        );
        assert_eq!(unresolved_field(missing), Some(7));
        assert_eq!(unresolved_field(-(1 << 100)), None);
    }

    #[test]
    fn shifts_lose_no_bits() {
        check(Arithmetic::ShiftLeft, 1, 100, Ok(1 << 100));
        check(
            Arithmetic::ShiftLeft,
            2,
            126,
            Err("the result is too large"),
        );
        check(
            Arithmetic::ShiftLeft,
            1,
            127,
            Err("the result is too large"),
        );
        check(
            Arithmetic::ShiftLeft,
            1,
            -1,
            Err("a shift is by 0 to 127 bits"),
        );
        check(Arithmetic::ShiftRight, -1, 127, Ok(-1));
    }
}

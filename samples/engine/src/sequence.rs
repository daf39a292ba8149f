//! Sequence numbers of sixteen bits that wrap around, and the numbers behind them that do not.

use crate::bits::Malformed;
use crate::state::{Restore, Save, StateReader, StateWriter};

/// The full number nearest to `near` whose lowest sixteen bits are `short`.
pub fn unwrap_near(short: u16, near: u64) -> u64 {
    let ahead = short.wrapping_sub(near as u16);
    if ahead < 0x8000 {
        near.wrapping_add(u64::from(ahead))
    } else {
        near.wrapping_sub(u64::from(ahead.wrapping_neg()))
    }
}

/// Which packets of a link have been received.
#[derive(Clone, Debug, Default)]
pub struct Received {
    newest: Option<u64>,
    /// Bit `i`: `newest - i`.
    window: u128,
}

/// Full numbers start here, so that one may be older than the first that was seen.
pub const FIRST: u64 = 1 << 32;

impl Received {
    /// The full number of a packet, or `None` where it was received before, or is so old that
    /// nobody can tell.
    pub fn number(&self, short: u16) -> Option<u64> {
        let Some(newest) = self.newest else {
            return Some(FIRST | u64::from(short));
        };
        let number = unwrap_near(short, newest);
        if number > newest {
            return Some(number);
        }
        let age = newest - number;
        (age < 128 && self.window >> age & 1 == 0).then_some(number)
    }

    /// Takes note of a packet.
    pub fn insert(&mut self, number: u64) {
        let newest = self.newest.unwrap_or(number);
        if number >= newest {
            let shift = number - newest;
            self.window = if shift < 128 { self.window << shift } else { 0 } | 1;
            self.newest = Some(number);
        } else if newest - number < 128 {
            self.window |= 1 << (newest - number);
        }
    }

    /// What the header says: the newest, and the 32 before it.
    pub fn ack(&self) -> Option<(u16, u32)> {
        self.newest
            .map(|newest| (newest as u16, (self.window >> 1) as u32))
    }
}

impl Save for Received {
    fn save(&self, out: &mut StateWriter<'_>) {
        self.newest.save(out);
        out.fixed(&self.window.to_le_bytes());
    }
}

impl Restore for Received {
    fn restore(from: &mut StateReader<'_>) -> Result<Received, Malformed> {
        let newest = from.read()?;
        let window = u128::from_le_bytes(from.array()?);
        Ok(Received { newest, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_number_means_the_nearest_full_one() {
        let check = |short, near, expected| assert_eq!(unwrap_near(short, near), expected);
        check(5, 0x1_0000, 0x1_0005);
        check(0xFFFF, 0x1_0000, 0xFFFF);
        check(0, 0x1_FFFF, 0x2_0000);
        check(0x7FFF, 0x1_0000, 0x1_7FFF);
        check(0x8000, 0x1_0000, 0x8000);
        check(7, 7, 7);
    }

    /// Receives the numbers in turn; the ack at the end.
    fn ack(numbers: &[u16]) -> Option<(u16, u32)> {
        let mut received = Received::default();
        for &short in numbers {
            if let Some(number) = received.number(short) {
                received.insert(number);
            }
        }
        received.ack()
    }

    #[test]
    fn an_ack_names_the_newest_and_the_32_before_it() {
        assert_eq!(ack(&[]), None);
        assert_eq!(ack(&[10]), Some((10, 0)));
        assert_eq!(ack(&[10, 11]), Some((11, 0b1)));
        assert_eq!(ack(&[10, 12]), Some((12, 0b10)));
        assert_eq!(ack(&[12, 10]), Some((12, 0b10)), "out of order");
        assert_eq!(ack(&[12, 10, 10, 12]), Some((12, 0b10)), "twice");
        assert_eq!(ack(&[0, 32]), Some((32, 1 << 31)));
        assert_eq!(ack(&[0, 33]), Some((33, 0)), "out of reach");
        assert_eq!(
            ack(&[65_534, 65_535, 0, 1]),
            Some((1, 0b111)),
            "around the end"
        );
        assert_eq!(ack(&[0, 1000]), Some((1000, 0)), "a long gap");
    }

    #[test]
    fn a_number_is_new_once() {
        let mut received = Received::default();
        let number = received.number(100).expect("the first");
        received.insert(number);
        assert_eq!(received.number(100), None);
        assert_eq!(
            received.number(99),
            Some(number - 1),
            "older than the first, and new"
        );
        assert_eq!(received.number(101), Some(number + 1));
        received.insert(number + 200);
        assert_eq!(received.number(101), None, "too old to tell");
    }
}

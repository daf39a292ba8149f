//! Sequence numbers of sixteen bits that wrap around, and the numbers behind them that do not.

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

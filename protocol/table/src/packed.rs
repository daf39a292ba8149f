//! Bytes that a column owns while it grows, or shares: with its copies, or with the store that it was taken
//! from.

use std::ops::Deref;

use bytes::Bytes;

use netreel_system::aside;

/// So many bytes are set aside once no more are put behind them.
const ASIDE_MIN: usize = 1 << 16;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) enum Packed {
    /// Its own.
    Own(Vec<u8>),
    /// Its own, and its copies': perhaps in a file (`netreel_system::aside`).
    Aside(Bytes),
    /// A part of a store, most often of a file that is mapped.
    Stored(Bytes),
}

impl Default for Packed {
    fn default() -> Packed {
        Packed::Own(Vec::new())
    }
}

impl Deref for Packed {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Packed::Own(bytes) => bytes,
            Packed::Aside(bytes) | Packed::Stored(bytes) => bytes,
        }
    }
}

impl Packed {
    /// The bytes, to change them: what was shared is copied first.
    #[inline]
    pub fn own(&mut self) -> &mut Vec<u8> {
        if let Packed::Aside(bytes) | Packed::Stored(bytes) = self {
            *self = Packed::Own(bytes.to_vec());
        }
        match self {
            Packed::Own(bytes) => bytes,
            Packed::Aside(_) | Packed::Stored(_) => unreachable!("it was copied"),
        }
    }

    /// How many bytes it holds on to, in memory or in a file; what is in a store is not its own.
    pub fn memory(&self) -> usize {
        match self {
            Packed::Own(bytes) => bytes.capacity(),
            Packed::Aside(bytes) => bytes.len(),
            Packed::Stored(_) => 0,
        }
    }

    /// Gives back memory that was taken for more bytes.
    pub fn shrink(&mut self) {
        match self {
            Packed::Own(bytes) if bytes.len() >= ASIDE_MIN => {
                *self = Packed::Aside(aside::share(std::mem::take(bytes)));
            }
            Packed::Own(bytes) => bytes.shrink_to_fit(),
            Packed::Aside(_) | Packed::Stored(_) => {}
        }
    }
}

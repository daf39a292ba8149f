//! The bytes of a saved state: what they are made of, and reading them with distrust.
//!
//! In this order:
//!
//! | what | bytes |
//! |---|---|
//! | version | `01`; `02` where the game has thrown the switch of the time-outs |
//! | in version 2: whether they are on, and when they were turned on | a flag, a number |
//! | own number, number of peers | a byte each |
//! | the rest, as [`NetLayer`](crate::NetLayer) and its parts write it | |
//! | checksum: FNV-1a, 64 bits, of all before it | 8, the lowest first |
//!
//! A number is an LEB128 below 2^62, an id of an object or a counter one below 2^64; a flag is a byte, 0 or
//! 1; what may lack is a flag and then itself; a list is its length and then its items; bytes are their
//! length and then themselves; what travels in packets (values, messages) is laid out as there, filled up to
//! whole bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Counter, Message, ObjectId, Peer};
use crate::types::Types;

/// The version of the encoding.
pub const VERSION: u8 = 1;

/// The same where the game has thrown the switch of the time-outs.
pub const VERSION_THROWN: u8 = 2;

/// Numbers in a state are below this, so that what is worked out from them does not overflow.
const NUMBER_LIMIT: u64 = 1 << 62;

/// What can stand in a state.
pub trait Save {
    fn save(&self, out: &mut StateWriter<'_>);
}

/// What can be read from a state: what its [`Save`] wrote.
pub trait Restore: Sized {
    fn restore(from: &mut StateReader<'_>) -> Result<Self, Malformed>;
}

/// Writes a state.
#[derive(Debug)]
pub struct StateWriter<'t> {
    bytes: Vec<u8>,
    /// Of the objects that messages are about.
    types: &'t Types,
}

impl<'t> StateWriter<'t> {
    pub fn new(types: &'t Types) -> StateWriter<'t> {
        let bytes = Vec::new();
        StateWriter { bytes, types }
    }

    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 & 0x7F | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.fixed(bytes);
    }

    pub fn types(&self) -> &'t Types {
        self.types
    }

    /// The bytes so far, and their checksum.
    pub fn seal(mut self) -> Vec<u8> {
        let sum = fnv(FNV_START, &self.bytes);
        self.fixed(&sum.to_le_bytes());
        self.bytes
    }

    /// What was written, without a checksum.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads what a [`StateWriter`] wrote, or anything else.
#[derive(Debug)]
pub struct StateReader<'a> {
    bytes: &'a [u8],
    at: usize,
    types: &'a Types,
}

impl<'a> StateReader<'a> {
    /// Reads sealed bytes from the first on; their checksum must fit.
    pub fn open(sealed: &'a [u8], types: &'a Types) -> Result<StateReader<'a>, Malformed> {
        let wrong = |why| Malformed { at_bit: 0, why };
        let (bytes, sum) = sealed
            .split_last_chunk::<8>()
            .ok_or_else(|| wrong("the bytes end too early"))?;
        if fnv(FNV_START, bytes) != u64::from_le_bytes(*sum) {
            return Err(wrong("the checksum does not fit: the bytes were changed"));
        }
        let at = 0;
        Ok(StateReader { bytes, at, types })
    }

    /// An error at the current byte.
    pub fn malformed(&self, why: &'static str) -> Malformed {
        let at_bit = self.at * 8;
        Malformed { at_bit, why }
    }

    /// What is next, whatever is wanted.
    pub fn read<T: Restore>(&mut self) -> Result<T, Malformed> {
        T::restore(self)
    }

    /// An id or a counter, which a packet may have said: any 64 bits.
    fn wide(&mut self) -> Result<u64, Malformed> {
        self.leb128(10)
    }

    pub fn number_below(&mut self, limit: u64) -> Result<u64, Malformed> {
        match self.leb128(9)? {
            value if value < limit => Ok(value),
            _ => Err(self.malformed("a number that is too large")),
        }
    }

    fn leb128(&mut self, groups_max: u32) -> Result<u64, Malformed> {
        let mut value = 0;
        for group in 0..groups_max {
            let byte: u8 = self.read()?;
            if group == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7F) << (group * 7);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number that is too large"))
    }

    /// How many items follow: no more than there are bytes.
    fn length(&mut self) -> Result<usize, Malformed> {
        let length: u64 = self.read()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok(length),
            _ => Err(self.malformed("a length of more than there is")),
        }
    }

    fn fixed(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(length);
        let bytes = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| self.malformed("the bytes end too early"))?;
        self.at += length;
        Ok(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.fixed(N)?);
        Ok(array)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.fixed(length)
    }

    pub fn types(&self) -> &'a Types {
        self.types
    }

    /// Checks that nothing is left.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.malformed("bytes are left over"))
        }
    }
}

/// Says how each of these is written, and how it is read again.
macro_rules! saved_as {
    ($($of:ty: |$it:ident, $out:ident| $save:expr, |$from:ident| $restore:expr;)*) => { $(
        impl Save for $of {
            fn save(&self, $out: &mut StateWriter<'_>) {
                let $it = self;
                $save;
            }
        }

        impl Restore for $of {
            fn restore($from: &mut StateReader<'_>) -> Result<$of, Malformed> {
                $restore
            }
        }
    )* };
}

saved_as! {
    u8: |it, out| out.byte(*it), |from| Ok(u8::from_le_bytes(from.array()?));
    bool: |it, out| out.byte(u8::from(*it)), |from| match from.read()? {
        0_u8 => Ok(false),
        1 => Ok(true),
        _ => Err(from.malformed("a flag that is neither 0 nor 1")),
    };
    u64: |it, out| out.number(*it), |from| from.number_below(NUMBER_LIMIT);
    ObjectId: |it, out| out.number(it.0), |from| from.wide().map(ObjectId);
    Counter: |it, out| out.number(it.0), |from| from.wide().map(Counter);
    Peer: |it, out| out.byte(it.0), |from| match from.read()? {
        peer @ 0..16 => Ok(Peer(peer)),
        _ => Err(from.malformed("a peer's number above 15")),
    };
    BitWriter: |it, out| {
        out.number(it.len() as u64);
        out.fixed(it.as_bytes());
    }, |from| {
        let bits: u64 = from.read()?;
        let length = usize::try_from(bits.div_ceil(8))
            .map_err(|_| from.malformed("a length of more than there is"))?;
        let bytes = from.fixed(length)?.to_vec();
        BitWriter::of(bytes, bits as usize)
            .ok_or_else(|| from.malformed("the filling bits are not zero"))
    };
    Message: |it, out| {
        let mut bits = BitWriter::new();
        it.write(out.types, &mut bits);
        out.bytes(bits.as_bytes());
    }, |from| {
        let mut bits = BitReader::new(from.bytes()?);
        let message = Message::read(from.types, &mut bits)?;
        bits.end()?;
        Ok(message)
    };
}

impl<T: Save + ?Sized> Save for &T {
    fn save(&self, out: &mut StateWriter<'_>) {
        (**self).save(out);
    }
}

impl Save for str {
    fn save(&self, out: &mut StateWriter<'_>) {
        out.bytes(self.as_bytes());
    }
}

impl<T: Save> Save for Option<T> {
    fn save(&self, out: &mut StateWriter<'_>) {
        self.is_some().save(out);
        self.iter().for_each(|it| it.save(out));
    }
}

impl<T: Restore> Restore for Option<T> {
    fn restore(from: &mut StateReader<'_>) -> Result<Option<T>, Malformed> {
        let is_some: bool = from.read()?;
        is_some.then(|| from.read()).transpose()
    }
}

/// Has lists written and read item by item.
macro_rules! saved_lists {
    ($($list:ident<$($of:ident),*> of $item:ty;)*) => { $(
        impl<$($of: Save),*> Save for $list<$($of),*> {
            fn save(&self, out: &mut StateWriter<'_>) {
                out.number(self.len() as u64);
                self.iter().for_each(|it| it.save(out));
            }
        }

        impl<$($of: Restore),*> Restore for $list<$($of),*>
        where
            $list<$($of),*>: FromIterator<$item>,
        {
            fn restore(from: &mut StateReader<'_>) -> Result<Self, Malformed> {
                (0..from.length()?).map(|_| from.read::<$item>()).collect()
            }
        }
    )* };
}

saved_lists! {
    Vec<T> of T;
    VecDeque<T> of T;
    BTreeSet<T> of T;
    BTreeMap<K, V> of (K, V);
}

/// Has what stands together written and read one behind the other.
macro_rules! saved_tuples {
    ($($($part:ident $place:tt),*;)*) => { $(
        impl<$($part: Save),*> Save for ($($part),*) {
            fn save(&self, out: &mut StateWriter<'_>) {
                $(self.$place.save(out);)*
            }
        }

        impl<$($part: Restore),*> Restore for ($($part),*) {
            fn restore(from: &mut StateReader<'_>) -> Result<Self, Malformed> {
                Ok(($(from.read::<$part>()?),*))
            }
        }
    )* };
}

saved_tuples! {
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}

/// Has structures written and read field by field, in this order.
macro_rules! saved {
    ($($of:ident { $($field:ident),* })*) => { $(
        impl $crate::state::Save for $of {
            fn save(&self, out: &mut $crate::state::StateWriter<'_>) {
                $(self.$field.save(out);)*
            }
        }

        impl $crate::state::Restore for $of {
            fn restore(
                from: &mut $crate::state::StateReader<'_>,
            ) -> Result<$of, $crate::bits::Malformed> {
                Ok($of { $($field: from.read()?),* })
            }
        }
    )* };
}
pub(crate) use saved;

/// Where [`fnv`] starts.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of 64 bits, going on from `hash` (draft-eastlake-fnv).
pub fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::NO_TYPES;

    fn reader(bytes: &[u8]) -> StateReader<'_> {
        StateReader {
            bytes,
            at: 0,
            types: &NO_TYPES,
        }
    }

    #[test]
    fn any_id_that_a_packet_can_say_comes_back() {
        for id in [0, 1 << 62, u64::MAX] {
            let mut writer = StateWriter::new(&NO_TYPES);
            writer.number(id);
            let mut reader = reader(writer.as_bytes());
            assert_eq!(reader.wide(), Ok(id));
        }
        assert!(reader(&[0xFF; 10]).wide().is_err());
    }
}

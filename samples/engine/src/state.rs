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

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Message, Peer};
use crate::types::Types;

/// The version of the encoding.
pub const VERSION: u8 = 1;

/// The same where the game has thrown the switch of the time-outs.
pub const VERSION_THROWN: u8 = 2;

/// Numbers in a state are below this, so that what is worked out from them does not overflow.
const NUMBER_LIMIT: u64 = 1 << 62;

/// Writes a state.
#[derive(Debug, Default)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

impl StateWriter {
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 & 0x7F | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn optional(&mut self, value: Option<u64>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.number(value);
        }
    }

    pub fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.fixed(bytes);
    }

    pub fn peer(&mut self, peer: Peer) {
        self.byte(peer.0);
    }

    pub fn bits(&mut self, bits: &BitWriter) {
        self.length(bits.len());
        self.fixed(bits.as_bytes());
    }

    pub fn message(&mut self, message: &Message, types: &Types) {
        let mut bits = BitWriter::new();
        message.write(types, &mut bits);
        self.bytes(bits.as_bytes());
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
}

impl<'a> StateReader<'a> {
    /// Reads sealed bytes from the first on; their checksum must fit.
    pub fn open(sealed: &'a [u8]) -> Result<StateReader<'a>, Malformed> {
        let wrong = |why| Malformed { at_bit: 0, why };
        let (bytes, sum) = sealed
            .split_last_chunk::<8>()
            .ok_or_else(|| wrong("the bytes end too early"))?;
        if fnv(FNV_START, bytes) != u64::from_le_bytes(*sum) {
            return Err(wrong("the checksum does not fit: the bytes were changed"));
        }
        Ok(StateReader { bytes, at: 0 })
    }

    /// An error at the current byte.
    pub fn malformed(&self, why: &'static str) -> Malformed {
        let at_bit = self.at * 8;
        Malformed { at_bit, why }
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self
            .bytes
            .get(self.at)
            .copied()
            .ok_or_else(|| self.malformed("the bytes end too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("a flag that is neither 0 nor 1")),
        }
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        self.number_below(NUMBER_LIMIT)
    }

    /// An id or a counter, which a packet may have said: any 64 bits.
    pub fn wide(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for group in 0..10 {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if group == 9 && byte > 1 {
                break;
            }
            value |= bits << (group * 7);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number that is too large"))
    }

    pub fn number_below(&mut self, limit: u64) -> Result<u64, Malformed> {
        let mut value = 0;
        for group in 0..9 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << (group * 7);
            if byte & 0x80 == 0 {
                return if value < limit {
                    Ok(value)
                } else {
                    Err(self.malformed("a number that is too large"))
                };
            }
        }
        Err(self.malformed("a number that is too large"))
    }

    pub fn optional(&mut self) -> Result<Option<u64>, Malformed> {
        if self.flag()? {
            return self.number().map(Some);
        }
        Ok(None)
    }

    /// How many items follow: no more than there are bytes.
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length = self.number()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok(length),
            _ => Err(self.malformed("a length of more than there is")),
        }
    }

    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
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

    pub fn peer(&mut self) -> Result<Peer, Malformed> {
        match self.byte()? {
            peer @ 0..16 => Ok(Peer(peer)),
            _ => Err(self.malformed("a peer's number above 15")),
        }
    }

    pub fn bits(&mut self) -> Result<BitWriter, Malformed> {
        let bits = self.number()?;
        let length = usize::try_from(bits.div_ceil(8))
            .map_err(|_| self.malformed("a length of more than there is"))?;
        let bytes = self.fixed(length)?.to_vec();
        BitWriter::of(bytes, bits as usize)
            .ok_or_else(|| self.malformed("the filling bits are not zero"))
    }

    pub fn message(&mut self, types: &Types) -> Result<Message, Malformed> {
        let mut bits = BitReader::new(self.bytes()?);
        let message = Message::read(types, &mut bits)?;
        bits.end()?;
        Ok(message)
    }

    /// A list, whose items `read` reads.
    pub fn list<T, L: FromIterator<T>>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<L, Malformed> {
        let length = self.length()?;
        (0..length).map(|_| read(self)).collect()
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

    #[test]
    fn any_id_that_a_packet_can_say_comes_back() {
        for id in [0, 1 << 62, u64::MAX] {
            let mut writer = StateWriter::default();
            writer.number(id);
            let bytes = writer.as_bytes();
            let mut reader = StateReader { bytes, at: 0 };
            assert_eq!(reader.wide(), Ok(id));
        }
        let bytes = [0xFF; 10];
        assert!(
            StateReader {
                bytes: &bytes,
                at: 0
            }
            .wide()
            .is_err()
        );
    }
}

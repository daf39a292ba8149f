//! An endpoint as the bodies of events have it, made from what a C program has.

use netreel_shared::body;

use crate::sys;

/// The longest one: of IPv6.
const LENGTH_MAX: usize = 27;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    bytes: [u8; LENGTH_MAX],
    length: u8,
}

impl Endpoint {
    /// `0.0.0.0:0`, for what cannot be named.
    pub const NONE: Endpoint = Endpoint::laid_out(body::v4(0, [0; 4]));

    const fn laid_out<const N: usize>(endpoint: [u8; N]) -> Endpoint {
        let mut bytes = [0; LENGTH_MAX];
        bytes.split_at_mut(N).0.copy_from_slice(&endpoint);
        let length = N as u8;
        Endpoint { bytes, length }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// From the C form; `None` where it is no Internet address.
    #[inline]
    pub fn from_c(address: &[u8]) -> Option<Endpoint> {
        let ([a, b, c, d], rest) = address.split_first_chunk()?;
        let port = u16::from_be_bytes([*c, *d]);
        match i32::from(u16::from_ne_bytes([*a, *b])) {
            sys::AF_INET => Some(Endpoint::laid_out(body::v4(port, *rest.first_chunk()?))),
            sys::AF_INET6 => {
                let (flow, rest) = rest.split_first_chunk()?;
                let (ip, rest) = rest.split_first_chunk()?;
                let (flow, scope) = (u32::from_ne_bytes(*flow), *rest.first_chunk()?);
                let scope = u32::from_ne_bytes(scope);
                Some(Endpoint::laid_out(body::v6(port, *ip, flow, scope)))
            }
            _ => None,
        }
    }

    /// From what [`Endpoint::bytes`] gave.
    pub fn from_bytes(given: &[u8]) -> Option<Endpoint> {
        let (mut bytes, length) = ([0; LENGTH_MAX], given.len() as u8);
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        (!given.is_empty()).then_some(Endpoint { bytes, length })
    }

    /// Family, port and address: without what IPv6 has besides.
    pub fn place(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length).min(19))
            .unwrap_or(&[])
    }

    /// Whether the kernel puts another address in its place: this one is all zeros.
    pub fn is_unspecified(&self) -> bool {
        self.place().iter().skip(3).all(|byte| *byte == 0)
    }

    pub fn is_v4(&self) -> bool {
        usize::from(self.length) == body::v4(0, [0; 4]).len()
    }

    /// As five numbers that one store each can keep; the last is 0 for none of them.
    pub fn to_words(self) -> [u64; 5] {
        let mut bytes = [0; 40];
        bytes[..LENGTH_MAX].copy_from_slice(&self.bytes);
        bytes[32] = self.length;
        let word = |index| u64::from_ne_bytes(core::array::from_fn(|at| bytes[index * 8 + at]));
        core::array::from_fn(word)
    }

    /// From what [`Endpoint::to_words`] made; `None` from zeros.
    #[inline]
    pub fn from_words(words: [u64; 5]) -> Option<Endpoint> {
        let mut bytes = [0; 40];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        let length = usize::from(bytes[32]).min(LENGTH_MAX);
        Endpoint::from_bytes(&bytes[..length])
    }
}

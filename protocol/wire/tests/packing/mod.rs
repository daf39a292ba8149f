//! Packs bits by hand, lowest first, so that tests do not lean on the reader that they test.

/// A packet in the making.
#[derive(Clone, Default)]
pub struct Bits {
    bits: Vec<bool>,
}

#[allow(dead_code)]
impl Bits {
    pub fn new() -> Bits {
        Bits::default()
    }

    pub fn put(mut self, value: u64, width: u32) -> Bits {
        self.bits
            .extend((0..width).map(|bit| value >> bit & 1 == 1));
        self
    }

    pub fn leb128(mut self, mut value: u64) -> Bits {
        loop {
            let more = value >> 7 != 0;
            self = self.put(value & 0x7f | u64::from(more) << 7, 8);
            value >>= 7;
            if !more {
                return self;
            }
        }
    }

    pub fn bytes(self, bytes: &[u8]) -> Bits {
        bytes
            .iter()
            .fold(self, |bits, &byte| bits.put(byte.into(), 8))
    }

    /// With its length in a byte before it.
    pub fn text(self, text: &str) -> Bits {
        self.put(text.len() as u64, 8).bytes(text.as_bytes())
    }

    pub fn len(&self) -> u32 {
        self.bits.len() as u32
    }

    /// Zeros up to a whole byte.
    pub fn packet(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter()
                .enumerate()
                .fold(0u8, |byte, (place, &bit)| byte | u8::from(bit) << place)
        };
        self.bits.chunks(8).map(byte).collect()
    }
}

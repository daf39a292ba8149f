//! How what is said travels, in packets and in calls of the game: each thing is described once, for who writes
//! it and for who reads it.

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Argument, Counter, ObjectId, Peer};
use crate::mode::Topology;
use crate::types::Types;

/// A way in which something travels.
pub trait Way<T> {
    fn write(&self, it: &T, types: &Types, out: &mut BitWriter);

    /// Reads what [`write`](Way::write) wrote, or anything else.
    fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<T, Malformed>;
}

/// As it travels everywhere.
pub struct Plain;

/// In so many bits. Of a text or a list this is how its length travels, and it is cut to what they can say.
pub struct Bits(pub u32);

impl Bits {
    fn most(&self) -> usize {
        (1 << self.0) - 1
    }
}

/// Says how each of these is written, and how it is read again.
macro_rules! travel_as {
    ($($way:ty, $of:ty: |$own:pat_param, $it:ident, $out:ident| $write:expr, |$bits:ident| $read:expr;)*) => { $(
        impl Way<$of> for $way {
            fn write(&self, $it: &$of, _: &Types, $out: &mut BitWriter) {
                let $own = self;
                $write;
            }

            fn read(&self, _: &Types, $bits: &mut BitReader<'_>) -> Result<$of, Malformed> {
                let $own = self;
                $read
            }
        }
    )* };
}

travel_as! {
    Plain, bool: |_, it, out| out.flag(*it), |bits| bits.flag();
    Plain, i64: |_, it, out| out.zigzag(*it), |bits| bits.zigzag();
    Plain, f32: |_, it, out| out.bits(it.to_bits().into(), 32),
        |bits| Ok(f32::from_bits(bits.bits(32)? as u32));
    Plain, f64: |_, it, out| out.bits(it.to_bits(), 64), |bits| bits.bits(64).map(f64::from_bits);
    Plain, ObjectId: |_, it, out| out.leb128(it.0), |bits| bits.leb128().map(ObjectId);
    Plain, Counter: |_, it, out| out.leb128(it.0), |bits| bits.leb128().map(Counter);
    Plain, Peer: |_, it, out| out.bits(it.0.into(), 4), |bits| Ok(Peer(bits.bits(4)? as u8));
    Plain, Topology: |_, it, out| out.flag(*it == Topology::ClientServer), |bits| match bits.flag()? {
        true => Ok(Topology::ClientServer),
        false => Ok(Topology::PeerToPeer),
    };
    Bits, u8: |own, it, out| out.bits((*it).into(), own.0), |bits| Ok(bits.bits(own.0)? as u8);
    Bits, Vec<u8>: |own, it, out| {
        let bytes = it.get(..own.most()).unwrap_or(it);
        out.bits(bytes.len() as u64, own.0);
        out.bytes(bytes);
    }, |bits| {
        let length = bits.bits(own.0)?;
        bits.bytes(length as usize)
    };
    Bits, String: |own, it, out| {
        let mut end = it.len().min(own.most());
        while !it.is_char_boundary(end) {
            end -= 1;
        }
        out.bits(end as u64, own.0);
        out.bytes(&it.as_bytes()[..end]);
    }, |bits| {
        let length = bits.bits(own.0)?;
        bits.text(length as usize)
    };
}

impl Way<Vec<Argument>> for Bits {
    fn write(&self, it: &Vec<Argument>, types: &Types, out: &mut BitWriter) {
        let all = it.get(..self.most()).unwrap_or(it);
        out.bits(all.len() as u64, self.0);
        all.iter().for_each(|it| Plain.write(it, types, out));
    }

    fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<Vec<Argument>, Malformed> {
        let count = bits.bits(self.0)?;
        (0..count).map(|_| Plain.read(types, bits)).collect()
    }
}

impl<T> Way<Vec<T>> for Plain
where
    Plain: Way<T>,
{
    fn write(&self, it: &Vec<T>, types: &Types, out: &mut BitWriter) {
        out.leb128(it.len() as u64);
        it.iter().for_each(|it| Plain.write(it, types, out));
    }

    fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<Vec<T>, Malformed> {
        let count = bits.leb128()?;
        (0..count).map(|_| Plain.read(types, bits)).collect()
    }
}

impl<T> Way<Option<T>> for Plain
where
    Plain: Way<T>,
{
    fn write(&self, it: &Option<T>, types: &Types, out: &mut BitWriter) {
        out.flag(it.is_some());
        it.iter().for_each(|it| Plain.write(it, types, out));
    }

    fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<Option<T>, Malformed> {
        let is_some = bits.flag()?;
        is_some.then(|| Plain.read(types, bits)).transpose()
    }
}

impl<A, B> Way<(A, B)> for Plain
where
    Plain: Way<A> + Way<B>,
{
    fn write(&self, (a, b): &(A, B), types: &Types, out: &mut BitWriter) {
        Plain.write(a, types, out);
        Plain.write(b, types, out);
    }

    fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<(A, B), Malformed> {
        Ok((Plain.read(types, bits)?, Plain.read(types, bits)?))
    }
}

/// Has each kind of something travel as its number and then its fields, in this order, each in its way.
macro_rules! kinds_travel {
    ($of:ident in $bits:literal bits, or $unknown:literal: $(
        $number:literal $kind:ident { $($(0 $colon:tt)? $field:ident $(as $way:expr)?),* }
    )*) => {
        impl $of {
            fn number(&self) -> u64 {
                match self {
                    $($of::$kind { .. } => $number,)*
                }
            }

            fn write_fields(&self, types: &Types, out: &mut BitWriter) {
                match self {
                    $($of::$kind { $($(0 $colon)? $field),* } => {
                        $($crate::travels::way!($($way)?).write($field, types, out);)*
                    })*
                }
            }

            fn read_fields(
                number: u64,
                types: &Types,
                bits: &mut BitReader<'_>,
            ) -> Result<$of, Malformed> {
                match number {
                    $($number => {
                        $(let $field = $crate::travels::way!($($way)?).read(types, bits)?;)*
                        Ok($of::$kind { $($(0 $colon)? $field),* })
                    })*
                    _ => Err(bits.malformed($unknown)),
                }
            }
        }

        impl Way<$of> for Plain {
            fn write(&self, it: &$of, types: &Types, out: &mut BitWriter) {
                out.bits(it.number(), $bits);
                it.write_fields(types, out);
            }

            fn read(&self, types: &Types, bits: &mut BitReader<'_>) -> Result<$of, Malformed> {
                let number = bits.bits($bits)?;
                $of::read_fields(number, types, bits)
            }
        }
    };
}
pub(crate) use kinds_travel;

/// The way of a field: the plain one, where no other is named.
macro_rules! way {
    () => {
        Plain
    };
    ($way:expr) => {
        $way
    };
}
pub(crate) use way;

//! How what is said travels, in packets and in calls of the game: each thing is described once, for
//! who writes it and for who reads it.

use crate::bits::{BitReader, BitWriter, Malformed};
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
    /// What so many bits can say.
    pub fn most(&self) -> usize {
        (1 << self.0) - 1
    }
}

/// Says how each of these is written, and how it is read again; of a type with parts, where they travel.
macro_rules! travel_as {
    ($(
        $way:ty, $of:ty $(where $($part:ident),+)?:
            |$own:pat_param, $it:ident, $types:pat_param, $out:ident| $write:expr,
            |$from:pat_param, $bits:ident| $read:expr;
    )*) => { $(
        impl$(<$($part),+>)? Way<$of> for $way
        $(where $(Plain: Way<$part>),+)?
        {
            fn write(&self, $it: &$of, $types: &Types, $out: &mut BitWriter) {
                let $own = self;
                $write;
            }

            fn read(&self, $from: &Types, $bits: &mut BitReader<'_>) -> Result<$of, Malformed> {
                let $own = self;
                $read
            }
        }
    )* };
}
pub(crate) use travel_as;

travel_as! {
    Plain, bool: |_, it, _, out| out.flag(*it), |_, bits| bits.flag();
    Plain, i64: |_, it, _, out| out.zigzag(*it), |_, bits| bits.zigzag();
    Plain, f32: |_, it, _, out| out.bits(it.to_bits().into(), 32),
        |_, bits| Ok(f32::from_bits(bits.bits(32)? as u32));
    Plain, f64: |_, it, _, out| out.bits(it.to_bits(), 64),
        |_, bits| bits.bits(64).map(f64::from_bits);
    Plain, Topology: |_, it, _, out| out.flag(*it == Topology::ClientServer),
        |_, bits| match bits.flag()? {
            true => Ok(Topology::ClientServer),
            false => Ok(Topology::PeerToPeer),
        };
    Bits, u8: |own, it, _, out| out.bits((*it).into(), own.0),
        |_, bits| Ok(bits.bits(own.0)? as u8);
    Bits, Vec<u8>: |own, it, _, out| {
        let bytes = it.get(..own.most()).unwrap_or(it);
        out.bits(bytes.len() as u64, own.0);
        out.bytes(bytes);
    }, |_, bits| {
        let length = bits.bits(own.0)?;
        bits.bytes(length as usize)
    };
    Bits, String: |own, it, _, out| {
        let end = it.floor_char_boundary(own.most());
        out.bits(end as u64, own.0);
        out.bytes(&it.as_bytes()[..end]);
    }, |_, bits| {
        let length = bits.bits(own.0)?;
        bits.text(length as usize)
    };
    Plain, Vec<T> where T: |_, it, types, out| {
        out.leb128(it.len() as u64);
        it.iter().for_each(|it| Plain.write(it, types, out));
    }, |types, bits| {
        let count = bits.leb128()?;
        (0..count).map(|_| Plain.read(types, bits)).collect()
    };
    Plain, Option<T> where T: |_, it, types, out| {
        out.flag(it.is_some());
        it.iter().for_each(|it| Plain.write(it, types, out));
    }, |types, bits| {
        let is_some = bits.flag()?;
        is_some.then(|| Plain.read(types, bits)).transpose()
    };
    Plain, (A, B) where A, B: |_, it, types, out| {
        Plain.write(&it.0, types, out);
        Plain.write(&it.1, types, out);
    }, |types, bits| Ok((Plain.read(types, bits)?, Plain.read(types, bits)?));
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

        $crate::travels::travel_as! {
            Plain, $of: |_, it, types, out| {
                out.bits(it.number(), $bits);
                it.write_fields(types, out);
            }, |types, bits| {
                let number = bits.bits($bits)?;
                $of::read_fields(number, types, bits)
            };
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

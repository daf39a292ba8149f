//! What statements take of the window around them.

use crate::report::Span;
use crate::syntax::ast::Ident;

/// What statements take of the window around them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taking<'a> {
    pub rest: Option<Rest<'a>>,
    pub bits: Bits,
}

/// How many bits are read at least and at most; 8 stands for all that is more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    pub least: u8,
    pub most: u8,
}

impl Bits {
    pub(super) const ANY: Bits = Bits::between(0, 8);
    pub(super) const BYTE: Bits = Bits::between(8, 8);

    pub(super) const fn between(least: u8, most: u8) -> Bits {
        Bits { least, most }
    }

    pub(super) fn exactly(bits: i128) -> Bits {
        let bits = bits.clamp(0, 8) as u8;
        Bits::between(bits, bits)
    }

    pub(super) fn times(self, count: i128) -> Bits {
        let of = |bits: u8| (i128::from(bits).saturating_mul(count)).clamp(0, 8) as u8;
        Bits::between(of(self.least), of(self.most))
    }

    /// Of both, one after the other.
    pub(super) fn and(self, next: Bits) -> Bits {
        let of = |a: u8, b: u8| (a + b).min(8);
        Bits::between(of(self.least, next.least), of(self.most, next.most))
    }

    /// Of one or the other.
    pub(super) fn or(self, other: Bits) -> Bits {
        let least = self.least.min(other.least);
        Bits::between(least, self.most.max(other.most))
    }
}

/// A field that takes what is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    pub name: Ident<'a>,
    /// What says so.
    pub declared: Span,
    /// The field of the struct that it stands in, seen from where something comes after it.
    pub inside: Option<&'a str>,
    /// Every packet has it.
    pub always: bool,
    /// How many bits may be left after it: 7 after whole bytes.
    pub leaves: u8,
}

impl<'a> Rest<'a> {
    pub(super) fn new(name: Ident<'a>, declared: Span, leaves: u8) -> Rest<'a> {
        let (inside, always) = (None, true);
        Rest {
            name,
            declared,
            inside,
            always,
            leaves,
        }
    }

    pub(super) fn sometimes(self) -> Rest<'a> {
        Rest {
            always: false,
            ..self
        }
    }
}

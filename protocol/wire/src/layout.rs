//! How bits lie in bytes, and which bytes they are.

use serde::{Deserialize, Serialize};

/// A row of bits that fields stand in: the packet itself is stream 0; a layer opens another one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct StreamId(pub u16);

/// How bits become numbers. A value is split into groups of eight bits, counted from its least
/// significant bit, so that the most significant group may be smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Order {
    pub bits: BitOrder,
    pub bytes: ByteOrder,
}

/// Which bit of a byte, and of a group, comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum BitOrder {
    #[default]
    Lsb,
    Msb,
}

/// Which group of a value comes first: the least significant or the most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum ByteOrder {
    #[default]
    Little,
    Big,
}

/// What the bytes of a text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Ascii,
    Latin1,
    Utf16Le,
    Utf16Be,
}

//! Values and the bits that stand for them, both ways, without a packet around them.

pub(crate) mod codec;
pub(crate) mod hexadecimal;
pub(crate) mod quantized;
pub(crate) mod rotation;
pub(crate) mod text;
pub(crate) mod uuid;

//! A wire that takes every packet as it is.

use std::sync::Arc;

use netreel_wire::Wire;

use crate::outcome::{Failure, Result};

const ANY: &str = "wire any { byte_order = big; bit_order = msb; root = Packet; }
struct Packet { data: bytes(rest); }";

/// A wire for which every packet is bytes: a session needs one before it tells how a packet travelled, and
/// asks none that stands in its reels where one is given.
pub fn any() -> Result<Arc<Wire>> {
    let wire = Wire::compile("any.wire", ANY).map_err(Failure::new)?;
    Ok(Arc::new(wire))
}

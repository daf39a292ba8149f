//! Tables that stay small: columns of whole numbers, packed in chunks, and rows of bytes.
//!
//! A session of ten million packets is ten million rows, so that what a row costs decides whether
//! it fits. This crate knows nothing of packets.
//!
//! Why it is so: `docs/decisions/session.md`.

mod bits;
mod blobs;
mod column;
mod packed;
mod store;

pub use bits::CHUNK;
pub use blobs::{Blobs, BlobsCursor};
pub use column::{Column, Cursor, Iter, below};
pub use store::{Misfit, Putting, Taking};

//! Running a plan along a packet: one interpreter, two directions, two sinks.

mod arena;
mod checksum;
mod full;
mod keeping;
mod layers;
mod machine;
mod meanings;
mod operate;
mod operate_rarely;
mod problem;
mod reading;
mod reads;
mod sink;
mod stack;
mod streams;
mod tape;
mod windows;
mod write;
mod writing;

pub(crate) use full::Full;
pub(crate) use keeping::kept;
pub(crate) use machine::{Entry, Surroundings, read};
pub(crate) use sink::FactsOnly;
pub use write::Change;
pub(crate) use write::{Source, Written, write};

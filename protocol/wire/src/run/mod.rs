//! Running a plan over a packet: one interpreter, two sinks.

mod full;
mod machine;
mod meanings;
mod problem;
mod reads;
mod text;

pub(crate) use full::Full;
pub(crate) use machine::{Entry, FactsOnly, run};

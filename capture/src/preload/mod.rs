//! Recording an unmodified, dynamically linked program: `netreel record -- CMD`.
//!
//! A library (`capture/preload`) is loaded into the program and stands before the C library's
//! functions that reach the network, the clocks and the sources of randomness. It pushes into a
//! ring file that this side makes and drains: the program gets no thread, and what it pushed
//! outlives it. What the library cannot see is refused before the start or named while it runs.

mod again;
mod begun;
mod descendants;
mod escape;
mod library;
mod look;
mod messages;
mod process;
mod rerun;
mod serve;
mod tripwire;
mod wanted;
mod watch;

pub use again::{
    Came, Descriptor, Printed, Rerun, RerunEnd, Standard, Terminal, Then, WrittenFile,
};
pub use escape::{check_program, find_program};
pub use rerun::rerun;
pub use serve::record;
pub use wanted::{Escape, Outcome, PreloadError, Report, Wanted, sum_of, sum_of_file};

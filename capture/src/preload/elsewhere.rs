//! Recording an unmodified program: here there is no library that could be loaded into it. Whoever asks is
//! told what to do instead.

mod again;
mod wanted;

use std::path::{Path, PathBuf};

pub use again::{
    Came, Descriptor, Printed, Rerun, RerunEnd, Standard, Terminal, Then, WrittenFile,
};
pub use wanted::{Escape, Outcome, PreloadError, Report, Wanted, sum_of, sum_of_file};

/// Records a program.
///
/// # Errors
/// Always: [`PreloadError::NoLibrary`].
pub fn record(_: &Wanted, _: &mut dyn FnMut(Report)) -> Result<Outcome, PreloadError> {
    Err(PreloadError::NoLibrary)
}

/// Starts a recorded program again.
///
/// # Errors
/// Always: [`PreloadError::NoLibrary`].
pub fn rerun(_: &Rerun, _: &mut dyn FnMut(u32) -> Then) -> Result<RerunEnd, PreloadError> {
    Err(PreloadError::NoLibrary)
}

/// Where the program of this name lies: programs are not looked for here.
pub fn find_program(_: &Path) -> Option<PathBuf> {
    None
}

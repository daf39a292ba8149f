//! `netreel record`: every way of making a reel from the command line, a file each.

mod line;
mod program;
mod proxy;

use std::io::Write;
use std::path::PathBuf;

use crate::arguments::Record;
use crate::outcome::{Answer, Failure};

pub fn run(arguments: &Record, out: &mut dyn Write) -> Result<Answer, Failure> {
    let folder = arguments.out.clone().unwrap_or_else(new_folder);
    if arguments.proxy.routes.is_empty() {
        program::run(arguments, &folder, out)
    } else {
        proxy::run(arguments, &folder, out)
    }
}

/// The folder of a recording that was not given one.
fn new_folder() -> PathBuf {
    let now = chrono::Local::now().format("netreel-%Y%m%d-%H%M%S");
    PathBuf::from(now.to_string())
}

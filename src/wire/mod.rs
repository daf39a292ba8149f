//! `netreel wire`: the definition language from the command line.

mod check;
mod decode;
mod encode;
mod format;
mod lsp;
mod new;
mod source;
mod test;

use std::io::Write;

use crate::arguments::Wire;
use crate::outcome::{Answer, Result};

#[cfg(feature = "gui")]
pub use source::Source as Edited;

pub fn run(command: &Wire, out: &mut dyn Write) -> Result<Answer> {
    match command {
        Wire::New(arguments) => new::run(arguments, out),
        Wire::Guess(arguments) => new::guess(arguments, out),
        Wire::Check(arguments) if arguments.watch => check::watch(arguments, out),
        Wire::Check(arguments) => check::run(arguments, out),
        Wire::Decode(arguments) => decode::run(arguments, out),
        Wire::Encode(arguments) => encode::run(arguments, out),
        Wire::Test(arguments) => test::run(arguments, out),
        Wire::Format(arguments) => format::run(arguments, out),
        Wire::Lsp(arguments) => lsp::run(arguments),
    }
}

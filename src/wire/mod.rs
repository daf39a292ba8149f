//! `netreel wire`: the definition language from the command line.

mod any;
mod check;
mod decode;
mod encode;
mod format;
mod guess;
mod lsp;
mod new;
mod packets;
mod source;
mod test;
mod watch;

use std::io::Write;

#[cfg(feature = "gui")]
pub use source::Source as Edited;

use crate::arguments::Wire;
use crate::outcome::{Answer, Result};

pub fn run(command: &Wire, out: &mut dyn Write) -> Result<Answer> {
    match command {
        Wire::New(arguments) => new::run(arguments, out),
        Wire::Guess(arguments) => guess::run(arguments, out),
        Wire::Check(arguments) if arguments.watch => watch::run(arguments, out),
        Wire::Check(arguments) => check::run(arguments, out),
        Wire::Decode(arguments) => decode::run(arguments, out),
        Wire::Encode(arguments) => encode::run(arguments, out),
        Wire::Test(arguments) => test::run(arguments, out),
        Wire::Format(arguments) => format::run(arguments, out),
        Wire::Lsp(arguments) => lsp::run(arguments),
    }
}

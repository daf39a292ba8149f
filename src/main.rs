//! `netreel`: a flight recorder for game netcode.
//!
//! The command reads arguments, asks the libraries, prints, and turns the answer into an exit code:
//! 0 done and clean, 1 the thing asked about is wrong, 2 could not do it or could not tell; of a
//! program that was recorded, its own.

mod arguments;
mod bookmarks;
mod boxes;
mod check;
mod console;
mod demo;
mod diff;
mod each;
mod events;
mod explore;
mod export;
mod follow;
mod import;
mod info;
#[cfg(feature = "gui")]
mod inspect;
mod manual;
mod objects;
mod open;
mod outcome;
mod packets;
mod play;
mod progress;
mod record;
mod redact;
mod replay;
mod rules;
mod run;
mod show;
mod shrink;
mod state;
mod stats;
mod text;
mod tree;
mod trigger;
mod watch;
mod whole;
mod why;
mod wire;

use std::io::Write;
use std::process::ExitCode;

use arguments::Command;
use outcome::{Answer, Failure, Result};

/// Memory that is asked for in pieces of more bytes goes back to the system as soon as it is let go.
const OWN_PAGES: u32 = 256 << 10;

fn main() -> ExitCode {
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no mistakes, and go to the output.
            if !error.use_stderr() {
                error.exit()
            }
            if arguments::wants_json() {
                print_error(&outcome::mistake(&error));
            }
            let told = error.render().ansi().to_string();
            anstream::eprint!("{}", outcome::in_plain_words(&told));
            return ExitCode::from(2);
        }
    };
    netreel_capture::keep_children();
    // A console of Windows shows colours where it is told to; elsewhere this does nothing.
    anstyle_query::windows::enable_ansi_colors();
    // The C library learns from large columns that are let go to keep such memory for later, and what
    // it keeps is soon in pieces that nothing fits into: a fifth of all that is taken. Whatever draws
    // or records asks for the same memory again and again, and is better off so.
    if let Command::Check(_) | Command::Info(_) | Command::Objects(_) | Command::Packets(_) =
        &arguments.command
    {
        netreel_system::memory::give_back_large_pieces(OWN_PAGES);
    }
    // Nothing may take bytes out of what is printed: data goes to the output as it is. What is
    // coloured for people asks `text::style` first.
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let answer = run(&arguments.command, &mut out).and_then(|answer| {
        out.flush()?;
        Ok(answer)
    });
    match answer {
        Ok(Answer::Clean) => ExitCode::SUCCESS,
        Ok(Answer::Wrong) => ExitCode::from(1),
        Ok(Answer::Unknown) => ExitCode::from(2),
        Ok(Answer::Code(code)) => ExitCode::from(code),
        // Whoever reads the pipe has seen enough. An exit code that is an answer is not made up.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            match arguments.command {
                Command::Check(_)
                | Command::Replay(_)
                | Command::Diff(_)
                | Command::Run(_)
                | Command::Explore(_) => ExitCode::from(2),
                _ => ExitCode::SUCCESS,
            }
        }
        Err(failure) => {
            // What was printed so far comes before the reason why there is no more.
            let _ = out.flush();
            if arguments::wants_json() {
                print_error(&serde_json::json!({ "error": failure.to_string().trim_end() }));
            }
            anstream::eprintln!("netreel: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Tells who reads JSON that there is no answer, or no more of it.
fn print_error(line: &serde_json::Value) {
    // Who does not read any more needs no reason.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn run(command: &Command, out: &mut dyn Write) -> Result<Answer> {
    match command {
        Command::Demo(arguments) => demo::run(arguments, out),
        Command::DemoNode(arguments) => demo::node::run(arguments),
        Command::Play(arguments) => play::run(arguments, out),
        Command::Console(arguments) => console::run(arguments, out),
        Command::Run(arguments) => run::run(arguments, out),
        Command::Record(arguments) => record::run(arguments, out),
        Command::Trigger(arguments) => trigger::run(arguments, out),
        Command::Import(arguments) => import::run(arguments, out),
        Command::Info(arguments) => info::run(arguments, out),
        Command::Packets(arguments) if arguments.follow => {
            follow::run(&arguments.filtered.read, out)
        }
        Command::Packets(arguments) => packets::run(arguments, out),
        Command::Events(arguments) => events::run(arguments, out),
        Command::Show(arguments) => show::run(arguments, out),
        Command::Objects(arguments) => objects::run(arguments, out),
        Command::State(arguments) => state::run(arguments, out),
        Command::Check(arguments) if arguments.follow => check::follow(arguments, out),
        Command::Check(arguments) if arguments.each => check::each::run(arguments, out),
        Command::Check(arguments) => check::run(arguments, out),
        Command::Stats(arguments) => stats::run(arguments, out),
        Command::Why(arguments) => why::run(arguments, out),
        Command::Diff(arguments) => diff::run(arguments, out),
        Command::Export(arguments) => export::run(arguments, out),
        Command::Replay(arguments) => replay::run(arguments, out),
        Command::Explore(arguments) => explore::run(arguments, out),
        Command::Shrink(arguments) => shrink::run(arguments, out),
        Command::Redact(arguments) => redact::run(arguments, out),
        Command::Rules(arguments) => rules::run(arguments, out),
        Command::Wire(command) => wire::run(command, out),
        Command::Manual => manual::run(out),
        Command::Completions(arguments) => manual::completions(arguments.shell, out),
        #[cfg(feature = "gui")]
        Command::Inspect(arguments) => inspect::run(arguments, out),
    }
}

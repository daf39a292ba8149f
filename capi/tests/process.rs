//! Loading at run time, threads, a fork, an unload: in a program in C.

mod support;

use std::process::Command;

use netreel_reel::{Ending, Event, EventKind, Reel};
use support::{C99, checked, file, library_folder};

/// Runs the program, and opens what it recorded.
fn run(leaves_open: bool) -> Option<Reel> {
    let folder = tempfile::tempdir().unwrap();
    let source = file("tests/programs/process.c");
    let program = C99.build(&source, folder.path(), &["-lpthread", "-ldl"])?;
    let reel = folder.path().join("a.reel");
    let mut command = Command::new(program);
    command
        .arg(library_folder().join("libnetreel.so"))
        .arg(&reel);
    checked(command.args(leaves_open.then_some("leaves open")));
    Some(netreel_record::open(reel).unwrap())
}

fn check_notes(reel: &Reel) {
    let mut notes = Vec::new();
    reel.for_each(|record| {
        if let Event::Note { text } = record.event {
            notes.push(String::from_utf8_lossy(text).into_owned());
        }
    });
    assert_eq!(notes, ["parent", "after fork", "fresh", "after unload"]);
    assert_eq!(reel.counts()[&EventKind::Tick], 1000);
}

#[test]
fn a_fork_records_nothing_and_an_unload_does_no_harm() {
    if let Some(reel) = run(false) {
        assert_eq!(*reel.ending(), Ending::Clean);
        check_notes(&reel);
    }
}

#[test]
fn a_program_that_ends_without_closing_loses_nothing() {
    if let Some(reel) = run(true) {
        assert_ne!(*reel.ending(), Ending::Clean);
        check_notes(&reel);
    }
}

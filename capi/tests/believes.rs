//! What a game in C says that it believes is what stands in the reel.

mod support;

use std::process::Command;

use netreel_reel::Event;
use support::{C99, checked, file};

#[test]
fn a_game_in_c_says_what_it_believes() {
    let folder = tempfile::tempdir().unwrap();
    let source = file("tests/programs/believes.c");
    let Some(program) = C99.build(&source, folder.path(), &[]) else {
        return;
    };
    let path = folder.path().join("a.reel");
    checked(Command::new(program).arg(&path));
    let mut said = Vec::new();
    netreel_record::open(&path).unwrap().for_each(|record| {
        if let Event::Believed { object, believed } = record.event {
            said.push(believed.words(object));
        }
    });
    let expected = [
        "created 42 owner 3",
        "created 43",
        "owner 42 4",
        "value 42 position 1.5 -2 3",
        "value 42 name \"Bob the second\"",
        "destroyed 42",
    ];
    assert_eq!(said, expected);
}

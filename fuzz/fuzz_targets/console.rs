//! Any bytes from whoever connects to a console, and any text as a scenario.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netreel_console::frame::{Message, Reader};
use netreel_console::{Commands, Kind};

fuzz_target!(|bytes: &[u8]| {
    let choice = Kind::OneOf(vec!["host".to_owned(), "owner".to_owned()]);
    let commands = Commands::new()
        .with("pick up", (&[], &[("BOX", Kind::Integer)]), "")
        .with(
            "go",
            (&[("RIGHT", Kind::Number), ("MODE", choice)], &[]),
            "",
        )
        .with(
            "say",
            (&[("WHAT", Kind::Text), ("MORE", Kind::Rest)], &[]),
            "",
        );
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    // However the bytes are cut, the messages are the same.
    let read = |size: usize| {
        let mut reader = Reader::default();
        let mut messages = Vec::new();
        for chunk in bytes.chunks(size) {
            reader.push(chunk);
            loop {
                match reader.next_message() {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(_) => return messages,
                }
            }
        }
        messages
    };
    let messages = read(usize::from(size).max(1));
    assert_eq!(messages, read(bytes.len().max(1)));
    for message in messages {
        if let Message::Line(line) = message {
            let _ = commands.read(&line);
            commands.complete(&line);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = netreel_scenario::Scenario::of_text(text, std::path::Path::new("it.toml"), &[]);
    }
});

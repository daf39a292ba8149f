//! `netreel wire format`: wire files as all are written.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use netreel_wire::format;

use crate::arguments::WireFormat;
use crate::open::wire_text;
use crate::outcome::{Answer, Result};

/// The standard input.
const INPUT: &str = "-";

/// More of the standard input is no wire.
const TEXT_BYTES_MAX: u64 = 1 << 20;

pub fn run(arguments: &WireFormat, out: &mut dyn Write) -> Result<Answer> {
    let mut answer = Answer::Clean;
    for path in &arguments.files {
        let is_input = path.as_os_str() == INPUT;
        let shown = path.display().to_string();
        let text = if is_input {
            input()?
        } else {
            wire_text(path).map_err(|why| format!("{shown}: {why}"))?
        };
        let formatted = match format(&shown, &text) {
            Ok(formatted) => formatted,
            Err(error) => {
                anstream::eprintln!("netreel: {shown} has mistakes, and is left as it is\n{error}");
                answer = Answer::Wrong;
                continue;
            }
        };
        let is_formatted = formatted == text;
        if arguments.check {
            if !is_formatted {
                writeln!(out, "{shown} is not formatted")?;
                answer = Answer::Wrong;
            }
        } else if is_input {
            out.write_all(formatted.as_bytes())?;
        } else if !is_formatted {
            replace(path, &formatted).map_err(|why| format!("{shown}: {why}"))?;
            writeln!(out, "{shown}: formatted")?;
        }
    }
    Ok(answer)
}

fn input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .take(TEXT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("the standard input: {error}"))?;
    Ok(text)
}

/// Puts a file in the place of another at once, so that none is ever half written.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = fs::canonicalize(path)?;
    let mut beside = path.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let permissions = fs::metadata(&path)?.permissions();
    let written = fs::write(&beside, text)
        .and_then(|()| fs::set_permissions(&beside, permissions))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

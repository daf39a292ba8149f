//! `netreel wire new` and `netreel wire guess`: a wire to begin with, and the one that packets suggest.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use netreel_protocol::guess::Packets;

use super::source::any;
use crate::arguments::{Like, WireGuess, WireNew};
use crate::open;
use crate::outcome::{Answer, Failure, Result};
use crate::text::Align::{Left, Right};
use crate::text::Table;

pub fn run(arguments: &WireNew, out: &mut dyn Write) -> Result<Answer> {
    let path = &arguments.file;
    let (text, next) = start(arguments.like);
    write(path, text)?;
    writeln!(out, "{}: {next}", path.display())?;
    writeln!(out, "netreel wire test {} runs its tests", path.display())?;
    Ok(Answer::Clean)
}

/// Writes a wire into a new file: never over somebody's work.
pub fn write(path: &Path, text: &str) -> Result {
    let failed = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::AlreadyExists => "it is there already; name another file".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(format!("{}: cannot write it: {what}", path.display()))
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// The text of a wire, and what is to be done with it first.
fn start(like: Like) -> (&'static str, &'static str) {
    match like {
        Like::Custom => (
            include_str!("../../samples/wires/custom.wire"),
            "change each line until it says what your engine puts on the wire",
        ),
        Like::Enet => (
            include_str!("../../samples/wires/enet.wire"),
            "what your game sends is `Payload`: say there what its bytes are",
        ),
        Like::Raknet => (
            include_str!("../../samples/wires/raknet.wire"),
            "what your game sends are the messages from `USER` on: give each its fields in the struct `Body`",
        ),
        Like::Quake3 => (
            include_str!("../../samples/wires/quake3.wire"),
            "the structs `Entity...` and `Player...` have the fields of Quake III's entities and players: change \
             them to your game's",
        ),
    }
}

pub fn guess(arguments: &WireGuess, out: &mut dyn Write) -> Result<Answer> {
    let reels = open::reels(&arguments.paths)?;
    let story = open::build(reels, Some(any()?))?;
    let guess = Packets::of(&story.session).guess();
    for remark in guess.remarks() {
        writeln!(out, "{remark}")?;
    }
    let mut table = Table::new([Left, Left, Left, Right, Left]);
    table.row(["kind", "bytes", "looks like", "confidence", "because"]);
    for row in guess.rows() {
        table.row(row);
    }
    table.print(out)?;
    if let Some(path) = &arguments.out {
        write(path, &guess.wire())?;
        writeln!(
            out,
            "{}: a wire to begin with; netreel wire check tries it",
            path.display()
        )?;
    }
    Ok(open::answer(&story.unread))
}

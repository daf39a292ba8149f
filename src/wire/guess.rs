//! `netreel wire guess`: the wire that packets suggest.

use std::io::Write;

use netreel_protocol::guess::Packets;

use super::any::any;
use super::new;
use crate::arguments::WireGuess;
use crate::open;
use crate::outcome::{Answer, Result};
use crate::table::{self, Align};

pub fn run(arguments: &WireGuess, out: &mut dyn Write) -> Result<Answer> {
    let reels = open::reels(&arguments.paths)?;
    let story = open::build(reels, Some(any()?))?;
    let guess = Packets::of(&story.session).guess();
    for remark in guess.remarks() {
        writeln!(out, "{remark}")?;
    }
    let heads = ["kind", "bytes", "looks like", "confidence", "because"];
    let rows = guess.rows().into_iter().map(|row| row.to_vec());
    let rows: Vec<Vec<String>> = std::iter::once(heads.map(str::to_owned).to_vec())
        .chain(rows)
        .collect();
    table::print(
        &[
            Align::Left,
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Left,
        ],
        &rows,
        out,
    )?;
    if let Some(path) = &arguments.out {
        new::write(path, &guess.wire())?;
        writeln!(
            out,
            "{}: a wire to begin with; netreel wire check tries it",
            path.display()
        )?;
    }
    Ok(open::answer(&story.unread))
}

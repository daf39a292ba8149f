//! `netreel record --live IFACE`: records what passes a network interface.

use std::io::Write;
use std::path::Path;

use netreel_capture::Signals;
use netreel_capture::import::NamedNode;
use netreel_capture::live::{self, Outcome, Wanted};

use super::line::{LiveLine, came_to};
use crate::arguments::Record;
use crate::import::{nobodys, wire_text, without_packets};
use crate::outcome::{Answer, Result};
use crate::text;

pub fn run(
    arguments: &Record,
    interface: &str,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<Answer> {
    let nodes = NamedNode::gather(arguments.live.node.clone())
        .map_err(|error| format!("--node: {error}"))?;
    let wires = arguments.live.wire.as_deref().map(wire_text).transpose()?;
    let (options, armed) = super::ring::options(arguments, folder)?;
    let wanted = Wanted {
        interface: interface.to_owned(),
        filter: arguments.live.capture_filter.clone(),
        nodes,
        wires: wires.into_iter().collect(),
        out: folder.to_owned(),
        options,
    };
    let mut line = LiveLine::new(armed);
    let signals = Signals::catch();
    let mut stop = || signals.asked() > 0;
    let mut told = false;
    let outcome = live::record(&wanted, &mut stop, &mut |progress| {
        if !std::mem::replace(&mut told, true) {
            line.say(&format!("listening on {interface}"));
        }
        line.show(progress, "");
    });
    line.end();
    let outcome = outcome?;
    text::warn(&outcome.left_out);
    writeln!(out, "{}: {}", came_to(&outcome.progress), folder.display())?;
    let missed = outcome.progress.kernel_drops;
    if missed > 0 {
        let missed = text::counted(missed, "packet");
        writeln!(
            out,
            "{missed} passed without being seen: the kernel or the interface dropped what could not be taken in time"
        )?;
    }
    let mut whole = missed == 0 && outcome.progress.dropped == 0;
    if outcome.progress.dropped > 0 {
        let dropped = text::counted(outcome.progress.dropped, "event");
        writeln!(
            out,
            "{dropped} were dropped because the disk could not keep up"
        )?;
    }
    whole &= reels(&outcome, out)?;
    if let Some(why) = &outcome.ended {
        let before = match missed {
            0 => "what came before is in the reel",
            _ => "what came before is in the reel, but for what passed without being seen",
        };
        writeln!(out, "capturing on {interface} ended: {why}; {before}")?;
        whole = false;
    }
    Ok(Answer::clean_if(whole))
}

/// Says which reels ended early, and which have no packets. Whether all are there and have some.
fn reels(outcome: &Outcome, out: &mut dyn Write) -> Result<bool> {
    let mut whole = true;
    for (path, reel) in &outcome.reels {
        match reel {
            Ok(summary) => {
                if let Some(reached) = summary.limit {
                    let reel = path.display();
                    anstream::eprintln!("netreel: {reel}: the reel has ended: {reached}");
                }
            }
            Err(error) => {
                anstream::eprintln!("netreel: {error}");
                whole = false;
            }
        }
    }
    if let Some(sentence) = nobodys(outcome.nobodys) {
        writeln!(out, "{sentence}")?;
    }
    for path in &outcome.empty {
        writeln!(out, "{}", without_packets(path))?;
        whole = false;
    }
    Ok(whole)
}

//! From where to where a replay went.

use std::io::Write;

use netreel_replay::Report;
use serde_json::{Value, json};

use crate::outcome::Result;

/// Says from where to where was played, where that is not simply the whole reel.
pub fn print(report: &Report, out: &mut dyn Write) -> Result {
    let first = report.stretches.first();
    if report.stretches.len() < 2 && first.is_none_or(|it| !it.snapshot && !it.breaks_off) {
        return Ok(());
    }
    for stretch in &report.stretches {
        let from = if stretch.snapshot {
            format!("the snapshot of event {}", stretch.from)
        } else {
            format!("event {}", stretch.from)
        };
        let last = stretch.until.0.saturating_sub(1);
        let end = if stretch.breaks_off {
            ", where something is missing"
        } else {
            ""
        };
        writeln!(out, "    played from {from} to event {last}{end}")?;
    }
    Ok(())
}

/// The same as `--json` prints it.
pub fn as_json(report: &Report) -> Value {
    let stretches = report.stretches.iter().map(|stretch| {
        json!({
            "from": stretch.from.0,
            "until": stretch.until.0,
            "snapshot": stretch.snapshot,
            "breaks_off": stretch.breaks_off,
        })
    });
    stretches.collect()
}

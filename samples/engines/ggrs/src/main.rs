//! `ggrs-rollback --out DIR [--desync FRAME] [--delay MS] [--ahead FRAMES]`: plays and records a session.

use std::time::Duration;

use ggrs_recorded::example::{Plan, record};

const USAGE: &str = "say where to: --out DIR [--desync FRAME] [--delay MS] [--ahead FRAMES]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut out, mut plan) = (None, Plan::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match flag.as_str() {
            "--out" => out = Some(value),
            "--desync" => plan.desync = Some(value.parse()?),
            "--ahead" => plan.ahead = value.parse()?,
            "--delay" => plan.delay = Duration::from_millis(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    let out = out.ok_or(USAGE)?;
    std::fs::create_dir_all(&out)?;
    for (name, truth) in ["a", "b"].iter().zip(record(out.as_ref(), plan)?) {
        let deepest = truth.rollbacks.iter().max().copied().unwrap_or(0);
        let count = truth.rollbacks.len();
        println!("{name}: {count} rollbacks, the deepest over {deepest} frames");
    }
    Ok(())
}

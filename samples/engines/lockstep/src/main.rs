//! `lockstep --out DIR [--ticks N] [--go-on] [--slow MS] [--wrong TICK] [--fast ONE_IN]`: plays and records a
//! session.

use std::time::Duration;

use lockstep_recorded::Lacking;
use lockstep_recorded::example::{Plan, record};

const USAGE: &str =
    "say where to: --out DIR [--ticks N] [--go-on] [--slow MS] [--wrong TICK] [--fast ONE_IN]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut out, mut plan) = (None, Plan::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        if flag == "--go-on" {
            plan.lacking = Lacking::GoOn;
            continue;
        }
        let value = arguments.next().ok_or(USAGE)?;
        match flag.as_str() {
            "--out" => out = Some(value),
            "--ticks" => plan.ticks = value.parse()?,
            "--slow" => plan.slow = Some(Duration::from_millis(value.parse()?)),
            "--wrong" => plan.wrong_from = Some(value.parse()?),
            "--fast" => plan.fast = Some(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    let out = out.ok_or(USAGE)?;
    std::fs::create_dir_all(&out)?;
    for (name, missed) in ["a", "b", "c"].iter().zip(record(out.as_ref(), &plan)?) {
        println!("{name}: went on without {missed} inputs");
    }
    Ok(())
}

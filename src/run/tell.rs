//! The reports of a loop that are wanted.

use std::io::Write;

use netreel_scenario::{Share, Sums};
use serde_json::json;

use super::sums::{Over, compared};
use super::{html, report};
use crate::arguments::Run;
use crate::outcome::{Answer, Failure, Result};

/// Prints what matches come to, and writes the reports that are wanted.
pub fn tell(over: &Over<'_>, arguments: &Run, out: &mut dyn Write) -> Result<Answer> {
    let sums = Sums::of(over.matches, over.level);
    if let Some(file) = &arguments.junit {
        report::junit(file, over.name, (over.matches, over.level))?;
    }
    if let Some(file) = &arguments.html {
        html::write(file, over, &sums)?;
    }
    let against: Option<(Share, f64)> = arguments
        .against
        .as_deref()
        .map(|folder| {
            let matches = netreel_scenario::played(folder).map_err(|error| {
                Failure::new(format!("--against {}: {error}", folder.display()))
            })?;
            let other = Sums::of(&matches, over.level).bad;
            Ok::<_, Failure>((other, netreel_scenario::chance(sums.bad, other)))
        })
        .transpose()?;
    if arguments.json {
        let against = against.map(|(bad, chance)| json!({ "bad": bad, "chance": chance }));
        writeln!(out, "{}", json!({ "run": sums, "against": against }))?;
    } else {
        over.print(&sums, out)?;
        if let Some((other, chance)) = against {
            writeln!(out, "  {}", compared(sums.bad, other, chance))?;
        }
    }
    Ok(Answer::clean_if(sums.bad.count == 0))
}

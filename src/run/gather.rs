//! What jobs of one loop come to together.

use std::collections::BTreeMap;
use std::io::Write;

use super::emit::DATASET;
use super::sums::Over;
use super::tell::tell;
use crate::arguments::Run;
use crate::outcome::{Answer, Failure, Result};
use crate::{export, text};

/// What runs in several folders come to together: jobs of one loop, each with its part.
pub fn gather(arguments: &Run, level: &str, out: &mut dyn Write) -> Result<Answer> {
    let (mut matches, mut kept, mut wanted) = (Vec::new(), BTreeMap::new(), 0);
    for folder in &arguments.gather {
        let played = netreel_scenario::played(folder).map_err(|error| {
            Failure::new(format!("{}: there is no run: {error}", folder.display()))
        })?;
        wanted = wanted.max(netreel_scenario::planned(folder).unwrap_or(0));
        kept.extend(netreel_scenario::kept(folder, &played));
        matches.extend(played);
    }
    matches.sort_by_key(|played| played.number);
    let mut pairs = matches.windows(2);
    if let Some(twice) = pairs.find(|pair| pair[0].number == pair[1].number) {
        return Err(Failure::new(format!(
            "match {} is in two of the folders: they are not parts of one loop",
            twice[0].number
        )));
    }
    let over = Over {
        name: "gathered",
        matches: &matches,
        level,
        kept: &kept,
    };
    let answer = tell(&over, arguments, out)?;
    if let Some(dataset) = &arguments.dataset {
        let parts = arguments.gather.iter().map(|part| part.join(DATASET));
        let added: u64 = parts
            .map(|part| export::add_all(&part, dataset))
            .sum::<Result<u64>>()?;
        if !arguments.json {
            let sessions = text::counted(added, "session");
            writeln!(out, "  {sessions} in the dataset {}", dataset.display())?;
        }
    }
    let missing = wanted.saturating_sub(matches.len() as u64);
    if missing > 0 || matches.is_empty() {
        return Err(Failure::new(format!(
            "{missing} of {wanted} matches are missing: a part was not played, or not to its end"
        )));
    }
    Ok(answer)
}

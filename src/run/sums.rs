//! What a loop came to, in words.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use netreel_scenario::{Match, Share, Sums};

use super::after;
use crate::outcome::{Answer, Result};

/// What came of a loop.
pub enum Played {
    /// All of it was played, or as much as was to be.
    Whole(Answer),
    /// Somebody ended it; how it goes on.
    Ended(String),
}

/// Matches that were played.
pub struct Over<'a> {
    pub name: &'a str,
    pub matches: &'a [Match],
    pub level: &'a str,
    /// The folders of those that were kept, by number.
    pub kept: &'a BTreeMap<u64, PathBuf>,
}

impl Over<'_> {
    /// Prints what they come to.
    pub fn print(&self, sums: &Sums, out: &mut dyn Write) -> Result {
        writeln!(out)?;
        if sums.bad.of == 0 {
            writeln!(out, "no match was played")?;
            return Ok(());
        }
        let [least, mean, most] = sums.took;
        writeln!(
            out,
            "{}: {} bad, {}; {mean:.1} s each ({least:.1} to {most:.1})",
            matches(sums.bad.of),
            sums.bad.count,
            percent(sums.bad)
        )?;
        if sums.failed > 0 {
            writeln!(out, "  {} could not be played to the end", sums.failed)?;
        }
        for (rule, share) in &sums.rules {
            let (count, of) = (share.count, share.of);
            writeln!(out, "  {rule}: {count} of {of}, {}", percent(*share))?;
        }
        let bad = self.matches.iter().find(|it| it.is_bad(self.level));
        if let Some(folder) = bad.and_then(|it| self.kept.get(&it.number)) {
            let (is_found, folder) = (bad.is_some_and(after::has_error), folder.display());
            // What was not as the script expects stands above; what nodes made of it they may have printed.
            if is_found {
                writeln!(
                    out,
                    "  netreel check {folder}      what went wrong in the first of them"
                )?
            } else {
                writeln!(
                    out,
                    "  {folder}/logs    what the nodes of the first of them printed"
                )?
            }
            writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
        }
        Ok(())
    }
}

/// Whether a run is better or worse than another one.
pub fn compared(bad: Share, other: Share, chance: f64) -> String {
    let rate = |share: Share| share.count as f64 / share.of.max(1) as f64;
    let word = match (chance < 0.05, rate(bad) < rate(other)) {
        (true, true) => "better",
        (true, false) => "worse",
        (false, _) => "neither better nor worse",
    };
    format!(
        "{word} than the other run, with {} of {} bad: chance alone sets two runs so far apart in {:.2} % of cases",
        other.count,
        other.of,
        chance * 100.0
    )
}

/// `1 match`, `2 matches`.
pub fn matches(count: u64) -> String {
    match count {
        1 => "1 match".to_owned(),
        many => format!("{many} matches"),
    }
}

/// `0.6 % (95 %: 0.2 to 1.7 %)`.
pub fn percent(share: Share) -> String {
    let part = share.count as f64 / share.of.max(1) as f64;
    let [part, least, most] = [part, share.least, share.most].map(|it| it * 100.0);
    format!("{part:.1} % (with a confidence of 95 %: {least:.1} to {most:.1} %)")
}

//! What the docs claim about speed: run with `./dev bench`.
//!
//! A bench hands each figure that `docs/PERFORMANCE.md` has a row for to [`claim`]; `./dev bench --write`
//! puts what was handed over into those rows.

use std::fs::OpenOptions;
use std::io::Write as _;

/// The file that claims are appended to; unset, they are printed by their benches alone.
const VARIABLE: &str = "NETREEL_CLAIMS";

/// A row of the page: what was measured, what it has to be, what it was, and what a peer took in the same
/// run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What was measured, by which the row is found.
    pub what: String,
    /// What it has to be, or `none`.
    pub target: String,
    /// What it was, and before that whether the target was met.
    pub value: String,
    /// What a peer took in the same run.
    pub peer: String,
}

/// How and when claims were measured.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What else the machine did: `quiet`, `busy`, `×8`.
    pub machine: &'a str,
    /// The day, as in 2026-11-29.
    pub date: &'a str,
    /// What was typed.
    pub command: &'a str,
}

/// Hands over a figure; `missed` tells whether its target was, where it has one.
///
/// # Panics
/// The file that claims go to cannot be written.
pub fn claim(
    what: &str,
    (target, missed): (&str, Option<bool>),
    value: impl std::fmt::Display,
    peer: impl std::fmt::Display,
) {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    let verdict = match missed {
        None => "",
        Some(false) => "met: ",
        Some(true) => "missed: ",
    };
    let line = format!("{what}\t{target}\t{verdict}{value}\t{peer}\n");
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("room for the claims");
}

/// The claims that benches handed over, in order.
pub fn claims(text: &str) -> Vec<Claim> {
    let lines = text.lines().filter_map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        Some(Claim {
            what: cells.next()?,
            target: cells.next()?,
            value: cells.next()?,
            peer: cells.next()?,
        })
    });
    lines.collect()
}

/// The page with these claims in their rows, and the rows of those that it has none for.
pub fn written(page: &str, claims: &[Claim], run: Run<'_>) -> (String, Vec<String>) {
    let mut left: Vec<&Claim> = claims.iter().collect();
    let mut lines: Vec<String> = Vec::new();
    for line in page.lines() {
        let what = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next());
        // A row may have been measured more than once: the last counts.
        let last = claims.iter().rfind(|claim| what == Some(&claim.what));
        left.retain(|claim| what != Some(&claim.what));
        lines.push(last.map_or_else(|| line.to_owned(), |claim| row(claim, run)));
    }
    lines.push(String::new());
    let left = left.into_iter().map(|claim| row(claim, run));
    (lines.join("\n"), left.collect())
}

fn row(claim: &Claim, run: Run<'_>) -> String {
    let Claim {
        what,
        target,
        value,
        peer,
    } = claim;
    let Run {
        machine,
        date,
        command,
    } = run;
    format!("| {what} | {target} | {value} | {peer} | {machine} | {date} | `{command}` |")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Speed\n\n| what | target | value | peer | machine | date | command |\n\
        |---|---|---|---|---|---|---|\n\
        | a push | 30 ns | met: 12 ns | never | quiet | 2026-11-21 | `./dev bench --bench a` |\n\
        | a look | none | 3 s | never | busy | 2026-11-22 | `./dev bench --bench b` |\n\nThe end.\n";

    const RUN: Run<'_> = Run {
        machine: "busy",
        date: "2026-11-29",
        command: "./dev bench",
    };

    #[test]
    fn a_claim_takes_the_place_of_its_row_and_no_other() {
        let handed_over = claims("a push\t30 ns\tmissed: 40 ns\ta clock read 20 ns\n");
        let (page, left) = written(PAGE, &handed_over, RUN);
        let row = "| a push | 30 ns | missed: 40 ns | a clock read 20 ns | busy | 2026-11-29 | `./dev bench` |";
        let (old, new): (Vec<_>, Vec<_>) = PAGE
            .lines()
            .zip(page.lines())
            .filter(|(old, new)| old != new)
            .unzip();
        assert_eq!((old.len(), new), (1, vec![row]));
        assert_eq!((page.lines().count(), left), (PAGE.lines().count(), vec![]));
        assert!(page.ends_with("The end.\n"));
    }

    #[test]
    fn a_claim_without_a_row_is_told() {
        let handed_over = claims("a leap\tnone\t1 s\tnever\n");
        let (page, left) = written(PAGE, &handed_over, RUN);
        assert_eq!(page, PAGE);
        assert_eq!(
            left,
            ["| a leap | none | 1 s | never | busy | 2026-11-29 | `./dev bench` |"]
        );
    }
}

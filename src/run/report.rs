//! What came of a run, for people and for CI.

use std::path::Path;
use std::time::Duration;

use netreel_scenario::{Match, Outcome};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::outcome::{Failure, Result};

/// Why a match is bad, a line each.
pub fn reasons(played: &Match, level: &str) -> Vec<String> {
    let mut lines = match &played.outcome {
        Outcome::Played => Vec::new(),
        Outcome::Unexpected(what) => what.iter().map(|it| format!("unexpected: {it}")).collect(),
        Outcome::Failed(why) => vec![why.clone()],
    };
    let words = ["info", "warning", "error"];
    let grave: Vec<&str> = words
        .into_iter()
        .skip_while(|word| *word != level)
        .collect();
    let findings = played.judged.findings.iter();
    for found in findings.filter(|found| grave.contains(&found.level.as_str())) {
        let node = match found.node.as_str() {
            "" => String::new(),
            node => format!(" {node}"),
        };
        let line = format!("{} {}{node}: {}", found.level, found.rule, found.text);
        if !lines.iter().any(|known| known.ends_with(&line)) {
            lines.push(line);
        }
    }
    lines
}

/// Writes a report for CI: a test case a match.
pub fn junit(file: &Path, name: &str, (matches, level): (&[Match], &str)) -> Result {
    let mut suite = TestSuite::new(name);
    for played in matches {
        let mut status = TestCaseStatus::success();
        let reasons = reasons(played, level);
        if played.is_bad(level) {
            let kind = match played.outcome {
                Outcome::Failed(_) => NonSuccessKind::Error,
                _ => NonSuccessKind::Failure,
            };
            status = TestCaseStatus::non_success(kind);
            status.set_message(reasons.first().cloned().unwrap_or_default());
            status.set_description(reasons.join("\n"));
        }
        let called = format!("match {} (seed {})", played.number, played.seed);
        let mut case = TestCase::new(called, status);
        case.set_time(Duration::from_secs_f64(played.took.max(0.0)));
        suite.add_test_case(case);
    }
    let mut report = Report::new("netreel run");
    report.add_test_suite(suite);
    let text = report.to_string().map_err(Failure::new)?;
    std::fs::write(file, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

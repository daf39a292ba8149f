//! `netreel check --format`: what was found, for tools that read test reports (JUnit) or findings (SARIF).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use netreel_protocol::history::{Finding, History, Level, RULES};
use netreel_protocol::session::{Session, SessionTime};
use netreel_protocol::verdict::{Judgement, Verdict};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use crate::arguments::ReportFormat;
use crate::outcome::Result;
use crate::text;

/// What SARIF's schema is called.
const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// What a session came to.
pub struct SessionReport {
    name: String,
    found: Vec<Found>,
    /// What could not be judged: an id and a sentence each.
    reasons: Vec<(String, String)>,
    verdict: Verdict,
    fail_on: Level,
}

struct Found {
    rule: &'static str,
    level: Level,
    node: String,
    time_ns: i64,
    sentence: String,
    /// The packets that prove it, a line each.
    proof: Vec<String>,
    packets: Vec<u32>,
}

impl SessionReport {
    /// What was found of a session that is called so.
    pub fn new(
        name: String,
        session: &Session,
        history: &History,
        judged: &Judgement,
    ) -> SessionReport {
        let reasons = judged.reasons.iter();
        SessionReport {
            name,
            found: history
                .findings
                .iter()
                .map(|it| found(session, it))
                .collect(),
            reasons: reasons
                .map(|it| (it.id.to_owned(), it.sentence.clone()))
                .collect(),
            verdict: judged.verdict,
            fail_on: judged.fail_on,
        }
    }

    /// A session that cannot be read, or not be asked that.
    pub fn unread(name: String, why: &str, fail_on: Level) -> SessionReport {
        SessionReport {
            name,
            found: Vec::new(),
            reasons: vec![("unread".to_owned(), why.to_owned())],
            verdict: Verdict::Unknown,
            fail_on,
        }
    }
}

fn found(session: &Session, finding: &Finding) -> Found {
    let line = |it: &netreel_protocol::history::Evidence| {
        format!(
            "{} s  {}  packet {}  {}",
            text::seconds(it.time),
            text::node(session, it.node),
            it.packet.0,
            it.what
        )
    };
    let mut packets: Vec<u32> = finding.evidence.iter().map(|it| it.packet.0).collect();
    packets.dedup();
    Found {
        rule: finding.rule,
        level: finding.level,
        node: text::node(session, finding.node).to_owned(),
        time_ns: finding.time.0,
        sentence: finding.sentence.clone(),
        proof: finding.evidence.iter().map(line).collect(),
        packets,
    }
}

/// Prints what all sessions came to; `partial`: what could not be judged is skipped, and no error.
pub fn print(
    format: ReportFormat,
    all: &[SessionReport],
    partial: bool,
    out: &mut dyn Write,
) -> Result {
    match format {
        ReportFormat::Junit => {
            let mut report = quick_junit::Report::new("netreel check");
            report.add_test_suites(all.iter().map(|told| suite(told, partial)));
            report.serialize(&mut *out)?;
        }
        ReportFormat::Sarif => {
            let log = serde_json::to_string_pretty(&sarif(all))?;
            writeln!(out, "{log}")?;
        }
    }
    Ok(())
}

/// A test case a rule, built in or a team's own, and one for what could not be judged.
fn suite(told: &SessionReport, partial: bool) -> TestSuite {
    let mut by_rule: BTreeMap<&str, Vec<&Found>> =
        RULES.iter().map(|&rule| (rule, Vec::new())).collect();
    for it in &told.found {
        by_rule.entry(it.rule).or_default().push(it);
    }
    let mut suite = TestSuite::new(told.name.as_str());
    for (rule, found) in by_rule {
        let (wrong, odd): (Vec<&Found>, Vec<&Found>) =
            found.into_iter().partition(|it| it.level >= told.fail_on);
        let mut case = TestCase::new(rule, status(&wrong));
        case.set_classname(told.name.as_str());
        if !odd.is_empty() {
            case.set_system_out(described(&odd));
        }
        suite.add_test_case(case);
    }
    let judged = match told.reasons.is_empty() {
        true => TestCaseStatus::success(),
        false if partial => with(TestCaseStatus::skipped(), "not all could be judged", told),
        false => with(
            TestCaseStatus::non_success(NonSuccessKind::Error),
            "not all could be judged",
            told,
        ),
    };
    let mut case = TestCase::new("all could be judged", judged);
    case.set_classname(told.name.as_str());
    suite.add_test_case(case);
    suite
}

fn with(mut status: TestCaseStatus, message: &str, told: &SessionReport) -> TestCaseStatus {
    let reasons = text::joined(
        told.reasons
            .iter()
            .map(|(id, said)| format!("{said} ({id})")),
        "\n",
    );
    status.set_message(message);
    status.set_description(reasons);
    status
}

fn status(wrong: &[&Found]) -> TestCaseStatus {
    let Some(first) = wrong.first() else {
        return TestCaseStatus::success();
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(first.level.name());
    status.set_message(first.sentence.as_str());
    status.set_description(described(wrong));
    status
}

fn described(found: &[&Found]) -> String {
    let each = found.iter().map(|it| {
        let head = format!(
            "{} at {} s at {}: {}",
            it.level.name(),
            text::seconds(SessionTime(it.time_ns)),
            it.node,
            it.sentence
        );
        [&[head][..], &it.proof].concat().join("\n    ")
    });
    text::joined(each, "\n")
}

fn sarif(all: &[SessionReport]) -> Value {
    let own: BTreeSet<&str> = all
        .iter()
        .flat_map(|told| told.found.iter().map(|it| it.rule))
        .filter(|rule| !RULES.contains(rule))
        .collect();
    let rules = RULES.iter().copied().chain(own);
    let results = all.iter().flat_map(|told| {
        told.found.iter().map(|it| {
            json!({
                "ruleId": it.rule,
                "level": if it.level == Level::Info { "note" } else { it.level.name() },
                "message": { "text": it.sentence },
                "locations": [{
                    "physicalLocation": { "artifactLocation": { "uri": told.name } },
                    "logicalLocations": [{ "name": it.node }],
                }],
                "properties": { "time_ns": it.time_ns, "packets": it.packets },
            })
        })
    });
    let notes = all.iter().flat_map(|told| {
        told.reasons.iter().map(|(id, sentence)| {
            json!({
                "level": "warning",
                "message": { "text": format!("{}: {sentence}", told.name) },
                "descriptor": { "id": id },
            })
        })
    });
    json!({
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "netreel",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.map(|rule| json!({ "id": rule })).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": all.iter().all(|it| it.verdict != Verdict::Unknown),
                "toolExecutionNotifications": notes.collect::<Vec<_>>(),
            }],
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

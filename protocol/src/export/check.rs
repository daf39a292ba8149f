//! `check`: what went wrong.

use serde::Serialize;

use crate::history::{Evidence, Finding, History};
use crate::session::Session;
use crate::verdict::{Counts, Judgement, Reason};

/// The answer of `netreel check --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// `clean`, `wrong` or `unknown`.
    pub verdict: &'static str,
    /// What could not be judged.
    pub reasons: Vec<Reason>,
    /// What was said from then on is not judged; `null` where all came to rest.
    pub judged_until_ns: Option<i64>,
    /// The level from which on a finding is a failure.
    pub fail_on: &'static str,
    /// How many there are of each level.
    pub counts: Counts,
    /// All of them, in order of time; left out of the last line of `netreel check --follow --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<FindingJson>>,
    /// What could not be read or is not certain.
    pub warnings: Vec<String>,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingJson {
    /// Its number, from 1, in the order of all findings; left out while they are not all known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<u32>,
    /// The rule's id.
    pub rule: &'static str,
    /// `error`, `warning`, `info`.
    pub level: &'static str,
    /// The node that saw it.
    pub node: String,
    /// The object, where it is about one, or the first of several.
    pub object: Option<u64>,
    /// The objects, where it is about several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<u64>,
    /// When the last piece of evidence was seen.
    pub time_ns: i64,
    /// For people.
    pub sentence: String,
    /// In the order of the story; where it tells of several things, that of the first.
    pub evidence: Vec<EvidenceJson>,
    /// What one cause led to, where that is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<InstanceJson>,
}

/// One of several things that one cause led to.
#[derive(Clone, Debug, Serialize)]
pub struct InstanceJson {
    /// The node that saw it.
    pub node: String,
    /// The object, where it is about one.
    pub object: Option<u64>,
    /// When the last piece of its evidence was seen.
    pub time_ns: i64,
    /// For people.
    pub sentence: String,
    /// In the order of the story.
    pub evidence: Vec<EvidenceJson>,
}

/// A piece of a finding's proof.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceJson {
    /// What it is.
    pub what: String,
    /// The packet.
    pub packet: u32,
    /// The message.
    pub message: u32,
    /// The node that it is seen at.
    pub node: String,
    /// The event in that node's reel.
    pub event: u64,
    /// When.
    pub time_ns: i64,
}

/// A judgement, and all findings that it rests on.
pub fn check(session: &Session, history: &History, judgement: &Judgement) -> Check {
    let numbered = (0..).zip(&history.findings);
    let findings = numbered.map(|(place, each)| FindingJson {
        finding: Some(history.finding_number(place)),
        ..finding(session, each)
    });
    Check {
        findings: Some(findings.collect()),
        ..conclusion(session, history, judgement)
    }
}

/// A judgement without the findings that it rests on.
pub fn conclusion(session: &Session, history: &History, judgement: &Judgement) -> Check {
    Check {
        verdict: judgement.verdict.name(),
        reasons: judgement.reasons.clone(),
        judged_until_ns: judgement.judged_until.map(|until| until.0),
        fail_on: judgement.fail_on.name(),
        counts: Counts::of(&history.findings),
        findings: None,
        warnings: session.warnings(),
    }
}

/// One finding.
pub fn finding(session: &Session, finding: &Finding) -> FindingJson {
    let several = finding.objects.len() > 1;
    let each = finding.each.iter().map(|it| InstanceJson {
        node: session.name(it.node),
        object: it.object,
        time_ns: it.time.0,
        sentence: it.sentence.clone(),
        evidence: evidence(session, &it.evidence),
    });
    FindingJson {
        finding: None,
        rule: finding.rule,
        level: finding.level.name(),
        node: session.name(finding.node),
        object: finding.object(),
        objects: finding
            .objects
            .iter()
            .copied()
            .filter(|_| several)
            .collect(),
        time_ns: finding.time.0,
        sentence: finding.sentence.clone(),
        evidence: evidence(session, &finding.evidence),
        each: each.collect(),
    }
}

/// Pieces of proof.
pub fn evidence(session: &Session, evidence: &[Evidence]) -> Vec<EvidenceJson> {
    let pieces = evidence.iter().map(|each| EvidenceJson {
        what: each.what.clone(),
        packet: each.packet.0,
        message: each.message.0,
        node: session.name(each.node),
        event: each.number.0,
        time_ns: each.time.0,
    });
    pieces.collect()
}

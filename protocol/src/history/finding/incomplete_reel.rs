//! `incomplete-reel`: a reel was cut or lacks a stretch, so that the story has gaps.

use std::sync::Arc;

use super::Found;
use crate::history::{Finding, History, Level};
use crate::session::{Node, NodeId, Session, is_closed};

pub(super) const RULE: &str = "incomplete-reel";

pub(super) fn find(session: &Session, _: &History) -> Vec<Found> {
    let mut findings = Vec::new();
    for (place, node) in session
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.recorded)
    {
        // A proxy's reel tells of several nodes, and lacks what it lacks once.
        if node.proxied && told_before(session, place) {
            continue;
        }
        if node.window {
            findings.push(window(node, NodeId(place as u16)).into());
            continue;
        }
        let mut why: Vec<String> = Vec::new();
        let mut time = node.span.end;
        if let Some(hole) = node.holes.last() {
            time = hole.time.end;
            why.extend(node.holes.iter().take(3).map(|hole| hole.why.clone()));
            if node.holes.len() > 3 {
                why.push(format!("and {} more holes", node.holes.len() - 3));
            }
        }
        let reel = session.reels.get(place).and_then(Option::as_ref);
        // Of one that goes on nothing is lacking yet.
        if !reel.is_none_or(|reel| is_closed(reel) || reel.ending().is_still_recorded()) {
            time = node.span.end;
            why.push("it ends before the recording was closed".to_owned());
        }
        if why.is_empty() {
            continue;
        }
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: NodeId(place as u16),
            objects: Vec::new(),
            each: Vec::new(),
            time,
            sentence: format!(
                "the reel of {} does not hold all that happened: {}",
                whose(node),
                why.join("; ")
            ),
            evidence: Vec::new(),
        };
        findings.push(finding.into());
    }
    findings
}

/// That it does not hold all is what was asked for; that it has holes inside is not.
fn window(node: &Node, id: NodeId) -> Finding {
    let inner = node.holes.get(1..).unwrap_or(&[]);
    let holes: Vec<&str> = inner.iter().take(3).map(|hole| hole.why.as_str()).collect();
    let (level, holes) = if holes.is_empty() {
        (Level::Info, String::new())
    } else {
        (
            Level::Warning,
            format!("; it lacks more: {}", holes.join("; ")),
        )
    };
    Finding {
        rule: RULE,
        level,
        node: id,
        objects: Vec::new(),
        each: Vec::new(),
        time: node.span.end,
        sentence: format!(
            "the reel of {} is the window that a trigger kept: what was before and after it is not \
             known{holes}",
            whose(node)
        ),
        evidence: Vec::new(),
    }
}

fn whose(node: &Node) -> &str {
    if node.proxied {
        "the proxy"
    } else {
        &node.name
    }
}

/// Whether a node before this one has the same reel.
fn told_before(session: &Session, place: usize) -> bool {
    let (before, rest) = session.reels.split_at(place.min(session.reels.len()));
    let Some(Some(reel)) = rest.first() else {
        return false;
    };
    before
        .iter()
        .flatten()
        .any(|other| Arc::ptr_eq(other, reel))
}

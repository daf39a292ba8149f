//! `incomplete-reel`: a reel was cut or lacks a stretch, so that the story has gaps.

use super::prelude::*;
use crate::session::{Hole, Node, is_closed};

/// More holes are counted, not told.
const HOLES_MAX: usize = 3;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let nodes = session.recorded_nodes();
    let found = nodes.filter_map(|(id, node)| {
        if node.window {
            Some(window(node, id))
        } else {
            lacking(session, node, id)
        }
    });
    found.collect()
}

fn lacking(session: &Session, node: &Node, id: NodeId) -> Option<Found> {
    let mut why = whys(&node.holes);
    let mut time = node
        .holes
        .last()
        .map_or(node.span.end, |hole| hole.time.end);
    if node.holes.len() > HOLES_MAX {
        why.push(format!("and {} more holes", node.holes.len() - HOLES_MAX));
    }
    let reel = session.reel(id);
    // Of one that goes on nothing is lacking yet.
    if !reel.is_none_or(|reel| is_closed(reel) || reel.ending().is_still_recorded()) {
        time = node.span.end;
        why.push("it ends before the recording was closed".to_owned());
    }
    let sentence = format!(
        "the reel of {} does not hold all that happened: {}",
        node.recorder(),
        why.join("; ")
    );
    (!why.is_empty()).then(|| Found::new(Level::Warning, id, time, NO_PROOF, sentence))
}

/// That it does not hold all is what was asked for; that it has holes inside is not.
fn window(node: &Node, id: NodeId) -> Found {
    let inner = whys(node.holes.get(1..).unwrap_or(&[]));
    let (level, holes) = if inner.is_empty() {
        (Level::Info, String::new())
    } else {
        (
            Level::Warning,
            format!("; it lacks more: {}", inner.join("; ")),
        )
    };
    let sentence = format!(
        "the reel of {} is the window that a trigger kept: what was before and after it is not \
         known{holes}",
        node.recorder()
    );
    Found::new(level, id, node.span.end, NO_PROOF, sentence)
}

const NO_PROOF: [Evidence; 0] = [];

/// Why the first of some holes are there.
fn whys(holes: &[Hole]) -> Vec<String> {
    holes
        .iter()
        .take(HOLES_MAX)
        .map(|hole| hole.why.clone())
        .collect()
}

//! `incomplete-reel`: a reel was cut or lacks a stretch, so that the story has gaps.

use std::sync::Arc;

use super::prelude::*;
use crate::session::{Hole, Node, is_closed};

/// More holes are counted, not told.
const HOLES_MAX: usize = 3;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let nodes = session.numbered_nodes();
    // A proxy's reel tells of several nodes, and lacks what it lacks once.
    let meant = nodes.filter(|(id, node)| {
        node.recorded && !(node.proxied && told_before(session, usize::from(id.0)))
    });
    let found = meant.filter_map(|(id, node)| {
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
    let reel = session
        .reels
        .get(usize::from(id.0))
        .and_then(Option::as_ref);
    // Of one that goes on nothing is lacking yet.
    if !reel.is_none_or(|reel| is_closed(reel) || reel.ending().is_still_recorded()) {
        time = node.span.end;
        why.push("it ends before the recording was closed".to_owned());
    }
    let sentence = format!(
        "the reel of {} does not hold all that happened: {}",
        whose(node),
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
        whose(node)
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

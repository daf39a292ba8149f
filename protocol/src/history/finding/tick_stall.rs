//! `tick-stall`: a node's layer began no tick for longer than a bound.
//!
//! What a program does between its ticks is its own business, so that there is no bound unless one is
//! set: a warning then. A stretch that the reel does not hold is no stall.

use super::prelude::*;
use crate::session::Way;

/// The longest stall of a node.
struct Stall {
    stalls: u64,
    /// The tick before it, and the one that ended it.
    between: (Stamp, Stamp),
}

impl Stall {
    fn length_ns(&self) -> i64 {
        let (before, after) = self.between;
        after.time.since(before.time)
    }
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let Some(longest) = session.bounds.tick_stall.longest else {
        return Vec::new();
    };
    let nodes = session.numbered_nodes().map(|(node, _)| node);
    // A longer one may come.
    let found = nodes.filter_map(|node| {
        let stall = of_node(session, node, longest.0)?;
        Some(finding(session, node, &stall))
    });
    found.collect()
}

fn of_node(session: &Session, node: NodeId, longest_ns: i64) -> Option<Stall> {
    let holes = &session.node(node)?.holes;
    let is_held = |before: Stamp, after: Stamp| {
        let mut holes = holes.iter();
        !holes.any(|hole| hole.time.start < after.time && before.time < hole.time.end)
    };
    let mut worst: Option<Stall> = None;
    let mut before: Option<Stamp> = None;
    for after in session.ticks(node) {
        let Some(before) = before.replace(after) else {
            continue;
        };
        let between = (before, after);
        let stall = Stall { stalls: 1, between };
        if stall.length_ns() <= longest_ns || !is_held(before, after) {
            continue;
        }
        let known = worst.get_or_insert(Stall { stalls: 0, between });
        known.stalls += 1;
        if stall.length_ns() > known.length_ns() {
            known.between = between;
        }
    }
    worst
}

fn finding(session: &Session, node: NodeId, stall: &Stall) -> Found {
    let (_, after) = stall.between;
    let last = session.before(node, Way::Out, after.number);
    let first = session.after(node, Way::Out, after.number);
    let piece = |send: Option<Stamp>, what| at_event(session, node, send?, what);
    let pieces = [
        piece(last, "the last packet before the next tick"),
        piece(first, "the first packet in it"),
    ];
    let sentence = format!(
        "{} began no tick for {}{}",
        session.name(node),
        duration(stall.length_ns()),
        and_more(stall.stalls),
    );
    Found::new(Level::Warning, node, after.time, pieces, sentence)
}

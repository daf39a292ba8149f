//! `clock-set`: the clock of a node's machine was set while it was recorded.
//!
//! The packets show it where clocks of several machines are brought together. The session's times are
//! right before and after; in between nobody knows. A warning: what the game reckons by the clock
//! jumped too.

use super::prelude::*;
use crate::session::{ClockStep, Way};

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let nodes = case.session.numbered_nodes();
    let steps = nodes.flat_map(|(id, node)| node.clock_steps.iter().map(move |step| (id, step)));
    let found = steps.map(|(node, step)| finding(case.session, node, step));
    found.collect()
}

fn finding(session: &Session, node: NodeId, step: &ClockStep) -> Found {
    let (way, other) = if step.by_ns < 0 {
        ("back", "forward")
    } else {
        ("forward", "back")
    };
    let or_else = if step.or_else {
        format!("; or else the clocks that it was held against were set {other} by as much")
    } else {
        String::new()
    };
    let sentence = format!(
        "the clock of {} was set {way} by {}{or_else}",
        session.name(node),
        duration(step.by_ns.saturating_abs()),
    );
    let time = step.time.end.max(step.time.start);
    Found::new(
        Level::Warning,
        node,
        time,
        evidence(session, node, step),
        sentence,
    )
}

/// The last packet before the clock was set for sure, and the first after it.
fn evidence(session: &Session, node: NodeId, step: &ClockStep) -> [Option<Evidence>; 2] {
    let ways = [Way::Out, Way::In].map(|way| session.moments(node, way));
    let ways = || ways.iter().flatten();
    let before = ways().filter_map(|all| {
        let after = all.place(SessionTime(step.time.start.0.saturating_add(1)));
        all.stamp(after.checked_sub(1)?)
    });
    let after = ways().filter_map(|all| all.stamp(all.place(step.time.end)));
    let piece = |at: Option<Stamp>, what| at_event(session, node, at?, what);
    [
        piece(
            before.max_by_key(|it| it.number),
            "the last packet before it",
        ),
        piece(after.min_by_key(|it| it.number), "the first after it"),
    ]
}

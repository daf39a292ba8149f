//! `clock-set`: the clock of a node's machine was set while it was recorded.
//!
//! The packets show it where clocks of several machines are brought together. The session's times are
//! right before and after; in between nobody knows. A warning: what the game reckons by the clock
//! jumped too.

use super::Found;
use super::words::at_event;
use crate::figures::duration;
use crate::history::{Evidence, Finding, History, Level};
use crate::session::{ClockStep, NodeId, Session, SessionTime, Way};

pub(super) const RULE: &str = "clock-set";

pub(super) fn find(session: &Session, _: &History) -> Vec<Found> {
    let nodes = (0u16..).map(NodeId).zip(&session.nodes);
    let steps = nodes.flat_map(|(id, node)| node.clock_steps.iter().map(move |step| (id, step)));
    let found = steps.map(|(node, step)| Found::from(finding(session, node, step)));
    found.collect()
}

fn finding(session: &Session, node: NodeId, step: &ClockStep) -> Finding {
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
    Finding {
        rule: RULE,
        level: Level::Warning,
        node,
        objects: Vec::new(),
        each: Vec::new(),
        time: step.time.end.max(step.time.start),
        sentence: format!(
            "the clock of {} was set {way} by {}{or_else}",
            session.name(node),
            duration(step.by_ns.saturating_abs()),
        ),
        evidence: evidence(session, node, step),
    }
}

/// The last packet before the clock was set for sure, and the first after it.
fn evidence(session: &Session, node: NodeId, step: &ClockStep) -> Vec<Evidence> {
    let ways = [Way::Out, Way::In].map(|way| session.moments(node, way));
    let ways = || ways.iter().flatten();
    let before = ways().filter_map(|all| {
        let after = all.place(SessionTime(step.time.start.0.saturating_add(1)));
        all.stamp(after.checked_sub(1)?)
    });
    let after = ways().filter_map(|all| all.stamp(all.place(step.time.end)));
    let ends = [
        (
            before.max_by_key(|it| it.number),
            "the last packet before it",
        ),
        (after.min_by_key(|it| it.number), "the first after it"),
    ];
    let pieces = ends
        .into_iter()
        .filter_map(|(stamp, what)| at_event(session, node, stamp?, what));
    pieces.collect()
}

//! Reasons about nodes: who has no reel, and whose program nobody watched.

use std::collections::BTreeSet;

use super::reason::{CAPTURED, CLOCK, NO_REEL, OBSERVED, PROXIED, Reason, list, names};
use crate::session::{Node, NodeId, Observer, Session};

/// The nodes that took part and have no reel, with their numbers in the protocol: a name they lack.
pub(super) fn without_reel(session: &Session, missing: &BTreeSet<NodeId>) -> Option<Reason> {
    let called = |id: &NodeId| {
        let peer = session.node(*id)?.peer;
        peer.map(|peer| format!("{} (peer {peer})", session.name(*id)))
    };
    let told: Vec<String> = missing
        .iter()
        .map(|id| called(id).unwrap_or_else(|| session.name(*id)))
        .collect();
    let sentence = match told.as_slice() {
        [] => return None,
        [only] => format!("{only} took part and has no reel"),
        _ => format!(
            "{} nodes took part and have no reel: {}",
            told.len(),
            list(&told)
        ),
    };
    let nodes = names(session, missing.iter().copied());
    Some(Reason::about(NO_REEL, nodes, sentence))
}

/// The observers that are all that is known of some node. Without a wire that is whoever was seen:
/// nobody can tell who took part.
pub(super) fn needed_observers<'a>(
    session: &'a Session,
    missing: &BTreeSet<NodeId>,
) -> Vec<&'a Observer> {
    let places = session.numbered_nodes();
    let mut seen = places.filter(|(_, node)| node.seen && !node.recorded);
    let needed = seen.any(|(id, _)| session.wire.is_none() || missing.contains(&id));
    let observers = session.observers.iter();
    observers
        .filter(|observer| needed && observer.packets > 0)
        .collect()
}

pub(super) fn observed(observers: &[&Observer]) -> Option<Reason> {
    let names: Vec<String> = observers.iter().map(|each| each.name.clone()).collect();
    let what = match names.len() {
        0 => return None,
        1 => "is a packet capture: what programs read of it is unknown",
        _ => "are packet captures: what programs read of them is unknown",
    };
    let sentence = format!("{} {what}", list(&names));
    Some(Reason::about(OBSERVED, names, sentence))
}

/// Nodes whose reels were made of a capture.
pub(super) fn captured(session: &Session) -> Option<Reason> {
    let names = named(session, |_, node| node.captured);
    let (are, whose) = known(&names)?;
    let sentence = format!(
        "{} {are} known from a packet capture: what {whose} read is unknown",
        list(&names)
    );
    Some(Reason::about(CAPTURED, names, sentence))
}

/// Nodes that are known from a proxy's reel alone: behind it a packet may still be lost, late or
/// out of order.
pub(super) fn proxied(session: &Session) -> Option<Reason> {
    let names = named(session, |id, node| {
        node.proxied && session.crossings(id).next().is_some()
    });
    let (are, whose) = known(&names)?;
    let sentence = format!(
        "{} {are} known from a proxy: what {whose} got of what it passed on, and when, is unknown",
        list(&names)
    );
    Some(Reason::about(PROXIED, names, sentence))
}

/// Nodes whose times nothing ties to the others'.
pub(super) fn clocks(session: &Session) -> Option<Reason> {
    let names = named(session, |id, node| {
        let untied = node.recorded && node.clock_error_ns == u64::MAX;
        untied && session.crossings(id).next().is_some()
    });
    let clocks = match names.len() {
        0 => return None,
        1 => "clock",
        _ => "clocks",
    };
    let sentence = format!(
        "no packets both ways tie the {clocks} of {} to the others: what came first is unknown",
        list(&names)
    );
    Some(Reason::about(CLOCK, names, sentence))
}

fn named(session: &Session, which: impl Fn(NodeId, &Node) -> bool) -> Vec<String> {
    let places = session.numbered_nodes();
    let those = places.filter(|(id, node)| which(*id, node));
    those.map(|(_, node)| node.name.clone()).collect()
}

/// The verb for these, and whose programs are meant; `None` for nobody.
fn known(names: &[String]) -> Option<(&'static str, &'static str)> {
    match names.len() {
        0 => None,
        1 => Some(("is", "its program")),
        _ => Some(("are", "their programs")),
    }
}

//! The two sessions that are compared, and the nodes that both have.

use std::collections::BTreeMap;

use crate::history::History;
use crate::session::{NodeId, Session, SessionTime};

/// One of the two sessions.
#[derive(Clone, Copy)]
pub struct ComparedSession<'a> {
    /// Its packets.
    pub session: &'a Session,
    /// What followed from them.
    pub history: &'a History,
}

/// The nodes that both sessions have: their places on either side.
pub(super) struct CommonNodes {
    pub names: Vec<String>,
    /// Whether both sessions have migration counters.
    pub counts: bool,
    pub sides: [BTreeMap<NodeId, u16>; 2],
}

/// The nodes that both sessions have, and the names of those that one has alone.
pub(super) fn common_nodes(sides: [ComparedSession<'_>; 2]) -> (CommonNodes, [Vec<String>; 2]) {
    let names = sides.map(|side| {
        let nodes = side.session.numbered_nodes();
        nodes
            .map(|(id, node)| (node.name.clone(), id))
            .collect::<BTreeMap<String, NodeId>>()
    });
    let [one, other] = &names;
    let only = |this: &BTreeMap<String, NodeId>, that: &BTreeMap<String, NodeId>| {
        let all = this.keys().filter(|name| !that.contains_key(*name));
        all.cloned().collect::<Vec<_>>()
    };
    let other_nodes = [only(one, other), only(other, one)];
    let has_counters = |side: &ComparedSession<'_>| {
        let mut messages = side.session.messages();
        messages.any(|message| message.facts.migration_counter.is_some())
    };
    let mut common = CommonNodes {
        names: Vec::new(),
        counts: sides.iter().all(has_counters),
        sides: [BTreeMap::new(), BTreeMap::new()],
    };
    // In the order of the first session's nodes.
    for node in &sides[0].session.nodes {
        let (Some(&first), Some(&second)) = (one.get(&node.name), other.get(&node.name)) else {
            continue;
        };
        let place = common.names.len() as u16;
        common.names.push(node.name.clone());
        common.sides[0].insert(first, place);
        common.sides[1].insert(second, place);
    }
    (common, other_nodes)
}

/// The earlier of two moments.
pub(super) fn earlier(one: Option<SessionTime>, other: Option<SessionTime>) -> SessionTime {
    let times = [one, other].into_iter().flatten();
    times.min().unwrap_or_default()
}

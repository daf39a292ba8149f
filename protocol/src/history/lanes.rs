//! The ownership lanes of all nodes, side by side.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use netreel_table::Column;

use super::delivered::Deliveries;
use super::unrecorded::unrecorded;
use super::walked::NodeHistory;
use super::{Belief, History, Parting, Span};
use crate::session::{NodeId, Session, SessionTime};

/// Brings the deliveries and the lanes of all nodes together.
pub(super) fn merge(mut nodes: Vec<(NodeId, NodeHistory)>, history: &mut History) {
    let places = merge_deliveries(&mut nodes, history);
    let mut types: BTreeMap<u64, (u32, u64)> = BTreeMap::new();
    for ((id, node), places) in nodes.into_iter().zip(places) {
        let global = |place: u32| places.get(place as usize) as u32;
        for (object, mut lane) in node.lanes {
            for span in &mut lane {
                span.because = global(span.because);
            }
            // What was believed last was believed to the end.
            if let Some(last) = lane.last_mut() {
                last.time.end = node.end.max(last.time.start);
            }
            lane.shrink_to_fit();
            let known = history.objects.entry(object).or_default();
            known.lanes.insert(id, lane);
        }
        for (object, (place, object_type)) in node.types {
            let told = (global(place), object_type);
            let first = types.entry(object).or_insert(told);
            *first = told.min(*first);
        }
        let partings = node.partings.into_iter();
        history.partings.extend(partings.map(|parting| Parting {
            delivery: global(parting.delivery),
            ..parting
        }));
    }
    history
        .partings
        .sort_unstable_by_key(|parting| parting.delivery);
    for (object, (_, object_type)) in types {
        if let Some(object) = history.objects.get_mut(&object) {
            object.object_type = Some(object_type);
        }
    }
}

/// Moves the deliveries of all nodes into one order, that of their times; of each node where its own stand
/// there. A node's own order holds even where its clock does not.
fn merge_deliveries(nodes: &mut [(NodeId, NodeHistory)], history: &mut History) -> Vec<Column> {
    let mut places = vec![Column::new(); nodes.len()];
    let mut heap: BinaryHeap<Reverse<(SessionTime, usize)>> = BinaryHeap::new();
    for (index, (_, node)) in nodes.iter().enumerate() {
        if !node.deliveries.is_empty() {
            heap.push(Reverse((node.deliveries.time(0), index)));
        }
    }
    let mut order = Column::new();
    let mut about: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((latest, index)) = *top;
        let (Some((_, node)), Some(places)) = (nodes.get(index), places.get_mut(index)) else {
            break;
        };
        let place = places.len();
        if place + 1 < node.deliveries.len() {
            *top = Reverse((latest.max(node.deliveries.time(place + 1)), index))
        } else {
            PeekMut::pop(top);
        }
        let global = order.len() as u32;
        places.push(u64::from(global));
        order.push(index as u64);
        if let Some(object) = node.about.get_some(place) {
            about.entry(object).or_default().push(global);
            if node.deliveries.is_telling(place as u32) {
                history.telling.entry(object).or_default().push(global);
            }
        }
    }
    nodes
        .iter_mut()
        .for_each(|(_, node)| node.about = Column::new());
    for (object, mut deliveries) in about {
        deliveries.shrink_to_fit();
        history.objects.entry(object).or_default().deliveries = deliveries;
    }
    let parts = nodes
        .iter_mut()
        .map(|(_, node)| std::mem::take(&mut node.deliveries));
    history.deliveries = Deliveries::merged(&order, parts.collect());
    places
}

/// Marks the ends of lanes in which a node believes in an owner that destroyed the object or left:
/// no message that would end it is under way.
pub(super) fn orphan(session: &Session, history: &mut History) {
    if unrecorded(session).is_some() {
        return; // what is under way from whoever was not recorded cannot be seen
    }
    let awaited = awaited(session, history);
    let left = departures(history);
    let mut objects = std::mem::take(&mut history.objects);
    for (&id, object) in &mut objects {
        let mut orphaned: Vec<(NodeId, SessionTime, u32)> = Vec::new();
        for (&node, lane) in &object.lanes {
            let Some(last) = lane.last() else { continue };
            let Belief::Owned(peer) = last.belief else {
                continue;
            };
            let Some(owner) = session.node_of_peer(peer).filter(|&owner| owner != node) else {
                continue;
            };
            let complete = session.node(node).is_some_and(|each| each.complete);
            if !complete || awaited.contains(&(node, id)) {
                continue;
            }
            let destroyed = object
                .lanes
                .get(&owner)
                .and_then(|lane| lane.last())
                .filter(|span| span.belief == Belief::Destroyed)
                .map(|span| (span.time.start, span.because));
            let heard_leave = left.get(&(node, peer)).copied();
            let since = [destroyed, heard_leave].into_iter().flatten().min();
            if let Some((time, because)) = since {
                orphaned.push((node, time, because));
            }
        }
        for (node, time, because) in orphaned {
            if let Some(lane) = object.lanes.get_mut(&node) {
                end_in_orphan(lane, time, because);
            }
        }
    }
    history.objects = objects;
}

fn end_in_orphan(lane: &mut Vec<Span>, time: SessionTime, because: u32) {
    let Some(last) = lane.last_mut() else { return };
    let Belief::Owned(owner) = last.belief else {
        return;
    };
    if time <= last.time.start {
        last.belief = Belief::Orphaned(owner);
        return;
    }
    let end = last.time.end;
    if time >= end {
        return;
    }
    last.time.end = time;
    let counter = last.counter;
    lane.push(Span {
        time: time..end,
        belief: Belief::Orphaned(owner),
        counter,
        because,
        said: None,
    });
}

/// The nodes and objects for which a reliable message that could change a belief is under way.
pub(super) fn awaited(session: &Session, history: &History) -> BTreeSet<(NodeId, u64)> {
    let mut awaited = BTreeSet::new();
    for &message in &history.undelivered {
        let object = history
            .facts(session, message)
            .and_then(|facts| facts.object);
        let packet = session.carrier(message);
        let link = packet.and_then(|packet| session.link(packet));
        if let (Some(object), Some((_, to))) = (object, link) {
            awaited.insert((to, object));
        }
    }
    awaited
}

/// The nodes that were sent word of a peer's leaving and have not got it: each with that peer.
pub(super) fn unaware(session: &Session, history: &History) -> BTreeSet<(NodeId, u64)> {
    let told = departures(history);
    let sent = history.parting_messages.iter().filter_map(|&message| {
        let message = session.message(message)?;
        let (from, to) = session.link(message.packet)?;
        let node = session.node(from)?;
        Some((to, message.facts.origin.or(node.peer)?))
    });
    sent.filter(|it| !told.contains_key(it)).collect()
}

/// For each node and each peer whose leaving it was told, when, and the delivery.
fn departures(history: &History) -> BTreeMap<(NodeId, u64), (SessionTime, u32)> {
    let mut left = BTreeMap::new();
    for parting in &history.partings {
        if let Some(delivery) = history.deliveries.get(parting.delivery as usize) {
            left.entry((delivery.node, parting.peer))
                .or_insert((delivery.at.time, parting.delivery));
        }
    }
    left
}

/// When each node's part in the session ended, as it knew itself: when it sent that it leaves, was
/// told that it is out, or sent its last packet while the others went on without it.
///
/// What others say of a node does not count: who is cut off from them plays on.
pub(super) fn departures_of_nodes(
    session: &Session,
    history: &History,
) -> BTreeMap<NodeId, SessionTime> {
    let mut left = partings_of_nodes(session, history);
    for (node, time) in fallen_silent(session) {
        let first = left.entry(node).or_insert(time);
        *first = time.min(*first);
    }
    left
}

/// The same of nodes that sent that they leave, or were told that they are out.
pub(super) fn partings_of_nodes(
    session: &Session,
    history: &History,
) -> BTreeMap<NodeId, SessionTime> {
    let mut left: BTreeMap<NodeId, SessionTime> = BTreeMap::new();
    let mut leaves = |node: NodeId, time: SessionTime| {
        let first = left.entry(node).or_insert(time);
        *first = time.min(*first);
    };
    let peer = |node: NodeId| session.node(node).and_then(|node| node.peer);
    for &message in &history.parting_messages {
        let Some(message) = session.message(message) else {
            continue;
        };
        let origin = message.facts.origin;
        if let Some((from, _)) = session.link(message.packet)
            && let Some((true, sent)) = session.departed(message.packet)
            && (origin.is_none() || origin == peer(from))
        {
            leaves(from, sent.time);
        }
    }
    for parting in history.partings.iter().filter(|parting| parting.is_named) {
        let Some(delivery) = history.deliveries.get(parting.delivery as usize) else {
            continue;
        };
        if Some(parting.peer) == peer(delivery.node) {
            leaves(delivery.node, delivery.at.time);
        }
    }
    left
}

/// A node whose reel goes on for this long without a packet may have ended its part.
const SILENT_NS: i64 = 1_000_000_000;

/// Nodes that stopped sending while others went on, and when each sent last. A node that hears
/// nothing of the others for too long ends its part without a word: then its silence is longer than
/// any before, and longer than [`SILENT_NS`].
fn fallen_silent(session: &Session) -> Vec<(NodeId, SessionTime)> {
    let nodes = (0u16..).zip(&session.nodes);
    let recorded: Vec<NodeId> = nodes
        .filter(|(_, node)| node.recorded)
        .map(|(place, _)| NodeId(place))
        .collect();
    let mut lasts: Vec<(NodeId, SessionTime, i64)> = Vec::new();
    for &node in &recorded {
        let sent = session.sent(node);
        lasts.extend(sent.map(|(last, longest)| (node, last, longest)));
    }
    let mut silent = Vec::new();
    for &(node, last, longest) in &lasts {
        let others = lasts.iter().filter(|(other, ..)| *other != node);
        let Some(others_last) = others.map(|&(_, time, _)| time).max() else {
            continue;
        };
        let Some(end) = session.node(node).map(|node| node.span.end) else {
            continue;
        };
        let silence = end.min(others_last).0.saturating_sub(last.0);
        if silence > SILENT_NS && silence > longest.saturating_mul(2) {
            silent.push((node, last));
        }
    }
    silent
}

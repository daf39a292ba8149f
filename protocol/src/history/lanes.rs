//! The ownership lanes of all nodes, side by side.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::Role;

use super::nodes::{NodeHistory, is_about_object};
use super::settled::unrecorded;
use super::{Belief, History, Span};
use crate::session::{NodeId, Session, SessionTime, Way};

/// Brings the nodes' deliveries into one order and their lanes together.
pub(super) fn merge(session: &Session, nodes: Vec<(NodeId, NodeHistory)>, history: &mut History) {
    let mut places: Vec<Vec<u32>> = Vec::with_capacity(nodes.len());
    let mut order: Vec<(SessionTime, usize, usize)> = Vec::new();
    for (index, (_, node)) in nodes.iter().enumerate() {
        places.push(vec![0; node.deliveries.len()]);
        // A node's own order holds even where its clock does not.
        let mut latest = SessionTime(i64::MIN);
        for (place, delivery) in node.deliveries.iter().enumerate() {
            latest = latest.max(delivery.at.time);
            order.push((latest, index, place));
        }
    }
    order.sort_unstable();
    history.deliveries.reserve_exact(order.len());
    for (global, &(_, index, place)) in order.iter().enumerate() {
        places[index][place] = global as u32;
        history
            .deliveries
            .push(nodes[index].1.deliveries[place].clone());
    }
    for ((id, node), places) in nodes.into_iter().zip(&places) {
        for (object, mut lane) in node.lanes {
            for span in &mut lane {
                span.because = places.get(span.because as usize).copied().unwrap_or(0);
            }
            history
                .objects
                .entry(object)
                .or_default()
                .lanes
                .insert(id, lane);
        }
    }
    let deliveries = std::mem::take(&mut history.deliveries);
    for (place, delivery) in deliveries.iter().enumerate() {
        let Some(facts) = history.facts(session, delivery.message) else {
            continue;
        };
        let (object, object_type) = (facts.object, facts.object_type);
        if let (true, Some(object)) = (is_about_object(session.role(facts)), object) {
            let object = history.objects.entry(object).or_default();
            object.object_type = object.object_type.or(object_type);
            object.deliveries.push(place as u32);
        }
    }
    history.deliveries = deliveries;
}

/// Marks the ends of lanes in which a node believes in an owner that destroyed the object or left:
/// no message that would end it is under way.
pub(super) fn orphan(session: &Session, history: &mut History) {
    if unrecorded(session).is_some() {
        return; // what is under way from whoever was not recorded cannot be seen
    }
    let awaited = awaited(session, history);
    let left = departures(session, history);
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
            let complete = session
                .nodes
                .get(usize::from(node.0))
                .is_some_and(|each| each.complete);
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
    });
}

/// The nodes and objects for which a reliable message that could change a belief is under way.
pub(super) fn awaited(session: &Session, history: &History) -> BTreeSet<(NodeId, u64)> {
    let mut awaited = BTreeSet::new();
    for &message in &history.undelivered {
        let Some(facts) = history.facts(session, message) else {
            continue;
        };
        let packet = session
            .message(message)
            .and_then(|message| session.packet(message.packet));
        if let (Some(object), Some(packet)) = (facts.object, packet) {
            awaited.insert((packet.to, object));
        }
    }
    awaited
}

/// For each node and each peer whose leaving it was told, when, and the delivery.
fn departures(session: &Session, history: &History) -> BTreeMap<(NodeId, u64), (SessionTime, u32)> {
    let mut left = BTreeMap::new();
    for (place, delivery) in history.deliveries.iter().enumerate() {
        let Some(facts) = history.facts(session, delivery.message) else {
            continue;
        };
        if session.role(facts) != Role::Disconnect {
            continue;
        }
        let sender = session
            .message(delivery.message)
            .and_then(|message| session.packet(message.packet))
            .and_then(|packet| session.nodes.get(usize::from(packet.from.0)))
            .and_then(|node| node.peer);
        if let Some(peer) = facts.origin.or(sender) {
            left.entry((delivery.node, peer))
                .or_insert((delivery.at.time, place as u32));
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
    let mut left: BTreeMap<NodeId, SessionTime> = BTreeMap::new();
    let mut leaves = |node: NodeId, time: SessionTime| {
        let first = left.entry(node).or_insert(time);
        *first = time.min(*first);
    };
    let peer = |node: NodeId| {
        session
            .nodes
            .get(usize::from(node.0))
            .and_then(|node| node.peer)
    };
    for message in &session.messages {
        if session.role(&message.facts) != Role::Disconnect {
            continue;
        }
        let Some(packet) = session.packet(message.packet) else {
            continue;
        };
        let origin = message.facts.origin;
        if let Some(sent) = packet.sent
            && (origin.is_none() || origin == peer(packet.from))
        {
            leaves(packet.from, sent.time);
        }
    }
    for delivery in &history.deliveries {
        let Some(facts) = history.facts(session, delivery.message) else {
            continue;
        };
        let is_own = facts.origin.is_some() && facts.origin == peer(delivery.node);
        if is_own && session.role(facts) == Role::Disconnect {
            leaves(delivery.node, delivery.at.time);
        }
    }
    for (node, time) in fallen_silent(session) {
        leaves(node, time);
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
        let sends = session
            .crossings(node)
            .filter(|(crossing, _)| crossing.way == Way::Out)
            .map(|(_, stamp)| stamp.time);
        let mut last: Option<SessionTime> = None;
        let mut longest = 0;
        for time in sends {
            if let Some(before) = last {
                longest = longest.max(time.0.saturating_sub(before.0));
            }
            last = last.max(Some(time));
        }
        lasts.extend(last.map(|last| (node, last, longest)));
    }
    let mut silent = Vec::new();
    for &(node, last, longest) in &lasts {
        let others = lasts.iter().filter(|(other, ..)| *other != node);
        let Some(others_last) = others.map(|&(_, time, _)| time).max() else {
            continue;
        };
        let Some(end) = session
            .nodes
            .get(usize::from(node.0))
            .map(|node| node.span.end)
        else {
            continue;
        };
        let silence = end.min(others_last).0.saturating_sub(last.0);
        if silence > SILENT_NS && silence > longest.saturating_mul(2) {
            silent.push((node, last));
        }
    }
    silent
}

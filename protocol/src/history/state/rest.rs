//! Whether nodes agree about the values of objects when all is delivered.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::{PropertyId, Role};

use super::{Apart, Held, States};
use crate::history::existence;
use crate::history::settled::{Settled, Settlement, present};
use crate::history::{Belief, ExistenceDifference, History};
use crate::session::{NodeId, Session, SessionTime};

/// What nodes believe of values when all is delivered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rest {
    /// How many values of nodes are those of the objects' owners.
    pub agreed: u64,
    /// Those that are not, ordered by object, property and node.
    pub differ: Vec<RestDifference>,
    /// How many words of nodes about an object's existence are those of its owner.
    pub existing: u64,
    /// The nodes at which an object exists, or does not, against its owner's word; by object and node.
    pub existence: Vec<ExistenceDifference>,
    /// Of how many objects nobody can say whether all is delivered.
    pub open: u64,
    /// Why, of the first of them.
    pub why_open: Option<String>,
}

/// A node that believes in another value than the object's owner.
#[derive(Clone, Debug, PartialEq)]
pub struct RestDifference {
    /// The object.
    pub object: u64,
    /// Its property.
    pub property: PropertyId,
    /// Who owns it.
    pub owner: NodeId,
    /// Who believes in another value.
    pub node: NodeId,
    /// How far they are apart.
    pub apart: Apart,
    /// What the owner says.
    pub owned: Held,
    /// What the node believes.
    pub held: Held,
}

/// The objects that live at several nodes when the session ends, with their owners, and that nothing
/// more is said of; and those of which nobody can say that.
pub(in crate::history) struct Resting {
    pub objects: BTreeMap<u64, (NodeId, Vec<NodeId>)>,
    /// All was delivered of these, and something may be said of them yet: where their values are those of
    /// their owners they agree, and where they are not nobody can say whether they will.
    early: BTreeMap<u64, (NodeId, Vec<NodeId>, String)>,
    open: u64,
    why_open: Option<String>,
}

impl Resting {
    pub fn new(session: &Session, history: &History, explained: &BTreeSet<u64>) -> Resting {
        let mut resting = Resting {
            objects: BTreeMap::new(),
            early: BTreeMap::new(),
            open: 0,
            why_open: None,
        };
        let settlement = Settlement::new(session, history);
        let present = present(session, history);
        for (&id, object) in &history.objects {
            let last = |node: &NodeId| Some(object.lanes.get(node)?.last()?.belief);
            let alive: Vec<NodeId> = present
                .iter()
                .copied()
                .filter(|node| matches!(last(node), Some(Belief::Owned(_) | Belief::Orphaned(_))))
                .collect();
            let owns = |node: &NodeId| {
                let node_peer = session.node(*node);
                let peer = node_peer.and_then(|node| node.peer);
                peer.is_some_and(|peer| last(node) == Some(Belief::Owned(peer)))
            };
            let mut owners = alive.iter().filter(|node| owns(node));
            let (Some(&owner), None) = (owners.next(), owners.next()) else {
                continue;
            };
            if alive.len() < 2 || explained.contains(&id) {
                continue;
            }
            match settlement.at_rest(id, object, &present) {
                Settled::Yes => {
                    resting.objects.insert(id, (owner, alive));
                }
                Settled::Unknown(why) => match settlement.delivered(id, object, &present) {
                    Settled::Yes => {
                        resting.early.insert(id, (owner, alive, why));
                    }
                    Settled::Unknown(_) => resting.leave_open(why),
                },
            }
        }
        if resting.objects.is_empty() {
            return resting;
        }
        let ends = present.iter().filter_map(|node| {
            let node = session.node(*node);
            node.map(|node| node.span.end)
        });
        let (end, quiet_ns) = (ends.min().unwrap_or_default(), settlement.answer_ns());
        for id in spoken_since(session, &resting.objects, (end, quiet_ns)) {
            if let Some((owner, alive)) = resting.objects.remove(&id) {
                let why = "the reels end too soon after the last UPDATE".to_owned();
                resting.early.insert(id, (owner, alive, why));
            }
        }
        resting
    }

    fn leave_open(&mut self, why: String) {
        self.open += 1;
        self.why_open.get_or_insert(why);
    }

    /// Compares what nodes believe in the end.
    pub fn compare(mut self, states: &States) -> Rest {
        let mut rest = Rest::default();
        let known = states.objects();
        let properties = |object: u64| known.get(&object).into_iter().flatten().copied();
        for (&object, (owner, nodes)) in &self.objects {
            for property in properties(object) {
                let (agreed, differ) = compared(states, (object, property), *owner, nodes);
                rest.agreed += agreed;
                rest.differ.extend(differ);
            }
        }
        for (object, (owner, nodes, why)) in std::mem::take(&mut self.early) {
            let all = properties(object)
                .map(|property| compared(states, (object, property), owner, &nodes));
            let (agreed, differ): (Vec<u64>, Vec<_>) = all.unzip();
            if differ.iter().all(Vec::is_empty) {
                rest.agreed += agreed.iter().sum::<u64>()
            } else {
                self.leave_open(why)
            }
        }
        rest.open = self.open;
        rest.why_open = self.why_open;
        rest
    }
}

/// At how many nodes a property of an object has its owner's value when the session ends, and at which it has
/// another one.
fn compared(
    states: &States,
    (object, property): (u64, PropertyId),
    owner: NodeId,
    nodes: &[NodeId],
) -> (u64, Vec<RestDifference>) {
    let (mut agreed, mut differ) = (0, Vec::new());
    let last = |node| states.at(object, property, node, SessionTime::MAX);
    let Some(owned) = last(owner) else {
        return (agreed, differ);
    };
    for &node in nodes.iter().filter(|node| **node != owner) {
        let Some(held) = last(node) else { continue };
        match states.apart_of(property, &owned.value, &held.value) {
            None => {}
            Some(Apart::Same) => agreed += 1,
            Some(apart) => differ.push(RestDifference {
                object,
                property,
                owner,
                node,
                apart,
                owned: owned.clone(),
                held,
            }),
        }
    }
    (agreed, differ)
}

impl States {
    /// Whether nodes agree about values when all is delivered. The states must be those of all objects.
    pub fn at_rest(&self, session: &Session, history: &History) -> Rest {
        let mut rest = Resting::new(session, history, &BTreeSet::new()).compare(self);
        let existence = existence::at_rest(session, history, &Settlement::new(session, history));
        rest.existing = existence.agreed;
        rest.existence = existence.differ;
        for (.., why) in existence.open {
            rest.open += 1;
            rest.why_open.get_or_insert(why);
        }
        rest
    }
}

/// The objects of which an UPDATE was sent, or seen, so late before the end.
fn spoken_since(
    session: &Session,
    objects: &BTreeMap<u64, (NodeId, Vec<NodeId>)>,
    (end, quiet_ns): (SessionTime, i64),
) -> BTreeSet<u64> {
    let since = end.0.saturating_sub(quiet_ns);
    let mut spoken = BTreeSet::new();
    for packet in session.packets_since(SessionTime(since.saturating_sub(quiet_ns))) {
        let first = session.packet(packet).and_then(|it| it.first());
        if first.is_none_or(|first| first.time.0 <= since) {
            continue;
        }
        for (_, facts) in session.messages_of(packet) {
            let object = facts.object.filter(|it| objects.contains_key(it));
            if let Some(object) = object
                && session.role(&facts) == Role::Update
            {
                spoken.insert(object);
            }
        }
    }
    spoken
}

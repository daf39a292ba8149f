//! What nodes came to believe of objects, and the last values of properties.

use std::collections::{BTreeMap, BTreeSet};

use netreel_system::Cancel;
use netreel_wire::{Property, PropertyId};

use super::sides::{CommonNodes, ComparedSession, earlier};
use crate::history::state::{Apart, Held, Known, States};
use crate::history::{Belief, Span};
use crate::session::{NodeId, SessionTime};

/// A belief and the migration counter that it came with.
pub type Counted = (Belief, Option<u64>);

/// What a node came to believe of an object otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Believed {
    /// The object.
    pub object: u64,
    /// The node: a place in [`super::Diff::nodes`].
    pub node: u16,
    /// Its beliefs in the first and in the second session, one after the other.
    pub beliefs: [Vec<Counted>; 2],
    /// When they part, in the session that is there first.
    pub time: SessionTime,
}

/// A property whose last value is not the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Valued {
    /// The object.
    pub object: u64,
    /// The node: a place in [`super::Diff::nodes`].
    pub node: u16,
    /// The property, as the first wire that has it declares it.
    pub property: Property,
    /// What the node held last in either; `None` where it never heard of it.
    pub values: [Option<Known>; 2],
    /// How far they are apart, where both are values.
    pub apart: Option<Apart>,
}

/// How many lanes there are, and those that differ.
pub(super) fn believed(
    sides: [ComparedSession<'_>; 2],
    common: &CommonNodes,
) -> (u64, Vec<Believed>) {
    let objects: BTreeSet<u64> = sides
        .iter()
        .flat_map(|side| side.history.objects.keys().copied())
        .collect();
    let back = [0, 1].map(|side| back(common, side));
    let (mut compared, mut differ) = (0, Vec::new());
    for object in objects {
        for node in 0..common.names.len() {
            let lanes = [0, 1].map(|side| lane(sides[side], object, back[side].get(node)));
            if lanes.iter().all(|lane| lane.is_empty()) {
                continue;
            }
            compared += 1;
            let [one, other] = lanes.map(|lane| distinct(lane, common.counts));
            let parts = parting(&one, &other);
            if one.len() == other.len() && parts == one.len() {
                continue;
            }
            let time = |lane: &[(Counted, SessionTime)]| lane.get(parts).map(|&(_, at)| at);
            let time = earlier(time(&one), time(&other));
            let beliefs = [one, other].map(|lane| lane.into_iter().map(|(it, _)| it).collect());
            differ.push(Believed {
                object,
                node: node as u16,
                beliefs,
                time,
            });
        }
    }
    (compared, differ)
}

/// The nodes of one side, by their common places.
fn back(common: &CommonNodes, side: usize) -> Vec<NodeId> {
    let places: BTreeMap<u16, NodeId> = common.sides[side].iter().map(|(&n, &p)| (p, n)).collect();
    places.into_values().collect()
}

fn lane<'a>(side: ComparedSession<'a>, object: u64, node: Option<&NodeId>) -> &'a [Span] {
    let object = side.history.objects.get(&object);
    let lane = object.and_then(|object| object.lanes.get(node?));
    lane.map_or(&[], Vec::as_slice)
}

/// Beliefs with the moments from which they hold; what is said twice in a row is one.
fn distinct(lane: &[Span], counts: bool) -> Vec<(Counted, SessionTime)> {
    let mut told: Vec<_> = lane
        .iter()
        .map(|span| {
            (
                (span.belief, span.counter.filter(|_| counts)),
                span.time.start,
            )
        })
        .collect();
    told.dedup_by_key(|&mut (belief, _)| belief);
    told
}

/// The first place at which they are not the same.
fn parting(one: &[(Counted, SessionTime)], other: &[(Counted, SessionTime)]) -> usize {
    let pairs = one.iter().zip(other);
    pairs
        .take_while(|((one, _), (other, _))| one == other)
        .count()
}

/// How many values were compared, and those that differ.
pub(super) fn valued(
    sides: [ComparedSession<'_>; 2],
    common: &CommonNodes,
    cancel: &Cancel,
) -> (u64, Vec<Valued>) {
    let has_properties = |side: &ComparedSession<'_>| {
        let wire = side.session.wire.as_ref();
        wire.is_some_and(|wire| !wire.properties().is_empty())
    };
    if !sides.iter().any(has_properties) {
        return (0, Vec::new());
    }
    let states = sides.map(|side| States::of(side.session, side.history, &|_| cancel.goes_on()));
    let back = [0, 1].map(|side| back(common, side));
    // By their names: the wires need not be one.
    let mut asked: BTreeSet<(u64, String)> = BTreeSet::new();
    for states in &states {
        for (object, properties) in states.objects() {
            let names = properties.iter().filter_map(|&it| states.property(it));
            asked.extend(names.map(|property| (object, property.name.clone())));
        }
    }
    let (mut compared, mut differ) = (0, Vec::new());
    for (object, name) in asked {
        let ids = [0, 1].map(|side| id(&states[side], &name));
        for node in 0..common.names.len() {
            let held = [0, 1].map(|side| {
                let node = *back[side].get(node)?;
                last(&states[side], object, ids[side]?, node)
            });
            if held.iter().all(Option::is_none) {
                continue;
            }
            compared += 1;
            let values = held.map(|held| held.map(|held| held.value));
            let apart = match (&values, ids) {
                ([Some(one), Some(other)], [Some(id), _]) => states[0].apart_of(id, one, other),
                _ => None,
            };
            let is_same = match apart {
                Some(apart) => apart == Apart::Same,
                None => values[0] == values[1],
            };
            let property = ids[0]
                .and_then(|id| states[0].property(id))
                .or_else(|| states[1].property(ids[1]?));
            if let Some(property) = property.filter(|_| !is_same) {
                differ.push(Valued {
                    object,
                    node: node as u16,
                    property: property.clone(),
                    values,
                    apart,
                });
            }
        }
    }
    (compared, differ)
}

fn id(states: &States, name: &str) -> Option<PropertyId> {
    let place = states.properties().iter().position(|it| it.name == name)?;
    u16::try_from(place).ok().map(PropertyId)
}

fn last(states: &States, object: u64, property: PropertyId, node: NodeId) -> Option<Held> {
    states.changes(object, property, node).next_back()
}

//! Objects from above: where the nodes believe them to be.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use netreel_protocol::history::state::{Held, Known, Scalar, States};
use netreel_protocol::session::{NodeId, Session, SessionTime};
use netreel_wire::{PropertyId, PropertyKind};

use crate::Model;
use crate::believed::{Believed, ValueRow};
use crate::latest::lock;

/// Where all positions of a session lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// The two parts of a position that are seen from above.
    axes: [usize; 2],
    least: [f64; 2],
    most: [f64; 2],
}

/// An object, where a node believes it to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The object.
    pub object: u64,
    /// Who believes that.
    pub node: NodeId,
    /// Where, in the unit of the property.
    pub at: [f64; 2],
    /// Whether the node owns it.
    pub is_owner: bool,
    /// Whether it is somewhere else for its owner.
    pub differs: bool,
}

/// How many marks are drawn.
pub const MARKS_MAX: usize = 20_000;
/// How many places of a way are drawn, or up to twice as many.
const WAY_MAX: i64 = 400;

impl Extent {
    /// Of three parts the one that varies least is up.
    pub fn of(states: &States, rows: &[ValueRow], session: &Session) -> Option<Extent> {
        let nodes: Vec<NodeId> = (0..session.nodes.len())
            .map(|node| NodeId(node as u16))
            .collect();
        let mut ranges: Vec<(f64, f64)> = Vec::new();
        for row in rows.iter().filter(|row| is_position(states, row.property)) {
            for &node in &nodes {
                for held in states.changes(row.object, row.property, node) {
                    for (place, part) in numbers(&held).into_iter().enumerate() {
                        widen(&mut ranges, place, part);
                    }
                }
            }
        }
        if ranges.len() < 2 {
            return None;
        }
        let mut axes = [0, 1];
        if ranges.len() == 3 {
            let length = |place: usize| ranges.get(place).map_or(0.0, |(least, most)| most - least);
            // Of equals the last, which is up in most worlds.
            let up = (0..3)
                .rev()
                .min_by(|&one, &other| length(one).total_cmp(&length(other)));
            axes = match up {
                Some(0) => [1, 2],
                Some(1) => [0, 2],
                _ => [0, 1],
            };
        }
        let range = |axis: usize| ranges.get(axis).copied().unwrap_or((0.0, 0.0));
        let [across, along] = axes.map(range);
        Some(Extent {
            axes,
            least: [across.0, along.0],
            most: [across.1, along.1],
        })
    }
}

fn is_position(states: &States, property: PropertyId) -> bool {
    states
        .property(property)
        .is_some_and(|it| it.kind == PropertyKind::Position)
}

/// Makes the range at a place, or the one behind the last, reach to a number.
pub fn widen(ranges: &mut Vec<(f64, f64)>, place: usize, number: f64) {
    match ranges.get_mut(place) {
        Some((least, most)) => (*least, *most) = (least.min(number), most.max(number)),
        None => ranges.push((number, number)),
    }
}

/// The numbers of a value; none where it is not known.
pub fn numbers(held: &Held) -> Vec<f64> {
    let Known::Value(parts) = &held.value else {
        return Vec::new();
    };
    let number = |part: &Scalar| match part {
        Scalar::Integer(number) => Some(*number as f64),
        Scalar::Real(number) => Some(*number).filter(|it| it.is_finite()),
        Scalar::Truth(truth) => Some(f64::from(u8::from(*truth))),
        Scalar::Name(_) | Scalar::Bytes(_) | Scalar::Unknown => None,
    };
    let numbers: Option<Vec<f64>> = parts.iter().map(number).collect();
    numbers.unwrap_or_default()
}

impl Believed {
    /// From where to where objects lie: left, top, right, bottom; `None` where the wire marks no
    /// positions.
    pub fn ground(&self) -> Option<[f64; 4]> {
        let Extent { least, most, .. } = self.extent.as_ref()?;
        Some([least[0], least[1], most[0], most[1]])
    }

    /// The letters of the two directions, and the unit: `x`, `y`, `m`.
    pub fn ground_names(&self) -> Option<([&'static str; 2], String)> {
        let extent = self.extent.as_ref()?;
        let names = ["x", "y", "z", "w"];
        let name = |axis: usize| names.get(axis).copied().unwrap_or("?");
        let unit = self
            .states
            .properties()
            .iter()
            .find(|it| it.kind == PropertyKind::Position)
            .map_or_else(String::new, |it| it.unit.clone());
        Some((extent.axes.map(name), unit))
    }

    /// At how many moments the way of an object was looked up so far.
    pub fn looked(&self) -> u64 {
        lock(&self.walked).looked
    }

    fn place(&self, held: &Held) -> Option<[f64; 2]> {
        let axes = self.extent.as_ref()?.axes;
        let numbers = numbers(held);
        let [across, along] = axes.map(|axis| numbers.get(axis).copied());
        Some([across?, along?])
    }
}

impl Model {
    /// Where the nodes believe objects to be, of the objects that the filter takes; at most
    /// [`MARKS_MAX`].
    pub fn marks(&self, believed: &Believed) -> Arc<[Mark]> {
        believed
            .marks
            .of(self.asked_of_values(), || self.marks_now(believed).into())
    }

    fn marks_now(&self, believed: &Believed) -> Vec<Mark> {
        let (at, nodes) = (self.moment(), self.believers());
        let rows = self.position_rows(believed);
        let mut marks = Vec::new();
        for row in rows {
            let word = self.word_at(believed, row.object, &nodes, at);
            for &node in &nodes {
                let held = believed.states.at(row.object, row.property, node, at);
                let Some(place) = held.and_then(|held| believed.place(&held)) else {
                    continue;
                };
                let belief = self.history().belief_at(row.object, node, at);
                let gone = netreel_protocol::history::Belief::Destroyed;
                if belief.is_some_and(|span| span.belief == gone) {
                    continue;
                }
                if marks.len() >= MARKS_MAX {
                    return marks;
                }
                marks.push(Mark {
                    object: row.object,
                    node,
                    at: place,
                    is_owner: word.owner == Some(node),
                    differs: self.differs(believed, row, &word, node, at),
                });
            }
        }
        marks
    }

    fn position_rows(&self, believed: &Believed) -> Vec<ValueRow> {
        self.value_rows(believed, crate::RowsOf::Known)
            .rows
            .iter()
            .copied()
            .filter(|row| is_position(&believed.states, row.property))
            .collect()
    }

    /// The way of the selected object through the visible time, as each node believes it.
    pub fn way(&self, believed: &Believed) -> Vec<(NodeId, Vec<[f64; 2]>)> {
        let Some(object) = self.selection.object else {
            return Vec::new();
        };
        let mut properties =
            (0..believed.states.properties().len()).map(|it| PropertyId(it as u16));
        let Some(property) = properties.find(|&it| is_position(&believed.states, it)) else {
            return Vec::new();
        };
        let (nodes, visible) = (self.believers(), self.visible());
        let length = visible.end.0.saturating_sub(visible.start.0);
        // The same while somebody pans, however the length is rounded.
        let step = 1 << (length / WAY_MAX).max(1).ilog2();
        let places = visible.start.0.div_euclid(step)..=visible.end.0.div_euclid(step);
        let walked = &mut *lock(&believed.walked);
        walked.keep((object, step), &places);
        let place_at = |node: NodeId, at: i64| {
            let held = believed
                .states
                .at(object, property, node, SessionTime(at))?;
            believed.place(&held)
        };
        let mut ways: Vec<(NodeId, Vec<[f64; 2]>)> =
            nodes.iter().map(|&node| (node, Vec::new())).collect();
        for place in places {
            let looked = &mut walked.looked;
            let known = walked.known.entry(place).or_insert_with(|| {
                *looked += 1;
                let at = place.saturating_mul(step);
                nodes.iter().map(|&node| place_at(node, at)).collect()
            });
            for ((_, way), place) in ways.iter_mut().zip(known) {
                way.extend(place.filter(|place| way.last() != Some(place)));
            }
        }
        ways
    }
}

/// Where an object was, for the frames before: who pans finds most of it again.
#[derive(Debug, Default)]
pub struct Walked {
    /// Of which object, and by moments that lie so far apart.
    of: (u64, i64),
    /// For each node, by the number of the moment.
    known: BTreeMap<i64, Vec<Option<[f64; 2]>>>,
    /// At how many moments somebody looked so far.
    pub looked: u64,
}

impl Walked {
    fn keep(&mut self, of: (u64, i64), places: &RangeInclusive<i64>) {
        if self.of != of {
            self.known.clear();
            self.of = of;
        }
        self.known.retain(|place, _| places.contains(place));
    }
}

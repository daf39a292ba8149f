//! Values that games said, laid over those that messages tell.
//!
//! From the first value on that a game says of a property of an object its word counts, as long as the
//! object lives at the node and until a hole of its reel.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, SaidNumber, SaidValue, said_value};
use netreel_wire::Property;

use super::change::{Change, Changes, NOTHING, UNKNOWN, VALUE, is_value};
use super::told::MessageProperties;
use crate::history::{Belief, History};
use crate::session::facts::values::{Scalar, write_scalars};
use crate::session::{NodeId, Session, SessionTime, Stamp};

/// What a game said of properties, by object and property: when, and the number of the value.
pub(super) type SaidOfNode = BTreeMap<(u64, u16), Vec<(Stamp, u32)>>;

/// For each change of a lane the event by which the game said it.
pub(super) type Marks = BTreeMap<(u64, u16), Vec<Option<EventNumber>>>;

/// What all games said of the values of some objects.
pub(super) fn said(
    session: &Session,
    properties: &[Property],
    told: &mut MessageProperties,
    wanted: &dyn Fn(u64) -> bool,
) -> BTreeMap<NodeId, SaidOfNode> {
    let mut all: BTreeMap<NodeId, SaidOfNode> = BTreeMap::new();
    if !session.says_values() {
        return all;
    }
    let names: BTreeMap<&str, u16> = (0u16..)
        .zip(properties)
        .map(|(place, property)| (property.name.as_str(), place))
        .collect();
    let shapes: Vec<Shape> = (0u16..)
        .take(properties.len())
        .map(|property| Shape::of(told, property))
        .collect();
    let mut bytes = Vec::new();
    for node in (0u16..).map(NodeId).take(session.nodes.len()) {
        let own = all.entry(node).or_default();
        let values = &mut told.values;
        session.values_said(node, wanted, |at, object, text| {
            let known = said_value(text).and_then(|(name, value)| {
                let &property = names.get(name)?;
                Some((property, shapes.get(usize::from(property))?, value))
            });
            if let Some((property, shape, value)) = known {
                bytes.clear();
                write_scalars(&shape.fit(&value), &mut bytes);
                let value = values.number(&bytes);
                own.entry((object, property)).or_default().push((at, value));
            }
        });
    }
    told.values.shrink();
    all
}

/// Of what sort the parts of a property are, as far as messages tell.
struct Shape {
    parts: Vec<Scalar>,
    /// Whether all its numbers with a point are floats of 32 bits.
    is_single: bool,
}

impl Shape {
    fn of(told: &MessageProperties, property: u16) -> Shape {
        let mut shape = Shape {
            parts: Vec::new(),
            is_single: true,
        };
        let mut last = None;
        for value in told.values_of(property) {
            if last == Some(value) {
                continue;
            }
            last = Some(value);
            let parts = told.values.get(value);
            for part in &parts {
                if let Scalar::Real(real) = part
                    && f64::from(*real as f32).to_bits() != real.to_bits()
                {
                    shape.is_single = false;
                }
            }
            if shape.parts.len() < parts.len() || shape.parts.contains(&Scalar::Unknown) {
                shape.parts = parts;
            }
        }
        shape
    }

    /// A value that was said, of the sort that messages tell.
    fn fit(&self, value: &SaidValue<'_>) -> Vec<Scalar> {
        match value {
            SaidValue::Text(text) => vec![Scalar::Name((*text).to_owned())],
            SaidValue::Numbers(numbers) => {
                let parts = self.parts.iter().map(Some).chain(std::iter::repeat(None));
                let numbers = numbers.iter().zip(parts);
                numbers.map(|(it, like)| self.part(*it, like)).collect()
            }
        }
    }

    fn part(&self, number: SaidNumber, like: Option<&Scalar>) -> Scalar {
        let real = |real: f64| {
            if self.is_single {
                Scalar::Real(f64::from(real as f32))
            } else {
                Scalar::Real(real)
            }
        };
        match (number, like) {
            (SaidNumber::Whole(whole), Some(Scalar::Real(_))) => real(whole as f64),
            (SaidNumber::Whole(whole @ (0 | 1)), Some(Scalar::Truth(_))) => {
                Scalar::Truth(whole == 1)
            }
            (SaidNumber::Whole(whole), Some(Scalar::Name(_))) => Scalar::Name(whole.to_string()),
            (SaidNumber::Whole(whole), _) => Scalar::Integer(i128::from(whole)),
            (SaidNumber::Real(it), Some(Scalar::Integer(_))) if it.fract() == 0.0 => {
                Scalar::Integer(it as i128)
            }
            (SaidNumber::Real(it), Some(Scalar::Real(_))) => real(it),
            (SaidNumber::Real(it), _) => Scalar::Real(it),
        }
    }
}

/// Lays what a node's game said over its lanes; returns the lanes that were there of what it spoke of, and
/// which changes are the game's.
pub(super) fn overlay(
    history: &History,
    node: NodeId,
    said: &SaidOfNode,
    lanes: &mut Changes,
) -> (Changes, Marks) {
    let (mut by_rules, mut marks) = (Changes::default(), Marks::new());
    for (&key, words) in said {
        let Some((first, _)) = words.first() else {
            continue;
        };
        let rules = lanes.remove(key);
        let (before, after): (Vec<Change>, Vec<Change>) =
            rules.iter().partition(|(time, ..)| *time < first.time);
        let mut changes: Vec<(SessionTime, u64, Change)> = Vec::new();
        let holes = after
            .iter()
            .filter(|(_, value, because)| *value == UNKNOWN && because.is_none());
        changes.extend(holes.map(|&change| (change.0, 0, change)));
        changes.extend(ends(history, key.0, node, first.time));
        let mut now = first.time;
        for &(at, value) in words {
            // A node's own order holds even where its clock does not.
            now = now.max(at.time);
            changes.push((now, at.number.0, (now, value + VALUE, None)));
        }
        changes.sort_by_key(|&(time, number, _)| (time, number));
        let mut mark: Vec<Option<EventNumber>> = vec![None; before.len()];
        before.into_iter().for_each(|it| lanes.put(key, it));
        for (_, number, change) in changes {
            lanes.put(key, change);
            let said = is_value(change.1).then_some(EventNumber(number));
            // What was put may have taken the last one's place, and has added one or none.
            let count = lanes.len(key);
            mark.truncate(count.saturating_sub(1));
            mark.resize(count, said);
        }
        marks.insert(key, mark);
        rules.into_iter().for_each(|it| by_rules.put(key, it));
    }
    (by_rules, marks)
}

/// When an object ended at a node from a moment on.
fn ends(
    history: &History,
    object: u64,
    node: NodeId,
    first: SessionTime,
) -> impl Iterator<Item = (SessionTime, u64, Change)> + '_ {
    let known = history.objects.get(&object);
    let lane = known.and_then(|known| known.lanes.get(&node));
    let spans = lane.into_iter().flatten();
    let ends =
        spans.filter(move |span| span.belief == Belief::Destroyed && span.time.start >= first);
    ends.map(|span| {
        let number = span.said.map_or(0, |said| said.0);
        (span.time.start, number, (span.time.start, NOTHING, None))
    })
}

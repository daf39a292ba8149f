//! `values-differ`: all is delivered, and a node believes in another value of an object than its owner.
//!
//! Only where the wire declares properties, and beyond the tolerance that it declares. An object is looked
//! at where `objects-differ-at-rest` would look at it, and nobody has said anything more of it for so long
//! that a lost UPDATE would have been sent again. What several values of an object, or several objects,
//! have in common is one finding.

use super::prelude::*;
use crate::history::overtaken::{had_newer, taken_at};
use crate::history::state::value::{apart_words, words};
use crate::history::state::{Held, Known, RestDifference, Resting};

/// Also of which objects at which nodes it tells. `explained`: objects that other rules tell of.
pub(super) fn find(
    case: &Case<'_>,
    explained: &BTreeSet<u64>,
) -> (Vec<Found>, BTreeSet<(u64, NodeId)>) {
    let wire = case.session.wire.as_ref();
    if wire.is_none_or(|wire| wire.properties().is_empty()) {
        return Default::default();
    }
    let resting = Resting::new(case.session, case.history, explained);
    if resting.objects.is_empty() {
        return Default::default();
    }
    let rest = resting.compare(case.states());
    let told = rest.differ.iter().map(|it| (it.object, it.node)).collect();
    let mut together: BTreeMap<(NodeId, NodeId, u64), Vec<RestDifference>> = BTreeMap::new();
    for each in rest.differ {
        let key = (each.node, each.owner, each.object);
        together.entry(key).or_default().push(each);
    }
    let found = together.values().filter_map(|it| found_of(case, it));
    (found.collect(), told)
}

fn found_of(case: &Case<'_>, differ: &[RestDifference]) -> Option<Found> {
    let &Case {
        session, history, ..
    } = case;
    let first = differ.first()?;
    let property = case.states().property(first.property)?;
    let shown = |held: &Held| match &held.value {
        Known::Value(parts) => words(property, parts),
        _ => "unknown".to_owned(),
    };
    let (node, owner) = (session.name(first.node), session.name(first.owner));
    let (told, believed) = (shown(&first.owned), shown(&first.held));
    let pieces = [
        held_by(session, first.owner, &first.owned, "told"),
        held_by(session, first.node, &first.held, "believed"),
    ];
    let because = first.held.because;
    let taken = because.and_then(|it| taken_at(history, first.node, first.object, it));
    let late = taken.and_then(|place| had_newer(session, history, place));
    let late = late.map_or_else(String::new, |_| {
        format!("; {node} took an UPDATE that had been sent before one that it had taken")
    });
    let sentence = format!(
        "{} of object {} is {told} at its owner {owner} and {believed} at {node} ({}), when all is \
         delivered{}{late}",
        property.name,
        first.object,
        apart_words(property, first.apart),
        and_more(differ.len() as u64)
    );
    let because = format!(
        "have other values at {node} than at their owner {owner}, when all is delivered{late}"
    );
    let time = pieces.iter().flatten().map(|it| it.time).max();
    let time = time.unwrap_or(first.owned.since.max(first.held.since));
    let found = Found::new(Level::Error, first.node, time, pieces, sentence);
    Some(found.about([first.object]).because(because))
}

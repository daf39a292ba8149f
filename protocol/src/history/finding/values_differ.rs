//! `values-differ`: all is delivered, and a node believes in another value of an object than its owner.
//!
//! Only where the wire declares properties, and beyond the tolerance that it declares. An object is looked
//! at where `objects-differ-at-rest` would look at it, and nobody has said anything more of it for so long
//! that a lost UPDATE would have been sent again. What several values of an object, or several objects,
//! have in common is one finding.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{and_more, crossing_of};
use super::{Case, Found};
use crate::history::overtaken::{had_newer, taken_at};
use crate::history::state::value::{apart_words, words};
use crate::history::state::{Held, Known, RestDifference, Resting, States};
use crate::history::{Evidence, Finding, History, Level};
use crate::session::{NodeId, Session};

pub(super) const RULE: &str = "values-differ";

/// Also of which objects at which nodes it tells. `explained`: objects that other rules tell of.
pub(super) fn find(
    case: &Case<'_>,
    explained: &BTreeSet<u64>,
) -> (Vec<Found>, BTreeSet<(u64, NodeId)>) {
    let Case {
        session, history, ..
    } = *case;
    let wire = session.wire.as_ref();
    if wire.is_none_or(|wire| wire.properties().is_empty()) {
        return Default::default();
    }
    let resting = Resting::new(session, history, explained);
    if resting.objects.is_empty() {
        return Default::default();
    }
    let states = case.states();
    let rest = resting.compare(states);
    let told = rest.differ.iter().map(|it| (it.object, it.node)).collect();
    let mut together: BTreeMap<(NodeId, NodeId, u64), Vec<RestDifference>> = BTreeMap::new();
    for each in rest.differ {
        let key = (each.node, each.owner, each.object);
        together.entry(key).or_default().push(each);
    }
    let found = together
        .values()
        .filter_map(|differ| found_of(session, history, states, differ));
    (found.collect(), told)
}

fn found_of(
    session: &Session,
    history: &History,
    states: &States,
    differ: &[RestDifference],
) -> Option<Found> {
    let first = differ.first()?;
    let property = states.property(first.property)?;
    let shown = |held: &Held| match &held.value {
        Known::Value(parts) => words(property, parts),
        _ => "unknown".to_owned(),
    };
    let (node, owner) = (session.name(first.node), session.name(first.owner));
    let (told, believed) = (shown(&first.owned), shown(&first.held));
    let evidence: Vec<Evidence> = [
        evidence(session, first.owner, &first.owned, "told"),
        evidence(session, first.node, &first.held, "believed"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let time = first.owned.since.max(first.held.since);
    let taken = first
        .held
        .because
        .and_then(|message| taken_at(history, first.node, first.object, message));
    let late = match taken.and_then(|place| had_newer(session, history, place)) {
        Some(_) => {
            format!("; {node} took an UPDATE that had been sent before one that it had taken")
        }
        None => String::new(),
    };
    let finding = Finding {
        rule: RULE,
        level: Level::Error,
        node: first.node,
        objects: vec![first.object],
        each: Vec::new(),
        time: evidence.iter().map(|it| it.time).max().unwrap_or(time),
        sentence: format!(
            "{} of object {} is {told} at its owner {owner} and {believed} at {node} ({}), when all \
             is delivered{}{late}",
            property.name,
            first.object,
            apart_words(property, first.apart),
            and_more(differ.len() as u64)
        ),
        evidence,
    };
    let because = format!(
        "have other values at {node} than at their owner {owner}, when all is delivered{late}"
    );
    Some(Found::from(finding).because(because))
}

fn evidence(session: &Session, node: NodeId, held: &Held, what: &str) -> Option<Evidence> {
    let message = held.because?;
    crossing_of(session, message, node, what)
}

//! The part of `belief-differs` that is about values: a game said another value than the messages that it
//! took, or sent, tell.
//!
//! Only while both stand for a while: a game may show what is on its way between two values, or run ahead.
//! An owner may wait with a value longer than that, until its CREATE is acked.

use netreel_wire::PropertyId;

use super::prelude::*;
use super::words::crossing_of;
use crate::history::lanes::departures_of_nodes;
use crate::history::state::value::apart_words;
use crate::history::state::{Apart, Held, States};

/// Where the two part.
struct Parting {
    object: u64,
    property: PropertyId,
    from: SessionTime,
    stood_ns: i64,
    apart: Apart,
    by_rules: Held,
    said: Held,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let wire = session.wire.as_ref();
    let declares = wire.is_some_and(|wire| !wire.properties().is_empty());
    if !declares || !session.says_values() {
        return Vec::new();
    }
    let states = case.states();
    let left = departures_of_nodes(session, history);
    let mut found: BTreeMap<NodeId, Vec<Parting>> = BTreeMap::new();
    for (node, object, property) in states.spoken() {
        let end = session
            .node(node)
            .map_or(SessionTime(0), |node| node.span.end);
        let end = left.get(&node).map_or(end, |&left| left.min(end));
        let parting = parted(case, states, (node, object, property), end);
        if let Some(parting) = parting {
            found.entry(node).or_default().push(parting);
        }
    }
    let found = found.into_iter().filter_map(|(node, mut partings)| {
        partings.sort_by_key(|it| (it.from, it.object, it.property.0));
        finding(session, states, node, &partings)
    });
    found.collect()
}

/// The first stretch in which both stood for as long as the bound says, and were apart.
fn parted(
    case: &Case<'_>,
    states: &States,
    (node, object, property): (NodeId, u64, PropertyId),
    end: SessionTime,
) -> Option<Parting> {
    let longest_ns = case.session.bounds.belief_differs.longest.0;
    let rules: Vec<Held> = states.changes_by_rules(object, property, node).collect();
    let said: Vec<Held> = states.changes(object, property, node).collect();
    let first = said.iter().find(|held| held.said.is_some())?.since;
    let mut rules = rules.into_iter().peekable();
    let mut said = said.into_iter().peekable();
    let (mut by_rules, mut word): (Option<Held>, Option<Held>) = (None, None);
    loop {
        let next = [&mut rules, &mut said].map(|lane| lane.peek().map(|held| held.since));
        let from = next.into_iter().flatten().min()?;
        if from >= end {
            return None;
        }
        if let Some(held) = rules.next_if(|held| held.since == from) {
            by_rules = Some(held);
        }
        if let Some(held) = said.next_if(|held| held.since == from) {
            word = Some(held);
        }
        let next = [&mut rules, &mut said].map(|lane| lane.peek().map(|held| held.since));
        let until = next.into_iter().flatten().min().unwrap_or(end).min(end);
        let stood_ns = until.since(from);
        let longest_ns = if owns(case, node, object, from) {
            longest_ns.saturating_mul(OWN_TIMES)
        } else {
            longest_ns
        };
        if from < first || stood_ns < longest_ns {
            continue;
        }
        if let (Some(by_rules), Some(word)) = (&by_rules, &word)
            && word.said.is_some()
            && let Some(apart) = states.apart_of(property, &by_rules.value, &word.value)
            && apart != Apart::Same
        {
            return Some(Parting {
                object,
                property,
                from,
                stood_ns,
                apart,
                by_rules: by_rules.clone(),
                said: word.clone(),
            });
        }
    }
}

/// What a node says itself of its own objects must have stood apart for so many times as long.
const OWN_TIMES: i64 = 4;

/// Whether a node believes at a moment that it owns an object.
fn owns(case: &Case<'_>, node: NodeId, object: u64, at: SessionTime) -> bool {
    let span = case.history.belief_at(object, node, at);
    let own = case.peer(node).map(Belief::Owned);
    own.is_some() && span.map(|span| span.belief) == own
}

fn finding(
    session: &Session,
    states: &States,
    node: NodeId,
    partings: &[Parting],
) -> Option<Found> {
    let first = partings.first()?;
    let property = states.property(first.property)?;
    let shown = |held: &Held| held.value.words(property);
    let name = session.name(node);
    let message = first.by_rules.because;
    let carrier = message.and_then(|it| session.carrier(it));
    // Whether the value follows from a message that the node sent.
    let is_own = carrier
        .and_then(|it| session.link(it))
        .is_some_and(|(from, _)| from == node);
    let packet = carrier.map_or_else(String::new, |it| format!(" (packet {it})"));
    let (messages, what) = if is_own {
        ("the last message that it sent of it says", "sent")
    } else {
        ("the messages that it took say", "taken")
    };
    let evidence = message.and_then(|message| crossing_of(session, message, node, what));
    let last = || {
        let ends = session.ends(node).map(|(.., at)| at);
        let at = ends.filter(|at| at.time <= first.from).last()?;
        at_event(session, node, at, "the last packet before it")
    };
    let sentence = format!(
        "the game of {name} says that {} of object {} is {}, and {messages} {}{packet}: {}, for \
         {}{}",
        property.name,
        first.object,
        shown(&first.said),
        shown(&first.by_rules),
        apart_words(property, first.apart),
        duration(first.stood_ns),
        and_more(partings.len() as u64)
    );
    let found = Found::new(
        Level::Warning,
        node,
        first.from,
        [evidence.or_else(last)],
        sentence,
    );
    Some(found.about([first.object]))
}

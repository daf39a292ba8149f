//! `fragments-never-join`: a node sent fragments of a message that cannot be put together.
//!
//! What counts is what the sender sent, whatever of it arrived: numbers that the message has no part
//! for, parts that were passed over, a part that says another count. An error where other messages of
//! the session were put together, because then the wire is right; else a warning, because the wire may
//! say the numbers wrongly (they count from 0). Fragments without an id stand next to each other in
//! their reliable stream. Of those with an id, parts that are not there yet may still come: the sender
//! must have sent other messages whole since, and nothing of this one for a second.

use std::collections::BTreeMap;

use super::words::{and_more, sent};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::line::Line;
use crate::history::streams::Streams;
use crate::history::{Finding, Level};
use crate::session::{MessageId, NodeId, Session, SessionTime};

pub(super) const RULE: &str = "fragments-never-join";

/// How many numbers of a message are told.
const TOLD_MAX: usize = 8;

/// Parts with an id that come no more: the sender has sent nothing of the message for this long.
const PATIENCE_NS: i64 = 1_000_000_000;

type Link = (NodeId, NodeId);

/// A part of a message: which, its index, and of how many.
#[derive(Clone, Copy)]
struct Part {
    message: MessageId,
    index: u64,
    count: u64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session,
        streams,
        history,
        ..
    } = *case;
    if session.fragments().next().is_none() {
        return Vec::new();
    }
    let mut broken: BTreeMap<Link, Vec<Vec<Part>>> = BTreeMap::new();
    for (stream, line) in streams.lines() {
        let link = (stream.from, stream.to);
        if is_whole(session, link.0) {
            runs(session, streams, line, |run| {
                broken.entry(link).or_default().push(run)
            });
        }
    }
    with_id(case, &mut broken);
    let is_wire_right = !history.joined.is_empty();
    let found = broken.into_iter().filter_map(|((from, to), mut all)| {
        all.sort_by_key(|parts| parts.first().map(|part| part.message));
        let parts = all.first()?;
        let (first, last) = (parts.first()?, parts.last()?);
        let evidence: Vec<_> = [(first, "its first part sent"), (last, "its last part sent")]
            .into_iter()
            .filter_map(|(part, what)| sent(session, session.carrier(part.message)?, what))
            .collect();
        let doubt = match is_wire_right {
            true => "",
            false => {
                "; no split message of the session fits, so the wire may say the numbers wrongly"
            }
        };
        let finding = Finding {
            rule: RULE,
            level: match is_wire_right {
                true => Level::Error,
                false => Level::Warning,
            },
            node: from,
            objects: Vec::new(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "{} sent {} a message in parts that make no whole: {}{}{doubt}",
                session.name(from),
                session.name(to),
                words(parts),
                and_more(all.len() as u64),
            ),
            evidence,
        };
        // More may come, and they are counted.
        Some(finding.into())
    });
    found.collect()
}

/// Shows the runs of fragments without an id in a stream that make no whole. One at its end may go on.
fn runs(session: &Session, streams: &Streams, line: &Line, mut show: impl FnMut(Vec<Part>)) {
    let mut run: Vec<Part> = Vec::new();
    let mut next_place = None;
    let mut close = |run: &mut Vec<Part>| {
        let closed = std::mem::take(run);
        if !closed.is_empty() && !is_whole_message(&closed) {
            show(closed);
        }
    };
    for (place, id) in line.from(i64::MIN) {
        let message = MessageId(id);
        let is_part = streams.parts.contains(id);
        let part = is_part.then(|| part(session, message)).flatten();
        let part = part.filter(|(has_id, _)| !has_id);
        let follows = next_place == Some(place);
        next_place = place.checked_add(1);
        let Some((_, part)) = part else {
            close(&mut run);
            continue;
        };
        let goes_on = run.last().is_none_or(|before| {
            follows && part.index > before.index && part.count == before.count
        });
        if !goes_on {
            close(&mut run);
        }
        run.push(part);
        if run.len() as u64 >= part.count {
            close(&mut run);
        }
    }
    if run.iter().any(|part| part.index >= part.count) {
        close(&mut run);
    }
}

/// The same of fragments with an id.
fn with_id(case: &Case<'_>, broken: &mut BTreeMap<Link, Vec<Vec<Part>>>) {
    let Case {
        session, streams, ..
    } = *case;
    type Key = (Link, Option<u64>, u64);
    let mut open: BTreeMap<Key, Vec<Part>> = BTreeMap::new();
    // When each link's last whole message was sent, and how many there were by then.
    let mut wholes: BTreeMap<Link, Vec<SessionTime>> = BTreeMap::new();
    for message in session.fragments() {
        let known = part(session, message).filter(|(has_id, _)| *has_id);
        let Some((_, part)) = known.filter(|_| !streams.is_resend(message)) else {
            continue;
        };
        let told = session.message(message);
        let told = told.filter(|it| it.facts.reliable);
        let Some((link, facts)) = told.and_then(|it| Some((session.link(it.packet)?, it.facts)))
        else {
            continue;
        };
        let Some(id) = facts.fragment_id.filter(|_| is_whole(session, link.0)) else {
            continue;
        };
        let parts = open.entry((link, facts.channel, id)).or_default();
        if parts
            .iter()
            .any(|known| known.index == part.index || known.count != part.count)
        {
            // The id is used again: whether the message before was given up nobody can say.
            parts.clear();
        }
        parts.push(part);
        if parts.len() as u64 >= part.count {
            let mut parts = std::mem::take(parts);
            parts.sort_by_key(|part| part.index);
            match is_whole_message(&parts) {
                true => wholes
                    .entry(link)
                    .or_default()
                    .extend(departed(session, &part)),
                false => broken.entry(link).or_default().push(parts),
            }
        }
    }
    for ((link, ..), parts) in open {
        let last = parts
            .iter()
            .filter_map(|part| departed(session, part))
            .max();
        let (Some(last), Some(node)) = (last, session.node(link.0)) else {
            continue;
        };
        let since = wholes.get(&link).map_or(&[][..], Vec::as_slice);
        let is_past = since
            .iter()
            .any(|whole| whole.0.saturating_sub(last.0) >= PATIENCE_NS)
            && node.span.end.0.saturating_sub(last.0) >= PATIENCE_NS;
        if is_past || parts.iter().any(|part| part.index >= part.count) {
            broken.entry(link).or_default().push(parts);
        }
    }
}

fn departed(session: &Session, part: &Part) -> Option<SessionTime> {
    let (_, at) = session.departed(session.carrier(part.message)?)?;
    Some(at.time)
}

/// The part that a message is, and whether it names what it is a part of.
fn part(session: &Session, message: MessageId) -> Option<(bool, Part)> {
    let told = session.message(message)?;
    if session.role(&told.facts) != netreel_wire::Role::Fragment {
        return None;
    }
    let (index, count) = told.facts.fragment?;
    let part = Part {
        message,
        index,
        count,
    };
    Some((told.facts.fragment_id.is_some(), part))
}

/// Whether parts in order are all of a message.
fn is_whole_message(parts: &[Part]) -> bool {
    let indexes = (0..).zip(parts);
    let are_right =
        |(place, part): (u64, &Part)| part.index == place && part.count == parts.len() as u64;
    indexes.into_iter().all(are_right)
}

/// `parts 1, 2 and 3 of 3, counted from 0`.
fn words(parts: &[Part]) -> String {
    let count = parts.first().map_or(0, |part| part.count);
    let mut numbers: Vec<String> = parts.iter().map(|part| part.index.to_string()).collect();
    if numbers.len() > TOLD_MAX {
        numbers.truncate(TOLD_MAX);
        numbers.push("...".to_owned());
    }
    let what = if numbers.len() == 1 { "part" } else { "parts" };
    let all = numbers.join(", ");
    let places = count.saturating_sub(1);
    match count {
        0 => format!("{what} {all} of none"),
        count => format!("{what} {all} of {count}, which are 0 to {places}"),
    }
}

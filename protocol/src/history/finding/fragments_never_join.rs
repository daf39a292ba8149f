//! `fragments-never-join`: a node sent fragments of a message that cannot be put together.
//!
//! What counts is what the sender sent, whatever of it arrived: numbers that the message has no part
//! for, parts that were passed over, a part that says another count. An error where other messages of
//! the session were put together, because then the wire is right; else a warning, because the wire may
//! say the numbers wrongly (they count from 0). Fragments without an id stand next to each other in
//! their reliable stream. Of those with an id, parts that are not there yet may still come: the sender
//! must have sent other messages whole since, and nothing of this one for a second.

use super::prelude::*;
use crate::history::line::Line;
use crate::history::streams::Streams;
use crate::session::Message;

/// How many numbers of a message are told.
const TOLD_MAX: usize = 8;

/// Parts with an id that come no more: the sender has sent nothing of the message for this long.
const PATIENCE_NS: i64 = 1_000_000_000;

/// A part of a message: which, its index, and of how many.
#[derive(Clone, Copy)]
struct Part {
    message: MessageId,
    index: u64,
    count: u64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, streams, ..
    } = case;
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
    let (level, doubt) = if case.history.joined.is_empty() {
        (
            Level::Warning,
            "; no split message of the session fits, so the wire may say the numbers wrongly",
        )
    } else {
        (Level::Error, "")
    };
    let found = broken.into_iter().filter_map(|((from, to), mut all)| {
        all.sort_by_key(|parts| parts.first().map(|part| part.message));
        let parts = all.first()?;
        let piece = |part: &Part, what| sent(session, session.carrier(part.message)?, what);
        let pieces = [
            piece(parts.first()?, "its first part sent"),
            piece(parts.last()?, "its last part sent"),
        ];
        let sentence = format!(
            "{} sent {} a message in parts that make no whole: {}{}{doubt}",
            session.name(from),
            session.name(to),
            words(parts),
            and_more(all.len() as u64),
        );
        // More may come, and they are counted.
        Found::proven(level, from, pieces, sentence)
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
        let part = part.filter(|(told, _)| told.facts.fragment_id.is_none());
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
    if run.iter().any(Part::is_beyond) {
        close(&mut run);
    }
}

/// The same of fragments with an id.
fn with_id(case: &Case<'_>, broken: &mut BTreeMap<Link, Vec<Vec<Part>>>) {
    let &Case {
        session, streams, ..
    } = case;
    type Key = (Link, Option<u64>, u64);
    let known = |message: MessageId| -> Option<(Key, Part)> {
        let (told, part) = part(session, message)?;
        let id = told.facts.fragment_id.filter(|_| told.facts.reliable)?;
        let link = session.link(told.packet);
        let link = link.filter(|link| is_whole(session, link.0))?;
        Some(((link, told.facts.channel, id), part))
    };
    let mut open: BTreeMap<Key, Vec<Part>> = BTreeMap::new();
    // When each link's last whole message was sent, and how many there were by then.
    let mut wholes: BTreeMap<Link, Vec<SessionTime>> = BTreeMap::new();
    for message in session.fragments() {
        let is_new = !streams.is_resend(message);
        let Some((key, part)) = is_new.then(|| known(message)).flatten() else {
            continue;
        };
        let parts = open.entry(key).or_default();
        let is_another = |known: &Part| known.index == part.index || known.count != part.count;
        if parts.iter().any(is_another) {
            // The id is used again: whether the message before was given up nobody can say.
            parts.clear();
        }
        parts.push(part);
        if parts.len() as u64 >= part.count {
            let mut parts = std::mem::take(parts);
            parts.sort_by_key(|part| part.index);
            let (link, ..) = key;
            if is_whole_message(&parts) {
                let wholes = wholes.entry(link).or_default();
                wholes.extend(departed(session, &part));
            } else {
                broken.entry(link).or_default().push(parts)
            }
        }
    }
    for ((link, ..), parts) in open {
        let times = parts.iter().filter_map(|part| departed(session, part));
        let (Some(last), Some(node)) = (times.max(), session.node(link.0)) else {
            continue;
        };
        let is_long = |after: SessionTime| after.since(last) >= PATIENCE_NS;
        let mut since = wholes.get(&link).into_iter().flatten();
        let is_past = since.any(|whole| is_long(*whole)) && is_long(node.span.end);
        if is_past || parts.iter().any(Part::is_beyond) {
            broken.entry(link).or_default().push(parts);
        }
    }
}

fn departed(session: &Session, part: &Part) -> Option<SessionTime> {
    Some(session.left(session.carrier(part.message)?)?.time)
}

/// A message, and the part that it is.
fn part(session: &Session, message: MessageId) -> Option<(Message, Part)> {
    let told = session.message(message)?;
    if session.role(&told.facts) != Role::Fragment {
        return None;
    }
    let (index, count) = told.facts.fragment?;
    let part = Part {
        message,
        index,
        count,
    };
    Some((told, part))
}

impl Part {
    /// Whether its message has no such part.
    fn is_beyond(&self) -> bool {
        self.index >= self.count
    }
}

/// Whether parts in order are all of a message.
fn is_whole_message(parts: &[Part]) -> bool {
    let count = parts.len() as u64;
    let mut indexes = (0..).zip(parts);
    indexes.all(|(place, part)| part.index == place && part.count == count)
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
    match count.checked_sub(1) {
        None => format!("{what} {all} of none"),
        Some(last) => format!("{what} {all} of {count}, which are 0 to {last}"),
    }
}

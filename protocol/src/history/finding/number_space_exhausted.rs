//! `number-space-exhausted`: a sender has so much under way that its numbers do not tell it apart.
//!
//! A number of n bits tells a copy from a new message only while no more than half of all numbers are
//! under way: a receiver that compares by distance takes the next one for an old one, or an old one for
//! a new one. A message is under way until its sender reads that it came. An id of a split message tells
//! nothing while parts of the message before, under the same id, are still to be sent. What cannot be
//! told apart is joined with nothing here.

use super::prelude::*;
use crate::history::ambiguous::HalfApart;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let halves = case.half_apart;
    let streams = halves.chunk_by(|one, other| one.stream == other.stream);
    let numbers = streams.filter_map(|all| of_stream(case, all));
    numbers.chain(of_ids(case)).collect()
}

/// The first message of a stream that was sent while one half of all numbers before it was under way.
fn of_stream(case: &Case<'_>, all: &[HalfApart]) -> Option<Found> {
    let session = case.session;
    let &HalfApart { stream, old, new } = all.first()?;
    let number = |message: MessageId| session.message(message)?.facts.reliable_sequence;
    let (before, after) = (session.carrier(old)?, session.carrier(new)?);
    let pieces = [
        sent(session, before, "the message that is not acked sent first"),
        sent(session, after, "the one half of all numbers behind it sent"),
    ];
    let old_number = number(old)?;
    let sentence = format!(
        "{} sends {} reliable message {} (packet {after}) while message {} (packet {before}) \
         is not acked: half of the {} numbers or more are under way, so that a copy and a new \
         message cannot be told apart{}",
        session.name(stream.from),
        session.name(stream.to),
        number(new)?.value,
        old_number.value,
        1u64 << old_number.bits,
        and_more(all.len() as u64)
    );
    // More may come, and they are counted.
    Found::proven(Level::Warning, stream.from, pieces, sentence)
}

/// Ids of split messages that were used again too early, a finding for each link.
fn of_ids(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut links: Firsts<Link, (MessageId, MessageId)> = Firsts::new();
    for &(before, again) in &case.history.reused {
        let link = session.carrier(again).and_then(|it| session.link(it));
        note(&mut links, link.unwrap_or_default(), (before, again));
    }
    of_each(links, |(from, to), (before, again)| {
        let id = session.message(again)?.facts.fragment_id?;
        let (before, again) = (session.carrier(before)?, session.carrier(again)?);
        let pieces = [
            sent(session, before, "a part of the message before sent"),
            sent(session, again, "the same part of the next one sent"),
        ];
        let sentence = format!(
            "{} splits another message for {} under the id {id} (packet {again}) and has not \
                 sent all parts of the one before (packet {before}): which part is of which cannot \
                 be told, and they are joined with nothing",
            session.name(from),
            session.name(to)
        );
        Found::proven(Level::Warning, from, pieces, sentence)
    })
}

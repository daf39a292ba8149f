//! `number-space-exhausted`: a sender has so much under way that its numbers do not tell it apart.
//!
//! A number of n bits tells a copy from a new message only while no more than half of all numbers are
//! under way: a receiver that compares by distance takes the next one for an old one, or an old one for
//! a new one. A message is under way until its sender reads that it came. An id of a split message tells
//! nothing while parts of the message before, under the same id, are still to be sent. What cannot be
//! told apart is joined with nothing here.

use std::collections::BTreeMap;

use super::copies::{Copy, heard_of};
use super::words::{and_more, sent};
use super::{Case, Found};
use crate::history::streams::MessageStream;
use crate::history::{Finding, Level};
use crate::session::{MessageId, NodeId, SessionTime};

pub(super) const RULE: &str = "number-space-exhausted";

/// Numbers with more bits are never used up.
const BITS_MAX: u8 = 24;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let streams = case.streams.links.keys();
    let numbers = streams.filter_map(|stream| of_stream(case, stream));
    numbers.chain(of_ids(case)).collect()
}

/// The copies of a message whose sends are known, and the moment at which its sender reads that it came.
fn known(case: &Case<'_>, first: MessageId) -> Option<(Copy, Option<SessionTime>)> {
    let others = case.streams.copies_of(first).iter();
    let all = std::iter::once(first).chain(others.map(|&(_, copy)| copy));
    let copies: Vec<Copy> = all
        .filter_map(|copy| Copy::sent(case.session, copy))
        .collect();
    let heard = heard_of(case, &copies).map(|at| at.time);
    Some((*copies.first()?, heard))
}

/// The first message of a stream that was sent while one half of all numbers before it was under way.
fn of_stream(case: &Case<'_>, stream: &MessageStream) -> Option<Found> {
    let Case {
        session, streams, ..
    } = *case;
    let line = streams.links.get(stream)?;
    let start = line.start()?;
    let first = MessageId(line.first(start)?);
    let number = |message: MessageId| session.message(message)?.facts.reliable_sequence;
    let bits = number(first)?.bits;
    if !(2..=BITS_MAX).contains(&bits) {
        return None;
    }
    let half = 1i64 << (bits - 1);
    let mut found: Option<(Copy, Copy)> = None;
    let (mut count, mut is_acked) = (0, false);
    for (place, id) in line.from(start.saturating_add(half)) {
        let Some(old) = line.first(place.saturating_sub(half)) else {
            continue;
        };
        let Some((old, heard)) = known(case, MessageId(old)) else {
            continue;
        };
        is_acked |= heard.is_some();
        let Some(new) = Copy::sent(session, MessageId(id)) else {
            continue;
        };
        if heard.is_none_or(|at| at > new.at) {
            count += 1;
            found.get_or_insert((old, new));
        }
    }
    // Where nothing says what came, nobody knows what is under way.
    let (old, new) = found.filter(|_| is_acked || acks_any(case, line.from(start)))?;
    let (from, to) = (session.name(stream.from), session.name(stream.to));
    let evidence: Vec<_> = [
        sent(
            session,
            old.packet,
            "the message that is not acked sent first",
        ),
        sent(
            session,
            new.packet,
            "the one half of all numbers behind it sent",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let finding = Finding {
        rule: RULE,
        level: Level::Warning,
        node: stream.from,
        objects: Vec::new(),
        each: Vec::new(),
        time: evidence.last()?.time,
        sentence: format!(
            "{from} sends {to} reliable message {} (packet {}) while message {} (packet {}) is not \
             acked: half of the {} numbers or more are under way, so that a copy and a new message \
             cannot be told apart{}",
            number(new.message)?.value,
            new.packet.0,
            number(old.message)?.value,
            old.packet.0,
            1u64 << bits,
            and_more(count),
        ),
        evidence,
    };
    // More may come, and they are counted.
    Some(finding.into())
}

/// Whether a sender read of any message of its stream that it came.
fn acks_any(case: &Case<'_>, mut places: impl Iterator<Item = (i64, u32)>) -> bool {
    let heard = |id| known(case, MessageId(id)).is_some_and(|(_, heard)| heard.is_some());
    places.any(|(_, id)| heard(id))
}

/// Ids of split messages that were used again too early, a finding for each link.
fn of_ids(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, history, ..
    } = *case;
    let mut links: BTreeMap<(NodeId, NodeId), Vec<(MessageId, MessageId)>> = BTreeMap::new();
    for &(before, again) in &history.reused {
        let link = session.carrier(again).and_then(|it| session.link(it));
        links
            .entry(link.unwrap_or_default())
            .or_default()
            .push((before, again));
    }
    let found = links.into_iter().filter_map(|((from, to), all)| {
        let &(before, again) = all.first()?;
        let id = session.message(again)?.facts.fragment_id?;
        let (before, again) = (session.carrier(before)?, session.carrier(again)?);
        let evidence: Vec<_> = [
            sent(session, before, "a part of the message before sent"),
            sent(session, again, "the same part of the next one sent"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            objects: Vec::new(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "{} splits another message for {} under the id {id} (packet {}) and has not sent all \
                 parts of the one before (packet {}): which part is of which cannot be told, and they \
                 are joined with nothing{}",
                session.name(from),
                session.name(to),
                again.0,
                before.0,
                and_more(all.len() as u64),
            ),
            evidence,
        };
        Some(finding.into())
    });
    found.collect()
}

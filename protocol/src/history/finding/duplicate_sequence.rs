//! `duplicate-sequence`: a node used the number of a packet for another one soon after.
//!
//! An ack of the number then stands for both, and a receiver takes the second for a copy of the
//! first: an error. A sender that starts again from its first number has a new row of numbers and is
//! not meant; from then on its link is not judged. Nor are pieces of one packet that share its number,
//! nor the same bytes sent again.

use super::prelude::*;
use crate::history::line::Line;

/// More pairs are counted, not listed.
const KEPT_MAX: usize = 3;

/// How many pairs of a link are looked at: their bytes are read from the reel again.
const PAIRS_MAX: usize = 4096;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let is_known = |from, to| {
        let has_one_end = session
            .node(to)
            .is_some_and(|node| node.endpoints.len() <= 1);
        has_one_end && is_whole(session, from)
    };
    let found = case.streams.ways().filter_map(|((from, to, _), line)| {
        if line.is_plain() || !is_known(from, to) {
            return None;
        }
        let mut count = 0;
        let mut pairs: Vec<(PacketId, PacketId)> = Vec::new();
        for pair in reused(session, line) {
            count += 1;
            if pairs.len() < KEPT_MAX {
                pairs.push(pair);
            }
        }
        let &(one, other) = pairs.first()?;
        let number = session.said(other).and_then(|said| said.sequence);
        let pieces = pairs.iter().flat_map(|&(one, other)| {
            [
                sent(session, one, "a packet sent"),
                sent(session, other, "another with its number sent"),
            ]
        });
        let evidence: Vec<Evidence> = pieces.flatten().collect();
        let time = evidence.get(1)?.time;
        let sentence = format!(
            "{} sent packets {one} and {other} to {} under one number ({}){}",
            session.name(from),
            session.name(to),
            number.map_or(0, |number| number.value),
            and_more(count)
        );
        // More may come, and they are counted.
        Some(Found::new(Level::Error, from, time, evidence, sentence))
    });
    found.collect()
}

/// The pairs of packets that share a number wrongly, in the order of the numbers.
fn reused<'a>(
    session: &'a Session,
    line: &'a Line,
) -> impl Iterator<Item = (PacketId, PacketId)> + 'a {
    let start = line.start();
    // A number that comes back after so many others is a row that wrapped or was left.
    let window = i64::from(session.bounds.duplicate_sequence.window);
    // A packet with the first number: the row starts again.
    let again = start.and_then(|start| line.others(start).first().copied());
    let again = again.map(|(_, again)| again);
    let shared = line.shared().iter().copied();
    let pairs = shared.filter(move |&(place, _)| Some(place) != start);
    pairs.take(PAIRS_MAX).filter_map(move |(place, other)| {
        let is_new_row = again.is_some_and(|again| again < other);
        let further = line.first(place.saturating_add(window));
        if is_new_row || further.is_some_and(|it| it < other) {
            return None;
        }
        let one = PacketId(line.first(place)?);
        differ(session, one, PacketId(other)).then_some((one, PacketId(other)))
    })
}

/// Whether two packets, which the wire fits, are neither the same bytes nor pieces of one.
fn differ(session: &Session, one: PacketId, other: PacketId) -> bool {
    let fits = |packet: PacketId| {
        let said = session.said(packet);
        said.is_some_and(|said| said.diagnostics == 0)
    };
    let is_piece = |packet: PacketId| {
        let first = session.messages_of(packet).next();
        first.is_some_and(|(_, facts)| {
            facts.reliable_sequence.is_none() && session.role(&facts) == Role::Fragment
        })
    };
    let is_meant = |packet: PacketId| fits(packet) && !is_piece(packet);
    is_meant(one) && is_meant(other) && session.payload(one) != session.payload(other)
}

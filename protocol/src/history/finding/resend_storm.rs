//! `resend-storm`: a reliable message was sent far more often than the link explains.
//!
//! A sender cannot know that a copy was lost before an answer could have come back, and need not send
//! one after an ack: such copies are needless. A message with eight of them, or as many as the bound says, is a storm, a
//! warning: nothing is lost but the line. Some protocols say everything again in each packet until it
//! is acked; they are told of where a round trip is that many packets long.

use std::collections::BTreeMap;

use super::words::{and_more, length, sent};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::{Finding, Level};
use crate::session::{MessageId, NodeId, Session, SessionTime};

pub(super) const RULE: &str = "resend-storm";

/// The worst message of a link.
struct Storm {
    messages: u64,
    first: MessageId,
    last: MessageId,
    times: usize,
    needless: usize,
    took_ns: i64,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, streams, ..
    } = *case;
    let mut storms: BTreeMap<(NodeId, NodeId), Storm> = BTreeMap::new();
    let needless_min = session.bounds.resend_storm.needless.max(1);
    for copies in streams.resent().filter(|it| it.len() >= needless_min) {
        let (Some(&(first, _)), Some(&(_, last))) = (copies.first(), copies.last()) else {
            continue;
        };
        let packet = session.carrier(first);
        let Some(link) = packet.and_then(|packet| session.link(packet)) else {
            continue;
        };
        let Some(round_ns) = round_trip(session, link).filter(|_| is_whole(session, link.0)) else {
            continue;
        };
        let all = std::iter::once(first).chain(copies.iter().map(|&(_, copy)| copy));
        let (needless, took_ns) = needless(case, all, round_ns);
        if needless < needless_min {
            continue;
        }
        let storm = Storm {
            messages: 1,
            first,
            last,
            times: copies.len() + 1,
            needless,
            took_ns,
        };
        match storms.get_mut(&link) {
            None => drop(storms.insert(link, storm)),
            Some(worst) => {
                let messages = worst.messages + 1;
                if needless > worst.needless {
                    *worst = storm;
                }
                worst.messages = messages;
            }
        }
    }
    let found = storms.into_iter().filter_map(|((from, to), storm)| {
        let evidence: Vec<_> = [
            (storm.first, "a message sent first"),
            (storm.last, "the same sent last"),
        ]
        .into_iter()
        .filter_map(|(message, what)| sent(session, session.carrier(message)?, what))
        .collect();
        let round_ns = round_trip(session, (from, to))?;
        let finding = Finding {
            rule: RULE,
            level: Level::Warning,
            node: from,
            object: None,
            time: evidence.last()?.time,
            sentence: format!(
                "{} sent a reliable message to {} {} times within {}, {} of them sooner than an \
                 answer could come ({}) or after its ack{}",
                session.name(from),
                session.name(to),
                storm.times,
                length(storm.took_ns),
                storm.needless,
                length(round_ns),
                and_more(storm.messages),
            ),
            evidence,
        };
        // More copies may come, and they are counted.
        Some(finding.into())
    });
    found.collect()
}

/// The shortest way there and back that packets took.
fn round_trip(session: &Session, (from, to): (NodeId, NodeId)) -> Option<i64> {
    let ways = session.ways();
    let ((there, _), (back, _)) = (ways.get(&(from, to))?, ways.get(&(to, from))?);
    Some((*there).max(0).saturating_add((*back).max(0)))
}

/// How many copies of a message were needless, and how long it took to send them all.
fn needless(
    case: &Case<'_>,
    copies: impl Iterator<Item = MessageId>,
    round_ns: i64,
) -> (usize, i64) {
    let session = case.session;
    let (mut count, mut before, mut first) = (0, None, None);
    let mut acked: Option<SessionTime> = None;
    for packet in copies.filter_map(|copy| session.carrier(copy)) {
        let Some((true, at)) = session.departed(packet) else {
            continue;
        };
        let since = |before: SessionTime| at.time.0.saturating_sub(before.0);
        let is_early = before.is_some_and(|before| since(before) < round_ns);
        let is_known = acked.is_some_and(|acked| acked < at.time);
        count += usize::from(is_early || is_known);
        before = Some(at.time);
        first = first.or(before);
        let learnt = case.history.acked(session, packet).map(|at| at.time);
        acked = [acked, learnt].into_iter().flatten().min();
    }
    let took = before.zip(first).map(|(last, first)| last.0 - first.0);
    (count, took.unwrap_or(0))
}

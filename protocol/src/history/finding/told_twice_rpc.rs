//! RPCs that come in pairs: each is told again at another place of the reliable stream.
//!
//! A game may call the same procedure with the same arguments as often as it likes; that nearly all calls of
//! a stream come exactly twice, each pair another call than those around it, is no game. Whoever sends so
//! sent again under a new number what was not acked, or was handed over twice what it passes on.

use super::content::content;
use super::prelude::*;
use crate::history::streams::MessageStream;

/// How many RPCs of a stream are looked at: the first.
const LOOKED_MAX: usize = 512;

/// How many pairs there must be,
const PAIRS_MIN: usize = 8;

/// and this many in a hundred of the RPCs must be in one.
const PAIRED_PERCENT: usize = 90;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    if !session.has_role(Role::Rpc) {
        return Vec::new();
    }
    let streams = case.streams.lines();
    let of_whole = streams.filter(|(stream, _)| is_whole(session, stream.from));
    let found = of_whole.filter_map(|(stream, line)| {
        let messages = line.from(i64::MIN).map(|(_, message)| MessageId(message));
        let is_call = |message: &MessageId| {
            let told = || session.message(*message);
            case.streams.calls.contains(message.0)
                && told().is_some_and(|it| it.facts.fragment.is_none())
        };
        let calls: Vec<MessageId> = messages.filter(is_call).take(LOOKED_MAX).collect();
        of_stream(case, stream, &calls)
    });
    found.collect()
}

fn of_stream(case: &Case<'_>, stream: MessageStream, calls: &[MessageId]) -> Option<Found> {
    let session = case.session;
    if calls.len() < 2 * PAIRS_MIN {
        return None;
    }
    let pairs = pairs(session, calls)?;
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    let carriers = |pair: &[MessageId]| {
        let mut packets = pair.iter().map(|&call| session.carrier(call));
        Some((packets.next()??, packets.next()??))
    };
    let (one, other) = carriers(pairs.first()?)?;
    let (_, last) = carriers(pairs.last()?)?;
    let pieces = [
        sent(session, one, "an RPC sent"),
        sent(session, other, "the same at the next place of the stream"),
        sent(session, last, "the last that was told twice"),
    ];
    let mut evidence: Vec<_> = pieces.into_iter().flatten().collect();
    evidence.dedup_by(|next, before| next.packet == before.packet);
    let sentence = format!(
        "{} of {} RPCs that {} sent {} come in pairs: each is told again at the next place of \
         the stream (packets {one} and {other}{})",
        2 * pairs.len(),
        calls.len(),
        session.name(stream.from),
        session.name(stream.to),
        and_more(pairs.len() as u64)
    );
    // More may come, and they are counted.
    Found::proven(Level::Warning, stream.from, evidence, sentence)
}

/// The calls that come in pairs; `None` where more are in none than may be, or where nothing tells.
fn pairs<'a>(session: &Session, calls: &'a [MessageId]) -> Option<Vec<&'a [MessageId]>> {
    let without = ["reliable_sequence", "ordered_sequence"];
    let lone_max = calls.len() * (100 - PAIRED_PERCENT) / 100;
    let (mut lone, mut start) = (0, 0);
    let mut pairs = Vec::new();
    let mut before = None;
    for place in 0..=calls.len() {
        let now = match calls.get(place) {
            Some(&call) => Some(content(session, call, &without)?),
            None => None,
        };
        if now == before {
            continue;
        }
        let same = calls.get(start..place).unwrap_or_default();
        match same.len() {
            2 => pairs.push(same),
            count => lone += count,
        }
        // A call is read anew, and most streams show at their first that their calls are no pairs.
        if lone > lone_max {
            return None;
        }
        (start, before) = (place, now);
    }
    Some(pairs)
}

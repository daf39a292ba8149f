//! `stream-gap`: a sender passed over a place of a reliable stream and never filled it.
//!
//! What came behind it arrived and waits for ever: an error. A sender is judged where its reel and the
//! receiver's are whole, and its own reached its end: after a cut it may have filled the place. And only of
//! places between others that it used itself; the last messages of a stream may still be under way in another
//! order.

use super::words::{and_more, came, sent};
use super::{Case, Found};
use crate::history::claims::is_whole;
use crate::history::{Finding, Level};
use crate::session::MessageId;

pub(super) const RULE: &str = "stream-gap";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session,
        streams,
        history,
        ..
    } = *case;
    let bounds = &session.bounds.stream_gap;
    let mut found = Vec::new();
    for (stream, line) in streams.lines() {
        if !is_whole(session, stream.from) || !is_whole(session, stream.to) {
            continue;
        }
        let sender = session.node(stream.from);
        if sender.is_none_or(|node| !node.complete) {
            continue;
        }
        if streams.is_unordered(stream) {
            continue; // these numbers say nothing of the order
        }
        let mut places = line.from(i64::MIN);
        let Some(mut before) = places.next() else {
            continue;
        };
        let (mut gaps, mut waiting) = (0, 0);
        let mut first: Option<[MessageId; 2]> = None;
        for next in places {
            waiting += u64::from(first.is_some());
            if next.0.saturating_sub(before.0) > 1 {
                gaps += 1;
                first.get_or_insert([before.1, next.1].map(MessageId));
            }
            before = next;
        }
        let Some([last, next]) = first.filter(|_| waiting >= bounds.later) else {
            continue;
        };
        let is_stuck = history.undelivered.binary_search(&next).is_ok();
        let carriers = session.carrier(last).zip(session.carrier(next));
        let Some((last_before, behind)) = carriers.filter(|_| is_stuck) else {
            continue;
        };
        let evidence: Vec<_> = [
            sent(session, last_before, "the last message before the gap sent"),
            sent(session, behind, "the first behind it sent"),
            came(session, behind, "the first behind it received"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let Some(time) = evidence.last().map(|piece| piece.time) else {
            continue;
        };
        let (from, to) = (session.name(stream.from), session.name(stream.to));
        let finding = Finding {
            rule: RULE,
            level: Level::Error,
            node: stream.from,
            objects: Vec::new(),
            each: Vec::new(),
            time,
            sentence: format!(
                "{from} passed over a place of its reliable stream to {to}, between packets {} and \
                 {}, and never filled it: what comes behind waits for ever{}",
                last_before.0,
                behind.0,
                and_more(gaps),
            ),
            evidence,
        };
        // It may still be filled.
        found.push(Found::from(finding));
    }
    found
}

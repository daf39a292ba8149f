//! `stream-gap`: a sender passed over a place of a reliable stream and never filled it.
//!
//! What came behind it arrived and waits for ever: an error. A sender is judged where its reel and the
//! receiver's are whole, and its own reached its end: after a cut it may have filled the place. And only of
//! places between others that it used itself; the last messages of a stream may still be under way in another
//! order.

use super::prelude::*;
use crate::history::line::Line;
use crate::history::streams::MessageStream;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let lines = case.streams.lines();
    // It may still be filled.
    let found = lines.filter_map(|(stream, line)| of_stream(case, stream, line));
    found.collect()
}

fn of_stream(case: &Case<'_>, stream: MessageStream, line: &Line) -> Option<Found> {
    let session = case.session;
    let MessageStream { from, to, .. } = stream;
    let is_known = is_whole(session, from) && is_whole(session, to) && session.node(from)?.complete;
    // The numbers of what has no order say nothing of it.
    if !is_known || case.streams.is_unordered(stream) {
        return None;
    }
    let mut places = line.from(i64::MIN);
    let mut before = places.next()?;
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
    let [last, next] = first.filter(|_| waiting >= session.bounds.stream_gap.later)?;
    // It is stuck.
    case.history.undelivered.binary_search(&next).ok()?;
    let (last, behind) = (session.carrier(last)?, session.carrier(next)?);
    let pieces = [
        sent(session, last, "the last message before the gap sent"),
        sent(session, behind, "the first behind it sent"),
        came(session, behind, "the first behind it received"),
    ];
    let sentence = format!(
        "{} passed over a place of its reliable stream to {}, between packets {last} and \
         {behind}, and never filled it: what comes behind waits for ever{}",
        session.name(from),
        session.name(to),
        and_more(gaps)
    );
    Found::proven(Level::Error, from, pieces, sentence)
}

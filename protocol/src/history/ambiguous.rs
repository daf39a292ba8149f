//! Messages whose numbers do not tell them apart from another one.

use super::History;
use super::ambiguity::{Ambiguity, Ambiguous};
use super::finding::says_the_same;
use super::streams::{MessageStream, Streams};
use crate::session::{MessageId, Session, SessionTime};

/// Numbers with more bits are never used up.
const BITS_MAX: u8 = 24;

impl History {
    /// Whether nobody can say by its number which message one is, and for which other one it may stand.
    pub fn ambiguity(
        &self,
        session: &Session,
        message: MessageId,
    ) -> Option<(Ambiguity, MessageId)> {
        if let Some(told) = self.ambiguous_number(message) {
            return Some(told);
        }
        let first = self.resend_of(message)?;
        let differs = !says_the_same(session, first, message);
        differs.then_some((Ambiguity::Content, first))
    }

    /// The same, as far as it follows from numbers alone.
    pub(crate) fn ambiguous_number(&self, message: MessageId) -> Option<(Ambiguity, MessageId)> {
        let all = &self.ambiguous_messages;
        let place = all.partition_point(|&(each, ..)| each < message);
        let &(each, why, other) = all.get(place)?;
        (each == message).then_some((why, other))
    }
}

/// Two messages of a stream whose numbers lie half of all apart: the later one was sent when its sender
/// had not heard that the earlier one came. Each is the copy that was sent first.
#[derive(Clone, Copy)]
pub(super) struct HalfApart {
    pub stream: MessageStream,
    pub old: MessageId,
    pub new: MessageId,
}

/// All of them, by stream and place.
pub(super) fn half_apart(
    session: &Session,
    streams: &Streams,
    history: &History,
) -> Vec<HalfApart> {
    let all = streams
        .lines()
        .filter_map(|(stream, _)| of_stream(session, streams, history, stream));
    all.flatten().collect()
}

fn of_stream(
    session: &Session,
    streams: &Streams,
    history: &History,
    stream: MessageStream,
) -> Option<Vec<HalfApart>> {
    let line = streams.line(stream)?;
    let start = line.start()?;
    let first = session.message(MessageId(line.first(start)?))?;
    let bits = first.facts.reliable_sequence?.bits;
    if !(2..=BITS_MAX).contains(&bits) {
        return None;
    }
    let half = 1i64 << (bits - 1);
    let (mut found, mut is_acked) = (Vec::new(), false);
    for (place, new) in line.from(start.saturating_add(half)) {
        let Some(old) = line.first(place.saturating_sub(half)) else {
            continue;
        };
        let (old, new) = (MessageId(old), MessageId(new));
        let heard = heard(session, streams, history, old);
        is_acked |= heard.is_some();
        let Some(sent) = sent(session, new).filter(|_| sent(session, old).is_some()) else {
            continue;
        };
        if heard.is_none_or(|at| at > sent) {
            found.push(HalfApart { stream, old, new });
        }
    }
    // Where nothing says what came, nobody knows what is under way.
    let acks_any = || {
        let mut all = line.from(start);
        all.any(|(_, it)| heard(session, streams, history, MessageId(it)).is_some())
    };
    (!found.is_empty() && (is_acked || acks_any())).then_some(found)
}

/// When the sender of a message learnt that one of its copies had arrived.
fn heard(
    session: &Session,
    streams: &Streams,
    history: &History,
    first: MessageId,
) -> Option<SessionTime> {
    let copies = streams.copies_of(first).iter().map(|&(_, copy)| copy);
    let carriers = std::iter::once(first)
        .chain(copies)
        .filter_map(|copy| session.carrier(copy));
    let heard = carriers.filter_map(|packet| history.heard_of(session, first, packet));
    heard.map(|at| at.time).min()
}

fn sent(session: &Session, message: MessageId) -> Option<SessionTime> {
    let (is_sent, at) = session.departed(session.carrier(message)?)?;
    is_sent.then_some(at.time)
}

/// All messages that numbers do not tell apart, in order.
pub(super) fn all(
    session: &Session,
    streams: &Streams,
    half_apart: &[HalfApart],
    mixed: &[(MessageId, MessageId)],
) -> Vec<Ambiguous> {
    let mut all: Vec<Ambiguous> = Vec::new();
    for &HalfApart { old, new, .. } in half_apart {
        let of_new = streams.copies_of(new).iter().map(|&(_, copy)| copy);
        let of_new = std::iter::once(new).chain(of_new);
        all.extend(of_new.map(|it| (it, Ambiguity::Numbers, old)));
        // Copies of the old one that were sent since.
        let sent_new = sent(session, new);
        let of_old = streams
            .copies_of(old)
            .iter()
            .map(|&(_, copy)| copy)
            .filter(|&copy| sent(session, copy) >= sent_new);
        all.extend(of_old.map(|it| (it, Ambiguity::Numbers, new)));
    }
    all.extend(
        mixed
            .iter()
            .map(|&(part, other)| (part, Ambiguity::FragmentId, other)),
    );
    all.sort_unstable();
    all.dedup_by_key(|it| it.0);
    all
}

//! `reliable-not-delivered`: a reliable message never arrived, and its sender gave it up although the
//! link went on.
//!
//! Whoever sends reliably says it again until it is acked. Here no copy arrived, the last was sent
//! long ago, and packets of the same sender have arrived since: an error, because what comes behind it
//! in an ordered stream waits for ever. Whether a layer hands over what did arrive no reel shows.

use super::copies::{round_trip_of, too_large};
use super::prelude::*;
use crate::figures::times;

/// A message that was sent this many times gets a sentence on whether its packets were too large.
const TIMES_MIN: usize = 3;

/// A message that was given up.
struct GivenUp {
    message: MessageId,
    last: PacketId,
    times: usize,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    of_each(given_up(case), |link, it| finding(case, link, it))
}

/// The messages of each link that their sender gave up.
fn given_up(case: &Case<'_>) -> Firsts<Link, GivenUp> {
    let &Case {
        session, history, ..
    } = case;
    let mut until: BTreeMap<Link, Option<SessionTime>> = BTreeMap::new();
    let mut given_up = Firsts::new();
    // Of what has the number of another one under way nobody can say whether it was sent again.
    let is_known = |it: &&MessageId| history.ambiguous_number(**it).is_none();
    for &message in history.undelivered.iter().filter(is_known) {
        let carrier = session.carrier(message);
        let Some((packet, link)) = carrier.and_then(|it| Some((it, session.link(it)?))) else {
            continue;
        };
        let until = *until
            .entry(link)
            .or_insert_with(|| given_up_before(session, link));
        let Some(until) = until else { continue };
        let mut last = packet;
        let never_came = carriers(case, message).all(|packet| {
            last = packet;
            let known = session.packet(packet);
            known.is_some_and(|it| it.received.is_none() && !it.doubtful)
        });
        if never_came && session.left(last).is_some_and(|at| at.time < until) {
            let times = case.streams.copies_of(message).len() + 1;
            let first = GivenUp {
                message,
                last,
                times,
            };
            note(&mut given_up, link, first);
        }
    }
    given_up
}

/// The packets that carried the copies of a message, in order.
fn carriers<'a>(case: &Case<'a>, message: MessageId) -> impl Iterator<Item = PacketId> + 'a {
    let session = case.session;
    let copies = case.streams.copies_of(message).iter();
    let all = std::iter::once(message).chain(copies.map(|&(_, copy)| copy));
    all.filter_map(|it| session.carrier(it))
}

/// What is found of those of a link.
fn finding(case: &Case<'_>, (from, to): Link, it: GivenUp) -> Option<Found> {
    let session = case.session;
    let facts = case.history.facts(session, it.message)?;
    let evidence = sent(session, it.last, "a reliable message sent last")?;
    // One that was lost alone tells nothing of sizes.
    let bytes = if it.times >= TIMES_MIN {
        let there = of_link(session, (from, to));
        too_large(session, there, carriers(case, it.message))
    } else {
        String::new()
    };
    let last = last_arrived(session, (from, to), 1)?;
    let sentence = format!(
        "{} sent {} to {} reliably ({}, last in packet {}); it never arrived, and for the {} \
         that the link went on it was not sent again{bytes}",
        session.name(from),
        word(session.role(&facts)),
        session.name(to),
        times(it.times),
        it.last,
        duration(last.since(evidence.time))
    );
    // It may still be sent.
    Some(Found::proven(Level::Error, from, [evidence], sentence)?.about(facts.object))
}

/// Before when a message must have been sent to be given up; `None` where the reels do not tell.
pub(super) fn given_up_before(session: &Session, link: Link) -> Option<SessionTime> {
    if !is_whole(session, link.0) || !is_whole(session, link.1) {
        return None;
    }
    let round_ns = round_trip_of(session, link, |(_, longest)| longest)?;
    let bounds = &session.bounds.reliable_not_delivered;
    let patience_ns = round_ns.saturating_mul(4).saturating_add(bounds.patience.0);
    let last = last_arrived(session, link, bounds.later)?;
    Some(SessionTime(last.0.saturating_sub(patience_ns)))
}

/// The packets of a link.
fn of_link(session: &Session, link: Link) -> impl DoubleEndedIterator<Item = PacketId> + '_ {
    let packets = session.packet_ids();
    packets.filter(move |&packet| session.link(packet) == Some(link))
}

/// When the last packet but so many that arrived on a link was sent.
fn last_arrived(session: &Session, link: Link, count: usize) -> Option<SessionTime> {
    let came = |packet: &PacketId| {
        let packet = session.packet(*packet);
        packet.is_some_and(|it| it.received.is_some())
    };
    let mut arrived = of_link(session, link).rev().filter(came);
    let packet = arrived.nth(count.saturating_sub(1))?;
    session.left(packet).map(|at| at.time)
}

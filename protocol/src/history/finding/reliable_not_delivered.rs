//! `reliable-not-delivered`: a reliable message never arrived, and its sender gave it up although the
//! link went on.
//!
//! Whoever sends reliably says it again until it is acked. Here no copy arrived, the last was sent
//! long ago, and packets of the same sender have arrived since: an error, because what comes behind it
//! in an ordered stream waits for ever. Whether a layer hands over what did arrive no reel shows.

use std::collections::BTreeMap;

use super::copies::{too_large, too_large_words};
use super::words::{and_more, sent, word};
use super::{Case, Found};
use crate::figures::duration;
use crate::history::claims::is_whole;
use crate::history::{Finding, Level};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime};

pub(super) const RULE: &str = "reliable-not-delivered";

/// A message that was sent this many times gets a sentence on whether its packets were too large.
const TIMES_MIN: usize = 3;

/// A link's messages that were given up.
struct GivenUp {
    count: u64,
    message: MessageId,
    last: PacketId,
    times: usize,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = given_up(case).into_iter();
    found
        .filter_map(|(link, it)| finding(case, link, &it))
        .collect()
}

/// The messages of each link that their sender gave up.
fn given_up(case: &Case<'_>) -> BTreeMap<(NodeId, NodeId), GivenUp> {
    let Case {
        session,
        streams,
        history,
        ..
    } = *case;
    let mut until: BTreeMap<(NodeId, NodeId), Option<SessionTime>> = BTreeMap::new();
    let mut given_up = BTreeMap::new();
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
        let copies = streams.copies_of(message);
        let carriers = copies.iter().filter_map(|&(_, copy)| session.carrier(copy));
        let carriers = std::iter::once(packet).chain(carriers);
        let mut last = packet;
        let never_came = carriers.into_iter().all(|packet| {
            last = packet;
            let known = session.packet(packet);
            known.is_some_and(|it| it.received.is_none() && !it.doubtful)
        });
        let is_past = |(_, at): (bool, crate::session::Stamp)| at.time < until;
        if !never_came || !session.departed(last).is_some_and(is_past) {
            continue;
        }
        let times = copies.len() + 1;
        let first = GivenUp {
            count: 0,
            message,
            last,
            times,
        };
        given_up.entry(link).or_insert(first).count += 1;
    }
    given_up
}

/// What is found of those of a link.
fn finding(case: &Case<'_>, (from, to): (NodeId, NodeId), it: &GivenUp) -> Option<Found> {
    let Case {
        session,
        streams,
        history,
        ..
    } = *case;
    let role = session.role(&history.facts(session, it.message)?);
    let evidence = vec![sent(session, it.last, "a reliable message sent last")?];
    let copies = streams
        .copies_of(it.message)
        .iter()
        .filter_map(|&(_, copy)| session.carrier(copy));
    let carriers = session.carrier(it.message).into_iter().chain(copies);
    // One that was lost alone tells nothing of sizes.
    let bytes = too_large(session, of_link(session, (from, to)), carriers)
        .filter(|_| it.times >= TIMES_MIN);
    let time = evidence.first()?.time;
    let finding = Finding {
        rule: RULE,
        level: Level::Error,
        node: from,
        objects: history
            .facts(session, it.message)?
            .object
            .into_iter()
            .collect(),
        each: Vec::new(),
        time,
        sentence: format!(
            "{} sent {} to {} reliably ({}, last in packet {}); it never arrived, and for the {} \
             that the link went on it was not sent again{}{}",
            session.name(from),
            word(role),
            session.name(to),
            match it.times {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            },
            it.last.0,
            duration(
                last_arrived(session, (from, to), 1)?
                    .0
                    .saturating_sub(time.0)
            ),
            too_large_words(bytes),
            and_more(it.count),
        ),
        evidence,
    };
    // It may still be sent.
    Some(finding.into())
}

/// Before when a message must have been sent to be given up; `None` where the reels do not tell.
pub(super) fn given_up_before(session: &Session, link: (NodeId, NodeId)) -> Option<SessionTime> {
    let (from, to) = link;
    if !is_whole(session, from) || !is_whole(session, to) {
        return None;
    }
    let ways = session.ways();
    let ((_, there), (_, back)) = (ways.get(&(from, to))?, ways.get(&(to, from))?);
    let round_ns = (*there).max(0).saturating_add((*back).max(0));
    let bounds = &session.bounds.reliable_not_delivered;
    let patience_ns = round_ns.saturating_mul(4).saturating_add(bounds.patience.0);
    let last = last_arrived(session, link, bounds.later)?;
    Some(SessionTime(last.0.saturating_sub(patience_ns)))
}

/// The packets of a link.
fn of_link(session: &Session, link: (NodeId, NodeId)) -> impl Iterator<Item = PacketId> + '_ {
    let packets = (0..session.packet_count() as u32).map(PacketId);
    packets.filter(move |&packet| session.link(packet) == Some(link))
}

/// When the last packet but so many that arrived on a link was sent.
fn last_arrived(session: &Session, link: (NodeId, NodeId), count: usize) -> Option<SessionTime> {
    let packets = (0..session.packet_count())
        .rev()
        .map(|place| PacketId(place as u32));
    let mut arrived = packets.filter(|&packet| {
        session.link(packet) == Some(link)
            && session
                .packet(packet)
                .is_some_and(|it| it.received.is_some())
    });
    let packet = arrived.nth(count.saturating_sub(1))?;
    session.departed(packet).map(|(_, at)| at.time)
}

//! `reliable-stuck`: a reliable message was sent again for long and did not get through, and why.
//!
//! Told apart are: its copies are lost while other packets of the link arrive, more than chance explains
//! (and no packet so large arrives, where it is that); its copies arrive and nothing that comes back acks
//! it; the receiver's acks stand still while later numbers arrive; the answers are lost or late; its
//! sender had read an ack and sent it on. What the link does is a warning, what one of the two programs
//! does an error. What an ack names is what the wire says: packets by a number with bits, by ranges,
//! single messages, all messages before one. Where acks name the first missing message alone, the
//! messages behind that one are not judged. A message that was given up is `reliable-not-delivered`'s.

use super::copies::{Copy, resent};
use super::prelude::*;
use super::reliable_not_delivered::given_up_before;
use super::stuck::{Cause, Sort, Ways, is_parted};

/// How many messages of a link are looked at, those first that were sent for longest.
const LOOKED_MAX: usize = 64;

/// A message that does not get through.
struct Stuck {
    copies: Vec<Copy>,
    cause: Cause,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let bounds = &session.bounds.reliable_stuck;
    let mut candidates: BTreeMap<Link, Vec<Vec<Copy>>> = BTreeMap::new();
    let of_whole = resent(session, case.streams).filter(|(link, _)| is_whole(session, link.0));
    for (link, copies) in of_whole {
        if copies.len() >= bounds.copies && lasted(&copies) >= bounds.longest.0 {
            candidates.entry(link).or_default().push(copies);
        }
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut of_links: BTreeMap<Link, Vec<PacketId>> = BTreeMap::new();
    for (packet, (from, to)) in case.packets() {
        if candidates.contains_key(&(from, to)) || candidates.contains_key(&(to, from)) {
            of_links.entry((from, to)).or_default().push(packet);
        }
    }
    let of = |link: Link| of_links.get(&link).map_or(&[][..], Vec::as_slice);
    let mut findings = Vec::new();
    for (link, mut all) in candidates {
        let ways = Ways {
            case,
            link,
            there: of(link),
            back: of((link.1, link.0)),
        };
        let given_up = given_up_before(session, link);
        all.sort_by_key(|copies| std::cmp::Reverse(lasted(copies)));
        // Those that do not get through for the same cause are one finding.
        let mut stuck: Firsts<Sort, Stuck> = Firsts::new();
        for copies in all.into_iter().take(LOOKED_MAX) {
            let known = copies.last().zip(ways.cause(&copies));
            let Some((last, cause)) = known.map(|(copy, cause)| (copy.at, cause)) else {
                continue;
            };
            let is_lost = matches!(cause.sort, Sort::Lost | Sort::SendFailed);
            let never_came = is_lost && cause.shown.is_empty();
            let was_given_up = never_came && given_up.is_some_and(|until| last < until);
            if !was_given_up && !is_parted(case, link, last) {
                note(&mut stuck, cause.sort, Stuck { copies, cause });
            }
        }
        findings.extend(of_each(stuck, |_, it| it.finding(case, link)));
    }
    // More copies may come, and an ack.
    findings
}

/// How long a message was sent again, in ns.
fn lasted(copies: &[Copy]) -> i64 {
    let ends = copies.first().zip(copies.last());
    ends.map_or(0, |(first, last)| last.at.since(first.at))
}

impl Stuck {
    fn finding(&self, case: &Case<'_>, (from, to): Link) -> Option<Found> {
        let (session, cause) = (case.session, &self.cause);
        let (first, last) = (self.copies.first()?, self.copies.last()?);
        let first_sent = sent(session, first.packet, "a reliable message sent first");
        let last_sent = sent(session, last.packet, "the same sent last");
        let shown = first_sent.into_iter().chain(cause.shown.iter().cloned());
        let mut evidence: Vec<Evidence> = shown.chain(last_sent).collect();
        evidence.sort_by_key(|piece| (piece.time, piece.packet));
        let facts = case.history.facts(session, first.message)?;
        let sentence = format!(
            "{} sent {} to {} reliably {} times within {}{}",
            session.name(from),
            named(case, first.message)?,
            session.name(to),
            self.copies.len(),
            duration(lasted(&self.copies)),
            cause.words
        );
        Some(Found::proven(cause.level, from, evidence, sentence)?.about(facts.object))
    }
}

/// `CREATE`, `fragment 2 of 3 of RPC`.
fn named(case: &Case<'_>, first: MessageId) -> Option<String> {
    let &Case {
        session, history, ..
    } = case;
    let facts = session.message(first)?.facts;
    let whole = history.joined_of.get(&first);
    let whole = whole.and_then(|&place| history.joined.get(place as usize));
    let Some((index, count)) = facts.fragment else {
        return Some(word(session.role(&facts)).to_owned());
    };
    let fragment = format!("fragment {} of {count}", index.saturating_add(1));
    Some(match whole {
        Some(whole) => format!("{fragment} of {}", word(session.role(&whole.facts))),
        None => fragment,
    })
}

//! `reliable-stuck`: a reliable message was sent again for long and did not get through, and why.
//!
//! Told apart are: its copies are lost while other packets of the link arrive, more than chance explains
//! (and no packet so large arrives, where it is that); its copies arrive and nothing that comes back acks
//! it; the receiver's acks stand still while later numbers arrive; the answers are lost or late; its
//! sender had read an ack and sent it on. What the link does is a warning, what one of the two programs
//! does an error. What an ack names is what the wire says: packets by a number with bits, by ranges,
//! single messages, all messages before one. Where acks name the first missing message alone, the
//! messages behind that one are not judged. A message that was given up is `reliable-not-delivered`'s.

use std::collections::BTreeMap;

use super::copies::{Copy, Link, resent, too_large_words};
use super::reliable_not_delivered::given_up_before;
use super::stuck::{Cause, Ways, is_parted};
use super::words::{and_more, came, sent, word};
use super::{Case, Found};
use crate::figures::duration;
use crate::history::claims::is_whole;
use crate::history::{Evidence, Finding, Level};
use crate::session::{MessageId, PacketId, Session, packets};

pub(super) const RULE: &str = "reliable-stuck";

/// How many messages of a link are looked at, those first that were sent for longest.
const LOOKED_MAX: usize = 64;

/// A message that does not get through.
struct Stuck {
    /// How many of its link do not, for the same cause.
    count: u64,
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
    for packet in (0..session.packet_count() as u32).map(PacketId) {
        if let Some((from, to)) = session.link(packet)
            && (candidates.contains_key(&(from, to)) || candidates.contains_key(&(to, from)))
        {
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
        let mut stuck: BTreeMap<u8, Stuck> = BTreeMap::new();
        for copies in all.into_iter().take(LOOKED_MAX) {
            let Some(last) = copies.last().map(|copy| copy.at) else {
                continue;
            };
            let Some(cause) = ways.cause(&copies) else {
                continue;
            };
            let never_came = matches!(cause, Cause::Lost { came: None, .. } | Cause::SendFailed);
            let was_given_up = never_came && given_up.is_some_and(|until| last < until);
            if was_given_up || is_parted(case, link, last) {
                continue;
            }
            let known = stuck.entry(kind(&cause)).or_insert(Stuck {
                count: 0,
                copies,
                cause,
            });
            known.count += 1;
        }
        findings.extend(stuck.into_values().filter_map(|it| it.finding(case, link)));
    }
    // More copies may come, and an ack.
    findings.into_iter().map(Found::from).collect()
}

/// How long a message was sent again, in ns.
fn lasted(copies: &[Copy]) -> i64 {
    let ends = copies.first().zip(copies.last());
    ends.map_or(0, |(first, last)| last.at.0.saturating_sub(first.at.0))
}

fn kind(cause: &Cause) -> u8 {
    match cause {
        Cause::Lost { .. } => 0,
        Cause::SendFailed => 1,
        Cause::Unacked { .. } => 2,
        Cause::Standing { .. } => 3,
        Cause::AnswersLost { .. } => 4,
        Cause::AnswerLate { .. } => 5,
        Cause::Ignored { .. } => 6,
    }
}

impl Stuck {
    fn finding(&self, case: &Case<'_>, (from, to): Link) -> Option<Finding> {
        let session = case.session;
        let (first, last) = (self.copies.first()?, self.copies.last()?);
        let between = match &self.cause {
            Cause::Unacked { first, .. } | Cause::Standing { first, .. } => {
                came(session, *first, "a copy received")
            }
            Cause::Lost { came: packet, .. } => {
                packet.and_then(|packet| came(session, packet, "the first copy that arrived"))
            }
            Cause::AnswerLate { ack, .. } | Cause::Ignored { ack, .. } => {
                came(session, *ack, "an ack of it received")
            }
            _ => None,
        };
        let standing = match &self.cause {
            Cause::Standing { last, .. } => sent(session, *last, "an ack that stands still sent"),
            _ => None,
        };
        let pieces = [
            sent(session, first.packet, "a reliable message sent first"),
            between,
            standing,
            sent(session, last.packet, "the same sent last"),
        ];
        let mut evidence: Vec<Evidence> = pieces.into_iter().flatten().collect();
        evidence.sort_by_key(|piece| (piece.time, piece.packet));
        Some(Finding {
            rule: RULE,
            level: self.level(),
            node: from,
            objects: case
                .history
                .facts(session, first.message)?
                .object
                .into_iter()
                .collect(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "{} sent {} to {} reliably {} times within {}{}{}",
                session.name(from),
                named(case, first.message)?,
                session.name(to),
                self.copies.len(),
                duration(lasted(&self.copies)),
                self.because(session, (from, to)),
                and_more(self.count),
            ),
            evidence,
        })
    }

    fn level(&self) -> Level {
        match self.cause {
            Cause::Standing { .. }
            | Cause::Ignored { .. }
            | Cause::Unacked {
                acks_others: true, ..
            } => Level::Error,
            _ => Level::Warning,
        }
    }

    /// Why it does not get through, in words that go on after the sentence's beginning.
    fn because(&self, session: &Session, (from, to): Link) -> String {
        let (from, to) = (session.name(from), session.name(to));
        match &self.cause {
            Cause::Lost {
                count,
                others: (arrived, all),
                bytes,
                came,
            } => {
                let none = match came {
                    None => ", and none of them arrived".to_owned(),
                    Some(packet) => format!(
                        ", and the first {count} did not arrive (packet {} did)",
                        packet.0
                    ),
                };
                format!(
                    "{none}, though {arrived} of {} that {from} sent meanwhile did{}",
                    others(*all),
                    too_large_words(*bytes)
                )
            }
            Cause::SendFailed => ", and the call that sends it failed each time".to_owned(),
            Cause::Unacked {
                arrived,
                answers,
                nacks,
                acks_others,
                ..
            } => {
                let what = unacked_words(&to, (*answers, *nacks), *acks_others);
                format!("; {arrived} copies arrived, and {what}")
            }
            Cause::Standing {
                arrived,
                answers,
                ack,
                later: (count, first, last),
                is_next,
                ..
            } => {
                let (what, later) = if *is_next {
                    ("said that the first missing one is", "messages from it on")
                } else {
                    ("acked no other number than", "packets with later numbers")
                };
                let wrapped = if (first < ack && !is_next) || last < first {
                    ", behind the place where the numbers begin again from 0"
                } else {
                    ""
                };
                format!(
                    "; {arrived} copies arrived, and {answers} packets that {to} sent back {what} {ack}, \
                     though {count} {later} had arrived ({first} to {last}{wrapped})"
                )
            }
            Cause::AnswersLost { arrived, answers } => format!(
                "; {arrived} copies arrived, and all {} in which {to} acked it were lost",
                packets(*answers as u64)
            ),
            Cause::AnswerLate { ack, took_ns } => format!(
                "; {to} acked it in packet {}, which {from} read {} after it was sent",
                ack.0,
                duration(*took_ns)
            ),
            Cause::Ignored { ack, after } => {
                let first = self.copies.first().map(|copy| copy.at);
                let read = session.packet(*ack).and_then(|it| it.received);
                let took = read
                    .zip(first)
                    .map(|(at, first)| at.time.0.saturating_sub(first.0));
                format!(
                    "; {from} had read an ack of it {} after it first sent it (packet {}), and sent it \
                     {after} times after that",
                    duration(took.unwrap_or(0)),
                    ack.0
                )
            }
        }
    }
}

/// What came back of a message whose copies arrived, where none of it acks it.
fn unacked_words(to: &str, (answers, nacks): (usize, usize), acks_others: bool) -> String {
    let what = match answers {
        0 => format!("{to} sent nothing back"),
        _ => format!(
            "none of the {} that {to} sent back acks it{}",
            packets(answers as u64),
            if acks_others {
                ", and they ack what came later"
            } else {
                ""
            }
        ),
    };
    let lacks = match nacks {
        0 => String::new(),
        nacks => format!("; {nacks} of them say that {to} lacks what had arrived"),
    };
    format!("{what}{lacks}")
}

/// `12 other packets`.
fn others(count: u64) -> String {
    match count {
        1 => "1 other packet".to_owned(),
        count => format!("{count} other packets"),
    }
}

/// `CREATE`, `fragment 2 of 3 of RPC`.
fn named(case: &Case<'_>, first: MessageId) -> Option<String> {
    let (session, history) = (case.session, case.history);
    let facts = session.message(first)?.facts;
    let whole = history
        .joined_of
        .get(&first)
        .and_then(|&place| history.joined.get(place as usize));
    let role = session.role(&facts);
    Some(match (facts.fragment, whole) {
        (Some((index, count)), Some(whole)) => format!(
            "fragment {} of {count} of {}",
            index + 1,
            word(session.role(&whole.facts))
        ),
        (Some((index, count)), None) => format!("fragment {} of {count}", index.saturating_add(1)),
        (None, _) => word(role).to_owned(),
    })
}

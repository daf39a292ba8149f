//! `reliable-stuck`: a reliable message was sent again for long and did not get through, and why.
//!
//! Told apart are: its copies are lost while other packets of the link arrive, more than chance explains
//! (and no packet so large arrives, where it is that); its copies arrive and nothing that comes back acks
//! it; the receiver's acks stand still while later numbers arrive; the answers are lost or late; its
//! sender had read an ack and sent it on. What the link does is a warning, what one of the two programs
//! does an error. What an ack names is what the wire says: packets by a number with bits, by ranges,
//! single messages, all messages before one. Where acks name the first missing message alone, the
//! messages behind that one are not judged. A message that was given up is `reliable-not-delivered`'s.

use super::copies::{Copy, resent, too_large_words};
use super::prelude::*;
use super::reliable_not_delivered::given_up_before;
use super::stuck::{Cause, Standing, Ways, is_parted};
use super::words::word;
use crate::figures::counted;

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
        let mut stuck: Firsts<u8, Stuck> = Firsts::new();
        for copies in all.into_iter().take(LOOKED_MAX) {
            let known = copies.last().zip(ways.cause(&copies));
            let Some((last, cause)) = known.map(|(copy, cause)| (copy.at, cause)) else {
                continue;
            };
            let never_came = matches!(cause, Cause::Lost { came: None, .. } | Cause::SendFailed);
            let was_given_up = never_came && given_up.is_some_and(|until| last < until);
            if !was_given_up && !is_parted(case, link, last) {
                note(&mut stuck, kind(&cause), Stuck { copies, cause });
            }
        }
        let found = stuck.into_values();
        findings.extend(found.filter_map(|(count, it)| it.finding(case, link, count)));
    }
    // More copies may come, and an ack.
    findings
}

/// How long a message was sent again, in ns.
fn lasted(copies: &[Copy]) -> i64 {
    let ends = copies.first().zip(copies.last());
    ends.map_or(0, |(first, last)| last.at.since(first.at))
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
    fn finding(&self, case: &Case<'_>, (from, to): Link, count: u64) -> Option<Found> {
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
        let facts = case.history.facts(session, first.message)?;
        let sentence = format!(
            "{} sent {} to {} reliably {} times within {}{}{}",
            session.name(from),
            named(case, first.message)?,
            session.name(to),
            self.copies.len(),
            duration(lasted(&self.copies)),
            self.because(session, (from, to)),
            and_more(count),
        );
        Some(Found::proven(self.level(), from, evidence, sentence)?.about(facts.object))
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
                    Some(packet) => {
                        format!(", and the first {count} did not arrive (packet {packet} did)")
                    }
                };
                format!(
                    "{none}, though {arrived} of {} that {from} sent meanwhile did{}",
                    counted(*all, "other packet"),
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
                standing:
                    Standing {
                        ack,
                        later: (count, first, last),
                        is_next,
                    },
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
                "; {to} acked it in packet {ack}, which {from} read {} after it was sent",
                duration(*took_ns)
            ),
            Cause::Ignored { ack, after } => {
                let first = self.copies.first().map(|copy| copy.at);
                let read = session.packet(*ack).and_then(|it| it.received);
                let took = read.zip(first).map(|(at, first)| at.time.since(first));
                format!(
                    "; {from} had read an ack of it {} after it first sent it (packet {ack}), \
                     and sent it {after} times after that",
                    duration(took.unwrap_or(0))
                )
            }
        }
    }
}

/// What came back of a message whose copies arrived, where none of it acks it.
fn unacked_words(to: &str, (answers, nacks): (usize, usize), acks_others: bool) -> String {
    let later = if acks_others {
        ", and they ack what came later"
    } else {
        ""
    };
    let what = match answers {
        0 => format!("{to} sent nothing back"),
        _ => format!(
            "none of the {} that {to} sent back acks it{later}",
            packets(answers as u64)
        ),
    };
    match nacks {
        0 => what,
        nacks => format!("{what}; {nacks} of them say that {to} lacks what had arrived"),
    }
}

/// `CREATE`, `fragment 2 of 3 of RPC`.
fn named(case: &Case<'_>, first: MessageId) -> Option<String> {
    let (session, history) = (case.session, case.history);
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

//! `resend-storm`: reliable messages were sent far more often than the link explains.
//!
//! A copy of a message is needless where its sender cannot know that the copy before was lost: no answer
//! could have come yet; or one was on its way, because the copy before had arrived, its answer was not
//! lost, and the sender did not wait for it; or one had come. An answer is what the wire says: where acks
//! name messages, an ack of another message of the same packet is none. A message with eight needless
//! copies, or as many as the bound says, is a storm; so is a link of which a fifth of all bits are
//! needless copies, however few of each message. A warning: nothing is lost but the line. Some protocols
//! say everything again in each packet until it is acked; they are told of where that takes this much.

use super::copies::{Copy, heard_of, resent, round_trip};
use super::prelude::*;

/// What was sent again on a link.
#[derive(Default)]
struct OfLink {
    /// Copies, but for those that were sent first.
    copies: u64,
    /// The needless ones of them, by what was too early of them.
    needless: [u64; 3],
    needless_bits: u64,
    /// How long after the copy before the needless ones were sent, but for those of which an ack had
    /// come; in ns.
    waited: Vec<i64>,
    /// How long the answers to their messages took, in ns.
    rounds: Vec<i64>,
    /// The first and the last needless copy, each with the one before it.
    ends: Option<[(MessageId, MessageId); 2]>,
    /// Messages that are a storm by themselves, and the worst of them.
    messages: u64,
    worst: Option<Storm>,
}

/// A message that is a storm by itself.
struct Storm {
    first: MessageId,
    last: MessageId,
    times: usize,
    /// As in [`OfLink::needless`].
    needless: [u64; 3],
    took_ns: i64,
}

impl Storm {
    /// A late answer is no storm of one message: `reliable-stuck` says by how much it is late.
    fn count(&self) -> u64 {
        let [early, _, known] = self.needless;
        early + known
    }
}

/// Why a copy was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needless {
    /// No answer to the copy before could have come.
    Early,
    /// The answer to a copy before was on its way.
    Answered,
    /// It had come.
    Known,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, streams, ..
    } = case;
    if streams.resent().next().is_none() {
        return Vec::new();
    }
    let needless_min = session.bounds.resend_storm.needless.max(1) as u64;
    let lost = lost(case);
    let mut links: BTreeMap<Link, OfLink> = BTreeMap::new();
    let of_whole = resent(session, streams).filter(|(link, _)| is_whole(session, link.0));
    for (link, sent) in of_whole {
        let Some(round_ns) = round_trip(session, link) else {
            continue;
        };
        let answer = Answer::of(case, &sent, &lost);
        let of_link = links.entry(link).or_default();
        let pairs = sent
            .array_windows()
            .map(|&pair| (pair, answer.needless(pair, round_ns)));
        let pairs: Vec<([Copy; 2], Option<Needless>)> = pairs.collect();
        let mut needless = [0u64; 3];
        for why in pairs.iter().filter_map(|&(_, why)| why) {
            needless[why as usize] += 1;
        }
        // Who goes on and on although it had read an ack is told by `reliable-stuck`.
        let known = &mut needless[Needless::Known as usize];
        let is_stuck = *known >= needless_min;
        if is_stuck {
            *known = 0;
        }
        for (pair, why) in pairs {
            let why = why.filter(|&why| !is_stuck || why != Needless::Known);
            of_link.copies += 1;
            let Some(why) = why else { continue };
            of_link.note(session, why, pair);
            if why != Needless::Known {
                of_link.rounds.extend(answer.round_ns);
            }
        }
        let (Some(earliest), Some(latest)) = (sent.first(), sent.last()) else {
            continue;
        };
        let storm = Storm {
            first: earliest.message,
            last: latest.message,
            times: sent.len(),
            needless,
            took_ns: latest.at.since(earliest.at),
        };
        if storm.count() >= needless_min {
            of_link.messages += 1;
            let worst = of_link.worst.as_ref().map_or(0, Storm::count);
            if storm.count() > worst {
                of_link.worst = Some(storm);
            }
        }
    }
    // More copies may come, and they are counted.
    let found = links.into_iter().filter_map(|(link, of_link)| {
        let whole = of_link.of_all(session, link);
        whole.or_else(|| of_link.of_one(session, link))
    });
    found.collect()
}

impl OfLink {
    fn note(&mut self, session: &Session, why: Needless, [before, copy]: [Copy; 2]) {
        self.needless[why as usize] += 1;
        let bits = session.message(copy.message).map(|it| it.facts.bits);
        self.needless_bits += bits.map_or(0, |bits| u64::from(bits.end.saturating_sub(bits.start)));
        if why != Needless::Known {
            self.waited.push(copy.at.since(before.at));
        }
        let pair = (before.message, copy.message);
        match &mut self.ends {
            None => self.ends = Some([pair, pair]),
            Some([first, last]) => {
                if pair.1 < first.1 {
                    *first = pair;
                }
                if pair.1 > last.1 {
                    *last = pair;
                }
            }
        }
    }

    /// The finding where needless copies take much of the whole link.
    fn of_all(&self, session: &Session, link: Link) -> Option<Found> {
        let (from, to) = link;
        let bounds = &session.bounds.resend_storm;
        let bytes = session.traffic().get(&link)?.bytes;
        let all: u64 = self.needless.iter().sum();
        let is_much = self.needless_bits.saturating_mul(100)
            >= bytes.saturating_mul(8).saturating_mul(bounds.link_percent);
        if all < bounds.link_needless.max(1) || !is_much {
            return None;
        }
        let [first, last] = self.ends?;
        let pieces = [
            sent_in(session, first.0, "a message sent"),
            sent_in(session, first.1, "the same sent again"),
            sent_in(session, last.0, "a message sent later"),
            sent_in(session, last.1, "the same sent again"),
        ];
        let (name, [early, answered, known]) = (session.name(from), self.needless);
        let cause = if known > early + answered {
            format!("{known} of them were sent after the message's ack had come to {name}")
        } else {
            let round = match middle(&self.rounds) {
                Some(round) => format!("{} (the middle one)", duration(round)),
                None => format!("{} at the least", duration(round_trip(session, link)?)),
            };
            format!(
                "{name} waited {} for an answer (the middle of {}), and a round trip takes {round}",
                duration(middle(&self.waited)?),
                early + answered,
            )
        };
        let sentence = format!(
            "{name} sent {} reliable messages to {} again, and what was lost or not answered in time \
             explains {} of them: {} of {bytes} bytes on that link are needless copies; {cause}",
            self.copies,
            session.name(to),
            self.copies - all,
            self.needless_bits.div_ceil(8),
        );
        Found::proven(Level::Warning, from, pieces, sentence)
    }

    /// The finding where single messages were sent needlessly often.
    fn of_one(&self, session: &Session, link: Link) -> Option<Found> {
        let (from, to) = link;
        let storm = self.worst.as_ref()?;
        let pieces = [
            sent_in(session, storm.first, "a message sent first"),
            sent_in(session, storm.last, "the same sent last"),
        ];
        let round = duration(round_trip(session, link)?);
        let [early, _, known] = storm.needless;
        let words = [
            (early, format!("sooner than an answer could come ({round})")),
            (known, "after its ack".to_owned()),
        ];
        let words = words.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words
            .map(|(count, what)| format!("{count} of them {what}"))
            .collect();
        let sentence = format!(
            "{} sent a reliable message to {} {} times within {}, {}{}",
            session.name(from),
            session.name(to),
            storm.times,
            duration(storm.took_ns),
            words.join(", "),
            and_more(self.messages),
        );
        Found::proven(Level::Warning, from, pieces, sentence)
    }
}

/// The send of a message's packet as a piece of proof.
fn sent_in(session: &Session, message: MessageId, what: &str) -> Option<Evidence> {
    sent(session, session.carrier(message)?, what)
}

/// What the sender of a message learnt of its arrival, and from which copy.
#[derive(Clone, Copy, Default)]
struct Answer {
    /// When it learnt.
    heard: Option<SessionTime>,
    /// The send of the copy that arrived first, where the answer to that one is what the sender heard.
    answered: Option<SessionTime>,
    /// How long that took, in ns.
    round_ns: Option<i64>,
}

impl Answer {
    fn of(case: &Case<'_>, copies: &[Copy], lost: &Lost) -> Answer {
        let session = case.session;
        let Some(heard) = heard_of(case, copies) else {
            return Answer::default();
        };
        let arrived = copies
            .iter()
            .filter_map(|copy| Some((copy.received(session)?.time, copy.at)));
        // What was lost on the way back after the arrival may have been the answer to it.
        let answered = arrived.min().and_then(|(arrived, sent)| {
            let (from, to) = session.link(copies.first()?.packet)?;
            let ack = session.packet_at(from, heard.number)?.packet;
            let left = session.left(ack)?;
            let is_first = sent < heard.time && !lost.between((to, from), arrived, left.time);
            is_first.then_some(sent)
        });
        Answer {
            heard: Some(heard.time),
            answered,
            round_ns: answered.map(|sent| heard.time.since(sent)),
        }
    }

    /// Why a copy was needless; `None` where it was not.
    fn needless(&self, [before, copy]: [Copy; 2], round_ns: i64) -> Option<Needless> {
        if self.heard.is_some_and(|heard| heard < copy.at) {
            return Some(Needless::Known);
        }
        if copy.at.since(before.at) < round_ns {
            return Some(Needless::Early);
        }
        let is_answered = self.answered.is_some_and(|answered| answered < copy.at);
        is_answered.then_some(Needless::Answered)
    }
}

/// When the packets that were lost on each link had been sent, in order.
struct Lost(BTreeMap<Link, Vec<SessionTime>>);

fn lost(case: &Case<'_>) -> Lost {
    let session = case.session;
    let mut lost: BTreeMap<Link, Vec<SessionTime>> = BTreeMap::new();
    for (packet, link) in case.packets() {
        let known = session.packet(packet);
        let is_lost = known.is_some_and(|it| it.doubtful || it.fate != Fate::Received);
        if is_lost && let Some(at) = session.left(packet) {
            lost.entry(link).or_default().push(at.time);
        }
    }
    lost.values_mut().for_each(|times| times.sort_unstable());
    Lost(lost)
}

impl Lost {
    /// Whether something that was sent on a link at a time between these was lost, or may have been.
    fn between(&self, link: Link, from: SessionTime, until: SessionTime) -> bool {
        let times = self.0.get(&link).map_or(&[][..], Vec::as_slice);
        let place = times.partition_point(|&time| time < from);
        times.get(place).is_some_and(|&time| time < until)
    }
}

/// The middle one.
fn middle(values: &[i64]) -> Option<i64> {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

//! Why a reliable message does not get through, as far as both reels tell.

use std::ops::Range;

use netreel_wire::Sequence;

use super::copies::{Copy, heard_of, too_large};
use super::prelude::*;
use crate::history::sequence::{span, unwrap};
use crate::history::streams::{MessageStream, reliable};
use crate::session::{Packet, Said};

/// How many copies must have arrived where it is the answers that lack.
const ARRIVED_MIN: usize = 3;

/// How many other packets must have arrived where copies are lost.
const OTHERS_MIN: u64 = 8;

/// Where the loss of the other packets explains with such a chance that all copies were lost, it was
/// chance.
const CHANCE_MAX: f64 = 1e-8;

/// Why a message does not get through.
pub(super) struct Cause {
    pub sort: Sort,
    pub level: Level,
    /// The same in words that go on after a sentence's beginning.
    pub words: String,
    /// What shows it beside the first copy and the last: of those that were lost, the one that came.
    pub shown: Vec<Evidence>,
}

/// Messages of one link that do not get through for causes of one sort are one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// Its first copies were lost, and other packets arrived.
    Lost,
    /// The call failed that should have sent it.
    SendFailed,
    /// Copies arrived, and nothing that the receiver sent back acks it.
    Unacked,
    /// Copies arrived, and the receiver's acks say the same number all the time.
    Standing,
    /// All packets were lost that acked it.
    AnswersLost,
    /// It was acked, and its sender read that only much later.
    AnswerLate,
    /// Its sender had read an ack of it, and sent it again after that.
    Ignored,
}

impl Cause {
    fn new(
        sort: Sort,
        level: Level,
        words: String,
        shown: impl IntoIterator<Item = Option<Evidence>>,
    ) -> Option<Cause> {
        Some(Cause {
            sort,
            level,
            words,
            shown: shown.into_iter().flatten().collect(),
        })
    }
}

const ACK_READ: &str = "an ack of it received";

/// What is known of a link for the messages that are stuck on it.
pub(super) struct Ways<'a> {
    pub case: &'a Case<'a>,
    pub link: Link,
    /// The packets there and those back, in the order in which they left.
    pub there: &'a [PacketId],
    pub back: &'a [PacketId],
}

/// A message as acks name it.
struct Named {
    stream: MessageStream,
    place: i64,
    /// The places of the packets that brought it.
    packets: Vec<(i64, Option<Sequence>)>,
}

/// What an answer says of a message.
#[derive(Clone, Copy, Default)]
struct Says {
    names: bool,
    nacks: bool,
    /// The number of its newest packet, as it says it and on the line.
    newest: Option<(u64, i64)>,
    /// The same of the first message that it lacks.
    missing: Option<(u64, i64)>,
    /// Whether it names single messages, or packets.
    singly: bool,
}

impl Ways<'_> {
    /// Why a message does not get through; `None` where it does, or nothing tells.
    pub fn cause(&self, copies: &[Copy]) -> Option<Cause> {
        let session = self.case.session;
        let bounds = &session.bounds.reliable_stuck;
        let rounds_ns = self.round_ns()?.saturating_mul(4);
        let patience_ns = bounds.longest.0.saturating_add(rounds_ns);
        let (earliest, latest) = (copies.first()?, copies.last()?);
        let heard = heard_of(self.case, copies);
        if let Some(heard) = heard {
            let after = copies.iter().filter(|copy| copy.at > heard.time).count();
            if after >= session.bounds.resend_storm.needless.max(1) {
                let ack = session.packet_at(self.link.0, heard.number)?.packet;
                let read = session.packet(ack).and_then(|it| it.received);
                let took_ns = read.map_or(0, |read| read.time.since(earliest.at));
                let words = format!(
                    "; {} had read an ack of it {} after it first sent it (packet {ack}), and sent it \
                     {after} times after that",
                    session.name(self.link.0),
                    duration(took_ns)
                );
                let shown = came(session, ack, ACK_READ);
                return Cause::new(Sort::Ignored, Level::Error, words, [shown]);
            }
        }
        let mut all = copies.iter();
        let brought = all.position(|copy| copy.received(session).is_some());
        let vain = copies.get(..brought.unwrap_or(copies.len()))?;
        if let Some(until) = vain.last()
            && vain.len() >= bounds.copies
            && until.at.since(earliest.at) >= bounds.longest.0
        {
            let brought = brought.and_then(|at| copies.get(at));
            return self.lost(vain, brought.map(|copy| copy.packet));
        }
        let until = heard.map_or(latest.at, |heard| heard.time.min(latest.at));
        self.unanswered(copies, until, patience_ns)
    }

    /// How long the middle packet takes there and the middle one back, in ns.
    fn round_ns(&self) -> Option<i64> {
        let (from, to) = self.link;
        let traffic = self.case.session.traffic();
        let middle = |link: Link| Some(traffic.get(&link)?.latency_ns?.1.max(0));
        Some(middle((from, to))?.saturating_add(middle((to, from))?))
    }

    /// The same of a message of which these copies did not arrive; the packet that brought it at last.
    fn lost(&self, vain: &[Copy], brought: Option<PacketId>) -> Option<Cause> {
        let session = self.case.session;
        let carriers: BTreeSet<PacketId> = vain.iter().map(|copy| copy.packet).collect();
        let known: Vec<_> = carriers
            .iter()
            .filter_map(|&it| session.packet(it))
            .collect();
        if known.iter().all(|it| it.fate == Fate::SendFailed) {
            let words = ", and the call that sends it failed each time".to_owned();
            return Cause::new(Sort::SendFailed, Level::Warning, words, None);
        }
        let is_lost = |it: &Packet| it.fate == Fate::Lost && !it.doubtful;
        if !known.iter().all(is_lost) {
            return None;
        }
        let (mut arrived, mut all, mut runs, mut apart) = (0u64, 0u64, 0u32, true);
        let (first, last) = (carriers.first()?, carriers.last()?);
        for &packet in of(self.there, *first..PacketId(last.0.saturating_add(1))) {
            if carriers.contains(&packet) {
                runs += u32::from(std::mem::take(&mut apart));
                continue;
            }
            let came = session.packet(packet)?.received.is_some();
            all += 1;
            arrived += u64::from(came);
            apart |= came;
        }
        // By how much chance each run was lost that others which arrived keep apart.
        let chance = (all - arrived + 1) as f64 / (all + 2) as f64;
        if arrived < OTHERS_MIN || chance.powi(runs as i32) > CHANCE_MAX {
            return None;
        }
        let (there, count) = (self.there.iter().copied(), vain.len());
        let none = match brought {
            None => ", and none of them arrived".to_owned(),
            Some(packet) => {
                format!(", and the first {count} did not arrive (packet {packet} did)")
            }
        };
        let words = format!(
            "{none}, though {arrived} of {} that {} sent meanwhile did{}",
            counted(all, "other packet"),
            session.name(self.link.0),
            too_large(session, there, carriers.iter().copied())
        );
        let shown = brought.map(|packet| came(session, packet, "the first copy that arrived"));
        Cause::new(Sort::Lost, Level::Warning, words, shown)
    }

    /// The same of a message of which copies arrived, until a moment.
    fn unanswered(&self, copies: &[Copy], until: SessionTime, patience_ns: i64) -> Option<Cause> {
        let session = self.case.session;
        if !is_whole(session, self.link.1) || !self.is_acked_at_all() {
            return None;
        }
        let received = copies
            .iter()
            .filter_map(|copy| Some((copy.received(session)?.time, *copy)));
        let mut arrivals: Vec<_> = received.filter(|&(at, _)| at <= until).collect();
        arrivals.sort_unstable_by_key(|&(at, copy)| (at, copy.message));
        let &(since, first) = arrivals.first()?;
        let arrived = arrivals.len();
        if arrived < ARRIVED_MIN || until.since(since) < patience_ns {
            return None;
        }
        let named = self.named(copies.first()?.message, &arrivals)?;
        let is_answer = |packet: &PacketId| {
            let left = session.left(*packet);
            left.is_some_and(|at| at.time > since && at.time <= until)
        };
        let answers: Vec<PacketId> = self.back.iter().copied().filter(is_answer).collect();
        let says: Vec<Says> = answers.iter().map(|&it| self.says(it, &named)).collect();
        let naming = answers.iter().zip(&says).filter(|(_, says)| says.names);
        let naming: Vec<PacketId> = naming.map(|(&packet, _)| packet).collect();
        if let Some(&ack) = naming.first() {
            return self.too_late(&naming, ack, arrived);
        }
        // Where acks name what is missing alone, what comes behind that waits for it.
        let singly = says.iter().any(|says| says.singly);
        let missing = says.iter().rev().find_map(|says| says.missing);
        if !singly && missing.is_some_and(|(_, place)| place < named.place) {
            return None;
        }
        let first = came(session, first.packet, "a copy received");
        if let Some(standing) = self.standing(&answers, &says, &named) {
            let words = format!("; {arrived} copies arrived, and {standing}");
            let last = sent(session, *answers.last()?, "an ack that stands still sent");
            return Cause::new(Sort::Standing, Level::Error, words, [first, last]);
        }
        let next = PacketId(copies.first()?.packet.0.saturating_add(1));
        let sent_since = of(self.there, next..PacketId(u32::MAX));
        let acks_others = sent_since.iter().any(|&packet| {
            let heard = self.case.history.acked(session, packet);
            heard.is_some_and(|at| at.time > since && at.time <= until)
        });
        let (level, later) = if acks_others {
            (Level::Error, ", and they ack what came later")
        } else {
            (Level::Warning, "")
        };
        let to = session.name(self.link.1);
        let what = match answers.len() {
            0 => format!("{to} sent nothing back"),
            count => format!(
                "none of the {} that {to} sent back acks it{later}",
                packets(count as u64)
            ),
        };
        let nacks = match says.iter().filter(|says| says.nacks).count() {
            0 => String::new(),
            count => format!("; {count} of them say that {to} lacks what had arrived"),
        };
        let words = format!("; {arrived} copies arrived, and {what}{nacks}");
        Cause::new(Sort::Unacked, level, words, [first])
    }

    /// Whether any packet of the session was ever acked, so that acks can be read at all.
    fn is_acked_at_all(&self) -> bool {
        self.case.history.acked_packets().next().is_some()
    }

    /// The acks of a message, the first of which is `ack`, did not reach its sender in time.
    fn too_late(&self, naming: &[PacketId], ack: PacketId, arrived: usize) -> Option<Cause> {
        let session = self.case.session;
        let known: Vec<_> = naming.iter().filter_map(|&it| session.packet(it)).collect();
        let (from, to) = (session.name(self.link.0), session.name(self.link.1));
        if known.iter().all(|it| it.fate == Fate::Lost && !it.doubtful) {
            if naming.len() < session.bounds.reliable_stuck.copies {
                return None;
            }
            let words = format!(
                "; {arrived} copies arrived, and all {} in which {to} acked it were lost",
                packets(naming.len() as u64)
            );
            return Cause::new(Sort::AnswersLost, Level::Warning, words, None);
        }
        let packet = session.packet(ack)?;
        let received = packet.received.filter(|_| !packet.doubtful);
        let (sent, received) = packet.sent.zip(received)?;
        let took_ns = received.time.since(sent.time);
        if took_ns < session.bounds.reliable_stuck.longest.0 {
            return None;
        }
        let words = format!(
            "; {to} acked it in packet {ack}, which {from} read {} after it was sent",
            duration(took_ns)
        );
        let shown = came(session, ack, ACK_READ);
        Cause::new(Sort::AnswerLate, Level::Warning, words, [shown])
    }

    /// How acks would name a message that these copies brought.
    fn named(&self, first: MessageId, arrivals: &[(SessionTime, Copy)]) -> Option<Named> {
        let (session, streams) = (self.case.session, self.case.streams);
        let message = session.message(first)?;
        let at = streams.meeting_of(message.packet);
        let packets = arrivals.iter().filter_map(|(_, copy)| {
            let place = streams.packet_place(copy.packet)?;
            Some((place, session.said(copy.packet)?.sequence))
        });
        Some(Named {
            stream: reliable(self.link, at, &message.facts),
            place: streams.place(first)?,
            packets: packets.collect(),
        })
    }

    /// What a packet of the receiver says of a message.
    fn says(&self, answer: PacketId, message: &Named) -> Says {
        let session = self.case.session;
        let mut says = Says::default();
        let Some(said) = session.said(answer) else {
            return says;
        };
        let near = message.packets.last().map(|&(place, _)| place);
        if let Some((ack, near)) = said.ack.zip(near) {
            let newest = unwrap(ack, near);
            says.newest = Some((ack.value, newest));
            says.singly = true;
            let (bits, count) = said.ack_bits.unwrap_or((0, 0));
            let is_named = |place: i64| match newest.checked_sub(place) {
                Some(0) => true,
                Some(back @ 1..=64) => back <= i64::from(count) && bits >> (back - 1) & 1 == 1,
                _ => false,
            };
            says.names |= message.packets.iter().any(|&(place, _)| is_named(place));
        }
        if !said.ack_ranges.is_empty() {
            says.singly = true;
            let is_named = |place: i64| is_in_range(&said, place);
            says.names |= message.packets.iter().any(|&(place, _)| is_named(place));
        }
        let mut lacked = message.packets.iter().filter_map(|&(_, number)| number);
        says.nacks = lacked.any(|number| said.is_lacking(number));
        let before = said
            .acknowledges_before
            .filter(|_| message.stream.channel.is_none());
        let mut all_before: Vec<Sequence> = before.into_iter().collect();
        let (from, to) = self.link;
        for (_, facts) in session.messages_of(answer) {
            if reliable((from, to), message.stream.meeting, &facts) != message.stream {
                continue;
            }
            all_before.extend(facts.acknowledges_before);
            if let Some(sequence) = facts.acknowledges {
                says.singly = true;
                says.names |= unwrap(sequence, message.place) == message.place;
            }
        }
        for before in all_before {
            let missing = unwrap(before, message.place);
            says.missing = Some((before.value, missing));
            says.names |= missing > message.place;
        }
        says
    }

    /// That all answers say one number though what is later had arrived, where they do, in words.
    fn standing(&self, answers: &[PacketId], says: &[Says], message: &Named) -> Option<String> {
        if answers.len() < ARRIVED_MIN {
            return None;
        }
        let session = self.case.session;
        let all_say = |number: fn(&Says) -> Option<(u64, i64)>| {
            let first = number(says.first()?)?;
            let are_all = says.iter().all(|it| number(it) == Some(first));
            are_all.then_some(first)
        };
        // `is_next`: it is the number of the message that is still missing.
        let standing = |ack: u64, numbers: &[u64], is_next: bool| {
            let (first, last) = (*numbers.first()?, *numbers.last()?);
            let (what, later) = if is_next {
                ("said that the first missing one is", "messages from it on")
            } else {
                ("acked no other number than", "packets with later numbers")
            };
            let wrapped = if (first < ack && !is_next) || last < first {
                ", behind the place where the numbers begin again from 0"
            } else {
                ""
            };
            Some(format!(
                "{} packets that {} sent back {what} {ack}, though {} {later} had arrived \
                 ({first} to {last}{wrapped})",
                answers.len(),
                session.name(self.link.1),
                numbers.len()
            ))
        };
        if let Some((ack, place)) = all_say(|says| says.newest) {
            let last_left = session.left(*answers.last()?)?.time;
            let arrived = self.there.iter().filter(|&&packet| {
                let its_place = self.case.streams.packet_place(packet);
                let is_later = its_place.is_some_and(|it| it > place);
                let received = session.packet(packet).and_then(|it| it.received);
                is_later && received.is_some_and(|at| at.time < last_left)
            });
            let numbers: Vec<u64> = arrived
                .filter_map(|&packet| session.said(packet)?.sequence)
                .map(|number| number.value)
                .collect();
            return standing(ack, &numbers, false).filter(|_| numbers.len() >= ARRIVED_MIN);
        }
        let (ack, place) = all_say(|says| says.missing)?;
        let numbered = |line: &crate::history::line::Line| {
            let places = line.from(place).take(OTHERS_MIN as usize * 8);
            let arrived = places.filter_map(|(_, first)| {
                let message = session.message(MessageId(first))?;
                let received = session.packet(message.packet)?.received;
                received.and(message.facts.reliable_sequence)
            });
            arrived.map(|number| number.value).collect::<Vec<u64>>()
        };
        let numbers = self.case.streams.line(message.stream).map(numbered)?;
        standing(ack, &numbers, true).filter(|_| place == message.place)
    }
}

/// Whether an ack range of a packet names the packet at a place.
fn is_in_range(said: &Said, place: i64) -> bool {
    let bits = said.range_bits;
    said.ack_ranges.iter().any(|&(first, value)| {
        let last = unwrap(Sequence { value, bits }, place);
        let first = last.saturating_sub_unsigned(span(first, value, bits));
        (first..=last).contains(&place)
    })
}

/// Those of packets in order that are in a range.
fn of(packets: &[PacketId], range: Range<PacketId>) -> &[PacketId] {
    let from = packets.partition_point(|&it| it < range.start);
    let until = packets.partition_point(|&it| it < range.end);
    packets.get(from..until).unwrap_or(&[])
}

/// Whether somebody said before a moment that one of the two leaves.
pub(super) fn is_parted(case: &Case<'_>, (from, to): Link, until: SessionTime) -> bool {
    let session = case.session;
    let mut partings = case.history.parting_messages.iter();
    partings.any(|&message| {
        let Some(message) = session.message(message) else {
            return false;
        };
        let sender = session.link(message.packet).map(|(sender, _)| sender);
        let is_of_them = match message.facts.origin.or_else(|| case.peer(sender?)) {
            Some(who) => [case.peer(from), case.peer(to)].contains(&Some(who)),
            None => sender == Some(from) || sender == Some(to),
        };
        let left = session.left(message.packet);
        is_of_them && left.is_some_and(|at| at.time <= until)
    })
}

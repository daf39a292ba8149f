//! How a message came: its copies, why each was sent, and which arrived.

use netreel_wire::{PacketFacts, Sequence};

use super::fact::{Fact, Link, NotKnown};
use super::telling::Telling;
use super::transit::of_link;
use super::{Certainty, StepId};
use crate::session::{Fate, MessageId, PacketId, SessionTime};

/// Of a message that was sent more often, so many copies are told.
const COPIES_MAX: usize = 4;

/// So many packets are read for what they say of a packet that its sender's peer lacks.
const READ_MAX: usize = 256;

/// A copy of a message.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub message: MessageId,
    pub packet: PacketId,
    pub sent: SessionTime,
    pub received: Option<SessionTime>,
}

impl Telling<'_> {
    /// The copies of a message, in the order in which they were sent.
    pub fn copies(&mut self, message: MessageId) -> Vec<Copy> {
        let session = self.session;
        let all = self.all_copies(message).into_iter();
        let copies = all.filter_map(|message| {
            let packet = session.carrier(message)?;
            let known = session.packet(packet)?;
            Some(Copy {
                message,
                packet,
                sent: known.first()?.time,
                received: known.received.map(|at| at.time),
            })
        });
        copies.collect()
    }

    /// How a message came, or did not.
    pub fn reached(&mut self, message: MessageId) -> StepId {
        let copies = self.copies(message);
        let Some(&first) = copies.first() else {
            let fact = Fact::NeverReached { message, sent: 0 };
            return self.end(fact, Certainty::Unknown);
        };
        let arrived = (0..).zip(&copies);
        let arrived = arrived.filter_map(|(place, copy)| Some((copy.received?, place)));
        let brought = arrived.min().map(|(_, place): (_, usize)| place);
        let doubtful = |packet: PacketId| {
            let known = self.session.packet(packet);
            match known.is_some_and(|known| known.doubtful) {
                true => Certainty::Doubtful,
                false => Certainty::Certain,
            }
        };
        let Some(brought) = brought else {
            // The sender was told of what the receiver's reel does not hold.
            let unseen = copies.iter().find(|copy| {
                let known = self.session.packet(copy.packet);
                let is_unknown = known.is_some_and(|known| known.fate == Fate::Unknown);
                is_unknown && self.history.acked(self.session, copy.packet).is_some()
            });
            if let Some(unseen) = unseen {
                return self.fate(unseen.packet);
            }
            let sent = copies.len() as u32;
            let all_lost = copies.iter().all(|copy| {
                let known = self.session.packet(copy.packet);
                known.is_some_and(|known| known.fate == Fate::Lost && !known.doubtful)
            });
            let certainty = match all_lost {
                true => Certainty::Certain,
                false => Certainty::Doubtful,
            };
            let message = first.message;
            return self.step(Fact::NeverReached { message, sent }, certainty, |it| {
                it.ways(&copies, copies.len())
            });
        };
        let packet = copies[brought].packet;
        let fact = Fact::Reached {
            message: first.message,
            packet,
            sent: brought as u32 + 1,
        };
        let certainty = doubtful(packet);
        self.step(fact, certainty, |it| it.ways(&copies, brought + 1))
    }

    /// What became of the first so many copies, and why each but the first was sent.
    fn ways(&mut self, copies: &[Copy], count: usize) -> Vec<StepId> {
        let told = &copies[..count.min(copies.len())];
        let mut steps = Vec::new();
        for (place, copy) in told.iter().enumerate() {
            // The first ones and the last one.
            if told.len() > COPIES_MAX && place + 1 < told.len() && place + 1 >= COPIES_MAX {
                if place + 1 == COPIES_MAX {
                    let count = (told.len() - COPIES_MAX) as u32;
                    let message = copies[0].message;
                    steps.push(self.end(Fact::MoreCopies { message, count }, Certainty::Certain));
                }
                continue;
            }
            if let Some(before) = place.checked_sub(1).and_then(|before| told.get(before)) {
                steps.push(self.sent_again(*copy, *before));
            }
            steps.push(self.fate(copy.packet));
        }
        steps
    }

    /// Why a copy was sent, as far as what its sender had heard tells.
    pub fn sent_again(&mut self, copy: Copy, before: Copy) -> StepId {
        let after_ns = copy.sent.0.saturating_sub(before.sent.0);
        let fact = Fact::SentAgain {
            copy: copy.message,
            before: before.message,
            after_ns,
        };
        self.step(fact, Certainty::Certain, |it| it.trigger(copy, before))
    }

    fn trigger(&mut self, copy: Copy, before: Copy) -> Vec<StepId> {
        let (session, history) = (self.session, self.history);
        let Some(link) = session.link(before.packet) else {
            return Vec::new();
        };
        // Of a sender that was not recorded, what passed by on its way to it is known.
        let sender = session.nodes.get(usize::from(link.0.0));
        let heard = match sender.is_some_and(|node| node.recorded) {
            true => Certainty::Certain,
            false => Certainty::Doubtful,
        };
        let learnt = |packet: PacketId| {
            let at = history.acked(session, packet)?.time;
            (at <= copy.sent).then_some(at)
        };
        let packet = before.packet;
        if let Some(at) = learnt(packet) {
            let is_guess = history.is_ambiguous(packet);
            let certainty = match is_guess {
                true => Certainty::Doubtful,
                false => heard,
            };
            return vec![self.end(Fact::Acked { packet, at }, certainty)];
        }
        if let Some((nack, at)) = self.nack(before, copy, link) {
            let fact = Fact::Nacked { packet, nack, at };
            return vec![self.end(fact, heard)];
        }
        let after_ns = copy.sent.0.saturating_sub(before.sent.0);
        let fastest_ns = self.fastest_answer(packet, link);
        if let Some(round_ns) = fastest_ns.filter(|&fastest_ns| after_ns < fastest_ns) {
            let fact = Fact::Eager {
                packet,
                after_ns,
                round_ns,
            };
            return vec![self.end(fact, heard)];
        }
        // Who hears of the other side, and of no ack, hears acks that nobody can read.
        let mut heard_of = of_link(session, copy.packet, (link.1, link.0), false);
        if fastest_ns.is_none() && heard_of.next().is_some() && !self.is_ever_acked(link) {
            return vec![self.nothing(NotKnown::Acks(link))];
        }
        let mut steps = Vec::new();
        let later = of_link(session, packet, link, true).take_while(|&it| it < copy.packet);
        let gap = later
            .filter_map(|later| Some((learnt(later)?, later)))
            .min();
        match gap {
            Some((at, later)) => {
                let fact = Fact::AckGap {
                    packet,
                    later,
                    at,
                    after_ns: copy.sent.0.saturating_sub(at.0),
                };
                steps.push(self.end(fact, Certainty::Doubtful));
            }
            None => {
                let fact = Fact::Silence { packet, after_ns };
                steps.push(self.end(fact, Certainty::Doubtful));
            }
        }
        if let Some(received) = before.received.filter(|&at| at < copy.sent) {
            steps.extend(self.acks_away(before.packet, link, (received, copy.sent)));
        }
        steps
    }

    /// The shortest time after which the sender of a link knew that a packet had arrived, of the
    /// packets around one.
    fn fastest_answer(&self, packet: PacketId, link: Link) -> Option<i64> {
        let around =
            [false, true].map(|is_forward| of_link(self.session, packet, link, is_forward));
        let around = around.into_iter().flatten().chain([packet]);
        let rounds = around.filter_map(|id| {
            let learnt = self.history.acked(self.session, id)?;
            let (_, left) = self.session.departed(id)?;
            (!self.history.is_ambiguous(id)).then(|| learnt.time.0.saturating_sub(left.time.0))
        });
        rounds.min()
    }

    /// Whether the sender of a link learnt of the arrival of any packet.
    fn is_ever_acked(&self, link: Link) -> bool {
        let mut acked = self.history.acked_packets();
        acked.any(|id| self.session.link(id) == Some(link) && !self.history.is_ambiguous(id))
    }

    /// What became of the answers to a packet that had arrived.
    fn acks_away(
        &mut self,
        packet: PacketId,
        (from, to): Link,
        (since, until): (SessionTime, SessionTime),
    ) -> Option<StepId> {
        let session = self.session;
        let answers = of_link(session, packet, (to, from), true);
        let answers = answers.map_while(|id| Some((session.packet(id)?, session.departed(id)?.1)));
        let answers = answers.take_while(|(_, at)| at.time < until);
        let answers = answers.filter(|(_, at)| at.time >= since);
        let (mut count, mut lost) = (0, 0);
        for (answer, _) in answers {
            count += 1;
            lost += u32::from(answer.fate == Fate::Lost);
        }
        let fact = Fact::AcksAway {
            packet,
            answers: (count, lost),
        };
        Some(self.end(fact, Certainty::Certain))
    }

    /// The packet with which the receiver had said that it lacks a packet, and when that came.
    fn nack(&self, before: Copy, copy: Copy, (from, to): Link) -> Option<(PacketId, SessionTime)> {
        let session = self.session;
        let sequence = session.said(before.packet)?.sequence?;
        let wire = session.wire.as_ref()?;
        let heard = of_link(session, copy.packet, (to, from), false);
        let heard = heard.take_while(|&id| {
            let departed = session.departed(id);
            departed.is_none_or(|(_, at)| at.time >= before.sent)
        });
        let mut facts = PacketFacts::default();
        for id in heard.take(READ_MAX) {
            let received = session.packet(id)?.received;
            let Some(at) = received.filter(|at| at.time <= copy.sent) else {
                continue;
            };
            let Some((context, mut state)) = session.surroundings(id) else {
                continue;
            };
            let Some(payload) = session.payload(id) else {
                continue;
            };
            wire.facts_in(&context, &mut state, &payload, &mut facts);
            if is_nacked(&facts, sequence) {
                return Some((id, at.time));
            }
        }
        None
    }
}

/// Whether a packet says that its sender lacks the packet with a number.
fn is_nacked(facts: &PacketFacts, sequence: Sequence) -> bool {
    let mask = u64::MAX >> (64 - u32::from(facts.range_bits.clamp(1, 64)));
    let within = |&(first, last): &(u64, u64)| {
        let span = last.wrapping_sub(first) & mask;
        sequence.value.wrapping_sub(first) & mask <= span
    };
    let one = facts.nack.is_some_and(|nack| nack.value == sequence.value);
    one || facts.nack_ranges.iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ranges: &[(u64, u64)], bits: u8, number: u64, expected: bool) {
        let facts = PacketFacts {
            nack_ranges: ranges.to_vec(),
            range_bits: bits,
            ..PacketFacts::default()
        };
        let sequence = Sequence {
            value: number,
            bits,
        };
        assert_eq!(is_nacked(&facts, sequence), expected);
    }

    #[test]
    fn a_range_of_what_is_lacked_has_its_ends() {
        check(&[(3, 5)], 24, 3, true);
        check(&[(3, 5)], 24, 5, true);
        check(&[(3, 5)], 24, 6, false);
    }

    #[test]
    fn a_range_of_what_is_lacked_reaches_over_the_wrap() {
        check(&[(0xFF_FFFE, 1)], 24, 0, true);
        check(&[(0xFF_FFFE, 1)], 24, 2, false);
    }
}

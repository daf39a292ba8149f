//! How a message came: its copies, why each was sent, and which arrived.

use super::prelude::*;
use super::resend::{Copy, Near, first_arrived, heard};
use super::transit::of_link;
use crate::session::{Fate, MessageId, PacketId, SessionTime};

/// How many copies of a message are listed.
const COPIES_MAX: usize = 4;

impl Telling<'_> {
    /// The copies of a message, in the order in which they were sent.
    pub fn copies(&mut self, message: MessageId) -> Vec<Copy> {
        let all = self.all_copies(message).into_iter();
        let copies = all.filter_map(|message| Copy::of(self.session, message));
        copies.collect()
    }

    /// How a message came, or did not.
    pub fn reached(&mut self, message: MessageId) -> StepId {
        let copies = self.copies(message);
        let Some(&first) = copies.first() else {
            let fact = Fact::NeverReached { message, sent: 0 };
            return self.end(fact, Certainty::Unknown);
        };
        let Some((_, packet, brought)) = first_arrived(&copies) else {
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
            let certainty = Certainty::but_for(!all_lost);
            let message = first.message;
            return self.step(Fact::NeverReached { message, sent }, certainty, |it| {
                let ambiguous = it.ambiguous(message);
                let ways = it.ways(&copies, copies.len());
                ambiguous.into_iter().chain(ways).collect()
            });
        };
        let fact = Fact::Reached {
            message: first.message,
            packet,
            sent: brought as u32 + 1,
        };
        let certainty = Certainty::but_for(self.is_doubtful(packet));
        self.step(fact, certainty, |it| it.ways(&copies, brought + 1))
    }

    /// What became of the first this many copies, and why each but the first was sent.
    fn ways(&mut self, copies: &[Copy], count: usize) -> Vec<StepId> {
        let told = &copies[..count.min(copies.len())];
        let mut steps = Vec::new();
        for (place, copy) in told.iter().enumerate() {
            // The first ones and the last one.
            if told.len() > COPIES_MAX && place + 1 < told.len() && place + 1 >= COPIES_MAX {
                if place + 1 == COPIES_MAX {
                    let count = (told.len() - COPIES_MAX) as u32;
                    let message = copies[0].message;
                    steps.push(self.certain(Fact::MoreCopies { message, count }));
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

    /// That the number of a message does not tell it apart from another one.
    pub fn ambiguous(&mut self, message: MessageId) -> Option<StepId> {
        let (why, other) = self.history.ambiguity(self.session, message)?;
        let fact = Fact::Ambiguous {
            message,
            other,
            why,
        };
        Some(self.certain(fact))
    }

    /// Why a copy was sent, as far as what its sender had heard tells.
    pub fn sent_again(&mut self, copy: Copy, before: Copy) -> StepId {
        let after_ns = copy.sent.since(before.sent);
        let fact = Fact::SentAgain {
            copy: copy.message,
            before: before.message,
            after_ns,
        };
        // What says something else may be no copy.
        let ambiguity = self.history.ambiguity(self.session, copy.message);
        let certainty = Certainty::but_for(ambiguity.is_some());
        self.step(fact, certainty, |it| it.trigger(copy, before))
    }

    fn trigger(&mut self, copy: Copy, before: Copy) -> Vec<StepId> {
        let (session, history) = (self.session, self.history);
        let heard = heard(session, history, &Near(session, history), (before, copy));
        let link = session.link(before.packet);
        let Some((link, (fact, certainty))) = link.zip(heard) else {
            return Vec::new();
        };
        let cause = Cause::of(&fact);
        let mut steps = vec![self.end(fact, certainty)];
        if matches!(cause, Cause::AckGap | Cause::Silence)
            && let Some(received) = before.received.filter(|&at| at < copy.sent)
        {
            steps.extend(self.acks_away(before.packet, link, (received, copy.sent)));
        }
        steps
    }

    /// What became of the answers to a packet that had arrived.
    fn acks_away(
        &mut self,
        packet: PacketId,
        (from, to): Link,
        (since, until): (SessionTime, SessionTime),
    ) -> Option<StepId> {
        let session = self.session;
        let answers = of_link(session, packet, (to, from), true)
            .map_while(|id| Some((session.packet(id)?, session.left(id)?)))
            .take_while(|(_, at)| at.time < until)
            .filter(|(_, at)| at.time >= since);
        let (mut count, mut lost) = (0, 0);
        for (answer, _) in answers {
            count += 1;
            lost += u32::from(answer.fate == Fate::Lost);
        }
        let fact = Fact::AcksAway {
            packet,
            answers: (count, lost),
        };
        Some(self.certain(fact))
    }
}

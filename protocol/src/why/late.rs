//! That a message was handed over late because a packet was lost.

use super::prelude::*;
use super::resend::{Copy, Near, first_arrived, heard};
use crate::session::{Fate, MessageId};

/// A message whose first copies were lost.
struct Mended {
    /// The copies that were lost, and that which arrived first.
    lost: Vec<Copy>,
    came: Copy,
}

impl Telling<'_> {
    /// That a reliable message was handed over late, where it was lost and had to be sent again, or
    /// waited for one of its stream that was.
    pub fn late(&mut self, message: MessageId) -> Option<StepId> {
        let history = self.history;
        let copies = self.copies(message);
        let first = *copies.first()?;
        let handed_over = |copy: &Copy| {
            let deliveries = history.deliveries_of(copy.message);
            let mut known = deliveries.filter_map(|place| Some((place, self.delivery(place)?)));
            known.find(|(_, it)| !it.local)
        };
        let (place, delivery) = copies.iter().find_map(handed_over)?;
        let (mended, behind) = match self.mended(message) {
            Some(own) => (own, None),
            None => {
                let Fact::Waited { behind, .. } = self.wait(place)? else {
                    return None;
                };
                (self.mended(behind)?, Some(behind))
            }
        };
        let before = *mended.lost.last()?;
        let near = Near(self.session, history);
        let heard = heard(self.session, history, &near, (before, mended.came));
        let fact = Fact::HandedOverLate {
            delivery: place,
            late_ns: delivery.at.time.since(first.sent),
            behind,
            lost: mended.lost.first()?.packet,
            more: mended.lost.len() as u32 - 1,
            again: mended.came.packet,
            after_ns: mended.came.sent.since(before.sent),
            cause: heard
                .as_ref()
                .map_or(Cause::Unknown, |(fact, _)| Cause::of(fact)),
        };
        let is_sure = heard.is_some_and(|(_, certainty)| certainty == Certainty::Certain);
        let is_guess = mended.lost.iter().any(|copy| self.is_doubtful(copy.packet));
        let certainty = Certainty::but_for(!is_sure || is_guess);
        Some(self.step(fact, certainty, |it| match behind {
            Some(_) => it.waited(place).into_iter().collect(),
            None => vec![it.reached(message)],
        }))
    }

    /// A message that arrived when all copies before had been lost.
    fn mended(&mut self, message: MessageId) -> Option<Mended> {
        let copies = self.copies(message);
        let (.., place) = first_arrived(&copies)?;
        let (lost, came) = (copies.get(..place)?.to_vec(), *copies.get(place)?);
        let is_lost = |copy: &Copy| {
            let packet = self.session.packet(copy.packet);
            packet.is_some_and(|packet| packet.fate == Fate::Lost)
        };
        (!lost.is_empty() && lost.iter().all(is_lost)).then_some(Mended { lost, came })
    }
}

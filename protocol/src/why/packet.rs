//! Why of a packet.

use super::prelude::*;
use crate::history::is_about_object;
use crate::session::{MessageId, PacketId};

/// Of a packet with more messages, the first ones are told.
const MESSAGES_MAX: usize = 8;

impl Telling<'_> {
    /// Which of its messages were handed over late because a packet was lost; that the packet was sent,
    /// why of its messages that were sent before, what became of it, and what its messages did where
    /// they were handed over.
    pub fn packet(&mut self, id: PacketId) -> Vec<StepId> {
        let messages = self.session.messages_of(id).take(MESSAGES_MAX);
        let messages: Vec<MessageId> = messages.map(|(it, _)| it).collect();
        let late = messages.iter().filter_map(|&message| self.late(message));
        let mut roots: Vec<StepId> = late.collect();
        let certainty = Certainty::Certain;
        let sent = self.step(Fact::Sent { packet: id }, certainty, |it| {
            let mut because = Vec::new();
            for &message in &messages {
                because.extend(it.ambiguous(message));
                because.extend(it.why_again(message));
            }
            for &message in &messages {
                because.extend(it.said_because(message));
            }
            because
        });
        let fate = self.fate(id);
        roots.extend([sent, fate]);
        let history = self.history;
        for place in messages.iter().flat_map(|&it| history.deliveries_of(it)) {
            roots.extend(self.remarkable(place));
        }
        roots.dedup();
        roots
    }

    /// Why a message that repeats another was sent again.
    fn why_again(&mut self, message: MessageId) -> Option<StepId> {
        self.history.resend_of(message)?;
        let copies = self.copies(message);
        let place = copies.iter().position(|copy| copy.message == message)?;
        let before = *copies.get(place.checked_sub(1)?)?;
        Some(self.sent_again(*copies.get(place)?, before))
    }

    /// What the sender of a message had been told, or did itself, that the message tells on.
    fn said_because(&mut self, message: MessageId) -> Option<StepId> {
        let facts = self.history.facts(self.session, message)?;
        let role = self.session.role(&facts);
        let tells = is_about_object(role) && role != netreel_wire::Role::Update;
        tells.then(|| self.origin(message)).flatten()
    }

    /// A delivery of which there is more to say than that it came in time: it waited, did something
    /// else than nothing and updates, or was ignored.
    fn remarkable(&mut self, place: u32) -> Option<StepId> {
        use crate::history::Effect::{Plain, Unknown, Updated};
        let delivery = self.delivery(place)?;
        if delivery.local {
            return None;
        }
        match delivery.effect {
            Plain | Updated | Unknown => self.waited(place),
            _ => Some(self.did(place)),
        }
    }
}

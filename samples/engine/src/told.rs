//! What the layer has told its game: what nobody polled yet, and a digest of all of it.

use std::collections::VecDeque;

use crate::bits::Malformed;
use crate::event::Event;
use crate::message::Argument;
use crate::state::{FNV_START, Restore, Save, StateReader, StateWriter, fnv};
use crate::types::NO_TYPES;

/// Events on their way to the game. What was told is part of the layer's state, so that a layer
/// which swallows an event is not in the state of one that told it; what was polled is not, because
/// in a replay there is no game.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    waiting: VecDeque<Event>,
    count: u64,
    digest: u64,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            waiting: VecDeque::new(),
            count: 0,
            digest: FNV_START,
        }
    }
}

impl EventQueue {
    pub fn push_back(&mut self, event: Event) {
        let mut out = StateWriter::new(&NO_TYPES);
        event.save(&mut out);
        self.count += 1;
        self.digest = fnv(self.digest, out.as_bytes());
        self.waiting.push_back(event);
    }

    pub fn pop_front(&mut self) -> Option<Event> {
        self.waiting.pop_front()
    }

    /// Forgets what nobody polled.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// How many events were told, and their digest.
    pub fn so_far(&self) -> (u64, u64) {
        (self.count, self.digest)
    }
}

impl Save for EventQueue {
    fn save(&self, out: &mut StateWriter<'_>) {
        out.number(self.count);
        out.fixed(&self.digest.to_le_bytes());
    }
}

impl Restore for EventQueue {
    fn restore(from: &mut StateReader<'_>) -> Result<EventQueue, Malformed> {
        Ok(EventQueue {
            waiting: VecDeque::new(),
            count: from.read()?,
            digest: u64::from_le_bytes(from.array()?),
        })
    }
}

/// Writes an event so that two that differ have different bytes.
impl Save for Event {
    fn save(&self, out: &mut StateWriter<'_>) {
        match self {
            Event::Joined { peer, name } => (0_u8, peer, name.as_str()).save(out),
            Event::Left { peer } => (1_u8, peer).save(out),
            Event::SessionEnded { because } => (2_u8, *because as u8).save(out),
            Event::Created { object, owner } => (3_u8, object, owner).save(out),
            Event::Updated { object } => (4_u8, object).save(out),
            Event::Destroyed { object } => (5_u8, object).save(out),
            Event::Migrated {
                object,
                owner,
                created,
            } => (6_u8, object, owner, created).save(out),
            Event::Ignored {
                message,
                object,
                because,
            } => (7_u8, *message as u8, object, *because as u8).save(out),
            Event::Requested { object, by } => (8_u8, object, by).save(out),
            Event::Called {
                from,
                name,
                arguments,
            } => (9_u8, from, name.as_str(), arguments).save(out),
            Event::Arrived { to, ticket } => (10_u8, to, ticket).save(out),
            Event::Lost { to, ticket } => (11_u8, to, ticket).save(out),
            Event::Refused { because } => (12_u8, *because as u8).save(out),
            Event::BadPacket { from, malformed } => {
                let (from, at_bit) = (from.to_string(), malformed.at_bit as u64);
                (13_u8, from.as_str(), at_bit, malformed.why).save(out);
            }
        }
    }
}

impl Save for Argument {
    fn save(&self, out: &mut StateWriter<'_>) {
        match self {
            Argument::Int(number) => {
                out.byte(0);
                out.fixed(&number.to_le_bytes());
            }
            Argument::Float(number) => {
                out.byte(1);
                out.fixed(&number.to_bits().to_le_bytes());
            }
            Argument::Bool(yes) => (2_u8, yes).save(out),
            Argument::Text(text) => (3_u8, text.as_str()).save(out),
            Argument::Object(object) => (4_u8, object).save(out),
        }
    }
}

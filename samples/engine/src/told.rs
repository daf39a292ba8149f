//! What the layer has told its game: what nobody polled yet, and a digest of all of it.

use std::collections::VecDeque;

use crate::bits::Malformed;
use crate::event::Event;
use crate::message::{Argument, Peer};
use crate::state::{FNV_START, StateReader, StateWriter, fnv};

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
        let mut out = StateWriter::default();
        write(&event, &mut out);
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

    pub fn save(&self, out: &mut StateWriter) {
        out.number(self.count);
        out.fixed(&self.digest.to_le_bytes());
    }

    pub fn restore(from: &mut StateReader<'_>) -> Result<EventQueue, Malformed> {
        Ok(EventQueue {
            waiting: VecDeque::new(),
            count: from.number()?,
            digest: u64::from_le_bytes(from.array()?),
        })
    }
}

/// Writes an event so that two that differ have different bytes.
fn write(event: &Event, out: &mut StateWriter) {
    match event {
        Event::Joined { peer, name } => {
            out.byte(0);
            out.peer(*peer);
            out.bytes(name.as_bytes());
        }
        Event::Left { peer } => {
            out.byte(1);
            out.peer(*peer);
        }
        Event::SessionEnded { because } => {
            out.byte(2);
            out.byte(*because as u8);
        }
        Event::Created { object, owner } => {
            out.byte(3);
            out.number(object.0);
            out.peer(*owner);
        }
        Event::Updated { object } => numbered(out, 4, object.0),
        Event::Destroyed { object } => numbered(out, 5, object.0),
        Event::Migrated {
            object,
            owner,
            created,
        } => {
            out.byte(6);
            out.number(object.0);
            out.peer(*owner);
            out.flag(*created);
        }
        Event::Ignored {
            message,
            object,
            because,
        } => {
            out.byte(7);
            out.byte(*message as u8);
            out.number(object.0);
            out.byte(*because as u8);
        }
        Event::Requested { object, by } => {
            out.byte(8);
            out.number(object.0);
            out.peer(*by);
        }
        Event::Called {
            from,
            name,
            arguments,
        } => {
            out.byte(9);
            out.peer(*from);
            out.bytes(name.as_bytes());
            out.length(arguments.len());
            arguments
                .iter()
                .for_each(|argument| write_argument(argument, out));
        }
        Event::Arrived { to, ticket } => ticketed(out, 10, *to, *ticket),
        Event::Lost { to, ticket } => ticketed(out, 11, *to, *ticket),
        Event::Refused { because } => {
            out.byte(12);
            out.byte(*because as u8);
        }
        Event::BadPacket { from, malformed } => {
            out.byte(13);
            out.bytes(from.to_string().as_bytes());
            out.length(malformed.at_bit);
            out.bytes(malformed.why.as_bytes());
        }
    }
}

fn numbered(out: &mut StateWriter, kind: u8, number: u64) {
    out.byte(kind);
    out.number(number);
}

fn ticketed(out: &mut StateWriter, kind: u8, to: Peer, ticket: u64) {
    out.byte(kind);
    out.peer(to);
    out.number(ticket);
}

fn write_argument(argument: &Argument, out: &mut StateWriter) {
    match argument {
        Argument::Int(number) => {
            out.byte(0);
            out.fixed(&number.to_le_bytes());
        }
        Argument::Float(number) => {
            out.byte(1);
            out.fixed(&number.to_bits().to_le_bytes());
        }
        Argument::Bool(yes) => {
            out.byte(2);
            out.flag(*yes);
        }
        Argument::Text(text) => {
            out.byte(3);
            out.bytes(text.as_bytes());
        }
        Argument::Object(object) => {
            out.byte(4);
            out.number(object.0);
        }
    }
}

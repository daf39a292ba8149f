//! The reliable, ordered stream of a link: both of its ends.

use std::collections::{BTreeMap, VecDeque};

use crate::bits::{BitReader, BitWriter};
use crate::message::{Body, Message};
use crate::packet::FRAME_BITS_MAX;
use crate::sequence::unwrap_near;
use crate::types::Types;

/// How many messages may be under way; the receiver keeps twice as many.
const WINDOW: u64 = 512;

/// The bits of a fragment around its data, and of the frame around the fragment.
const FRAGMENT_BITS: usize = FRAME_BITS_MAX + 4 + 1 + 4 + 16 + 8 + 8 + 16;

/// The sending end.
#[derive(Debug)]
pub struct StreamOut {
    /// The first message that is not acked.
    base: u64,
    queue: VecDeque<Pending>,
    message_bits_max: usize,
    fragment_bytes_max: usize,
}

#[derive(Debug)]
struct Pending {
    bits: BitWriter,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Flying { packet: u64 },
    Acked,
}

/// A message of more than 255 fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message too large to be sent in 255 pieces")]
pub struct TooLarge;

impl StreamOut {
    /// An empty stream over packets of at most `packet_bytes`.
    pub fn new(packet_bytes: usize) -> StreamOut {
        StreamOut {
            base: 0,
            queue: VecDeque::new(),
            message_bits_max: packet_bytes * 8 - FRAME_BITS_MAX,
            fragment_bytes_max: (packet_bytes * 8 - FRAGMENT_BITS) / 8,
        }
    }

    /// Puts a message at the end and says its place (for a split one, its last piece's).
    pub fn push(&mut self, mut message: Message, types: &Types) -> Result<u64, TooLarge> {
        message.reliable = Some(self.end() as u16);
        let mut bits = BitWriter::new();
        message.write(types, &mut bits);
        if bits.len() <= self.message_bits_max {
            self.queue.push_back(Pending {
                bits,
                state: State::Waiting,
            });
            return Ok(self.end() - 1);
        }
        let whole = bits.finish();
        let chunks = whole.chunks(self.fragment_bytes_max);
        let total = u8::try_from(chunks.len()).map_err(|_| TooLarge)?;
        for (index, data) in (0..total).zip(chunks) {
            let piece = Message {
                origin: message.origin,
                reliable: Some(self.end() as u16),
                body: Body::Fragment {
                    index,
                    total,
                    data: data.to_vec(),
                },
            };
            let mut bits = BitWriter::new();
            piece.write(types, &mut bits);
            self.queue.push_back(Pending {
                bits,
                state: State::Waiting,
            });
        }
        Ok(self.end() - 1)
    }

    /// Whether everything up to this place is acked.
    pub fn is_acked(&self, place: u64) -> bool {
        place < self.base
    }

    /// Whether everything is acked.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The next messages that are to be sent, oldest first: those never sent and those lost.
    pub fn due(&self) -> impl Iterator<Item = (u64, &BitWriter)> {
        let window = self.queue.iter().take(WINDOW as usize);
        (self.base..)
            .zip(window)
            .filter(|(_, pending)| pending.state == State::Waiting)
            .map(|(place, pending)| (place, &pending.bits))
    }

    /// Takes note that packet `packet` carries the message.
    pub fn sent(&mut self, place: u64, packet: u64) {
        self.set(place, |_| State::Flying { packet });
    }

    /// Takes note that a packet with the message was acked.
    pub fn acked(&mut self, place: u64) {
        self.set(place, |_| State::Acked);
        while self
            .queue
            .front()
            .is_some_and(|pending| pending.state == State::Acked)
        {
            self.queue.pop_front();
            self.base += 1;
        }
    }

    /// Takes note that packet `packet`, which carried the message, was lost.
    pub fn lost(&mut self, place: u64, packet: u64) {
        self.set(place, |state| match state {
            State::Flying { packet: last } if last == packet => State::Waiting,
            other => other,
        });
    }

    /// Forgets everything: there is nobody at the other end.
    pub fn clear(&mut self) {
        self.base = self.end();
        self.queue.clear();
    }

    fn end(&self) -> u64 {
        self.base + self.queue.len() as u64
    }

    fn index(&self, place: u64) -> Option<usize> {
        usize::try_from(place.checked_sub(self.base)?).ok()
    }

    fn set(&mut self, place: u64, change: impl FnOnce(State) -> State) {
        if let Some(pending) = self
            .index(place)
            .and_then(|index| self.queue.get_mut(index))
        {
            pending.state = change(pending.state);
        }
    }
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct StreamIn {
    /// The place of the next message to be delivered.
    next: u64,
    early: BTreeMap<u64, Message>,
    joining: Option<Joining>,
}

#[derive(Debug)]
struct Joining {
    index: u8,
    total: u8,
    data: Vec<u8>,
}

/// What the stream delivers.
#[derive(Debug, PartialEq)]
pub enum Delivered {
    /// A message.
    Message(Message),
    /// Pieces that do not make a message; dropped.
    Broken,
}

impl StreamIn {
    /// Whether there is room for a message with this number. A packet with one that is too far
    /// ahead must be refused whole, or its ack would be a lie.
    pub fn has_room(&self, sequence: u16) -> bool {
        unwrap_near(sequence, self.next) < self.next.saturating_add(2 * WINDOW)
    }

    /// Takes a message and delivers all that is now in order, pieces joined.
    pub fn take(&mut self, sequence: u16, message: Message, types: &Types) -> Vec<Delivered> {
        let place = unwrap_near(sequence, self.next);
        // At the start of the stream the number before the first wraps around to a huge one.
        if place >= self.next && place < self.next.saturating_add(2 * WINDOW) {
            self.early.entry(place).or_insert(message);
        }
        let mut delivered = Vec::new();
        while let Some(message) = self.early.remove(&self.next) {
            self.next += 1;
            delivered.extend(self.join(message, types));
        }
        delivered
    }

    fn join(&mut self, message: Message, types: &Types) -> Option<Delivered> {
        let Body::Fragment { index, total, data } = message.body else {
            let interrupted = self.joining.take().is_some();
            return Some(if interrupted {
                Delivered::Broken
            } else {
                Delivered::Message(message)
            });
        };
        let mut joining = match (self.joining.take(), index) {
            (None, 0) if total > 0 => Joining {
                index: 0,
                total,
                data: Vec::new(),
            },
            (Some(joining), _) if joining.index == index && joining.total == total => joining,
            _ => return Some(Delivered::Broken),
        };
        joining.data.extend_from_slice(&data);
        if index + 1 < total {
            joining.index = index + 1;
            self.joining = Some(joining);
            return None;
        }
        let mut bits = BitReader::new(&joining.data);
        let whole = Message::read(types, &mut bits).and_then(|whole| bits.end().map(|()| whole));
        Some(match whole {
            Ok(whole) if !matches!(whole.body, Body::Fragment { .. }) => Delivered::Message(whole),
            _ => Delivered::Broken,
        })
    }
}

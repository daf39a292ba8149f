//! The reliable, ordered stream of a link: both of its ends.

mod saved;

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
#[derive(Clone, Debug)]
pub struct StreamOut {
    /// The first message that is not acked.
    base: u64,
    queue: VecDeque<Pending>,
    message_bits_max: usize,
    fragment_bytes_max: usize,
    /// The index of a first fragment: 0, but where a fault counts them from 1.
    pub first_fragment: u8,
    /// Whether a fault lets the numbers begin again from 0 after the sixteenth.
    pub wraps_early: bool,
    /// Whether a fault writes what a CREATE says anew before it is sent again.
    pub rewrites: bool,
}

#[derive(Clone, Debug)]
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

/// How a CREATE begins, and a bit of the position that it tells.
const CREATE: u8 = 2;
const POSITION_BIT: usize = 60;

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
            first_fragment: 0,
            wraps_early: false,
            rewrites: false,
        }
    }

    /// Puts a message at the end and says its place (for a split one, its last piece's).
    pub fn push(&mut self, mut message: Message, types: &Types) -> Result<u64, TooLarge> {
        message.reliable = Some(self.next_number());
        let mut bits = BitWriter::new();
        message.write(types, &mut bits);
        if bits.len() <= self.message_bits_max {
            return Ok(self.wait(bits));
        }
        let whole = bits.finish();
        let chunks = whole.chunks(self.fragment_bytes_max);
        let total = u8::try_from(chunks.len()).map_err(|_| TooLarge)?;
        for (index, data) in (0..total).zip(chunks) {
            let piece = Message {
                origin: message.origin,
                reliable: Some(self.next_number()),
                body: Body::Fragment {
                    index: index.wrapping_add(self.first_fragment),
                    total,
                    data: data.to_vec(),
                },
            };
            let mut bits = BitWriter::new();
            piece.write(types, &mut bits);
            self.wait(bits);
        }
        Ok(self.end() - 1)
    }

    /// Puts what was written at the end: its place.
    fn wait(&mut self, bits: BitWriter) -> u64 {
        let state = State::Waiting;
        self.queue.push_back(Pending { bits, state });
        self.end() - 1
    }

    /// Whether everything up to this place is acked.
    pub fn is_acked(&self, place: u64) -> bool {
        place < self.base
    }

    /// How many messages are not acked, or are behind one that is not.
    pub fn len(&self) -> usize {
        self.queue.len()
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
        let rewrites = self.rewrites;
        let pending = self.index(place).and_then(|at| self.queue.get_mut(at));
        if let Some(pending) = pending.filter(|it| rewrites && it.bits.begins(4) == CREATE) {
            // The object has moved since.
            pending.bits.flip(POSITION_BIT);
        }
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

    fn next_number(&self) -> u16 {
        let modulus = if self.wraps_early { 16 } else { 1 << 16 };
        (self.end() % modulus) as u16
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
#[derive(Clone, Debug, Default)]
pub struct StreamIn {
    /// The place of the next message to be delivered.
    next: u64,
    early: BTreeMap<u64, Message>,
    joining: Option<Joining>,
}

#[derive(Clone, Debug)]
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

    /// Takes a message and delivers it at once, whatever is missing before it; each once. A fault's.
    pub fn take_at_once(
        &mut self,
        sequence: u16,
        message: Message,
        types: &Types,
    ) -> Vec<Delivered> {
        let place = unwrap_near(sequence, self.next);
        if self.early.contains_key(&place) || self.places_early(sequence) >= 2 * WINDOW {
            return Vec::new();
        }
        self.early.insert(place, message.clone());
        while self.early.remove(&self.next).is_some() {
            self.next += 1;
        }
        self.join(message, types).into_iter().collect()
    }

    /// How many places before its turn a message with this number comes; very many for one whose turn
    /// is over.
    pub fn places_early(&self, sequence: u16) -> u64 {
        unwrap_near(sequence, self.next).wrapping_sub(self.next)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Argument, Peer};
    use crate::types::BOXES;

    fn types() -> Types {
        Types::parse(BOXES).expect("the declaration of the game")
    }

    fn say(text: &str) -> Message {
        let body = Body::Rpc {
            name: "say".into(),
            arguments: vec![Argument::Text(text.into())],
        };
        Message {
            origin: Peer(1),
            reliable: None,
            body,
        }
    }

    /// The pieces of one message, as they travel.
    fn pieces(message: Message) -> Vec<Message> {
        let types = types();
        let mut out = StreamOut::new(1200);
        out.push(message, &types).expect("not too large");
        out.due()
            .map(|(_, bits)| {
                let bytes = bits.clone().finish();
                Message::read(&types, &mut BitReader::new(&bytes)).expect("what was written")
            })
            .collect()
    }

    fn deliver(messages: Vec<Message>) -> Vec<Delivered> {
        let mut incoming = StreamIn::default();
        let take = |message: Message| {
            incoming.take(message.reliable.expect("reliable"), message, &types())
        };
        messages.into_iter().flat_map(take).collect()
    }

    fn text(delivered: &Delivered) -> Option<&str> {
        match delivered {
            Delivered::Message(Message {
                body: Body::Rpc { arguments, .. },
                ..
            }) => match &arguments[..] {
                [Argument::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    #[test]
    fn a_message_that_fits_is_not_split() {
        assert_eq!(pieces(say("hello")).len(), 1);
        assert_eq!(pieces(say(&"x".repeat(1150))).len(), 1);
    }

    #[test]
    fn a_large_message_is_split_and_joined() {
        for length in [1200, 5000, 60_000] {
            let long = "large ".repeat(length / 6);
            let pieces = pieces(say(&long));
            assert!(pieces.len() > length / 1200, "{} pieces", pieces.len());
            let delivered = deliver(pieces);
            assert_eq!(
                delivered.iter().map(text).collect::<Vec<_>>(),
                [Some(long.as_str())]
            );
        }
    }

    #[test]
    fn pieces_are_joined_in_whatever_order_they_come() {
        let long = "large ".repeat(1000);
        let mut all = pieces(say(&long));
        all.reverse();
        assert_eq!(
            deliver(all).iter().map(text).collect::<Vec<_>>(),
            [Some(long.as_str())]
        );
    }

    #[test]
    fn a_message_of_more_than_255_pieces_is_refused() {
        let arguments = vec![Argument::Text("x".repeat(65_535)); 5];
        let body = Body::Rpc {
            name: "flood".into(),
            arguments,
        };
        let mut out = StreamOut::new(1200);
        let message = Message {
            origin: Peer(1),
            reliable: None,
            body,
        };
        assert_eq!(out.push(message, &types()), Err(TooLarge));
        assert!(out.is_empty());
    }

    fn piece(sequence: u16, index: u8, total: u8, data: &[u8]) -> Message {
        let body = Body::Fragment {
            index,
            total,
            data: data.to_vec(),
        };
        Message {
            origin: Peer(1),
            reliable: Some(sequence),
            body,
        }
    }

    #[test]
    fn pieces_that_do_not_go_together_are_broken() {
        let check = |messages, expected: &[Delivered]| assert_eq!(deliver(messages), expected);
        check(vec![piece(0, 1, 2, b"no first")], &[Delivered::Broken]);
        check(
            vec![piece(0, 0, 2, b""), piece(1, 1, 3, b"")],
            &[Delivered::Broken],
        );
        check(
            vec![piece(0, 0, 3, b""), piece(1, 2, 3, b"")],
            &[Delivered::Broken],
        );
        check(vec![piece(0, 0, 0, b"none at all")], &[Delivered::Broken]);
        check(vec![piece(0, 0, 1, b"\xFF\xFF\xFF")], &[Delivered::Broken]);
        check(vec![piece(0, 0, 2, b"half")], &[]);
    }

    #[test]
    fn a_message_amid_pieces_breaks_them_and_the_stream_goes_on() {
        let mut whole = say("whole");
        whole.reliable = Some(1);
        let mut after = say("after");
        after.reliable = Some(2);
        let delivered = deliver(vec![piece(0, 0, 2, b"half"), whole, after]);
        assert_eq!(delivered.first(), Some(&Delivered::Broken));
        assert_eq!(delivered.last().and_then(text), Some("after"));
    }

    #[test]
    fn messages_are_delivered_once_and_in_order() {
        let message = |sequence: u16| Message {
            reliable: Some(sequence),
            ..say(&sequence.to_string())
        };
        let order = [2, 0, 0, 3, 2, 1, 1, 4];
        let delivered = deliver(order.into_iter().map(message).collect());
        let texts: Vec<_> = delivered.iter().filter_map(text).collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn the_stream_goes_on_where_its_numbers_wrap_around() {
        let types = types();
        let (mut out, mut incoming) = (StreamOut::new(1200), StreamIn::default());
        for round in 0..70_000u64 {
            out.push(say(""), &types).expect("not too large");
            let (place, _) = out.due().next().expect("one is due");
            assert_eq!(place, round);
            let message = Message {
                reliable: Some(place as u16),
                ..say("")
            };
            assert_eq!(
                incoming.take(place as u16, message, &types).len(),
                1,
                "at {round}"
            );
            out.sent(place, place);
            out.acked(place);
        }
    }

    #[test]
    fn a_message_too_far_ahead_has_no_room() {
        let incoming = StreamIn::default();
        assert!(incoming.has_room(0) && incoming.has_room(1023));
        assert!(!incoming.has_room(1024));
    }

    #[test]
    fn no_more_than_a_window_is_under_way() {
        let types = types();
        let mut out = StreamOut::new(1200);
        (0..600).for_each(|_| {
            out.push(say(""), &types).expect("not too large");
        });
        assert_eq!(out.due().count(), 512);
        out.sent(1, 0);
        out.acked(1);
        assert_eq!(
            out.due().last().map(|(place, _)| place),
            Some(511),
            "the first is not acked"
        );
        out.acked(0);
        assert_eq!(out.due().last().map(|(place, _)| place), Some(513));
    }

    #[test]
    fn what_was_lost_is_due_again_unless_a_newer_packet_carries_it() {
        let types = types();
        let mut out = StreamOut::new(1200);
        out.push(say(""), &types).expect("not too large");
        out.sent(0, 7);
        assert_eq!(out.due().count(), 0);
        out.lost(0, 7);
        assert_eq!(out.due().count(), 1);
        out.sent(0, 9);
        out.lost(0, 7);
        assert_eq!(out.due().count(), 0, "packet 9 may still arrive");
    }
}

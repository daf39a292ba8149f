//! What a wire says of packets, in few bytes.
//!
//! Most packets of a protocol have the same parts. So what parts there are, and how wide their
//! numbers are, is a *shape*, which is noted once, and a packet is the number of its shape, and
//! values.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use netreel_wire::{MessageFacts, PacketFacts, Promise, ProtocolId, RpcName, StreamId};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::bytes::{Bytes, put, put_place, unzigzag, zigzag};
use super::parts::{
    ACK_BITS, ACK_BITS_WIDTH, FRAGMENT_COUNT, FRAGMENT_DATA, FRAGMENT_INDEX, LACKS, MESSAGES,
    MessagePart, PacketPart, Parts, RANGE_WIDTH, RANGES, RPC_NAME, STREAM, Shape, UNFIT,
};
use super::said::Said;

/// The shapes of what was written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shapes {
    shapes: Distinct<Shape>,
    /// The names of RPCs.
    names: Distinct<SmolStr>,
    /// The latest shapes, each at its place.
    #[serde(skip)]
    latest: [Option<(Shape, u32)>; LATEST],
}

/// Things, each once, with their numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Distinct<T: Eq + Hash> {
    list: Vec<T>,
    #[serde(skip)]
    known: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Distinct<T> {
    fn number(&mut self, it: &T) -> u32 {
        if let Some(&number) = self.known.get(it) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(it.clone());
        self.known.insert(it.clone(), number);
        number
    }

    fn get(&self, number: u64) -> Option<&T> {
        self.list.get(number as usize)
    }
}

/// How many shapes are found without a hash: those of a packet and its messages take turns.
const LATEST: usize = 16;

impl Shapes {
    fn number(&mut self, shape: Shape) -> u32 {
        let place = shape.place(LATEST);
        if let Some((latest, number)) = &self.latest[place]
            && *latest == shape
        {
            return *number;
        }
        let number = self.shapes.number(&shape);
        self.latest[place] = Some((shape, number));
        number
    }

    /// Appends the facts of a packet to `to`.
    pub fn write(&mut self, facts: &PacketFacts, to: &mut Vec<u8>) {
        let (count, ranges) = (facts.messages.len(), facts.ack_ranges.len());
        let single = facts.nack.map(|nack| (nack.value, nack.value));
        let lacks = || facts.nack_ranges.iter().copied().chain(single);
        let lacking = lacks().count();
        let (bits, width) = facts.ack_bits.unzip();
        let diagnostics = facts.diagnostics;
        let own = [
            (MESSAGES, (count != 1).then_some(count as u64)),
            (RANGES, (ranges > 0).then_some(ranges as u64)),
            (LACKS, (lacking > 0).then_some(lacking as u64)),
            (UNFIT, (diagnostics > 0).then_some(diagnostics.into())),
            (ACK_BITS, bits),
        ];
        let mut parts = Parts::default();
        PacketPart::note(facts, &mut parts);
        own.iter().for_each(|&(part, it)| parts.note(part, it));
        parts.widths[ACK_BITS_WIDTH] = width.unwrap_or(0);
        parts.widths[RANGE_WIDTH] = facts.range_bits;
        let shape = self.number(Shape {
            of: facts.protocol.map(|protocol| protocol.0),
            parts,
            reliable: false,
            promise: Promise::default(),
        });
        put(u64::from(shape), to);
        let own = own.into_iter().filter_map(|(_, value)| value);
        own.for_each(|value| put(value, to));
        PacketPart::put(facts, to);
        for (first, last) in facts.ack_ranges.iter().copied().chain(lacks()) {
            put(first, to);
            put(last.wrapping_sub(first), to);
        }
        let mut end = 0;
        for message in &facts.messages {
            self.write_message(message, &mut end, to);
        }
    }

    /// Appends the facts of a message to `to`. `end` is where the message before ended.
    pub fn write_message(&mut self, facts: &MessageFacts, end: &mut u32, to: &mut Vec<u8>) {
        let stream = u64::from(facts.stream.0);
        let own = [
            (STREAM, (stream != 0).then_some(stream)),
            (FRAGMENT_INDEX, facts.fragment.map(|(index, _)| index)),
            (FRAGMENT_COUNT, facts.fragment.map(|(_, count)| count)),
        ];
        let mut parts = Parts::default();
        MessagePart::note(facts, &mut parts);
        own.iter().for_each(|&(part, it)| parts.note(part, it));
        parts.note(RPC_NAME, facts.rpc_name.as_ref());
        parts.note(FRAGMENT_DATA, facts.fragment_data.as_ref());
        let shape = self.number(Shape {
            of: facts.kind.map(|kind| kind.0),
            parts,
            reliable: facts.reliable,
            promise: facts.promise,
        });
        put(u64::from(shape), to);
        put(zigzag(i64::from(facts.bits.start) - i64::from(*end)), to);
        put(u64::from(facts.bits.end.wrapping_sub(facts.bits.start)), to);
        *end = facts.bits.end;
        MessagePart::put(facts, to);
        let own = own.into_iter().filter_map(|(_, value)| value);
        own.for_each(|value| put(value, to));
        if let Some(name) = &facts.rpc_name {
            put_place(&name.place, to);
            put(u64::from(self.names.number(&name.text)), to);
        }
        if let Some(place) = &facts.fragment_data {
            put_place(place, to);
        }
    }

    /// How many messages the packet has whose facts these are, and whether it does not fit.
    pub fn head(&self, bytes: &[u8]) -> (u32, bool) {
        let Some((shape, mut from)) = self.shape(bytes) else {
            return (0, false);
        };
        let count = shape.parts.number(MESSAGES, &mut from);
        (count.unwrap_or(1) as u32, shape.has(UNFIT))
    }

    /// Whether a packet with these facts is of a protocol of the wire, and fits.
    pub fn fits(&self, bytes: &[u8]) -> bool {
        let shape = self.shape(bytes);
        shape.is_some_and(|(shape, _)| shape.of.is_some() && !shape.has(UNFIT))
    }

    /// The shape of a packet with these facts, and what follows it.
    fn shape<'a>(&self, bytes: &'a [u8]) -> Option<(&Shape, Bytes<'a>)> {
        let mut from = Bytes(bytes);
        let shape = from.next()?;
        Some((self.shapes.get(shape)?, from))
    }

    /// The facts of a packet whose first message has this number, written over what stands in `said`, and
    /// those of its messages.
    pub fn read<'a>(&'a self, bytes: &'a [u8], first: u32, said: &mut Said) -> Messages<'a> {
        let Some((shape, mut from)) = self.shape(bytes) else {
            *said = Said {
                messages: first..first,
                ..Said::default()
            };
            return Messages::none(self);
        };
        said.messages.start = first;
        let parts = &shape.parts;
        let mut own = |part| parts.number(part, &mut from);
        let count = own(MESSAGES).unwrap_or(1) as u32;
        let (ranges, lacking) = (own(RANGES).unwrap_or(0), own(LACKS).unwrap_or(0));
        said.messages.end = first.saturating_add(count);
        said.protocol = shape.of.map(ProtocolId);
        said.diagnostics = own(UNFIT).unwrap_or(0) as u32;
        said.ack_bits = own(ACK_BITS).map(|bits| (bits, parts.widths[ACK_BITS_WIDTH]));
        said.range_bits = parts.widths[RANGE_WIDTH];
        PacketPart::take(said, parts, &mut from);
        from.ranges(ranges, &mut said.ack_ranges);
        from.ranges(lacking, &mut said.lacks);
        Messages::new(self, from, count)
    }

    /// The facts of a packet's messages alone, of which the first has this number; the numbers of all.
    pub fn messages<'a>(&'a self, bytes: &'a [u8], first: u32) -> (Range<u32>, Messages<'a>) {
        let Some((shape, mut from)) = self.shape(bytes) else {
            return (first..first, Messages::none(self));
        };
        let mut own = |part| shape.parts.number(part, &mut from);
        let count = own(MESSAGES).unwrap_or(1) as u32;
        let (ranges, lacking) = (own(RANGES).unwrap_or(0), own(LACKS).unwrap_or(0));
        from.pass(shape.parts.count_without(MESSAGES | RANGES | LACKS));
        let pairs = (ranges as u32).saturating_add(lacking as u32);
        from.pass(pairs.saturating_mul(2));
        let messages = Messages::new(self, from, count);
        (first..first.saturating_add(count), messages)
    }

    pub fn memory(&self) -> usize {
        let names = self.names.list.iter();
        let names: usize = names.map(|it| it.len() + 2 * size_of::<SmolStr>()).sum();
        self.shapes.list.len() * size_of::<Shape>() * 3 + names
    }
}

/// The facts of a packet's messages, in wire order.
#[derive(Clone, Debug)]
pub(crate) struct Messages<'a> {
    shapes: &'a Shapes,
    from: Bytes<'a>,
    count: u32,
    left: u32,
    end: u32,
}

impl<'a> Messages<'a> {
    fn new(shapes: &'a Shapes, from: Bytes<'a>, count: u32) -> Messages<'a> {
        Messages {
            shapes,
            from,
            count,
            left: count,
            end: 0,
        }
    }

    /// Of no packet.
    fn none(shapes: &Shapes) -> Messages<'_> {
        Messages::new(shapes, Bytes(&[]), 0)
    }

    /// The next message whose shape fits, written over what stands in `facts`; its place among all. The
    /// others are passed over without making anything of them.
    pub fn next_that(
        &mut self,
        fits: impl Fn(&Shape) -> bool,
        facts: &mut MessageFacts,
    ) -> Option<u32> {
        loop {
            let (shape, bits) = self.begin()?;
            if fits(shape) {
                self.rest(shape, bits, facts);
                return Some(self.count - self.left - 1);
            }
            self.from.pass(shape.values());
        }
    }

    /// The messages whose shapes fit, each with its place among all.
    pub fn those(
        mut self,
        fits: impl Fn(&Shape) -> bool,
    ) -> impl Iterator<Item = (u32, MessageFacts)> {
        std::iter::from_fn(move || {
            let mut facts = MessageFacts::default();
            let nth = self.next_that(&fits, &mut facts)?;
            Some((nth, facts))
        })
    }

    /// The message at a place. Nothing is made of those before it.
    pub fn nth_alone(mut self, nth: u32) -> Option<MessageFacts> {
        for _ in 0..nth {
            let (shape, _) = self.begin()?;
            self.from.pass(shape.values());
        }
        self.next()
    }

    /// The shape of the next message, and its bits.
    fn begin(&mut self) -> Option<(&'a Shape, Range<u32>)> {
        self.left = self.left.checked_sub(1)?;
        let from = &mut self.from;
        let shape = self.shapes.shapes.get(from.take())?;
        let start = i64::from(self.end) + unzigzag(from.take());
        let start = start as u32;
        self.end = start.wrapping_add(from.take() as u32);
        Some((shape, start..self.end))
    }
}

impl Iterator for Messages<'_> {
    type Item = MessageFacts;

    fn next(&mut self) -> Option<MessageFacts> {
        let mut facts = MessageFacts::default();
        self.next_that(|_| true, &mut facts)?;
        Some(facts)
    }
}

impl Messages<'_> {
    /// A message of which shape and bits were read.
    fn rest(&mut self, shape: &Shape, bits: Range<u32>, facts: &mut MessageFacts) {
        let (from, parts) = (&mut self.from, &shape.parts);
        (facts.kind, facts.bits) = (shape.kind(), bits);
        (facts.reliable, facts.promise) = (shape.reliable, shape.promise);
        MessagePart::take(facts, parts, from);
        let stream = parts.number(STREAM, from);
        facts.stream = StreamId(stream.unwrap_or(0) as u16);
        let index = parts.number(FRAGMENT_INDEX, from);
        facts.fragment = index.zip(parts.number(FRAGMENT_COUNT, from));
        facts.rpc_name = shape.has(RPC_NAME).then(|| RpcName {
            place: from.place(),
            text: self
                .shapes
                .names
                .get(from.take())
                .cloned()
                .unwrap_or_default(),
        });
        facts.fragment_data = shape.has(FRAGMENT_DATA).then(|| from.place());
    }
}

#[cfg(test)]
mod tests;

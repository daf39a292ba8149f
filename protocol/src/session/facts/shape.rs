//! What a wire says of packets, in few bytes.
//!
//! Most packets of a protocol have the same parts. So what parts there are, and how wide their
//! numbers are, is a *shape*, which is noted once, and a packet is the number of its shape, and
//! values.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;

use netreel_wire::{
    KindId, MessageFacts, PacketFacts, Place, Promise, ProtocolId, RpcName, Sequence, StreamId,
};
use smol_str::SmolStr;

/// What parts the facts of a packet, or of a message, have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The protocol of a packet, or the kind of a message.
    of: Option<u16>,
    /// A bit for each part that is there.
    parts: u32,
    /// How many bits sequence numbers have, in the order of the parts.
    widths: [u8; WIDTHS],
    reliable: bool,
    promise: Promise,
}

/// The most sequence numbers that a packet, or a message, has.
const WIDTHS: usize = 7;

/// The shapes of what was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    list: Vec<Shape>,
    known: HashMap<Shape, u32>,
    /// The latest ones, each at its place.
    latest: [Option<(Shape, u32)>; LATEST],
    names: Names,
}

/// The names of RPCs, each once.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<SmolStr>,
    known: HashMap<SmolStr, u32>,
}

impl Names {
    fn number(&mut self, name: &SmolStr) -> u32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.clone());
        self.known.insert(name.clone(), number);
        number
    }

    fn get(&self, number: u64) -> SmolStr {
        let name = self.list.get(number as usize);
        name.cloned().unwrap_or_default()
    }
}

/// How many shapes are found without a hash: those of a packet and its messages take turns.
const LATEST: usize = 16;

/// What a wire says of a packet, without its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The protocol of the wire that claims it; `None` where none does.
    pub protocol: Option<ProtocolId>,
    /// See [`netreel_wire::PacketFacts::sequence`].
    pub sequence: Option<Sequence>,
    /// See [`netreel_wire::PacketFacts::ack`].
    pub ack: Option<Sequence>,
    /// See [`netreel_wire::PacketFacts::acknowledges_before`].
    pub acknowledges_before: Option<Sequence>,
    /// See [`netreel_wire::PacketFacts::ack_bits`].
    pub ack_bits: Option<(u64, u8)>,
    /// See [`netreel_wire::PacketFacts::ack_ranges`].
    pub ack_ranges: Vec<(u64, u64)>,
    /// The packets that its sender lacks, first and last: [`netreel_wire::PacketFacts::nack_ranges`],
    /// and [`netreel_wire::PacketFacts::nack`].
    pub lacks: Vec<(u64, u64)>,
    /// See [`netreel_wire::PacketFacts::range_bits`].
    pub range_bits: u8,
    /// See [`netreel_wire::PacketFacts::host`].
    pub host: Option<u64>,
    /// See [`netreel_wire::PacketFacts::sent_time`].
    pub sent_time: Option<Sequence>,
    /// See [`netreel_wire::PacketFacts::tick`].
    pub tick: Option<Sequence>,
    /// See [`netreel_wire::PacketFacts::checksum`].
    pub checksum: Option<u64>,
    /// See [`netreel_wire::PacketFacts::input`].
    pub input: Option<u64>,
    /// See [`netreel_wire::PacketFacts::input_count`].
    pub input_count: Option<u64>,
    /// Its messages, by their numbers in the session.
    pub messages: Range<u32>,
    /// How many things a full decode has to say of it.
    pub diagnostics: u32,
}

impl Said {
    /// Whether its sender says that it lacks the packet with a number.
    pub(crate) fn is_lacking(&self, sequence: Sequence) -> bool {
        let bits = match self.range_bits {
            0 => sequence.bits,
            bits => bits,
        };
        let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        self.lacks.iter().any(|&(first, last)| {
            let span = last.wrapping_sub(first) & mask;
            sequence.value.wrapping_sub(first) & mask <= span
        })
    }
}

impl Shapes {
    fn number(&mut self, shape: Shape) -> u32 {
        let place = shape.place();
        if let Some((latest, number)) = &self.latest[place]
            && *latest == shape
        {
            return *number;
        }
        let number = match self.known.get(&shape) {
            Some(&number) => number,
            None => {
                let number = self.list.len() as u32;
                self.list.push(shape.clone());
                self.known.insert(shape.clone(), number);
                number
            }
        };
        self.latest[place] = Some((shape, number));
        number
    }

    /// All shapes, and the names of all RPCs, in the order of their numbers.
    pub fn lists(&self) -> (&[Shape], &[SmolStr]) {
        (&self.list, &self.names.list)
    }

    /// Those that [`Shapes::lists`] gave.
    pub fn of((list, names): (Vec<Shape>, Vec<SmolStr>)) -> Shapes {
        Shapes {
            list,
            names: Names {
                list: names,
                ..Names::default()
            },
            ..Shapes::default()
        }
    }

    /// Appends the facts of a packet to `to`.
    pub fn write(&mut self, facts: &PacketFacts, to: &mut Vec<u8>) {
        let mut parts = Parts::default();
        let of = facts.protocol.map(|protocol| protocol.0);
        let sequence = parts.sequence(0, facts.sequence);
        let ack = parts.sequence(1, facts.ack);
        let bits = parts.number(2, facts.ack_bits.map(|(bits, _)| bits));
        parts.widths[2] = facts.ack_bits.map_or(facts.range_bits, |(_, count)| count);
        let both = facts.ack_bits.is_some() && facts.range_bits != 0;
        let range_bits = parts.number(3, both.then_some(u64::from(facts.range_bits)));
        let ranges = (!facts.ack_ranges.is_empty()).then_some(facts.ack_ranges.len() as u64);
        let ranges = parts.number(4, ranges);
        let unfit = (facts.diagnostics > 0).then_some(u64::from(facts.diagnostics));
        let unfit = parts.number(5, unfit);
        let before = parts.sequence_at(7, 3, facts.acknowledges_before);
        let host = parts.number(8, facts.host);
        let single = facts.nack.map(|nack| (nack.value, nack.value));
        let lacks = || facts.nack_ranges.iter().copied().chain(single);
        let lacking = lacks().count() as u64;
        let lacking = parts.number(9, (lacking > 0).then_some(lacking));
        let sent_time = parts.sequence_at(10, 4, facts.sent_time);
        let tick = parts.sequence_at(11, 5, facts.tick);
        let checksum = parts.number(12, facts.checksum);
        let input = parts.number(13, facts.input);
        let inputs = parts.number(14, facts.input_count);
        let one = facts.messages.len() == 1;
        let count = parts.number(6, (!one).then_some(facts.messages.len() as u64));
        let shape = self.number(Shape {
            of,
            parts: parts.there,
            widths: parts.widths,
            reliable: false,
            promise: Promise::default(),
        });
        put(u64::from(shape), to);
        let values = [
            count, sequence, ack, bits, range_bits, unfit, ranges, before, host, lacking,
            sent_time, tick, checksum, input, inputs,
        ];
        values
            .into_iter()
            .flatten()
            .for_each(|value| put(value, to));
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
        let mut parts = Parts::default();
        let reliable = parts.sequence(0, facts.reliable_sequence);
        let ordered = parts.sequence(1, facts.ordered_sequence);
        let acknowledges = parts.sequence(2, facts.acknowledges);
        let stream = (facts.stream != StreamId(0)).then_some(u64::from(facts.stream.0));
        let values = [
            stream,
            facts.channel,
            facts.host,
            facts.origin,
            facts.object,
            facts.object_type,
            facts.owner,
            facts.new_owner,
            facts.migration_counter,
            facts.tick.map(|tick| tick.value),
            facts.fragment_id,
            facts.fragment.map(|(index, _)| index),
            facts.fragment.map(|(_, count)| count),
        ];
        let mut bit = 3;
        let values = values.map(|value| {
            bit += 1;
            parts.number(bit - 1, value)
        });
        let rpc = parts.number(bit, facts.rpc_name.as_ref().map(|_| 0));
        let data = parts.number(bit + 1, facts.fragment_data.as_ref().map(|_| 0));
        let more = [
            parts.sequence_at(bit + 2, 3, facts.acknowledges_before),
            parts.sequence_at(bit + 3, 4, facts.sent_time),
            parts.sequence_at(bit + 4, 5, facts.echoed_time),
            parts.number(bit + 5, facts.checksum),
            parts.number(bit + 6, facts.input),
            parts.number(bit + 7, facts.input_count),
        ];
        parts.widths[6] = facts.tick.map_or(0, |tick| tick.bits);
        let shape = self.number(Shape {
            of: facts.kind.map(|kind| kind.0),
            parts: parts.there,
            widths: parts.widths,
            reliable: facts.reliable,
            promise: facts.promise,
        });
        put(u64::from(shape), to);
        put(zigzag(i64::from(facts.bits.start) - i64::from(*end)), to);
        put(u64::from(facts.bits.end.wrapping_sub(facts.bits.start)), to);
        *end = facts.bits.end;
        let sequences = [reliable, ordered, acknowledges].into_iter();
        let all = sequences.chain(values).chain(more).flatten();
        all.for_each(|value| put(value, to));
        if let Some(name) = rpc.and(facts.rpc_name.as_ref()) {
            put_place(&name.place, to);
            put(u64::from(self.names.number(&name.text)), to);
        }
        if let Some(place) = data.and(facts.fragment_data.as_ref()) {
            put_place(place, to);
        }
    }

    /// How many messages the packet has whose facts these are, and whether it does not fit.
    pub fn head(&self, bytes: &[u8]) -> (u32, bool) {
        let mut from = Bytes(bytes);
        let shape = match bytes {
            [] => None,
            _ => self.list.get(from.take() as usize),
        };
        let Some(shape) = shape else {
            return (0, false);
        };
        let count = shape.reader().number(6, &mut from);
        (count.unwrap_or(1) as u32, shape.parts & 1 << 5 != 0)
    }

    /// Whether a packet with these facts is of a protocol of the wire, and fits.
    pub fn fits(&self, bytes: &[u8]) -> bool {
        let shape = match bytes {
            [] => None,
            _ => self.list.get(Bytes(bytes).take() as usize),
        };
        shape.is_some_and(|shape| shape.of.is_some() && shape.parts & 1 << 5 == 0)
    }

    /// The facts of a packet whose first message has this number, and those of its messages.
    pub fn read<'a>(&'a self, bytes: &'a [u8], first: u32) -> (Said, Messages<'a>) {
        let mut from = Bytes(bytes);
        let mut said = Said {
            messages: first..first,
            ..Said::default()
        };
        let shape = match bytes {
            [] => None,
            _ => self.list.get(from.take() as usize),
        };
        let Some(shape) = shape else {
            let rest = Messages::none(self);
            return (said, rest);
        };
        let mut parts = shape.reader();
        let count = parts.number(6, &mut from).unwrap_or(1) as u32;
        said.messages.end = first.saturating_add(count);
        said.protocol = shape.of.map(ProtocolId);
        said.sequence = parts.sequence(0, &mut from);
        said.ack = parts.sequence(1, &mut from);
        let bits = parts.number(2, &mut from);
        said.ack_bits = bits.map(|bits| (bits, shape.widths[2]));
        said.range_bits = match parts.number(3, &mut from) {
            Some(width) => width as u8,
            None if bits.is_some() => 0,
            None => shape.widths[2],
        };
        said.diagnostics = parts.number(5, &mut from).unwrap_or(0) as u32;
        let ranges = parts.number(4, &mut from).unwrap_or(0);
        said.acknowledges_before = parts.sequence_at(7, 3, &mut from);
        said.host = parts.number(8, &mut from);
        let lacking = parts.number(9, &mut from).unwrap_or(0);
        said.sent_time = parts.sequence_at(10, 4, &mut from);
        said.tick = parts.sequence_at(11, 5, &mut from);
        said.checksum = parts.number(12, &mut from);
        said.input = parts.number(13, &mut from);
        said.input_count = parts.number(14, &mut from);
        said.ack_ranges = from.ranges(ranges);
        said.lacks = from.ranges(lacking);
        let rest = Messages {
            shapes: self,
            from,
            left: count,
            end: 0,
        };
        (said, rest)
    }

    /// The facts of a packet's messages alone, of which the first has this number; the numbers of all.
    pub fn messages<'a>(&'a self, bytes: &'a [u8], first: u32) -> (Range<u32>, Messages<'a>) {
        let mut from = Bytes(bytes);
        let shape = match bytes {
            [] => None,
            _ => self.list.get(from.take() as usize),
        };
        let Some(shape) = shape else {
            return (first..first, Messages::none(self));
        };
        let mut parts = shape.reader();
        let left = parts.number(6, &mut from).unwrap_or(1) as u32;
        // In the order in which they are written.
        from.pass(shape.count(0b10_1111));
        let ranges = parts.number(4, &mut from).unwrap_or(0);
        from.pass(shape.count(0b1_1000_0000));
        let lacking = parts.number(9, &mut from).unwrap_or(0);
        from.pass(shape.count(0b111_1100_0000_0000));
        let pairs = (ranges as u32).saturating_add(lacking as u32);
        from.pass(pairs.saturating_mul(2));
        let messages = Messages {
            shapes: self,
            from,
            left,
            end: 0,
        };
        (first..first.saturating_add(left), messages)
    }

    pub fn memory(&self) -> usize {
        let names = self.names.list.iter();
        let names: usize = names.map(|it| it.len() + 2 * size_of::<SmolStr>()).sum();
        self.list.len() * size_of::<Shape>() * 3 + names
    }
}

/// The facts of a packet's messages, in wire order.
#[derive(Clone, Debug)]
pub(crate) struct Messages<'a> {
    shapes: &'a Shapes,
    from: Bytes<'a>,
    left: u32,
    end: u32,
}

impl<'a> Messages<'a> {
    fn none(shapes: &'a Shapes) -> Messages<'a> {
        Messages {
            shapes,
            from: Bytes(&[]),
            left: 0,
            end: 0,
        }
    }

    /// The messages whose shapes fit, each with its place among all. The others are passed over
    /// without making anything of them.
    pub fn those(
        mut self,
        fits: impl Fn(&Shape) -> bool,
    ) -> impl Iterator<Item = (u32, MessageFacts)> {
        let count = self.left;
        std::iter::from_fn(move || {
            loop {
                let (shape, bits) = self.begin()?;
                let nth = count - self.left - 1;
                match fits(shape) {
                    true => return Some((nth, self.rest(shape, bits))),
                    false => self.from.pass(shape.values()),
                }
            }
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
        let shape = self.shapes.list.get(from.take() as usize)?;
        let start = i64::from(self.end) + unzigzag(from.take());
        let start = start as u32;
        self.end = start.wrapping_add(from.take() as u32);
        Some((shape, start..self.end))
    }
}

impl Iterator for Messages<'_> {
    type Item = MessageFacts;

    fn next(&mut self) -> Option<MessageFacts> {
        let (shape, bits) = self.begin()?;
        Some(self.rest(shape, bits))
    }
}

impl Messages<'_> {
    /// A message of which shape and bits were read.
    fn rest(&mut self, shape: &Shape, bits: Range<u32>) -> MessageFacts {
        let from = &mut self.from;
        let mut parts = shape.reader();
        let mut facts = MessageFacts {
            kind: shape.of.map(KindId),
            reliable: shape.reliable,
            promise: shape.promise,
            bits,
            reliable_sequence: parts.sequence(0, from),
            ordered_sequence: parts.sequence(1, from),
            acknowledges: parts.sequence(2, from),
            stream: StreamId(0),
            ..MessageFacts::default()
        };
        let stream = parts.number(3, from);
        facts.stream = StreamId(stream.unwrap_or(0) as u16);
        facts.channel = parts.number(4, from);
        facts.host = parts.number(5, from);
        facts.origin = parts.number(6, from);
        facts.object = parts.number(7, from);
        facts.object_type = parts.number(8, from);
        facts.owner = parts.number(9, from);
        facts.new_owner = parts.number(10, from);
        facts.migration_counter = parts.number(11, from);
        facts.tick = parts.sequence_at(12, 6, from);
        facts.fragment_id = parts.number(13, from);
        let index = parts.number(14, from);
        let count = parts.number(15, from);
        facts.fragment = index.zip(count);
        facts.acknowledges_before = parts.sequence_at(18, 3, from);
        facts.sent_time = parts.sequence_at(19, 4, from);
        facts.echoed_time = parts.sequence_at(20, 5, from);
        facts.checksum = parts.number(21, from);
        facts.input = parts.number(22, from);
        facts.input_count = parts.number(23, from);
        let rpc = parts.number(16, from).is_some();
        let data = parts.number(17, from).is_some();
        facts.rpc_name = rpc.then(|| RpcName {
            place: from.place(),
            text: self.shapes.names.get(from.take()),
        });
        facts.fragment_data = data.then(|| from.place());
        facts
    }
}

/// The parts that facts have, while they are written.
#[derive(Default)]
struct Parts {
    there: u32,
    widths: [u8; WIDTHS],
}

impl Parts {
    fn number(&mut self, bit: u32, value: Option<u64>) -> Option<u64> {
        self.there |= u32::from(value.is_some()) << bit;
        value
    }

    fn sequence(&mut self, at: usize, value: Option<Sequence>) -> Option<u64> {
        self.sequence_at(at as u32, at, value)
    }

    fn sequence_at(&mut self, bit: u32, at: usize, value: Option<Sequence>) -> Option<u64> {
        self.widths[at] = value.map_or(0, |sequence| sequence.bits);
        self.number(bit, value.map(|sequence| sequence.value))
    }
}

/// In [`Shape::has`]: a `@reliable_sequence`.
pub(crate) const RELIABLE_SEQUENCE: u32 = 1;
/// In [`Shape::has`]: that a message acknowledges others.
pub(crate) const ACKNOWLEDGES: u32 = 1 << 2 | 1 << 18;
/// In [`Shape::has`]: a `@host`.
pub(crate) const HOST: u32 = 1 << 5;
/// In [`Shape::has`]: an `@object`.
pub(crate) const OBJECT: u32 = 1 << 7;
/// In [`Shape::has`]: a `@checksum`.
pub(crate) const CHECKSUM: u32 = 1 << 21;
/// In [`Shape::has`]: an `@input`.
pub(crate) const INPUT: u32 = 1 << 22;

/// The bits that say of a place that it is there have no value of their own.
const PLACES: u32 = 1 << 16 | 1 << 17;
/// At the first of them a name stands as well.
const NAME: u32 = 1 << 16;

/// The parts that facts have, while they are read.
struct Reader<'a> {
    shape: &'a Shape,
}

impl Shape {
    /// Its place among [`Shapes::latest`].
    fn place(&self) -> usize {
        let parts = self.parts ^ self.parts >> 16;
        let of = u32::from(self.of.unwrap_or(0));
        (parts ^ parts >> 8 ^ parts >> 4 ^ of) as usize % LATEST
    }

    /// The kind of a message.
    pub fn kind(&self) -> Option<KindId> {
        self.of.map(KindId)
    }

    /// Whether a message has one of these parts.
    pub fn has(&self, parts: u32) -> bool {
        self.parts & parts != 0
    }

    /// Whether a message is handed over unless a newer one was.
    pub fn is_sequenced(&self) -> bool {
        self.promise == Promise::Sequenced
    }

    /// How many numbers stand behind a message's shape and bits.
    fn values(&self) -> u32 {
        let places = 3 * (self.parts & PLACES).count_ones();
        (self.parts & !PLACES).count_ones() + places + (self.parts & NAME).count_ones()
    }

    /// How many of these parts a packet has.
    fn count(&self, parts: u32) -> u32 {
        (self.parts & parts).count_ones()
    }

    fn reader(&self) -> Reader<'_> {
        Reader { shape: self }
    }
}

impl Reader<'_> {
    fn number(&mut self, bit: u32, from: &mut Bytes<'_>) -> Option<u64> {
        if self.shape.parts & 1 << bit == 0 {
            return None;
        }
        match PLACES & 1 << bit {
            0 => Some(from.take()),
            _ => Some(0),
        }
    }

    fn sequence(&mut self, at: usize, from: &mut Bytes<'_>) -> Option<Sequence> {
        self.sequence_at(at as u32, at, from)
    }

    fn sequence_at(&mut self, bit: u32, at: usize, from: &mut Bytes<'_>) -> Option<Sequence> {
        let value = self.number(bit, from)?;
        let bits = self.shape.widths[at];
        Some(Sequence { value, bits })
    }
}

/// What is left to read. It was written here, so that what is missing is a mistake of ours and
/// reads as 0.
#[derive(Clone, Debug)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// Passes over this many numbers.
    fn pass(&mut self, numbers: u32) {
        for _ in 0..numbers {
            let ends = self.0.iter().position(|&byte| byte < 0x80);
            let length = ends.map_or(self.0.len(), |last| last + 1);
            self.0 = &self.0[length..];
        }
    }

    #[inline]
    fn take(&mut self) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        value
    }

    /// How many ranges, each the first and how far on the last is.
    fn ranges(&mut self, count: u64) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        for _ in 0..count {
            let first = self.take();
            ranges.push((first, self.take().wrapping_add(first)));
        }
        ranges
    }

    fn place(&mut self) -> Place {
        let stream = StreamId(self.take() as u16);
        let start = self.take() as u32;
        let end = start.wrapping_add(self.take() as u32);
        Place {
            stream,
            bits: start..end,
        }
    }
}

#[inline]
fn put(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn put_place(place: &Place, to: &mut Vec<u8>) {
    put(u64::from(place.stream.0), to);
    put(u64::from(place.bits.start), to);
    put(u64::from(place.bits.end.wrapping_sub(place.bits.start)), to);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests;

//! Pieces of messages and of byte streams that run over packets: which of them hold a field.

use std::collections::BTreeMap;
use std::ops::Range;

use netreel_reel::{EventNumber, Reel};
use netreel_wire::{Decoded, PieceAt, Place, ProtocolId, StreamId, TreeNode, Value, Wire};

use super::Field;
use super::blank::unexplained;
use super::follow::{Follow, Key};
use super::walk::Events;

/// What becomes of the pieces in the packets of one reel.
#[derive(Default)]
pub(super) struct Pieces {
    of_packets: BTreeMap<EventNumber, Vec<(Place, Fate)>>,
}

/// What becomes of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    /// A field is in it, whole or cut.
    Blank,
    /// Nobody can say: its packet is held back.
    HeldBack(&'static str),
}

/// Of one connection and protocol, what its state keeps in one place.
type Kept = (Key, Option<ProtocolId>, u16);

/// A piece of a packet.
struct Part {
    packet: EventNumber,
    place: Place,
    index: i128,
    bytes: Vec<u8>,
}

/// Looks at all packets of a reel, one after the other.
#[derive(Default)]
struct Pass {
    pieces: Pieces,
    /// Parts of messages that are not whole.
    waiting: BTreeMap<(Kept, i128), Vec<Part>>,
    /// What became of the parts of the latest whole message under a key, for those that come again.
    whole: BTreeMap<(Kept, i128), Vec<(Part, Fate)>>,
    streams: BTreeMap<Kept, Stream>,
}

/// A byte stream.
#[derive(Default)]
struct Stream {
    pieces: Vec<(EventNumber, Place, Range<i128>)>,
    /// What was read, and of it what holds a field.
    read: Vec<Range<i128>>,
    asked: Vec<Range<i128>>,
}

const INCOMPLETE: &str = "it holds a part of a message of which other parts are missing";
const UNREAD: &str = "it holds a part of a stream that was not read to the end of a record";
const UNEXPLAINED: &str = "the wire does not explain all of the message that it is a part of";
const UNKNOWN: &str = "where a part in it belongs depends on packets that are missing";

impl Pieces {
    /// Looks for fields in what the packets of a reel make together.
    pub fn new(reel: &Reel, wire: &Wire, fields: &[Field]) -> Pieces {
        if !wire.has_state() {
            return Pieces::default();
        }
        let mut pass = Pass::default();
        let mut follow = Follow::new(reel);
        for record in Events::new(reel) {
            let record = record.as_record();
            let Some(crossing) = follow.crossing(record.number, &record.event) else {
                continue;
            };
            let (context, connection) = follow.connection(wire, &crossing);
            let decoded = wire.decode_in(&context, &mut connection.before, crossing.payload);
            pass.packet((record.number, crossing.key), &decoded, fields);
        }
        pass.finish()
    }

    /// What becomes of the pieces in a packet.
    pub fn of(&self, packet: EventNumber) -> &[(Place, Fate)] {
        self.of_packets.get(&packet).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, packet: EventNumber, place: Place, fate: Fate) {
        self.of_packets
            .entry(packet)
            .or_default()
            .push((place, fate));
    }
}

impl Pass {
    fn packet(&mut self, (packet, key): (EventNumber, Key), decoded: &Decoded, fields: &[Field]) {
        for piece in &decoded.pieces {
            let place = piece.place.clone();
            let kept = (key, decoded.facts.protocol, piece.kept);
            match piece.at {
                None => self.pieces.add(packet, place, Fate::HeldBack(UNKNOWN)),
                Some(PieceAt::Part { key, index }) => {
                    let bytes = match node_at(decoded, &place).map(|node| node.value()) {
                        Some(Value::Bytes(bytes)) => bytes,
                        _ => Vec::new(),
                    };
                    let part = Part {
                        packet,
                        place,
                        index,
                        bytes,
                    };
                    let parts = self.waiting.entry((kept, key)).or_default();
                    parts.push(part);
                    if let Some(stream) = piece.whole {
                        self.whole((kept, key), decoded, stream, fields);
                    }
                }
                Some(PieceAt::Stream {
                    position,
                    start,
                    read,
                }) => {
                    let length = (piece.place.bits.end - piece.place.bits.start) / 8;
                    let stream = self.streams.entry(kept).or_default();
                    let range = position..position + i128::from(length);
                    stream.pieces.push((packet, place, range));
                    if let Some(whole) = piece.whole {
                        stream.records(decoded, whole, (start, read), fields);
                    }
                }
            }
        }
    }

    /// All parts of a message are there.
    fn whole(&mut self, key: (Kept, i128), decoded: &Decoded, stream: StreamId, fields: &[Field]) {
        let bytes = decoded.tree.stream(stream).unwrap_or_default();
        let inside = |node: &TreeNode<'_>| outermost(decoded, *node, stream).is_some();
        let mut asked = decoded.tree.iter().filter(inside);
        let fate = if unexplained(decoded, &inside).is_some() {
            Fate::HeldBack(UNEXPLAINED)
        } else if asked.any(|node| is_asked(decoded, node, fields)) {
            Fate::Blank
        } else {
            Fate::Stays
        };
        let mut parts = Vec::new();
        for part in self.waiting.remove(&key).unwrap_or_default() {
            // One under the same key may be of an earlier message that was given up.
            let length = part.bytes.len().max(1);
            let is_in = part.bytes.is_empty() || bytes.windows(length).any(|it| it == part.bytes);
            let fate = match is_in {
                true => fate.clone(),
                false => Fate::HeldBack(INCOMPLETE),
            };
            self.pieces
                .add(part.packet, part.place.clone(), fate.clone());
            parts.push((part, fate));
        }
        self.whole.insert(key, parts);
    }

    fn finish(mut self) -> Pieces {
        for (key, parts) in self.waiting {
            let known = self.whole.get(&key).map_or(&[][..], Vec::as_slice);
            for part in parts {
                let same = |(other, _): &&(Part, Fate)| {
                    (other.index, &other.bytes) == (part.index, &part.bytes)
                };
                let fate = known.iter().find(same).map(|(_, fate)| fate.clone());
                let fate = fate.unwrap_or(Fate::HeldBack(INCOMPLETE));
                self.pieces.add(part.packet, part.place, fate);
            }
        }
        for stream in self.streams.into_values() {
            let (read, asked) = (merged(stream.read), merged(stream.asked));
            for (packet, place, range) in stream.pieces {
                let fate = if range.is_empty() {
                    Fate::Stays
                } else if overlapping(&asked, &range).is_some() {
                    Fate::Blank
                } else if overlapping(&read, &range)
                    .is_some_and(|it| it.start <= range.start && range.end <= it.end)
                {
                    Fate::Stays
                } else {
                    Fate::HeldBack(UNREAD)
                };
                self.pieces.add(packet, place, fate);
            }
        }
        self.pieces
    }
}

impl Stream {
    /// Records were read in a stream inside a packet, from the byte `start` on.
    fn records(
        &mut self,
        decoded: &Decoded,
        stream: StreamId,
        (start, length): (i128, usize),
        fields: &[Field],
    ) {
        let bytes = |bits: Range<u32>| {
            let first = start + i128::from(bits.start / 8);
            first..start + i128::from(bits.end.div_ceil(8))
        };
        let mut read = length as i128;
        for node in decoded.tree.iter() {
            let Some(around) = outermost(decoded, node, stream) else {
                continue;
            };
            if node.is_rest() {
                read = read.min(i128::from(around.bits().start / 8));
            } else if is_asked(decoded, node, fields) {
                self.asked.push(bytes(around.bits()));
            }
        }
        self.read.push(start..start + read);
    }
}

fn is_asked(decoded: &Decoded, node: TreeNode<'_>, fields: &[Field]) -> bool {
    let takes = |field: &Field| field.takes(&decoded.tree, node);
    node.can_be_blank() && fields.iter().any(takes)
}

/// The node itself or the one around it whose bits are in a stream; `None`: it is not inside.
fn outermost<'d>(
    decoded: &'d Decoded,
    node: TreeNode<'d>,
    stream: StreamId,
) -> Option<TreeNode<'d>> {
    let mut next = Some(node);
    while let Some(at) = next {
        if at.stream() == stream {
            return Some(at);
        }
        next = at.parent().and_then(|parent| decoded.tree.get(parent));
    }
    None
}

/// The field of bytes that stands there.
pub(super) fn node_at<'d>(decoded: &'d Decoded, place: &Place) -> Option<TreeNode<'d>> {
    decoded.tree.iter().find(|node| {
        let bits = node.bits();
        node.stream() == place.stream
            && node.descendants() == 0
            && bits.end == place.bits.end
            && bits.start <= place.bits.start
            && node.can_be_blank()
    })
}

/// Ranges in order, those that touch as one.
fn merged(mut ranges: Vec<Range<i128>>) -> Vec<Range<i128>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<i128>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The first of some ranges in order that shares a place with another.
fn overlapping<'r>(ranges: &'r [Range<i128>], range: &Range<i128>) -> Option<&'r Range<i128>> {
    let after = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(after).filter(|other| other.start < range.end)
}

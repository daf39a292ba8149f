//! Pieces of messages and of byte streams that run over packets: which of them hold a field.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel};
use netreel_wire::{Decoded, Instead, PieceAt, Place, ProtocolId, StreamId, TreeNode, Value, Wire};

use crate::events::Events;
use crate::fields::{Field, asked};
use crate::follow::{Follow, Key};
use crate::rewrite::{PieceFate, node_at, unexplained};

/// What becomes of the pieces in the packets of one reel.
#[derive(Default)]
pub(crate) struct Pieces {
    of_packets: BTreeMap<EventNumber, Vec<(Place, PieceFate)>>,
}

/// Of one connection and protocol, what its state keeps in one place.
type Kept = (Key, Option<ProtocolId>, u16);

/// A part of a message: which message, which part, and its bytes, for another message may have the
/// same key.
type MessagePart = ((Kept, i128), i128, Arc<[u8]>);

/// Looks at all packets of a reel, one after the other.
#[derive(Default)]
struct Pass {
    found: Vec<(EventNumber, Place, At)>,
    /// Parts of messages that are not whole.
    waiting: BTreeMap<(Kept, i128), Vec<MessagePart>>,
    /// What becomes of parts of whole messages, also of those that come again.
    parts: BTreeMap<MessagePart, PieceFate>,
    streams: BTreeMap<Kept, ByteStream>,
}

/// Where a piece belongs.
enum At {
    Unknown,
    Part(MessagePart),
    Stream(Kept, Range<i128>),
}

/// A byte stream: what was read, and of it what holds a field.
#[derive(Default)]
struct ByteStream {
    read: Vec<Range<i128>>,
    asked: Vec<Range<i128>>,
}

pub(crate) const INCOMPLETE: &str = "it holds a part of a message of which other parts are missing";
const UNREAD: &str = "it holds a part of a stream that was not read to the end of a record";
const UNEXPLAINED: &str = "the wire does not explain all of the message that it is a part of";
const UNKNOWN: &str = "where a part in it belongs depends on packets that are missing";

pub(crate) fn held_back(why: &str) -> PieceFate {
    PieceFate::HeldBack(why.to_owned())
}

impl Pieces {
    /// Looks for fields in what the packets of a reel make together.
    pub fn new(reel: &Reel, wire: &Wire, fields: &[Field]) -> Pieces {
        if !wire.has_state() {
            return Pieces::default();
        }
        let mut pass = Pass::default();
        let mut follow = Follow::new(reel);
        for record in Events::all(reel) {
            let record = record.as_record();
            if let Some(packet) = follow.packet(wire, &record.event) {
                let state = &mut packet.connection.before;
                let decoded = wire.decode_in(&packet.context, state, packet.payload);
                pass.packet((record.number, packet.key), &decoded, fields);
            }
        }
        pass.finish()
    }

    /// What becomes of the pieces in a packet.
    pub fn of(&self, packet: EventNumber) -> &[(Place, PieceFate)] {
        self.of_packets.get(&packet).map_or(&[], Vec::as_slice)
    }
}

impl Pass {
    fn packet(&mut self, (packet, key): (EventNumber, Key), decoded: &Decoded, fields: &[Field]) {
        for piece in &decoded.pieces {
            let place = piece.place.clone();
            let kept = (key, decoded.facts.protocol, piece.kept);
            let at = match piece.at {
                None => At::Unknown,
                Some(PieceAt::Part { key, index }) => {
                    let bytes = match node_at(decoded, &place).map(TreeNode::value) {
                        Some(Value::Bytes(bytes)) => bytes,
                        _ => Vec::new(),
                    };
                    let part = ((kept, key), index, bytes.into());
                    let parts = self.waiting.entry((kept, key)).or_default();
                    parts.push(part.clone());
                    if let Some(stream) = piece.whole {
                        let parts = std::mem::take(parts);
                        self.whole(parts, decoded, stream, fields);
                    }
                    At::Part(part)
                }
                Some(PieceAt::Stream {
                    position,
                    start,
                    read,
                }) => {
                    let length = (place.bits.end - place.bits.start) / 8;
                    if let Some(whole) = piece.whole {
                        let stream = self.streams.entry(kept).or_default();
                        stream.records(decoded, whole, (start, read), fields);
                    }
                    At::Stream(kept, position..position + i128::from(length))
                }
            };
            self.found.push((packet, place, at));
        }
    }

    /// All parts of a message are there.
    fn whole(
        &mut self,
        parts: Vec<MessagePart>,
        decoded: &Decoded,
        stream: StreamId,
        fields: &[Field],
    ) {
        let bytes = decoded.tree.stream(stream).unwrap_or_default();
        let inside = |node: &TreeNode<'_>| outermost(*node, stream).is_some();
        let mut asked = decoded.tree.iter().filter(inside);
        let fate = if unexplained(decoded, inside).is_some() {
            held_back(UNEXPLAINED)
        } else if asked.any(|node| is_asked(node, fields)) {
            PieceFate::Becomes(Instead::Nothing)
        } else {
            PieceFate::Stays
        };
        for part in parts {
            // One under the same key may be of an earlier message that was given up.
            let (_, _, data) = &part;
            if data.is_empty() || bytes.windows(data.len()).any(|it| it == &**data) {
                let known = self.parts.entry(part).or_insert(PieceFate::Stays);
                // The same part of another message under this key may hold a field.
                if fate != PieceFate::Stays {
                    *known = fate.clone();
                }
            }
        }
    }

    fn finish(mut self) -> Pieces {
        for stream in self.streams.values_mut() {
            stream.read = merged(std::mem::take(&mut stream.read));
            stream.asked = merged(std::mem::take(&mut stream.asked));
        }
        let mut pieces = Pieces::default();
        for (packet, place, at) in self.found {
            let fate = match at {
                At::Unknown => held_back(UNKNOWN),
                At::Part(part) => match self.parts.get(&part) {
                    Some(fate) => fate.clone(),
                    None => held_back(INCOMPLETE),
                },
                At::Stream(kept, range) => match self.streams.get(&kept) {
                    Some(stream) => stream.fate(&range),
                    None => ByteStream::default().fate(&range),
                },
            };
            pieces
                .of_packets
                .entry(packet)
                .or_default()
                .push((place, fate));
        }
        pieces
    }
}

impl ByteStream {
    /// What becomes of some bytes of it, once its ranges are in order.
    fn fate(&self, range: &Range<i128>) -> PieceFate {
        let is_read = |it: &Range<i128>| it.start <= range.start && range.end <= it.end;
        if range.is_empty() {
            PieceFate::Stays
        } else if overlapping(&self.asked, range).is_some() {
            PieceFate::Becomes(Instead::Nothing)
        } else if overlapping(&self.read, range).is_some_and(is_read) {
            PieceFate::Stays
        } else {
            held_back(UNREAD)
        }
    }

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
            let Some(around) = outermost(node, stream) else {
                continue;
            };
            if node.is_rest() {
                read = read.min(i128::from(around.bits().start / 8));
            } else if is_asked(node, fields) {
                self.asked.push(bytes(around.bits()));
            }
        }
        self.read.push(start..start + read);
    }
}

fn is_asked(node: TreeNode<'_>, fields: &[Field]) -> bool {
    node.can_be_blank() && asked(fields, node).is_some()
}

/// The node itself or the one around it whose bits are in a stream; `None`: it is not inside.
fn outermost(node: TreeNode<'_>, stream: StreamId) -> Option<TreeNode<'_>> {
    node.around().find(|at| at.stream() == stream)
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

//! What the wire says of all packets: worked out when somebody first asks for it.
//!
//! Reels are read again for it, several at once. Most packets say the same whatever came before them: the
//! wire is asked about them once, at the end that tells them (`alone.rs`), or was while the reels were
//! scanned (`SessionBuilder::with_facts`). A packet that reads what its connection keeps, or changes it, is
//! asked about after that at each of its ends and in their order (`dependent.rs`). How a reel is cut depends
//! on the reel alone, so that the same reels give the same bytes on any machine.

use std::collections::BTreeMap;
use std::ops::Range;

use netreel_reel::EventNumber;
use netreel_table::Blobs;
use netreel_wire::{MessageFacts, PacketFacts, States, StreamId, Wire};

use super::asked::ask;
use super::asking::Answers;
use super::kept::{Budget, Checkpoints, Kept};
use super::numbered::Numbers;
use super::pieces::{OfTrack, Pieces};
use super::properties::ObjectFact;
use super::reader::Reader;
use super::said::Said;
use super::shape::Messages;
use super::values::Values;
use crate::session::index::plain::indexed;
use crate::session::read::ends::EndAt;
use crate::session::weave::rows::Rows;
use crate::session::{MessageId, PacketId, parallel};

/// What the wire says of all packets.
#[derive(Default)]
pub(crate) struct Told {
    pieces: Pieces,
    pub(super) numbers: Numbers,
}

indexed!(Told: numbers, pieces);

/// The messages of so many packets are counted at a time.
const NUMBERED: usize = 1 << 16;

/// Where checkpoints are made; all of a session take about this much memory.
pub(crate) const CHECKPOINTS: Checkpoints = Checkpoints {
    packets: 64,
    bytes_max: 32 << 20,
    budget: Budget::WHOLE,
};

impl Told {
    /// Asks the wire about every packet of which it is not `known` what the wire says, by tracks.
    pub fn new(rows: &Rows, wire: &Wire, workers: usize, known: Vec<Option<Answers>>) -> Told {
        Told::with_checkpoints((rows, wire), workers, CHECKPOINTS, known)
    }

    pub(super) fn with_checkpoints(
        (rows, wire): (&Rows, &Wire),
        workers: usize,
        checkpoints: Checkpoints,
        known: Vec<Option<Answers>>,
    ) -> Told {
        let mut told = Told {
            pieces: ask(rows, wire, workers, checkpoints, known),
            ..Told::default()
        };
        told.number(rows, workers);
        told
    }

    /// Numbers the messages of all packets, in their order.
    fn number(&mut self, rows: &Rows, workers: usize) {
        let mut numbers = Numbers::default();
        let all: Vec<Range<usize>> = parallel::stretches(rows.len(), NUMBERED).collect();
        for some in all.chunks(workers.max(1)) {
            let heads = parallel::map(some.to_vec(), workers, |packets| {
                let mut reader = self.reader(rows);
                let heads = packets.map(|packet| reader.head(PacketId(packet as u32)));
                heads.collect::<Vec<_>>()
            });
            for head in heads.into_iter().flatten() {
                let packet = numbers.first.len() as u32;
                numbers.first.push(u64::from(numbers.messages));
                let (count, is_unfit) = head.unwrap_or_default();
                numbers.messages = numbers.messages.saturating_add(count);
                if is_unfit {
                    numbers.unfit.push(packet);
                }
            }
        }
        let mut fragments = Vec::new();
        for (track, (pieces, known)) in self.tracks().zip(&rows.tracks).enumerate() {
            for &(side, place, nth) in pieces.flat_map(|piece| &piece.fragments) {
                if !rows.is_told_by(track, side, place as usize) {
                    continue;
                }
                let end = rows.places.id(track, side, place as usize);
                let own = known.packets[side as usize].get(place as usize) as u32;
                let others = rows.others(end).iter().copied();
                for packet in [own].into_iter().chain(others) {
                    let first = numbers.first.get(packet as usize) as u32;
                    fragments.push(first.saturating_add(nth));
                }
            }
        }
        fragments.sort_unstable();
        numbers.fragments = fragments.into_iter().map(u64::from).collect();
        numbers.first.shrink();
        numbers.fragments.shrink();
        self.numbers = numbers;
    }

    /// Reads what is known of packets one after the other.
    pub fn reader<'a>(&'a self, rows: &'a Rows) -> Reader<'a> {
        Reader::new(rows, &self.pieces, Some(&self.numbers.first))
    }

    /// Of each track its pieces.
    pub(super) fn tracks(&self) -> impl ExactSizeIterator<Item = OfTrack<'_>> + '_ {
        self.pieces.tracks()
    }

    /// Hands over what the messages of all packets tell of properties, in the order of packets, with the
    /// number of each packet's first message; values get numbers among `values`.
    pub fn properties(
        &self,
        rows: &Rows,
        values: &mut Values,
        mut take: impl FnMut(PacketId, u32, ObjectFact),
    ) {
        // For each piece the numbers of its values.
        let numbers = |pieces: OfTrack<'_>| {
            let counts = pieces.map(|it| it.properties.values().len());
            counts.map(|count| vec![None; count]).collect()
        };
        let mut numbers: Vec<Vec<Vec<Option<u32>>>> = self.tracks().map(numbers).collect();
        for (packet, first) in (0u32..).map(PacketId).zip(self.numbers.first.iter()) {
            let end = rows.told(packet);
            let found = end.and_then(|end| Some((end, self.pieces.find(rows, end)?)));
            let Some(((track, side, _), (piece, _, (at, row)))) = found else {
                continue;
            };
            let Some(known) = numbers.get_mut(track).and_then(|pieces| pieces.get_mut(at)) else {
                continue;
            };
            let next = PacketId(packet.0.saturating_add(1));
            let count = self.messages_before(next).saturating_sub(first as u32);
            // An index may name messages that there are not.
            let told = piece.properties.of(side, row);
            for (message, tells) in told.filter(|(message, _)| *message < count) {
                let tells = match tells {
                    ObjectFact::Property(property, value) => {
                        let Some(known) = known.get_mut(value as usize) else {
                            continue;
                        };
                        let bytes = || piece.properties.values().bytes(value);
                        let number = *known.get_or_insert_with(|| values.number(bytes()));
                        ObjectFact::Property(property, number)
                    }
                    snapshot => snapshot,
                };
                take(packet, first as u32 + message, tells);
            }
        }
    }

    /// What the wire calls the types of objects, as far as packets say it.
    pub fn types(&self) -> BTreeMap<u64, String> {
        let mut types = BTreeMap::new();
        // Of each track what was said first.
        for track in self.tracks() {
            let mut own: BTreeMap<u64, &(EventNumber, String)> = BTreeMap::new();
            for (&number, named) in track.flat_map(|piece| piece.properties.types()) {
                let first = own.entry(number).or_insert(named);
                *first = named.min(first);
            }
            for (number, (_, name)) in own {
                types.entry(number).or_insert_with(|| name.clone());
            }
        }
        types
    }

    /// What the wire says of a packet, and the facts of its messages.
    pub fn of(&self, rows: &Rows, packet: PacketId) -> Option<(Said, Messages<'_>)> {
        let mut said = Said::default();
        let messages = self.read(rows, packet, rows.told(packet)?, &mut said)?;
        Some((said, messages))
    }

    /// The same of a packet that is told by an end, written over what stands in `said`.
    pub fn read(
        &self,
        rows: &Rows,
        packet: PacketId,
        end: EndAt,
        said: &mut Said,
    ) -> Option<Messages<'_>> {
        let first = self.numbers.first.get(packet.0 as usize) as u32;
        let (shapes, bytes) = self.pieces.facts(rows, end)?;
        Some(shapes.read(bytes, first, said))
    }

    /// The facts of the messages of a packet, and their numbers.
    pub fn messages_of(&self, rows: &Rows, packet: PacketId) -> Option<(Range<u32>, Messages<'_>)> {
        let end = rows.told(packet)?;
        let first = self.numbers.first.get(packet.0 as usize) as u32;
        let (shapes, bytes) = self.pieces.facts(rows, end)?;
        Some(shapes.messages(bytes, first))
    }

    /// The packets that do not fit the wire, in order.
    pub fn unfit(&self) -> &[u32] {
        &self.numbers.unfit
    }

    /// What took more than a file may take, a sentence each.
    pub fn spent(&self) -> Vec<String> {
        let (unread, times) = (self.unread(), self.forgotten());
        let unread = (unread > 0).then(|| {
            format!(
                "the wire's scripts took all steps that they may take for a session: \
                 {unread} packets were not read"
            )
        });
        let forgotten = (times > 0).then(|| {
            format!(
                "the wire keeps more of its connections than the {} MiB that all may take: connections \
                 were forgotten {times} times",
                States::BYTES_MAX >> 20
            )
        });
        unread.into_iter().chain(forgotten).collect()
    }

    /// How many packets were not read, because the wire's scripts had taken all the steps that they
    /// may take.
    pub fn unread(&self) -> u64 {
        self.pieces.all().map(|piece| piece.unread).sum()
    }

    /// How often what a connection keeps was forgotten, because all took too much memory together.
    pub fn forgotten(&self) -> usize {
        // What is kept goes on from one piece to the next.
        let last = self.pieces.tracks.iter().filter_map(|pieces| pieces.last());
        let pieces = last.chain(self.pieces.dependent.iter().flatten());
        let kept = pieces.flat_map(|piece| piece.kept.values());
        kept.map(Kept::times_forgotten).sum()
    }

    /// How many messages there are.
    pub fn messages(&self) -> u32 {
        self.numbers.messages
    }

    /// How many messages each packet has.
    pub fn counts(&self) -> impl Iterator<Item = u32> + '_ {
        let Numbers {
            first, messages, ..
        } = &self.numbers;
        let after = first.iter().skip(1).map(|first| first as u32);
        let pairs = first.iter().zip(after.chain([*messages]));
        pairs.map(|(first, after)| after.saturating_sub(first as u32))
    }

    /// How many messages the packets before this one have.
    pub fn messages_before(&self, packet: PacketId) -> u32 {
        let row = packet.0 as usize;
        match row < self.numbers.first.len() {
            true => self.numbers.first.get(row) as u32,
            false => self.numbers.messages,
        }
    }

    /// The packet that carries a message.
    pub fn carrier(&self, message: MessageId) -> Option<PacketId> {
        if message.0 >= self.numbers.messages {
            return None;
        }
        // Packets without messages have the number of the next one's first.
        let after = self.numbers.first.lower_bound(u64::from(message.0) + 1);
        Some(PacketId(after.checked_sub(1)? as u32))
    }

    /// A message: its packet, and its facts.
    pub fn message(&self, rows: &Rows, message: MessageId) -> Option<(PacketId, MessageFacts)> {
        let packet = self.carrier(message)?;
        let (numbers, facts) = self.messages_of(rows, packet)?;
        let nth = message.0.checked_sub(numbers.start)?;
        Some((packet, facts.nth_alone(nth)?))
    }

    /// The messages that are fragments, in their order.
    pub fn fragments(&self) -> impl Iterator<Item = MessageId> + '_ {
        let fragments = self.numbers.fragments.iter();
        fragments.map(|message| MessageId(message as u32))
    }

    /// The bytes that a fragment carries, whose packet has this payload.
    pub fn fragment(
        &self,
        rows: &Rows,
        wire: &Wire,
        message: MessageId,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let packet = self.carrier(message)?;
        let end = rows.told(packet)?;
        let (said, mut messages) = self.of(rows, packet)?;
        let nth = message.0.checked_sub(said.messages.start)?;
        let data = messages.nth(nth as usize)?.fragment_data?;
        if data.stream != StreamId(0) {
            let (_, side, place) = end;
            let (piece, ..) = self.pieces.find(rows, end)?;
            return piece.carried.get(&(side, place as u32, nth)).cloned();
        }
        let facts = PacketFacts {
            protocol: said.protocol,
            ..PacketFacts::default()
        };
        Some(wire.bytes_at(&facts, payload, &data))
    }

    /// What is kept of a connection of a track, where the wire keeps state.
    pub fn kept(&self, track: usize, connection: usize) -> Option<&Kept> {
        let mut pieces = self.tracks().nth(track)?;
        pieces.find_map(|piece| piece.kept.get(&(connection as u32)))
    }

    /// How many bytes of memory it takes, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let pieces = || self.pieces.all();
        let facts = pieces().flat_map(|piece| &piece.facts).map(Blobs::memory);
        let events = pieces().flat_map(|piece| piece.kept.values());
        let events = events.map(|kept| kept.events.memory());
        let fragments = pieces().map(|piece| size_of_val(piece.fragments.as_slice()));
        let carried = pieces().flat_map(|piece| piece.carried.values());
        vec![
            ("facts", facts.sum()),
            ("first message", self.numbers.first.memory()),
            ("shapes", pieces().map(|piece| piece.shapes.memory()).sum()),
            (
                "properties",
                pieces().map(|piece| piece.properties.memory()).sum(),
            ),
            ("events of connections", events.sum()),
            (
                "fragments",
                carried.map(Vec::len).sum::<usize>() + fragments.sum::<usize>(),
            ),
            ("fragments, by message", self.numbers.fragments.memory()),
        ]
    }
}

//! What the wire says of all packets: worked out when somebody first asks for it.
//!
//! Reels are read again for it, several at once. A reel that is long is taken in pieces: of a wire
//! without state some blocks each, of one with state some connections each, because what a
//! connection keeps depends on all of its packets before. How a reel is cut depends on the reel
//! alone, so that the same reels give the same bytes on any machine.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{Event, EventNumber, Record, Reel};
use netreel_table::{Blobs, Column, Cursor, List, Misfit, Putting, Taking};
use netreel_wire::{MessageFacts, PacketFacts, States, StreamId, Wire};

use super::asking::{Asking, Of, Piece};
use super::kept::{Budget, Checkpoints, Kept};
use super::numbered::Numbered;
use super::properties::ObjectFact;
use super::said::Said;
use super::shape::{Messages, Shapes};
use super::values::Values;
use crate::session::index::plain::{put_list, put_plain, take_list, take_plain};
use crate::session::parallel;
use crate::session::read::connections::payload;
use crate::session::read::ends::{Ends, Side};
use crate::session::weave::rows::{Rows, Track};
use crate::session::{MessageId, PacketId, Session};

/// A reel of a wire without state is taken in pieces of this many blocks.
const BLOCKS: usize = 1024;
/// A reel of a wire with state that has more packets than this is taken in pieces.
const PACKETS: usize = 1 << 16;
/// In this many.
const PIECES: usize = 2;

/// What the wire says of all packets.
#[derive(Default)]
pub(crate) struct Told {
    /// For each track its pieces, in order.
    tracks: Vec<Vec<Arc<Piece>>>,
    /// Whether a track was cut by connections, and not by blocks.
    has_state: bool,
    /// For each packet the number of its first message.
    first: Column,
    /// How many messages there are.
    messages: u32,
    /// The packets that do not fit the wire, in order.
    unfit: List<u32>,
    /// The messages that are fragments, in order.
    fragments: Column,
}

/// Where checkpoints are made; all of a session take about this much memory.
pub(crate) const CHECKPOINTS: Checkpoints = Checkpoints {
    packets: 64,
    bytes_max: 32 << 20,
    budget: Budget::WHOLE,
};

/// They take no more than this many bytes for each packet, where there are enough of them.
const CHECKPOINT_BYTES: usize = 16;
const CHECKPOINTS_MIN: usize = 4 << 20;

impl Told {
    /// Asks the wire about every packet.
    pub fn new(rows: &Rows, wire: &Wire, workers: usize) -> Told {
        Told::with_checkpoints(rows, wire, workers, CHECKPOINTS)
    }

    pub(crate) fn with_checkpoints(
        rows: &Rows,
        wire: &Wire,
        workers: usize,
        checkpoints: Checkpoints,
    ) -> Told {
        let by_connections = wire.has_state();
        Told::complete(
            rows,
            wire,
            workers,
            checkpoints,
            (by_connections, Vec::new()),
        )
    }

    /// The same where it is known already what the wire says of all ends of some tracks.
    pub fn grown(
        session: &Session,
        wire: &Wire,
        known: Vec<Option<Vec<Arc<Piece>>>>,
        numbered: Option<&mut Numbered>,
    ) -> Told {
        let (rows, workers) = (&session.rows, session.workers);
        let mut told = Told::asked(rows, wire, workers, CHECKPOINTS, (false, known));
        match (numbered, session.same()) {
            (Some(numbered), Some(same)) => numbered.go_on_to(&mut told, rows, same),
            _ => Numbered::default().finish(&mut told, rows),
        }
        told
    }

    fn complete(
        rows: &Rows,
        wire: &Wire,
        workers: usize,
        checkpoints: Checkpoints,
        known: (bool, Vec<Option<Vec<Arc<Piece>>>>),
    ) -> Told {
        let mut told = Told::asked(rows, wire, workers, checkpoints, known);
        Numbered::default().finish(&mut told, rows);
        told
    }

    /// Asks the wire about the packets of which it is not known yet what it says.
    fn asked(
        rows: &Rows,
        wire: &Wire,
        workers: usize,
        checkpoints: Checkpoints,
        (has_state, mut known): (bool, Vec<Option<Vec<Arc<Piece>>>>),
    ) -> Told {
        known.resize_with(rows.tracks.len(), || None);
        let mut jobs = Vec::new();
        for (track, (each, known)) in rows.tracks.iter().zip(&known).enumerate() {
            let pieces = match (known, wire.has_state()) {
                (Some(_), _) => Vec::new(),
                (None, true) if has_state => by_connections(track, each, PIECES),
                (None, true) => by_connections(track, each, 1),
                (None, false) => by_blocks(track, each),
            };
            jobs.extend(pieces);
        }
        let packets = rows.len().saturating_mul(CHECKPOINT_BYTES);
        let bytes_max = checkpoints.bytes_max.min(packets.max(CHECKPOINTS_MIN));
        let checkpoints = Checkpoints {
            bytes_max: bytes_max / jobs.len().max(1),
            budget: checkpoints.budget.part(jobs.len()),
            ..checkpoints
        };
        let of: Vec<usize> = jobs.iter().map(|job| job.track).collect();
        let pieces = parallel::map(jobs, workers, |job| job.run(rows, wire, checkpoints));
        let mut told = Told {
            has_state,
            ..Told::default()
        };
        told.tracks = known.into_iter().map(Option::unwrap_or_default).collect();
        for (track, piece) in of.into_iter().zip(pieces) {
            if let Some(pieces) = told.tracks.get_mut(track) {
                pieces.push(Arc::new(piece));
            }
        }
        told
    }

    /// Of each track its pieces.
    pub(super) fn tracks(&self) -> &[Vec<Arc<Piece>>] {
        &self.tracks
    }

    /// How many messages the packet of an end has, and whether it does not fit the wire.
    pub(super) fn head(&self, rows: &Rows, end: (usize, Side, usize)) -> Option<(u32, bool)> {
        let (shapes, bytes) = self.facts(rows, end)?;
        Some(shapes.head(bytes))
    }

    /// Whether a packet is of a protocol of the wire, and fits it.
    pub fn fits(&self, rows: &Rows, packet: PacketId) -> bool {
        let facts = rows.told(packet).and_then(|end| self.facts(rows, end));
        facts.is_some_and(|(shapes, bytes)| shapes.fits(bytes))
    }

    /// Takes the numbers of all messages.
    pub(super) fn take_numbers(
        &mut self,
        (first, messages): (Column, u32),
        unfit: List<u32>,
        fragments: Column,
    ) {
        (self.first, self.messages) = (first, messages);
        (self.unfit, self.fragments) = (unfit, fragments);
    }

    /// The piece that has the facts of an end, and the row there.
    fn piece(&self, rows: &Rows, end: (usize, Side, usize)) -> Option<(&Piece, usize)> {
        let (at, row) = self.piece_at(rows, end)?;
        Some((self.tracks.get(end.0)?.get(at)?, row))
    }

    /// The facts of an end, and the shapes that read them.
    fn facts(&self, rows: &Rows, end: (usize, Side, usize)) -> Option<(&Shapes, &[u8])> {
        let (piece, row) = self.piece(rows, end)?;
        Some((&piece.shapes, piece.facts[end.1 as usize].get(row)))
    }

    /// The piece of an end by its place among its track's.
    fn piece_at(&self, rows: &Rows, end: (usize, Side, usize)) -> Option<(usize, usize)> {
        let (track, side, place) = end;
        let pieces = self.tracks.get(track)?;
        let at = match self.has_state {
            true => {
                rows.tracks.get(track)?.side(side).connection(place) as usize % pieces.len().max(1)
            }
            false => {
                let starts = |piece: &Arc<Piece>| piece.rows[side as usize].start <= place;
                pieces.partition_point(starts).checked_sub(1)?
            }
        };
        let piece = pieces.get(at)?;
        Some((at, place.checked_sub(piece.rows[side as usize].start)?))
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
        let numbers = |pieces: &Vec<Arc<Piece>>| {
            let counts = pieces.iter().map(|it| it.properties.values().len());
            counts.map(|count| vec![None; count]).collect()
        };
        let mut numbers: Vec<Vec<Vec<Option<u32>>>> = self.tracks.iter().map(numbers).collect();
        for (packet, first) in (0u32..).map(PacketId).zip(self.first.iter()) {
            let end = rows.told(packet);
            let found = end.and_then(|end| Some((end, self.piece_at(rows, end)?)));
            let Some(((track, side, _), (at, row))) = found else {
                continue;
            };
            let (Some(piece), Some(known)) = (
                self.tracks.get(track).and_then(|pieces| pieces.get(at)),
                numbers.get_mut(track).and_then(|pieces| pieces.get_mut(at)),
            ) else {
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
        for piece in self.tracks.iter().flatten() {
            for (&number, name) in piece.properties.types() {
                types.entry(number).or_insert_with(|| name.clone());
            }
        }
        types
    }

    /// What the wire says of a packet, and the facts of its messages.
    pub fn of(&self, rows: &Rows, packet: PacketId) -> Option<(Said, Messages<'_>)> {
        self.of_end(rows, packet, rows.told(packet)?)
    }

    /// The same of a packet that is told by an end.
    pub fn of_end(
        &self,
        rows: &Rows,
        packet: PacketId,
        end: (usize, Side, usize),
    ) -> Option<(Said, Messages<'_>)> {
        let first = self.first.get(packet.0 as usize) as u32;
        let (shapes, bytes) = self.facts(rows, end)?;
        Some(shapes.read(bytes, first))
    }

    /// The facts of the messages of a packet, and their numbers.
    pub fn messages_of(&self, rows: &Rows, packet: PacketId) -> Option<(Range<u32>, Messages<'_>)> {
        let end = rows.told(packet)?;
        let first = self.first.get(packet.0 as usize) as u32;
        let (shapes, bytes) = self.facts(rows, end)?;
        Some(shapes.messages(bytes, first))
    }

    /// The packets that do not fit the wire, in order.
    pub fn unfit(&self) -> &List<u32> {
        &self.unfit
    }

    /// What took more than a file may take, a sentence each.
    pub fn spent(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        match self.unread() {
            0 => {}
            unread => sentences.push(format!(
                "the wire's scripts took all steps that they may take for a session: \
                 {unread} packets were not read"
            )),
        }
        match self.forgotten() {
            0 => {}
            times => sentences.push(format!(
                "the wire keeps more of its connections than the {} MiB that all may take: connections \
                 were forgotten {times} times",
                States::BYTES_MAX >> 20
            )),
        }
        sentences
    }

    /// How many packets were not read, because the wire's scripts had taken all the steps that they
    /// may take.
    pub fn unread(&self) -> u64 {
        let pieces = self.tracks.iter().flatten();
        pieces.map(|piece| piece.unread).sum()
    }

    /// How often what a connection keeps was forgotten, because all took too much memory together.
    pub fn forgotten(&self) -> usize {
        let last = |pieces: &Vec<Arc<Piece>>| match self.has_state {
            true => pieces.clone(),
            // What is kept goes on from piece to piece.
            false => pieces.last().cloned().into_iter().collect(),
        };
        let pieces = self.tracks.iter().flat_map(last);
        pieces
            .map(|piece| {
                piece
                    .kept
                    .values()
                    .map(Kept::times_forgotten)
                    .sum::<usize>()
            })
            .sum()
    }

    /// How many messages there are.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// How many messages the packets before this one have.
    pub fn messages_before(&self, packet: PacketId) -> u32 {
        let row = packet.0 as usize;
        match row < self.first.len() {
            true => self.first.get(row) as u32,
            false => self.messages,
        }
    }

    /// The packet that carries a message.
    pub fn carrier(&self, message: MessageId) -> Option<PacketId> {
        if message.0 >= self.messages {
            return None;
        }
        // Packets without messages have the number of the next one's first.
        let after = self.first.lower_bound(u64::from(message.0) + 1);
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
        let fragments = self.fragments.iter();
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
            let (piece, _) = self.piece(rows, end)?;
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
        let mut pieces = self.tracks.get(track)?.iter();
        pieces.find_map(|piece| piece.kept.get(&(connection as u32)))
    }

    /// Puts it into an index.
    pub fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let Told {
            tracks,
            has_state,
            first,
            messages,
            unfit,
            fragments,
        } = self;
        let unfit: Vec<u32> = unfit.iter().copied().collect();
        put_plain(&(has_state, messages, unfit), to)?;
        to.column(first)?;
        to.column(fragments)?;
        put_list(tracks, to, |pieces, to| {
            put_list(pieces, to, |piece, to| piece.put(to))
        })
    }

    /// Takes what was put.
    pub fn take(from: &mut Taking) -> Result<Told, Misfit> {
        let (has_state, messages, unfit): (bool, u32, Vec<u32>) = take_plain(from)?;
        Ok(Told {
            has_state,
            messages,
            unfit: unfit.into_iter().collect(),
            first: from.column()?,
            fragments: from.column()?,
            tracks: take_list(from, |from| {
                take_list(from, |from| Piece::from_index(from).map(Arc::new))
            })?,
        })
    }

    /// How many bytes of memory it takes, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let pieces = || self.tracks.iter().flatten();
        let facts = pieces().flat_map(|piece| &piece.facts).map(Blobs::memory);
        let events = pieces().flat_map(|piece| piece.kept.values());
        let events = events.map(|kept| kept.events.memory());
        let fragments = pieces().map(|piece| size_of_val(piece.fragments.as_slice()));
        let carried = pieces().flat_map(|piece| piece.carried.values());
        vec![
            ("facts", facts.sum()),
            ("first message", self.first.memory()),
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
            ("fragments, by message", self.fragments.memory()),
        ]
    }
}

/// A piece of a track that is to be read.
struct Job {
    track: usize,
    rows: [Range<usize>; 3],
    blocks: Range<usize>,
    /// Of this many pieces the connections of this one; of one, all.
    connections: (usize, usize),
}

fn by_blocks(track: usize, known: &Track) -> Vec<Job> {
    let Some(reel) = &known.reel else {
        return Vec::new();
    };
    let infos = reel.block_infos();
    let starts: Vec<usize> = (0..infos.len()).step_by(BLOCKS).collect();
    let place = |side: Side, block: usize| match infos.get(block) {
        Some(info) if block > 0 => known.side(side).lower_bound(info.first),
        Some(_) => 0,
        None => known.side(side).len(),
    };
    let jobs = starts.into_iter().map(|start| {
        let end = (start + BLOCKS).min(infos.len());
        Job {
            track,
            rows: Side::ALL.map(|side| place(side, start)..place(side, end)),
            blocks: start..end,
            connections: (0, 1),
        }
    });
    jobs.collect()
}

fn by_connections(track: usize, known: &Track, most: usize) -> Vec<Job> {
    let Some(reel) = &known.reel else {
        return Vec::new();
    };
    let packets: usize = known.sides.iter().map(|side| side.len()).sum();
    let pieces = match packets > PACKETS {
        true => most.min(known.connections.len()).max(1),
        false => 1,
    };
    let jobs = (0..pieces).map(|piece| Job {
        track,
        rows: Side::ALL.map(|side| 0..known.side(side).len()),
        blocks: 0..reel.blocks(),
        connections: (piece, pieces),
    });
    jobs.collect()
}

/// A piece under way.
struct Reading<'a> {
    rows: &'a Rows,
    known: &'a Track,
    wire: &'a Wire,
    job: &'a Job,
    asking: Asking,
    /// What is asked for each end of a side, one after the other.
    sides: [Walking<'a>; 3],
    /// Of a wire with state, for each connection how many of its packets are still to come.
    left: Vec<u32>,
}

/// What is known of the ends of a side, read along.
struct Walking<'a> {
    numbers: Cursor<'a>,
    ways: Cursor<'a>,
    packets: Cursor<'a>,
    /// [`Rows::told`].
    told: Cursor<'a>,
}

impl Job {
    fn run(&self, rows: &Rows, wire: &Wire, checkpoints: Checkpoints) -> Piece {
        let Some(known) = rows.tracks.get(self.track) else {
            return Piece::default();
        };
        let mut reading = Reading {
            rows,
            known,
            wire,
            job: self,
            asking: Asking::new(self.rows.clone(), checkpoints),
            sides: Side::ALL.map(|side| {
                let (numbers, ways) = known.side(side).cursors();
                let packets = known.packets[side as usize].cursor();
                Walking {
                    numbers,
                    ways,
                    packets,
                    told: rows.told.cursor(),
                }
            }),
            left: Vec::new(),
        };
        if wire.has_state() {
            reading.left.resize(known.connections.len(), 0);
            for (connection, _) in known.sides.iter().flat_map(Ends::ways) {
                if let Some(left) = reading.left.get_mut(connection as usize) {
                    *left += 1;
                }
            }
        }
        if let Some(reel) = &known.reel {
            reading.read(reel, self.blocks.clone());
        }
        reading.asking.finish()
    }
}

impl Reading<'_> {
    fn read(&mut self, reel: &Reel, blocks: Range<usize>) {
        for index in blocks {
            // What cannot be read is not among the ends either.
            let Ok(block) = reel.block(index) else {
                continue;
            };
            block.records().show_each(&mut |record| self.take(record));
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        let side = match record.event {
            Event::Sent { .. } => Side::Send,
            Event::Received { .. } => Side::Receive,
            Event::Seen { .. } => Side::Seen,
            _ => return,
        };
        for side in [side, Side::Send, Side::Receive] {
            // A proxy's receipt is what a client sent.
            if self.is_next(side, record.number) {
                self.end(side, record);
                return;
            }
        }
    }

    fn is_next(&mut self, side: Side, number: EventNumber) -> bool {
        let numbers = &mut self.sides[side as usize].numbers;
        while !self.asking.is_through(side) {
            let next = EventNumber(numbers.get(self.asking.next(side)));
            if next >= number {
                return next == number;
            }
            self.asking.pass(side);
        }
        false
    }

    fn end(&mut self, side: Side, record: &Record<'_>) {
        let place = self.asking.next(side);
        let walking = &mut self.sides[side as usize];
        let packet = walking.packets.get(place) as usize;
        let id = self.rows.places.id(self.job.track, side, place);
        let tells = walking.told.get(packet) == u64::from(id.0);
        if !tells && !self.wire.has_state() {
            return self.asking.pass(side);
        }
        let (own, of) = self.job.connections;
        let (at, forward) = Ends::way_of(walking.ways.get(place));
        let at = at as usize;
        let Some(connection) = self.known.connections.get(at).filter(|_| at % of == own) else {
            return self.asking.pass(side);
        };
        let Some(payload) = payload(&record.event) else {
            return self.asking.pass(side);
        };
        let of = Of {
            side,
            number: record.number,
            connection: at as u32,
            is_out: side.goes_out(forward),
        };
        self.asking.ask(self.wire, connection, of, payload, tells);
        if let Some(left) = self.left.get_mut(at) {
            *left -= 1;
            if *left == 0 {
                self.asking.end(at);
            }
        }
    }
}

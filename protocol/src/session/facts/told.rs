//! What the wire says of all packets: worked out when somebody first asks for it.
//!
//! Reels are read again for it, several at once. Most packets say the same whatever came before them: the
//! wire is asked about them once, at the end that tells them (`alone.rs`), or was while the reels were scanned
//! (`SessionBuilder::with_facts`). A packet that reads what its connection keeps, or changes it, is asked about
//! after that at each of its ends and in their order (`dependent.rs`). How a reel is cut depends on the reel alone, so that the
//! same reels give the same bytes on any machine.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::EventNumber;
use netreel_table::{Blobs, Column, List, Misfit, Putting, Taking};
use netreel_wire::{MessageFacts, PacketFacts, States, StreamId, Wire};

use super::alone::{Job, by_blocks};
use super::asking::{Answers, Piece};
use super::dependent::{Dependent, take_unlike};
use super::kept::{Budget, Checkpoints, Kept};
use super::numbered::Numbered;
use super::properties::ObjectFact;
use super::reader::Reader;
use super::said::Said;
use super::shape::{Messages, Shapes};
use super::values::Values;
use crate::session::bits::Bits;
use crate::session::index::plain::{put_list, put_plain, take_list, take_plain};
use crate::session::parallel;
use crate::session::read::ends::Side;
use crate::session::weave::places::EndId;
use crate::session::weave::rows::Rows;
use crate::session::{MessageId, PacketId, Session};

/// What the wire says of all packets.
#[derive(Default)]
pub(crate) struct Told {
    /// For each track its pieces, in order.
    tracks: Vec<Vec<Arc<Piece>>>,
    /// For each track pieces that have what those lack, of packets that depend on others: of so many, the nth
    /// connection's is the piece `n % pieces`.
    dependent: Vec<Vec<Arc<Piece>>>,
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
        let mut told = Told::asked(rows, wire, workers, checkpoints, Vec::new());
        Numbered::default().finish(&mut told, rows);
        told
    }

    /// The same where something is known already of what the wire says of some tracks.
    pub fn grown(
        session: &Session,
        wire: &Wire,
        known: Vec<Option<Answers>>,
        numbered: Option<&mut Numbered>,
    ) -> Told {
        let (rows, workers) = (&session.rows, session.workers);
        let mut told = Told::asked(rows, wire, workers, CHECKPOINTS, known);
        let is_known = told.dependent.iter().all(Vec::is_empty);
        match (numbered, session.same().filter(|_| is_known)) {
            (Some(numbered), Some(same)) => numbered.go_on_to(&mut told, rows, same),
            _ => Numbered::default().finish(&mut told, rows),
        }
        told
    }

    /// Asks the wire about the packets of which it is not known yet what it says.
    fn asked(
        rows: &Rows,
        wire: &Wire,
        workers: usize,
        checkpoints: Checkpoints,
        mut known: Vec<Option<Answers>>,
    ) -> Told {
        known.resize_with(rows.tracks.len(), || None);
        // The tracks of which not all is known, each with whether what was sent is.
        let mut open = Vec::new();
        // How many steps the wire's scripts took so far.
        let mut taken = 0u64;
        let mut told = Told {
            dependent: vec![Vec::new(); rows.tracks.len()],
            ..Told::default()
        };
        for (at, (known, track)) in known.into_iter().zip(&rows.tracks).enumerate() {
            let is_of = |piece: &Piece| {
                let ends = Side::ALL.map(|side| track.side(side).len());
                piece.rows.clone().map(|rows| rows.end) == ends
            };
            told.tracks.push(match known {
                Some(Answers::Every(pieces)) => pieces,
                Some(Answers::Sent(piece, steps)) if is_of(&piece) => {
                    open.push((at, true));
                    taken = taken.saturating_add(steps);
                    vec![piece]
                }
                _ => {
                    open.push((at, false));
                    Vec::new()
                }
            });
        }
        let mut depend = Bits::default();
        told.take_unanswered(rows, wire.has_state(), &mut open, &mut depend);
        if wire.has_state() {
            told.take_told_elsewhere(rows, &open, &mut depend);
        }
        let tracks = || {
            open.iter()
                .filter_map(|&(at, is_sent)| Some((at, is_sent, rows.tracks.get(at)?)))
        };
        let unread = tracks().filter(|(_, is_sent, _)| !is_sent);
        let jobs: Vec<Job> = unread
            .flat_map(|(at, _, track)| by_blocks(at, track))
            .collect();
        let packets = rows.len().saturating_mul(CHECKPOINT_BYTES);
        let bytes_max = checkpoints.bytes_max.min(packets.max(CHECKPOINTS_MIN));
        let part = |jobs: usize, taken: u64| Checkpoints {
            bytes_max: bytes_max / jobs.max(1),
            budget: checkpoints.budget.without(taken).part(jobs),
            ..checkpoints
        };
        let each = part(jobs.len(), taken);
        let pieces = parallel::map(jobs, workers, |job| (job.track, job.run(rows, wire, each)));
        for (track, (piece, left, steps)) in pieces {
            taken = taken.saturating_add(steps);
            for packet in left {
                depend.insert(packet);
            }
            told.tracks[track].push(Arc::new(piece));
        }
        if depend.is_empty() {
            return told;
        }
        let jobs: Vec<Dependent> = tracks()
            .flat_map(|(at, _, track)| Dependent::of(at, track, &depend))
            .collect();
        let each = part(jobs.len(), taken);
        let pieces = parallel::map(jobs, workers, |job| {
            (job.track, job.run((rows, &told), wire, &depend, each))
        });
        for (track, piece) in pieces {
            told.dependent[track].push(Arc::new(piece));
        }
        told
    }

    /// Takes the packets of open tracks that others of their ends have to be asked about as well: those that
    /// a track tells of which all is known, and those that their ends see otherwise.
    fn take_told_elsewhere(&self, rows: &Rows, open: &[(usize, bool)], depend: &mut Bits) {
        if open.is_empty() {
            return;
        }
        let mut is_open = vec![false; rows.tracks.len()];
        open.iter().for_each(|&(at, _)| is_open[at] = true);
        if is_open.contains(&false) {
            let ends = (0u32..).zip(rows.told.iter());
            for (packet, end) in ends {
                let (track, ..) = rows.places.find(EndId(end as u32));
                if !is_open[track] {
                    depend.insert(packet);
                }
            }
        }
        for &(at, _) in open {
            if let Some(track) = rows.tracks.get(at) {
                take_unlike(rows, (at, track), depend);
            }
        }
    }

    /// Whether it is known what the wire says of the packet of an end.
    pub(super) fn is_answered(&self, end: (usize, Side, usize)) -> bool {
        let facts = self.piece(end).map(|(_, piece)| {
            let row = end.2.saturating_sub(piece.rows[end.1 as usize].start);
            piece.facts[end.1 as usize].get(row)
        });
        facts.is_some_and(|facts| !facts.is_empty())
    }

    /// Of tracks whose sends are answered, takes the packets that are told by other ends, or depend on others,
    /// into `depend`. Where many are and none can depend on others, the track is read as a whole instead.
    fn take_unanswered(
        &mut self,
        rows: &Rows,
        has_state: bool,
        open: &mut [(usize, bool)],
        depend: &mut Bits,
    ) {
        if open.iter().all(|(_, is_sent)| !is_sent) {
            return;
        }
        let mut lacking: Vec<(usize, Vec<u32>)> = vec![Default::default(); rows.tracks.len()];
        let mut reader = Reader::new(rows, self);
        for packet in 0..rows.len() as u32 {
            let (track, is_answered) = reader.answer(PacketId(packet));
            if let Some((all, without)) = lacking.get_mut(track) {
                *all += 1;
                without.extend((!is_answered).then_some(packet));
            }
        }
        for (at, is_sent) in open.iter_mut().filter(|(_, is_sent)| *is_sent) {
            let (all, without) = std::mem::take(&mut lacking[*at]);
            *is_sent = has_state || without.len() * 4 <= all;
            match is_sent {
                true => without.into_iter().for_each(|packet| {
                    depend.insert(packet);
                }),
                false => self.tracks[*at].clear(),
            }
        }
    }

    /// Of each track its pieces.
    pub(super) fn tracks(&self) -> impl ExactSizeIterator<Item = Pieces<'_>> + '_ {
        let tracks = self.tracks.iter().zip(&self.dependent);
        tracks.map(|(pieces, dependent)| pieces.iter().chain(dependent))
    }

    /// For each packet the number of its first message.
    pub(super) fn firsts(&self) -> &Column {
        &self.first
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

    /// The facts of an end, and the shapes that read them.
    pub(super) fn facts(&self, rows: &Rows, end: (usize, Side, usize)) -> Option<(&Shapes, &[u8])> {
        let (piece, bytes, _) = self.find(rows, end)?;
        Some((&piece.shapes, bytes))
    }

    /// The piece that an end is of, by its place among its track's.
    pub(super) fn piece(
        &self,
        (track, side, place): (usize, Side, usize),
    ) -> Option<(usize, &Piece)> {
        let pieces = self.tracks.get(track)?;
        let starts = |piece: &Arc<Piece>| piece.rows[side as usize].start <= place;
        let at = pieces.partition_point(starts).checked_sub(1)?;
        Some((at, pieces.get(at)?))
    }

    /// The piece that has the facts of an end, those, and where they are: the piece by its place among its
    /// track's, and the row there.
    fn find(
        &self,
        rows: &Rows,
        end: (usize, Side, usize),
    ) -> Option<(&Piece, &[u8], (usize, usize))> {
        let (track, side, place) = end;
        let at_row = |at: usize, piece: &'_ Piece| {
            let row = place.checked_sub(piece.rows[side as usize].start)?;
            Some((at, row))
        };
        let (at, piece) = self.piece(end)?;
        let found = at_row(at, piece)?;
        let bytes = piece.facts[side as usize].get(found.1);
        let dependent = self.dependent.get(track).map_or(&[][..], Vec::as_slice);
        if !bytes.is_empty() || dependent.is_empty() {
            return Some((piece, bytes, found));
        }
        let connection = rows.tracks.get(track)?.side(side).connection(place);
        let nth = connection as usize % dependent.len();
        let piece = &**dependent.get(nth)?;
        let found = at_row(self.tracks.get(track)?.len() + nth, piece)?;
        Some((piece, piece.facts[side as usize].get(found.1), found))
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
        let numbers = |pieces: Pieces<'_>| {
            let counts = pieces.map(|it| it.properties.values().len());
            counts.map(|count| vec![None; count]).collect()
        };
        let mut numbers: Vec<Vec<Vec<Option<u32>>>> = self.tracks().map(numbers).collect();
        for (packet, first) in (0u32..).map(PacketId).zip(self.first.iter()) {
            let end = rows.told(packet);
            let found = end.and_then(|end| Some((end, self.find(rows, end)?)));
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
        end: (usize, Side, usize),
        said: &mut Said,
    ) -> Option<Messages<'_>> {
        let first = self.first.get(packet.0 as usize) as u32;
        let (shapes, bytes) = self.facts(rows, end)?;
        Some(shapes.read(bytes, first, said))
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
        self.pieces().map(|piece| piece.unread).sum()
    }

    /// How often what a connection keeps was forgotten, because all took too much memory together.
    pub fn forgotten(&self) -> usize {
        // What is kept goes on from one piece to the next.
        let last = self.tracks.iter().filter_map(|pieces| pieces.last());
        let pieces = last.chain(self.dependent.iter().flatten());
        let kept = pieces.flat_map(|piece| piece.kept.values());
        kept.map(Kept::times_forgotten).sum()
    }

    fn pieces(&self) -> impl Iterator<Item = &Arc<Piece>> + '_ {
        self.tracks.iter().chain(&self.dependent).flatten()
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
            let (piece, ..) = self.find(rows, end)?;
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

    /// Puts it into an index.
    pub fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let Told {
            tracks,
            dependent,
            first,
            messages,
            unfit,
            fragments,
        } = self;
        let unfit: Vec<u32> = unfit.iter().copied().collect();
        put_plain(&(messages, unfit), to)?;
        to.column(first)?;
        to.column(fragments)?;
        [tracks, dependent].into_iter().try_for_each(|all| {
            put_list(all, to, |pieces, to| {
                put_list(pieces, to, |piece, to| piece.put(to))
            })
        })
    }

    /// Takes what was put.
    pub fn take(from: &mut Taking) -> Result<Told, Misfit> {
        let (messages, unfit): (u32, Vec<u32>) = take_plain(from)?;
        let pieces = |from: &mut Taking| {
            take_list(from, |from| {
                take_list(from, |from| Piece::from_index(from).map(Arc::new))
            })
        };
        Ok(Told {
            messages,
            unfit: unfit.into_iter().collect(),
            first: from.column()?,
            fragments: from.column()?,
            tracks: pieces(from)?,
            dependent: pieces(from)?,
        })
    }

    /// How many bytes of memory it takes, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let pieces = || self.pieces();
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

/// The pieces of a track.
type Pieces<'a> =
    std::iter::Chain<std::slice::Iter<'a, Arc<Piece>>, std::slice::Iter<'a, Arc<Piece>>>;

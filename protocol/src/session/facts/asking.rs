//! What the wire says of a reel's packets, asked one after the other. It goes on wherever it was left.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{EventNumber, Record};
use netreel_table::Blobs;
use netreel_wire::{ConnectionState, Context, Decoded, PacketFacts, States, StreamId, Wire};

use super::kept::{Checkpoints, Kept, thin};
use super::properties::Properties;
use super::shape::Shapes;
use crate::session::index::plain::indexed;
use crate::session::read::connections::{Connection, payload};
use crate::session::read::ends::{RawEnd, Side};
use crate::session::read::scan::Scan;

/// What the wire says of some of a reel's packets.
#[derive(Clone, Default)]
pub(crate) struct Piece {
    /// Of each side, the ends that it may have facts of.
    pub rows: [Range<usize>; 3],
    pub facts: [Blobs; 3],
    pub shapes: Shapes,
    pub properties: Properties,
    /// The fragments: the side, the end's place, and the place in the packet.
    pub fragments: Vec<(Side, u32, u32)>,
    /// What of them stands in streams inside packets, which reading the reel again does not give.
    pub carried: BTreeMap<(Side, u32, u32), Vec<u8>>,
    /// Of a wire with state, what is kept of the piece's connections, by their places.
    pub kept: BTreeMap<u32, Kept>,
    /// How many packets were not read, because the wire's scripts had taken too many steps.
    pub unread: u64,
}

/// What was answered before packets were put in order.
pub(crate) enum Answers {
    /// Of every end.
    Every(Vec<Arc<Piece>>),
    /// Of what was sent, as far as that says the same whatever came before; and how many steps the wire's
    /// scripts took.
    Sent(Arc<Piece>, u64),
}

indexed!(Piece: (rows, shapes, fragments, carried, unread) facts, properties, kept);

/// A packet that the wire is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub side: Side,
    pub number: EventNumber,
    /// A place among its reel's.
    pub connection: u32,
    pub context: Context,
    pub payload: &'a [u8],
}

impl<'a> Of<'a> {
    /// By the connection of the packet, and whether it went that one's way; `None` where that is none of
    /// these.
    pub fn new(
        side: Side,
        number: EventNumber,
        (connection, forward): (u32, bool),
        all: &[Connection],
        payload: &'a [u8],
    ) -> Option<Of<'a>> {
        let its = all.get(connection as usize)?;
        Some(Of {
            side,
            number,
            connection,
            context: its.context(side.goes_out(forward)),
            payload,
        })
    }

    /// The same of an end of a scan.
    pub fn end(side: Side, raw: &RawEnd, scan: &Scan, payload: &'a [u8]) -> Option<Of<'a>> {
        let way = (raw.connection, raw.forward);
        Of::new(side, raw.number, way, &scan.connections, payload)
    }
}

/// A piece under way.
#[derive(Clone)]
pub(crate) struct Asking {
    piece: Piece,
    states: States,
    /// How many steps the wire's scripts took.
    steps: u64,
    checkpoints: Checkpoints,
    bytes: usize,
    facts: PacketFacts,
    /// How many packets were asked about alone, and how many of them depend on others.
    alone: (usize, usize),
}

impl Asking {
    /// Begins with these ends.
    pub fn new(rows: [Range<usize>; 3], checkpoints: Checkpoints) -> Asking {
        let piece = Piece {
            rows,
            ..Piece::default()
        };
        Asking {
            piece,
            states: States::new(checkpoints.budget.states),
            steps: 0,
            checkpoints,
            bytes: 0,
            facts: PacketFacts::default(),
            alone: (0, 0),
        }
    }

    /// How many steps the wire's scripts took so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How many steps may be taken in all, and no more with each packet.
    pub fn allow(&mut self, steps: u64) {
        self.checkpoints.budget.steps = steps;
        self.checkpoints.budget.packet_steps = 0;
    }

    /// The place of the next end of a side.
    pub fn next(&self, side: Side) -> usize {
        let side = side as usize;
        self.piece.rows[side].start + self.piece.facts[side].len()
    }

    /// Whether there are no more ends of a side.
    pub fn is_through(&self, side: Side) -> bool {
        self.next(side) >= self.piece.rows[side as usize].end
    }

    /// Leaves the next end of a side without facts.
    pub fn pass(&mut self, side: Side) {
        self.piece.facts[side as usize].push(&[]);
    }

    /// No packet of a connection is left.
    pub fn end(&mut self, connection: usize) {
        self.states.end(connection);
    }

    /// What the connection of an end has kept of the packets before it.
    pub fn before(&mut self, wire: &Wire, raw: &RawEnd) -> ConnectionState {
        if wire.has_state() {
            self.states.of(wire, raw.connection as usize).clone()
        } else {
            wire.new_state()
        }
    }

    /// What the wire says of a packet, which is not written down.
    pub fn say(&mut self, wire: &Wire, of: Of<'_>) -> &PacketFacts {
        self.read(wire, of, false);
        &self.facts
    }

    /// The same, with all fields of the packet, where they are asked for and it is read.
    fn read(&mut self, wire: &Wire, of: Of<'_>, with_fields: bool) -> Option<Decoded> {
        if !self.allows_another() {
            self.piece.unread += 1;
            wire.unread_facts(of.payload, &mut self.facts);
            return None;
        }
        let at = of.connection as usize;
        let state = self.states.of(wire, at);
        let decoded = with_fields.then(|| wire.decode_in(&of.context, state, of.payload));
        let decoded = decoded.map(|mut decoded| {
            self.facts = std::mem::take(&mut decoded.facts);
            decoded
        });
        if decoded.is_none() {
            wire.facts_in(&of.context, state, of.payload, &mut self.facts);
        }
        self.steps = self.steps.saturating_add(self.facts.charged());
        if wire.has_state() {
            for forgotten in self.states.changed(at) {
                let kept = self.piece.kept.entry(forgotten as u32).or_default();
                kept.forget();
            }
        }
        decoded
    }

    /// Whether the wire's scripts may take steps for one more packet.
    fn allows_another(&mut self) -> bool {
        let budget = &mut self.checkpoints.budget;
        budget.steps = budget.steps.saturating_add(budget.packet_steps);
        self.steps < budget.steps
    }

    /// Asks about the next end of a side; `tells`: what is said of it is written down.
    pub fn ask(&mut self, wire: &Wire, of: Of<'_>, tells: bool) {
        if wire.has_state() {
            let kept = self.piece.kept.entry(of.connection).or_default();
            let state = self.states.of(wire, of.connection as usize);
            self.bytes += kept.take(of.number, state, self.checkpoints.packets);
        } else if !tells {
            return self.pass(of.side);
        }
        // What is told of properties is noted with the facts, so that a packet is read once.
        let with_fields = tells && !wire.properties().is_empty();
        let decoded = self.read(wire, of, with_fields);
        if self.bytes > self.checkpoints.bytes_max {
            self.checkpoints.packets = self.checkpoints.packets.saturating_mul(2);
            self.bytes = thin(&mut self.piece.kept, self.checkpoints.packets);
        }
        match tells {
            true => self.write_down(wire, of, decoded),
            false => self.pass(of.side),
        }
    }

    /// Asks about the next end of a side, where no packet before it matters. `false`: some does, or may;
    /// the end is left without facts.
    pub fn ask_alone(&mut self, wire: &Wire, of: Of<'_>) -> bool {
        let (tried, depend) = self.alone;
        let is_hopeless = tried >= TRIED && depend * 2 > tried;
        let is_alone = !is_hopeless && self.try_alone(wire, of);
        self.alone = (tried + 1, depend + usize::from(!is_alone));
        if !is_alone {
            self.pass(of.side);
        }
        is_alone
    }

    /// Asks about an end as if no packet had come before it. Whether that does not matter: then what is said
    /// is written down.
    fn try_alone(&mut self, wire: &Wire, of: Of<'_>) -> bool {
        let mut decoded = None;
        let is_allowed = self.allows_another();
        let is_alone = match is_allowed {
            true if wire.properties().is_empty() => {
                wire.facts_alone(&of.context, of.payload, &mut self.facts)
            }
            true => {
                let (mut all, is_alone) = wire.decode_alone(&of.context, of.payload);
                self.facts = std::mem::take(&mut all.facts);
                decoded = Some(all);
                is_alone
            }
            false if wire.has_state() => false,
            false => {
                self.piece.unread += 1;
                wire.unread_facts(of.payload, &mut self.facts);
                true
            }
        };
        if is_allowed {
            self.steps = self.steps.saturating_add(self.facts.charged());
        }
        if is_alone {
            self.write_down(wire, of, decoded);
        }
        is_alone
    }

    /// Writes down what is said of the next end of a side.
    fn write_down(&mut self, wire: &Wire, of: Of<'_>, decoded: Option<Decoded>) {
        let side = of.side;
        let place = self.next(side) as u32;
        let facts = &self.facts;
        for (nth, message) in facts.messages.iter().enumerate() {
            if let Some(data) = &message.fragment_data {
                let fragment = (side, place, nth as u32);
                self.piece.fragments.push(fragment);
                if data.stream != StreamId(0) {
                    let bytes = wire.bytes_at(facts, of.payload, data);
                    self.piece.carried.insert(fragment, bytes);
                }
            }
        }
        if let Some(decoded) = decoded {
            let row = self.piece.facts[side as usize].len();
            let properties = &mut self.piece.properties;
            properties.take((side, row, of.number), facts, &decoded);
        }
        let shapes = &mut self.piece.shapes;
        self.piece.facts[side as usize].push_with(|to| shapes.write(facts, to));
    }

    /// What was asked.
    pub fn finish(mut self) -> Piece {
        for side in Side::ALL {
            while !self.is_through(side) {
                self.pass(side);
            }
        }
        self.piece.facts.iter_mut().for_each(Blobs::shrink);
        self.piece.properties.shrink();
        self.piece.fragments.shrink_to_fit();
        for kept in self.piece.kept.values_mut() {
            kept.events.shrink();
        }
        self.piece
    }
}

/// Where more than half of so many packets depend on others, no more are asked about alone.
const TRIED: usize = 256;

/// How many ends of a reel that grows are a piece.
const ENDS: usize = 1 << 16;

/// What the wire says of the ends of a reel, while that is read: of every end where the reel grows, each of
/// which is asked about once, or of what was sent. Which ends tell their packets shows when the other reels
/// have come as far.
#[derive(Clone)]
pub(crate) struct Telling {
    pub wire: Arc<Wire>,
    done: Vec<Arc<Piece>>,
    asking: Asking,
    /// How many connections were spoken of.
    pub connections: usize,
}

impl Telling {
    pub fn new(wire: Arc<Wire>, checkpoints: Checkpoints) -> Telling {
        Telling {
            wire,
            done: Vec::new(),
            asking: Asking::new(Default::default(), checkpoints),
            connections: 0,
        }
    }

    /// Takes the next event, of which the scan has been told.
    pub fn take(&mut self, scan: &Scan, record: &Record<'_>) {
        let Some(side) = Side::of(&record.event) else {
            return;
        };
        let raw = scan.side(side).get(self.asking.next(side));
        let (Some(raw), Some(payload)) = (raw, payload(&record.event)) else {
            return;
        };
        let Some(of) = Of::end(side, &raw, scan, payload) else {
            return self.asking.pass(side);
        };
        self.connections = self.connections.max(raw.connection as usize + 1);
        self.asking.ask(&self.wire, of, true);
        let facts = &self.asking.piece.facts;
        if facts.iter().map(Blobs::len).sum::<usize>() >= ENDS {
            self.seal();
        }
    }

    /// Takes the next end of a side, as far as what was sent there says the same whatever came before.
    pub fn take_sent(&mut self, scan: &Scan, (side, raw): (Side, &RawEnd), record: &Record<'_>) {
        let of = payload(&record.event).and_then(|payload| Of::end(side, raw, scan, payload));
        // What a socket sends before it is bound is asked about when its port is known.
        match of.filter(|of| side == Side::Send && of.context.source_port != 0) {
            Some(of) => {
                self.asking.ask_alone(&self.wire, of);
            }
            None => self.asking.pass(side),
        }
    }

    /// What was said of what was sent.
    pub fn sent(self) -> Answers {
        let steps = self.asking.steps();
        Answers::Sent(Arc::new(self.asking.whole()), steps)
    }

    /// Begins another piece. What is kept of connections goes on in it.
    fn seal(&mut self) {
        let starts = Side::ALL.map(|side| self.asking.next(side));
        let mut next = Asking::new(starts.map(|at| at..at), self.asking.checkpoints);
        std::mem::swap(&mut next, &mut self.asking);
        std::mem::swap(&mut self.asking.states, &mut next.states);
        self.asking.steps = next.steps;
        self.asking.piece.kept = std::mem::take(&mut next.piece.kept);
        self.asking.bytes = next.bytes;
        self.done.push(Arc::new(next.whole()));
    }

    /// What was said so far.
    pub fn pieces(mut self) -> Vec<Arc<Piece>> {
        self.done.push(Arc::new(self.asking.whole()));
        self.done
    }
}

impl Asking {
    /// All that was asked, as a piece that ends there.
    pub fn whole(mut self) -> Piece {
        for side in Side::ALL {
            self.piece.rows[side as usize].end = self.next(side);
        }
        self.finish()
    }
}

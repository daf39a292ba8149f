//! Packets that are asked about as if none came before: for most that is all.

use std::ops::Range;

use netreel_reel::{EventNumber, Record};
use netreel_table::Cursor;
use netreel_wire::Wire;

use super::asking::{Asking, Of, Piece};
use super::kept::Checkpoints;
use crate::session::parallel;
use crate::session::read::connections::payload;
use crate::session::read::ends::{Ends, Side};
use crate::session::weave::rows::{Rows, Track};

/// A reel is taken in pieces of this many blocks.
const BLOCKS: usize = 1024;

/// Some blocks of a track, whose packets are asked about as if none came before.
pub(super) struct Job {
    pub track: usize,
    rows: [Range<usize>; 3],
    blocks: Range<usize>,
}

/// Those of a whole track.
pub(super) fn by_blocks(track: usize, known: &Track) -> Vec<Job> {
    let Some(reel) = &known.reel else {
        return Vec::new();
    };
    let infos = reel.block_infos();
    let place = |side: Side, block: usize| match infos.get(block) {
        Some(info) if block > 0 => known.side(side).lower_bound(info.first),
        Some(_) => 0,
        None => known.side(side).len(),
    };
    let jobs = parallel::stretches(infos.len(), BLOCKS).map(|blocks| Job {
        track,
        rows: Side::ALL.map(|side| place(side, blocks.start)..place(side, blocks.end)),
        blocks,
    });
    jobs.collect()
}

/// A piece under way.
struct Reading<'a> {
    rows: &'a Rows,
    track: (usize, &'a Track),
    wire: &'a Wire,
    asking: Asking,
    /// What is asked for each end of a side, one after the other.
    sides: [Walking<'a>; 3],
    /// The packets that depend on others.
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
    /// What the wire says, the packets that depend on others, and how many steps the wire's scripts took.
    pub fn run(
        &self,
        rows: &Rows,
        wire: &Wire,
        checkpoints: Checkpoints,
    ) -> (Piece, Vec<u32>, u64) {
        let Some(known) = rows.tracks.get(self.track) else {
            return Default::default();
        };
        let mut reading = Reading {
            rows,
            track: (self.track, known),
            wire,
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
        // What cannot be read is not among the ends either.
        let blocks = known.reel.iter().flat_map(|reel| {
            let blocks = self.blocks.clone();
            blocks.filter_map(|index| reel.block(index).ok())
        });
        for block in blocks {
            block
                .records()
                .show_each(&mut |record| reading.take(record));
        }
        let steps = reading.asking.steps();
        (reading.asking.finish(), reading.left, steps)
    }
}

impl Reading<'_> {
    fn take(&mut self, record: &Record<'_>) {
        let Some(side) = Side::of(&record.event) else {
            return;
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
        let (track, known) = self.track;
        let place = self.asking.next(side);
        let walking = &mut self.sides[side as usize];
        let packet = walking.packets.get(place) as u32;
        let id = self.rows.places.id(track, side, place);
        if walking.told.get(packet as usize) != u64::from(id.0) {
            return self.asking.pass(side);
        }
        let way = Ends::way_of(walking.ways.get(place));
        let of = payload(&record.event)
            .and_then(|payload| Of::new(side, record.number, way, &known.connections, payload));
        let Some(of) = of else {
            return self.asking.pass(side);
        };
        if !self.asking.ask_alone(self.wire, of) {
            self.left.push(packet);
            self.left.extend(self.rows.others(id));
        }
    }
}

//! Packets decoded to the last field, one after the other: for who asks what facts do not say of many
//! packets. The reels are read again, several at once; nothing of it is kept.

use std::ops::Range;

use netreel_reel::{EventNumber, Record};
use netreel_wire::{Decoded, PacketFacts, States, Wire};

use super::told::CHECKPOINTS;
use crate::session::read::connections::payload;
use crate::session::read::ends::Side;
use crate::session::weave::rows::{Rows, Track};
use crate::session::{PacketId, Session, parallel};

/// A reel of a wire without state is taken in pieces of this many blocks.
const BLOCKS: usize = 1024;

impl Session {
    /// Decodes each packet that is wanted, and hands it to `take` with what was gathered before. The
    /// results are those of pieces of reels, in the same order on any machine.
    pub(crate) fn decode_all<T: Default + Send>(
        &self,
        wanted: impl Fn(PacketId) -> bool + Sync,
        take: impl Fn(PacketId, &Decoded, &mut T) + Sync,
    ) -> Vec<T> {
        let Some(wire) = &self.wire else {
            return Vec::new();
        };
        // What the wire says of packets is worked out before, not by several at once.
        self.told();
        let mut jobs: Vec<(usize, Range<usize>)> = Vec::new();
        for (track, known) in self.rows.tracks.iter().enumerate() {
            let blocks = known.reel.as_ref().map_or(0, |reel| reel.blocks());
            let step = if wire.has_state() {
                blocks.max(1)
            } else {
                BLOCKS
            };
            jobs.extend(parallel::stretches(blocks, step).map(|own| (track, own)));
        }
        let budget = CHECKPOINTS.budget.part(jobs.len());
        parallel::map(jobs, self.workers(), |(track, blocks)| {
            let mut gathered = T::default();
            let Some(known) = self.rows.tracks.get(track) else {
                return gathered;
            };
            let mut reading = Reading {
                rows: &self.rows,
                wire,
                track: (track, known),
                states: States::new(budget.states),
                steps_left: budget.steps,
                packet_steps: budget.packet_steps,
                facts: PacketFacts::default(),
                next: [0; 3],
            };
            let Some(reel) = &known.reel else {
                return gathered;
            };
            for block in blocks.filter_map(|block| reel.block(block).ok()) {
                for record in block.records() {
                    reading.take(&record, &wanted, |packet, decoded| {
                        take(packet, decoded, &mut gathered);
                    });
                }
            }
            gathered
        })
    }
}

struct Reading<'a> {
    rows: &'a Rows,
    wire: &'a Wire,
    track: (usize, &'a Track),
    states: States,
    /// Of the wire's scripts.
    steps_left: u64,
    /// How many more with each packet.
    packet_steps: u64,
    facts: PacketFacts,
    /// Of each side the place that most likely comes next.
    next: [usize; 3],
}

impl Reading<'_> {
    /// The end of a side that an event is.
    fn place(&self, side: Side, number: EventNumber) -> Option<usize> {
        let ends = self.track.1.side(side);
        let next = self.next[side as usize];
        if next < ends.len() && ends.number(next) == number {
            Some(next)
        } else {
            ends.find(number)
        }
    }

    fn take(
        &mut self,
        record: &Record<'_>,
        wanted: impl Fn(PacketId) -> bool,
        mut take: impl FnMut(PacketId, &Decoded),
    ) {
        let Some(side) = Side::of(&record.event) else {
            return;
        };
        let (track, known) = self.track;
        // A proxy's receipt is what a client sent.
        let sides = [side, Side::Send, Side::Receive].into_iter();
        let mut found = sides.filter_map(|side| Some((side, self.place(side, record.number)?)));
        let Some((side, place)) = found.next() else {
            return;
        };
        self.next[side as usize] = place + 1;
        let (Some(raw), Some(payload)) = (known.side(side).get(place), payload(&record.event))
        else {
            return;
        };
        let at = raw.connection as usize;
        let Some(connection) = known.connections.get(at) else {
            return;
        };
        let mut packets: Vec<PacketId> = Vec::new();
        if self.rows.is_told_by(track, side, place) {
            let own = known.packets[side as usize].get(place) as u32;
            let end = self.rows.places.id(track, side, place);
            let others = self.rows.others(end).iter().copied();
            let all = [own].into_iter().chain(others).map(PacketId);
            packets.extend(all.filter(|&packet| wanted(packet)));
        }
        let has_state = self.wire.has_state();
        self.steps_left = self.steps_left.saturating_add(self.packet_steps);
        if self.steps_left == 0 || packets.is_empty() && !has_state {
            return;
        }
        let context = connection.context(side.is_out(&raw));
        let state = self.states.of(self.wire, if has_state { at } else { 0 });
        let steps = if packets.is_empty() {
            self.wire
                .facts_in(&context, state, payload, &mut self.facts);
            self.facts.steps
        } else {
            let decoded = self.wire.decode_in(&context, state, payload);
            packets.into_iter().for_each(|it| take(it, &decoded));
            decoded.facts.steps
        };
        self.steps_left = self.steps_left.saturating_sub(steps);
        if has_state {
            self.states.changed(at);
        }
    }
}

//! The messages of packets, numbered in their order. It goes on where it was left.

use std::sync::Arc;

use netreel_table::{Column, List};

use super::told::Told;
use crate::session::PacketId;
use crate::session::ask::firm::Same;
use crate::session::weave::rows::Rows;

/// The messages of the first packets, numbered; it goes on with those of more.
#[derive(Clone, Default)]
pub(crate) struct Numbered {
    /// What says that the packets are the same ones.
    of: Option<Arc<()>>,
    /// For each of these packets the number of its first message.
    first: Column,
    /// How many messages these packets have.
    messages: u32,
    /// Those of them that do not fit the wire.
    unfit: List<u32>,
    /// Those of the messages that are fragments.
    fragments: Column,
    /// Of each track how many fragments are known, of its pieces one after the other, whose packets
    /// are among these.
    fragments_of: Vec<usize>,
}

impl Numbered {
    /// Goes on with so many of the packets, which are the same ones as long as `same` is; keeps that, and
    /// numbers the messages of all.
    pub fn go_on_to(&mut self, told: &mut Told, rows: &Rows, same: &Same) {
        let is_same = |of: &Arc<()>| Arc::ptr_eq(of, &same.since);
        if !self.of.as_ref().is_some_and(is_same) {
            *self = Numbered::default();
        }
        self.of = Some(same.since.clone());
        self.go_on(told, rows, same.packets);
        self.clone().finish(told, rows);
    }

    /// Goes on with the packets before this one.
    fn go_on(&mut self, told: &Told, rows: &Rows, until: u32) {
        let from = self.first.len();
        let mut reader = told.reader(rows);
        for packet in from as u32..until {
            self.first.push(u64::from(self.messages));
            let Some((count, is_unfit)) = reader.head(PacketId(packet)) else {
                continue;
            };
            self.messages = self.messages.saturating_add(count);
            if is_unfit {
                self.unfit.push(packet);
            }
        }
        self.fragments_of.resize(told.tracks().len(), 0);
        let mut fragments = Vec::new();
        let tracks = told.tracks().zip(&rows.tracks).enumerate();
        for ((track, (pieces, known)), of) in tracks.zip(&mut self.fragments_of) {
            let mut skipped = 0;
            let mut is_through = true;
            for piece in pieces {
                let count = piece.fragments.len();
                let start = of.saturating_sub(skipped).min(count);
                skipped += count;
                for &(side, place, nth) in piece.fragments.get(start..).unwrap_or(&[]) {
                    let end = rows.places.id(track, side, place as usize);
                    let own = known.packets[side as usize].get(place as usize) as u32;
                    // What comes behind it in the reel is looked at once more.
                    is_through &= own < until;
                    *of += usize::from(is_through);
                    if !rows.is_told_by(track, side, place as usize) {
                        continue;
                    }
                    let others = rows.shared.get(&end).into_iter().flatten().copied();
                    let packets = [own].into_iter().chain(others);
                    for packet in packets.filter(|&packet| packet < until) {
                        let first = self.first.get(packet as usize) as u32;
                        fragments.push(first.saturating_add(nth));
                    }
                }
            }
        }
        fragments.sort_unstable();
        let known = self.fragments.len();
        let last = known.checked_sub(1).map(|last| self.fragments.get(last));
        let fragments = fragments.into_iter().map(u64::from);
        self.fragments
            .extend(fragments.filter(|&it| last.is_none_or(|last| it > last)));
    }

    /// Goes on with all that there are.
    pub fn finish(mut self, told: &mut Told, rows: &Rows) {
        self.go_on(told, rows, rows.len() as u32);
        let columns = [&mut self.first, &mut self.fragments];
        columns.into_iter().for_each(Column::shrink);
        told.take_numbers((self.first, self.messages), self.unfit, self.fragments);
    }
}

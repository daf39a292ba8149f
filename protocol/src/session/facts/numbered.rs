//! The messages of packets, numbered in their order. It goes on where it was left.

use std::io;
use std::sync::Arc;

use netreel_table::{Column, List, Misfit, Putting, Taking};

use super::told::Told;
use crate::session::PacketId;
use crate::session::ask::firm::Same;
use crate::session::index::plain::{Indexed, put_plain, take_plain};
use crate::session::weave::rows::Rows;

/// The numbers of the messages of packets.
#[derive(Clone, Default)]
pub(crate) struct Numbers {
    /// For each packet the number of its first message.
    pub first: Column,
    /// How many messages the packets have.
    pub messages: u32,
    /// The packets that do not fit the wire, in order.
    pub unfit: List<u32>,
    /// The messages that are fragments, in order.
    pub fragments: Column,
}

impl Indexed for Numbers {
    fn put(&self, to: &mut Putting<'_>) -> io::Result<()> {
        let Numbers {
            first,
            messages,
            unfit,
            fragments,
        } = self;
        let unfit: Vec<u32> = unfit.iter().copied().collect();
        put_plain(&(messages, unfit), to)?;
        first.put(to)?;
        fragments.put(to)
    }

    fn take(from: &mut Taking) -> Result<Numbers, Misfit> {
        let (messages, unfit): (u32, Vec<u32>) = take_plain(from)?;
        Ok(Numbers {
            messages,
            unfit: unfit.into_iter().collect(),
            first: from.column()?,
            fragments: from.column()?,
        })
    }
}

/// The messages of the first packets, numbered; it goes on with those of more.
#[derive(Clone, Default)]
pub(crate) struct Numbered {
    /// What says that the packets are the same ones.
    of: Option<Arc<()>>,
    numbers: Numbers,
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
        let numbers = &mut self.numbers;
        let mut reader = told.reader(rows);
        for packet in numbers.first.len() as u32..until {
            numbers.first.push(u64::from(numbers.messages));
            let Some((count, is_unfit)) = reader.head(PacketId(packet)) else {
                continue;
            };
            numbers.messages = numbers.messages.saturating_add(count);
            if is_unfit {
                numbers.unfit.push(packet);
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
                    let others = rows.others(end).iter().copied();
                    let packets = [own].into_iter().chain(others);
                    for packet in packets.filter(|&packet| packet < until) {
                        let first = numbers.first.get(packet as usize) as u32;
                        fragments.push(first.saturating_add(nth));
                    }
                }
            }
        }
        fragments.sort_unstable();
        let known = numbers.fragments.len().checked_sub(1);
        let last = known.map(|last| numbers.fragments.get(last));
        let fragments = fragments.into_iter().map(u64::from);
        let new = fragments.filter(|&it| last.is_none_or(|last| it > last));
        numbers.fragments.extend(new);
    }

    /// Goes on with all that there are.
    pub fn finish(mut self, told: &mut Told, rows: &Rows) {
        self.go_on(told, rows, rows.len() as u32);
        told.numbers = self.numbers;
        told.numbers.first.shrink();
        told.numbers.fragments.shrink();
    }
}

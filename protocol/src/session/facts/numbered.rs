//! The messages of packets, numbered in their order.

use std::io;

use netreel_table::{Column, List, Misfit, Putting, Taking};

use super::told::Told;
use crate::session::PacketId;
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

impl Told {
    /// Numbers the messages of all packets, in their order.
    pub(super) fn number(&mut self, rows: &Rows) {
        let mut numbers = Numbers::default();
        let mut reader = self.reader(rows);
        for packet in 0..rows.len() as u32 {
            numbers.first.push(u64::from(numbers.messages));
            let Some((count, is_unfit)) = reader.head(PacketId(packet)) else {
                continue;
            };
            numbers.messages = numbers.messages.saturating_add(count);
            if is_unfit {
                numbers.unfit.push(packet);
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
}

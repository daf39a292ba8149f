//! Which ends are of one packet.

use std::collections::BTreeSet;

use super::odd::Odd;
use super::places::{EndId, Places};
use crate::session::read::ends::Side;

/// Which ends are of one packet.
#[derive(Default)]
pub(crate) struct Woven {
    /// For each end the first receipt of its packet, or [`Woven::ALONE`] where its packet has no
    /// other end, or [`Woven::TAKEN`] where the packet is told by another end. While ends are put
    /// together a receipt has its send here.
    pub partners: Vec<u32>,
    pub odd: Vec<Odd>,
    /// The pairs of reels that have a packet in common.
    pub met: BTreeSet<(usize, usize)>,
    /// The sends whose receipts may be another's, in order.
    pub doubtful: Vec<EndId>,
    /// Of these the sends that may have arrived as somebody else's, in order.
    pub elsewhere: Vec<EndId>,
}

impl Woven {
    pub const ALONE: u32 = u32::MAX;
    pub const TAKEN: u32 = EndId::END;

    /// The first receipt of a packet that an end tells.
    pub fn partner(&self, end: EndId) -> Option<EndId> {
        let known = self.partners.get(end.0 as usize).copied();
        known.filter(|&it| it < Woven::TAKEN).map(EndId)
    }

    pub(super) fn note(&mut self, end: EndId, partner: u32) {
        if let Some(known) = self.partners.get_mut(end.0 as usize) {
            *known = partner;
        }
    }

    /// All ends are put together: no receipt tells its packet.
    pub(super) fn settle(&mut self, reels: usize, places: &Places) {
        for reel in 0..reels {
            let own = places.numbers(reel, Side::Receive);
            for partner in self.partners.get_mut(own).unwrap_or(&mut []) {
                if *partner != Woven::ALONE {
                    *partner = Woven::TAKEN;
                }
            }
        }
    }
}

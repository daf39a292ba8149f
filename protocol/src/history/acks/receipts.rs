//! A row for each packet that several walks write, each the rows of its own packets.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use crate::session::{PacketId, Session};

/// See [`Session::receipt`].
pub(super) type Receipt = u32;

/// How many packets are kept together.
const PAGE: usize = 4096;

/// For each packet of a session, once its sender knows of its arrival, the receipt that told of it.
pub(in crate::history) struct Receipts {
    packets: usize,
    pages: Vec<OnceLock<Page>>,
    /// Whether one node alone counts its receipts: those that tell of packets which were sent one after the
    /// other lie near each other.
    is_one: bool,
}

/// The rows of some packets.
struct Page {
    base: u32,
    /// Each is 0, or by how much the receipt and one more are above the base.
    near: OnceLock<Box<[AtomicU16]>>,
    /// Each is 0, or one more than the receipt.
    any: OnceLock<Box<[AtomicU32]>>,
}

/// The base of a page lies this far before the receipt that came first.
const BEFORE: u32 = 1 << 12;

impl Receipts {
    pub fn new(session: &Session) -> Receipts {
        let packets = session.packet_count();
        let recorded = session.nodes.iter().filter(|node| node.recorded);
        Receipts {
            packets,
            pages: zeroes(packets.div_ceil(PAGE)).into(),
            is_one: recorded.count() == 1,
        }
    }

    /// 0, or one more than the receipt of a packet.
    pub fn row(&self, packet: usize) -> u32 {
        let page = self.pages.get(packet / PAGE).and_then(OnceLock::get);
        page.map_or(0, |page| page.row(packet % PAGE))
    }

    /// The rows of all packets.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.packets).map(|packet| u64::from(self.row(packet)))
    }

    /// Nobody else may set the row of this packet.
    pub fn set(&self, packet: PacketId, receipt: Receipt) {
        let packet = packet.0 as usize;
        if let Some(page) = self.pages.get(packet / PAGE) {
            let page = page.get_or_init(|| Page::new(receipt));
            page.set(packet % PAGE, receipt.saturating_add(1), self.is_one);
        }
    }
}

impl Page {
    fn new(first: Receipt) -> Page {
        Page {
            base: first.saturating_sub(BEFORE),
            near: OnceLock::new(),
            any: OnceLock::new(),
        }
    }

    fn row(&self, at: usize) -> u32 {
        let near = self.near.get().map(|near| near[at].load(Ordering::Relaxed));
        match near {
            None | Some(0) => self
                .any
                .get()
                .map_or(0, |any| any[at].load(Ordering::Relaxed)),
            Some(near) => self.base.saturating_add(near.into()),
        }
    }

    fn set(&self, at: usize, row: u32, may_be_near: bool) {
        match u16::try_from(row.saturating_sub(self.base)) {
            Ok(near @ 1..) if may_be_near => {
                self.near.get_or_init(|| zeroes(PAGE))[at].store(near, Ordering::Relaxed)
            }
            _ => self.any.get_or_init(|| zeroes(PAGE))[at].store(row, Ordering::Relaxed),
        }
    }
}

fn zeroes<T: Default>(count: usize) -> Box<[T]> {
    (0..count).map(|_| T::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_comes_back_whether_it_is_near_or_far() {
        let far = [0, 1, 4095, 4096, 70_000, 100_000, u32::MAX - 1];
        for (may_be_near, first) in [(true, 70_000), (true, 3), (false, 70_000)] {
            let page = Page::new(first);
            for (at, &receipt) in far.iter().enumerate() {
                assert_eq!(page.row(at), 0);
                page.set(at, receipt + 1, may_be_near);
                assert_eq!(page.row(at), receipt + 1);
            }
        }
    }
}

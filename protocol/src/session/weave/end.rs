//! One end of a packet's way: what is compared of it, and where it stands.

use crate::session::read::ends::{EndAt, Ends, RawEnd, Side};
use crate::session::read::scan::Scan;

/// One end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Of the bytes that are compared.
    pub hash: u64,
    /// How long the packet was.
    pub whole: u32,
    /// In the reel's packets of this side.
    pub place: u32,
    /// The nodes that it goes from and to, by member.
    pub from: u16,
    pub to: u16,
    /// The reel, by place.
    pub reel: u16,
    pub side: Side,
    /// Whether the same event is an end of other packets too: it was sent to several.
    pub shared: bool,
}

impl End {
    /// What stands where an end is yet to come.
    pub const NONE: End = End {
        hash: 0,
        whole: 0,
        place: 0,
        from: 0,
        to: 0,
        reel: 0,
        side: Side::Send,
        shared: false,
    };

    /// Its reel, its side, and its place there.
    pub fn at(&self) -> EndAt {
        (usize::from(self.reel), self.side, self.place as usize)
    }

    /// The scan of its reel.
    pub fn scan<'a>(&self, scans: &'a [Scan]) -> Option<&'a Scan> {
        scans.get(usize::from(self.reel))
    }

    /// The ends of its side.
    pub fn ends<'a>(&self, scans: &'a [Scan]) -> Option<&'a Ends> {
        Some(self.scan(scans)?.side(self.side))
    }

    /// The packet in its reel.
    pub fn raw(&self, scans: &[Scan]) -> Option<RawEnd> {
        self.ends(scans)?.get(self.place as usize)
    }

    /// Whether a proxy tells of it.
    pub fn is_told(&self, scans: &[Scan]) -> bool {
        self.scan(scans).is_some_and(|scan| scan.told)
    }

    /// What ends of one group have in common.
    pub(super) fn group(&self) -> (u64, u16, u16, u32) {
        (self.hash, self.from, self.to, self.whole)
    }
}

/// Puts ends of equal payload on the same link next to each other, the sends first.
pub(crate) fn sort(ends: &mut [End]) {
    ends.sort_unstable_by_key(|end| (end.group(), end.side, end.reel, end.place));
}

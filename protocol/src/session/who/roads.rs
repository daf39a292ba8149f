//! From whom to whom each end's packet goes.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::Header;

use super::cast::{Cast, utc_ns};
use super::groups::Listeners;
use super::holders::Holders;
use crate::session::read::ends::{EndAt, RawEnd, Side};
use crate::session::read::scan::Scan;
use crate::session::weave::end::End;

/// An end of one of a packet's links: its reel, its side, its place there, and the receiver.
pub(crate) type EndKey = (u16, Side, u32, u16);

/// What tells from whom to whom a packet goes.
pub(crate) struct Roads<'a> {
    pub cast: &'a Cast,
    pub headers: &'a [&'a Header],
    pub scans: &'a [Scan],
    known: Known,
}

/// The links of a connection, against its way and along it, by member; `None` where its endpoints
/// belong to several one after the other.
type Ways = [Option<(u16, u16)>; 2];

/// What was found out about the ends of scans, without the scans.
#[derive(Default)]
pub(crate) struct Known {
    holders: Holders,
    listeners: Listeners,
    /// For each connection of each reel its link in and out, where that is the same all the time.
    fixed: Vec<Vec<Ways>>,
    /// Ends that are compared by other bytes than the reel has of them, and the hash of these.
    trimmed: BTreeMap<EndKey, u64>,
}

impl<'a> Roads<'a> {
    pub fn new(cast: &'a Cast, headers: &'a [&'a Header], scans: &'a [Scan]) -> Roads<'a> {
        let holders = Holders::new(cast, headers, scans);
        let listeners = Listeners::new(cast, headers, scans, &holders);
        let fixed = scans.iter().enumerate().map(|(reel, scan)| {
            let links = scan.connections.iter().map(|connection| {
                [false, true].map(|out| {
                    let far = |endpoint| Some(cast.only_seen(reel, endpoint)?.unwrap_or(reel));
                    let peer = far(connection.peer)?;
                    let near = connection.local.map_or(Some(reel), far)?;
                    Some(if out {
                        (near as u16, peer as u16)
                    } else {
                        (peer as u16, near as u16)
                    })
                })
            });
            links.collect()
        });
        let known = Known {
            fixed: fixed.collect(),
            holders,
            listeners,
            trimmed: BTreeMap::new(),
        };
        Roads::with(known, cast, headers, scans)
    }

    /// The same with what was found out before: of scans that have no hashes any more.
    pub fn with(
        known: Known,
        cast: &'a Cast,
        headers: &'a [&'a Header],
        scans: &'a [Scan],
    ) -> Roads<'a> {
        Roads {
            cast,
            headers,
            scans,
            known,
        }
    }

    /// Whether several hold one endpoint at the same time.
    pub fn is_shared(&self) -> bool {
        !self.known.holders.is_empty()
    }

    /// Whether each end is of one packet of two nodes by itself, and compared by all its bytes.
    pub fn is_direct(&self) -> bool {
        !self.is_shared() && self.is_plain(Side::Send)
    }

    /// Whether it is known of each connection, for all its packets, from whom to whom they go.
    pub fn is_fixed(&self) -> bool {
        let mut links = self.known.fixed.iter().flatten();
        links.all(|ways| ways.iter().all(Option::is_some))
    }

    /// What was found out.
    pub fn into_known(self) -> Known {
        self.known
    }

    /// The reels, each with the members that it knows by an endpoint.
    pub fn acquainted(&self) -> BTreeSet<(u16, u16)> {
        let reels = self.known.fixed.iter().enumerate();
        let pairs = reels.flat_map(|(reel, ways)| {
            let sides = ways.iter().flatten().flatten();
            sides.flat_map(move |&(from, to)| [(reel as u16, from), (reel as u16, to)])
        });
        pairs.collect()
    }

    /// Lets ends be compared by other bytes than the reel has of them.
    pub fn trim(&mut self, trimmed: BTreeMap<EndKey, u64>) {
        self.known.trimmed = trimmed;
    }

    /// Who sent the packet of an end, and whom it reached, by member; `way` is its connection, and
    /// whether it went that one's way.
    pub fn link(
        &self,
        reel: usize,
        side: Side,
        place: usize,
        way: (u32, bool),
    ) -> Option<(u16, u16)> {
        if let Some(link) = self.fixed(reel, side, way) {
            return Some(link);
        }
        let raw = self.scans[reel].side(side).get(place)?;
        Some(self.link_of(reel, side, place, &raw))
    }

    /// The same where it is known of all packets of the connection.
    pub fn fixed(
        &self,
        reel: usize,
        side: Side,
        (connection, forward): (u32, bool),
    ) -> Option<(u16, u16)> {
        let links = self.known.fixed.get(reel)?.get(connection as usize)?;
        links[usize::from(side.goes_out(forward))].filter(|_| self.known.holders.is_empty())
    }

    fn link_of(&self, reel: usize, side: Side, place: usize, raw: &RawEnd) -> (u16, u16) {
        if let Some(link) = self.fixed(reel, side, (raw.connection, raw.forward)) {
            return link;
        }
        if let Some((from, to)) = self.known.holders.of(reel, side, place) {
            return (from as u16, to as u16);
        }
        let scan = &self.scans[reel];
        let utc = utc_ns(self.headers[reel], raw.time);
        let member = |endpoint| self.cast.member_seen(reel, endpoint, utc).unwrap_or(reel);
        let far = scan.peer(raw).map_or(reel, member);
        let (from, to) = match side {
            Side::Send => (reel, far),
            Side::Receive => (far, reel),
            Side::Seen => (scan.source(raw).map_or(reel, member), far),
        };
        (from as u16, to as u16)
    }

    /// The end that an event of a [plain](Roads::is_plain) side is.
    #[inline(always)]
    pub(super) fn only_end(&self, (reel, side, place): EndAt, hash: u64) -> Option<End> {
        let rows = self.scans[reel].side(side);
        let (from, to) = match self.fixed(reel, side, rows.way(place)) {
            Some(link) => link,
            None => self.link_of(reel, side, place, &rows.get(place)?),
        };
        Some(End {
            hash,
            whole: rows.whole(place, rows.length(place)),
            place: place as u32,
            from,
            to,
            reel: reel as u16,
            side,
            shared: false,
        })
    }

    /// All ends that an event of a reel is: one for each receiver of its packet.
    pub(super) fn ends_at(&self, (reel, side, place): EndAt, ends: &mut Vec<End>) {
        let Some(raw) = self.scans[reel].side(side).get(place) else {
            return;
        };
        let (from, to) = self.link_of(reel, side, place, &raw);
        let end = |to: u16, shared: bool| {
            let key = (reel as u16, side, place as u32, to);
            End {
                hash: self.known.trimmed.get(&key).copied().unwrap_or(raw.hash),
                whole: raw.whole,
                place: place as u32,
                from,
                to,
                reel: reel as u16,
                side,
                shared,
            }
        };
        let reached = match side {
            Side::Receive => &[],
            _ if self.known.listeners.is_empty() => &[],
            Side::Send | Side::Seen => self.reached(reel, usize::from(from), &raw),
        };
        if reached.is_empty() {
            ends.push(end(to, false));
        }
        ends.extend(reached.iter().map(|&to| end(to as u16, true)));
    }

    /// Whether each end of this side is compared by all its bytes, and is of one packet.
    pub(super) fn is_plain(&self, side: Side) -> bool {
        self.known.trimmed.is_empty() && (side == Side::Receive || self.known.listeners.is_empty())
    }

    /// The reels that received what went to a group.
    fn reached(&self, reel: usize, from: usize, raw: &RawEnd) -> &[usize] {
        let Some(peer) = self.scans[reel].peer(raw) else {
            return &[];
        };
        let utc = utc_ns(self.headers[reel], raw.time);
        self.known.listeners.of(self.cast, (from, peer, raw), utc)
    }
}

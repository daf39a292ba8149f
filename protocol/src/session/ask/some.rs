//! Packets next to each other, field by field: for who asks little of very many.

use std::cell::OnceCell;

use netreel_table::Column;

use crate::session::read::ends::Side;
use crate::session::weave::places::EndId;
use crate::session::weave::rows::{DOUBTFUL, ODD, Rows, Track};
use crate::session::{Fate, Link, Session, SessionTime};

/// See the module. Places count from the first of them.
pub(crate) struct Packets<'a> {
    rows: &'a Rows,
    first: usize,
    count: usize,
    links: OnceCell<Vec<u64>>,
    told: OnceCell<Vec<u64>>,
    receipts: OnceCell<Vec<u64>>,
    states: OnceCell<Vec<u64>>,
}

impl Session {
    /// How many packets from one on; fewer at the end.
    pub(crate) fn some(&self, first: usize, count: usize) -> Packets<'_> {
        Packets {
            rows: &self.rows,
            first,
            count: count.min(self.rows.len().saturating_sub(first)),
            links: OnceCell::new(),
            told: OnceCell::new(),
            receipts: OnceCell::new(),
            states: OnceCell::new(),
        }
    }
}

impl Packets<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    fn row(&self, cell: &OnceCell<Vec<u64>>, column: &Column, place: usize) -> u64 {
        let rows = cell.get_or_init(|| column.iter_from(self.first).take(self.count).collect());
        rows.get(place).copied().unwrap_or(0)
    }

    fn state(&self, place: usize) -> u64 {
        self.row(&self.states, &self.rows.state, place)
    }

    /// What became of one.
    pub fn fate(&self, place: usize) -> Fate {
        Fate::of_state(self.state(place))
    }

    /// See [`Packet::doubtful`](crate::session::Packet).
    pub fn is_doubtful(&self, place: usize) -> bool {
        self.state(place) & DOUBTFUL != 0
    }

    /// Whether it arrived more than once.
    pub fn is_duplicated(&self, place: usize) -> bool {
        let id = (self.first + place) as u32;
        let odd = (self.state(place) & ODD != 0).then(|| self.rows.odd.get(&id));
        odd.flatten().is_some_and(|odd| odd.received.len() > 1)
    }

    /// Its number.
    pub fn number(&self, place: usize) -> usize {
        self.first + place
    }

    /// The place of its link in [`Session::links`].
    pub fn link(&self, place: usize) -> usize {
        self.row(&self.links, &self.rows.link, place) as usize
    }

    /// From whom to whom packets go, by the places that [`Packets::link`] gives.
    pub fn links(&self) -> &[Link] {
        &self.rows.links
    }

    fn told(&self, place: usize) -> Option<(&Track, Side, usize)> {
        let end = self.row(&self.told, &self.rows.told, place);
        self.rows.end(EndId(end as u32))
    }

    /// Bytes of payload.
    pub fn length(&self, place: usize) -> u32 {
        self.told(place).map_or(0, |(track, side, at)| {
            let ends = track.side(side);
            ends.whole(at, ends.length(at))
        })
    }

    /// The first that is known of it. Times grow with places.
    pub fn time(&self, place: usize) -> SessionTime {
        let told = self.told(place);
        told.map_or(SessionTime::default(), |(track, side, at)| {
            track.time(side, at)
        })
    }

    /// When it was sent.
    pub fn sent(&self, place: usize) -> Option<SessionTime> {
        let (track, side, at) = self.told(place)?;
        (side == Side::Send).then(|| track.time(side, at))
    }

    /// When it was first received.
    pub fn received(&self, place: usize) -> Option<SessionTime> {
        let (track, side, at) = self.told(place)?;
        if side == Side::Receive {
            return Some(track.time(side, at));
        }
        let receipt = self.row(&self.receipts, &self.rows.receipt, place);
        let (track, side, at) = self.rows.end(EndId(receipt.checked_sub(1)? as u32))?;
        Some(track.time(side, at))
    }
}

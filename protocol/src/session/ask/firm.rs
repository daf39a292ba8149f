//! What of a session whose reels grow stays as it is at the next look.

use std::sync::Arc;

use netreel_reel::{EventNumber, Reel, Time};
use twox_hash::xxhash3_64::Hasher;

use crate::session::weave::places::EndId;
use crate::session::weave::rows::DOUBTFUL;
use crate::session::{MessageId, NodeId, Packet, PacketId, Session, SessionTime};

/// What of a reel that grows was read, and the wire asked about, once and for all.
#[derive(Clone, Debug)]
pub(crate) struct Firm {
    /// The same one as long as nothing of the reel was read anew.
    pub since: Arc<()>,
    /// The first event that may be read anew.
    pub until: EventNumber,
    /// When the last one before it was.
    pub last: Time,
}

/// The first packets of reels that grow: they are the same ones at the next look, with the same
/// numbers, times and messages. What became of one that nobody is known to have received may show
/// later.
#[derive(Clone, Debug)]
pub struct Same {
    /// The same one as long as the packets are the same ones.
    pub(crate) since: Arc<()>,
    /// How many there are.
    pub(crate) packets: u32,
}

impl Same {
    /// How many there are.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Whether they are among the first packets of a later look, which are these.
    pub fn goes_on_in(&self, later: &Same) -> bool {
        Arc::ptr_eq(&self.since, &later.since) && self.packets <= later.packets
    }
}

impl Firm {
    /// Whether what is firm by now is this, and perhaps more.
    pub fn goes_on_in(&self, now: &Firm) -> bool {
        Arc::ptr_eq(&self.since, &now.since)
    }
}

impl Session {
    /// What of each reel stays; `None` where they were read at once, or where packets are told by
    /// more than the reels of their two ends.
    pub(crate) fn firm(&self) -> Option<&[Firm]> {
        let is_plain = self.observers.is_empty() && self.rows.shared.is_empty();
        let all = self.firm.len() == self.rows.tracks.len() && !self.firm.is_empty();
        (is_plain && all && self.wait_ns.is_some()).then_some(&self.firm)
    }

    /// The packets that are the same ones at the next look, as long as none is told anew; `None` of
    /// reels that were read at once, or of which no packet stays.
    pub fn same(&self) -> Option<&Same> {
        self.same.as_ref()
    }

    /// The first event of a node that may be read anew; `None` where it was not recorded.
    pub(crate) fn firm_until(&self, node: NodeId) -> Option<EventNumber> {
        Some(self.firm.get(self.track(node)?)?.until)
    }

    /// Whether an event of a node is read for good. What somebody else tells of a node that was not
    /// recorded is.
    pub(crate) fn is_firm(&self, node: NodeId, number: EventNumber) -> bool {
        self.firm_until(node).is_none_or(|until| number < until)
    }

    /// Up to when all reels are firm, but for those that no more will come of.
    pub(crate) fn firm_time(&self, is_over: &dyn Fn(&Reel) -> bool) -> SessionTime {
        let tracks = self.rows.tracks.iter().zip(&self.firm);
        let going_on =
            tracks.filter(|(track, _)| !track.reel.as_ref().is_some_and(|it| is_over(it)));
        let times = going_on.map(|(track, firm)| track.time_of(firm.until, firm.last));
        times.min().unwrap_or(self.span.end)
    }

    /// How many of the first packets of an earlier look are the same ones here: from whom to whom, when,
    /// how long. What became of them may be known by now.
    pub fn in_common(&self, earlier: &Session) -> u32 {
        let names = |session: &Session| session.nodes.iter().map(|it| it.name.clone()).collect();
        let [now, before]: [Vec<String>; 2] = [names(self), names(earlier)];
        if now != before || self.start_utc_ns != earlier.start_utc_ns {
            return 0;
        }
        let kept = earlier
            .same()
            .zip(self.same())
            .filter(|(before, now)| before.goes_on_in(now));
        let known = kept.map_or(0, |(before, _)| before.packets);
        let of = |session: &Session, packet: PacketId| {
            let packet = session.packet(packet)?;
            Some((packet.from, packet.to, packet.first()?, packet.length))
        };
        let most = earlier.rows.len().min(self.rows.len()) as u32;
        let mut rest = (known..most).map(PacketId);
        let other = rest.find(|&packet| of(self, packet) != of(earlier, packet));
        other.map_or(most, |other| other.0)
    }

    /// The packets from one on, in order.
    pub fn packets_from(&self, first: PacketId) -> impl ExactSizeIterator<Item = Packet> + '_ {
        let ids = (first.0 as usize).min(self.rows.len())..self.rows.len();
        ids.map(|place| self.rows.get(PacketId(place as u32)).unwrap_or_default())
    }

    /// The first message that no packet before this one has.
    pub(crate) fn first_message(&self, packet: PacketId) -> MessageId {
        MessageId(self.told().messages_before(packet))
    }

    /// How many packets there are before a moment.
    pub(crate) fn packets_before(&self, time: SessionTime) -> u32 {
        let is_before = |packet: u32| {
            let (track, side, place) = self.rows.told(PacketId(packet))?;
            Some(self.rows.tracks.get(track)?.time(side, place) < time)
        };
        let (mut low, mut high) = (0, self.rows.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            match is_before(middle) {
                Some(true) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// What tells the first packets from others: from whom to whom each went, its ends, and whether
    /// they are in doubt.
    pub(crate) fn told_by(&self, packets: u32) -> u64 {
        let rows = &self.rows;
        let mut digest = Digest::default();
        let columns = rows
            .link
            .iter()
            .zip(rows.told.iter())
            .zip(rows.receipt.iter())
            .zip(rows.state.iter())
            .take(packets as usize);
        // Ends have other numbers when reels have grown.
        let end = |end: u64| {
            let (track, side, place) = rows.places.find(EndId(end as u32));
            (track as u64) << 34 | (side as u64) << 32 | place as u64
        };
        for (((link, told), receipt), state) in columns {
            let (from, to) = rows.links.get(link as usize).copied().unwrap_or_default();
            let link = u64::from(from.0) << 17 | u64::from(to.0) << 1;
            digest.take(link | u64::from(state & DOUBTFUL != 0));
            digest.take(end(told));
            digest.take(receipt.checked_sub(1).map_or(u64::MAX, end));
        }
        for (packet, odd) in rows.odd.range(..packets) {
            if rows.receipt.get(*packet as usize) != 0 {
                continue;
            }
            let first = odd
                .received
                .first()
                .map_or(u64::MAX, |it| end(u64::from(it.0)));
            digest.take(u64::from(*packet));
            digest.take(first);
        }
        digest.finish()
    }
}

/// A hash of many numbers.
#[derive(Default)]
struct Digest {
    before: u64,
    bytes: Vec<u8>,
}

impl Digest {
    fn take(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        if self.bytes.len() >= 1 << 14 {
            self.finish();
        }
    }

    /// The hash of all that was taken.
    fn finish(&mut self) -> u64 {
        self.bytes.extend_from_slice(&self.before.to_le_bytes());
        self.before = Hasher::oneshot(&self.bytes);
        self.bytes.clear();
        self.before
    }
}

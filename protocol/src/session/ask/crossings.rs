//! The packets of a node in the order of its own events.

use netreel_reel::EventNumber;

use crate::session::read::ends::Side;
use crate::session::weave::places::EndId;
use crate::session::{Crossing, NodeId, PacketId, Session, Stamp, Way};

impl Session {
    /// The packets of a node in the order of its own events, with the moment of each.
    pub fn crossings(&self, node: NodeId) -> impl Iterator<Item = (Crossing, Stamp)> + '_ {
        self.ends(node)
            .map(|(_, crossing, stamp)| (crossing, stamp))
    }

    /// The same, with the end that each is.
    pub(crate) fn ends(&self, node: NodeId) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let track = self.track(node);
        let recorded = track.map(|track| self.rows.crossings(track));
        let passing = track.is_none().then(|| self.passing(node));
        let recorded = recorded.into_iter().flatten();
        recorded.chain(passing.into_iter().flatten())
    }

    /// Those of some packets that a node's reel says it sent, with the moment of each, in the order of its
    /// events.
    pub(crate) fn sends(&self, node: NodeId, packets: &[PacketId]) -> Vec<(PacketId, Stamp)> {
        let Some(own) = self.track(node) else {
            return Vec::new();
        };
        let place = |packet: PacketId| match self.rows.told(packet)? {
            (track, Side::Send, place) if track == own => Some((place, packet)),
            _ => None,
        };
        let mut sends: Vec<_> = packets.iter().filter_map(|&packet| place(packet)).collect();
        sends.sort_unstable();
        let track = self.rows.tracks.get(own);
        let stamp = |place: usize| Some(track?.stamp(Side::Send, place));
        let sends = sends.into_iter();
        sends
            .filter_map(|(place, packet)| Some((packet, stamp(place)?)))
            .collect()
    }

    /// What a receipt of a node is called by the node: its place among the node's receipts. Of a node that
    /// was not recorded, the end itself.
    pub(crate) fn receipt(&self, node: NodeId, end: EndId) -> u32 {
        match self.track(node) {
            Some(_) => self.rows.places.find(end).2 as u32,
            None => end.0,
        }
    }

    /// The moment of what is called so.
    pub(crate) fn receipt_stamp(&self, node: NodeId, receipt: u32) -> Option<Stamp> {
        match self.track(node) {
            Some(track) => {
                let track = self.rows.tracks.get(track)?;
                Some(track.stamp(Side::Receive, receipt as usize))
            }
            None => self.rows.stamp(EndId(receipt)),
        }
    }

    /// The packets that were seen of a node that was not recorded, in the order of time.
    fn passing(&self, node: NodeId) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let passing = node.of(&self.rows.passing);
        let passing = passing.into_iter().flat_map(|column| column.iter());
        passing.filter_map(|row| self.passed(row))
    }

    /// What a row of a node's passing packets says.
    fn passed(&self, row: u64) -> Option<(EndId, Crossing, Stamp)> {
        let packet = PacketId((row >> 1) as u32);
        let (way, end) = match row & 1 {
            0 => (Way::Out, self.rows.departure(packet)?),
            _ => (Way::Passing, self.rows.last_sighting(packet)?),
        };
        let stamp = self.rows.stamp(end)?;
        let crossing = Crossing {
            number: stamp.number,
            packet,
            way,
        };
        Some((end, crossing, stamp))
    }

    /// The first packet that was seen of a node that was not recorded as this event of an observer.
    pub(super) fn seen_at(&self, node: NodeId, number: EventNumber) -> Option<Crossing> {
        let rows = node.of(&self.rows.passing)?;
        let seen = self.seen.get_or_init(|| {
            let all = self.rows.passing.iter();
            all.map(|rows| Seen::of(rows.len(), |place| self.passed_number(rows.get(place))))
                .collect()
        });
        let crossing = |place: usize| self.passed(rows.get(place)).map(|it| it.1);
        let place = node.of(seen)?.find(number, |place| {
            crossing(place).map(|crossing| crossing.number)
        })?;
        crossing(place)
    }

    fn passed_number(&self, row: u64) -> Option<EventNumber> {
        self.passed(row).map(|it| it.1.number)
    }
}

/// The packets that were seen of a node, by the numbers of the observer's events.
pub(crate) enum Seen {
    /// Their own order.
    AsTheyCame(usize),
    /// Their places in the order of their numbers: several observers saw them.
    Sorted(Vec<u32>),
}

impl Seen {
    /// Of this many, each with its number; those without one are not found.
    fn of(count: usize, number: impl Fn(usize) -> Option<EventNumber>) -> Seen {
        let numbers = (0..count).map(&number);
        if numbers.is_sorted_by(|one, next| one.is_some() && one <= next) {
            return Seen::AsTheyCame(count);
        }
        let mut places: Vec<u32> = (0..count as u32).collect();
        places.retain(|&place| number(place as usize).is_some());
        places.sort_by_cached_key(|&place| number(place as usize));
        Seen::Sorted(places)
    }

    /// The first place of this number.
    fn find(
        &self,
        number: EventNumber,
        number_at: impl Fn(usize) -> Option<EventNumber>,
    ) -> Option<usize> {
        let (mut low, mut high) = match self {
            Seen::AsTheyCame(count) => (0, *count),
            Seen::Sorted(places) => (0, places.len()),
        };
        let count = high;
        let place = |at: usize| match self {
            Seen::AsTheyCame(_) => at,
            Seen::Sorted(places) => places[at] as usize,
        };
        while low < high {
            let middle = low + (high - low) / 2;
            match number_at(place(middle)) < Some(number) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let found = (low < count).then(|| place(low))?;
        (number_at(found) == Some(number)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::EventNumber;

    use super::Seen;

    fn found(numbers: &[Option<u64>], number: u64) -> Option<usize> {
        let at = |place: usize| numbers[place].map(EventNumber);
        Seen::of(numbers.len(), at).find(EventNumber(number), at)
    }

    #[test]
    fn the_first_packet_of_a_number_is_found_whatever_their_order() {
        let ascending = [Some(2), Some(5), Some(5), Some(9)];
        let mixed = [Some(9), None, Some(5), Some(2), Some(5)];
        for number in 0..12 {
            for numbers in [&ascending[..], &mixed[..], &[None], &[]] {
                let first = numbers.iter().position(|it| *it == Some(number));
                assert_eq!(found(numbers, number), first, "{number} in {numbers:?}");
            }
        }
    }
}

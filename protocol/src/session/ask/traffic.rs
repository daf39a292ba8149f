//! What passed on each link, from the columns alone.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, Time};
use netreel_table::Column;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::session::facts::bytes::{unzigzag, zigzag};
use crate::session::parallel;
use crate::session::read::ends::{Cursors, Ends, Side};
use crate::session::weave::rows::{DOUBTFUL, ODD, Rows, Track};
use crate::session::{Fate, Link, PacketId};

/// What passed from one node to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets that were sent or seen.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// How many of the packets had each fate, in the order of [`Fate`]'s variants.
    fates: [u64; Fate::ALL.len()],
    /// Packets whose receipt may be another's ([`Packet::doubtful`](crate::session::Packet)).
    pub doubtful: u64,
    /// Receipts beyond the first.
    pub duplicated: u64,
    /// Packets that were received, and that no reel has sent.
    pub unsent: u64,
    /// Receipts of a packet sent before one that had already arrived.
    pub reordered: u64,
    /// Send to receive, in ns: shortest, middle, longest. `None` where no packet has both.
    pub latency_ns: Option<(i64, i64, i64)>,
}

impl Traffic {
    /// How many packets had this fate.
    pub fn fate(&self, fate: Fate) -> u64 {
        self.fates[fate as usize]
    }
}

/// How many packets are counted by one processor at a time.
const SOME: usize = 1 << 18;

/// What passed on each link that had packets.
pub(crate) fn traffic(rows: &Rows, workers: usize) -> BTreeMap<Link, Traffic> {
    let starts: Vec<usize> = (0..rows.len()).step_by(SOME).collect();
    let counted = parallel::map(starts, workers, |start| count(rows, start));
    let mut links: Vec<(Traffic, Vec<Column>)> = vec![Default::default(); rows.links.len()];
    for (link, part, lengths) in counted.into_iter().flatten() {
        let Some((sum, all)) = links.get_mut(link) else {
            continue;
        };
        sum.packets += part.packets;
        sum.bytes += part.bytes;
        sum.doubtful += part.doubtful;
        sum.duplicated += part.duplicated;
        sum.unsent += part.unsent;
        for (sum, part) in sum.fates.iter_mut().zip(part.fates) {
            *sum += part;
        }
        all.push(lengths);
    }
    let reordered = reordered(rows, workers);
    let counted = rows.links.iter().zip(links).zip(reordered).map(
        |((&link, (mut traffic, lengths)), reordered)| {
            traffic.latency_ns = spread(&lengths);
            traffic.reordered = reordered;
            (link, traffic)
        },
    );
    counted.collect()
}

/// What some packets tell of the links that they are of, and how long each took, for [`spread`].
fn count(rows: &Rows, start: usize) -> Vec<(usize, Traffic, Column)> {
    let mut links: Vec<(usize, Traffic, Column)> = Vec::new();
    // Of each link its place among these: few of thousands have packets at a time.
    let mut places = vec![u32::MAX; rows.links.len()];
    let told = rows
        .told
        .iter_from(start)
        .zip(rows.receipt.iter_from(start));
    let kinds = rows.link.iter_from(start).zip(rows.state.iter_from(start));
    let sides = |of: fn(&Ends) -> &Column| {
        let tracks = rows.tracks.iter();
        Cursors::new(tracks.map(move |track| track.sides.each_ref().map(of)))
    };
    let (mut times, mut lengths_of) = (sides(Ends::time_column), sides(Ends::length_column));
    let mut time = |at: usize, track: &Track, side: Side, place: usize| {
        let time = Time(times.get(at, side, place));
        track.clock.time(time, || track.side(side).number(place)).0
    };
    let packets = (start as u32..).zip(told.zip(kinds)).take(SOME);
    for (id, ((told, receipt), (link, state))) in packets {
        let Some(own) = places.get_mut(link as usize) else {
            continue;
        };
        if *own == u32::MAX {
            *own = links.len() as u32;
            links.push((link as usize, Traffic::default(), Column::new()));
        }
        let (_, traffic, lengths) = &mut links[*own as usize];
        let (at, side, place) = rows.find(told);
        let Some(track) = rows.tracks.get(at) else {
            continue;
        };
        let ends = track.side(side);
        let length = lengths_of.get(at, side, place) as u32;
        let fate = Fate::of_state(state);
        traffic.packets += 1;
        traffic.bytes += u64::from(ends.whole(place, length));
        traffic.fates[fate as usize] += 1;
        traffic.doubtful += u64::from(state & DOUBTFUL != 0);
        let is_unsent = side == Side::Receive || side == Side::Seen && receipt > 0;
        traffic.unsent += u64::from(is_unsent);
        if state & ODD != 0
            && let Some(odd) = rows.odd.get(&id)
        {
            traffic.duplicated += odd.received.len().saturating_sub(1) as u64;
        }
        if side == Side::Send
            && fate == Fate::Received
            && let Some(received) = receipt.checked_sub(1)
            && let (to, side_in, receipt) = rows.find(received)
            && let Some(receiver) = rows.tracks.get(to)
        {
            let sent = time(at, track, side, place);
            let received = time(to, receiver, side_in, receipt);
            lengths.push(zigzag(received.saturating_sub(sent)));
        }
    }
    links.iter_mut().for_each(|(.., lengths)| lengths.shrink());
    links
}

/// How many packets of each link arrived first after one that was sent later between the same
/// sockets.
fn reordered(rows: &Rows, workers: usize) -> Vec<u64> {
    let tracks: Vec<usize> = (0..rows.tracks.len()).collect();
    let counted = parallel::map(tracks, workers, |at| {
        let mut counts = vec![0; rows.links.len()];
        let Some(track) = rows.tracks.get(at) else {
            return counts;
        };
        // For each connection the newest send of each track: most often there is one.
        let mut newest: Vec<SmallVec<[(usize, EventNumber); 1]>> = Vec::new();
        newest.resize_with(track.connections.len(), SmallVec::new);
        let packets = track.packets[Side::Receive as usize].iter();
        let receipts = packets.zip(track.side(Side::Receive).ways()).enumerate();
        for (place, (packet, (connection, _))) in receipts {
            let end = rows.places.id(at, Side::Receive, place);
            let row = packet as usize;
            if rows.receipt.get_some(row) != Some(u64::from(end.0)) {
                continue;
            }
            let Some((from, Side::Send, sent)) = rows.told(PacketId(row as u32)) else {
                continue;
            };
            let sender = rows.tracks.get(from);
            let Some(sent) = sender.map(|it| it.side(Side::Send).number(sent)) else {
                continue;
            };
            let Some(newest) = newest.get_mut(connection as usize) else {
                continue;
            };
            match newest.iter_mut().find(|(of, _)| *of == from) {
                Some((_, newest)) if sent < *newest => {
                    let link = rows.link.get(row) as usize;
                    if let Some(count) = counts.get_mut(link) {
                        *count += 1;
                    }
                }
                Some((_, newest)) => *newest = sent,
                None => newest.push((from, sent)),
            }
        }
        counts
    });
    let mut sums = vec![0; rows.links.len()];
    for counts in counted {
        sums.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

/// The shortest, the middle and the longest of lengths of time.
fn spread(lengths: &[Column]) -> Option<(i64, i64, i64)> {
    let all = lengths.iter().flat_map(Column::iter);
    let mut all: Vec<i64> = all.map(unzigzag).collect();
    let (min, max) = (*all.iter().min()?, *all.iter().max()?);
    let middle = all.len() / 2;
    Some((min, *all.select_nth_unstable(middle).1, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lengths: &[i64], expected: (i64, i64, i64)) {
        let all = lengths.iter().map(|&it| zigzag(it)).collect();
        assert_eq!(spread(&[all]), Some(expected));
    }

    #[test]
    fn the_middle_is_the_same_whatever_a_length_takes() {
        let long = 1 << 40;
        check(&[5, 1, 3], (1, 3, 5));
        check(&[long, -7, 3], (-7, 3, long));
        check(&[long, long + 1, 3], (3, long, long + 1));
        check(&[-2, -1, 9], (-2, -1, 9));
        check(&[-2, -1, 9, long], (-2, 9, long));
    }
}

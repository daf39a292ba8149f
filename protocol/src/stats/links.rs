//! What links carried, and how.

use std::collections::BTreeMap;

use netreel_wire::StreamId;
use serde::{Serialize, Serializer};

use super::read::{Known, Read};
use crate::session::{Fate, NodeId, Session, Stamp};
use crate::why::Cause;

/// From whom to whom.
pub type Link = (NodeId, NodeId);

/// Lengths of time in ns: the middle one, that which 99 of 100 do not exceed, and the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The shortest.
    pub min: i64,
    /// The middle one.
    pub median: i64,
    /// 99 of 100 are not longer.
    pub p99: i64,
    /// The longest.
    pub max: i64,
}

/// Packets that were lost one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bursts {
    /// How many times.
    #[serde(rename = "bursts")]
    pub count: u64,
    /// The most packets that were lost at a time.
    #[serde(rename = "longest_burst")]
    pub longest: u64,
}

impl Bursts {
    /// Takes so many packets that were lost in a row.
    fn take(&mut self, lost: u64) {
        self.count += u64::from(lost > 0);
        self.longest = self.longest.max(lost);
    }
}

/// What a link carried, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkStats {
    /// Packets that were sent or seen.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// Messages in them.
    pub messages: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// Bytes of payload in those.
    pub lost_bytes: u64,
    /// Packets of which nobody can say what became of them.
    pub unknown: u64,
    /// Bits of reliable messages that were sent for the first time.
    pub first_bits: u64,
    /// How many messages were sent again.
    pub resent: u64,
    /// Bits of those.
    pub resent_bits: u64,
    /// What their sender had heard then; causes that none had are left out.
    #[serde(serialize_with = "by_name")]
    pub resent_for: BTreeMap<Cause, u64>,
    /// Receipts beyond the first.
    pub duplicated: u64,
    /// Receipts of a packet sent before one that had already arrived; `None` where only some
    /// packets of a session are counted.
    pub reordered: Option<u64>,
    /// Losses in a row.
    #[serde(flatten)]
    pub bursts: Bursts,
    /// Send to receipt.
    pub delay_ns: Option<Spread>,
    /// How far delays may be off by the clocks of both ends; `None` where nothing tells.
    pub clock_error_ns: Option<u64>,
    /// How much the delay of a packet differs from that of the one before, in the mean.
    pub jitter_ns: Option<i64>,
    /// Send to learning of the arrival.
    pub rtt_ns: Option<Spread>,
}

fn by_name<S: Serializer>(causes: &BTreeMap<Cause, u64>, out: S) -> Result<S::Ok, S::Error> {
    let named = causes.iter().map(|(cause, count)| (cause.name(), count));
    named.collect::<BTreeMap<_, _>>().serialize(out)
}

/// A link's packets, as they are counted.
#[derive(Default)]
pub(super) struct Counting {
    stats: LinkStats,
    delays: Vec<i64>,
    rounds: Vec<i64>,
    /// The first delay, and the last one.
    ends: Option<(i64, i64)>,
    jitter: (i128, i64),
    /// How many were lost before the first that was not; `None` before that one.
    lost_first: Option<u64>,
    /// How many were lost since the last that was not.
    lost_last: u64,
}

impl Counting {
    /// Takes a packet of the link, and its messages.
    pub fn take(
        &mut self,
        (session, history, resends): Known<'_>,
        &Read {
            id,
            ref packet,
            messages,
        }: &Read<'_>,
    ) {
        let length = u64::from(packet.length);
        self.stats.packets += 1;
        self.stats.bytes += length;
        match packet.fate {
            Fate::Lost => {
                self.stats.lost += 1;
                self.stats.lost_bytes += length;
                self.lost_last += 1;
            }
            Fate::Unknown => self.stats.unknown += 1,
            _ => self.not_lost(),
        }
        self.stats.duplicated += packet.duplicates.len() as u64;
        if packet.fate == Fate::Received
            && let (Some(sent), Some(received)) = (packet.sent, packet.received)
        {
            let delay = received.time.since(sent.time);
            self.delay(delay, delay);
            self.delays.push(delay);
        }
        if let Some(acked) = history.acked(session, id)
            && !history.is_ambiguous(id)
            && let Some(Stamp { time, .. }) = packet.departed()
        {
            self.rounds.push(acked.time.since(time));
        }
        for (message, facts) in messages {
            self.stats.messages += 1;
            // What a layer made of a message the packet does not tell.
            let in_packet = facts.stream == StreamId(0);
            let bits = facts.bits.end.saturating_sub(facts.bits.start);
            let bits = if in_packet { u64::from(bits) } else { 0 };
            if history.resend_of(*message).is_some() {
                self.stats.resent += 1;
                self.stats.resent_bits += bits;
                if let Some(cause) = resends.and_then(|it| it.cause(*message)) {
                    *self.stats.resent_for.entry(cause).or_default() += 1;
                }
            } else if facts.reliable {
                self.stats.first_bits += bits;
            }
        }
    }

    /// Behind the delays so far come some of which these are the first and the last.
    fn delay(&mut self, first: i64, last: i64) {
        if let Some((_, before)) = self.ends {
            self.jitter.0 += i128::from(first.abs_diff(before));
            self.jitter.1 += 1;
        }
        let first = self.ends.map_or(first, |ends| ends.0);
        self.ends = Some((first, last));
    }

    /// What was lost in a row ends.
    fn not_lost(&mut self) {
        let lost = std::mem::take(&mut self.lost_last);
        match self.lost_first {
            None => self.lost_first = Some(lost),
            Some(_) => self.stats.bursts.take(lost),
        }
    }

    /// Adds packets of the same link that are behind these.
    pub fn go_on(&mut self, behind: &Counting) {
        self.add(behind);
        if let Some((first, last)) = behind.ends {
            self.delay(first, last);
        }
        self.lost_last += behind.lost_first.unwrap_or(0);
        if behind.lost_first.is_some() {
            self.not_lost();
        }
        self.lost_last += behind.lost_last;
    }

    /// Adds those of another link.
    pub fn append(&mut self, other: &Counting) {
        self.add(other);
        for lost in [other.lost_first.unwrap_or(0), other.lost_last] {
            self.stats.bursts.take(lost);
        }
    }

    /// Adds what needs no order.
    fn add(&mut self, other: &Counting) {
        let (sum, more) = (&mut self.stats, &other.stats);
        sum.packets += more.packets;
        sum.bytes += more.bytes;
        sum.messages += more.messages;
        sum.lost += more.lost;
        sum.lost_bytes += more.lost_bytes;
        sum.unknown += more.unknown;
        sum.first_bits += more.first_bits;
        sum.resent_bits += more.resent_bits;
        sum.resent += more.resent;
        for (&cause, count) in &more.resent_for {
            *sum.resent_for.entry(cause).or_default() += count;
        }
        sum.duplicated += more.duplicated;
        sum.bursts.count += more.bursts.count;
        sum.bursts.longest = sum.bursts.longest.max(more.bursts.longest);
        self.delays.extend(&other.delays);
        self.rounds.extend(&other.rounds);
        self.jitter.0 += other.jitter.0;
        self.jitter.1 += other.jitter.1;
    }

    pub fn finish(mut self, clock_error_ns: Option<u64>) -> LinkStats {
        for lost in [self.lost_first.unwrap_or(0), self.lost_last] {
            self.stats.bursts.take(lost);
        }
        let (sum, count) = self.jitter;
        let mean = sum.checked_div(i128::from(count));
        LinkStats {
            delay_ns: spread(&mut self.delays),
            rtt_ns: spread(&mut self.rounds),
            jitter_ns: mean.and_then(|mean| i64::try_from(mean).ok()),
            clock_error_ns,
            ..self.stats
        }
    }
}

fn spread(values: &mut [i64]) -> Option<Spread> {
    values.sort_unstable();
    // The nearest rank: 99 of 100 are not longer.
    let rank = (values.len() * 99).div_ceil(100).checked_sub(1)?;
    Some(Spread {
        min: *values.first()?,
        median: *values.get(values.len() / 2)?,
        p99: *values.get(rank)?,
        max: *values.last()?,
    })
}

/// See [`LinkStats::clock_error_ns`].
pub(super) fn clock_error_ns(session: &Session, (from, to): Link) -> Option<u64> {
    let error = |node: NodeId| {
        let node = session.node(node)?;
        Some(node.clock_error_ns).filter(|&error| node.recorded && error != u64::MAX)
    };
    Some(error(from)?.saturating_add(error(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: std::ops::RangeInclusive<i64>, median: i64, p99: i64) {
        let mut values: Vec<i64> = values.rev().collect();
        let found = spread(&mut values).map(|it| (it.median, it.p99));
        assert_eq!(found, Some((median, p99)));
    }

    #[test]
    fn ninety_nine_of_a_hundred_are_not_longer() {
        check(1..=100, 51, 99);
        check(1..=1000, 501, 990);
        check(1..=3, 2, 3);
        check(7..=7, 7, 7);
    }
}

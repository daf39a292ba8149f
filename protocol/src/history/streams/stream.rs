//! A stream of messages, how far it came, and what is known of nodes that meet anew.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::EventNumber;
use netreel_wire::Sequence;

use crate::history::line::Line;
use crate::history::meetings::Pair;
use crate::history::sequence::unwrap;
use crate::session::keyed::Key;
use crate::session::{NodeId, PacketId, SessionTime};

/// A packet's number follows the one before by this many at the most: some may not have been recorded.
pub(super) const FOLLOWS_MAX: i64 = 8;

/// Who counts from the first number again had used this many.
pub(super) const ANEW_MIN: i64 = 16;

/// For so long, in ns, the first messages must have been acked before an ack can take that back, or
/// another message can have their numbers: acks that overtake each other, and copies that were under way
/// when the ack came, are younger.
pub(super) const ACKED_NS: i64 = 1_000_000_000;

/// Messages that share one row of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::history) struct MessageStream {
    pub from: NodeId,
    pub to: NodeId,
    /// How often these two had connected anew: numbering begins again.
    pub meeting: u16,
    /// Where each channel counts for itself.
    pub channel: Option<u64>,
    /// Whether the numbers are those of `@ordered_sequence`.
    pub ordered: bool,
}

impl Key for MessageStream {
    fn mixed(&self) -> usize {
        let channel = self
            .channel
            .map_or(0, |channel| (channel as usize).wrapping_add(1));
        let way = (self.from, self.to, self.meeting).mixed();
        way.wrapping_add(channel << 3) ^ usize::from(self.ordered) << 2
    }
}

/// From whom to whom packets go, and how often these two had connected anew.
pub(in crate::history) type NumberedLink = (NodeId, NodeId, u16);

impl Key for NumberedLink {
    fn mixed(&self) -> usize {
        (self.0, self.1).mixed() ^ usize::from(self.2)
    }
}

/// A row of sequence numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The highest place that was laid out.
    pub newest: Option<i64>,
    /// What has each place.
    pub line: Line,
}

impl Numbers {
    /// The place of the next number.
    pub fn lay_out(&mut self, sequence: Sequence) -> i64 {
        let first = i64::try_from(sequence.value).unwrap_or(i64::MAX);
        let near = self.newest.get_or_insert(first);
        let place = unwrap(sequence, *near);
        *near = place.max(*near);
        place
    }
}

/// What is known of a stream.
#[derive(Debug, Default)]
pub(super) struct OneStream {
    /// Of reliable sequences, the messages by place; of each the first copy.
    pub numbers: Numbers,
    /// Of ordered sequences, the messages at each place; of each the first copy.
    pub ordered: Line,
    /// Whether reliable sequences say nothing of the order.
    pub is_unordered: bool,
    /// Whether no other numbers bring them in an order.
    pub is_loose: bool,
    /// How far acks say that it came.
    pub acked: Option<AckedSoFar>,
}

/// What is known of nodes that part and meet again.
#[derive(Default)]
pub(super) struct Anew {
    /// Of which two nodes one said that it leaves.
    pub parted: BTreeSet<Pair>,
    /// Of each meeting after the first, when the one who did not begin it first heard of it.
    pub heard: BTreeMap<(Pair, u16), EventNumber>,
}

/// How far a stream came, by acks that name all before one.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckedSoFar {
    /// The latest place that was named, which packet did, and the number there.
    pub newest: i64,
    pub packet: PacketId,
    pub number: u64,
    /// Since when all first places came.
    pub left: Option<SessionTime>,
}

/// A packet as far as its messages are judged by it.
#[derive(Clone, Copy)]
pub(super) struct Spoken {
    pub packet: PacketId,
    pub link: (NodeId, NodeId),
    pub time: SessionTime,
    /// How often these two had met anew.
    pub at: u16,
    pub sequence: Option<Sequence>,
    /// Whether its number goes on where those of its way are.
    pub follows: bool,
}

impl Spoken {
    pub fn way(self) -> NumberedLink {
        (self.link.0, self.link.1, self.at)
    }
}

impl AckedSoFar {
    /// Whether an ack takes back what was acked of a stream that begins at `start`.
    pub fn falls(&self, start: i64, number: Sequence, time: SessionTime) -> bool {
        let place = unwrap(number, self.newest);
        is_fall(start, self.newest, place) && self.is_settled(time)
    }

    /// Whether the first places have been acked for long.
    pub fn is_settled(&self, time: SessionTime) -> bool {
        self.left
            .is_some_and(|left| time.0.saturating_sub(left.0) >= ACKED_NS)
    }
}

/// Whether acks fall back to where a row of numbers begins.
pub(super) fn is_fall(start: i64, newest: i64, place: i64) -> bool {
    let is_first = (-1..=FOLLOWS_MAX).contains(&place.saturating_sub(start));
    is_first && newest.saturating_sub(place) >= ANEW_MIN
}

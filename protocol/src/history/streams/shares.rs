//! The pass over all messages, on several processors: what passed between two nodes is taken on one of them.

use netreel_table::Column;

use crate::session::{PacketId, Session};

/// Which processor takes which packets.
pub(super) struct Shares<'a> {
    session: &'a Session,
    /// How many shares there are.
    pub count: usize,
    /// For each link its share.
    of_links: Vec<usize>,
}

impl<'a> Shares<'a> {
    pub fn new(session: &'a Session, count: usize) -> Shares<'a> {
        let links = session.links().iter();
        let of_links = links.map(|(from, to)| usize::from(from.0 ^ to.0) % count);
        Shares {
            session,
            count,
            of_links: of_links.collect(),
        }
    }

    /// For each packet its share.
    fn of_packets(&self) -> impl Iterator<Item = usize> + '_ {
        let links = self.session.link_numbers();
        links.map(|link| self.of_links.get(link).copied().unwrap_or_default())
    }

    /// The packets of a share.
    pub fn packets(&self, own: usize) -> impl Iterator<Item = PacketId> + '_ {
        let all = (0u32..).map(PacketId).zip(self.of_packets());
        all.filter_map(move |(packet, share)| (share == own).then_some(packet))
    }

    /// Of all packets, or all messages, the rows of the columns of each one's share, in their order.
    pub fn in_turn(&self, columns: &[Column], of_messages: bool) -> Column {
        let mut rows: Vec<_> = columns.iter().map(Column::iter).collect();
        let counts = self.session.message_counts();
        let mut all = Column::new();
        for (share, messages) in self.of_packets().zip(counts) {
            let count = if of_messages { messages } else { 1 };
            for _ in 0..count {
                all.push(rows[share].next().unwrap_or(0));
            }
        }
        all
    }
}

/// Numbers that are in order, of several columns of such.
pub(super) fn merged(columns: Vec<Column>) -> Column {
    let mut rows: Vec<_> = columns.iter().map(|rows| rows.iter().peekable()).collect();
    let next = || {
        let next = rows
            .iter_mut()
            .filter_map(|rows| Some((*rows.peek()?, rows)));
        next.min_by_key(|(row, _)| *row)?.1.next()
    };
    std::iter::from_fn(next).collect()
}

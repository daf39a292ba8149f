//! Connections: what two nodes said to each other between one meeting and the next.

use std::collections::BTreeMap;
use std::ops::Range;

use super::History;
use super::meetings::{Pair, pair, passed};
use crate::session::{NodeId, PacketId, Session, SessionTime};

/// Two nodes, from the packet with which they met to the last one before they met anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The two, in the order of their numbers.
    pub nodes: (NodeId, NodeId),
    /// How often the two have met, with this meeting, from 1 on. Numbers of packets and messages mean
    /// something in one epoch alone.
    pub epoch: u16,
    /// When its first packet was sent and its last one, as far as that is known, or else came.
    pub time: Range<SessionTime>,
    /// How many packets the first node sent the second, and the second the first.
    pub packets: [u64; 2],
    /// Who one of the two was before its address changed: the connection with it goes on in this one.
    pub goes_on: Option<NodeId>,
}

impl History {
    /// All connections, by their nodes, then by their epochs.
    pub fn connections(&self, session: &Session) -> Vec<Connection> {
        let again: BTreeMap<Pair, &Vec<PacketId>> =
            self.again.iter().map(|(pair, all)| (*pair, all)).collect();
        let moved = self.moved(session);
        let mut all: BTreeMap<(Pair, u16), Connection> = BTreeMap::new();
        for packet in (0..session.packet_count() as u32).map(PacketId) {
            let Some((link, at)) = session.link(packet).zip(passed(session, packet)) else {
                continue;
            };
            let pair = pair(link);
            let met = again
                .get(&pair)
                .map_or(0, |all| all.partition_point(|&first| first <= packet));
            let is_of_before = self.of_before.binary_search(&packet).is_ok();
            let met = met.saturating_sub(usize::from(is_of_before));
            let epoch = u16::try_from(met + 1).unwrap_or(u16::MAX);
            let connection = all.entry((pair, epoch)).or_insert_with(|| Connection {
                nodes: pair,
                epoch,
                time: at..at,
                packets: [0; 2],
                goes_on: moved.get(&pair).copied().filter(|_| epoch == 1),
            });
            connection.time.start = connection.time.start.min(at);
            connection.time.end = connection.time.end.max(at);
            connection.packets[usize::from(link.0 > link.1)] += 1;
        }
        all.into_values().collect()
    }

    /// The nodes that had another address before, each with the node that it was then.
    pub fn same_as(&self, session: &Session) -> BTreeMap<NodeId, NodeId> {
        let changes = self.changes(session);
        changes.map(|(node, before, _)| (node, before)).collect()
    }

    /// For each two nodes of which one had another address before, who it was then.
    fn moved(&self, session: &Session) -> BTreeMap<Pair, NodeId> {
        let changes = self.changes(session);
        let told = changes.map(|(node, before, partner)| (pair((node, partner)), before));
        told.collect()
    }

    /// Where an address changed: a node, which one it was before, and with whom it goes on.
    fn changes<'a>(
        &'a self,
        session: &'a Session,
    ) -> impl Iterator<Item = (NodeId, NodeId, NodeId)> + 'a {
        let findings = self.findings.iter();
        let changed = findings.filter(|it| it.rule == super::finding::ADDRESS_CHANGED);
        changed.filter_map(|finding| {
            let (before, partner) = session.link(finding.evidence.first()?.packet)?;
            Some((finding.node, before, partner))
        })
    }
}

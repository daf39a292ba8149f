//! The reels of a session, and what an event of one is in the session.

use std::sync::Arc;

use netreel_reel::{Endpoint, Event, EventNumber, Record, Reel};

use crate::session::{NodeId, PacketId, Session, SessionTime};

/// One reel of a session: a node's, a proxy's or an observer's.
pub struct SessionReel<'a> {
    /// What people call whoever recorded it.
    pub name: String,
    /// The reel.
    pub reel: &'a Arc<Reel>,
    /// The node whose reel it is; `None` for a proxy's or an observer's.
    pub node: Option<NodeId>,
    /// A proxy's reel has one for each node that it tells of.
    tracks: Vec<usize>,
    session: &'a Session,
}

impl Session {
    /// Each reel of the session once: those of nodes in the order of the nodes, then the others.
    pub fn session_reels(&self) -> Vec<SessionReel<'_>> {
        let of_nodes = (0..)
            .map(NodeId)
            .zip(&self.tracks)
            .filter_map(|(node, &track)| Some((Some(node), track?)));
        let all = (0..self.rows.tracks.len()).map(|track| (None, track));
        let mut reels: Vec<SessionReel<'_>> = Vec::new();
        for (node, place) in of_nodes.chain(all) {
            let Some(track) = self.rows.tracks.get(place) else {
                continue;
            };
            let Some(reel) = &track.reel else {
                continue;
            };
            let known = reels.iter_mut().find(|known| Arc::ptr_eq(known.reel, reel));
            if let Some(known) = known {
                if !known.tracks.contains(&place) {
                    known.tracks.push(place);
                }
                continue;
            }
            let is_own = |&node: &NodeId| self.node(node).is_some_and(|node| !node.proxied);
            let node = node.filter(is_own);
            let name = match (node, track.observer) {
                (Some(node), _) => self.name(node),
                (None, Some(observer)) => self.observer_name(observer),
                (None, None) => match reel.header().node.as_str() {
                    "" => "proxy".to_owned(),
                    name => name.to_owned(),
                },
            };
            reels.push(SessionReel {
                name,
                reel,
                node,
                tracks: vec![place],
                session: self,
            });
        }
        // Proxies' stand among the nodes that they tell of.
        reels.sort_by_key(|reel| reel.node.is_none());
        reels
    }
}

impl SessionReel<'_> {
    /// The packet that the event of a number sent, received or saw.
    pub fn packet(&self, number: EventNumber) -> Option<PacketId> {
        let mut tracks = self.tracks.iter();
        tracks.find_map(|&track| self.session.rows.packet_of(track, number))
    }

    /// The packet of the session that an event sent, received or saw, or tells something of.
    pub fn packet_of(&self, record: &Record<'_>) -> Option<PacketId> {
        match record.event {
            Event::Sent { .. } | Event::Received { .. } | Event::Seen { .. } => {
                self.packet(record.number)
            }
            Event::SendResult { of, .. } | Event::Cut { of, .. } | Event::Fault { of, .. } => {
                self.packet(of)
            }
            _ => None,
        }
    }

    /// When an event was, on the session's clock.
    pub fn time(&self, record: &Record<'_>) -> SessionTime {
        let track = self.tracks.first();
        let track = track.and_then(|&track| self.session.rows.tracks.get(track));
        track.map_or(SessionTime::default(), |track| {
            track.time_of(record.number, record.time)
        })
    }

    /// The first event at or after a moment of the session; `None` behind the last.
    pub fn event_at(&self, time: SessionTime) -> Option<EventNumber> {
        let first_of = |index: usize| {
            let block = self.reel.block(index).ok()?;
            let first = block.records().next()?;
            Some(self.time(&first))
        };
        // Blocks are in the order of time, but for a moment where threads met.
        let blocks: Vec<usize> = (0..self.reel.blocks()).collect();
        let after = blocks.partition_point(|&it| first_of(it).is_none_or(|first| first < time));
        let near = after.saturating_sub(1)..self.reel.blocks();
        near.filter_map(|index| self.reel.block(index).ok())
            .find_map(|block| {
                let mut records = block.records();
                let found = records.find(|record| self.time(record) >= time);
                found.map(|record| record.number)
            })
    }

    /// The node that has an endpoint, where a recorded one has it.
    pub fn name_of(&self, endpoint: Endpoint) -> String {
        let mut nodes = self.session.nodes.iter();
        let node = nodes.find(|node| node.endpoints.contains(&endpoint));
        node.map_or_else(|| endpoint.to_string(), |node| node.name.clone())
    }
}

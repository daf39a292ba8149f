//! What is computed once, when a session is opened, so that a frame costs the same for any length.

use std::sync::Arc;

use netreel_protocol::session::{Fate, PacketId, Session};
use netreel_table::Column;

use crate::crowd::{Crowd, Drawn, is_lost};
use crate::folds::{Folds, Idle};
use crate::links::{Links, Measuring};
use crate::times::Times;

/// What is known of a whole session: a few bytes a packet.
pub(crate) struct Index {
    /// All packets.
    pub all: Crowd,
    /// Who sends to whom.
    pub links: Arc<Links>,
    /// How many packets were lost after it is known that they were sent.
    pub lost: usize,
    /// Of how many packets nobody can say what became of them.
    pub unknown: usize,
    /// Receipts beyond the first, in the order of time.
    pub duplicates: Times,
    /// The packets of those.
    pub duplicate_packets: Column,
    /// When nothing happened.
    pub folds: Arc<Folds>,
}

impl Index {
    pub fn new(session: &Session) -> Index {
        let mut all = Crowd::of_session(session.nodes.len());
        let mut idle = Idle::new(session.span.start);
        let mut measuring = Measuring::default();
        // The packets that have one end alone, or none.
        let mut stubs = Column::new();
        let mut duplicates = Vec::new();
        let (mut lost, mut unknown) = (0, 0);
        for (id, packet) in (0..).map(PacketId).zip(session.packets()) {
            measuring.push(id, &packet);
            let (departed, received) = (packet.departed(), packet.received);
            if departed.is_none() || received.is_none() {
                stubs.push(u64::from(id.0));
            }
            let start = departed.or(received).map_or(0, |stamp| stamp.time.0);
            let end = received.or(departed).map_or(0, |stamp| stamp.time.0);
            idle.push(start.min(end), start.max(end));
            all.push(session, &Drawn::new(&packet, (start, end)));
            lost += usize::from(is_lost(&packet) && departed.is_some());
            unknown += usize::from(packet.fate == Fate::Unknown);
            duplicates.extend(packet.duplicates.iter().map(|stamp| (stamp.time.0, id.0)));
        }
        all.finish(session);
        // How long the others usually take is known now.
        let links = measuring.finish();
        for id in stubs.iter().map(|id| PacketId(id as u32)) {
            if let Some(packet) = session.packet(id) {
                let (start, end) = links.stretch(&packet);
                all.arrows
                    .widen(id.0 as usize, start.min(end), start.max(end));
            }
        }
        duplicates.sort_unstable();
        let mut duplicate_packets: Column =
            duplicates.iter().map(|&(_, id)| u64::from(id)).collect();
        duplicate_packets.shrink();
        Index {
            all,
            links: Arc::new(links),
            lost,
            unknown,
            duplicates: duplicates.into_iter().map(|(time, _)| time).collect(),
            duplicate_packets,
            folds: Arc::new(idle.finish(&session.span)),
        }
    }

    /// How many bytes of memory each part takes, with its name.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let duplicates = self.duplicates.memory() + self.duplicate_packets.memory();
        vec![
            ("arrows", self.all.arrows.memory()),
            ("lanes", self.all.memory() - self.all.arrows.memory()),
            ("links", self.links.memory()),
            ("duplicates", duplicates),
        ]
    }
}

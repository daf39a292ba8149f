//! What is computed once, when a session is opened, so that a frame costs the same for any length; of
//! a session that grows, most often once of each packet.

use std::sync::Arc;

use netreel_protocol::session::{Fate, PacketId, Session};
use netreel_table::Column;

use crate::crowd::{Crowd, Drawn};
use crate::folds::{Folds, Idle};
use crate::links::{Links, Measuring};
use crate::times::Times;

/// What is known of a whole session: a few bytes a packet.
#[derive(Default)]
pub struct Index {
    /// All packets.
    pub all: Crowd,
    /// Who sends to whom.
    pub links: Arc<Links>,
    /// How many packets were lost after it is known that they were sent.
    pub lost: usize,
    /// Of how many of those the call that was to send them failed.
    pub failed: usize,
    /// Of how many packets nobody can say what became of them.
    pub unknown: usize,
    /// Receipts beyond the first, in the order of time.
    pub duplicates: Times,
    /// The packets of those.
    pub duplicate_packets: Column,
    /// When nothing happened.
    pub folds: Arc<Folds>,
}

/// The index of the first packets of a session, on its way to that of all.
#[derive(Clone)]
pub struct Indexing {
    all: Crowd,
    idle: Idle,
    measuring: Measuring,
    /// The packets that nobody is known to have received, or to have sent: what is told of them may
    /// be told otherwise later, and is left for the end.
    loose: Column,
    /// When packets were received once more, and which.
    duplicates: Vec<(i64, u32)>,
    count: u32,
}

impl Indexing {
    /// Of no packet yet.
    pub fn new(session: &Session) -> Indexing {
        Indexing {
            all: Crowd::of_session(session.nodes.len()),
            idle: Idle::new(session.span.start),
            measuring: Measuring::default(),
            loose: Column::new(),
            duplicates: Vec::new(),
            count: 0,
        }
    }

    /// Takes the next packets, up to this one.
    pub fn go_on(&mut self, session: &Session, until: u32) {
        let packets = session.packets_from(PacketId(self.count));
        for (id, packet) in (self.count..until).map(PacketId).zip(packets) {
            self.measuring.push(id, &packet);
            let (departed, received) = (packet.departed(), packet.received);
            let start = departed.or(received).map_or(0, |stamp| stamp.time.0);
            let end = received.or(departed).map_or(0, |stamp| stamp.time.0);
            self.idle.push(start.min(end), start.max(end));
            let is_whole = departed.is_some() && received.is_some();
            if !is_whole || packet.fate != Fate::Received {
                self.loose.push(u64::from(id.0));
            }
            self.all
                .push(session, &Drawn::new(&packet, (start, end)).not_lost());
            for again in &packet.duplicates {
                self.duplicates.push((again.time.0, id.0));
            }
        }
        self.count = self.count.max(until);
    }

    /// The index of all packets, after the last one.
    pub fn finish(mut self, session: &Session) -> Index {
        // How long the others usually take is known now.
        let links = self.measuring.finish();
        let (mut lost, mut failed, mut unknown) = (0, 0, 0);
        for id in self.loose.iter().map(|id| PacketId(id as u32)) {
            let Some(packet) = session.packet(id) else {
                continue;
            };
            let (start, end) = links.stretch(&packet);
            self.all
                .arrows
                .widen(id.0 as usize, start.min(end), start.max(end));
            let drawn = Drawn::new(&packet, (start, end));
            if drawn.is_lost() {
                self.all.push_lost(session, &drawn);
                lost += 1;
                failed += usize::from(packet.fate == Fate::SendFailed);
            }
            unknown += usize::from(packet.fate == Fate::Unknown);
        }
        self.all.finish(session);
        let mut duplicates = std::mem::take(&mut self.duplicates);
        duplicates.sort_unstable();
        let mut duplicate_packets: Column =
            duplicates.iter().map(|&(_, id)| u64::from(id)).collect();
        duplicate_packets.shrink();
        Index {
            all: self.all,
            links: Arc::new(links),
            lost,
            failed,
            unknown,
            duplicates: duplicates.into_iter().map(|(time, _)| time).collect(),
            duplicate_packets,
            folds: Arc::new(self.idle.finish(&session.span)),
        }
    }
}

/// The indexes of a session whose reels grow: at each look the packets are arranged that are new, or so young
/// that they may be told otherwise; all of them where one was told otherwise that is older.
#[derive(Default)]
pub struct Grown {
    /// Of the packets that stood.
    known: Option<Indexing>,
}

impl Grown {
    /// The index of the session as it is now, of whose first packets so many are `unchanged` since the last
    /// look; as many as `stand` are hardly told otherwise from here on.
    pub fn look(&mut self, session: &Session, (unchanged, stand): (u32, u32)) -> Index {
        let known = self.known.take().filter(|known| known.count <= unchanged);
        let mut known = known.unwrap_or_else(|| Indexing::new(session));
        known.go_on(session, stand);
        self.known = Some(known.clone());
        known.go_on(session, session.packet_count() as u32);
        known.finish(session)
    }
}

impl Index {
    /// Of all packets of a session.
    pub fn new(session: &Session) -> Index {
        let mut all = Indexing::new(session);
        all.go_on(session, session.packet_count() as u32);
        all.finish(session)
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

//! What one reel holds: its packets as columns, its sockets, its holes.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::{
    BlockError, Damage, Endpoint, EventNumber, Header, Reel, SocketId, Time, Trigger, Walk,
};

use super::beliefs::GameWords;
use super::connections::Connection;
use super::ends::{Ends, RawEnd, Side};
use super::interfaces::Interfaces;
use super::ticks::Ticks;
use crate::session::ProxyFault;

/// A socket that a proxy opened for one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRelay {
    pub socket: SocketId,
    pub listener: SocketId,
    pub client: Endpoint,
}

/// What one reel holds of packets, on its own clock.
#[derive(Clone, Default)]
pub(crate) struct Scan {
    /// Where each socket was bound, in the order of opening.
    pub sockets: BTreeMap<SocketId, Endpoint>,
    /// Where sockets were bound before they were bound elsewhere: `connect` may change an address.
    pub former: BTreeSet<Endpoint>,
    /// Under which addresses others know the node, besides its own.
    pub aliases: BTreeSet<Endpoint>,
    /// The sockets that a proxy opened for clients.
    pub relays: Vec<RawRelay>,
    /// Whether a proxy tells this: packets were sent before it has them, and received after.
    pub told: bool,
    /// What a proxy did to packets, by the events with which they came.
    pub faults: BTreeMap<EventNumber, Vec<ProxyFault>>,
    /// How often a receive failed at which socket with which error code.
    pub receives_failed: BTreeMap<(SocketId, i32), u64>,
    /// The ports of sockets that were closed with packets in their buffers, and when.
    pub unread: BTreeMap<u16, Time>,
    /// How many packets the kernel dropped because a receive buffer was full, by its number of the
    /// socket, which processes that share it have in common.
    pub kernel_drops: BTreeMap<u64, u64>,
    /// In the reel's order.
    pub sends: Ends,
    /// In the reel's order.
    pub receives: Ends,
    /// Packets that passed by, in the reel's order.
    pub seen: Ends,
    /// Where an observer saw them, or where what a node sent and received was captured.
    pub interfaces: Interfaces,
    /// Whether the reel was made of a capture at the node.
    pub captured: bool,
    /// Whether the reel is that of an observer, who is no node.
    pub observer: bool,
    /// How many packets an observer is known to have missed.
    pub missed: u64,
    /// What stands in the reel for people, each once.
    pub notes: Vec<String>,
    /// The limit that ended the recording: `it has reached its time of 5 s`.
    pub limit: Option<String>,
    /// In the order of their first packets.
    pub connections: Vec<Connection>,
    /// The times of the first and the last event; `None` where the reel holds no event.
    pub span: Option<(Time, Time)>,
    /// Whether a socket was opened before the first packet: nothing crossed before the reel began.
    pub from_start: bool,
    /// Whether earlier parts of the recording are not there.
    pub begins_later: bool,
    /// In the reel's order.
    pub triggers: Vec<(Time, Trigger, String)>,
    /// For each tick its event and the last call of the game since the tick before.
    pub turns: Ticks,
    /// What the game said that it believed.
    pub words: GameWords,
    /// Stretches that the reel does not hold.
    pub holes: Vec<RawHole>,
    /// Whether events were missing at the very end, though the reel was closed in order.
    pub open_end: bool,
    /// Whether bytes of the reel that held events could not be read.
    pub damaged: bool,
    /// How many events were read.
    pub events: u64,
    /// The number after the last event that was read.
    pub expected: EventNumber,
}

/// See [`crate::session::Hole`].
#[derive(Clone, Debug)]
pub(crate) struct RawHole {
    /// `None` where the reel holds nothing before it.
    pub from: Option<Time>,
    pub until: Time,
    pub before: EventNumber,
    pub why: String,
}

impl Scan {
    /// Says what the reel as a whole tells, once all of it was read; `walk` met what is damaged.
    pub fn complete(&mut self, reel: &Reel, walk: &Walk) {
        let crossed = !(self.sends.is_empty() && self.receives.is_empty());
        if crossed || !self.sockets.is_empty() {
            self.observer = false;
        } else if !self.seen.is_empty() {
            self.observer = true;
        }
        // What a capture holds may have begun before it.
        self.from_start &= reel.header().engine != Header::CAPTURED;
        self.damages(reel, walk);
    }

    /// Where the node's sockets are bound, and were.
    pub fn bound(&self) -> impl Iterator<Item = &Endpoint> {
        self.sockets.values().chain(&self.former)
    }

    /// How many packets it has.
    pub fn packets(&self) -> usize {
        self.sends.len() + self.receives.len() + self.seen.len()
    }

    /// The packets of one side.
    pub fn side(&self, side: Side) -> &Ends {
        match side {
            Side::Send => &self.sends,
            Side::Receive => &self.receives,
            Side::Seen => &self.seen,
        }
    }

    /// All sides, to change them.
    pub fn sides_mut(&mut self) -> [&mut Ends; 3] {
        [&mut self.sends, &mut self.receives, &mut self.seen]
    }

    /// The connection of a packet.
    pub fn connection(&self, raw: &RawEnd) -> Option<&Connection> {
        self.connections.get(raw.connection as usize)
    }

    /// The port of the node's socket that a packet left or reached; 0 where the reel does not say.
    pub fn port(&self, raw: &RawEnd) -> u16 {
        self.connection(raw).map_or(0, |connection| connection.port)
    }

    /// What was done to a packet on its way, by the event that tells it.
    pub fn faults_of(&self, number: EventNumber) -> &[ProxyFault] {
        self.faults.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Whom a packet was sent to, or who it came from; of one that passed by, whom it was sent to.
    pub fn peer(&self, raw: &RawEnd) -> Option<Endpoint> {
        self.connection(raw)?.far(raw.forward)
    }

    /// Who sent a packet that passed by.
    pub fn source(&self, seen: &RawEnd) -> Option<Endpoint> {
        self.connection(seen)?.far(!seen.forward)
    }

    /// Gives connections the ports that were told of behind their first packets: what a socket sends
    /// first may be what binds it.
    pub fn fill_ports(&mut self) {
        for connection in &mut self.connections {
            if connection.port == 0
                && let Some(local) = self.sockets.get(&connection.socket)
            {
                connection.port = local.port();
            }
        }
    }

    /// Ties what is damaged to the holes that it left, and takes from the index what the damaged
    /// blocks would have said.
    fn damages(&mut self, reel: &Reel, walk: &Walk) {
        let infos = reel.block_infos();
        let at_opening = reel.damage().iter().map(|Damage { bytes, why }| {
            let next = infos.iter().find(|info| info.offset >= bytes.end);
            (next.map(|info| info.first), format_damage(reel, bytes, why))
        });
        let in_walk = walk.damaged.iter().map(|error| {
            let next = match error {
                BlockError::Damaged { index, .. } | BlockError::NoSuchBlock { index, .. } => {
                    infos.get(index.saturating_add(1))
                }
                BlockError::Read(read) => infos.iter().find(|info| info.offset > read.offset),
            };
            let words = match error {
                BlockError::Damaged { bytes, why, .. } => format_damage(reel, bytes, why),
                BlockError::NoSuchBlock { .. } | BlockError::Read(_) => error.to_string(),
            };
            (next.map(|info| info.first), words)
        });
        let mut damages: Vec<(Option<EventNumber>, String)> = at_opening.chain(in_walk).collect();
        damages.dedup();
        if damages.is_empty() {
            return;
        }
        self.damaged = true;
        for &(socket, local) in reel.endpoints() {
            self.sockets.entry(socket).or_insert(local);
        }
        self.fill_ports();
        let missing_at_end: u64 = walk
            .gaps
            .iter()
            .filter(|gap| gap.first >= self.expected)
            .map(|gap| gap.count)
            .fold(0, u64::saturating_add);
        if missing_at_end > 0 {
            let end = reel.span().map(|(_, last)| last);
            let last = self.span.map(|(_, last)| last);
            let before = EventNumber(self.expected.0.saturating_add(missing_at_end));
            self.holes.push(RawHole {
                from: last,
                until: end.max(last).unwrap_or_default(),
                before,
                why: format!("{missing_at_end} events at its end could not be read"),
            });
            self.open_end = true;
        }
        let mut told: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (next, words) in damages {
            // A hole lies before the first event that can be read again.
            let place = match next {
                Some(next) => self.holes.iter().position(|hole| hole.before >= next),
                None if missing_at_end > 0 => self.holes.len().checked_sub(1),
                None => None,
            };
            if let Some(place) = place {
                told.entry(place).or_default().push(words);
            }
        }
        for (place, words) in told {
            if let Some(hole) = self.holes.get_mut(place) {
                let more = match words.len().saturating_sub(DAMAGES_TOLD) {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let words: Vec<String> = words.into_iter().take(DAMAGES_TOLD).collect();
                hole.why = format!("{} ({}{more})", hole.why, words.join(", "));
            }
        }
    }
}

/// More damages of one hole are counted, not listed.
const DAMAGES_TOLD: usize = 3;

fn format_damage(reel: &Reel, bytes: &std::ops::Range<u64>, why: &str) -> String {
    let (mut bytes, mut part) = (bytes.clone(), String::new());
    if reel.parts().len() > 1
        && let Some((opened, start)) = reel.place(bytes.start)
    {
        bytes = start..start.saturating_add(bytes.end - bytes.start);
        part = format!("part {}, ", opened.part.number);
    }
    format!("{part}bytes {} to {}: {why}", bytes.start, bytes.end)
}

/// What stands for a payload when ends are matched: XXH3, 64 bits. Only ends of one link and one
/// length are compared, so that of ten million packets two different ones are taken for equal with
/// a chance of less than one in a hundred thousand.
pub(crate) fn hash(payload: &[u8]) -> u64 {
    twox_hash::xxhash3_64::Hasher::oneshot(payload)
}

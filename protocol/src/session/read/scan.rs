//! One pass over a reel: its packets as columns, its sockets, its holes.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::{
    BlockError, Damage, Endpoint, Event, EventNumber, Header, LIMIT_NOTE, Record, Reel,
    SendOutcome, SocketId, ThreadId, Time, Trigger, Walk,
};

use super::connections::Connection;
use super::ends::{Ends, RawEnd, Side};
use super::interfaces::Interfaces;
use crate::session::weave::rows::Ticks;
use crate::session::who::proxied::RawRelay;
use crate::session::{ProxyFault, ProxyId};

/// What one reel holds of packets, on its own clock.
#[derive(Default)]
pub(crate) struct Scan {
    /// Where each socket was bound, in the order of opening.
    pub sockets: BTreeMap<SocketId, Endpoint>,
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
    /// Reads the whole reel. Blocks that cannot be read become holes.
    pub fn new(reel: &Reel) -> Scan {
        let mut pass = Pass::new(reel);
        let engine = reel.header().engine.as_str();
        pass.scan.observer = engine == Header::OBSERVER;
        pass.scan.captured = engine == Header::CAPTURED;
        let walk = reel.for_each(|record| pass.take(record));
        let mut scan = pass.finish();
        let crossed = !(scan.sends.is_empty() && scan.receives.is_empty());
        if crossed || !scan.sockets.is_empty() {
            scan.observer = false;
        } else if !scan.seen.is_empty() {
            scan.observer = true;
        }
        // What a capture holds may have begun before it.
        scan.from_start &= engine != Header::CAPTURED;
        scan.damages(reel, &walk);
        scan
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

    /// The same, to change them.
    pub fn sides_mut(&mut self) -> [&mut Ends; 3] {
        [&mut self.sends, &mut self.receives, &mut self.seen]
    }

    /// Whom a packet was sent to, or who it came from; of one that passed by, whom it was sent to.
    pub fn peer(&self, raw: &RawEnd) -> Option<Endpoint> {
        let connection = self.connections.get(raw.connection as usize)?;
        connection.far(raw.forward)
    }

    /// Who sent a packet that passed by.
    pub fn source(&self, seen: &RawEnd) -> Option<Endpoint> {
        let connection = self.connections.get(seen.connection as usize)?;
        match seen.forward {
            true => connection.local,
            false => Some(connection.peer),
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
        let in_walk = walk.damaged.iter().map(|error| match error {
            BlockError::Damaged { index, bytes, why } => (
                infos.get(index.saturating_add(1)).map(|info| info.first),
                format_damage(reel, bytes, why),
            ),
            BlockError::NoSuchBlock { index, .. } => (
                infos.get(index.saturating_add(1)).map(|info| info.first),
                error.to_string(),
            ),
            BlockError::Read(read) => {
                let next = infos.iter().find(|info| info.offset > read.offset);
                (next.map(|info| info.first), error.to_string())
            }
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
        for connection in &mut self.connections {
            if let Some(local) = self.sockets.get(&connection.socket) {
                connection.port = local.port();
            }
        }
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

/// More notes of a reel are not kept: a program may write one a packet.
const NOTES_MAX: usize = 64;

/// A scan under way.
#[derive(Default)]
struct Pass {
    scan: Scan,
    last: Option<Time>,
    off_since: Option<Time>,
    /// When it was told last how many packets were missed.
    told_missed: Option<Time>,
    /// The last call of the game since the last tick.
    asked: Option<(EventNumber, Time)>,
    known: BTreeMap<(SocketId, Endpoint), u32>,
    /// The connection of the packet before.
    latest: Option<(SocketId, Endpoint, u32)>,
    /// Parts of the recording that others lack before: their first event, whether recording was on
    /// there, and what to say of the hole before it. The next one last.
    resumes: Vec<(EventNumber, bool, Option<String>)>,
    /// Connections that were seen at an interface; both ways lead to the same.
    passing: BTreeMap<(ThreadId, Endpoint, Endpoint), (u32, bool)>,
}

impl Pass {
    fn new(reel: &Reel) -> Pass {
        let mut pass = Pass::default();
        pass.scan.expected = reel.first_number();
        pass.scan.begins_later = reel.first_number() > EventNumber(0);
        for opened in reel.parts() {
            for &(socket, local) in &opened.part.sockets {
                pass.scan.sockets.entry(socket).or_insert(local);
            }
            let number = opened.part.number;
            let missing = reel
                .missing_parts()
                .iter()
                .find(|it| it.parts.end == number);
            if let Some(missing) = missing {
                let first = opened.part.first;
                let why = (first > pass.scan.expected).then(|| missing.to_string());
                pass.resumes.push((first, opened.part.on, why));
            }
        }
        pass.resumes.reverse();
        pass
    }

    fn take(&mut self, record: &Record<'_>) {
        let time = record.time;
        let before = self.last;
        if self.scan.begins_later && self.scan.events == 0 {
            let why = format!("what came before event {} is not there", record.number);
            self.hole(None, time, record.number, why);
        }
        if record.number > self.scan.expected {
            let count = record.number.0 - self.scan.expected.0;
            let resumes = self.resumes.last_mut();
            let why = resumes.and_then(|(first, _, why)| why.take_if(|_| *first <= record.number));
            let why = why.unwrap_or_else(|| format!("{count} events could not be read"));
            self.hole(before, time, record.number, why);
        }
        while let Some((_, on, _)) = self.resumes.pop_if(|(first, ..)| *first <= record.number) {
            self.off_since = if on {
                None
            } else {
                self.off_since.or(Some(time))
            };
        }
        self.scan.expected = record.number.next();
        self.scan.limit = match record.event {
            Event::Note { text } => limit(text),
            _ => None,
        };
        match record.event {
            Event::SocketOpened { socket, local } => {
                let first = self.scan.sends.is_empty() && self.scan.receives.is_empty();
                if first && self.scan.holes.is_empty() && !self.scan.begins_later {
                    self.scan.from_start = true;
                }
                self.scan.sockets.insert(socket, local);
            }
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                let connection = self.connection(socket, to, true);
                self.scan
                    .sends
                    .push(&end(record, connection, true, payload));
                self.captured(record.thread);
            }
            Event::SendResult { of, outcome } => self.result(of, outcome),
            Event::Received {
                socket,
                from,
                payload,
            } => {
                let connection = self.connection(socket, from, false);
                let end = end(record, connection, true, payload);
                self.scan.receives.push(&end);
                self.captured(record.thread);
            }
            Event::ReceiveFailed { socket, code } => {
                let failed = self.scan.receives_failed.entry((socket, code));
                *failed.or_default() += 1;
            }
            Event::Seen { from, to, payload } => {
                let (connection, forward) = self.passing(record.thread, from, to);
                let end = end(record, connection, forward, payload);
                self.scan.seen.push(&end);
                self.scan.interfaces.seen(record.thread);
            }
            Event::Interface { link_type, name } => {
                self.scan.interfaces.told(record.thread, link_type, name);
            }
            Event::Cut { of, length } => self.cut(of, length),
            Event::CaptureDrops { count } => {
                self.scan.missed = self.scan.missed.saturating_add(count);
                // What an observer missed, others may have; what a node's reel lacks is a hole.
                let since = self.told_missed.replace(time);
                if count > 0 && !self.scan.observer {
                    let why = match count {
                        1 => "1 packet was not captured".to_owned(),
                        _ => format!("{count} packets were not captured"),
                    };
                    self.hole(since, time, record.number, why);
                }
            }
            Event::Note { text } if self.scan.notes.len() < NOTES_MAX => {
                let text = String::from_utf8_lossy(text).into_owned();
                if !self.scan.notes.contains(&text) {
                    self.scan.notes.push(text);
                }
            }
            Event::Relay {
                socket,
                listener,
                client,
            } => self.scan.relays.push(RawRelay {
                socket,
                listener,
                client,
            }),
            Event::Fault { of, verdict } => {
                // Which proxy it is shows where the reel is taken apart.
                let proxy = ProxyId::default();
                let faults = self.scan.faults.entry(of).or_default();
                faults.push(ProxyFault { proxy, verdict });
            }
            Event::Triggered { trigger, text } => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.scan.triggers.push((time, trigger, text));
            }
            Event::Tick { .. } => self.scan.turns.push(record.number, self.asked.take()),
            Event::Input { .. } => self.asked = Some((record.number, time)),
            Event::Switched { on: false } => self.off_since = self.off_since.or(Some(time)),
            Event::Switched { on: true } => {
                if let Some(since) = self.off_since.take() {
                    self.hole(Some(since), time, record.number, "switched off".to_owned());
                }
            }
            Event::Dropped { count } => {
                self.hole(
                    before.or(Some(time)),
                    time,
                    record.number,
                    format!("{count} events were dropped"),
                );
            }
            Event::WriteFailed { code } => {
                let error = std::io::Error::from_raw_os_error(code);
                self.hole(
                    Some(time),
                    time,
                    record.number.next(),
                    format!("writing failed: {error}"),
                );
                self.scan.open_end = true;
            }
            _ => {}
        }
        // A send's result has the time of its send, which may be before other events.
        let latest = self.last.map_or(time, |last| last.max(time));
        self.last = Some(latest);
        let first = self.scan.span.map_or(time, |span| span.0.min(time));
        self.scan.span = Some((first, latest));
        self.scan.events += 1;
    }

    /// Counts a packet of a node at the interface where it was captured.
    fn captured(&mut self, thread: ThreadId) {
        if self.scan.captured {
            self.scan.interfaces.seen(thread);
        }
    }

    /// The connection of a packet; `out`: the node sends it.
    fn connection(&mut self, socket: SocketId, peer: Endpoint, out: bool) -> u32 {
        if let Some((.., known)) = self
            .latest
            .filter(|&(at, with, _)| (at, with) == (socket, peer))
        {
            return known;
        }
        if let Some(&known) = self.known.get(&(socket, peer)) {
            self.latest = Some((socket, peer, known));
            return known;
        }
        let place = self.scan.connections.len() as u32;
        let port = self
            .scan
            .sockets
            .get(&socket)
            .map_or(0, |local| local.port());
        let connection = Connection::new(socket, port, peer, out);
        self.scan.connections.push(connection);
        self.known.insert((socket, peer), place);
        place
    }

    /// The connection of a packet that passed an interface, and whether it goes the way of the
    /// connection's first.
    fn passing(&mut self, at: ThreadId, from: Endpoint, to: Endpoint) -> (u32, bool) {
        if let Some(&known) = self.passing.get(&(at, from, to)) {
            return known;
        }
        let place = self.scan.connections.len() as u32;
        self.scan.connections.push(Connection::seen(at, from, to));
        self.passing.insert((at, to, from), (place, false));
        self.passing.insert((at, from, to), (place, true));
        (place, true)
    }

    /// Notes that the reel has only the first bytes of a packet.
    fn cut(&mut self, of: EventNumber, length: u32) {
        for ends in self.scan.sides_mut() {
            ends.note_whole(of, length);
        }
    }

    fn result(&mut self, of: EventNumber, outcome: SendOutcome) {
        match outcome {
            SendOutcome::Sent => {}
            SendOutcome::Short(_) | SendOutcome::Failed(_) => self.scan.sends.note_failed(of),
        }
    }

    fn hole(&mut self, from: Option<Time>, until: Time, before: EventNumber, why: String) {
        self.scan.holes.push(RawHole {
            from,
            until,
            before,
            why,
        });
    }

    fn finish(mut self) -> Scan {
        if let Some(since) = self.off_since {
            let end = self.last.unwrap_or(since);
            self.hole(
                Some(since),
                end,
                self.scan.expected,
                "switched off until its end".to_owned(),
            );
            self.scan.open_end = true;
        }
        if let Some(limit) = &self.scan.limit {
            let note = format!("{LIMIT_NOTE}{limit}");
            if !self.scan.notes.contains(&note) {
                self.scan.notes.push(note);
            }
        }
        // What a socket sends first may be what binds it.
        for connection in &mut self.scan.connections {
            if connection.port == 0
                && let Some(local) = self.scan.sockets.get(&connection.socket)
            {
                connection.port = local.port();
            }
        }
        self.scan
    }
}

/// The limit that ended a recording, where a note says so.
fn limit(note: &[u8]) -> Option<String> {
    let note = std::str::from_utf8(note).ok()?;
    note.strip_prefix(LIMIT_NOTE).map(str::to_owned)
}

/// An event that sent or received a packet, or saw it pass.
fn end(record: &Record<'_>, connection: u32, forward: bool, payload: &[u8]) -> RawEnd {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    RawEnd {
        number: record.number,
        time: record.time,
        connection,
        hash: hash(payload),
        length,
        whole: length,
        failed: false,
        forward,
    }
}

/// What stands for a payload when ends are matched: XXH3, 64 bits. Only ends of one link and one
/// length are compared, so that of ten million packets two different ones are taken for equal with
/// a chance of less than one in a hundred thousand.
pub(crate) fn hash(payload: &[u8]) -> u64 {
    twox_hash::xxhash3_64::Hasher::oneshot(payload)
}

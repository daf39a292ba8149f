//! A scan under way: the events of a reel, one after the other. It goes on wherever it was left.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netreel_reel::{
    CallId, Endpoint, Event, EventNumber, Header, LIMIT_NOTE, Record, Reel, SendOutcome, SocketId,
    ThreadId, Time, Walk, os_code_words,
};

use super::beliefs::Printing;
use super::connections::Connection;
use super::ends::{RawEnd, Side};
use super::scan::{RawHole, Scan, hash};
use crate::session::read::scan::RawRelay;
use crate::session::{ProxyFault, ProxyId};

/// More notes of a reel are not kept: a program may write one a packet.
const NOTES_MAX: usize = 64;

/// How many connections are found without a search. A power of two.
const RECENT: usize = 1 << 12;

/// A scan under way.
#[derive(Clone, Default)]
pub(crate) struct Pass {
    pub scan: Scan,
    /// Whether ends are shown and not kept.
    forgets: bool,
    /// The parts of the recording that are known: their numbers and their first events.
    parts: Vec<(u32, EventNumber)>,
    last: Option<Time>,
    off_since: Option<Time>,
    /// When it was told last how many packets were missed.
    told_missed: Option<Time>,
    /// The last call of the game since the last tick.
    asked: Option<(EventNumber, Time)>,
    /// Lines that were printed in part.
    printing: Printing,
    known: BTreeMap<(SocketId, Endpoint), u32>,
    /// Of [`Pass::known`], those that packets were of lately, each where [`recent`] says.
    recent: Vec<Option<(SocketId, Endpoint, u32)>>,
    /// Parts of the recording that others lack before: their first event, whether recording was on
    /// there, and what to say of the hole before it. The next one last.
    resumes: Vec<(EventNumber, bool, Option<String>)>,
    /// Connections that were seen at an interface; both ways lead to the same.
    passing: BTreeMap<(ThreadId, Endpoint, Endpoint), (u32, bool)>,
}

impl Pass {
    pub fn new(reel: &Reel) -> Pass {
        let mut pass = Pass::default();
        let engine = reel.header().engine.as_str();
        pass.scan.observer = engine == Header::OBSERVER;
        pass.scan.captured = engine == Header::CAPTURED;
        pass.scan.expected = reel.first_number();
        pass.scan.begins_later = reel.first_number() > EventNumber(0);
        pass.add_parts(reel);
        pass
    }

    /// Shows the ends of packets, and keeps none.
    pub fn that_forgets() -> Pass {
        Pass {
            forgets: true,
            ..Pass::default()
        }
    }

    /// Takes in the parts that the recording has by now; whether those that were read before stay
    /// as they were.
    pub fn add_parts(&mut self, reel: &Reel) -> bool {
        let parts: Vec<_> = reel
            .parts()
            .iter()
            .map(|opened| (opened.part.number, opened.part.first))
            .collect();
        if !parts.starts_with(&self.parts) {
            return false;
        }
        let known = std::mem::replace(&mut self.parts, parts).len();
        let mut stays = true;
        for opened in reel.parts().iter().skip(known) {
            for &(socket, local) in &opened.part.sockets {
                // What was open there was opened before, unless that was not read.
                stays &= known == 0 || self.scan.sockets.contains_key(&socket);
                self.scan.sockets.entry(socket).or_insert(local);
            }
            let number = opened.part.number;
            let missing = reel
                .missing_parts()
                .iter()
                .find(|it| it.parts.end == number);
            if let Some(missing) = missing {
                let first = opened.part.first;
                let why = (first > reel.first_number()).then(|| missing.to_string());
                self.resumes.insert(0, (first, opened.part.on, why));
            }
        }
        stays
    }

    /// A call that tells what was left in a socket's receive buffer: behind the descriptor the
    /// socket, the packets that were dropped, and the bytes that nobody read.
    fn called(&mut self, call: CallId, details: &[u8], time: Time) {
        let told = match call {
            CallId::CLOSE => details.get(4..),
            CallId::RECEIVE_QUEUE => Some(details),
            _ => None,
        };
        let Some([a, b, dropped @ .., _, _, _, _]) = told.and_then(<[u8]>::first_chunk::<10>)
        else {
            return;
        };
        let left = told.and_then(|told| told.get(6..)).unwrap_or_default();
        let is_left = left.iter().take(4).any(|&byte| byte != 0);
        let socket = SocketId(u16::from_le_bytes([*a, *b]));
        if let Some(inode) = left.get(4..).and_then(<[u8]>::first_chunk::<8>) {
            let dropped = u64::from(u32::from_le_bytes(*dropped));
            if dropped > 0 {
                let most = self.scan.kernel_drops.entry(u64::from_le_bytes(*inode));
                let most = most.or_default();
                *most = dropped.max(*most);
            }
        }
        if let Some(local) = self.scan.sockets.get(&socket).filter(|_| is_left) {
            self.scan.unread.insert(local.port(), time);
        }
    }

    /// Takes the next event; the end of a packet that it is.
    pub fn take(&mut self, record: &Record<'_>) -> Option<(Side, RawEnd)> {
        let mut taken = None;
        let time = record.time;
        let before = self.last;
        self.missing_before(record, before);
        self.scan.expected = record.number.next();
        self.scan.limit = match record.event {
            Event::Note { text } => limit(text),
            _ => None,
        };
        match record.event {
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                let connection = self.connection(socket, to, true);
                taken = Some((Side::Send, end(record, connection, true, payload)));
                self.captured(record.thread);
            }
            Event::SendResult { of, outcome } => {
                if outcome != SendOutcome::Sent {
                    self.scan.sends.note_failed(of);
                }
            }
            Event::Received {
                socket,
                from,
                payload,
            } => {
                let connection = self.connection(socket, from, false);
                taken = Some((Side::Receive, end(record, connection, true, payload)));
                self.captured(record.thread);
            }
            Event::Seen { from, to, payload } => {
                let (connection, forward) = self.passing(record.thread, from, to);
                taken = Some((Side::Seen, end(record, connection, forward, payload)));
                self.scan.interfaces.seen(record.thread);
            }
            Event::CaptureDrops { .. }
            | Event::Switched { .. }
            | Event::Dropped { .. }
            | Event::WriteFailed { .. } => self.lacks(record, before),
            _ => self.beside(record),
        }
        if let Some((side, end)) = &taken
            && !self.forgets
        {
            self.scan.sides_mut()[*side as usize].push(end);
        }
        // A send's result has the time of its send, which may be before other events.
        let latest = self.last.map_or(time, |last| last.max(time));
        self.last = Some(latest);
        let first = self.scan.span.map_or(time, |span| span.0.min(time));
        self.scan.span = Some((first, latest));
        self.scan.events += 1;
        taken
    }

    /// What is missing between the event before and one.
    fn missing_before(&mut self, record: &Record<'_>, before: Option<Time>) {
        let time = record.time;
        if self.scan.begins_later && self.scan.events == 0 {
            let why = format!("what came before event {} is not there", record.number);
            self.hole(None, time, record.number, why);
        }
        if record.number > self.scan.expected {
            let count = record.number.0 - self.scan.expected.0;
            let resumes = self.resumes.last_mut();
            let why = resumes
                .and_then(|(first, _, why)| why.take_if(|_| *first <= record.number))
                .unwrap_or_else(|| format!("{count} events could not be read"));
            self.hole(before, time, record.number, why);
        }
        while let Some((_, on, _)) = self.resumes.pop_if(|(first, ..)| *first <= record.number) {
            self.off_since = if on {
                None
            } else {
                self.off_since.or(Some(time))
            };
        }
    }

    /// Takes an event that tells that some were not recorded.
    fn lacks(&mut self, record: &Record<'_>, before: Option<Time>) {
        let time = record.time;
        match record.event {
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
                let error = os_code_words(code);
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
    }

    /// Takes an event that is no packet and makes no hole.
    fn beside(&mut self, record: &Record<'_>) {
        let time = record.time;
        match record.event {
            Event::Tick { .. } | Event::Fault { .. } | Event::Triggered { .. } if self.forgets => {}
            Event::SocketOpened { socket, local } => {
                let first = self.scan.sends.is_empty() && self.scan.receives.is_empty();
                if first && self.scan.holes.is_empty() && !self.scan.begins_later {
                    self.scan.from_start = true;
                }
                self.opened(socket, local);
            }
            Event::Called {
                call: CallId::PRINTED,
                details,
                ..
            } if !self.forgets => {
                let at = (record.number, time);
                self.printing.take(at, details, &mut self.scan.words);
            }
            Event::Believed { .. } if !self.forgets => self.scan.words.take_event(record),
            Event::Called { call, details, .. } => self.called(call, details, time),
            Event::ReceiveFailed { socket, code } => {
                let failed = self.scan.receives_failed.entry((socket, code));
                *failed.or_default() += 1;
            }
            Event::Interface { link_type, name } => {
                self.scan.interfaces.told(record.thread, link_type, name);
            }
            // The reel has only the first bytes of a packet.
            Event::Cut { of, length } => {
                let sides = self.scan.sides_mut().into_iter();
                sides.for_each(|ends| ends.note_whole(of, length));
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
                let proxy = if self.scan.observer {
                    ProxyId::NETWORK
                } else {
                    ProxyId::default()
                };
                let faults = self.scan.faults.entry(of).or_default();
                faults.push(ProxyFault { proxy, verdict });
            }
            Event::Triggered { trigger, text } => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.scan.triggers.push((time, trigger, text));
            }
            Event::Tick { .. } => {
                let begins = (record.number, time);
                self.scan.turns.push(begins, self.asked.take());
            }
            Event::Input { .. } => self.asked = Some((record.number, time)),
            _ => {}
        }
    }

    /// Counts a packet of a node at the interface where it was captured.
    fn captured(&mut self, thread: ThreadId) {
        if self.scan.captured {
            self.scan.interfaces.seen(thread);
        }
    }

    /// A socket is bound. What it had before under another port was of other connections.
    fn opened(&mut self, socket: SocketId, local: Endpoint) {
        let Some(before) = self.scan.sockets.insert(socket, local) else {
            return;
        };
        if before.port() != 0 && before != local {
            self.scan.former.insert(before);
        }
        if before.port() == local.port() {
            return;
        }
        let lowest = Endpoint::from(([0; 4], 0));
        let known: Vec<_> = self
            .known
            .range((socket, lowest)..)
            .take_while(|((of, _), _)| *of == socket)
            .map(|(key, place)| (*key, *place))
            .collect();
        for (key, place) in known {
            match self.scan.connections.get_mut(place as usize) {
                // What a socket sends first may be what binds it.
                Some(connection) if connection.port == 0 => connection.port = local.port(),
                _ => {
                    self.known.remove(&key);
                    self.recent.clear();
                }
            }
        }
    }

    /// The connection of a packet; `out`: the node sends it.
    fn connection(&mut self, socket: SocketId, peer: Endpoint, out: bool) -> u32 {
        let recent = recent(socket, peer);
        if let Some(&Some((at, with, known))) = self.recent.get(recent)
            && (at, with) == (socket, peer)
        {
            return known;
        }
        let known = self
            .known
            .get(&(socket, peer))
            .copied()
            .unwrap_or_else(|| self.new_connection(socket, peer, out));
        self.recent.resize(RECENT, None);
        if let Some(slot) = self.recent.get_mut(recent) {
            *slot = Some((socket, peer, known));
        }
        known
    }

    fn new_connection(&mut self, socket: SocketId, peer: Endpoint, out: bool) -> u32 {
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

    fn hole(&mut self, from: Option<Time>, until: Time, before: EventNumber, why: String) {
        self.scan.holes.push(RawHole {
            from,
            until,
            before,
            why,
        });
    }

    /// What was read; `walk` met what of the reel is damaged.
    pub fn finish(mut self, reel: &Reel, walk: &Walk) -> Scan {
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
        self.scan.fill_ports();
        self.scan.complete(reel, walk);
        self.scan
    }
}

/// The place in [`Pass::recent`] of a connection, which it shares with others.
fn recent(socket: SocketId, peer: Endpoint) -> usize {
    let address = match peer.ip() {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => address.to_bits() as u32,
    };
    let mixed = (address ^ u32::from(socket.0) << 16 ^ u32::from(peer.port()) << 3)
        .wrapping_mul(0x9e37_79b1);
    mixed as usize >> (u32::BITS - RECENT.trailing_zeros())
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

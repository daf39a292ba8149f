//! One pass over a reel: its packets as columns, its sockets, its holes.

use std::collections::BTreeMap;

use netreel_reel::{Endpoint, Event, EventNumber, Record, Reel, SendOutcome, SocketId, Time};

/// What one reel holds of packets, on its own clock.
#[derive(Default)]
pub(super) struct Scan {
    /// Where each socket was bound, in the order of opening.
    pub sockets: BTreeMap<SocketId, Endpoint>,
    /// In the reel's order.
    pub sends: Vec<RawPacket>,
    /// In the reel's order.
    pub receives: Vec<RawPacket>,
    /// All payloads, one after the other.
    pub bytes: Vec<u8>,
    /// The times of the first and the last event; `None` where the reel holds no event.
    pub span: Option<(Time, Time)>,
    /// Whether a socket was opened before the first packet: nothing crossed before the reel began.
    pub from_start: bool,
    /// For each tick its event and the last call of the game since the tick before.
    pub turns: Vec<(EventNumber, Option<(EventNumber, Time)>)>,
    /// Stretches that the reel does not hold.
    pub holes: Vec<RawHole>,
    /// Whether events were missing at the very end, though the reel was closed in order.
    pub open_end: bool,
    /// How many events were read.
    pub events: u64,
}

/// A packet at one end of its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawPacket {
    pub number: EventNumber,
    pub time: Time,
    /// Whom it was sent to, or who it came from.
    pub peer: Endpoint,
    /// Of the payload.
    pub hash: u64,
    /// Where the payload starts in [`Scan::bytes`].
    pub start: usize,
    pub length: u32,
    /// Whether the send call failed.
    pub failed: bool,
}

/// See [`super::Hole`].
#[derive(Clone, Debug)]
pub(super) struct RawHole {
    pub from: Time,
    pub until: Time,
    pub before: EventNumber,
    pub why: String,
}

impl Scan {
    /// Reads the whole reel. Blocks that cannot be read become holes.
    pub fn new(reel: &Reel) -> Scan {
        let mut pass = Pass::default();
        reel.for_each(|record| pass.take(record));
        pass.finish()
    }

    /// The payload of one of its packets.
    pub fn payload(&self, packet: &RawPacket) -> &[u8] {
        let end = packet.start.saturating_add(packet.length as usize);
        self.bytes.get(packet.start..end).unwrap_or(&[])
    }
}

/// A scan under way.
#[derive(Default)]
struct Pass {
    scan: Scan,
    expected: EventNumber,
    last: Option<Time>,
    off_since: Option<Time>,
    /// The last call of the game since the last tick.
    asked: Option<(EventNumber, Time)>,
}

impl Pass {
    fn take(&mut self, record: &Record<'_>) {
        let time = record.time;
        let before = self.last.unwrap_or(time);
        if record.number > self.expected {
            let count = record.number.0 - self.expected.0;
            self.hole(
                before,
                time,
                record.number,
                format!("{count} events could not be read"),
            );
        }
        self.expected = record.number.next();
        match record.event {
            Event::SocketOpened { socket, local } => {
                if self.scan.sends.is_empty() && self.scan.receives.is_empty() {
                    self.scan.from_start = true;
                }
                self.scan.sockets.insert(socket, local);
            }
            Event::Sent { to, payload, .. } => {
                let packet = self.packet(record, to, payload);
                self.scan.sends.push(packet);
            }
            Event::SendResult { of, outcome } => self.result(of, outcome),
            Event::Received { from, payload, .. } => {
                let packet = self.packet(record, from, payload);
                self.scan.receives.push(packet);
            }
            Event::Tick { .. } => self.scan.turns.push((record.number, self.asked.take())),
            Event::Input { .. } => self.asked = Some((record.number, time)),
            Event::Switched { on: false } => self.off_since = self.off_since.or(Some(time)),
            Event::Switched { on: true } => {
                if let Some(since) = self.off_since.take() {
                    self.hole(since, time, record.number, "switched off".to_owned());
                }
            }
            Event::Dropped { count } => {
                self.hole(
                    before,
                    time,
                    record.number,
                    format!("{count} events were dropped"),
                );
            }
            Event::WriteFailed { code } => {
                let error = std::io::Error::from_raw_os_error(code);
                self.hole(
                    time,
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

    fn packet(&mut self, record: &Record<'_>, peer: Endpoint, payload: &[u8]) -> RawPacket {
        let start = self.scan.bytes.len();
        self.scan.bytes.extend_from_slice(payload);
        RawPacket {
            number: record.number,
            time: record.time,
            peer,
            hash: hash(payload),
            start,
            length: u32::try_from(payload.len()).unwrap_or(u32::MAX),
            failed: false,
        }
    }

    fn result(&mut self, of: EventNumber, outcome: SendOutcome) {
        let failed = match outcome {
            SendOutcome::Sent => return,
            SendOutcome::Short(_) | SendOutcome::Failed(_) => true,
        };
        if let Ok(place) = self
            .scan
            .sends
            .binary_search_by_key(&of, |send| send.number)
        {
            self.scan.sends[place].failed = failed;
        }
    }

    fn hole(&mut self, from: Time, until: Time, before: EventNumber, why: String) {
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
                since,
                end,
                self.expected,
                "switched off until its end".to_owned(),
            );
            self.scan.open_end = true;
        }
        self.scan
    }
}

/// A quick 64-bit hash of a payload. Equal hashes are compared byte by byte afterwards.
fn hash(payload: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = (payload.len() as u64).wrapping_mul(FACTOR);
    let mut words = payload.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        state = (state.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
    let mut rest = [0; 8];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    state = (state.rotate_left(23) ^ u64::from_le_bytes(rest)).wrapping_mul(FACTOR);
    state ^ (state >> 32)
}

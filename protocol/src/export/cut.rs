//! A part of a session as a session of its own: reels that hold some of its packets.

use std::ops::Range;

use netreel_reel::{Append, Event, EventNumber, Header, Record, ReelWriter, WriteError};

use crate::session::{Packet, PacketId, SessionReel, SessionTime};

/// What of a session stays.
pub struct Cut<'a> {
    /// The packets. Both ends of each stay, with what is told of them.
    pub packets: &'a dyn Fn(PacketId) -> bool,
    /// When: what is no packet stays where it was in this time.
    pub time: Range<SessionTime>,
    /// What stands in the last note of each reel: what this was cut from, and how.
    pub said: &'a str,
}

impl Packet {
    /// Whether some of the packet's way lies in a time.
    pub fn is_within(&self, time: &Range<SessionTime>) -> bool {
        let first = self.first().map(|stamp| stamp.time);
        let last = self.received.map(|stamp| stamp.time).or(first);
        let (Some(first), Some(last)) = (first, last) else {
            return false;
        };
        first < time.end && last >= time.start
    }
}

impl Cut<'_> {
    /// Writes one reel of the session, as far as it stays, and returns how many packets of it do: sends,
    /// receipts and sightings. Sockets stay, and what was lost of the recording; ticks, notes and triggers
    /// of the time. What a replay would need goes: a cut can be looked at, not played.
    ///
    /// # Errors
    /// The bytes could not be written.
    pub fn write<W: Append>(&self, of: &SessionReel<'_>, out: W) -> Result<u64, WriteError> {
        let mut writer = ReelWriter::create(out, &self.header(of.reel.header()))?;
        // An event that tells of another names its number, which is another one here.
        let mut places: Vec<(EventNumber, EventNumber)> = Vec::new();
        let place = |places: &[(EventNumber, EventNumber)], of: EventNumber| {
            let at = places.binary_search_by_key(&of, |(was, _)| *was).ok()?;
            places.get(at).map(|(_, is)| *is)
        };
        let (mut packets, mut last) = (0, None);
        let mut failed = None;
        of.reel.for_each(|record| {
            if failed.is_some() {
                return;
            }
            last = Some((record.time, record.thread));
            let mut push = |record: &Record<'_>, event: Event<'_>| {
                let number = writer.next_number();
                let made = Record {
                    number,
                    event,
                    ..*record
                };
                writer.push(&made).map(|()| number)
            };
            let mut write = || -> Result<(), WriteError> {
                let event = match record.event {
                    Event::Sent { .. } | Event::Received { .. } | Event::Seen { .. } => {
                        if of.packet(record.number).is_some_and(self.packets) {
                            packets += 1;
                            let number = push(record, record.event)?;
                            places.push((record.number, number));
                        }
                        return Ok(());
                    }
                    Event::SendResult { of, outcome } => {
                        let of = place(&places, of);
                        of.map(|of| Event::SendResult { of, outcome })
                    }
                    Event::Cut { of, length } => {
                        place(&places, of).map(|of| Event::Cut { of, length })
                    }
                    Event::Fault { of, verdict } => {
                        place(&places, of).map(|of| Event::Fault { of, verdict })
                    }
                    event if self.stays(of, record) => Some(event),
                    _ => None,
                };
                match event {
                    Some(event) => push(record, event).map(drop),
                    None => Ok(()),
                }
            };
            failed = write().err();
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some((time, thread)) = last {
            let text = self.said.as_bytes();
            writer.push(&Record {
                number: writer.next_number(),
                time,
                thread,
                event: Event::Note { text },
            })?;
        }
        writer.finish().map(|_| packets)
    }

    /// The header of a reel's cut: no engine can replay it.
    fn header(&self, of: &Header) -> Header {
        let keeps = [
            Header::OBSERVER,
            Header::CAPTURED,
            Header::PROXY,
            Header::UNMODIFIED,
        ];
        let engine = match of.engine.as_str() {
            engine if keeps.contains(&engine) || engine.is_empty() => engine.to_owned(),
            engine => format!("cut of {engine}"),
        };
        Header {
            engine,
            start: Vec::new(),
            seeds: Vec::new(),
            ..of.clone()
        }
    }

    /// Whether something that is no packet stays.
    fn stays(&self, of: &SessionReel<'_>, record: &Record<'_>) -> bool {
        match record.event {
            Event::SocketOpened { .. }
            | Event::SocketClosed { .. }
            | Event::Relay { .. }
            | Event::Interface { .. }
            | Event::Switched { .. }
            | Event::Dropped { .. }
            | Event::CaptureDrops { .. }
            | Event::WriteFailed { .. } => true,
            Event::Tick { .. }
            | Event::Note { .. }
            | Event::Triggered { .. }
            | Event::Believed { .. }
            | Event::Stalled { .. } => self.time.contains(&of.time(record)),
            _ => false,
        }
    }
}

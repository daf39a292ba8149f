//! A reel, event by event.

use netreel_reel::{
    Append, CallId, CutWhy, Ending, Event, EventNumber, OpenedPart, Part, Record, Reel, ReelWriter,
};

use super::blank::{Blanked, Packet};
use super::calls::{self, count_endpoint};
use super::forms::Form;
use super::header::DROPPED;
use super::report::{HeldBack, ReelReport, Removed};
use super::secrets::Place;
use super::survey::Survey;
use super::walk::walk;
use super::{Bytes, RedactError, Texts};

impl Survey {
    /// What is removed from a reel.
    pub fn report(&self, place: usize, reel: &Reel) -> ReelReport {
        let blanked = self.blanked.get(place);
        let mut report = ReelReport::default();
        self.header(reel.header(), &mut report);
        for opened in reel.parts() {
            self.part(reel, &opened.part, &mut report);
        }
        for count in reel.unknown().values() {
            *report.removed.entry(Removed::UnknownEvents).or_default() += count;
        }
        let mut buffer = Vec::new();
        reel.for_each(|record| {
            buffer.clear();
            self.record(record, blanked, &mut buffer, &mut report);
        });
        report
    }

    /// Writes the copy of one of a reel's [parts](Reel::parts), of which each has a file: the same
    /// events with the same numbers, times and threads. One that was cut, or whose last bytes cannot
    /// be read, is cut in the copy as well. `report` is the reel's, which stands in each file.
    ///
    /// # Errors
    /// The bytes could not be written.
    pub fn copy<W: Append>(
        &self,
        place: usize,
        (reel, report): (&Reel, &ReelReport),
        opened: &OpenedPart,
        out: W,
    ) -> Result<(), RedactError> {
        let blanked = self.blanked.get(place);
        let mut counted = ReelReport::default();
        let mut header = self.header(reel.header(), &mut counted);
        header.redacted = Some(report.told());
        let identity = self.identity(reel);
        let mut writer = match self.part(reel, &opened.part, &mut counted) {
            Some(part) => ReelWriter::create_part(out, &header, identity, &part)?,
            None => ReelWriter::create_with_identity(out, &header, identity)?,
        };
        let mut buffer = Vec::new();
        let mut failed = None;
        let is_whole = walk(reel, opened.blocks.clone(), |record| {
            buffer.clear();
            let copy = self.record(record, blanked, &mut buffer, &mut counted);
            if failed.is_none() {
                failed = writer.push(&copy).err();
            }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        if !is_whole || !is_closed(&opened.ending) {
            writer.seal()?;
        } else if goes_on(reel, opened) {
            writer.finish_part()?;
        } else {
            writer.finish()?;
        }
        Ok(())
    }

    /// What the start of a part says of it; `None` for a recording in one file that lacks nothing.
    fn part(&self, reel: &Reel, old: &Part, report: &mut ReelReport) -> Option<Part> {
        let alone = reel.parts().len() == 1 && old.number == 0;
        let ends_here = !matches!(
            reel.ending(),
            Ending::Cut {
                why: CutWhy::NextPartMissing,
                ..
            }
        );
        if alone && ends_here {
            return None;
        }
        let mut new = old.clone();
        for (_, local) in &mut new.sockets {
            let other = self.map.endpoint(*local);
            count_endpoint(*local, other, report);
            *local = other;
        }
        Some(new)
    }

    /// What ties the files of a copy together. One that was cut would be said to lack its ring file
    /// with it: so it is where the reel lacks its own, and not where that was read.
    fn identity(&self, reel: &Reel) -> u64 {
        let was_cut = reel
            .parts()
            .last()
            .is_some_and(|last| !is_closed(&last.ending));
        let lacks_rings = reel.recovery().rings.is_some();
        let is_tied = if was_cut {
            lacks_rings
        } else {
            reel.parts().len() > 1
        };
        match reel.identity() {
            old if old != 0 && is_tied => self.map.hash("identity", &old.to_le_bytes(), 0).max(1),
            _ => 0,
        }
    }

    /// An event as it is in the copy. Bytes that change go into `buffer`.
    fn record<'b>(
        &self,
        record: &Record<'b>,
        blanked: Option<&Blanked>,
        buffer: &'b mut Vec<u8>,
        report: &mut ReelReport,
    ) -> Record<'b> {
        let number = record.number;
        let mut endpoint = |old| {
            let new = self.map.endpoint(old);
            count_endpoint(old, new, report);
            new
        };
        let mut event = record.event;
        match &mut event {
            Event::SocketOpened { local: at, .. }
            | Event::Sent { to: at, .. }
            | Event::Received { from: at, .. }
            | Event::Relay { client: at, .. } => *at = endpoint(*at),
            Event::Seen { from, to, .. } => {
                *from = endpoint(*from);
                *to = endpoint(*to);
            }
            _ => {}
        }
        let made = blanked.and_then(|blanked| blanked.packets.get(&number));
        let new = match made {
            Some(made) => self.blanked(number, made, report),
            None => self.bytes(number, &record.event, report),
        };
        let changed = new.is_some();
        *buffer = new.unwrap_or_default();
        match &mut event {
            Event::Sent { payload: bytes, .. }
            | Event::Received { payload: bytes, .. }
            | Event::Seen { payload: bytes, .. }
            | Event::Input { call: bytes }
            | Event::Snapshot { state: bytes }
            | Event::Note { text: bytes }
            | Event::Interface { name: bytes, .. }
            | Event::Triggered { text: bytes, .. }
            | Event::Called { details: bytes, .. }
                if changed =>
            {
                *bytes = buffer;
            }
            Event::Random { value } if changed => *value = 0,
            _ => {}
        }
        Record { event, ..*record }
    }

    /// A packet of which fields were blanked.
    fn blanked(
        &self,
        number: EventNumber,
        made: &Packet,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        if let Some(why) = &made.held_back {
            report.held_back.push(HeldBack {
                event: number.0,
                why: why.clone(),
                kept: self.rules.doubtful == Bytes::Keep,
            });
            report.count(Removed::Payloads);
            return Some(made.bytes.clone());
        }
        report.count(Removed::Fields);
        let bytes = Some(made.bytes.clone());
        let Some(stands) = self.stands_in(&made.bytes) else {
            return bytes;
        };
        let why = stands_in_it(stands);
        self.hold_back((number, &made.bytes), Removed::Payloads, &why, report)
            .or(bytes)
    }

    /// The bytes of an event as they are in the copy; `None`: as they were.
    fn bytes(
        &self,
        number: EventNumber,
        event: &Event<'_>,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let rules = &self.rules;
        match *event {
            Event::Sent { payload, .. }
            | Event::Received { payload, .. }
            | Event::Seen { payload, .. } => self.opaque(
                (number, payload),
                (rules.payloads, Removed::Payloads),
                report,
            ),
            Event::Input { call } => {
                self.opaque((number, call), (rules.inputs, Removed::Inputs), report)
            }
            Event::Snapshot { state } => self.opaque(
                (number, state),
                (rules.snapshots, Removed::Snapshots),
                report,
            ),
            // A capture that said no name has none to take away.
            Event::Interface { name: [], .. } => None,
            Event::Note { text }
            | Event::Triggered { text, .. }
            | Event::Interface { name: text, .. } => {
                self.note((number, text), Form::of(event), report)
            }
            Event::Random { value } => {
                let new = rules.random.of(&value.to_le_bytes())?;
                report.count(Removed::Random);
                Some(new)
            }
            Event::Called { call, details, .. } => {
                // Nobody blanks the fields of a packet that was looked at before it was received.
                let payloads = match rules.payloads {
                    Bytes::Keep if self.fields.is_some() => Bytes::Lengths,
                    payloads => payloads,
                };
                let opaque = |bytes: &[u8]| self.becomes(payloads, bytes);
                let new = calls::details((call, details), rules, &self.map, opaque, report);
                let left = new.as_deref().unwrap_or(details);
                if self.stands_in_call(call, left).is_none() {
                    return new;
                }
                report.count(Removed::CallDetails);
                Some(calls::emptied(call, left))
            }
            Event::SocketOpened { .. }
            | Event::SocketClosed { .. }
            | Event::SendResult { .. }
            | Event::PollEmpty { .. }
            | Event::ReceiveFailed { .. }
            | Event::Clock { .. }
            | Event::Tick { .. }
            | Event::Switched { .. }
            | Event::Dropped { .. }
            | Event::Stalled { .. }
            | Event::WriteFailed { .. }
            | Event::ClockRead { .. }
            | Event::CaptureDrops { .. }
            | Event::Cut { .. }
            | Event::Fault { .. }
            | Event::Relay { .. } => None,
        }
    }

    /// Bytes that nobody looks into, or that stay unless something stands in them.
    fn opaque(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        (becomes, what): (Bytes, Removed),
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        if becomes != Bytes::Keep {
            let new = becomes.of(bytes)?;
            report.count(what);
            return Some(new);
        }
        let stands = self.stands_in(bytes)?;
        self.hold_back((number, bytes), what, &stands_in_it(stands), report)
    }

    /// A packet that cannot be made safe and stay what it is.
    pub(super) fn hold_back(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        what: Removed,
        why: &str,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let new = self.rules.doubtful.of(bytes);
        report.held_back.push(HeldBack {
            event: number.0,
            why: why.to_owned(),
            kept: new.is_none(),
        });
        if new.is_some() {
            report.count(what);
        }
        new
    }

    fn becomes(&self, becomes: Bytes, bytes: &[u8]) -> Option<Vec<u8>> {
        match becomes {
            Bytes::Keep => {
                let stands = self.stands_in(bytes);
                stands.and_then(|_| self.rules.doubtful.of(bytes))
            }
            other => other.of(bytes),
        }
    }

    fn note(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        form: Form,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok();
        let new = match (self.rules.notes, text) {
            (Texts::Keep, _) => {
                return self.opaque((number, bytes), (Bytes::Keep, Removed::Notes), report);
            }
            (Texts::Scrub, Some(text)) => {
                let new = self.map.text(text, form, &self.rules.remove);
                let left = new.as_deref().unwrap_or(text);
                match self.stands_in(left.as_bytes()) {
                    Some(_) => DROPPED.to_owned(),
                    None => new?,
                }
            }
            (Texts::Scrub | Texts::Drop, _) => DROPPED.to_owned(),
        };
        report.count(Removed::Notes);
        Some(new.into_bytes())
    }

    /// What of all that is removed stands in these bytes.
    pub(super) fn stands_in(&self, bytes: &[u8]) -> Option<Removed> {
        self.secrets
            .find(bytes, Place::Content)
            .map(|(_, what)| what)
    }

    /// The same, of the details of a call.
    pub(super) fn stands_in_call(&self, call: CallId, details: &[u8]) -> Option<Removed> {
        let searched = calls::searched(call, details);
        let mut found = searched
            .iter()
            .filter_map(|(bytes, place)| self.secrets.find(bytes, *place));
        found.next().map(|(_, what)| what)
    }

    pub(super) fn stands_in_wire(&self, text: &str) -> bool {
        self.secrets.find(text.as_bytes(), Place::Wire).is_some()
    }
}

/// Whether a file was ended in order: only then is there an index, be it whole or damaged.
pub(super) fn is_closed(ending: &Ending) -> bool {
    match ending {
        Ending::Clean => true,
        Ending::Cut { why, .. } => *why == CutWhy::BrokenIndex,
    }
}

/// Whether the recording goes on in another file.
fn goes_on(reel: &Reel, opened: &OpenedPart) -> bool {
    let is_last = reel.parts().last() == Some(opened);
    !is_last
        || matches!(
            reel.ending(),
            Ending::Cut {
                why: CutWhy::NextPartMissing,
                ..
            }
        )
}

fn stands_in_it(what: Removed) -> String {
    match what {
        Removed::Fields => "what a blanked field said stands elsewhere in it".to_owned(),
        what => format!("one of the {} stands in it", what.words()),
    }
}

//! The copy of a reel, event by event.

use netreel_reel::{
    Append, EventNumber, OpenedPart, Part, Record, Redacted, Reel, ReelWriter, Removed,
};

use crate::blank::{Made, MadePackets};
use crate::calls;
use crate::content::{Content, Parts};
use crate::events::Events;
use crate::forms::Form;
use crate::report::{HeldBack, ReelReport};
use crate::rules::{Bytes, DROPPED, RedactError, Texts};
use crate::survey::Survey;

impl Survey {
    /// What is removed from a reel.
    pub fn report(&self, place: usize, reel: &Reel) -> ReelReport {
        let made = self.made.get(place);
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
            self.record(record, made, &mut buffer, &mut report);
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
        let made = self.made.get(place);
        let mut counted = ReelReport::default();
        let mut header = self.header(reel.header(), &mut counted);
        header.redacted = Some(Redacted::new(&report.removed));
        let identity = self.identity(reel);
        let mut writer = match self.part(reel, &opened.part, &mut counted) {
            Some(part) => ReelWriter::create_part(out, &header, identity, &part)?,
            None => ReelWriter::create_with_identity(out, &header, identity)?,
        };
        let mut buffer = Vec::new();
        let mut events = Events::of(reel, opened.blocks.clone());
        for record in &mut events {
            let record = record.as_record();
            writer.push(&self.record(&record, made, &mut buffer, &mut counted))?;
        }
        let last = opened.blocks.end.checked_sub(1);
        let is_whole = events.damaged.is_none() || events.damaged != last;
        let goes_on = reel.parts().last() != Some(opened) || reel.ending().goes_on();
        if !is_whole || !opened.ending.is_closed() {
            writer.seal()?;
        } else if goes_on {
            writer.finish_part()?;
        } else {
            writer.finish()?;
        }
        Ok(())
    }

    /// What the start of a part says of it; `None` for a recording in one file that lacks nothing.
    fn part(&self, reel: &Reel, old: &Part, report: &mut ReelReport) -> Option<Part> {
        let alone = reel.parts().len() == 1 && old.number == 0;
        if alone && !reel.ending().goes_on() {
            return None;
        }
        let mut new = old.clone();
        for (_, local) in &mut new.sockets {
            let other = self.map.endpoint(*local);
            report.count_endpoint(*local, other);
            *local = other;
        }
        Some(new)
    }

    /// What ties the files of a copy together. One that was cut would be said to lack its ring file
    /// with it: so it is where the reel lacks its own, and not where that was read.
    fn identity(&self, reel: &Reel) -> u64 {
        let parts = reel.parts();
        let was_cut = parts.last().is_some_and(|last| !last.ending.is_closed());
        let is_tied = if was_cut {
            reel.recovery().rings.is_some()
        } else {
            parts.len() > 1
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
        made: Option<&MadePackets>,
        buffer: &'b mut Vec<u8>,
        report: &mut ReelReport,
    ) -> Record<'b> {
        let (number, mut event) = (record.number, record.event);
        let mut parts = Parts::of(&mut event);
        for at in parts.endpoints() {
            let new = self.map.endpoint(*at);
            report.count_endpoint(*at, new);
            *at = new;
        }
        let made = made.and_then(|made| made.get(&number));
        let (bytes, new) = match parts.content {
            Content::Nothing => return Record { event, ..*record },
            Content::Random(value) => {
                if self.rules.random.of(&value.to_le_bytes()).is_some() {
                    report.count(Removed::Random);
                    *value = 0;
                }
                return Record { event, ..*record };
            }
            Content::Bytes(what, bytes) => {
                let new = match made {
                    Some(made) => self.made((number, bytes), made, report),
                    None => self.opaque((number, bytes), what, self.rules.bytes(what), report),
                };
                (bytes, new)
            }
            Content::Text(form, text) => {
                let new = self.note((number, text), form, report);
                (text, new)
            }
            Content::Details(call, details) => {
                let new = calls::details(
                    (call, details),
                    &self.rules,
                    &self.map,
                    |packet| self.peeked(packet),
                    report,
                );
                let left = new.as_deref().unwrap_or(details);
                let new = match self.stands_in_call(call, left) {
                    None => new,
                    Some(_) => {
                        report.count(Removed::CallDetails);
                        Some(calls::emptied(call, details))
                    }
                };
                (details, new)
            }
        };
        if let Some(new) = new {
            *buffer = new;
            *bytes = buffer;
        }
        Record { event, ..*record }
    }

    /// A packet of which fields were blanked.
    fn made(
        &self,
        (number, old): (EventNumber, &[u8]),
        made: &Made,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let new = match made {
            Made::HeldBack(why) => {
                return self.hold_back((number, old), Removed::Payloads, why, report);
            }
            Made::Written(new) => &new.bytes,
        };
        report.count(Removed::Fields);
        let held = self.stands_in(new).and_then(|stands| {
            let why = stands_in_it(stands);
            self.hold_back((number, new), Removed::Payloads, &why, report)
        });
        held.or_else(|| Some(new.clone()))
    }

    /// Bytes that nobody looks into, or that stay unless something stands in them.
    fn opaque(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        what: Removed,
        becomes: Bytes,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        if becomes == Bytes::Keep {
            let stands = self.stands_in(bytes)?;
            return self.hold_back((number, bytes), what, &stands_in_it(stands), report);
        }
        let new = becomes.of(bytes)?;
        report.count(what);
        Some(new)
    }

    /// A packet that cannot be made safe and stay what it is.
    fn hold_back(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        what: Removed,
        why: &str,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let kept = self.rules.doubtful == Bytes::Keep;
        report.held_back.push(HeldBack {
            event: number.0,
            why: why.to_owned(),
            kept,
        });
        if !kept {
            report.count(what);
        }
        self.rules.doubtful.of(bytes)
    }

    /// A packet that was looked at before it was received. Nobody blanks its fields.
    fn peeked(&self, packet: &[u8]) -> Option<Vec<u8>> {
        match self.rules.payloads {
            Bytes::Keep if self.fields.is_some() => Bytes::Lengths.of(packet),
            Bytes::Keep => self
                .stands_in(packet)
                .and_then(|_| self.rules.doubtful.of(packet)),
            becomes => becomes.of(packet),
        }
    }

    fn note(
        &self,
        (number, bytes): (EventNumber, &[u8]),
        form: Form,
        report: &mut ReelReport,
    ) -> Option<Vec<u8>> {
        let new = match (self.rules.notes, std::str::from_utf8(bytes)) {
            // Who said nothing, such as a capture without a name, has nothing to take away.
            (_, Ok("")) => return None,
            (Texts::Keep, _) => {
                return self.opaque((number, bytes), Removed::Notes, Bytes::Keep, report);
            }
            (Texts::Scrub, Ok(text)) => {
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
}

fn stands_in_it(what: Removed) -> String {
    match what {
        Removed::Fields => "what a blanked field said stands elsewhere in it".to_owned(),
        what => format!("one of the {} stands in it", what.words()),
    }
}

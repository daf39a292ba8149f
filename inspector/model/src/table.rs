//! The packet table: rows made only for what is on the screen.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::history::Level;
use netreel_protocol::packet_fields::{FieldType, FieldValue, PacketAt, PacketField};
use netreel_protocol::session::{Fate, Look, Packet, PacketId, SessionTime, Stamp};
use netreel_table::below;
use netreel_wire::{KindId, MessageFacts, Wire};

use crate::crowd::is_lost;
use crate::lead::most_telling_first;
use crate::times::first_time;
use crate::{Model, NOT_YET, Outcome, text};

/// One packet as a row of text. What is not known is `?`, what does not apply is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRow {
    /// Which.
    pub packet: PacketId,
    /// What stands in the columns of the packet's own fields: [`PacketRow::cell`].
    cells: Vec<(PacketField, String)>,
    /// Whether what it carries can be told by now.
    pub is_told: bool,
    /// Whether a protocol of the wire claims it: without, what it carries is not known.
    pub described: bool,
    /// The kind of its most telling message.
    pub lead: Option<KindId>,
    /// Whether its latency is much longer than the shortest on its link.
    pub is_late: bool,
    /// Whether it did not arrive.
    pub missing: bool,
    /// The worst finding that it proves.
    pub level: Option<Level>,
    /// Whether it is the selected packet.
    pub selected: bool,
    /// Whether it proves the selected finding.
    pub evidence: bool,
    /// What stands in the columns of fields, in the order of [`OwnColumns::fields`](crate::OwnColumns);
    /// nothing where that is not known yet.
    pub own: Arc<[String]>,
    /// Whether the visible time has a part of it.
    pub in_view: bool,
}

impl PacketRow {
    /// What stands in the column of a field: `A → X`, `create, rpc ready(slot 3), 3 update`,
    /// `42 43 44 45 +2`, `2 copies`.
    pub fn cell(&self, field: PacketField) -> &str {
        self.cells
            .iter()
            .find(|(known, _)| *known == field)
            .map_or("", |(_, cell)| cell)
    }
}

/// A column of the packet table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// A field that every packet has.
    Of(PacketField),
    /// The time since the row before: [`Model::since`].
    Since,
    /// The time since the packet before of the same link: [`Model::since_on_link`].
    OnLink,
    /// The time from the selected packet: [`Model::since_selected`].
    Selected,
    /// A field of the wire, by its place in [`OwnColumns::fields`](crate::OwnColumns).
    Field(u8),
}

impl Model {
    /// The columns of the packet table in which something can stand.
    pub fn columns(&self) -> Vec<Column> {
        let own = self.own_columns();
        let mut columns = Vec::new();
        for (_, field) in Column::fields() {
            if field == PacketField::Link {
                columns.extend(own.since.then_some(Column::Since));
                columns.extend(own.on_link.then_some(Column::OnLink));
                columns.extend(own.selected.then_some(Column::Selected));
            }
            let has_some = match field {
                PacketField::Utc => own.clock,
                PacketField::Objects => self.has_objects(),
                PacketField::Sequence => self.has_sequences(),
                PacketField::Late => self.index.links.have_latency(),
                _ => !field.declared().of_wire || self.session.wire.is_some(),
            };
            columns.extend(has_some.then_some(Column::Of(field)));
            if field == PacketField::Objects {
                columns.extend(self.field_columns());
            }
        }
        columns
    }

    /// Whether a message may be about an object; once the history is known, whether one is.
    fn has_objects(&self) -> bool {
        let wire = self.session.wire.as_ref();
        self.object_count() > 0
            || (self.lacks_history() && wire.is_some_and(|it| it.has_field(None, Some("object"))))
    }

    /// Whether any packet has a sequence number; of a session that is not
    /// [small](netreel_protocol::session::Session::is_small), whether the wire has any.
    fn has_sequences(&self) -> bool {
        let session = &self.session;
        *self.has_sequences.get_or_init(|| match &session.wire {
            None => false,
            Some(wire) if !session.is_small() => wire.has_field(None, Some("sequence")),
            Some(_) => (0..session.packet_count()).any(|place| {
                let said = session.said(PacketId(place as u32));
                said.is_some_and(|said| said.sequence.is_some())
            }),
        })
    }

    /// What the latency of all links is measured between: `in proxy`; `None`: from node to node, or
    /// not the same for all.
    pub fn measured_alike(&self) -> Option<&'static str> {
        let mut links = self.session.links().iter();
        let of = |&(from, to)| self.session.measured(from, to);
        let first = of(links.next()?);
        links.all(|link| of(link) == first).then(|| first.words())?
    }

    /// How many packets the filter takes.
    pub fn row_count(&self) -> usize {
        match self.filter.taken() {
            Some(taken) => taken.len(),
            None => self.session.packet_count(),
        }
    }

    /// The rows `range` of the filtered table.
    pub fn packet_rows(&self, range: Range<usize>) -> Vec<PacketRow> {
        range
            .take_while(|&row| row < self.row_count())
            .filter_map(|row| self.packet_row(self.packet_at(row)?))
            .collect()
    }

    /// The packet of a row of the filtered table, as it is sorted.
    pub fn packet_at(&self, row: usize) -> Option<PacketId> {
        self.packet_by_time(self.row_by_time(row))
    }

    /// The packets that the filter takes, in the order of time.
    pub fn packets_by_time(&self) -> impl Iterator<Item = PacketId> + '_ {
        (0..self.row_count()).filter_map(|row| self.packet_by_time(row))
    }

    /// The packet of a row in the order of time.
    pub(crate) fn packet_by_time(&self, row: usize) -> Option<PacketId> {
        match self.filter.taken() {
            Some(taken) => taken.get(row),
            None => (row < self.session.packet_count()).then_some(PacketId(row as u32)),
        }
    }

    /// Where a packet stands in the filtered table, as it is sorted. Of a sorted table with very many
    /// rows that is not for every frame: unless it is near the one that was asked for last, they are
    /// gone through.
    pub fn row_of(&self, packet: PacketId) -> Option<usize> {
        Some(self.row_in_order(self.row_of_time(packet)?))
    }

    /// Where a packet stands among those that the filter takes, in the order of time.
    pub(crate) fn row_of_time(&self, packet: PacketId) -> Option<usize> {
        let row = packet.0 as usize;
        match self.filter.taken() {
            Some(taken) => taken.has(packet).then(|| taken.row(packet)),
            None => (row < self.session.packet_count()).then_some(row),
        }
    }

    /// The rows of the packets that begin in the visible time, in the order of time: in a table that is
    /// sorted they lie scattered.
    pub fn rows_in_view(&self) -> Range<usize> {
        self.rows_within(&self.visible)
    }

    /// The same of any time.
    pub(crate) fn rows_within(&self, time: &Range<SessionTime>) -> Range<usize> {
        self.row_from(time.start)..self.row_from(time.end)
    }

    /// The first row of a packet that does not begin before a time.
    fn row_from(&self, time: SessionTime) -> usize {
        below(0..self.row_count(), |row| {
            let packet = self.packet_by_time(row);
            packet
                .and_then(|id| first_time(&self.session, id))
                .is_none_or(|first| first < time)
        })
    }

    /// Whether the visible time has a part of a packet.
    pub fn is_in_view(&self, packet: PacketId) -> bool {
        let packet = self.packet(packet);
        packet.is_some_and(|packet| self.touches_view(&packet))
    }

    fn touches_view(&self, packet: &Packet) -> bool {
        let (start, end) = self.index.links.stretch(packet);
        let visible = &self.visible;
        start.max(end) >= visible.start.0 && start.min(end) < visible.end.0
    }

    /// What became of a packet: `seen, acked +25.8 ms` where an ack says more than whoever saw it.
    pub(crate) fn fate_text(&self, id: PacketId, packet: &Packet) -> String {
        let watched = packet.sent.is_none() && !packet.seen.is_empty();
        if packet.fate == Fate::Unknown
            && (watched || packet.received.is_some())
            && !self.lacks_history()
            && let Some(seen) = packet.departed().or(packet.received)
            && let Some(acked) = self.history().acked(&self.session, id)
        {
            let after = acked.time.0.saturating_sub(seen.time.0);
            return format!("seen, acked +{}", text::duration(after));
        }
        fate(packet)
    }

    /// How many characters fates take: more where observers saw packets and acks told the rest.
    pub fn fate_length(&self) -> usize {
        let session = &self.session;
        let sees = session.nodes.iter().any(|node| node.seen);
        let acks = |wire: &Arc<Wire>| {
            let mut marks = ["ack", "acknowledges", "acknowledges_before", "range_first"].iter();
            marks.any(|mark| wire.has_field(None, Some(mark)))
        };
        if sees && session.wire.as_ref().is_some_and(acks) {
            "seen, acked +25.8 ms".len()
        } else {
            "received ".len()
        }
    }

    /// One packet as a row.
    pub fn packet_row(&self, id: PacketId) -> Option<PacketRow> {
        let packet = self.packet(id)?;
        let look = self.look(id);
        let is_told = look.is_some();
        let look = look.unwrap_or_default();
        let cells = Column::fields().map(|(_, field)| {
            let cell = match field {
                PacketField::Link => self.short_link_name(&packet),
                PacketField::Messages => self.kinds_of(id, &look.messages),
                PacketField::Late => late(&packet),
                PacketField::Fate => self.fate_text(id, &packet),
                // Nobody waits for what only decoding all packets could tell.
                _ if field.declared().of_wire && !is_told => String::new(),
                _ if field.declared().of_history && self.lacks_history() => "?".to_owned(),
                _ => self.field_text((id, &look), field),
            };
            (field, cell)
        });
        Some(PacketRow {
            packet: id,
            cells: cells.collect(),
            is_told,
            described: look.protocol.is_some(),
            lead: self.lead(id),
            is_late: self.is_late(&packet),
            missing: is_lost(&packet),
            level: self.worst(id),
            selected: self.selection.packet == Some(id),
            evidence: self.story.iter().any(|piece| piece.packet == id),
            own: self.cells(id),
            in_view: self.touches_view(&packet),
        })
    }

    /// What a packet has in a field, as a table shows it.
    fn field_text(&self, (id, look): (PacketId, &Look), field: PacketField) -> String {
        let history = || self.history();
        let value = PacketAt::with(&self.session, &history, (id, Some(look)), |it| {
            it.named(field)
        })
        .unwrap_or(FieldValue::Nothing);
        match (field.declared().of, &value) {
            (FieldType::Utc, value) => {
                self.clock(value.number().map(|ns| SessionTime(ns as i64)))
                    .1
            }
            (FieldType::Moment, FieldValue::Nothing) => "?".to_owned(),
            (FieldType::Bytes, FieldValue::Number(bytes)) => text::count(*bytes as u64),
            (FieldType::List, FieldValue::Numbers(numbers)) => first_of(numbers),
            _ => field.words(&value),
        }
    }

    /// A moment on the wall clock, UTC: `2026-11-28` and `14:03:22.123456`. Both are empty where nobody
    /// knows when the session was.
    pub(crate) fn clock(&self, time: Option<SessionTime>) -> (String, String) {
        let start = self.session.start_utc_ns;
        match time.filter(|_| start != 0) {
            Some(time) => text::clock(start.saturating_add(time.0)),
            None => Default::default(),
        }
    }

    /// When a packet was sent and received, how long it took, or what became of it, how large it is, and
    /// when that was on the wall clock: `sent 0.485000`, `received 0.501100`, `16.1 ms`, `16 bytes`,
    /// `2026-11-28 14:03:22.123456 UTC`.
    pub fn envelope(&self, id: PacketId) -> Vec<String> {
        let Some(packet) = self.packet(id) else {
            return Vec::new();
        };
        let mut words = Vec::new();
        let mut at = |what: &str, stamp: Option<Stamp>| {
            let time = stamp.map(|stamp| text::seconds(stamp.time));
            words.extend(time.map(|time| format!("{what} {time}")));
        };
        at("sent", packet.sent);
        let seen = packet.seen.first().map(|seen| seen.stamp);
        at(
            "seen",
            seen.filter(|_| packet.sent.is_none() && packet.received.is_none()),
        );
        at("received", packet.received);
        match late(&packet).as_str() {
            "" | "?" => {
                let fate = self.fate_text(id, &packet);
                // That it was seen is said with its time.
                let more = fate
                    .strip_prefix("seen")
                    .unwrap_or(&fate)
                    .trim_start_matches(", ");
                words.extend((!more.is_empty()).then(|| more.to_owned()));
            }
            took => words.push(took.to_owned()),
        }
        words.push(match packet.length {
            1 => "1 byte".to_owned(),
            length => format!("{} bytes", text::count(length.into())),
        });
        let (date, time) = self.clock(packet.first().map(|stamp| stamp.time));
        if !date.is_empty() {
            words.push(format!("{date} {time} UTC"));
        }
        words
    }

    /// A packet in a few lines: what the pointer shows over its arrow.
    pub fn packet_text(&self, id: PacketId) -> String {
        let Some(packet) = self.packet(id) else {
            return String::new();
        };
        let mut lines = vec![format!("packet {}  {}", id.0, self.link_name(&packet))];
        let look = self.look(id);
        lines.push(match &look {
            None => format!("messages: {NOT_YET}"),
            Some(look) if look.messages.is_empty() => "no messages".to_owned(),
            Some(look) => self.kinds_of(id, &look.messages),
        });
        let sequence = look
            .and_then(|look| look.sequence)
            .map_or_else(String::new, |s| format!("sequence {}, ", s.value));
        lines.push(format!(
            "{sequence}{} bytes",
            text::count(packet.length.into())
        ));
        let measured = self.session.measured(packet.from, packet.to).words();
        match packet.fate {
            Fate::Received => lines.push(format!(
                "{} {}{}",
                late(&packet),
                measured.unwrap_or("under way"),
                match packet.duplicates.len() {
                    0 => String::new(),
                    more => format!(", received {} times", more + 1),
                }
            )),
            _ => lines.push(self.fate_text(id, &packet)),
        }
        lines.extend(
            packet
                .faults
                .iter()
                .map(|fault| self.session.verdict(*fault, text::duration)),
        );
        lines.extend(self.outcomes(id, 3).iter().map(Outcome::sentence));
        lines.join("\n")
    }

    /// `A → X`
    pub fn link_name(&self, packet: &Packet) -> String {
        format!(
            "{} → {}",
            self.node_name(packet.from),
            self.node_name(packet.to)
        )
    }

    /// The kinds of a packet's messages, counted, the most telling first: `create, rpc ready(slot 3),
    /// 3 update`.
    pub fn kinds_text(&self, id: PacketId) -> String {
        match self.look(id) {
            Some(look) => self.kinds_of(id, &look.messages),
            None => NOT_YET.to_owned(),
        }
    }

    /// The same of its messages.
    pub(crate) fn kinds_of(&self, id: PacketId, messages: &[MessageFacts]) -> String {
        let calls = self.calls(id, messages);
        let mut groups: Vec<(String, usize)> = Vec::new();
        let messages = most_telling_first(&self.session, messages)
            .into_iter()
            .filter_map(|it| Some((it, messages.get(it)?)));
        for (place, facts) in messages {
            let mut said = self.kind_name(facts.kind).to_owned();
            if let Some(Some((_, call))) = calls.get(place) {
                said.push_str(&format!(" {call}"));
            }
            match groups.iter_mut().find(|(known, _)| *known == said) {
                Some((_, count)) => *count += 1,
                None => groups.push((said, 1)),
            }
        }
        let groups = groups.into_iter().map(|(said, count)| match count {
            1 => said,
            _ => format!("{count} {said}"),
        });
        groups.collect::<Vec<_>>().join(", ")
    }

    /// Whether a packet's most telling message was sent before; `false` before the history is known.
    fn is_resend(&self, id: PacketId) -> bool {
        if self.lacks_history() {
            return false;
        }
        let lead = self.lead(id);
        self.messages_of(id)
            .find(|(_, facts)| facts.kind == lead)
            .is_some_and(|(message, _)| self.history().resend_of(message).is_some())
    }

    /// Whether a packet took much longer than the quickest one of its link.
    fn is_late(&self, packet: &Packet) -> bool {
        let above = self.index.links.late_above_ns((packet.from, packet.to));
        let took = match (packet.sent, packet.received) {
            (Some(sent), Some(received)) => Some(received.time.0.saturating_sub(sent.time.0)),
            _ => None,
        };
        took.zip(above).is_some_and(|(took, above)| took > above)
    }

    /// A packet's most telling message in two words: `migrate 42`, `rpc ready`; `again` where it was
    /// sent before.
    pub fn lead_text(&self, id: PacketId) -> String {
        let lead = self.lead(id);
        let messages = self.look(id).map(|look| look.messages).unwrap_or_default();
        let about = |facts: &&MessageFacts| facts.kind == lead && facts.object.is_some();
        let object = messages.iter().find(about).and_then(|facts| facts.object);
        let mut text = self.kind_name(lead).to_owned();
        let calls = self.calls(id, &messages);
        let named = messages
            .iter()
            .zip(calls.iter())
            .find(|(facts, call)| facts.kind == lead && call.is_some());
        if let Some((_, Some((name, _)))) = named {
            text.push_str(&format!(" {name}"));
        }
        if let Some(object) = object {
            text.push_str(&format!(" {object}"));
        }
        if self.is_resend(id) {
            text.push_str(" again");
        }
        text
    }
}

/// The first of some numbers, and how many more there are: `42 43 44 45 +2`.
fn first_of(numbers: &[i128]) -> String {
    let first: Vec<String> = numbers.iter().take(4).map(i128::to_string).collect();
    let first = first.join(" ");
    match numbers.len() {
        0..=4 => first,
        all => format!("{first} +{}", all - 4),
    }
}

/// From send to first receive: `205 ms`; `?` where one of them is not known.
pub fn late(packet: &Packet) -> String {
    match (packet.sent, packet.received) {
        (Some(sent), Some(received)) if packet.fate == Fate::Received => {
            text::duration(received.time.0.saturating_sub(sent.time.0))
        }
        _ if is_lost(packet) => String::new(),
        _ => "?".to_owned(),
    }
}

/// What became of a packet, in a word.
pub fn fate(packet: &Packet) -> String {
    match packet.fate {
        Fate::Received if !packet.duplicates.is_empty() => {
            format!("{} copies", packet.duplicates.len() + 1)
        }
        Fate::SendFailed => "send failed".to_owned(),
        Fate::Unknown if packet.sent.is_none() && !packet.seen.is_empty() => "seen".to_owned(),
        // One capture saw it once, at both ends.
        Fate::Unknown if packet.received.is_some() => "seen".to_owned(),
        fate => fate.name().to_owned(),
    }
}

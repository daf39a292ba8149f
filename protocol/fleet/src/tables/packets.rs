//! Packets, their messages, what became of both: four tables that are filled in one walk.

use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;

use netreel_protocol::export::{self, MessageJson};
use netreel_protocol::packet_fields::{FieldType, FieldValue, PacketAt, PacketField};
use netreel_protocol::session::{PacketId, Session};

use super::moment;
use crate::column::{Cell, Column, Kind, cells, text, truth, unsigned, utc, whole};
use crate::rows::Rows;
use crate::{FleetError, Recording, Table};

/// The fields of a packet that a dataset has.
pub(super) static PACKETS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let columns = fields().map(|(name, field)| {
        let field = field.declared();
        Column {
            name,
            kind: match field.of {
                FieldType::Number => Kind::Unsigned,
                FieldType::Utc => Kind::Moment,
                FieldType::Truth => Kind::Truth,
                FieldType::Text | FieldType::Node | FieldType::Link => Kind::Text,
                _ => Kind::Whole,
            },
            is_optional: field.or_null,
            says: field.says,
        }
    });
    columns.collect()
});

fn fields() -> impl Iterator<Item = (&'static str, PacketField)> {
    PacketField::on(|it| it.parquet)
}

/// What stands in a column of packets.
fn cell<'a>(recording: &Recording<'_>, field: PacketField, value: &'a FieldValue) -> Cell<'a> {
    match (value, field.declared().of) {
        (FieldValue::Number(ns), FieldType::Utc) => moment(recording, *ns as i64),
        (FieldValue::Number(number), FieldType::Number) => Cell::Unsigned(*number as u64),
        (FieldValue::Number(number), _) => Cell::Whole(*number as i64),
        (FieldValue::Truth(truth), _) => Cell::Truth(*truth),
        (FieldValue::Text(text), _) => Cell::Text(text),
        (list, _) => list.length().into(),
    }
}

pub(super) const MESSAGES: &[Column] = &[
    whole("message", "its number in the session"),
    whole("packet", "the packet that carried it"),
    text("sender", "the node that sent that"),
    text("receiver", "the node that it was sent to"),
    utc("utc", "as for the packet").or_null(),
    whole("bits", "how many bits it has in the packet"),
    text("kind", "as the wire spells it").or_null(),
    truth("reliable", "whether it belongs to a reliable stream"),
    unsigned("reliable_sequence", "its place in the stream").or_null(),
    text("origin", "the node that said it first").or_null(),
    text("rpc", "the name of the RPC that it is").or_null(),
    unsigned("object", "the object that it is about").or_null(),
    text("owner", "the owner that it names, or the new owner").or_null(),
    unsigned("counter", "the migration counter").or_null(),
    whole("resend_of", "the earlier message that it repeats").or_null(),
    unsigned("fragment_index", "of a fragment, which it is").or_null(),
    unsigned("fragment_count", "of a fragment, of how many").or_null(),
];

pub(super) const ACKS: &[Column] = &[
    whole("packet", "the packet that arrived"),
    text("sender", "who sent it, and learnt of it"),
    text("receiver", "who had received it"),
    utc("utc", "when its sender learnt of it"),
    whole("acked_ns", "the same on the session's clock"),
    whole("rtt_ns", "from its send to there").or_null(),
    whole("ack_packet", "the packet that told it").or_null(),
    truth(
        "ambiguous",
        "whether the ack may mean an earlier copy of what the packet carried",
    ),
];

pub(super) const DELIVERIES: &[Column] = &[
    whole("message", "the message"),
    whole("packet", "the packet that carried it"),
    text("node", "where"),
    utc("utc", "when the engine was handed it, or did it"),
    whole("time_ns", "the same on the session's clock"),
    truth("local", "whether the node did it itself"),
    text("effect", "what it did there, as `effect` in docs/filter.md"),
    text("kind", "the message's kind").or_null(),
    unsigned("object", "the object that it is about").or_null(),
];

/// How many packets are looked up at a time.
const AT_ONCE: u32 = 1024;
/// How many such lots of packets may wait to be written.
const AHEAD: usize = 4;

/// The four tables.
struct Walk<'a> {
    recording: &'a Recording<'a>,
    packets: Rows,
    messages: Rows,
    acks: Rows,
    deliveries: Rows,
}

pub(super) fn write(
    recording: &Recording<'_>,
    open: &mut dyn FnMut(Table) -> Result<Rows, FleetError>,
) -> Result<Vec<(Table, u64)>, FleetError> {
    let mut walk = Walk {
        recording,
        packets: open(Table::Packets)?,
        messages: open(Table::Messages)?,
        acks: open(Table::Acks)?,
        deliveries: open(Table::Deliveries)?,
    };
    let Recording {
        session, history, ..
    } = *recording;
    let count = session.packet_count() as u32;
    let starts = (0..count).step_by(AT_ONCE as usize);
    let found = |id: PacketId| {
        let values = PacketAt::with(session, &|| history, (id, None), |it| {
            fields().map(|(_, field)| it.named(field)).collect()
        })?;
        let messages = export::messages(session, history, id);
        Some((id, values, messages))
    };
    let chunk = |start: u32| -> Vec<Found> {
        let ids = (start..count.min(start.saturating_add(AT_ONCE))).map(PacketId);
        ids.filter_map(found).collect()
    };
    // One thread looks packets up while this one writes what it found.
    std::thread::scope(|scope| {
        let (sender, chunks) = sync_channel(AHEAD);
        scope.spawn(move || {
            // Who no longer takes them could not write.
            starts
                .map(chunk)
                .all(|packets| sender.send(packets).is_ok())
        });
        for found in chunks.into_iter().flatten() {
            walk.packet(session, &found)?;
        }
        Ok::<(), FleetError>(())
    })?;
    Ok(vec![
        (Table::Packets, walk.packets.finish()?),
        (Table::Messages, walk.messages.finish()?),
        (Table::Acks, walk.acks.finish()?),
        (Table::Deliveries, walk.deliveries.finish()?),
    ])
}

/// A packet, its fields, its messages.
type Found = (PacketId, Vec<FieldValue>, Vec<MessageJson>);

/// What is said of a packet with each of its messages: its number, its ends, when it was.
type Around<'a> = [Cell<'a>; 4];

impl Walk<'_> {
    fn packet(
        &mut self,
        session: &Session,
        (id, values, messages): &Found,
    ) -> Result<(), FleetError> {
        let Some((from, to)) = session.link(*id) else {
            return Ok(());
        };
        let cells = fields()
            .zip(values)
            .map(|((_, field), value)| cell(self.recording, field, value));
        self.packets.row(cells)?;
        let (from, to) = (session.name(from), session.name(to));
        let known = session.packet(*id).and_then(|it| it.first());
        let utc = known.map_or(Cell::Null, |at| moment(self.recording, at.time.0));
        let around = [id.0.into(), (&from).into(), (&to).into(), utc];
        self.ack(session, *id, around)?;
        let facts = session.messages_of(*id).map(|(_, facts)| facts.bits);
        for (message, bits) in messages.iter().zip(facts) {
            self.message(around, message, bits.len())?;
        }
        Ok(())
    }

    fn ack(
        &mut self,
        session: &Session,
        id: PacketId,
        [packet, from, to, _]: Around<'_>,
    ) -> Result<(), FleetError> {
        let history = self.recording.history;
        let (Some(at), Some((sender, _))) = (history.acked(session, id), session.link(id)) else {
            return Ok(());
        };
        let told = session.packet_at(sender, at.number);
        let left = session.packet(id).and_then(|it| it.departed());
        let rtt = left.map(|left| at.time.0.saturating_sub(left.time.0));
        self.acks.row(cells![
            packet,
            from,
            to,
            moment(self.recording, at.time.0),
            at.time.0,
            rtt,
            told.map(|crossing| crossing.packet.0),
            history.is_ambiguous(id),
        ])
    }

    fn message(
        &mut self,
        [packet, from, to, utc]: Around<'_>,
        message: &MessageJson,
        bits: usize,
    ) -> Result<(), FleetError> {
        self.messages.row(cells![
            message.message,
            packet,
            from,
            to,
            utc,
            bits,
            &message.kind,
            message.reliable,
            message.reliable_sequence,
            &message.origin,
            &message.rpc,
            message.object,
            &message.owner,
            message.counter,
            message.resend_of,
            message.fragment.map(|(index, _)| index),
            message.fragment.map(|(_, count)| count),
        ])?;
        for effect in &message.effects {
            self.deliveries.row(cells![
                message.message,
                packet,
                &effect.node,
                moment(self.recording, effect.time_ns),
                effect.time_ns,
                effect.local,
                effect.effect,
                &message.kind,
                message.object,
            ])?;
        }
        Ok(())
    }
}

//! Packets, their messages, what became of both: four tables that are filled in one walk.

use std::sync::mpsc::sync_channel;

use netreel_protocol::export::{MessageJson, PacketJson, PacketRows};
use netreel_protocol::session::{PacketId, Session};

use super::moment;
use crate::column::{Cell, Column, Kind};
use crate::rows::Rows;
use crate::{FleetError, Recording, Table};

pub(super) const PACKETS: &[Column] = &[
    Column::of("packet", Kind::Whole, "its number in the session"),
    Column::of("sender", Kind::Text, "the node that sent it"),
    Column::of("receiver", Kind::Text, "the node that it was sent to"),
    Column::of(
        "utc",
        Kind::Moment,
        "when it left its sender; else the first that is known of it",
    )
    .or_null(),
    Column::of(
        "sent_ns",
        Kind::Whole,
        "when it was sent; null where the sender was not recorded",
    )
    .or_null(),
    Column::of(
        "sent_event",
        Kind::Unsigned,
        "the event of the sender's reel",
    )
    .or_null(),
    Column::of("received_ns", Kind::Whole, "when it was first received").or_null(),
    Column::of(
        "received_event",
        Kind::Unsigned,
        "the event of the receiver's reel",
    )
    .or_null(),
    Column::of("late_ns", Kind::Whole, "from send to receipt").or_null(),
    Column::of("duplicates", Kind::Whole, "how often it was received again"),
    Column::of("seen", Kind::Whole, "how often observers saw it pass"),
    Column::of(
        "fate",
        Kind::Text,
        "`received`, `lost`, `send-failed`, `unread`, `unknown`",
    ),
    Column::of(
        "doubtful",
        Kind::Truth,
        "whether its receipt may be that of another packet with the same payload",
    ),
    Column::of(
        "faults",
        Kind::Text,
        "what proxies did to it, with commas between; null where nothing",
    )
    .or_null(),
    Column::of("length", Kind::Whole, "bytes of payload"),
    Column::of(
        "cut",
        Kind::Whole,
        "how many of them are known, where a capture kept the first ones only",
    )
    .or_null(),
    Column::of(
        "protocol",
        Kind::Text,
        "the protocol that claims it, where the wire has several",
    )
    .or_null(),
    Column::of("sequence", Kind::Unsigned, "its number on its link").or_null(),
    Column::of(
        "ack",
        Kind::Unsigned,
        "the newest packet that its sender had received",
    )
    .or_null(),
    Column::of(
        "diagnostics",
        Kind::Whole,
        "how many things a full decode has to say of it",
    ),
    Column::of("messages", Kind::Whole, "how many messages it has"),
    Column::of(
        "resends",
        Kind::Whole,
        "how many of these repeat an earlier one",
    ),
];

pub(super) const MESSAGES: &[Column] = &[
    Column::of("message", Kind::Whole, "its number in the session"),
    Column::of("packet", Kind::Whole, "the packet that carried it"),
    Column::of("sender", Kind::Text, "the node that sent that"),
    Column::of("receiver", Kind::Text, "the node that it was sent to"),
    Column::of("utc", Kind::Moment, "as for the packet").or_null(),
    Column::of("bits", Kind::Whole, "how many bits it has in the packet"),
    Column::of("kind", Kind::Text, "as the wire spells it").or_null(),
    Column::of(
        "reliable",
        Kind::Truth,
        "whether it belongs to a reliable stream",
    ),
    Column::of(
        "reliable_sequence",
        Kind::Unsigned,
        "its place in the stream",
    )
    .or_null(),
    Column::of("origin", Kind::Text, "the node that said it first").or_null(),
    Column::of("rpc", Kind::Text, "the name of the RPC that it is").or_null(),
    Column::of("object", Kind::Unsigned, "the object that it is about").or_null(),
    Column::of(
        "owner",
        Kind::Text,
        "the owner that it names, or the new owner",
    )
    .or_null(),
    Column::of("counter", Kind::Unsigned, "the migration counter").or_null(),
    Column::of(
        "resend_of",
        Kind::Whole,
        "the earlier message that it repeats",
    )
    .or_null(),
    Column::of(
        "fragment_index",
        Kind::Unsigned,
        "of a fragment, which it is",
    )
    .or_null(),
    Column::of(
        "fragment_count",
        Kind::Unsigned,
        "of a fragment, of how many",
    )
    .or_null(),
];

pub(super) const ACKS: &[Column] = &[
    Column::of("packet", Kind::Whole, "the packet that arrived"),
    Column::of("sender", Kind::Text, "who sent it, and learnt of it"),
    Column::of("receiver", Kind::Text, "who had received it"),
    Column::of("utc", Kind::Moment, "when its sender learnt of it"),
    Column::of("acked_ns", Kind::Whole, "the same on the session's clock"),
    Column::of("rtt_ns", Kind::Whole, "from its send to there").or_null(),
    Column::of("ack_packet", Kind::Whole, "the packet that told it").or_null(),
    Column::of(
        "ambiguous",
        Kind::Truth,
        "whether the ack may mean an earlier copy of what the packet carried",
    ),
];

pub(super) const DELIVERIES: &[Column] = &[
    Column::of("message", Kind::Whole, "the message"),
    Column::of("packet", Kind::Whole, "the packet that carried it"),
    Column::of("node", Kind::Text, "where"),
    Column::of(
        "utc",
        Kind::Moment,
        "when the engine was handed it, or did it",
    ),
    Column::of("time_ns", Kind::Whole, "the same on the session's clock"),
    Column::of("local", Kind::Truth, "whether the node did it itself"),
    Column::of(
        "effect",
        Kind::Text,
        "what it did there, as `effect` in docs/filter.md",
    ),
    Column::of("kind", Kind::Text, "the message's kind").or_null(),
    Column::of("object", Kind::Unsigned, "the object that it is about").or_null(),
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
    let rows = PacketRows::new(session, history);
    let count = session.packet_count() as u32;
    let starts = (0..count).step_by(AT_ONCE as usize);
    let chunk = |start: u32| -> Vec<(PacketId, Option<PacketJson>)> {
        let ids = (start..count.min(start.saturating_add(AT_ONCE))).map(PacketId);
        ids.map(|id| (id, rows.get(id))).collect()
    };
    // One thread looks packets up while this one writes what it found.
    std::thread::scope(|scope| {
        let (found, chunks) = sync_channel(AHEAD);
        scope.spawn(move || {
            // Who no longer takes them could not write.
            starts.map(chunk).all(|packets| found.send(packets).is_ok())
        });
        for (id, packet) in chunks.into_iter().flatten() {
            if let Some(packet) = packet {
                walk.packet(session, id, &packet)?;
            }
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

impl Walk<'_> {
    fn packet(
        &mut self,
        session: &Session,
        id: PacketId,
        packet: &PacketJson,
    ) -> Result<(), FleetError> {
        let known = session.packet(id).and_then(|it| it.first());
        let utc = known.map_or(Cell::Null, |at| moment(self.recording, at.time.0));
        let faults: Vec<&str> = packet.faults.iter().map(|it| it.verdict).collect();
        let faults = (!faults.is_empty()).then(|| faults.join(","));
        let resends = packet.messages.iter().filter(|it| it.resend_of.is_some());
        self.packets.row([
            packet.packet.into(),
            (&packet.from).into(),
            (&packet.to).into(),
            utc,
            packet.sent_ns.into(),
            packet.sent_event.into(),
            packet.received_ns.into(),
            packet.received_event.into(),
            packet.late_ns.into(),
            packet.duplicates_ns.len().into(),
            packet.seen.len().into(),
            packet.fate.into(),
            packet.doubtful.into(),
            (&faults).into(),
            packet.length.into(),
            packet.cut.into(),
            packet.protocol.as_ref().and_then(Option::as_ref).into(),
            packet.sequence.into(),
            packet.ack.into(),
            packet.diagnostics.into(),
            packet.messages.len().into(),
            resends.count().into(),
        ])?;
        self.ack(session, id, packet)?;
        let facts = session.messages_of(id).map(|(_, facts)| facts.bits);
        for (message, bits) in packet.messages.iter().zip(facts) {
            self.message(packet, message, (utc, bits.len()))?;
        }
        Ok(())
    }

    fn ack(
        &mut self,
        session: &Session,
        id: PacketId,
        packet: &PacketJson,
    ) -> Result<(), FleetError> {
        let history = self.recording.history;
        let (Some(at), Some((sender, _))) = (history.acked(session, id), session.link(id)) else {
            return Ok(());
        };
        let told = session.packet_at(sender, at.number);
        let left = session.packet(id).and_then(|it| it.departed());
        let rtt = left.map(|left| at.time.0.saturating_sub(left.time.0));
        self.acks.row([
            packet.packet.into(),
            (&packet.from).into(),
            (&packet.to).into(),
            moment(self.recording, at.time.0),
            at.time.0.into(),
            rtt.into(),
            told.map(|crossing| crossing.packet.0).into(),
            history.is_ambiguous(id).into(),
        ])
    }

    fn message(
        &mut self,
        packet: &PacketJson,
        message: &MessageJson,
        (utc, bits): (Cell<'_>, usize),
    ) -> Result<(), FleetError> {
        self.messages.row([
            message.message.into(),
            packet.packet.into(),
            (&packet.from).into(),
            (&packet.to).into(),
            utc,
            bits.into(),
            (&message.kind).into(),
            message.reliable.into(),
            message.reliable_sequence.into(),
            (&message.origin).into(),
            (&message.rpc).into(),
            message.object.into(),
            (&message.owner).into(),
            message.counter.into(),
            message.resend_of.into(),
            message.fragment.map(|(index, _)| index).into(),
            message.fragment.map(|(_, count)| count).into(),
        ])?;
        for effect in &message.effects {
            self.deliveries.row([
                message.message.into(),
                packet.packet.into(),
                (&effect.node).into(),
                moment(self.recording, effect.time_ns),
                effect.time_ns.into(),
                effect.local.into(),
                effect.effect.into(),
                (&message.kind).into(),
                message.object.into(),
            ])?;
        }
        Ok(())
    }
}

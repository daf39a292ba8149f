//! What the bytes were.

use std::collections::BTreeMap;

use netreel_wire::{MessageFacts, Role, StreamId};

use super::{LOOK, Stats};
use crate::history::{History, is_about_object};
use crate::session::{MessageId, PacketId, Session};

/// What a row counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowOf {
    /// Messages of a kind, or of an RPC, by its name.
    Name(String),
    /// Messages about objects of a type, or about an object, by its number.
    Number(u64),
    /// Messages of which the table's question has no answer: no object, no RPC.
    Others,
    /// What of packets is no message: headers, acks, padding.
    Frame,
    /// What stands in layers, such as compression: which message takes how much there is not told.
    Layers,
    /// What the wire does not explain, in packets of which it explains some.
    Unexplained,
    /// Packets of no protocol of the wire, or all, where there is no wire.
    Undecoded,
}

/// A row of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Packets that have some of it.
    pub packets: u64,
    /// Messages.
    pub messages: u64,
    /// Bits on the wire.
    pub bits: u64,
    /// Messages that repeat an earlier one.
    pub resent: u64,
    /// Bits of those.
    pub resent_bits: u64,
}

/// What the bytes were, by one question. The bits of the rows sum up to those of the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: BTreeMap<RowOf, Row>,
    /// The packet that each row counted last.
    latest: BTreeMap<RowOf, PacketId>,
}

impl Ledger {
    /// The rows, those with most bits first.
    pub fn rows(&self) -> Vec<(&RowOf, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|&(of, row)| (std::cmp::Reverse(row.bits), of));
        rows
    }

    /// The bits of all rows.
    pub fn bits(&self) -> u64 {
        self.rows.values().map(|row| row.bits).sum()
    }

    fn add(&mut self, packet: PacketId, of: RowOf, (bits, message): (u64, Option<bool>)) {
        let is_new = self.latest.get(&of) != Some(&packet);
        if is_new {
            self.latest.insert(of.clone(), packet);
        }
        let row = self.rows.entry(of).or_default();
        row.packets += u64::from(is_new);
        row.bits += bits;
        if let Some(is_resent) = message {
            row.messages += 1;
            row.resent += u64::from(is_resent);
            row.resent_bits += if is_resent { bits } else { 0 };
        }
    }
}

/// Counts these packets, which are in order, as long as it is wanted.
pub(super) fn fill(
    session: &Session,
    history: &History,
    packets: &[PacketId],
    is_wanted: &dyn Fn() -> bool,
    stats: &mut Stats,
) {
    for &id in packets.chunks(LOOK).take_while(|_| is_wanted()).flatten() {
        packet((session, history), id, stats);
    }
}

fn packet((session, history): (&Session, &History), id: PacketId, stats: &mut Stats) {
    let Some(known) = session.packet(id) else {
        return;
    };
    let whole = u64::from(known.length) * 8;
    let said = session.said(id).unwrap_or_default();
    let (mut told, mut end, mut has_layers) = (0, 0u64, false);
    let messages: Vec<(MessageId, MessageFacts)> = session.messages_of(id).collect();
    for (message, facts) in &messages {
        let message = *message;
        // A message inside another one is a part of that.
        let in_packet = facts.stream == StreamId(0);
        has_layers |= !in_packet;
        let bits = match in_packet {
            true => {
                let from = u64::from(facts.bits.start).max(end);
                let until = u64::from(facts.bits.end).min(whole);
                end = until.max(end);
                until.saturating_sub(from)
            }
            false => 0,
        };
        told += bits;
        let counted = (bits, Some(history.resend_of(message).is_some()));
        for (ledger, of) in rows(session, history, (message, facts), stats) {
            ledger.add(id, of, counted);
        }
    }
    let rest = whole.saturating_sub(told);
    let of = match said.protocol {
        None => RowOf::Undecoded,
        _ if has_layers => RowOf::Layers,
        _ if said.diagnostics > 0 => RowOf::Unexplained,
        _ => RowOf::Frame,
    };
    let Stats {
        kinds,
        types,
        objects,
        rpcs,
        ..
    } = stats;
    if rest > 0 {
        for ledger in [kinds, types, objects, rpcs] {
            ledger.add(id, of.clone(), (rest, None));
        }
    }
}

/// In which row of each table a message is.
fn rows<'a>(
    session: &Session,
    history: &History,
    (message, own): (MessageId, &MessageFacts),
    stats: &'a mut Stats,
) -> [(&'a mut Ledger, RowOf); 4] {
    let kind = session.kind_of(own).map(|kind| kind.name.clone());
    let whole = own.fragment.and_then(|_| history.facts(session, message));
    let facts = whole.as_ref().unwrap_or(own);
    let role = session.role(facts);
    let object = facts.object.filter(|_| is_about_object(role));
    let known = object.and_then(|object| history.objects.get(&object));
    let object_type = facts
        .object_type
        .or(known.and_then(|known| known.object_type));
    let object_type = object_type.filter(|_| object.is_some());
    let rpc = facts.rpc_name.as_ref().filter(|_| role == Role::Rpc);
    let rpc = rpc.map(|name| name.text.to_string());
    let or_others = |of: Option<RowOf>| of.unwrap_or(RowOf::Others);
    [
        (&mut stats.kinds, or_others(kind.map(RowOf::Name))),
        (&mut stats.types, or_others(object_type.map(RowOf::Number))),
        (&mut stats.objects, or_others(object.map(RowOf::Number))),
        (&mut stats.rpcs, or_others(rpc.map(RowOf::Name))),
    ]
}

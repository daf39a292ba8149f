//! What the bytes were.

use std::collections::BTreeMap;

use netreel_wire::{KindId, MessageFacts, Role, StreamId};
use smol_str::SmolStr;

use super::read::{Known, Read};
use crate::history::is_about_object;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
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
}

/// Rows under way, each with the packet that it counted last.
type Counting<K> = BTreeMap<K, (Row, Option<PacketId>)>;

/// What is counted of each message in each table, by what the facts have; `None` is [`RowOf::Others`].
#[derive(Default)]
pub(super) struct Tables {
    kinds: Counting<Option<KindId>>,
    types: Counting<Option<u64>>,
    objects: Counting<Option<u64>>,
    rpcs: Counting<Option<SmolStr>>,
    /// What is no message, which is the same in all tables.
    rest: Counting<RowOf>,
    /// For each kind of the wire the first that is called so.
    named: Vec<KindId>,
}

/// Adds bits to a row; of a message, whether it repeats an earlier one.
fn add<K: Ord>(
    to: &mut Counting<K>,
    packet: PacketId,
    of: K,
    (bits, message): (u64, Option<bool>),
) {
    let (row, latest) = to.entry(of).or_default();
    row.packets += u64::from(latest.replace(packet) != Some(packet));
    row.bits += bits;
    if let Some(is_resent) = message {
        row.messages += 1;
        row.resent += u64::from(is_resent);
        row.resent_bits += if is_resent { bits } else { 0 };
    }
}

fn ledger<K>(
    counted: Counting<Option<K>>,
    rest: &Counting<RowOf>,
    of: impl Fn(K) -> RowOf,
) -> Ledger {
    let messages = counted
        .into_iter()
        .map(|(key, (row, _))| (key.map_or(RowOf::Others, &of), row));
    let rest = rest.iter().map(|(of, (row, _))| (of.clone(), *row));
    Ledger {
        rows: messages.chain(rest).collect(),
    }
}

impl Tables {
    pub fn new(session: &Session) -> Tables {
        let mut names: BTreeMap<&str, KindId> = BTreeMap::new();
        let named = (0u16..)
            .map(KindId)
            .zip(session.kinds())
            .map(|(id, kind)| *names.entry(&kind.name).or_insert(id));
        Tables {
            named: named.collect(),
            ..Tables::default()
        }
    }

    /// Takes a packet, and its messages.
    pub fn take(&mut self, known: Known<'_>, read: &Read<'_>) {
        let (session, history, _) = known;
        let whole = u64::from(read.packet.length) * 8;
        let said = session.said(read.id).unwrap_or_default();
        let (mut told, mut end, mut has_layers) = (0, 0u64, false);
        for (message, facts) in read.messages {
            // A message inside another one is a part of that.
            let in_packet = facts.stream == StreamId(0);
            has_layers |= !in_packet;
            let bits = if in_packet {
                let from = u64::from(facts.bits.start).max(end);
                let until = u64::from(facts.bits.end).min(whole);
                end = until.max(end);
                until.saturating_sub(from)
            } else {
                0
            };
            told += bits;
            let counted = (bits, Some(history.resend_of(*message).is_some()));
            self.message(known, (read.id, *message, facts), counted);
        }
        let rest = whole.saturating_sub(told);
        let of = match said.protocol {
            None => RowOf::Undecoded,
            _ if has_layers => RowOf::Layers,
            _ if said.diagnostics > 0 => RowOf::Unexplained,
            _ => RowOf::Frame,
        };
        if rest > 0 {
            add(&mut self.rest, read.id, of, (rest, None));
        }
    }

    fn message(
        &mut self,
        (session, history, _): Known<'_>,
        (packet, message, own): (PacketId, MessageId, &MessageFacts),
        counted: (u64, Option<bool>),
    ) {
        let kind = own.kind;
        let kind = kind.and_then(|kind| self.named.get(usize::from(kind.0)).copied());
        let whole = own.fragment.and_then(|_| history.facts(session, message));
        let facts = whole.as_ref().unwrap_or(own);
        let role = session.role(facts);
        let object = facts.object.filter(|_| is_about_object(role));
        let known = object.and_then(|object| history.objects.get(&object));
        let object_type = facts
            .object_type
            .or(known.and_then(|known| known.object_type))
            .filter(|_| object.is_some());
        let rpc = facts.rpc_name.as_ref().filter(|_| role == Role::Rpc);
        add(&mut self.kinds, packet, kind, counted);
        add(&mut self.types, packet, object_type, counted);
        add(&mut self.objects, packet, object, counted);
        let rpc = rpc.map(|name| name.text.clone());
        add(&mut self.rpcs, packet, rpc, counted);
    }

    /// Adds those of other packets.
    pub fn append(&mut self, other: Tables) {
        append(&mut self.kinds, other.kinds);
        append(&mut self.types, other.types);
        append(&mut self.objects, other.objects);
        append(&mut self.rpcs, other.rpcs);
        append(&mut self.rest, other.rest);
    }

    /// The ledgers of kinds, types, objects and RPCs.
    pub fn ledgers(self, session: &Session) -> [Ledger; 4] {
        let kind = |kind: KindId| {
            let known = session.kinds().get(usize::from(kind.0));
            known.map_or(RowOf::Others, |kind| RowOf::Name(kind.name.clone()))
        };
        [
            ledger(self.kinds, &self.rest, kind),
            ledger(self.types, &self.rest, RowOf::Number),
            ledger(self.objects, &self.rest, RowOf::Number),
            ledger(self.rpcs, &self.rest, |name| RowOf::Name(name.to_string())),
        ]
    }
}

fn append<K: Ord>(to: &mut Counting<K>, more: Counting<K>) {
    for (of, (row, latest)) in more {
        let (sum, last) = to.entry(of).or_default();
        sum.packets += row.packets;
        sum.messages += row.messages;
        sum.bits += row.bits;
        sum.resent += row.resent;
        sum.resent_bits += row.resent_bits;
        *last = latest;
    }
}

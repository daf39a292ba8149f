//! The most telling message of a packet, which names and colours it.
//!
//! It is looked for where somebody looks: what the wire says of millions of packets that nobody
//! sees is not asked for.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use netreel_protocol::session::{PacketId, Session};
use netreel_wire::{KindId, MessageFacts, Role};

use crate::Model;
use crate::latest::lock;

/// How many packets' leads are kept.
const KNOWN_MAX: usize = 1 << 14;

/// What RPCs the messages of a packet are, where the wire names them: each its name and its whole call.
type Calls = Arc<[Option<(String, String)>]>;

/// What was found of packets lately.
#[derive(Debug, Default)]
struct Found<T>(Mutex<HashMap<PacketId, T>>);

impl<T: Clone> Found<T> {
    fn get(&self, packet: PacketId) -> Option<T> {
        lock(&self.0).get(&packet).cloned()
    }

    fn keep(&self, packet: PacketId, found: T) {
        let mut known = lock(&self.0);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(packet, found);
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub struct Leads {
    calls: Found<Calls>,
    known: Found<Option<KindId>>,
    /// Those of all packets of a small session.
    all: OnceLock<Vec<KindId>>,
}

impl Leads {
    fn of(&self, session: &Session, packet: PacketId) -> Option<KindId> {
        session.wire.as_ref()?;
        if let Some(kind) = self.known.get(packet) {
            return kind;
        }
        if !session.looks_at_once() {
            return None;
        }
        let kind = lead(session, packet);
        self.known.keep(packet, kind);
        kind
    }
}

impl Model {
    /// The kind of a packet's most telling message, as far as it can be told by now.
    pub(crate) fn lead(&self, packet: PacketId) -> Option<KindId> {
        self.leads.of(&self.session, packet)
    }

    /// What RPCs a packet's messages are, as `netreel packets` says it. Empty where none is one that the
    /// wire names.
    pub(crate) fn calls(&self, packet: PacketId, messages: &[MessageFacts]) -> Calls {
        if messages.iter().all(|facts| facts.rpc_name.is_none()) {
            return Arc::default();
        }
        let known = &self.leads.calls;
        if let Some(calls) = known.get(packet) {
            return calls;
        }
        let calls: Calls = self
            .session
            .rpcs(packet, messages.iter())
            .into_iter()
            .map(|rpc| rpc.map(|rpc| (rpc.short_name(), rpc.short())))
            .collect();
        known.keep(packet, Arc::clone(&calls));
        calls
    }

    /// The kinds that packets are known by: those of their most telling messages, in the wire's
    /// order. Of a session that is not [small](Session::is_small), of the packets that are drawn
    /// now.
    pub fn kinds_that_lead(&self) -> Vec<KindId> {
        let session = &self.session;
        if session.wire.is_none() {
            return Vec::new();
        }
        let sorted = |kinds: BTreeSet<KindId>| kinds.into_iter().collect();
        if session.is_small() {
            let all = || {
                let packets = (0..session.packet_count()).map(|place| PacketId(place as u32));
                sorted(packets.filter_map(|packet| lead(session, packet)).collect())
            };
            return self.leads.all.get_or_init(all).clone();
        }
        sorted(
            self.arrows_in_view()
                .iter()
                .filter_map(|arrow| arrow.kind)
                .collect(),
        )
    }
}

/// Of messages that tell as much, the first.
fn lead(session: &Session, packet: PacketId) -> Option<KindId> {
    let mut lead: Option<(u8, KindId)> = None;
    for facts in session.look(packet).messages {
        let Some(kind) = facts.kind else { continue };
        let weight = weight(session.role(&facts));
        if lead.is_none_or(|(heaviest, _)| weight > heaviest) {
            lead = Some((weight, kind));
        }
    }
    lead.map(|(_, kind)| kind)
}

/// The places of a packet's messages, the most telling first; of those that tell as much, in wire order.
pub fn most_telling_first(session: &Session, messages: &[MessageFacts]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..messages.len()).collect();
    let weight = |place: usize| messages.get(place).map(|it| weight(session.role(it)));
    places.sort_by_key(|&place| std::cmp::Reverse(weight(place)));
    places
}

/// How much a message tells about a packet that carries it: the highest names and colours it.
pub fn weight(role: Role) -> u8 {
    match role {
        Role::Migrate => 9,
        Role::Destroy => 8,
        Role::Create => 7,
        Role::MigrateOrder => 6,
        Role::Connect | Role::Disconnect => 5,
        Role::Other => 4,
        Role::Rpc => 3,
        Role::Fragment => 2,
        Role::Update | Role::Baseline => 1,
        Role::Ack | Role::Ping | Role::Pong => 0,
    }
}

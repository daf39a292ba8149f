//! What the rules share: deliveries as evidence and as words.

use netreel_wire::Role;

use crate::figures::{self, listed};
use crate::history::state::Held;
use crate::history::{Belief, Delivery, Evidence, History};
use crate::session::{MessageId, NodeId, PacketId, Session, Stamp};

/// A delivery about an object, with what the rules ask of it.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    pub delivery: Delivery,
    pub role: Role,
    pub counter: Option<u64>,
    /// The owner that a CREATE names, or the new owner that a MIGRATE names.
    pub owner: Option<u64>,
    /// The protocol number of the node that said it first.
    pub speaker: Option<u64>,
    pub packet: PacketId,
}

/// What one node was told of one object, in the order of delivery, but for plain updates.
pub(super) fn told_of<'a>(
    session: &'a Session,
    history: &'a History,
    object: u64,
    node: NodeId,
) -> impl Iterator<Item = Told> + 'a {
    let telling = history.telling(object).iter();
    telling
        .filter(move |&&place| history.deliveries.effect(place).0 == node)
        .filter_map(move |&place| told(session, history, place))
}

/// One delivery.
pub(crate) fn told(session: &Session, history: &History, place: u32) -> Option<Told> {
    let delivery = history.deliveries.get(place as usize)?;
    let facts = history.facts(session, delivery.message)?;
    let packet = session.carrier(delivery.message)?;
    let (sender, _) = session.link(packet)?;
    let sender = session.node(sender).and_then(|node| node.peer);
    Some(Told {
        delivery,
        role: session.role(&facts),
        counter: facts.migration_counter,
        owner: facts.owner.or(facts.new_owner),
        speaker: facts.origin.or(sender),
        packet,
    })
}

impl Told {
    /// As a piece of a finding's proof; `what` follows the message's word: `MIGRATE dropped`.
    pub fn evidence(&self, what: &str) -> Evidence {
        Evidence {
            what: format!("{} {what}", word(self.role)),
            message: self.delivery.message,
            packet: self.packet,
            node: self.delivery.node,
            number: self.delivery.at.number,
            time: self.delivery.at.time,
        }
    }

    /// The same of what the node did itself, or was handed.
    pub(super) fn done(&self) -> Evidence {
        self.evidence(if self.delivery.local {
            "sent"
        } else {
            "delivered"
        })
    }

    /// `MIGRATE to B at counter 1`, without the packet.
    pub fn words(&self, session: &Session) -> String {
        let mut words = word(self.role).to_owned();
        match (self.role, self.owner) {
            (Role::Migrate | Role::MigrateOrder, Some(owner)) => {
                words.push_str(&format!(" to {}", session.peer_name(owner)));
            }
            (Role::Destroy | Role::Create | Role::Update, _) => {
                if let Some(speaker) = self.speaker {
                    words.push_str(&format!(" by {}", session.peer_name(speaker)));
                }
            }
            _ => {}
        }
        if let Some(counter) = self.counter {
            words.push_str(&format!(" at counter {counter}"));
        }
        words
    }
}

/// A packet's send as a piece of a finding's proof.
pub(crate) fn sent(session: &Session, packet: PacketId, what: &str) -> Option<Evidence> {
    let at = session.left(packet)?;
    let (from, _) = session.link(packet)?;
    Some(crossing(session, packet, (from, at), what))
}

/// A packet's receipt as a piece of a finding's proof.
pub(crate) fn came(session: &Session, packet: PacketId, what: &str) -> Option<Evidence> {
    let at = session.packet(packet)?.received?;
    let (_, to) = session.link(packet)?;
    Some(crossing(session, packet, (to, at), what))
}

/// A packet where it is first known, as a piece of a finding's proof.
pub(crate) fn sent_or_came(session: &Session, packet: PacketId, what: &str) -> Option<Evidence> {
    sent(session, packet, what).or_else(|| came(session, packet, what))
}

/// An event of a node that sent or received a packet as a piece of a finding's proof.
pub(super) fn at_event(session: &Session, node: NodeId, at: Stamp, what: &str) -> Option<Evidence> {
    let packet = session.packet_at(node, at.number)?.packet;
    Some(crossing(session, packet, (node, at), what))
}

/// A message at its sender, or where it first arrived, as a piece of a finding's proof.
pub(super) fn crossing_of(
    session: &Session,
    message: MessageId,
    node: NodeId,
    what: &str,
) -> Option<Evidence> {
    let carried = session.message(message)?;
    let at = seen_at(session, carried.packet, node)?;
    let what = format!("{} {what}", word(session.role(&carried.facts)));
    Some(Evidence {
        message,
        ..crossing(session, carried.packet, (node, at), &what)
    })
}

/// What told a node a value as a piece of a finding's proof.
pub(super) fn held_by(
    session: &Session,
    node: NodeId,
    held: &Held,
    what: &str,
) -> Option<Evidence> {
    crossing_of(session, held.because?, node, what)
}

/// When a node sent a packet, or received it.
pub(super) fn seen_at(session: &Session, packet: PacketId, node: NodeId) -> Option<Stamp> {
    match session.link(packet)? {
        (from, _) if node == from => session.left(packet),
        (_, to) if node == to => session.packet(packet)?.received,
        _ => None,
    }
}

pub(super) fn crossing(
    session: &Session,
    packet: PacketId,
    (node, at): (NodeId, Stamp),
    what: &str,
) -> Evidence {
    let said = session.said(packet).unwrap_or_default();
    Evidence {
        what: what.to_owned(),
        message: MessageId(said.messages.start),
        packet,
        node,
        number: at.number,
        time: at.time,
    }
}

/// The owner that somebody believes in who believes that an object lives.
pub(crate) fn owner(belief: Belief) -> Option<u64> {
    match belief {
        Belief::Owned(owner) | Belief::Orphaned(owner) => Some(owner),
        Belief::Destroyed | Belief::Unknown => None,
    }
}

/// `; so with 3 more`, where there are more than the one that is told.
pub(super) fn and_more(count: u64) -> String {
    figures::and_more(count, "")
}

/// `A, B and C`.
pub(super) fn names(session: &Session, nodes: &[NodeId]) -> String {
    let names: Vec<String> = nodes.iter().map(|&node| session.name(node)).collect();
    listed(&names)
}

/// What people call a message of this role.
pub(crate) fn word(role: Role) -> &'static str {
    match role {
        Role::Connect => "CONNECT",
        Role::Disconnect => "LEAVE",
        Role::Create => "CREATE",
        Role::Update => "UPDATE",
        Role::Destroy => "DESTROY",
        Role::Migrate => "MIGRATE",
        Role::MigrateOrder => "the order to migrate",
        Role::Baseline => "BASELINE",
        Role::Rpc => "RPC",
        Role::Fragment => "FRAGMENT",
        Role::Ack => "ACK",
        Role::Ping => "PING",
        Role::Pong => "PONG",
        Role::Other => "a message",
    }
}

/// More packets of the same sort are counted, not listed.
pub(super) const EVIDENCE_MAX: usize = 8;

//! What a node did itself to objects and to the session, and when.
//!
//! The packets show it when the node first tells anybody. Where the reel has the game's calls, the
//! moment is known better: what a call led to is sent in the next tick, after what arrives in it.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::EventNumber;
use netreel_wire::{MessageFacts, Role};

use super::facts::Facts;
use super::roles::{ACTS, may_tell};
use crate::session::{MessageId, Node, NodeId, PacketId, Shape, Stamp};

/// Something that a node did.
pub(super) struct Act {
    pub at: Stamp,
    /// When anybody was first told.
    pub sent: Stamp,
    /// The message that first told of it.
    pub message: MessageId,
    pub facts: Box<MessageFacts>,
    pub role: Role,
}

/// By object, and for each thing that can be done to it, at which counter, how often it was done.
type Done = BTreeMap<u64, BTreeMap<(Role, Option<u64>), ActsTold>>;

/// An object, and at which counter it changes its owner.
type Taking = (Option<u64>, Option<u64>);

/// What a node did, in the order in which it told it.
pub(super) fn acts(facts: &Facts<'_>, (id, node): (NodeId, &Node)) -> Vec<Act> {
    let mut acts: Vec<Act> = Vec::new();
    if !ACTS.iter().any(|&role| facts.session.has_role(role)) {
        return acts;
    }
    let orders = orders(facts, id);
    let mut done = Done::default();
    // The tick in which the node dropped a peer: what it does then is its own doing.
    let mut dropped_in: Option<EventNumber> = None;
    let tells = |shape: &Shape| may_tell(facts.session.role_of(shape.kind()));
    let acting = facts.streams.acting.get(&id);
    for (packet, sent) in facts.session.sends(id, acting.map_or(&[], Vec::as_slice)) {
        let Some((_, to)) = facts.session.link(packet) else {
            continue;
        };
        let turn = || facts.session.turn_at(id, sent.number);
        for (message, known) in facts.session.messages_that(packet, &tells) {
            let Some((message_facts, role)) = told_first(facts, message, known) else {
                continue;
            };
            let own = message_facts.origin.is_none() || message_facts.origin == node.peer;
            if role == Role::Disconnect && !own {
                dropped_in = turn().map(|turn| turn.begins);
            }
            let is_act = match role {
                Role::Disconnect => true,
                _ => own && is_new(&mut done, to, role, &message_facts),
            };
            if !is_act {
                continue;
            }
            let taking = (message_facts.object, message_facts.migration_counter);
            let answers = role == Role::Migrate && orders.contains(&taking);
            let turn = turn();
            let by_itself = !own
                || answers
                || dropped_in.is_some_and(|begins| turn.is_some_and(|turn| turn.begins == begins));
            let asked = turn.and_then(|turn| turn.asked).filter(|_| !by_itself);
            let at = asked.unwrap_or(sent);
            acts.push(Act {
                at,
                sent,
                message,
                facts: Box::new(message_facts),
                role,
            });
        }
    }
    acts
}

/// The objects, and at which counter, that a node was ordered to take over.
fn orders(facts: &Facts<'_>, id: NodeId) -> BTreeSet<Taking> {
    let session = facts.session;
    let is_order = |shape: &Shape| session.role_of(shape.kind()) == Role::MigrateOrder;
    let came = |packet: PacketId| {
        session
            .packet(packet)
            .is_some_and(|it| it.received.is_some())
    };
    let packets = facts.streams.orders_to.get(&id).into_iter().flatten();
    let told = packets
        .filter(|&&packet| came(packet))
        .flat_map(|&packet| session.messages_that(packet, is_order));
    told.map(|(_, facts)| (facts.object, facts.migration_counter))
        .collect()
}

/// How often a node did one thing to one object at one counter, told by the messages that it sent
/// about it.
#[derive(Default)]
struct ActsTold {
    done: u64,
    told: BTreeMap<NodeId, u64>,
}

/// Whether this telling is the first of an act. The n-th telling on one link is the n-th act,
/// whoever was told first.
fn is_new(done: &mut Done, to: NodeId, role: Role, facts: &MessageFacts) -> bool {
    let acts = role != Role::Disconnect && ACTS.contains(&role);
    let (true, Some(object)) = (acts, facts.object) else {
        return false;
    };
    // An order and the MIGRATE that says the same are one act.
    let told_as = if role == Role::MigrateOrder {
        Role::Migrate
    } else {
        role
    };
    let acts = done
        .entry(object)
        .or_default()
        .entry((told_as, facts.migration_counter))
        .or_default();
    let told = acts.told.entry(to).or_default();
    *told += 1;
    let is_new = *told > acts.done;
    acts.done = acts.done.max(*told);
    is_new
}

/// What a message says, if it says it for the first time on its link; of a message in fragments the
/// first fragment says all.
fn told_first(
    facts: &Facts<'_>,
    message: MessageId,
    known: MessageFacts,
) -> Option<(MessageFacts, Role)> {
    if facts.streams.is_resend(message) {
        return None;
    }
    let said = match facts.wholes.part(message) {
        Some(part) if part.is_first => {
            (*facts.wholes.joined.get(part.whole as usize)?.facts).clone()
        }
        Some(_) => return None,
        None => known,
    };
    let role = facts.session.role(&said);
    Some((said, role))
}

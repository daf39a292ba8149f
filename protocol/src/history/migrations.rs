//! Migrations as sequences: who asked, what was ordered, who was told when, what of that its sender
//! learnt, and when the new owner first spoke.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::{Effect, History, Object, Told, told};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime};

/// A request is looked for among this many packets before its answer.
const REQUEST_LOOK: u32 = 4_000;

/// A change of an object's owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// The object.
    pub object: u64,
    /// The protocol's number of the new owner.
    pub to: u64,
    /// The counter at which it migrated, where the protocol has one.
    pub counter: Option<u64>,
    /// What happened, in order of time.
    pub steps: Vec<MigrationStep>,
}

/// Something that happened on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigrationStep {
    /// What.
    pub what: MigrationWhat,
    /// Where.
    pub node: NodeId,
    /// The other end: who had sent it, or of what `node` learnt whom it had reached.
    pub other: Option<NodeId>,
    /// When.
    pub at: SessionTime,
    /// The packet that carried it.
    pub packet: PacketId,
}

/// What happened on the way of a migration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MigrationWhat {
    /// Who decides got a message about the object from the new owner, which may have asked for it.
    Asked(MessageId),
    /// Who decides ordered the new owner to take it over.
    Ordered,
    /// The new owner was handed the order.
    OrderCame,
    /// The new owner was named to others for the first time.
    Announced,
    /// A node was told, and did this.
    Told(Effect),
    /// Who had told a node learnt that the packet had come.
    Acked,
    /// A node was to be told, and no copy reached it.
    NotDelivered,
    /// The new owner first sent an UPDATE since.
    Updated,
    /// A node took the first UPDATE of the new owner.
    UpdateTaken,
}

impl MigrationWhat {
    /// The word for it: `order-came`.
    pub fn name(self) -> &'static str {
        match self {
            MigrationWhat::Asked(_) => "asked",
            MigrationWhat::Ordered => "ordered",
            MigrationWhat::OrderCame => "order-came",
            MigrationWhat::Announced => "announced",
            MigrationWhat::Told(_) => "told",
            MigrationWhat::Acked => "acked",
            MigrationWhat::NotDelivered => "not-delivered",
            MigrationWhat::Updated => "updated",
            MigrationWhat::UpdateTaken => "update-taken",
        }
    }
}

impl History {
    /// The migrations of an object, in the order in which they began.
    pub fn migrations(&self, session: &Session, object: u64) -> Vec<Migration> {
        let Some(known) = self.objects.get(&object) else {
            return Vec::new();
        };
        let mut migrations: Vec<Migration> = Vec::new();
        for &place in self.telling(object) {
            let Some(told) = told(session, self, place) else {
                continue;
            };
            if let (Role::Migrate | Role::MigrateOrder, Some(to)) = (told.role, told.owner) {
                let of = of(&mut migrations, (object, to), &told);
                of.take(session, self, &told);
            }
        }
        for &message in &self.undelivered {
            let facts = self.facts(session, message);
            let Some(facts) = facts.filter(|facts| facts.object == Some(object)) else {
                continue;
            };
            let role = session.role(&facts);
            let is_it = |it: &&mut Migration| {
                Some(it.to) == facts.new_owner && it.counter == facts.migration_counter
            };
            if matches!(role, Role::Migrate | Role::MigrateOrder)
                && let Some(of) = migrations.iter_mut().rev().find(is_it)
            {
                of.steps.extend(undelivered(session, message));
            }
        }
        if !migrations.is_empty() {
            updates(session, self, known, &mut migrations);
        }
        for each in &mut migrations {
            each.steps.sort_by_key(|step| step.at);
        }
        migrations
    }
}

/// The migration that a delivery is of; a new one where it is of none that is known.
fn of<'a>(
    migrations: &'a mut Vec<Migration>,
    (object, to): (u64, u64),
    told: &Told,
) -> &'a mut Migration {
    let node = told.delivery.node;
    let knows = |it: &Migration| {
        let mut steps = it.steps.iter();
        steps.any(|step| step.node == node && matches!(step.what, MigrationWhat::Told(_)))
    };
    let is_it = |it: &Migration| {
        it.to == to
            && it.counter == told.counter
            && match (told.counter, told.delivery.local) {
                (Some(_), _) => true,
                // Without a counter, whoever names the same owner again means another migration.
                (None, true) => false,
                (None, false) => !knows(it),
            }
    };
    let place = match migrations.iter().position(is_it) {
        Some(place) => place,
        None => {
            migrations.push(Migration {
                object,
                to,
                counter: told.counter,
                steps: Vec::new(),
            });
            migrations.len() - 1
        }
    };
    &mut migrations[place]
}

impl Migration {
    fn take(&mut self, session: &Session, history: &History, told: &Told) {
        let delivery = told.delivery;
        let link = session.link(told.packet);
        let at = MigrationStep {
            what: MigrationWhat::Ordered,
            node: delivery.node,
            other: link.map(|(from, _)| from).filter(|_| !delivery.local),
            at: delivery.at.time,
            packet: told.packet,
        };
        let decides = session.node_of_peer(self.to) != Some(delivery.node);
        if delivery.local && decides && !self.has(MigrationWhat::Ordered) {
            let asked = request(session, history, told);
            self.steps.extend(asked.map(Request::step));
        }
        let what = match (told.role, delivery.local) {
            (Role::MigrateOrder, true) => MigrationWhat::Ordered,
            (Role::MigrateOrder, false) => MigrationWhat::OrderCame,
            (_, true) if self.has(MigrationWhat::Announced) => return,
            (_, true) => MigrationWhat::Announced,
            (_, false) => MigrationWhat::Told(delivery.effect),
        };
        self.steps.push(MigrationStep { what, ..at });
        if !delivery.local
            && let Some((from, to)) = link
            && let Some(learnt) = history.acked(session, told.packet)
        {
            self.steps.push(MigrationStep {
                what: MigrationWhat::Acked,
                node: from,
                other: Some(to),
                at: learnt.time,
                packet: told.packet,
            });
        }
    }

    fn has(&self, what: MigrationWhat) -> bool {
        self.steps.iter().any(|step| step.what == what)
    }
}

fn undelivered(session: &Session, message: MessageId) -> Option<MigrationStep> {
    let packet = session.carrier(message)?;
    let (from, to) = session.link(packet)?;
    Some(MigrationStep {
        what: MigrationWhat::NotDelivered,
        node: to,
        other: Some(from),
        at: session.departed(packet)?.1.time,
        packet,
    })
}

/// The first UPDATEs of new owners, at each node.
fn updates(session: &Session, history: &History, object: &Object, migrations: &mut [Migration]) {
    let first = |it: &Migration| it.steps.iter().map(|step| step.at).min();
    let since: Vec<Option<SessionTime>> = migrations.iter().map(first).collect();
    let mut taken: BTreeMap<(usize, NodeId), MigrationStep> = BTreeMap::new();
    for &place in &object.deliveries {
        let (_, effect) = history.deliveries.effect(place);
        if !matches!(effect, Effect::Updated | Effect::CreatedByUpdate) {
            continue;
        }
        let Some(told) = told(session, history, place).filter(|it| it.role == Role::Update) else {
            continue;
        };
        let delivery = told.delivery;
        let sent = session.departed(told.packet).map(|(_, at)| at.time);
        let since = migrations.iter().zip(&since);
        let mut latest = since.enumerate().rev().filter(|(_, (_, since))| {
            since.is_some_and(|since| sent.is_none_or(|sent| since <= sent))
        });
        let Some((place, (migration, _))) = latest.next() else {
            continue;
        };
        let is_by_owner = told.speaker == Some(migration.to);
        let is_at_counter = told.counter.is_none() || told.counter == migration.counter;
        if delivery.local || !is_by_owner || !is_at_counter {
            continue;
        }
        taken
            .entry((place, delivery.node))
            .or_insert(MigrationStep {
                what: MigrationWhat::UpdateTaken,
                node: delivery.node,
                other: session.link(told.packet).map(|(from, _)| from),
                at: delivery.at.time,
                packet: told.packet,
            });
    }
    for ((place, _), step) in taken {
        let Some(migration) = migrations.get_mut(place) else {
            continue;
        };
        let owner = session.node_of_peer(migration.to);
        migration.steps.push(step);
        let Some((_, left)) = session.departed(step.packet) else {
            continue;
        };
        // What a relay passes on was sent before.
        let known = |it: &&mut MigrationStep| it.what == MigrationWhat::Updated;
        match migration.steps.iter_mut().find(known) {
            _ if owner.is_none() || step.other != owner => {}
            Some(before) if before.at <= left.time => {}
            Some(before) => (before.at, before.packet) = (left.time, step.packet),
            None => migration.steps.push(MigrationStep {
                what: MigrationWhat::Updated,
                node: step.other.unwrap_or(step.node),
                other: None,
                at: left.time,
                packet: step.packet,
            }),
        }
    }
}

/// A message about an object from who gets it, shortly before that was decided.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub message: MessageId,
    pub packet: PacketId,
    /// Who got it, from whom, and when.
    pub node: NodeId,
    pub from: NodeId,
    pub at: SessionTime,
    /// How long before the decision was first told.
    pub before_ns: i64,
}

impl Request {
    fn step(self) -> MigrationStep {
        MigrationStep {
            what: MigrationWhat::Asked(self.message),
            node: self.node,
            other: Some(self.from),
            at: self.at,
            packet: self.packet,
        }
    }
}

/// What may have asked for a migration that a node decided. No packet shows whether it did.
pub(crate) fn request(session: &Session, history: &History, told: &Told) -> Option<Request> {
    let owner = session.node_of_peer(told.owner?)?;
    let node = told.delivery.node;
    let object = history.facts(session, told.delivery.message)?.object?;
    let packet = session.carrier(told.delivery.message)?;
    let (_, sent) = session.departed(packet)?;
    let mut back = (packet.0.saturating_sub(REQUEST_LOOK)..packet.0)
        .rev()
        .map(PacketId);
    back.find_map(|id| {
        if session.link(id) != Some((owner, node)) {
            return None;
        }
        let received = session
            .packet(id)?
            .received
            .filter(|it| it.number < sent.number)?;
        let asks = session.messages_of(id).find(|(_, facts)| {
            let role = session.role(facts);
            facts.object == Some(object) && !super::is_about_object(role)
        });
        Some(Request {
            message: asks?.0,
            packet: id,
            node,
            from: owner,
            at: received.time,
            before_ns: sent.time.0.saturating_sub(received.time.0),
        })
    })
}

//! What messages do to objects, in all modes of migration.

use std::collections::BTreeMap;

use super::NetLayer;
use crate::event::{Event, IgnoreReason, ObjectMessage};
use crate::fault::Fault;
use crate::message::{Body, Counter, Migration, ObjectId, Peer, State};
use crate::mode::Mode;
use crate::object::{Announced, Heard, Object};
use crate::types::Value;

/// How an object came to be what it is: what a server must pass on before its UPDATEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A CREATE was taken: whoever gets it has all values.
    Created(ObjectId),
    /// A MIGRATE was taken.
    Migrated(ObjectId),
}

impl NetLayer {
    /// CREATE. In mode `host` it always creates; where there are counters it must not be old.
    pub(super) fn take_create(
        &mut self,
        id: ObjectId,
        counter: Option<Counter>,
        owner: Peer,
        state: State,
    ) -> Option<Effect> {
        let Some(counter) = self.counter_of(counter) else {
            return self.ignore(ObjectMessage::Create, id, IgnoreReason::Unfit);
        };
        if self.counts() && self.is_stale(id, counter) {
            return self.ignore(ObjectMessage::Create, id, IgnoreReason::Stale);
        }
        let is_heir = self.mode() == Mode::Queue && owner == self.start.own;
        let (_, state) = self.own_or(id, state, is_heir);
        self.put(id, counter, owner, state);
        if is_heir {
            self.keep_copies(id);
        }
        self.events.push_back(Event::Created { object: id, owner });
        self.confirm_to_owner(id);
        Some(Effect::Created(id))
    }

    /// UPDATE. Counts only for an object that lives here, in the order of the sender's packets;
    /// where UPDATEs are counted only at its counter and from its believed owner.
    #[allow(clippy::too_many_arguments)] // the fields of one message, and where it came from
    pub(super) fn take_update(
        &mut self,
        link: Peer,
        packet: u64,
        origin: Peer,
        id: ObjectId,
        counter: Option<Counter>,
        kind: u8,
        changes: Vec<Option<Value>>,
    ) {
        let counts = self.mode().counts_updates();
        let counter = if counts { counter } else { Some(Counter(0)) };
        let Some(counter) = counter else {
            self.ignore(ObjectMessage::Update, id, IgnoreReason::Unfit);
            return;
        };
        let Some(object) = self.objects.get_mut(&id) else {
            self.ignore(ObjectMessage::Update, id, IgnoreReason::Unknown);
            return;
        };
        let newest = object.updated_by.get(&link);
        let because = if object.state.kind != kind {
            Some(IgnoreReason::Unfit)
        } else if counts && counter < object.counter {
            Some(IgnoreReason::Stale)
        } else if counts && (origin != object.owner || counter != object.counter) {
            Some(IgnoreReason::NotOwner)
        } else if newest.is_some_and(|&newest| packet <= newest) {
            Some(IgnoreReason::OutOfOrder)
        } else {
            None
        };
        if let Some(because) = because {
            self.ignore(ObjectMessage::Update, id, because);
            return;
        }
        object.updated_by.insert(link, packet);
        self.versions += 1;
        let misread = self
            .types
            .get(kind)
            .filter(|_| self.start.fault == Some(Fault::NegativesOff));
        let changes = match misread {
            Some(object_type) => object_type.raise_negatives(changes),
            None => changes,
        };
        object.change(changes, self.versions);
        if !self.has(Fault::SwallowUpdates) || packet % 8 != 3 {
            self.events.push_back(Event::Updated { object: id });
        }
    }

    /// DESTROY. Of an unknown object: dropped in mode `host`, else a tombstone. Whether a server has to
    /// pass it on.
    pub(super) fn take_destroy(
        &mut self,
        origin: Peer,
        id: ObjectId,
        counter: Option<Counter>,
    ) -> bool {
        let Some(counter) = self.counter_of(counter) else {
            self.ignore(ObjectMessage::Destroy, id, IgnoreReason::Unfit);
            return true;
        };
        if self.counts() && self.is_stale(id, counter) {
            self.ignore(ObjectMessage::Destroy, id, IgnoreReason::Stale);
            return !self.end_at_last(id);
        }
        let lived = self.objects.contains_key(&id);
        self.forget(id, counter, origin);
        if lived {
            self.events.push_back(Event::Destroyed { object: id });
        } else {
            self.ignore(ObjectMessage::Destroy, id, IgnoreReason::Unknown);
        }
        true
    }

    /// MIGRATE. In mode `host` it names the new owner of an object that lives here; where it creates
    /// what does not exist, it says everything.
    pub(super) fn take_migrate(&mut self, migration: Migration) -> Option<Effect> {
        let Migration {
            object: id,
            new_owner,
            full,
        } = migration;
        let (own, lived) = (self.start.own, self.objects.contains_key(&id));
        match (self.mode(), full) {
            (mode, Some((counter, state))) if mode.migrate_creates() => {
                self.confirm_to_host(id, new_owner, counter);
                if self.is_stale(id, counter) {
                    return self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Stale);
                }
                self.put(id, counter, new_owner, state);
            }
            (Mode::Host, None) => {
                self.epochs += 1;
                let Some(object) = self.objects.get_mut(&id) else {
                    return self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Unknown);
                };
                object.owner = new_owner;
                object.epoch = self.epochs;
                if new_owner == own {
                    self.keep_copies(id);
                } else {
                    self.drop_copies(id);
                }
            }
            _ => return self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Unfit),
        }
        self.tell_migrated(id, new_owner, !lived);
        Some(Effect::Migrated(id))
    }

    /// HOST's order to take an object over. What lives here already keeps its values: they came
    /// from the old owner as HOST's did.
    pub(super) fn take_order(&mut self, migration: Migration) {
        let Migration {
            object: id,
            new_owner,
            full,
        } = migration;
        let own = self.start.own;
        let fits = self.mode().migrate_creates() && new_owner == own;
        let Some((counter, state)) = full.filter(|_| fits) else {
            self.ignore(ObjectMessage::Order, id, IgnoreReason::Unfit);
            return;
        };
        if self.is_stale(id, counter) {
            self.ignore(ObjectMessage::Order, id, IgnoreReason::Stale);
            return;
        }
        let (created, state) = self.own_or(id, state, true);
        self.put(id, counter, own, state);
        if self.mode() == Mode::Handshake {
            self.keep_copies(id); // all have confirmed
        } else if !self.has(Fault::ForgetAnnounce) {
            self.announce_migration(id);
        }
        self.tell_migrated(id, own, created);
    }

    /// The state of an object as it lives here, where it does and that is asked for, in place of what
    /// is said of it; and whether it does not.
    fn own_or(&self, id: ObjectId, said: State, keeps_own: bool) -> (bool, State) {
        let known = self.objects.get(&id);
        match known.filter(|object| keeps_own && object.state.kind == said.kind) {
            Some(object) => (false, object.state.clone()),
            None => (true, said),
        }
    }

    /// The new owner tells everybody, and waits for each ack before it updates that peer.
    pub(super) fn announce_migration(&mut self, id: ObjectId) {
        let own = self.start.own;
        let Some(migration) = self.objects.get(&id).map(|object| object.migration(id)) else {
            return;
        };
        let misled = self.untold(Fault::MisnameHeir);
        self.tell_copies(id, &Body::Migrate(migration.clone()), misled, false);
        if self.has(Fault::MigrateTwice) {
            self.tell_all(own, &Body::Migrate(migration.clone()), None);
        }
        if let Some(peer) = misled {
            let new_owner = Peer::HOST;
            let migration = Migration {
                new_owner,
                ..migration
            };
            self.tell(peer, own, Body::Migrate(migration));
        }
    }

    /// The server passes a client's message on, and from then on looks after the other clients'
    /// copies.
    pub(super) fn relay(&mut self, link: Peer, origin: Peer, body: &Body, effect: Option<Effect>) {
        let fault = match body {
            Body::Create { .. } => Fault::RelayNoCreate,
            Body::Destroy { .. } => Fault::RelayNoDestroy,
            _ => Fault::RelayNoMigrate,
        };
        let untold = self.untold(fault);
        let sayer = (!self.has(Fault::RelayBack)).then_some(link);
        let mut others = self.linked();
        others.retain(|&peer| Some(peer) != sayer && Some(peer) != untold);
        let told = self.tell_each(others, origin, body);
        if self.has(Fault::RelayTwice) {
            self.tell_all(origin, body, Some(link));
        }
        let (id, has_values) = match effect {
            Some(Effect::Created(id)) => (id, true),
            Some(Effect::Migrated(id)) => (id, false),
            None => return,
        };
        for (peer, place) in told {
            self.set_copy(id, peer, Announced::At(place), has_values);
        }
    }

    /// Ends an object here, and remembers that it did.
    pub(super) fn forget(&mut self, id: ObjectId, counter: Counter, by: Peer) {
        self.drop_agreements(id);
        self.objects.remove(&id);
        let destroyed_by = Some(by);
        let tombstone = Heard {
            counter,
            destroyed_by,
        };
        self.heard.insert(id, tombstone);
        if self.has(Fault::ForgetTombstones) {
            self.heard.remove(&id);
        }
        self.drop_copies(id);
    }

    /// Makes an object what a message says, whatever it was.
    fn put(&mut self, id: ObjectId, counter: Counter, owner: Peer, state: State) {
        self.epochs += 1;
        self.versions += 1;
        self.heard.insert(id, Heard::alive(counter));
        self.drop_copies(id);
        let known = self.objects.remove(&id);
        let object = Object {
            owner,
            counter,
            versions: vec![self.versions; state.values.len()],
            epoch: self.epochs,
            updated_by: known.map_or_else(BTreeMap::new, |it| it.updated_by),
            state,
        };
        self.objects.insert(id, object);
    }

    /// Whether a message at this counter is older than what was heard of the object.
    pub(super) fn is_stale(&self, id: ObjectId, counter: Counter) -> bool {
        self.heard.get(&id).is_some_and(|heard| {
            counter < heard.counter || (counter == heard.counter && heard.destroyed_by.is_some())
        })
    }

    /// The counter of a message: there must be one but in mode `host`, where it is 0.
    fn counter_of(&self, counter: Option<Counter>) -> Option<Counter> {
        if self.counts() {
            counter
        } else {
            Some(Counter(0))
        }
    }

    /// Tells the game who owns an object now, and whether it came to life here by that.
    pub(super) fn tell_migrated(&mut self, object: ObjectId, owner: Peer, created: bool) {
        self.events.push_back(Event::Migrated {
            object,
            owner,
            created,
        });
    }

    /// Tells the game that a message did nothing; always `None`.
    pub(super) fn ignore(
        &mut self,
        message: ObjectMessage,
        object: ObjectId,
        because: IgnoreReason,
    ) -> Option<Effect> {
        self.events.push_back(Event::Ignored {
            message,
            object,
            because,
        });
        None
    }
}

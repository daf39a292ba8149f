//! Mode `queue`: HOST tells everybody of a new owner, and what is early at a receiver waits there.
//!
//! Early is what speaks of an ownership that this node has yet to hear of: an UPDATE or DESTROY at a
//! higher counter, and anything about an object whose CREATE has not come. It is acked all the same,
//! so it must not get lost: it is kept in the order in which it came, and taken as soon as it is not
//! early any more.

use super::net_layer::{Early, NetLayer};
use crate::event::{Event, IgnoreReason, ObjectMessage};
use crate::message::{Body, Counter, Message, ObjectId, Peer};
use crate::mode::Mode;
use crate::object::Heard;
use crate::state::saved;

saved! { Early { link, packet, message } }

/// No more than this many messages wait; who sends that many means no good, and they are ignored.
const EARLY_MAX: usize = 16_384;

impl NetLayer {
    /// Whether a message must wait. HOST's DESTROY never does: HOST knows.
    pub(super) fn is_early(&self, message: &Message) -> bool {
        if self.mode() != Mode::Queue {
            return false;
        }
        let (id, counter) = match message.body {
            Body::Update {
                object, counter, ..
            } => (object, counter),
            Body::Destroy { object, counter } if message.origin != Peer::HOST => (object, counter),
            Body::Assign { object, .. } => (object, None),
            _ => return false,
        };
        match self.heard.get(&id) {
            Some(heard) => counter.is_some_and(|counter| counter > heard.counter),
            None => !self.gone.contains_key(&NetLayer::creator(id)),
        }
    }

    /// Keeps a message until it is not early any more.
    pub(super) fn keep_early(&mut self, link: Peer, packet: u64, message: Message) {
        let (id, what) = match message.body {
            Body::Update { object, .. } => (object, ObjectMessage::Update),
            Body::Destroy { object, .. } => (object, ObjectMessage::Destroy),
            Body::Assign { object, .. } => (object, ObjectMessage::Migrate),
            _ => return,
        };
        if self.early.values().map(Vec::len).sum::<usize>() >= EARLY_MAX {
            self.ignore(what, id, IgnoreReason::Unknown);
            return;
        }
        self.ignore(what, id, IgnoreReason::Early);
        let waiting = self.early.entry(id).or_default();
        waiting.push(Early {
            link,
            packet,
            message,
        });
    }

    /// Takes what waited and waits no longer, in the order in which it came.
    pub(super) fn take_early(&mut self, id: ObjectId) {
        while let Some(waiting) = self.early.get(&id) {
            let due = waiting
                .iter()
                .position(|early| !self.is_early(&early.message));
            let Some(due) = due else { return };
            let waiting = self.early.entry(id).or_default();
            let early = waiting.remove(due);
            if waiting.is_empty() {
                self.early.remove(&id);
            }
            self.apply(early.link, early.packet, early.message);
        }
    }

    /// A peer has left: HOST has said again what it knew of its objects, so no CREATE of it comes
    /// that something could wait for.
    pub(super) fn drop_early(&mut self, left: Peer) {
        let heard = &self.heard;
        self.early
            .retain(|id, _| NetLayer::creator(*id) != left || heard.contains_key(id));
    }

    /// HOST tells all of the objects of a peer that is gone anew, and gives away those that it owned:
    /// it may have died with its CREATEs half told, and what it had told waits at some peers for
    /// them.
    pub(super) fn create_anew(&mut self, left: Peer, living: &[Peer]) {
        let concerned: Vec<(ObjectId, Peer)> = self
            .objects
            .iter()
            .filter(|(id, it)| it.owner == left || NetLayer::creator(**id) == left)
            .map(|(&id, it)| (id, it.owner))
            .collect();
        for (id, owner) in concerned {
            let heir = living.get((id.0 % living.len().max(1) as u64) as usize);
            let owner = if owner == left {
                heir.copied().unwrap_or(Peer::HOST)
            } else {
                owner
            };
            self.raise_counter(id);
            self.epochs += 1;
            let Some(object) = self.objects.get_mut(&id) else {
                continue;
            };
            object.owner = owner;
            object.epoch = self.epochs;
            let body = Body::Create {
                object: id,
                counter: Some(object.counter),
                owner,
                state: object.state.clone(),
            };
            self.drop_copies(id);
            self.tell_copies(id, &body, Some(left), true);
            self.tell_migrated(id, owner, false);
        }
    }

    /// HOST tells all of a new owner, without what the object is: they know, or will.
    pub(super) fn assign(&mut self, id: ObjectId) {
        let Some(object) = self.objects.get(&id) else {
            return;
        };
        let body = Body::Assign {
            object: id,
            new_owner: object.owner,
            counter: object.counter,
        };
        if self.mode() == Mode::Queue {
            self.tell_all(Peer::HOST, &body, None);
            self.keep_copies(id);
            return;
        }
        self.drop_copies(id);
        self.tell_copies(id, &body, None, false);
    }

    /// HOST has told of a new owner. What does not exist is not created.
    pub(super) fn take_assign(
        &mut self,
        origin: Peer,
        id: ObjectId,
        new_owner: Peer,
        counter: Counter,
    ) {
        let fits = matches!(self.mode(), Mode::Queue | Mode::Order);
        if !fits || origin != Peer::HOST {
            self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Unfit);
            return;
        }
        if self.is_stale(id, counter) {
            self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Stale);
            return;
        }
        self.epochs += 1;
        let Some(object) = self.objects.get_mut(&id) else {
            self.ignore(ObjectMessage::Migrate, id, IgnoreReason::Unknown);
            return;
        };
        object.owner = new_owner;
        object.counter = counter;
        object.epoch = self.epochs;
        self.heard.insert(id, Heard::alive(counter));
        match (new_owner == self.start.own, self.mode()) {
            (true, Mode::Queue) => self.keep_copies(id),
            (true, _) => self.wait_for_confirmations(id),
            (false, _) => self.drop_copies(id),
        }
        self.tell_migrated(id, new_owner, false);
        self.confirm_to_owner(id);
    }

    /// HOST ends an object whose owner destroyed it while HOST gave it away: the new owner may never
    /// have had it, and no MIGRATE brings it back. Whether this was so.
    pub(super) fn end_at_last(&mut self, id: ObjectId) -> bool {
        let no_state = matches!(self.mode(), Mode::Queue | Mode::Order);
        let Some(object) = self.objects.get(&id).filter(|_| no_state && self.is_host()) else {
            return false;
        };
        self.end_for_all(id, object.counter);
        self.events.push_back(Event::Destroyed { object: id });
        true
    }
}

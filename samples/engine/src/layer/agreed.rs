//! Modes `handshake` and `order`: peers confirm what they know of an object.
//!
//! In mode `handshake` HOST tells everybody but the new owner of a migration, and orders the new owner
//! to take over when all who are still there have confirmed it. Until then nobody takes the object for
//! its own: it is in limbo.
//!
//! In mode `order` all hear of objects from HOST alone, on the one stream that each has from it. Who
//! owns an object sees no ack of what HOST told in its name, so the others confirm it to the owner,
//! who sends no UPDATE before.

use super::NetLayer;
use crate::message::{Body, Counter, ObjectId, Peer};
use crate::mode::{Mode, Topology};
use crate::object::Announced;

impl NetLayer {
    /// Tells of an object of this node's own: everybody, or in mode `order` HOST, who tells the
    /// others. How each was told.
    pub(super) fn tell_of(&mut self, body: &Body, except: Option<Peer>) -> Vec<(Peer, Announced)> {
        let own = self.start.own;
        if self.mode() != Mode::Order || self.is_host() {
            let told = self.tell_all(own, body, except).into_iter();
            return told
                .map(|(peer, place)| (peer, Announced::At(place)))
                .collect();
        }
        let place = self.tell(Peer::HOST, own, body.clone());
        let others = self.linked().into_iter().filter(|&it| it != Peer::HOST);
        let by_host = others.map(|peer| (peer, Announced::ByHost));
        let host = place.map(|place| (Peer::HOST, Announced::At(place)));
        host.into_iter().chain(by_host).collect()
    }

    /// Made the owner in mode `order`: HOST knows, and the others confirm.
    pub(super) fn wait_for_confirmations(&mut self, id: ObjectId) {
        for peer in self.linked() {
            let announced = if peer == Peer::HOST {
                Announced::Ready
            } else {
                Announced::ByHost
            };
            self.set_copy(id, peer, announced, false);
        }
    }

    /// In mode `order`, tells the owner of an object that this node knows it, and at which counter.
    pub(super) fn confirm_to_owner(&mut self, id: ObjectId) {
        let own = self.start.own;
        if self.mode() != Mode::Order || self.start.topology == Topology::ClientServer {
            return;
        }
        let Some(object) = self.objects.get(&id) else {
            return;
        };
        let (owner, counter) = (object.owner, object.counter);
        // HOST told of it itself, or was told.
        if ![own, Peer::HOST].contains(&owner) && own != Peer::HOST {
            let object = id;
            self.tell(owner, own, Body::Confirm { object, counter });
        }
    }

    /// In mode `handshake`, tells HOST that this node has heard of a migration, old or not.
    pub(super) fn confirm_to_host(&mut self, object: ObjectId, new_owner: Peer, counter: Counter) {
        let own = self.start.own;
        let asks = new_owner != Peer::HOST && new_owner != own;
        if self.mode() == Mode::Handshake && asks && !self.is_host() {
            self.tell(Peer::HOST, own, Body::Confirm { object, counter });
        }
    }

    /// A peer knows of an object at a counter.
    pub(super) fn take_confirm(&mut self, from: Peer, id: ObjectId, counter: Counter) {
        let agrees = matches!(self.mode(), Mode::Handshake | Mode::Order);
        let is_over = self
            .heard
            .get(&id)
            .is_some_and(|heard| heard.destroyed_by.is_some());
        if !agrees || is_over {
            return;
        }
        let known = self.confirmed.entry((id, from)).or_default();
        *known = counter.max(*known);
        self.end_limbo(id);
    }

    /// Whether a peer has confirmed an object at the counter that it has here.
    pub(super) fn has_confirmed(&self, id: ObjectId, peer: Peer) -> bool {
        let known = self.confirmed.get(&(id, peer));
        self.objects
            .get(&id)
            .is_some_and(|object| known.is_some_and(|&known| known >= object.counter))
    }

    /// HOST tells everybody but the new owner, and waits.
    pub(super) fn ask_all(&mut self, id: ObjectId, to: Peer) {
        let Some(migration) = self.objects.get(&id).map(|object| object.migration(id)) else {
            return;
        };
        let body = Body::Migrate(migration);
        self.tell_copies(id, &body, Some(to), false);
        self.limbo.insert(id);
        self.end_limbo(id);
    }

    /// Orders the new owner to take over, if everybody else has confirmed that.
    pub(super) fn end_limbo(&mut self, id: ObjectId) {
        let Some(to) = self.objects.get(&id).map(|object| object.owner) else {
            return;
        };
        let has_all = self
            .others()
            .all(|peer| peer == to || self.has_confirmed(id, peer));
        if has_all && self.limbo.remove(&id) {
            self.order(id, to);
        }
    }

    /// Forgets what was confirmed of an object that is no more.
    pub(super) fn drop_agreements(&mut self, id: ObjectId) {
        self.limbo.remove(&id);
        let all = (id, Peer(0))..=(id, Peer(u8::MAX));
        let keys: Vec<_> = self.confirmed.range(all).map(|(&key, _)| key).collect();
        for key in keys {
            self.confirmed.remove(&key);
        }
    }
}

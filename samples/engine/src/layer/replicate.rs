//! Keeping the copies of objects at other peers up to date, and sending what is due.

use std::collections::BTreeMap;

use netreel_transport::Transport;

use super::NetLayer;
use crate::bits::BitWriter;
use crate::fault::Fault;
use crate::link::{Cargo, LinkState, Room, SentUpdate, write_unreliable};
use crate::message::{Body, ObjectId, Peer};
use crate::object::{Announced, Copy, Object};
use crate::packet::FRAME_BITS_MAX;

impl NetLayer {
    /// Sends what is due on every link.
    pub(super) fn send_all(&mut self, io: &mut dyn Transport) {
        for peer in self.linked() {
            let mut sent = 0;
            while sent < self.start.tuning.packets_per_tick && self.send_one(peer, io) {
                sent += 1;
            }
            let (start, now) = (&self.start, self.now_ns);
            if let Some(link) = self.links.get_mut(&peer)
                && sent == 0
                && link.owes_packet(now, &start.tuning)
            {
                // Its streams ended when it was dropped, so this does not go through them.
                let notice = link
                    .is_expelled
                    .then(|| write_unreliable(peer, Body::Leave, &self.types));
                let (mode, own) = (start.mode, start.own);
                link.send(mode, own, notice.as_slice(), Cargo::default(), now, io);
            }
        }
    }

    /// Whether this node keeps a peer's copy of the object up to date: its owner does, and the
    /// server for whoever is not the owner.
    pub(super) fn looks_after(&self, object: &Object, peer: Peer) -> bool {
        let link = self.links.get(&peer);
        link.is_some_and(|link| link.state != LinkState::Gone)
            && (object.owner == self.start.own || (self.is_server() && object.owner != peer))
    }

    /// Tells all but one of an object, and from then on looks after their copies.
    pub(super) fn tell_copies(
        &mut self,
        id: ObjectId,
        body: &Body,
        except: Option<Peer>,
        has_values: bool,
    ) {
        for (peer, place) in self.tell_all(self.start.own, body, except) {
            self.set_copy(id, peer, Announced::At(place), has_values);
        }
    }

    /// Notes that a peer was told of an object; `has_values`: and of the values of now.
    pub(super) fn set_copy(
        &mut self,
        id: ObjectId,
        peer: Peer,
        announced: Announced,
        has_values: bool,
    ) {
        if let Some(object) = self.objects.get(&id) {
            let versions = has_values.then_some(object.versions.as_slice());
            let copy = Copy::new(object.epoch, announced, object.versions.len(), versions);
            self.copies.insert((peer, id), copy);
        }
    }

    /// A new owner that waits for nobody: every field of every copy counts as unacked, and only
    /// a CREATE that this node itself has sent is still waited for.
    pub(super) fn keep_copies(&mut self, id: ObjectId) {
        for peer in self.linked() {
            let known = self.copies.get(&(peer, id));
            let announced = known.map_or(Announced::Ready, |copy| copy.announced);
            self.set_copy(id, peer, announced, false);
        }
    }

    /// Forgets what is known of the copies of an object.
    pub(super) fn drop_copies(&mut self, id: ObjectId) {
        for &peer in self.links.keys() {
            self.copies.remove(&(peer, id));
        }
    }

    /// What is known of all copies, by object.
    pub(super) fn copies_by_object(&self) -> Vec<((ObjectId, Peer), &Copy)> {
        let mut copies: Vec<_> = self
            .copies
            .iter()
            .map(|(&(peer, id), copy)| ((id, peer), copy))
            .collect();
        copies.sort_by_key(|it| it.0);
        copies
    }

    /// A packet with an UPDATE has reached a peer.
    pub(super) fn update_arrived(&mut self, peer: Peer, update: SentUpdate) {
        let Some(copy) = concerned(&mut self.copies, peer, &update) else {
            return;
        };
        let object = self.objects.get(&update.object);
        match (self.start.fault, object) {
            (Some(Fault::AckOfNewest), Some(object)) => copy.ack_all(&object.versions),
            (Some(Fault::AckOfAllBefore), _) => {
                let newest = update.fields.iter().map(|&(_, version)| version).max();
                copy.ack_up_to(newest.unwrap_or(0));
            }
            _ => {}
        }
        for (place, version) in update.fields {
            if let Some(field) = copy.fields.get_mut(usize::from(place)) {
                field.acked = field.acked.max(version);
            }
        }
    }

    /// A packet with an UPDATE was lost: its fields are unacked again, unless a newer packet
    /// carries them too.
    pub(super) fn update_lost(&mut self, peer: Peer, packet: u64, update: SentUpdate) {
        if self.has(Fault::ForgetLostUpdate) {
            return self.update_arrived(peer, update);
        }
        let Some(copy) = concerned(&mut self.copies, peer, &update) else {
            return;
        };
        for (place, _) in update.fields {
            if let Some(field) = copy.fields.get_mut(usize::from(place))
                && field.flying.is_some_and(|(_, last)| last == packet)
            {
                field.flying = None;
            }
        }
    }

    /// The bits that a packet has for messages.
    pub(super) fn packet_bits(&self) -> usize {
        (self.start.tuning.packet_bytes as usize * 8).saturating_sub(FRAME_BITS_MAX)
    }

    /// Sends one packet, if there is anything to say.
    fn send_one(&mut self, peer: Peer, io: &mut dyn Transport) -> bool {
        let mut room = Room::new(&self.start.tuning);
        let mut messages = Vec::new();
        let mut cargo = Cargo::default();
        let Some(link) = self.links.get_mut(&peer) else {
            return false;
        };
        if link.state == LinkState::Gone {
            return false;
        }
        let skips = self.start.fault == Some(Fault::SkipPlace);
        for (place, bits) in link.out.due() {
            if skips && place % 16 == 7 {
                continue;
            }
            if !room.take(bits) {
                break;
            }
            messages.push(bits.clone());
            cargo.reliable.push(place);
        }
        let packet = link.next_packet(&cargo.reliable);
        let takes_updates = link.takes_updates(packet);
        while let Some((ticket, bits)) = link.unreliable.front() {
            if !room.take(bits) {
                break;
            }
            cargo.tickets.push(*ticket);
            messages.push(bits.clone());
            link.unreliable.pop_front();
        }
        if !self.ended && takes_updates {
            self.gather_updates(peer, packet, &mut room, &mut messages, &mut cargo);
        }
        let (own, mode, now) = (self.start.own, self.start.mode, self.now_ns);
        match self.links.get_mut(&peer) {
            Some(link) if !messages.is_empty() => {
                link.send(mode, own, &messages, cargo, now, io);
                true
            }
            _ => false,
        }
    }

    fn gather_updates(
        &mut self,
        peer: Peer,
        packet: u64,
        room: &mut Room,
        messages: &mut Vec<BitWriter>,
        cargo: &mut Cargo,
    ) {
        let due = self.updates_due(peer);
        let counts = self.mode().counts_updates();
        let misled = self.untold(Fault::ForgetField);
        let is_odd = packet % 8 == 3;
        let misnamed = self.untold(Fault::OriginWrong).filter(|_| is_odd);
        let is_twice = self.start.fault == Some(Fault::UpdateTwice);
        let is_once = self.start.fault == Some(Fault::AckOfAllBefore);
        for id in due {
            let (Some(object), Some(copy)) =
                (self.objects.get(&id), self.copies.get_mut(&(peer, id)))
            else {
                continue;
            };
            // All that is not acked goes along, also what is under way: a receiver that takes this
            // packet ignores older ones, though it acks them.
            let behind: Vec<(u8, u64)> = (0u8..)
                .zip(copy.fields.iter().zip(&object.versions))
                .filter(|(_, (field, version))| **version > field.acked)
                .filter(|(_, (field, version))| !is_once || field.is_due(**version))
                .map(|(place, (_, version))| (place, *version))
                .collect();
            let mut changes = vec![None; object.versions.len()];
            for &(place, _) in &behind {
                let place = usize::from(place);
                if let Some(change) = changes.get_mut(place) {
                    *change = object.state.values.get(place).cloned();
                }
            }
            if let Some(first) = changes.first_mut().filter(|_| misled == Some(peer)) {
                *first = None;
            }
            let origin = misnamed.unwrap_or(object.owner);
            let body = object.update(id, counts, changes);
            let bits = write_unreliable(origin, body, &self.types);
            if !room.take(&bits) {
                continue;
            }
            for &(place, version) in &behind {
                if let Some(field) = copy.fields.get_mut(usize::from(place)) {
                    field.flying = Some((version, packet));
                }
            }
            if is_twice && room.take(&bits) {
                messages.push(bits.clone());
            }
            messages.push(bits);
            cargo.updates.push(SentUpdate {
                object: id,
                epoch: copy.epoch,
                fields: behind,
            });
        }
        if is_odd && self.has(Fault::UpdateUnowned) {
            let unowned = self.unowned_update(peer);
            messages.extend(unowned.filter(|bits| room.take(bits)));
        }
    }

    /// An UPDATE of an object that another one owns.
    fn unowned_update(&self, peer: Peer) -> Option<BitWriter> {
        let own = self.start.own;
        let mut objects = self.objects.iter();
        let (&id, object) = objects.find(|(_, it)| it.owner != own && it.owner != peer)?;
        let body = object.whole_update(id, self.mode().counts_updates());
        Some(write_unreliable(own, body, &self.types))
    }

    /// The objects of which the peer must get an UPDATE.
    fn updates_due(&self, peer: Peer) -> Vec<ObjectId> {
        let objects_max = match self.start.fault {
            Some(Fault::FirstObjectsOnly) => 8,
            _ => usize::MAX,
        };
        let all = (peer, ObjectId(0))..=(peer, ObjectId(u64::MAX));
        let mut copies = self.copies.range(all).peekable();
        let objects = self
            .objects
            .iter()
            .filter(|(_, object)| self.looks_after(object, peer));
        let due = objects.take(objects_max).filter(|&(&id, object)| {
            while copies.next_if(|(key, _)| key.1 < id).is_some() {}
            let copy = copies.next_if(|(key, _)| key.1 == id);
            copy.is_some_and(|(_, copy)| self.is_update_due(id, object, (peer, copy)))
        });
        due.map(|(&id, _)| id).collect()
    }

    /// Whether the peer must get an UPDATE: it has been told of the object, has acked that and
    /// everything before it, and lacks a value that is not under way.
    fn is_update_due(&self, id: ObjectId, object: &Object, (peer, copy): (Peer, &Copy)) -> bool {
        copy.epoch == object.epoch
            && copy.is_due(&object.versions)
            && self.has_acked(id, copy, peer)
            && !(self.has(Fault::AckOfNewest) && copy.is_flying())
    }

    /// Whether the peer has acked what told it of the object, and everything before.
    pub(super) fn has_acked(&self, id: ObjectId, copy: &Copy, peer: Peer) -> bool {
        match copy.announced {
            _ if self.has(Fault::UpdateBeforeCreate) => true,
            Announced::At(place) => self
                .links
                .get(&peer)
                .is_some_and(|link| link.out.is_acked(place)),
            Announced::Ready => true,
            Announced::ByHost => self.has_confirmed(id, peer),
        }
    }
}

/// The copy that an UPDATE was about, if the peer still has it from the same owner.
fn concerned<'c>(
    copies: &'c mut BTreeMap<(Peer, ObjectId), Copy>,
    peer: Peer,
    update: &SentUpdate,
) -> Option<&'c mut Copy> {
    let copy = copies.get_mut(&(peer, update.object));
    copy.filter(|copy| copy.epoch == update.epoch)
}

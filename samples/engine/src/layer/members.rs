//! Who is in the session: leaving, dropping out, and what happens to the objects.

use super::NetLayer;
use crate::event::{EndReason, Event};
use crate::fault::Fault;
use crate::link::{CargoFate, LinkState};
use crate::message::{Body, Counter, ObjectId, Peer};
use crate::mode::Mode;

impl NetLayer {
    /// Judges packets of all links lost that were not acked for too long.
    pub(super) fn judge_losses(&mut self) {
        for peer in self.linked() {
            if let Some(link) = self.links.get_mut(&peer) {
                let fates = link.judge(self.now_ns, &self.start.tuning);
                self.settle_fates(peer, fates);
            }
        }
    }

    /// Learns what became of packets sent to a peer.
    pub(super) fn settle_fates(&mut self, peer: Peer, fates: Vec<CargoFate>) {
        for fate in fates {
            match fate {
                CargoFate::Arrived { cargo } => {
                    for ticket in cargo.tickets {
                        self.events.push_back(Event::Arrived { to: peer, ticket });
                    }
                    for update in cargo.updates {
                        self.update_arrived(peer, update);
                    }
                }
                CargoFate::Lost {
                    packet,
                    tickets,
                    updates,
                } => {
                    for ticket in tickets {
                        self.events.push_back(Event::Lost { to: peer, ticket });
                    }
                    for update in updates {
                        self.update_lost(peer, packet, update);
                    }
                }
            }
        }
    }

    /// Judges peers gone that were silent for too long. Who is in the session is for HOST to say:
    /// the others judge HOST alone.
    pub(super) fn judge_silence(&mut self) {
        if self.ended {
            return;
        }
        let (now, tuning, patience) = (self.now_ns, self.start.tuning, self.patience);
        let first = self.first_ns.unwrap_or(now);
        let share = if self.has(Fault::TimeOutShort) { 30 } else { 1 };
        let is_silent = |heard_at: Option<u64>| match heard_at {
            Some(at) => patience.is_over(at, tuning.silence_ns / share, now),
            None => patience.is_over(first, tuning.first_word_ns, now),
        };
        let silent: Vec<Peer> = self
            .links
            .values()
            .filter(|link| link.state != LinkState::Gone && is_silent(link.heard_at))
            .map(|link| link.peer)
            .collect();
        if self.is_host() {
            for peer in silent {
                self.drop_out(peer);
                if let Some(link) = self.links.get_mut(&peer) {
                    link.is_expelled = true;
                }
            }
        } else if silent.contains(&Peer::HOST) {
            self.end(EndReason::HostSilent);
        }
    }

    /// A peer is no longer in the session. HOST tells the others and hands its objects on, each to
    /// a peer that follows from its id.
    pub(super) fn drop_out(&mut self, peer: Peer) {
        if self.gone.contains_key(&peer) {
            return;
        }
        self.gone.insert(peer, self.now_ns);
        if let Some(link) = self.links.get_mut(&peer) {
            link.close();
        }
        self.copies.retain(|&(to, _), _| to != peer);
        self.events.push_back(Event::Left { peer });
        if !self.is_host() {
            self.drop_early(peer);
            return;
        }
        let living: Vec<Peer> = std::iter::once(Peer::HOST).chain(self.others()).collect();
        if self.mode() == Mode::Queue {
            // Before the others hear that it left: what waits for its CREATEs waits no longer then.
            self.create_anew(peer, &living);
        }
        self.tell_all(peer, &Body::Leave, Some(peer));
        self.retell_destroyed(peer);
        let orphans: Vec<ObjectId> = self
            .objects
            .iter()
            .filter(|(_, object)| object.owner == peer)
            .map(|(&id, _)| id)
            .collect();
        for id in orphans {
            let heir = living.get((id.0 % living.len() as u64) as usize);
            // HOST is always among the living, and the object exists.
            let _ = self.migrate(id, heir.copied().unwrap_or(Peer::HOST));
        }
        // Nobody waits any more for what the peer would have confirmed.
        for id in self.limbo.clone() {
            self.end_limbo(id);
        }
    }

    /// Where whoever destroys an object tells everybody itself, HOST says again what a peer that is gone has
    /// destroyed: it may have died before it had told everybody.
    fn retell_destroyed(&mut self, peer: Peer) {
        if !self.counts() || self.mode() == Mode::Order {
            return;
        }
        let told: Vec<(ObjectId, Counter)> = self
            .heard
            .iter()
            .filter(|(_, heard)| heard.destroyed_by == Some(peer))
            .map(|(&object, heard)| (object, heard.counter))
            .collect();
        for (object, counter) in told {
            let counter = Some(counter);
            self.tell_all(peer, &Body::Destroy { object, counter }, None);
        }
    }

    /// Where owners tell everybody themselves, asks HOST about objects of peers that are gone where no new
    /// owner has spoken up: the old one may have died with its CREATE or DESTROY half told.
    pub(super) fn ask_for_orphans(&mut self) {
        let tells_itself = self.counts() && self.mode() != Mode::Order;
        if self.is_host() || !tells_itself || self.gone.is_empty() || self.ended {
            return;
        }
        let limit = self.start.tuning.orphan_ns;
        let is_late = |owner: Peer| {
            let since = self.gone.get(&owner);
            since.is_some_and(|&since| self.patience.is_over(since, limit, self.now_ns))
        };
        let orphans: Vec<ObjectId> = self
            .objects
            .iter()
            .filter(|(id, object)| is_late(object.owner) && !self.asked.contains(id))
            .map(|(&id, _)| id)
            .collect();
        for object in orphans {
            self.asked.insert(object);
            self.tell(Peer::HOST, self.start.own, Body::Request { object });
        }
    }

    /// A peer asks for an object. Where there are counters HOST itself answers where it can never hear of
    /// the object because its creator is gone: then nobody keeps it.
    pub(super) fn take_request(&mut self, object: ObjectId, by: Peer) {
        if !self.is_host() {
            return;
        }
        let heard = self.heard.get(&object).copied();
        match heard {
            // Whoever destroyed it has told the peer, or HOST has when that one went.
            Some(heard) if self.counts() && heard.destroyed_by.is_some() => {}
            None if self.counts() && self.gone.contains_key(&NetLayer::creator(object)) => {
                self.end_for_all(object, Counter(0));
            }
            _ => self.events.push_back(Event::Requested { object, by }),
        }
    }

    /// HOST ends an object at this counter, and tells all.
    pub(super) fn end_for_all(&mut self, object: ObjectId, counter: Counter) {
        self.forget(object, counter, Peer::HOST);
        let counter = Some(counter);
        self.tell_all(Peer::HOST, &Body::Destroy { object, counter }, None);
    }

    /// The session is over for this node: it answers packets, so that others learn that theirs
    /// arrived, and says nothing new.
    pub(super) fn end(&mut self, because: EndReason) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.copies.clear();
        if because != EndReason::OwnLeave {
            self.links.values_mut().for_each(crate::link::Link::close);
        }
        self.events.push_back(Event::SessionEnded { because });
    }
}

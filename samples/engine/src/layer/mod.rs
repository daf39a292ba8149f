//! The network layer: sans-IO, a pure function of its start, its calls and its transport.

mod agreed;
mod calls;
#[cfg(test)]
mod cures_tests;
mod early;
#[cfg(test)]
mod hostile_tests;
mod members;
#[cfg(test)]
mod migration_tests;
mod objects;
mod patience;
mod receive;
mod replicate;
#[cfg(test)]
mod replication_tests;
mod saved;
#[cfg(test)]
pub(crate) mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use netreel_transport::{InputError, Layer, ObjectBelief, RestoreError, Transport};

use crate::call::Call;
use crate::event::Event;
use crate::fault::Fault;
use crate::link::{Link, LinkState};
use crate::message::{Body, Counter, Message, ObjectId, Peer};
use crate::mode::{Mode, Topology};
use crate::object::{Copy, Heard, Object};
use crate::start::{Start, StartError};
use crate::told::Told;
use crate::types::Types;
use early::Early;
use patience::Patience;

/// The version of the protocol, said in `connect`.
pub const PROTOCOL_VERSION: u8 = 1;

/// The ids of a creator come in runs of this many.
const ID_RUN: u64 = 40;

/// One node's network layer.
///
/// The owner of the loop calls, in this order, each tick: `io.tick`, [`Layer::tick`], then
/// [`poll_event`](NetLayer::poll_event) until there is none, then for every call of the game
/// `io.input` and [`Layer::input`]. Events that nobody polls are forgotten at the next tick.
#[derive(Clone, Debug)]
pub struct NetLayer {
    start: Start,
    types: Types,
    links: BTreeMap<Peer, Link>,
    peer_of: BTreeMap<SocketAddr, Peer>,
    /// Who has said its name.
    joined: BTreeSet<Peer>,
    /// Who has left or was dropped, and when.
    gone: BTreeMap<Peer, u64>,
    /// The objects of peers that are gone that HOST was asked about.
    asked: BTreeSet<ObjectId>,
    objects: BTreeMap<ObjectId, Object>,
    heard: BTreeMap<ObjectId, Heard>,
    copies: BTreeMap<(Peer, ObjectId), Copy>,
    /// Mode `queue`: what waits for what must come before it, in the order in which it came.
    early: BTreeMap<ObjectId, Vec<Early>>,
    /// Modes `handshake` and `order`: the newest counter of an object that a peer has confirmed.
    confirmed: BTreeMap<(ObjectId, Peer), Counter>,
    /// HOST in mode `handshake`: the objects whose new owner must still wait.
    limbo: BTreeSet<ObjectId>,
    events: Told,
    ended: bool,
    patience: Patience,
    spawned: u64,
    tickets: u64,
    epochs: u64,
    versions: u64,
    /// The clock at the last tick, and at the first.
    now_ns: u64,
    first_ns: Option<u64>,
}

impl NetLayer {
    /// A layer before its first tick.
    pub fn new(start: Start) -> Result<NetLayer, StartError> {
        let types = start.check()?;
        let (own, topology) = (start.own, start.topology);
        let linked = |peer: Peer| {
            peer != own
                && (topology == Topology::PeerToPeer || own == Peer::HOST || peer == Peer::HOST)
        };
        let peers = || {
            (0..)
                .map(Peer)
                .zip(&start.peers)
                .filter(|&(peer, _)| linked(peer))
        };
        let links: BTreeMap<Peer, Link> = peers()
            .map(|(peer, known)| {
                let mut link = Link::new(peer, known.endpoint, &start.tuning);
                link.set_fault(start.fault);
                (peer, link)
            })
            .collect();
        let peer_of = peers()
            .map(|(peer, known)| (known.endpoint, peer))
            .collect();
        let name = start
            .peers
            .get(usize::from(own.0))
            .map(|peer| peer.name.clone());
        let mut layer = NetLayer {
            types,
            links,
            peer_of,
            joined: BTreeSet::new(),
            gone: BTreeMap::new(),
            asked: BTreeSet::new(),
            objects: BTreeMap::new(),
            heard: BTreeMap::new(),
            copies: BTreeMap::new(),
            early: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            limbo: BTreeSet::new(),
            events: Told::default(),
            ended: false,
            patience: Patience::new(start.time_outs),
            spawned: 0,
            tickets: 0,
            epochs: 0,
            versions: 0,
            now_ns: 0,
            first_ns: None,
            start,
        };
        layer.tell_all(
            own,
            &Body::Connect {
                version: PROTOCOL_VERSION,
                topology,
                name: name.unwrap_or_default(),
            },
            None,
        );
        Ok(layer)
    }

    /// The next thing that the game should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The start conditions.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The object types.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// This node's number.
    pub fn own(&self) -> Peer {
        self.start.own
    }

    /// The objects that live here, by id.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.objects.iter().map(|(&id, object)| (id, object))
    }

    /// An object that lives here.
    pub fn object(&self, object: ObjectId) -> Option<&Object> {
        self.objects.get(&object)
    }

    /// The id that the next [`Call::Spawn`] will give: ids come in runs of 40 for each peer.
    pub fn next_object(&self) -> ObjectId {
        let own = self.start.own;
        let mut ended = self.heard.iter().filter(|(id, heard)| {
            heard.destroyed_by == Some(own) && NetLayer::creator(**id) == own
        });
        if self.has(Fault::IdAgain)
            && let Some((&id, _)) = ended.next()
        {
            return id;
        }
        let (run, place) = (self.spawned / ID_RUN, self.spawned % ID_RUN);
        ObjectId((run * 16 + u64::from(self.start.own.0)) * ID_RUN + place)
    }

    /// Who created an object.
    pub fn creator(object: ObjectId) -> Peer {
        Peer((object.0 / ID_RUN % 16) as u8)
    }

    /// The peers that have not left, this node not among them.
    pub fn others(&self) -> impl Iterator<Item = Peer> {
        (0u8..)
            .take(self.start.peers.len())
            .map(Peer)
            .filter(|peer| *peer != self.start.own && !self.gone.contains_key(peer))
    }

    /// Whether every peer that has not left has said its name.
    pub fn is_everybody_here(&self) -> bool {
        self.others().all(|peer| self.joined.contains(&peer))
    }

    /// Whether every reliable message is acked by whoever has not left.
    pub fn is_acked(&self) -> bool {
        self.links.values().all(Link::is_acked)
    }

    /// Whether, besides, every field of every copy that this node looks after is acked.
    pub fn is_settled(&self) -> bool {
        let all_are = |&id| self.links.keys().all(|&peer| self.is_up_to_date(id, peer));
        let is_limbo = !self.limbo.is_empty();
        self.is_acked() && (self.ended || (!is_limbo && self.objects.keys().all(all_are)))
    }

    /// Whether a peer is known to have an object that lives here as it is now. Also where that is
    /// not for this node to look after.
    pub fn is_up_to_date(&self, id: ObjectId, peer: Peer) -> bool {
        let Some(object) = self.objects.get(&id) else {
            return false;
        };
        !self.looks_after(object, peer)
            || self.copies.get(&(peer, id)).is_some_and(|copy| {
                self.has_acked(id, copy, peer) && !copy.is_behind(&object.versions)
            })
    }

    /// Whether the session is over for this node.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    fn is_host(&self) -> bool {
        self.start.own == Peer::HOST
    }

    fn is_server(&self) -> bool {
        self.is_host() && self.start.topology == Topology::ClientServer
    }

    fn counts(&self) -> bool {
        self.start.mode.counts()
    }

    fn mode(&self) -> Mode {
        self.start.mode
    }

    fn has(&self, fault: Fault) -> bool {
        self.start.fault == Some(fault)
    }

    /// The peer that a fault keeps from being told.
    fn untold(&self, fault: Fault) -> Option<Peer> {
        let last = self.links.keys().next_back().copied();
        last.filter(|_| self.has(fault))
    }

    /// Puts a reliable message into a peer's stream and says its place; `None` where the peer has
    /// left or has no link, or the message is too large.
    fn tell(&mut self, peer: Peer, origin: Peer, body: Body) -> Option<u64> {
        let is_create = matches!(body, Body::Create { .. });
        if self.has(Fault::CreateToJoined) && is_create && !self.joined.contains(&peer) {
            return None;
        }
        let longest_queue = if self.has(Fault::DropAtFullQueue) {
            4
        } else {
            usize::MAX
        };
        let link = self
            .links
            .get_mut(&peer)
            .filter(|link| link.state != LinkState::Gone && link.out.len() < longest_queue)?;
        let place = link.out.push(
            Message {
                origin,
                reliable: None,
                body,
            },
            &self.types,
        );
        if place.is_err() {
            self.events.push_back(Event::Refused {
                because: crate::event::Refusal::TooLarge,
            });
        }
        place.ok()
    }

    /// The same for every link but `except`'s; the places by peer.
    fn tell_all(&mut self, origin: Peer, body: &Body, except: Option<Peer>) -> Vec<(Peer, u64)> {
        let peers: Vec<Peer> = self.links.keys().copied().collect();
        let others = peers.into_iter().filter(|&peer| Some(peer) != except);
        others
            .filter_map(|peer| {
                self.tell(peer, origin, body.clone())
                    .map(|place| (peer, place))
            })
            .collect()
    }
}

impl Layer for NetLayer {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.events.clear();
        self.now_ns = io.now().nanos();
        if self.first_ns.is_none() {
            self.first_ns = Some(self.now_ns);
            self.links
                .values_mut()
                .for_each(|link| link.draw_first_packet(io.random()));
        }
        self.receive_all(io);
        self.judge_losses();
        self.judge_silence();
        self.ask_for_orphans();
        self.send_all(io);
    }

    fn input(&mut self, call: &[u8], _io: &mut dyn Transport) -> Result<(), InputError> {
        let decoded = Call::decode(call).map_err(|error| InputError {
            length: call.len(),
            why: error.to_string(),
        })?;
        if let Err(because) = self.call(decoded) {
            self.events.push_back(Event::Refused { because });
        }
        Ok(())
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(self.saved())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        let restored = self.restored(state);
        let mut restored = restored.map_err(|error| RestoreError::Refused(error.to_string()))?;
        restored.patience.is_held = self.patience.is_held;
        *self = restored;
        Ok(())
    }

    fn time_outs(&mut self, on: bool) -> bool {
        self.patience.is_held = !on;
        true
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        for (id, object) in &self.objects {
            say(ObjectBelief {
                object: id.0,
                owner: Some(object.owner.0.into()),
                values: object.state.number(),
            });
        }
        true
    }

    fn fork(&self) -> Option<Box<dyn Layer>> {
        Some(Box::new(self.clone()))
    }
}

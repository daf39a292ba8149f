//! What a layer is, what can be asked of it, and how it tells its peers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::patience::Patience;
use crate::event::{Event, Refusal};
use crate::fault::Fault;
use crate::link::{Link, LinkState};
use crate::message::{Body, Counter, Message, ObjectId, Peer};
use crate::mode::{Mode, Topology};
use crate::object::{Copy, Heard, Object};
use crate::start::{Start, StartError};
use crate::told::EventQueue;
use crate::types::Types;

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
    pub(super) start: Start,
    pub(super) types: Types,
    pub(super) links: BTreeMap<Peer, Link>,
    pub(super) peer_of: BTreeMap<SocketAddr, Peer>,
    /// Who has said its name.
    pub(super) joined: BTreeSet<Peer>,
    /// Who has left or was dropped, and when.
    pub(super) gone: BTreeMap<Peer, u64>,
    /// The objects of peers that are gone that HOST was asked about.
    pub(super) asked: BTreeSet<ObjectId>,
    pub(super) objects: BTreeMap<ObjectId, Object>,
    pub(super) heard: BTreeMap<ObjectId, Heard>,
    pub(super) copies: BTreeMap<(Peer, ObjectId), Copy>,
    /// Mode `queue`: what waits for what must come before it, in the order in which it came.
    pub(super) early: BTreeMap<ObjectId, Vec<Early>>,
    /// Modes `handshake` and `order`: the newest counter of an object that a peer has confirmed.
    pub(super) confirmed: BTreeMap<(ObjectId, Peer), Counter>,
    /// HOST in mode `handshake`: the objects whose new owner must still wait.
    pub(super) limbo: BTreeSet<ObjectId>,
    pub(super) events: EventQueue,
    pub(super) ended: bool,
    pub(super) patience: Patience,
    pub(super) spawned: u64,
    pub(super) tickets: u64,
    pub(super) epochs: u64,
    pub(super) versions: u64,
    /// The clock at the last tick, and at the first.
    pub(super) now_ns: u64,
    pub(super) first_ns: Option<u64>,
}

/// A message that waits in mode `queue`.
#[derive(Clone, Debug)]
pub(super) struct Early {
    /// The link that it came on, and in which packet.
    pub(super) link: Peer,
    pub(super) packet: u64,
    pub(super) message: Message,
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
            events: EventQueue::default(),
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

    /// Whether the session is over for this node.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whom this node has links to.
    pub(super) fn linked(&self) -> Vec<Peer> {
        self.links.keys().copied().collect()
    }

    pub(super) fn is_host(&self) -> bool {
        self.start.own == Peer::HOST
    }

    pub(super) fn is_server(&self) -> bool {
        self.is_host() && self.start.topology == Topology::ClientServer
    }

    pub(super) fn counts(&self) -> bool {
        self.start.mode.counts()
    }

    pub(super) fn mode(&self) -> Mode {
        self.start.mode
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.start.fault == Some(fault)
    }

    /// The peer that a fault keeps from being told.
    pub(super) fn untold(&self, fault: Fault) -> Option<Peer> {
        let last = self.links.keys().next_back().copied();
        last.filter(|_| self.has(fault))
    }

    /// Puts a reliable message into a peer's stream and says its place; `None` where the peer has
    /// left or has no link, or the message is too large.
    pub(super) fn tell(&mut self, peer: Peer, origin: Peer, body: Body) -> Option<u64> {
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
        let place = link.out.push(Message::new(origin, body), &self.types);
        if place.is_err() {
            let because = Refusal::TooLarge;
            self.events.push_back(Event::Refused { because });
        }
        place.ok()
    }

    /// The same for every link but `except`'s; the places by peer.
    pub(super) fn tell_all(
        &mut self,
        origin: Peer,
        body: &Body,
        except: Option<Peer>,
    ) -> Vec<(Peer, u64)> {
        let mut peers = self.linked();
        peers.retain(|&peer| Some(peer) != except);
        self.tell_each(peers, origin, body)
    }

    /// The same for some peers.
    pub(super) fn tell_each(
        &mut self,
        peers: Vec<Peer>,
        origin: Peer,
        body: &Body,
    ) -> Vec<(Peer, u64)> {
        let told = peers
            .into_iter()
            .filter_map(|peer| Some((peer, self.tell(peer, origin, body.clone())?)));
        told.collect()
    }
}

//! What the game asks for.

use std::collections::BTreeMap;

use super::NetLayer;
use crate::bits::BitWriter;
use crate::call::Call;
use crate::event::{EndReason, Event, Refusal};
use crate::fault::Fault;
use crate::link::{LinkState, write_unreliable};
use crate::message::{Argument, Body, Counter, Migration, ObjectId, Peer, State};
use crate::mode::{Mode, Topology};
use crate::object::Announced;
use crate::object::{Heard, Object};
use crate::packet::{FRAME_BITS_MAX, PACKET_BYTES_MAX, UPDATE_BITS_MAX};
use crate::types::Value;

impl NetLayer {
    /// Does what a call asks for, or says why not.
    pub(super) fn call(&mut self, call: Call) -> Result<(), Refusal> {
        if self.ended {
            return Err(Refusal::Ended);
        }
        match call {
            Call::Spawn { kind, values } => self.spawn(kind, &values),
            Call::Set {
                object,
                field,
                value,
            } => self.set(object, field, &value),
            Call::Destroy { object } => self.destroy(object),
            Call::Request { object } => self.request(object),
            Call::Migrate { object, to } => self.migrate(object, to),
            Call::Rpc {
                to,
                reliable,
                name,
                arguments,
            } => self.rpc(to, reliable, name, arguments),
            Call::Leave => {
                self.tell_all(self.start.own, &Body::Leave, None);
                self.end(EndReason::OwnLeave);
                Ok(())
            }
            Call::TimeOuts { on } => {
                self.patience.throw(on, self.now_ns);
                Ok(())
            }
        }
    }

    fn spawn(&mut self, kind: u8, values: &[Value]) -> Result<(), Refusal> {
        let values = self
            .types
            .get(kind)
            .and_then(|object_type| object_type.settle(values));
        let state = State {
            kind,
            values: values.ok_or(Refusal::Unfit)?,
        };
        self.check_size(&state)?;
        let (own, id) = (self.start.own, self.next_object());
        self.spawned += 1;
        self.versions += 1;
        self.epochs += 1;
        let counter = self.counts().then_some(Counter(0));
        let object = Object {
            owner: own,
            counter: Counter(0),
            versions: vec![self.versions; state.values.len()],
            epoch: self.epochs,
            updated_by: BTreeMap::new(),
            state: state.clone(),
        };
        self.objects.insert(id, object);
        self.heard.insert(id, Heard::alive(Counter(0)));
        let create = |owner: Peer| Body::Create {
            object: id,
            counter,
            owner,
            state: state.clone(),
        };
        let body = create(own);
        let misled = self.untold(Fault::MisnameOwner);
        let hidden = self.untold(Fault::HiddenUpdated).filter(|_| id.0 % 2 == 1);
        let untold = self.untold(Fault::ForgetCreate).or(misled).or(hidden);
        for (peer, announced) in self.tell_of(&body, untold) {
            self.set_copy(id, peer, announced, true);
        }
        if let Some(peer) = hidden {
            self.set_copy(id, peer, Announced::Ready, false);
        }
        if self.has(Fault::CreateTwice) {
            self.tell_all(own, &body, None);
        }
        if let Some(peer) = misled {
            self.tell(peer, own, create(Peer::HOST));
        }
        Ok(())
    }

    fn set(&mut self, id: ObjectId, field: u8, value: &Value) -> Result<(), Refusal> {
        let own = self.start.own;
        let object = self.objects.get(&id).ok_or(Refusal::Unknown)?;
        if object.owner != own {
            return Err(Refusal::NotOwner);
        }
        let field_type = self
            .types
            .get(object.state.kind)
            .and_then(|types| types.fields.get(usize::from(field)));
        let value = field_type
            .and_then(|field_type| field_type.kind.settle(value))
            .ok_or(Refusal::Unfit)?;
        let mut state = object.state.clone();
        if let Some(changed) = state.values.get_mut(usize::from(field)) {
            *changed = value.clone();
        }
        self.check_size(&state)?;
        let object = self.objects.get_mut(&id).ok_or(Refusal::Unknown)?;
        self.versions += 1;
        let mut changes = vec![None; object.versions.len()];
        if let Some(change) = changes.get_mut(usize::from(field)) {
            *change = Some(value);
        }
        object.change(changes, self.versions);
        if self.start.fault == Some(Fault::WrongDirtyField) {
            object.misplace_change(self.versions);
        }
        Ok(())
    }

    /// An UPDATE of all fields must fit a packet: it cannot be split, because a receiver that has
    /// taken one half would ignore the other where it comes late.
    fn check_size(&self, state: &State) -> Result<(), Refusal> {
        let mut bits = BitWriter::new();
        if let Some(object_type) = self.types.get(state.kind) {
            object_type.write(&state.values, &mut bits);
        }
        let all = FRAME_BITS_MAX + UPDATE_BITS_MAX + state.values.len() + bits.len();
        if all <= PACKET_BYTES_MAX * 8 {
            Ok(())
        } else {
            Err(Refusal::TooLarge)
        }
    }

    fn destroy(&mut self, id: ObjectId) -> Result<(), Refusal> {
        let own = self.start.own;
        let object = self.objects.get(&id).ok_or(Refusal::Unknown)?;
        if object.owner != own {
            return Err(Refusal::NotOwner);
        }
        let counter = self.counts().then_some(object.counter);
        let counts = self.mode().counts_updates();
        let last_words = self
            .has(Fault::UpdateAfterDestroy)
            .then(|| object.whole_update(id, counts));
        self.forget(id, object.counter, own);
        let body = Body::Destroy {
            object: id,
            counter,
        };
        self.tell_of(&body, self.untold(Fault::ForgetDestroy));
        if self.has(Fault::DestroyTwice) {
            self.tell_all(own, &body, None);
        }
        if let Some(last_words) = last_words {
            self.tell_all(own, &last_words, None);
        }
        Ok(())
    }

    fn request(&mut self, object: ObjectId) -> Result<(), Refusal> {
        let own = self.start.own;
        if self.is_host() {
            self.events.push_back(Event::Requested { object, by: own });
        } else if let Some(taken) = self.unasked(object) {
            self.take_order(taken);
        } else {
            self.tell(Peer::HOST, own, Body::Request { object });
        }
        Ok(())
    }

    /// The order that HOST might give, of what a fault lets this node take by itself.
    fn unasked(&self, id: ObjectId) -> Option<Migration> {
        let object = self
            .objects
            .get(&id)
            .filter(|_| self.has(Fault::TakeUnasked));
        let next = object.map(|object| (Counter(object.counter.0 + 1), object.state.clone()));
        next.map(|full| Migration {
            object: id,
            new_owner: self.start.own,
            full: Some(full),
        })
    }

    fn rpc(
        &mut self,
        to: Option<Peer>,
        reliable: bool,
        name: String,
        arguments: Vec<Argument>,
    ) -> Result<(), Refusal> {
        let own = self.start.own;
        let client = self.start.topology == Topology::ClientServer && !self.is_host();
        // A message has no addressee: the server passes on to all what is reliable, and only that.
        if client && to.is_some_and(|peer| reliable || peer != Peer::HOST) {
            return Err(Refusal::OnlyToAll);
        }
        let to = if client { Some(Peer::HOST) } else { to };
        let peers: Vec<Peer> = match to {
            Some(peer) => vec![peer],
            None => self.linked(),
        };
        let is_open = |peer: &Peer| {
            self.links
                .get(peer)
                .is_some_and(|link| link.state != LinkState::Gone)
        };
        if to.is_some() && !peers.iter().all(is_open) {
            return Err(Refusal::NoPeer);
        }
        let body = Body::Rpc { name, arguments };
        if reliable {
            for peer in peers {
                self.tell(peer, own, body.clone());
            }
            return Ok(());
        }
        let ticket = self.tickets;
        self.tickets += 1;
        let bits = write_unreliable(own, body, &self.types);
        if bits.len() > self.packet_bits() {
            return Err(Refusal::TooLarge);
        }
        for peer in peers {
            if let Some(link) = self.links.get_mut(&peer)
                && link.state != LinkState::Gone
            {
                link.unreliable.push_back((ticket, bits.clone()));
            }
        }
        Ok(())
    }

    /// HOST makes a peer the owner of an object, by the rules of the session's mode. What HOST
    /// itself believes changes at once.
    pub(super) fn migrate(&mut self, id: ObjectId, to: Peer) -> Result<(), Refusal> {
        let own = self.start.own;
        if !self.is_host() {
            return Err(Refusal::NotHost);
        }
        let alive = to == own || self.others().any(|peer| peer == to);
        if !alive {
            return Err(Refusal::NoPeer);
        }
        self.epochs += 1;
        let object = self.objects.get_mut(&id).ok_or(Refusal::Unknown)?;
        object.owner = to;
        object.epoch = self.epochs;
        self.raise_counter(id);
        self.limbo.remove(&id);
        match self.mode() {
            Mode::Host => {
                let body = Body::Migrate(Migration {
                    object: id,
                    new_owner: to,
                    full: None,
                });
                let untold = self.has(Fault::ForgetAnnounce).then_some(to);
                self.tell_all(own, &body, untold);
                self.keep_copies(id);
            }
            Mode::Queue | Mode::Order => self.assign(id),
            Mode::Owner | Mode::Counter | Mode::Handshake => {
                self.drop_copies(id);
                if to == own {
                    self.announce_migration(id);
                } else if self.mode() == Mode::Handshake {
                    self.ask_all(id, to);
                } else {
                    self.order(id, to);
                }
            }
        }
        self.tell_migrated(id, to, false);
        Ok(())
    }

    /// HOST tells the new owner alone.
    pub(super) fn order(&mut self, id: ObjectId, to: Peer) {
        if let Some(migration) = self.objects.get(&id).map(|object| object.migration(id)) {
            self.tell(to, self.start.own, Body::Order(migration));
        }
    }

    /// Where there are counters, HOST raises that of an object.
    pub(super) fn raise_counter(&mut self, id: ObjectId) {
        if self.counts()
            && let Some(object) = self.objects.get_mut(&id)
        {
            let heard = self
                .heard
                .get(&id)
                .map_or(object.counter, |heard| heard.counter);
            let falls = self.start.fault == Some(Fault::CounterFalls) && heard.0 > 0;
            object.counter = Counter(match self.start.fault {
                Some(Fault::CounterNotRaised) => heard.0,
                _ if falls => heard.0 - 1,
                _ => heard.0.saturating_add(1),
            });
            self.heard.insert(id, Heard::alive(object.counter));
        }
    }
}

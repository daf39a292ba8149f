//! The network layer: sans-IO, a pure function of its start, its calls and its transport.

mod agreed;
mod calls;
mod early;
mod members;
mod net_layer;
mod objects;
mod patience;
mod receive;
mod replicate;
mod saved;
#[cfg(test)]
pub(crate) mod tests;

use netreel_transport::{InputError, Layer, ObjectBelief, RestoreError, Transport};

use crate::call::Call;
use crate::event::Event;
use crate::message::{ObjectId, Peer};
pub use net_layer::{NetLayer, PROTOCOL_VERSION};

impl NetLayer {
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
        let mut restored = self
            .restored(state)
            .map_err(|error| RestoreError::Refused(error.to_string()))?;
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

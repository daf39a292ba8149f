//! Games on the layer: what they see, what they can do, and one tick of the loop around both.

mod background;
mod believing;
mod boxes;
mod demonstration;
mod free;
mod grants;
mod player;

pub use believing::{Beliefs, Believing};
pub use boxes::{Boxes, cube};
pub use demonstration::Demonstration;
pub use free::free_link;
pub use player::{ARENA, Deed, Doing, News, Player};

use netreel_transport::{Gates, Layer, LinkEnd, Transport};

use crate::call::Call;
use crate::event::Event;
use crate::layer::NetLayer;
use crate::message::Peer;

/// A game, driven by a script instead of a person.
pub trait Game {
    /// Something happened.
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>);

    /// One tick of the game.
    fn play(&mut self, tick: u64, hands: &mut Hands<'_>);

    /// Whether the script is done and everything that it led to is acked. It stays so as long as
    /// no other node's script does anything more.
    fn is_idle(&self, layer: &NetLayer) -> bool;
}

/// What a game acts with.
pub struct Hands<'a> {
    layer: &'a mut NetLayer,
    io: &'a mut dyn Transport,
    gates: &'a Gates,
}

/// A game that does nothing, for tests that make the calls themselves.
#[derive(Debug, Default)]
pub struct Idle;

impl Game for Idle {
    fn event(&mut self, _event: &Event, _hands: &mut Hands<'_>) {}

    fn play(&mut self, _tick: u64, _hands: &mut Hands<'_>) {}

    fn is_idle(&self, layer: &NetLayer) -> bool {
        layer.is_settled()
    }
}

impl<'a> Hands<'a> {
    /// Hands on one node's layer.
    pub fn new(layer: &'a mut NetLayer, io: &'a mut dyn Transport, gates: &'a Gates) -> Hands<'a> {
        Hands { layer, io, gates }
    }

    /// What the game can see of the layer.
    pub fn layer(&self) -> &NetLayer {
        self.layer
    }

    /// Calls into the layer: the transport hears of it first.
    pub fn call(&mut self, call: &Call) {
        let bytes = call.encode();
        self.io.input(&bytes);
        // The bytes were written a line above; the layer can read them.
        let _ = self.layer.input(&bytes, self.io);
    }

    /// Shuts the gate of the link from `from` to this node.
    pub fn shut(&mut self, from: Peer) {
        self.set_gate(from, self.layer.own(), false);
    }

    /// Opens it again.
    pub fn open(&mut self, from: Peer) {
        self.set_gate(from, self.layer.own(), true);
    }

    /// Shuts the gate of the link from this node to `to`.
    pub fn shut_to(&mut self, to: Peer) {
        self.set_gate(self.layer.own(), to, false);
    }

    /// Opens it again.
    pub fn open_to(&mut self, to: Peer) {
        self.set_gate(self.layer.own(), to, true);
    }

    fn set_gate(&mut self, from: Peer, to: Peer, is_open: bool) {
        let (from, to) = (link_end(from), link_end(to));
        let what = if is_open {
            self.gates.open(from, to);
            "opened"
        } else {
            self.gates.shut(from, to);
            "shut"
        };
        let note = format!("gate {} -> {} {what}", self.name(from), self.name(to));
        self.io.note(&note);
    }

    fn name(&self, end: LinkEnd) -> &str {
        let peers = &self.layer.start().peers;
        peers
            .get(usize::from(end.0))
            .map_or("?", |peer| peer.name.as_str())
    }
}

/// A peer's end of its links, as faults and gates number them.
pub fn link_end(peer: Peer) -> LinkEnd {
    LinkEnd(u16::from(peer.0))
}

/// One tick of one node: the layer's, then the game's, events in between and after.
///
/// The game's virtual time is the tick's number times the length of a tick.
pub fn play_tick(
    tick: u64,
    layer: &mut NetLayer,
    game: &mut dyn Game,
    io: &mut dyn Transport,
    gates: &Gates,
) {
    let time = layer.start().tick_time(tick);
    io.offer_state(&mut || layer.save());
    io.tick(tick, time);
    layer.tick(io);
    let mut hands = Hands::new(layer, io, gates);
    tell_events(game, &mut hands);
    game.play(tick, &mut hands);
    tell_events(game, &mut hands);
}

/// Tells the game what the layer has to tell.
pub(crate) fn tell_events(game: &mut dyn Game, hands: &mut Hands<'_>) {
    while let Some(event) = hands.layer.poll_event() {
        game.event(&event, hands);
    }
}

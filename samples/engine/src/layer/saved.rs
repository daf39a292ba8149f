//! The layer's state as bytes, and back; and in words. `state.rs` has the form of the bytes.

use super::NetLayer;
use super::patience::Patience;
use crate::bits::{BitReader, BitWriter, Malformed};
use crate::link::Link;
use crate::message::{ObjectId, Peer, State};
use crate::mode::Mode;
use crate::object::{Announced, Copy, CopyField, Heard, Object};
use crate::state::{Restore, Save, StateReader, StateWriter, VERSION, VERSION_THROWN, saved};

/// Ids follow from how many objects were spawned; fewer than this keep them below 2^62.
const SPAWNED_LIMIT: u64 = 1 << 50;

impl NetLayer {
    /// All that the layer is besides its start conditions and what it told and nobody polled.
    pub(super) fn saved(&self) -> Vec<u8> {
        let mut out = StateWriter::new(&self.types);
        let thrown = Patience {
            is_held: false,
            ..self.patience
        };
        let was_thrown = thrown != Patience::new(self.start.time_outs);
        out.byte(if was_thrown { VERSION_THROWN } else { VERSION });
        if was_thrown {
            (thrown.is_on, thrown.on_since_ns).save(&mut out);
        }
        (self.start.own, self.start.peers.len() as u8).save(&mut out);
        (self.now_ns, self.first_ns, self.ended).save(&mut out);
        (self.spawned, self.tickets, self.epochs, self.versions).save(&mut out);
        (&self.events, &self.joined, &self.gone, &self.asked).save(&mut out);
        (&self.objects, &self.heard, self.copies_by_object()).save(&mut out);
        if self.saves_agreements() {
            (&self.early, &self.confirmed, &self.limbo).save(&mut out);
        }
        for link in self.links.values() {
            link.save(&mut out);
        }
        out.seal()
    }

    /// Whether a state holds what waits and what was confirmed. Those of the modes that were there
    /// first never have any, and are as they were.
    fn saves_agreements(&self) -> bool {
        !matches!(self.start.mode, Mode::Host | Mode::Owner)
    }

    /// The layer with these start conditions in a saved state.
    pub(super) fn restored(&self, state: &[u8]) -> Result<NetLayer, Malformed> {
        let mut from = StateReader::open(state, &self.types)?;
        let mut patience = Patience::new(self.start.time_outs);
        match from.read()? {
            VERSION => {}
            VERSION_THROWN => (patience.is_on, patience.on_since_ns) = from.read()?,
            _ => return Err(from.malformed("another version of the encoding")),
        }
        if from.read::<Peer>()? != self.start.own {
            return Err(from.malformed("the state of another node"));
        }
        if usize::from(from.read::<u8>()?) != self.start.peers.len() {
            return Err(from.malformed("a session of another size"));
        }
        // The start conditions were good before.
        let mut layer = NetLayer::new(self.start.clone())
            .map_err(|_| from.malformed("start conditions that make no sense"))?;
        layer.patience = patience;
        layer.read_state(&mut from)?;
        from.end()?;
        if layer.saved() == state {
            Ok(layer)
        } else {
            Err(from.malformed("not as this engine writes it"))
        }
    }

    fn read_state(&mut self, from: &mut StateReader<'_>) -> Result<(), Malformed> {
        (self.now_ns, self.first_ns, self.ended) = from.read()?;
        self.spawned = from.number_below(SPAWNED_LIMIT)?;
        (self.tickets, self.epochs, self.versions) = from.read()?;
        (self.events, self.joined, self.gone, self.asked) = from.read()?;
        (self.objects, self.heard) = from.read()?;
        let copies: Vec<((ObjectId, Peer), Copy)> = from.read()?;
        if self.saves_agreements() {
            (self.early, self.confirmed, self.limbo) = from.read()?;
        }
        for link in self.links.values_mut() {
            *link = Link::new(link.peer, link.endpoint, &self.start.tuning);
            link.set_fault(self.start.fault);
            link.restore(from)?;
        }
        let by_peer = |((id, peer), copy)| ((peer, id), copy);
        self.copies = copies.into_iter().map(by_peer).collect();
        Ok(())
    }

    /// The layer's state for people: a name and a value for each thing, in a fixed order.
    pub fn describe(&self) -> Vec<(String, String)> {
        let mut told: Vec<(String, String)> = Vec::new();
        let mut tell = |name: &str, value: String| told.push((name.to_owned(), value));
        tell("now_ns", self.now_ns.to_string());
        tell("first_ns", format!("{:?}", self.first_ns));
        tell("ended", self.ended.to_string());
        let Patience { is_on, is_held, .. } = self.patience;
        let time_outs = match (is_on, is_held) {
            (false, _) => "off",
            (true, true) => "on, and held off in this replay",
            (true, false) => "on",
        };
        tell("time_outs", time_outs.to_owned());
        tell("spawned", self.spawned.to_string());
        tell("tickets", self.tickets.to_string());
        tell("epochs", self.epochs.to_string());
        tell("versions", self.versions.to_string());
        let (count, digest) = self.events.so_far();
        tell(
            "told",
            format!("{count} events to the game, digest {digest:016x}"),
        );
        tell("joined", listed(self.joined.iter()));
        for (peer, at_ns) in &self.gone {
            tell(&format!("gone[{}]", peer.0), format!("at {at_ns} ns"));
        }
        for id in &self.asked {
            tell(&format!("asked[{}]", id.0), "yes".to_owned());
        }
        for (id, object) in &self.objects {
            describe_object(*id, object, &mut tell);
        }
        for (id, heard) in &self.heard {
            let end = match heard.destroyed_by {
                Some(peer) => format!(", destroyed by {}", peer.0),
                None => String::new(),
            };
            let value = format!("counter {}{end}", heard.counter.0);
            tell(&format!("heard[{}]", id.0), value);
        }
        for ((id, peer), copy) in self.copies_by_object() {
            tell(
                &format!("copies[{}, {}]", id.0, peer.0),
                format!("{copy:?}"),
            );
        }
        for (id, waiting) in &self.early {
            for (place, early) in waiting.iter().enumerate() {
                tell(&format!("early[{}][{place}]", id.0), format!("{early:?}"));
            }
        }
        for ((id, peer), counter) in &self.confirmed {
            let name = format!("confirmed[{}, {}]", id.0, peer.0);
            tell(&name, format!("counter {}", counter.0));
        }
        for id in &self.limbo {
            tell(&format!("limbo[{}]", id.0), "yes".to_owned());
        }
        for (peer, link) in &self.links {
            let mut of_link =
                |name: &str, value: String| tell(&format!("links[{}].{name}", peer.0), value);
            link.tell(&mut of_link);
        }
        told
    }
}

fn describe_object(id: ObjectId, object: &Object, tell: &mut dyn FnMut(&str, String)) {
    let Object {
        owner,
        counter,
        state,
        versions,
        epoch,
        updated_by,
    } = object;
    let values: Vec<String> = state.values.iter().map(ToString::to_string).collect();
    let name = |part: &str| format!("objects[{}].{part}", id.0);
    tell(&name("owner"), owner.0.to_string());
    tell(&name("counter"), counter.0.to_string());
    let values = format!("type {}: {}", state.kind, values.join(", "));
    tell(&name("values"), values);
    tell(&name("versions"), format!("{versions:?}, epoch {epoch}"));
    for (peer, packet) in updated_by {
        tell(
            &name(&format!("updated_by[{}]", peer.0)),
            packet.to_string(),
        );
    }
}

fn listed<'p>(peers: impl Iterator<Item = &'p Peer>) -> String {
    let peers: Vec<String> = peers.map(|peer| peer.0.to_string()).collect();
    peers.join(", ")
}

saved! {
    Heard { counter, destroyed_by }
    Copy { epoch, announced, fields }
    CopyField { acked, flying }
}

impl Save for Object {
    fn save(&self, out: &mut StateWriter<'_>) {
        (self.owner, self.counter, self.state.kind).save(out);
        let mut bits = BitWriter::new();
        if let Some(object_type) = out.types().get(self.state.kind) {
            object_type.write(&self.state.values, &mut bits);
        }
        out.bytes(bits.as_bytes());
        (&self.versions, self.epoch, &self.updated_by).save(out);
    }
}

impl Restore for Object {
    fn restore(from: &mut StateReader<'_>) -> Result<Object, Malformed> {
        let (owner, counter, kind) = from.read()?;
        let object_type = from
            .types()
            .get(kind)
            .ok_or_else(|| from.malformed("an object of a type that nobody knows"))?;
        let mut bits = BitReader::new(from.bytes()?);
        let values = object_type.read(&mut bits)?;
        bits.end()?;
        let versions: Vec<u64> = from.read()?;
        if versions.len() != values.len() {
            return Err(from.malformed("not a version for each field"));
        }
        let (epoch, updated_by) = from.read()?;
        Ok(Object {
            owner,
            counter,
            state: State { kind, values },
            versions,
            epoch,
            updated_by,
        })
    }
}

impl Save for Announced {
    fn save(&self, out: &mut StateWriter<'_>) {
        match self {
            Announced::Ready => out.byte(0),
            Announced::At(place) => (1_u8, place).save(out),
            Announced::ByHost => out.byte(2),
        }
    }
}

impl Restore for Announced {
    fn restore(from: &mut StateReader<'_>) -> Result<Announced, Malformed> {
        match from.read()? {
            0_u8 => Ok(Announced::Ready),
            1 => from.read().map(Announced::At),
            2 => Ok(Announced::ByHost),
            _ => Err(from.malformed("told in a way that nobody knows")),
        }
    }
}

//! The layer's state as bytes, and back; and in words. `state.rs` has the form of the bytes.

use std::collections::BTreeMap;

use super::patience::Patience;
use super::{NetLayer, early};
use crate::bits::{BitReader, BitWriter, Malformed};
use crate::link::Link;
use crate::message::{Counter, ObjectId, Peer, State};
use crate::mode::Mode;
use crate::object::{Announced, Copy, CopyField, Heard, Object};
use crate::state::{StateReader, StateWriter, VERSION, VERSION_THROWN};
use crate::told::EventQueue;
use crate::types::Types;

/// Ids follow from how many objects were spawned; fewer than this keep them below 2^62.
const SPAWNED_LIMIT: u64 = 1 << 50;

impl NetLayer {
    /// All that the layer is besides its start conditions and what it told and nobody polled.
    pub(super) fn saved(&self) -> Vec<u8> {
        let mut out = StateWriter::default();
        let thrown = Patience {
            is_held: false,
            ..self.patience
        };
        let was_thrown = thrown != Patience::new(self.start.time_outs);
        out.byte(if was_thrown { VERSION_THROWN } else { VERSION });
        if was_thrown {
            out.flag(thrown.is_on);
            out.number(thrown.on_since_ns);
        }
        out.peer(self.start.own);
        out.byte(self.start.peers.len() as u8);
        out.number(self.now_ns);
        out.optional(self.first_ns);
        out.flag(self.ended);
        for number in [self.spawned, self.tickets, self.epochs, self.versions] {
            out.number(number);
        }
        self.events.save(&mut out);
        out.length(self.joined.len());
        self.joined.iter().for_each(|&peer| out.peer(peer));
        out.length(self.gone.len());
        for (&peer, &at_ns) in &self.gone {
            out.peer(peer);
            out.number(at_ns);
        }
        out.length(self.asked.len());
        self.asked.iter().for_each(|id| out.number(id.0));
        out.length(self.objects.len());
        for (id, object) in &self.objects {
            out.number(id.0);
            object.save(&self.types, &mut out);
        }
        out.length(self.heard.len());
        for (id, heard) in &self.heard {
            out.number(id.0);
            out.number(heard.counter.0);
            out.optional(heard.destroyed_by.map(|peer| u64::from(peer.0)));
        }
        out.length(self.copies.len());
        for ((id, peer), copy) in self.copies_by_object() {
            out.number(id.0);
            out.peer(peer);
            copy.save(&mut out);
        }
        if self.saves_agreements() {
            early::save(&self.early, &self.types, &mut out);
            out.length(self.confirmed.len());
            for (&(id, peer), counter) in &self.confirmed {
                out.number(id.0);
                out.peer(peer);
                out.number(counter.0);
            }
            out.length(self.limbo.len());
            self.limbo.iter().for_each(|id| out.number(id.0));
        }
        for link in self.links.values() {
            link.save(&self.types, &mut out);
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
        let mut from = StateReader::open(state)?;
        let mut patience = Patience::new(self.start.time_outs);
        match from.byte()? {
            VERSION => {}
            VERSION_THROWN => {
                patience.is_on = from.flag()?;
                patience.on_since_ns = from.number()?;
            }
            _ => return Err(from.malformed("another version of the encoding")),
        }
        if from.peer()? != self.start.own {
            return Err(from.malformed("the state of another node"));
        }
        if usize::from(from.byte()?) != self.start.peers.len() {
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
        self.now_ns = from.number()?;
        self.first_ns = from.optional()?;
        self.ended = from.flag()?;
        self.spawned = from.number_below(SPAWNED_LIMIT)?;
        self.tickets = from.number()?;
        self.epochs = from.number()?;
        self.versions = from.number()?;
        self.events = EventQueue::restore(from)?;
        self.joined = from.list(StateReader::peer)?;
        self.gone = from.list(|from| Ok((from.peer()?, from.number()?)))?;
        self.asked = from.list(|from| from.wide().map(ObjectId))?;
        let types = &self.types;
        let objects: BTreeMap<_, _> = from.list(|from| {
            let id = ObjectId(from.wide()?);
            Ok((id, Object::restore(types, from)?))
        })?;
        let heard: BTreeMap<_, _> = from.list(|from| {
            let id = ObjectId(from.wide()?);
            let counter = Counter(from.wide()?);
            let destroyed_by = if from.flag()? {
                Some(from.peer()?)
            } else {
                None
            };
            let heard = Heard {
                counter,
                destroyed_by,
            };
            Ok((id, heard))
        })?;
        let copies: BTreeMap<_, _> = from.list(|from| {
            let id = ObjectId(from.wide()?);
            Ok(((from.peer()?, id), Copy::restore(from)?))
        })?;
        if self.saves_agreements() {
            self.early = early::restore(types, from)?;
            self.confirmed = from.list(|from| {
                let key = (ObjectId(from.wide()?), from.peer()?);
                Ok((key, Counter(from.wide()?)))
            })?;
            self.limbo = from.list(|from| from.wide().map(ObjectId))?;
        }
        for link in self.links.values_mut() {
            *link = Link::new(link.peer, link.endpoint, &self.start.tuning);
            link.set_fault(self.start.fault);
            link.restore(&self.types, from)?;
        }
        (self.objects, self.heard, self.copies) = (objects, heard, copies);
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

impl Object {
    fn save(&self, types: &Types, out: &mut StateWriter) {
        out.peer(self.owner);
        out.number(self.counter.0);
        out.byte(self.state.kind);
        let mut bits = BitWriter::new();
        if let Some(object_type) = types.get(self.state.kind) {
            object_type.write(&self.state.values, &mut bits);
        }
        out.bytes(bits.as_bytes());
        out.length(self.versions.len());
        self.versions.iter().for_each(|&it| out.number(it));
        out.number(self.epoch);
        out.length(self.updated_by.len());
        for (&peer, &packet) in &self.updated_by {
            out.peer(peer);
            out.number(packet);
        }
    }

    fn restore(types: &Types, from: &mut StateReader<'_>) -> Result<Object, Malformed> {
        let owner = from.peer()?;
        let counter = Counter(from.wide()?);
        let kind = from.byte()?;
        let object_type = types
            .get(kind)
            .ok_or_else(|| from.malformed("an object of a type that nobody knows"))?;
        let mut bits = BitReader::new(from.bytes()?);
        let values = object_type.read(&mut bits)?;
        bits.end()?;
        let versions: Vec<u64> = from.list(StateReader::number)?;
        if versions.len() != values.len() {
            return Err(from.malformed("not a version for each field"));
        }
        Ok(Object {
            owner,
            counter,
            state: State { kind, values },
            versions,
            epoch: from.number()?,
            updated_by: from.list(|from| Ok((from.peer()?, from.number()?)))?,
        })
    }
}

impl Copy {
    fn save(&self, out: &mut StateWriter) {
        out.number(self.epoch);
        match self.announced {
            Announced::Ready => out.byte(0),
            Announced::At(place) => {
                out.byte(1);
                out.number(place);
            }
            Announced::ByHost => out.byte(2),
        }
        out.length(self.fields.len());
        for field in &self.fields {
            out.number(field.acked);
            out.flag(field.flying.is_some());
            if let Some((version, packet)) = field.flying {
                out.number(version);
                out.number(packet);
            }
        }
    }

    fn restore(from: &mut StateReader<'_>) -> Result<Copy, Malformed> {
        Ok(Copy {
            epoch: from.number()?,
            announced: match from.byte()? {
                0 => Announced::Ready,
                1 => Announced::At(from.number()?),
                2 => Announced::ByHost,
                _ => return Err(from.malformed("told in a way that nobody knows")),
            },
            fields: from.list(|from| {
                Ok(CopyField {
                    acked: from.number()?,
                    flying: if from.flag()? {
                        Some((from.number()?, from.number()?))
                    } else {
                        None
                    },
                })
            })?,
        })
    }
}

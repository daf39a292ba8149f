//! A game that says what it believes: the objects of its table, their owners and their values.

use std::collections::BTreeMap;

use netreel_transport::{Believed, Transport};

use super::{Game, Hands};
use crate::event::Event;
use crate::layer::NetLayer;
use crate::message::{ObjectId, Peer};
use crate::types::Value;

/// What a game has said of its objects.
#[derive(Debug, Default)]
pub struct Beliefs {
    said: BTreeMap<ObjectId, Said>,
}

/// What was said of an object.
#[derive(Debug)]
struct Said {
    owner: Peer,
    /// Of an object of the node's own.
    values: Vec<Value>,
}

/// A game around another: what the layer tells it, it says at once; what it did itself, at the end of
/// the tick. Values of other nodes' objects are those of the last UPDATE that the game was told of.
pub struct Believing<'a> {
    beliefs: &'a mut Beliefs,
    game: &'a mut dyn Game,
}

impl<'a> Believing<'a> {
    /// Says what `game` believes; `beliefs` is what it has said so far.
    pub fn new(beliefs: &'a mut Beliefs, game: &'a mut dyn Game) -> Believing<'a> {
        Believing { beliefs, game }
    }
}

impl Game for Believing<'_> {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        self.beliefs.told(event, hands);
        self.game.event(event, hands);
    }

    fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        self.game.play(tick, hands);
        self.beliefs.did(hands);
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        self.game.is_idle(layer)
    }
}

impl Beliefs {
    /// The layer told the game of something.
    fn told(&mut self, event: &Event, hands: &mut Hands<'_>) {
        match *event {
            Event::Created { object, owner } => self.create(object, owner, hands),
            Event::Migrated {
                object,
                owner,
                created: true,
            } => self.create(object, owner, hands),
            Event::Migrated { object, owner, .. } => {
                self.owns(object, owner, hands);
                say_values(object, hands);
            }
            Event::Updated { object } => say_values(object, hands),
            Event::Destroyed { object } => self.destroy(object, hands),
            _ => {}
        }
    }

    fn create(&mut self, object: ObjectId, owner: Peer, hands: &mut Hands<'_>) {
        let created = Believed::Created {
            owner: Some(u64::from(owner.0)),
        };
        hands.io.believes(object.0, created);
        say_values(object, hands);
        let values = own_values(object, hands.layer);
        self.said.insert(object, Said { owner, values });
    }

    fn destroy(&mut self, object: ObjectId, hands: &mut Hands<'_>) {
        hands.io.believes(object.0, Believed::Destroyed);
        self.said.remove(&object);
    }

    fn owns(&mut self, object: ObjectId, owner: Peer, hands: &mut Hands<'_>) {
        let believed = Believed::Owner {
            owner: u64::from(owner.0),
        };
        hands.io.believes(object.0, believed);
        let values = own_values(object, hands.layer);
        self.said.insert(object, Said { owner, values });
    }

    /// What the game did itself, and the layer in its name.
    fn did(&mut self, hands: &mut Hands<'_>) {
        let layer = &*hands.layer;
        let gone: Vec<ObjectId> = self
            .said
            .keys()
            .copied()
            .filter(|&id| layer.object(id).is_none())
            .collect();
        for object in gone {
            self.destroy(object, hands);
        }
        let now: Vec<(ObjectId, Peer)> = hands
            .layer
            .objects()
            .map(|(id, object)| (id, object.owner))
            .collect();
        for (object, owner) in now {
            match self.said.get(&object) {
                None => self.create(object, owner, hands),
                Some(said) if said.owner != owner => self.owns(object, owner, hands),
                Some(_) => self.set(object, hands),
            }
        }
    }

    /// The fields of an object of the node's own that have other values than it said.
    fn set(&mut self, object: ObjectId, hands: &mut Hands<'_>) {
        let layer = &*hands.layer;
        let Some((said, known)) = self.said.get_mut(&object).zip(layer.object(object)) else {
            return;
        };
        if known.owner != layer.own() {
            return;
        }
        let values = &known.state.values;
        for (place, value) in values.iter().enumerate() {
            if said.values.get(place) != Some(value) {
                say_value(object, place, layer, hands.io);
            }
        }
        said.values.clone_from(values);
    }
}

fn own_values(object: ObjectId, layer: &NetLayer) -> Vec<Value> {
    let known = layer.object(object);
    let own = known.filter(|known| known.owner == layer.own());
    own.map_or_else(Vec::new, |own| own.state.values.clone())
}

fn say_values(object: ObjectId, hands: &mut Hands<'_>) {
    let layer = &*hands.layer;
    let count = layer.object(object).map_or(0, |it| it.state.values.len());
    for place in 0..count {
        say_value(object, place, layer, hands.io);
    }
}

fn say_value(object: ObjectId, place: usize, layer: &NetLayer, io: &mut dyn Transport) {
    let Some(state) = layer.object(object).map(|object| &object.state) else {
        return;
    };
    let field = layer
        .types()
        .get(state.kind)
        .and_then(|it| it.fields.get(place));
    let (Some(field), Some(value)) = (field, state.values.get(place)) else {
        return;
    };
    match value {
        Value::Number(number) => io.believes_value(object.0, &field.name, &[*number]),
        Value::Vector(numbers) => io.believes_value(object.0, &field.name, numbers),
        Value::Integer(number) => io.believes_value(object.0, &field.name, &[*number as f64]),
        Value::Text(text) => {
            let said = format!("{} \"{text}\"", field.name);
            let said = said.as_bytes();
            io.believes(object.0, Believed::Value { said });
        }
    }
}

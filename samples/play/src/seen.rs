//! What one node believes, as its pane shows it: plain data.

use std::collections::BTreeMap;

use netreel_sample_engine::{Deed, Doing, NetLayer, News, Object, ObjectId, Peer, Player, Value};

use crate::link_setting::LinkSetting;

/// The number of the type "box" in the game's declaration; everything else is a player.
const BOX: u8 = 0;

/// What one node believes and its player does.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which node.
    pub peer: Peer,
    /// How many ticks it has played.
    pub tick: u64,
    /// The objects that live there, by id.
    pub things: Vec<Thing>,
    /// Where its player stands: to the right and up from the middle of the floor.
    pub at: [f64; 2],
    /// What its player holds.
    pub held: Option<ObjectId>,
    /// The box that is nearest to its player.
    pub nearest: Option<ObjectId>,
    /// What its player is about to do.
    pub errand: Option<(Doing, ObjectId)>,
    /// What happened last, the newest at the end.
    pub news: Vec<News>,
    /// Whether all nodes have said their names.
    pub everybody: bool,
    /// How many nodes play.
    pub players: usize,
    /// How its links from other nodes were set.
    pub links: BTreeMap<Peer, LinkSetting>,
}

/// An object that lives at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    /// Which.
    pub id: ObjectId,
    /// A box or a player.
    pub what: What,
    /// Where it is: to the right and up from the middle of the floor.
    pub at: [f64; 2],
    /// Who owns it, as the node believes.
    pub owner: Peer,
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A box.
    Box {
        /// Its paint.
        color: u8,
        /// Whether somebody carries it.
        held: bool,
    },
    /// Somebody's player.
    Player {
        /// What it is called.
        name: String,
    },
}

impl Seen {
    /// What a layer and its player have come to.
    pub fn of(
        tick: u64,
        (layer, player): (&NetLayer, &Player),
        links: &BTreeMap<Peer, LinkSetting>,
    ) -> Seen {
        let things = layer.objects();
        Seen {
            peer: layer.own(),
            tick,
            things: things.filter_map(|(id, it)| Thing::of(id, it)).collect(),
            at: player.at(),
            held: player.held(),
            nearest: player.nearest(layer),
            errand: player.errand(),
            news: player.news().cloned().collect(),
            everybody: layer.is_everybody_here(),
            players: layer.start().peers.len(),
            links: links.clone(),
        }
    }

    /// An object that lives here.
    pub fn thing(&self, id: ObjectId) -> Option<&Thing> {
        self.things.iter().find(|thing| thing.id == id)
    }

    /// Whether all nodes are here, and everybody's player.
    pub fn has_all(&self) -> bool {
        self.everybody && self.things.len() - self.boxes() >= self.players
    }

    /// How many boxes live here.
    pub fn boxes(&self) -> usize {
        let boxes = self.things.iter();
        boxes
            .filter(|it| matches!(it.what, What::Box { .. }))
            .count()
    }

    /// Whether the player can do something now, and with what: what it holds, or the nearest box.
    pub fn at_hand(&self, deed: Deed) -> Option<ObjectId> {
        match deed {
            Deed::PickUp(object) => object.or(self.nearest),
            Deed::Push(object) | Deed::ThrowAway(object) => object.or(self.held).or(self.nearest),
            Deed::PutDown => self.held,
            Deed::Spawn | Deed::Walk(_) | Deed::Go(_) | Deed::Leave => None,
        }
    }
}

impl Thing {
    fn of(id: ObjectId, object: &Object) -> Option<Thing> {
        let values = &object.state.values;
        let Some(Value::Vector(place)) = values.first() else {
            return None;
        };
        let whole = |at: usize| match values.get(at) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        };
        let what = match object.state.kind {
            BOX => What::Box {
                color: u8::try_from(whole(2)).unwrap_or(0),
                held: whole(3) != 0,
            },
            _ => What::Player {
                name: match values.last() {
                    Some(Value::Text(name)) => name.clone(),
                    _ => String::new(),
                },
            },
        };
        Some(Thing {
            id,
            what,
            at: [*place.first()?, *place.get(1)?],
            owner: object.owner,
        })
    }
}

//! What waits for a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::{Endpoint, EventNumber, SocketId, Time};

/// Where something that waits for a node stands: at the event of the recording at which it is
/// there, behind recorded packets if it is one, by its arrival, by the order in which it was sent.
pub(super) type Place = (EventNumber, bool, i64, u64);

/// What a layer is given when it asks for a packet.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub socket: SocketId,
    /// When the recording has it, where it has.
    pub time: Option<Time>,
    pub what: Waiting,
}

#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Packet { from: Endpoint, payload: Arc<[u8]> },
    Failed(i32),
}

/// What waits for a node, each thing at its place.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    items: BTreeMap<Place, Item>,
    of_sockets: BTreeSet<(SocketId, Place)>,
}

impl Inbox {
    pub fn insert(&mut self, place: Place, item: Item) {
        self.remove(&place);
        self.of_sockets.insert((item.socket, place));
        self.items.insert(place, item);
    }

    pub fn get(&self, place: &Place) -> Option<&Item> {
        self.items.get(place)
    }

    pub fn remove(&mut self, place: &Place) -> Option<Item> {
        let item = self.items.remove(place)?;
        self.of_sockets.remove(&(item.socket, *place));
        Some(item)
    }

    /// The first thing that is there at an event of the recording, on this socket or on any.
    pub fn first_until(&self, number: EventNumber, socket: Option<SocketId>) -> Option<Place> {
        let first = (EventNumber(0), false, i64::MIN, 0);
        let last = (number, true, i64::MAX, u64::MAX);
        match socket {
            None => self.items.range(..=last).next().map(|(place, _)| *place),
            Some(socket) => {
                let mut there = self.of_sockets.range((socket, first)..=(socket, last));
                there.next().map(|(_, place)| *place)
            }
        }
    }
}

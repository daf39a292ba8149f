//! What every node believed of every property of every object, at any time.
//!
//! A node takes what messages tell where its rules take the message ([`Effect`]), and says itself what
//! it writes to objects of its own: its values are those that it last sent. What a node believes of a
//! property is a lane of values, each from a moment on, so that a look at any time is a binary search.
//!
//! An order to take an object over changes nothing of an object that lives at the node: what it knows is
//! no older than what HOST knew. Behind a hole of a reel all is unknown until somebody tells it anew.

mod change;
mod differ;
mod lasting;
mod rest;
mod said;
mod snapshots;
mod told;
pub(crate) mod value;

pub use differ::{Differences, Parting};
pub(super) use lasting::{Lasting, Owned};
pub(super) use rest::Resting;
pub use rest::{Rest, RestDifference};
pub use value::{Apart, Known, Scalar, apart_words, words};

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::EventNumber;
use netreel_table::{Column, below};
use netreel_wire::{Property, PropertyId, Role};
use roaring::RoaringBitmap;

use self::change::{Changes, NOTHING, UNKNOWN, VALUE, is_value};
use self::said::Marks;
use self::snapshots::Snapshots;
use self::told::MessageProperties;
use super::{Delivery, Effect, History};
use crate::session::facts::values::Values;
use crate::session::{Hole, MessageId, Node, NodeId, Session, SessionTime, Way, parallel};

/// What all nodes believed of the properties of objects. See the module.
#[derive(Debug, Default)]
pub struct States {
    properties: Vec<Property>,
    values: Values,
    types: BTreeMap<u64, String>,
    nodes: BTreeMap<NodeId, Lanes>,
    /// Of what games spoke of, the lanes that follow from messages by the rules of the wire.
    by_rules: BTreeMap<NodeId, Lanes>,
}

/// What a node believes of a property, and since when.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Since when.
    pub since: SessionTime,
    /// What.
    pub value: Known,
    /// The message that told it; `None` behind a hole of the reel, and where the game said it.
    pub because: Option<MessageId>,
    /// The event by which the node's game said it; `None` where it follows from messages.
    pub said: Option<EventNumber>,
}

/// The lanes of one node, one behind the other.
#[derive(Debug, Default)]
struct Lanes {
    /// Object, property, and the first row, in order.
    lanes: Vec<(u64, u16, u32)>,
    /// Distances from the earliest time that there is.
    times: Column,
    values: Column,
    because: Column,
    said: Column,
}

impl States {
    /// Works out what all nodes believed of all objects; nothing where the wire declares no properties.
    pub fn build(session: &Session, history: &History) -> States {
        States::of(session, history, &|_| true)
    }

    /// The same of some objects.
    pub fn of(
        session: &Session,
        history: &History,
        wanted: &(dyn Fn(u64) -> bool + Sync),
    ) -> States {
        let wire = session.wire.as_ref();
        let properties = wire.map_or(&[][..], |wire| wire.properties());
        if properties.is_empty() {
            return States::default();
        }
        let mut told = MessageProperties::new(session, history, wanted);
        let said = said::said(session, properties, &mut told, wanted);
        let mut deliveries: BTreeMap<NodeId, RoaringBitmap> = BTreeMap::new();
        for (_, known) in history.objects.iter().filter(|(id, _)| wanted(**id)) {
            for &place in &known.deliveries {
                let (node, _) = history.deliveries.effect(place);
                deliveries.entry(node).or_default().insert(place);
            }
        }
        let nodes = (0u16..).map(NodeId).zip(&session.nodes);
        let recorded = nodes.filter(|(_, node)| node.recorded);
        let jobs = recorded.map(|(id, node)| {
            let places = deliveries.remove(&id).unwrap_or_default();
            (id, node, places)
        });
        let nodes = parallel::map(jobs.collect(), session.workers(), |(id, node, places)| {
            let walk = Walk {
                session,
                history,
                told: &told,
                id,
                node,
                lanes: Changes::default(),
                queued: BTreeMap::new(),
                now: SessionTime(i64::MIN),
            };
            let mut lanes = walk.run(&places, wanted);
            let own = said.get(&id).filter(|own| !own.is_empty());
            let overlaid = own.map(|own| said::overlay(history, id, own, &mut lanes));
            let (by_rules, marks) = overlaid.unwrap_or_default();
            let by_rules = pack(by_rules, &Marks::new());
            ((id, pack(lanes, &marks)), (id, by_rules))
        });
        let (nodes, by_rules) = nodes.into_iter().unzip();
        States {
            properties: properties.to_vec(),
            values: told.values,
            types: told.types,
            nodes,
            by_rules,
        }
    }

    /// The properties that the wire declares; [`PropertyId`] is a place in them.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// A property.
    pub fn property(&self, property: PropertyId) -> Option<&Property> {
        self.properties.get(usize::from(property.0))
    }

    /// What the wire calls a type of objects; its number where it gives it no name.
    pub fn type_name(&self, number: u64) -> String {
        let known = self.types.get(&number);
        known.cloned().unwrap_or_else(|| number.to_string())
    }

    /// The objects of which somebody ever knew a property, with these properties, in order.
    pub fn objects(&self) -> BTreeMap<u64, BTreeSet<PropertyId>> {
        let mut objects: BTreeMap<u64, BTreeSet<PropertyId>> = BTreeMap::new();
        for lanes in self.nodes.values() {
            for &(object, property, _) in &lanes.lanes {
                let known = objects.entry(object).or_default();
                known.insert(PropertyId(property));
            }
        }
        objects
    }

    /// What a node believed of a property of an object at a moment; `None` before it heard of it.
    pub fn at(
        &self,
        object: u64,
        property: PropertyId,
        node: NodeId,
        time: SessionTime,
    ) -> Option<Held> {
        let lanes = self.nodes.get(&node)?;
        Some(self.held(lanes, lanes.row_at(object, property.0, time)?))
    }

    /// All that a node believed of a property of an object, one after the other.
    pub fn changes(
        &self,
        object: u64,
        property: PropertyId,
        node: NodeId,
    ) -> impl DoubleEndedIterator<Item = Held> + '_ {
        self.all_of(self.nodes.get(&node), object, property)
    }

    /// The same by what messages tell alone; none where the node's game spoke of no value of it.
    pub fn changes_by_rules(
        &self,
        object: u64,
        property: PropertyId,
        node: NodeId,
    ) -> impl DoubleEndedIterator<Item = Held> + '_ {
        self.all_of(self.by_rules.get(&node), object, property)
    }

    fn all_of<'a>(
        &'a self,
        lanes: Option<&'a Lanes>,
        object: u64,
        property: PropertyId,
    ) -> impl DoubleEndedIterator<Item = Held> + 'a {
        let rows = lanes.and_then(|lanes| Some((lanes, lanes.rows(object, property.0)?)));
        let held = rows.map(|(lanes, rows)| rows.map(move |row| self.held(lanes, row)));
        held.into_iter().flatten()
    }

    /// The properties of which messages tell a node something, and its game said something else or the
    /// same.
    pub(crate) fn spoken(&self) -> impl Iterator<Item = (NodeId, u64, PropertyId)> + '_ {
        self.by_rules.iter().flat_map(|(&node, lanes)| {
            let lanes = lanes.lanes.iter();
            lanes.map(move |&(object, property, _)| (node, object, PropertyId(property)))
        })
    }

    /// How many bytes of memory it takes, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let nodes = || self.nodes.values().chain(self.by_rules.values());
        let columns = |lanes: &Lanes| {
            let columns = [&lanes.times, &lanes.values, &lanes.because, &lanes.said];
            columns.into_iter().map(Column::memory).sum::<usize>()
        };
        let lane = size_of::<(u64, u16, u32)>();
        vec![
            ("values", self.values.memory()),
            ("changes", nodes().map(columns).sum()),
            ("lanes", nodes().map(|it| it.lanes.capacity() * lane).sum()),
        ]
    }

    /// The values that nobody can tell when the reels end.
    pub(crate) fn unknown_at_end(&self) -> impl Iterator<Item = (u64, PropertyId, NodeId)> + '_ {
        self.nodes.iter().flat_map(|(&node, lanes)| {
            let starts = lanes.lanes.iter().map(|&(.., start)| start as usize);
            let ends = starts.skip(1).chain([lanes.times.len()]);
            let lasts = lanes.lanes.iter().zip(ends);
            let unknown = lasts.filter(|&(_, end)| {
                let last = end.checked_sub(1).map(|row| lanes.values.get(row) as u32);
                last == Some(UNKNOWN)
            });
            unknown.map(move |(&(object, property, _), _)| (object, PropertyId(property), node))
        })
    }

    fn held(&self, lanes: &Lanes, row: usize) -> Held {
        Held {
            since: lanes.time(row),
            value: self.known(lanes.values.get(row) as u32),
            because: lanes.because.get_some(row).map(|it| MessageId(it as u32)),
            said: lanes.said.get_some(row).map(EventNumber),
        }
    }

    fn known(&self, code: u32) -> Known {
        match code {
            UNKNOWN => Known::Unknown,
            NOTHING => Known::Nothing,
            value => Known::Value(self.values.get(value - VALUE)),
        }
    }
}

impl Lanes {
    fn time(&self, row: usize) -> SessionTime {
        SessionTime((self.times.get(row) as i64).wrapping_add(i64::MIN))
    }

    /// The rows of a lane.
    fn rows(&self, object: u64, property: u16) -> Option<std::ops::Range<usize>> {
        let key = |&(object, property, _): &(u64, u16, u32)| (object, property);
        let place = self.lanes.binary_search_by_key(&(object, property), key);
        let place = place.ok()?;
        let &(.., start) = self.lanes.get(place)?;
        let next = self.lanes.get(place + 1);
        let end = next.map_or(self.times.len(), |&(.., start)| start as usize);
        Some(start as usize..end)
    }

    /// The row of a lane that holds at a moment.
    fn row_at(&self, object: u64, property: u16, time: SessionTime) -> Option<usize> {
        let rows = self.rows(object, property)?;
        let next = below(rows.clone(), |row| self.time(row) <= time);
        (next > rows.start).then(|| next - 1)
    }
}

/// A walk along one node's deliveries and sends.
struct Walk<'a> {
    session: &'a Session,
    history: &'a History,
    told: &'a MessageProperties,
    id: NodeId,
    node: &'a Node,
    lanes: Changes,
    /// For each object the messages that wait for its CREATE.
    queued: BTreeMap<u64, Vec<MessageId>>,
    /// The latest moment so far: a node's own order holds even where its clock does not.
    now: SessionTime,
}

type Holes<'a> = std::iter::Peekable<std::vec::IntoIter<&'a Hole>>;

impl<'a> Walk<'a> {
    fn run(mut self, places: &RoaringBitmap, wanted: &(dyn Fn(u64) -> bool + Sync)) -> Changes {
        if self.told.has_snapshots() {
            return self.run_snapshots(wanted);
        }
        let (session, history) = (self.session, self.history);
        let deliveries = places.iter();
        let deliveries = deliveries.filter_map(|place| history.deliveries.get(place as usize));
        let mut deliveries = deliveries.peekable();
        let mut holes = self.holes();
        for (_, crossing, stamp) in session.ends(self.id) {
            if crossing.way != Way::Out {
                continue;
            }
            for (message, facts) in session.messages_of(crossing.packet) {
                let Some(object) = facts.object.filter(|&object| wanted(object)) else {
                    continue;
                };
                let own = facts.origin.is_none() || facts.origin == self.node.peer;
                let is_write = own && session.role(&facts) == Role::Update;
                if !is_write || self.history.resend_of(message).is_some() {
                    continue;
                }
                while let Some(next) = deliveries.next_if(|it| it.at.number < crossing.number) {
                    self.holes_before(&mut holes, next.at.number);
                    self.deliver(&next);
                }
                self.holes_before(&mut holes, crossing.number);
                self.pass(stamp.time);
                self.take(object, message);
            }
        }
        for delivery in deliveries {
            self.holes_before(&mut holes, delivery.at.number);
            self.deliver(&delivery);
        }
        self.end(holes)
    }

    /// The same of a protocol whose objects come in snapshots.
    fn run_snapshots(mut self, wanted: &(dyn Fn(u64) -> bool + Sync)) -> Changes {
        let session = self.session;
        let mut snapshots = Snapshots::default();
        let mut holes = self.holes();
        for (_, crossing, stamp) in session.ends(self.id) {
            if !matches!(crossing.way, Way::In | Way::Out) {
                continue;
            }
            if self.holes_before(&mut holes, crossing.number) {
                snapshots.forget();
            }
            self.pass(stamp.time);
            let from = (session, self.history, self.told);
            snapshots.take(from, (&crossing, self.now), wanted, &mut self.lanes);
        }
        self.end(holes)
    }

    /// The holes of the node's reel, in order.
    fn holes(&self) -> Holes<'a> {
        let mut holes: Vec<_> = self.node.holes.iter().collect();
        holes.sort_by_key(|hole| hole.before);
        holes.into_iter().peekable()
    }

    /// What is known when all events are passed but for what these holes took.
    fn end(mut self, holes: Holes<'a>) -> Changes {
        for hole in holes {
            self.forget_all(hole.time.start);
        }
        // What came after the end of a reel that was cut is not known.
        if !self.node.complete {
            self.forget_all(self.node.span.end);
        }
        self.lanes
    }

    fn pass(&mut self, time: SessionTime) {
        self.now = self.now.max(time);
    }

    fn holes_before(&mut self, holes: &mut Holes<'_>, number: EventNumber) -> bool {
        let mut any = false;
        while let Some(hole) = holes.next_if(|hole| hole.before <= number) {
            self.forget_all(hole.time.start);
            any = true;
        }
        any
    }

    /// The reel lacks what came here.
    fn forget_all(&mut self, time: SessionTime) {
        self.pass(time);
        self.lanes.put_all(.., (self.now, UNKNOWN, None));
        self.queued.clear();
    }

    fn deliver(&mut self, delivery: &Delivery) {
        let message = delivery.message;
        let facts = self.history.facts(self.session, message);
        let Some((object, facts)) = facts.and_then(|facts| Some((facts.object?, facts))) else {
            return;
        };
        self.pass(delivery.at.time);
        match delivery.effect {
            Effect::Created | Effect::CreatedByMigrate | Effect::CreatedByUpdate => {
                self.set_all(object, NOTHING, Some(message));
                self.take(object, message);
                self.take_queued(object, None);
            }
            Effect::Updated => self.take(object, message),
            Effect::Migrated => {
                let is_order = self.session.role(&facts) == Role::MigrateOrder;
                if delivery.local || !is_order {
                    self.take(object, message);
                }
                self.take_queued(object, facts.migration_counter);
            }
            Effect::Queued => self.queued.entry(object).or_default().push(message),
            Effect::Destroyed | Effect::Tombstoned => {
                self.set_all(object, NOTHING, Some(message));
            }
            Effect::Unknown => match self.session.role(&facts) {
                Role::Update => {
                    for (property, _) in self.told.of(self.history, message) {
                        self.set(object, property, UNKNOWN, Some(message));
                    }
                }
                _ => self.set_all(object, UNKNOWN, Some(message)),
            },
            Effect::Plain
            | Effect::IgnoredUnknown
            | Effect::IgnoredStale
            | Effect::IgnoredNotOwner
            | Effect::IgnoredOutOfOrder => {}
        }
    }

    /// What waited for CREATE, or for the MIGRATE of this counter.
    fn take_queued(&mut self, object: u64, counter: Option<u64>) {
        let mut early = Vec::new();
        for waiting in self.queued.remove(&object).unwrap_or_default() {
            let facts = self.history.facts(self.session, waiting);
            let of = facts.as_ref().and_then(|facts| facts.migration_counter);
            if counter.is_some() && of > counter {
                early.push(waiting);
                continue;
            }
            match facts.map(|facts| self.session.role(&facts)) {
                Some(Role::Destroy) => self.set_all(object, NOTHING, Some(waiting)),
                _ => self.take(object, waiting),
            }
        }
        if !early.is_empty() {
            self.queued.insert(object, early);
        }
    }

    /// The node believes what a message tells.
    fn take(&mut self, object: u64, message: MessageId) {
        for (property, value) in self.told.of(self.history, message) {
            self.set(object, property, value + VALUE, Some(message));
        }
    }

    fn set_all(&mut self, object: u64, value: u32, because: Option<MessageId>) {
        let keys = (object, 0)..=(object, u16::MAX);
        self.lanes.put_all(keys, (self.now, value, because));
    }

    fn set(&mut self, object: u64, property: u16, value: u32, because: Option<MessageId>) {
        let change = (self.now, value, because);
        self.lanes.put((object, property), change);
    }
}

fn pack(all: Changes, marks: &Marks) -> Lanes {
    let mut lanes = Lanes::default();
    all.for_each(|(object, property), changes| {
        let start = lanes.times.len() as u32;
        lanes.lanes.push((object, property, start));
        let marks = marks.get(&(object, property));
        let marks = marks.map_or(&[][..], Vec::as_slice);
        for (place, (time, value, because)) in changes.enumerate() {
            let said = marks.get(place).copied().flatten();
            lanes.said.push_some(said.map(|number| number.0));
            lanes.times.push(time.0.wrapping_sub(i64::MIN) as u64);
            lanes.values.push(u64::from(value));
            let because = because.map(|message| u64::from(message.0));
            lanes.because.push_some(because);
        }
    });
    let columns = [
        &mut lanes.times,
        &mut lanes.values,
        &mut lanes.because,
        &mut lanes.said,
    ];
    columns.into_iter().for_each(Column::shrink);
    lanes.lanes.shrink_to_fit();
    lanes
}

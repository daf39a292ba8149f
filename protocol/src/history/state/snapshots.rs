//! Objects that come in snapshots: each is a difference from an earlier one that the receiver has acked,
//! or from nothing; an object that the earlier one lacks is a difference from its baseline.
//!
//! The receiver takes a snapshot whole: what is not in it does not live there any more. One that is not
//! newer than the last, and one whose base nobody has, is left out. Who connects anew counts anew. Behind
//! a hole of the reel nothing is known until the next snapshot says it; what was acked before it is a base
//! still. The sender knows of objects what it
//! sends; what it leaves out of a snapshot for one receiver may live on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_wire::Role;

use super::told::Told;
use super::{Change, NOTHING, VALUE, put};
use crate::history::History;
use crate::session::{Crossing, MessageId, NodeId, Session, SessionTime, Way};

/// How many snapshots of a link are kept as bases.
const KEPT: usize = 64;

/// Properties and values of an object, shared by the snapshots that have it so.
type Values = Arc<BTreeMap<u16, u32>>;

#[derive(Default)]
struct Link {
    baselines: BTreeMap<u64, Values>,
    snapshots: BTreeMap<u64, BTreeMap<u64, Values>>,
    newest: Option<u64>,
}

/// Its number, the message that begins it, and all objects in it.
type Snapshot = (u64, MessageId, BTreeMap<u64, Values>);

impl Link {
    /// Keeps a snapshot as a base for others.
    fn take(&mut self, (number, _, objects): &Snapshot) {
        self.newest = Some(*number);
        self.snapshots.insert(*number, objects.clone());
        while self.snapshots.len() > KEPT {
            self.snapshots.pop_first();
        }
    }
}

/// The snapshots that one node sent and received.
#[derive(Default)]
pub(super) struct Snapshots {
    links: BTreeMap<(NodeId, bool), Link>,
    /// What the node believes of objects, as far as snapshots told it.
    now: BTreeMap<u64, Values>,
    /// Objects of which a hole of the reel hides what became of them.
    hidden: BTreeSet<u64>,
}

impl Snapshots {
    /// Takes what a packet says of snapshots. Whether it has one.
    pub fn take(
        &mut self,
        (session, history, told): (&Session, &History, &Told),
        (crossing, time): (&Crossing, SessionTime),
        wanted: &dyn Fn(u64) -> bool,
        lanes: &mut BTreeMap<(u64, u16), Vec<Change>>,
    ) {
        let Some((from, to)) = session.link(crossing.packet) else {
            return;
        };
        let is_in = crossing.way == Way::In;
        let other = if is_in { from } else { to };
        let is_anew = session.messages_of(crossing.packet).any(|(id, facts)| {
            let begins = matches!(session.role(&facts), Role::Connect | Role::Disconnect);
            begins && history.resend_of(id).is_none()
        });
        if is_anew {
            self.links.retain(|&(node, _), _| node != other);
        }
        let link = self.links.entry((other, is_in)).or_default();
        let mut open: Option<Snapshot> = None;
        let mut whole: Vec<Snapshot> = Vec::new();
        for (message, facts) in session.messages_of(crossing.packet) {
            if let Some((number, base)) = told.snapshot(message) {
                if let Some(before) = open.take() {
                    link.take(&before);
                    whole.push(before);
                }
                let is_old = link.newest.is_some_and(|newest| number <= newest);
                let base = match base {
                    None => Some(BTreeMap::new()),
                    Some(base) => link.snapshots.get(&base).cloned(),
                };
                // Of what follows nothing is taken where it cannot be.
                let objects = base.filter(|_| !is_old);
                open = objects.map(|objects| (number, message, objects));
                continue;
            }
            let Some(object) = facts.object.filter(|&object| wanted(object)) else {
                continue;
            };
            let role = session.role(&facts);
            if role == Role::Baseline {
                let values = told.of(history, message).collect();
                link.baselines.insert(object, Arc::new(values));
                continue;
            }
            let Some((_, _, objects)) = &mut open else {
                continue;
            };
            if role == Role::Destroy {
                objects.remove(&object);
                continue;
            }
            let before = objects.get(&object).or(link.baselines.get(&object));
            let mut values = before.cloned().unwrap_or_default();
            let mut changes = told.of(history, message).peekable();
            if changes.peek().is_some() {
                Arc::make_mut(&mut values).extend(changes);
            }
            objects.insert(object, values);
        }
        if let Some(last) = open {
            link.take(&last);
            whole.push(last);
        }
        for (_, message, objects) in whole {
            self.believe(objects, is_in, (time, message), lanes);
        }
    }

    /// The reel has a hole here: nobody knows what came.
    pub fn forget(&mut self) {
        let now = std::mem::take(&mut self.now);
        self.hidden.extend(now.into_keys());
    }

    fn believe(
        &mut self,
        objects: BTreeMap<u64, Values>,
        is_whole: bool,
        (time, message): (SessionTime, MessageId),
        lanes: &mut BTreeMap<(u64, u16), Vec<Change>>,
    ) {
        let because = Some(message);
        if is_whole {
            let hidden = std::mem::take(&mut self.hidden);
            let known = self.now.keys().chain(&hidden);
            for object in known.filter(|it| !objects.contains_key(it)) {
                for (_, lane) in lanes.range_mut((*object, 0)..=(*object, u16::MAX)) {
                    put(lane, (time, NOTHING, because));
                }
            }
            self.now.retain(|object, _| objects.contains_key(object));
        }
        for (object, values) in objects {
            let before = self.now.get(&object);
            if before.is_some_and(|before| Arc::ptr_eq(before, &values)) {
                continue;
            }
            for (&property, &value) in values.iter() {
                let lane = lanes.entry((object, property)).or_default();
                put(lane, (time, value + VALUE, because));
            }
            self.now.insert(object, values);
        }
    }
}

//! Objects that come in snapshots: each is a difference from an earlier one that the receiver has acked,
//! or from nothing; an object that the earlier one lacks is a difference from its baseline.
//!
//! The receiver takes a snapshot whole: what is not in it does not live there any more. One that is not
//! newer than the last, and one whose base nobody has, is left out. Who connects anew counts anew. Behind
//! a hole of the reel nothing is known until the next snapshot says it; what was acked before it is a base
//! still. The sender knows of objects what it sends; what it leaves out of a snapshot for one receiver may
//! live on.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use netreel_wire::Role;

use super::change::{Changes, NOTHING, VALUE};
use super::told::MessageProperties;
use crate::history::History;
use crate::session::{Crossing, MessageId, NodeId, Session, SessionTime, Way};

/// How many snapshots of a link are kept as bases.
const KEPT: usize = 64;

/// Properties and values of an object, ordered by property; shared by the snapshots that have it so.
type Values = Rc<Vec<(u16, u32)>>;

/// Objects with their values, ordered by object.
type Objects = Rc<Vec<(u64, Values)>>;

#[derive(Default)]
struct Link {
    baselines: BTreeMap<u64, Values>,
    snapshots: BTreeMap<u64, Objects>,
    newest: Option<u64>,
}

/// A snapshot of which more may come.
struct Open {
    number: u64,
    /// The message that begins it.
    message: MessageId,
    base: Objects,
    /// What differs from the base; of objects that it lacks, nothing.
    changes: BTreeMap<u64, Option<Values>>,
}

impl Open {
    fn get(&self, object: u64) -> Option<&Values> {
        match self.changes.get(&object) {
            Some(changed) => changed.as_ref(),
            None => get(&self.base, object),
        }
    }

    fn close(self) -> (MessageId, Objects) {
        (self.message, merged(&self.base, self.changes))
    }
}

fn get(objects: &Objects, object: u64) -> Option<&Values> {
    let place = objects.binary_search_by_key(&object, |&(id, _)| id).ok()?;
    objects.get(place).map(|(_, values)| values)
}

/// Objects with changes.
fn merged(base: &Objects, changes: BTreeMap<u64, Option<Values>>) -> Objects {
    if changes.is_empty() {
        return base.clone();
    }
    let mut all = Vec::with_capacity(base.len() + changes.len());
    let mut base = base.iter().peekable();
    for (object, changed) in changes {
        while let Some(kept) = base.next_if(|(id, _)| *id < object) {
            all.push(kept.clone());
        }
        base.next_if(|(id, _)| *id == object);
        all.extend(changed.map(|values| (object, values)));
    }
    all.extend(base.cloned());
    Rc::new(all)
}

/// The snapshots that one node sent and received.
#[derive(Default)]
pub(super) struct Snapshots {
    links: BTreeMap<(NodeId, bool), Link>,
    /// What the node believes of objects, as far as snapshots told it.
    now: Objects,
    /// Objects of which a hole of the reel hides what became of them.
    hidden: BTreeSet<u64>,
}

impl Snapshots {
    /// Takes what a packet says of snapshots.
    pub fn take(
        &mut self,
        (session, history, told): (&Session, &History, &MessageProperties),
        (crossing, time): (&Crossing, SessionTime),
        wanted: &dyn Fn(u64) -> bool,
        lanes: &mut Changes,
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
        let mut open: Option<Open> = None;
        let mut whole: Vec<(MessageId, Objects)> = Vec::new();
        for (message, facts) in session.messages_of(crossing.packet) {
            if let Some((number, base)) = told.snapshot(message) {
                whole.extend(open.take().map(|before| link.take(before)));
                open = link.begin(message, number, base);
                continue;
            }
            let Some(object) = facts.object.filter(|&object| wanted(object)) else {
                continue;
            };
            let role = session.role(&facts);
            if role == Role::Baseline {
                let mut values = Vec::new();
                told.of(history, message)
                    .for_each(|it| set(&mut values, it));
                link.baselines.insert(object, Rc::new(values));
                continue;
            }
            let Some(open) = &mut open else {
                continue;
            };
            if role == Role::Destroy {
                open.changes.insert(object, None);
                continue;
            }
            let before = open.get(object).or(link.baselines.get(&object));
            let mut values = before.cloned().unwrap_or_default();
            let mut changes = told.of(history, message).peekable();
            if changes.peek().is_some() {
                let values = Rc::make_mut(&mut values);
                changes.for_each(|it| set(values, it));
            }
            open.changes.insert(object, Some(values));
        }
        whole.extend(open.map(|last| link.take(last)));
        for (message, objects) in whole {
            self.believe(objects, is_in, (time, message), lanes);
        }
    }

    /// The reel has a hole here: nobody knows what came.
    pub fn forget(&mut self) {
        let now = std::mem::take(&mut self.now);
        self.hidden.extend(now.iter().map(|(object, _)| *object));
    }

    fn believe(
        &mut self,
        objects: Objects,
        is_whole: bool,
        (time, message): (SessionTime, MessageId),
        lanes: &mut Changes,
    ) {
        let change = |value: u32| (time, value, Some(message));
        let mut vanish =
            |object: u64| lanes.put_all((object, 0)..=(object, u16::MAX), change(NOTHING));
        if is_whole {
            let hidden = std::mem::take(&mut self.hidden).into_iter();
            let gone = hidden.filter(|it| get(&objects, *it).is_none());
            gone.for_each(&mut vanish);
        }
        let mut changed: BTreeMap<u64, Option<Values>> = BTreeMap::new();
        let mut known = self.now.iter().peekable();
        for (object, values) in objects.iter() {
            while let Some((gone, _)) = known.next_if(|(id, _)| id < object) {
                if is_whole {
                    vanish(*gone);
                }
            }
            let before = known.next_if(|(id, _)| id == object);
            let is_known = before.is_some_and(|(_, it)| Rc::ptr_eq(it, values) || it == values);
            if !is_known {
                changed.insert(*object, Some(values.clone()));
            }
        }
        if is_whole {
            known.for_each(|(gone, _)| vanish(*gone));
        }
        for (object, values) in &changed {
            let before = get(&self.now, *object);
            for &(property, value) in values.iter().flat_map(|it| it.iter()) {
                // What a lane ends with stands there already.
                if before.is_some_and(|it| it.contains(&(property, value))) {
                    continue;
                }
                lanes.put((*object, property), change(value + VALUE));
            }
        }
        self.now = if is_whole {
            objects
        } else {
            merged(&self.now, changed)
        };
    }
}

impl Link {
    /// A snapshot begins; `None` where what follows cannot be taken: it is old, or nobody has its base.
    fn begin(&self, message: MessageId, number: u64, base: Option<u64>) -> Option<Open> {
        if self.newest.is_some_and(|newest| number <= newest) {
            return None;
        }
        let base = match base {
            None => Objects::default(),
            Some(base) => self.snapshots.get(&base)?.clone(),
        };
        Some(Open {
            number,
            message,
            base,
            changes: BTreeMap::new(),
        })
    }

    /// Keeps a snapshot as a base for others.
    fn take(&mut self, open: Open) -> (MessageId, Objects) {
        let number = open.number;
        let (message, objects) = open.close();
        self.newest = Some(number);
        self.snapshots.insert(number, objects.clone());
        while self.snapshots.len() > KEPT {
            self.snapshots.pop_first();
        }
        (message, objects)
    }
}

/// Sets the value of a property.
fn set(values: &mut Vec<(u16, u32)>, (property, value): (u16, u32)) {
    match values.binary_search_by_key(&property, |&(it, _)| it) {
        Ok(place) => {
            if let Some(known) = values.get_mut(place) {
                known.1 = value;
            }
        }
        Err(place) => values.insert(place, (property, value)),
    }
}

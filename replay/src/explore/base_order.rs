//! The order in which a recording says what it says of objects: what other orders are told by. What nodes say
//! of objects themselves has its place among what they receive.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::change::{Change, Moment};
use super::ground::{Begins, Ground};
use super::marks::{AsItIs, Mark, Marks};
use super::net::Delivery;

/// What is the same in every run: a message by its own number, an UPDATE by its place among those of the
/// recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Said {
    Message(u64),
    /// A message that the node sends itself, as far as it is concerned.
    Deed(u64),
    Updates(u32),
    /// An UPDATE that the recording has not.
    Unknown,
}

/// A node, and an object there.
pub(super) type Place = (usize, u64);

/// Of who said what: its number among all at a place, and when it was first heard.
type First = BTreeMap<(usize, Said), (u32, Moment)>;

/// The order of the recording: when each thing that is said of an object was first heard.
#[derive(Debug, Default)]
pub(super) struct BaseOrder {
    heard: BTreeMap<Place, First>,
    /// Of each packet, by its key: which UPDATEs of an object it has.
    updates: HashMap<u64, Vec<(u64, u32)>, BuildHasherDefault<AsItIs>>,
    /// What nodes did themselves; `None`: nobody asks.
    pub deeds: Option<Deeds>,
    /// Whether something is tried with what one sender alone says of an object at a node.
    pub singles: bool,
}

/// How far the order of the recording is known at a place.
#[derive(Default)]
struct Last {
    next: u32,
    /// Whose UPDATEs came last.
    updates_of: Option<usize>,
    /// The number of those.
    run: u32,
}

impl BaseOrder {
    /// Of what a recording delivered.
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>) -> BaseOrder {
        BaseOrder::beside(None, trace, marks)
    }

    /// The same beside what nodes did themselves, where that is asked for.
    pub fn beside(deeds: Option<Deeds>, trace: &[Delivery], marks: &mut Marks<'_>) -> BaseOrder {
        let mut base = BaseOrder::default();
        let mut lasts: BTreeMap<Place, Last> = BTreeMap::new();
        let mut own: BTreeMap<usize, VecDeque<Deed>> = BTreeMap::new();
        for deed in deeds.iter().flat_map(Deeds::in_order) {
            own.entry(deed.node).or_default().push_back(deed);
        }
        for delivery in trace {
            if let Some(own) = own.get_mut(&delivery.node) {
                let before = own.partition_point(|it| it.at <= delivery.at);
                own.drain(..before)
                    .for_each(|it| base.does(&it, &mut lasts));
            }
            for mark in marks.of(&delivery.payload).iter() {
                let place = (delivery.node, mark.object);
                base.hears(place, mark, delivery, lasts.entry(place).or_default());
            }
        }
        for deed in own.into_values().flatten() {
            base.does(&deed, &mut lasts);
        }
        base.deeds = deeds;
        base
    }

    fn hears(&mut self, place: Place, mark: &Mark, delivery: &Delivery, last: &mut Last) {
        let said = match mark.id {
            Some(id) => Said::Message(id),
            None => {
                if last.updates_of != Some(delivery.from) {
                    last.run += 1;
                }
                let of = self.updates.entry(delivery.key).or_default();
                of.push((mark.object, last.run));
                Said::Updates(last.run)
            }
        };
        let heard = self.heard.entry(place).or_default();
        let key = (delivery.from, said);
        let is_copy = mark.id.is_some() && heard.contains_key(&key);
        if !is_copy {
            last.updates_of = mark.id.is_none().then_some(delivery.from);
        }
        heard.entry(key).or_insert((last.next, delivery.natural));
        last.next += 1;
    }

    fn does(&mut self, deed: &Deed, lasts: &mut BTreeMap<Place, Last>) {
        let place = (deed.node, deed.object);
        let last = lasts.entry(place).or_default();
        let heard = self.heard.entry(place).or_default();
        heard.insert((deed.node, Said::Deed(deed.id)), (last.next, deed.at));
        last.updates_of = None;
        last.next += 1;
    }

    /// When something was first heard in the recording.
    pub fn position(&self, place: Place, from: usize, said: Said) -> Option<u32> {
        Some(self.heard.get(&place)?.get(&(from, said))?.0)
    }

    /// Whether a message in a packet, by when it comes without changes, is a copy of what was heard before
    /// this time.
    pub fn is_copy(
        &self,
        place: Place,
        (from, said): (usize, Said),
        natural: Moment,
        since_ns: i64,
    ) -> bool {
        let heard = self.heard.get(&place).and_then(|it| it.get(&(from, said)));
        matches!(said, Said::Message(_))
            && heard.is_some_and(|(_, first)| first.ns < since_ns && *first != natural)
    }

    /// Which UPDATEs of an object a packet has, by its key.
    pub fn updates(&self, key: u64, object: u64) -> Option<u32> {
        let of = self.updates.get(&key)?.iter().find(|it| it.0 == object);
        of.map(|it| it.1)
    }
}

/// A message that a node sends, at the moment from which on it is sent, for the node itself: what the node is
/// given before this moment came before, what it is given behind it came later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deed {
    pub node: usize,
    pub at: Moment,
    pub object: u64,
    pub id: u64,
}

/// The deeds of a run: of each node, object and message the turn in which the message was first sent.
#[derive(Debug)]
pub(super) struct Deeds {
    ground: Arc<Ground>,
    sent: BTreeMap<(usize, u64, u64), (u32, Moment)>,
}

impl Deeds {
    /// What the senders of these deliveries did. UPDATEs are no deeds, nor is what nobody was given.
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>, ground: &Arc<Ground>) -> Deeds {
        let mut sent: BTreeMap<(usize, u64, u64), u32> = BTreeMap::new();
        for delivery in trace {
            let Some(packet) = delivery.sent else {
                continue;
            };
            for mark in marks.of(&delivery.payload).iter() {
                let Some(id) = mark.id else { continue };
                let key = (packet.from, mark.object, id);
                let turn = sent.entry(key).or_insert(packet.turn);
                *turn = (*turn).min(packet.turn);
            }
        }
        let sent = sent.into_iter().filter_map(|(key, turn)| {
            let at = done(ground, key.0, turn)?;
            Some((key, (turn, at)))
        });
        Deeds {
            sent: sent.collect(),
            ground: Arc::clone(ground),
        }
    }

    /// Those of a run with these changes, where this is the recording: all that was done before the first
    /// change was done as it is known here, and of that only what was sent once more may have been delivered.
    pub fn of_run(&self, trace: &[Delivery], changes: &[Change], marks: &mut Marks<'_>) -> Deeds {
        let mut deeds = Deeds::of(trace, marks, &self.ground);
        let ground = &self.ground;
        let first = changes.iter().map(|it| ground.rank(it.first_turn())).min();
        for (key, deed) in &mut deeds.sent {
            let known = self
                .sent
                .get(key)
                .filter(|it| Some(ground.rank((key.0, it.0))) < first);
            if let Some(known) = known {
                *deed = *known;
            }
        }
        deeds
    }

    /// All of them, node by node, the first first.
    pub fn in_order(&self) -> Vec<Deed> {
        let mut deeds: Vec<Deed> = self
            .sent
            .iter()
            .map(|(&(node, object, id), &(_, at))| Deed {
                node,
                at,
                object,
                id,
            })
            .collect();
        deeds.sort_unstable();
        deeds
    }
}

/// Where what is first sent in a turn was done: in a call of the game behind the tick before it, or in the
/// turn itself where there was no call. Behind what is read in that tick, before what is read next.
fn done(ground: &Ground, node: usize, turn: u32) -> Option<Moment> {
    let turns = &ground.nodes.get(node)?.turns;
    let before = turns.get(..turn as usize)?.iter().rev();
    let calls = before.take_while(|it| matches!(it.begins, Begins::Call(_)));
    let tick = match u32::try_from(calls.count()).ok()? {
        0 => turn,
        calls => turn.checked_sub(calls + 1)?,
    };
    Some(Moment {
        turn: tick + 1,
        ns: turns.get(tick as usize)?.at_ns,
    })
}

//! `difference-lasts`: for a long time a node believed in a value that an object's owner had left behind, or
//! that an object lived that its owner had destroyed, or the other way round.
//!
//! Whether anything came to rest does not matter: news takes the way of a packet, and some more where one is
//! lost, but not two seconds or ten round trips. An error where it still stands when the reels end and nobody
//! tries to mend it any more. An info where it came right, or where it was being told again when the reels
//! end and has not lasted for twice as long: a bad link may have held it up. What other rules tell of the
//! same objects is not told again.

use std::cell::RefCell;
use std::ops::Range;

use netreel_wire::PropertyId;

use super::prelude::*;
use crate::history::existence::Existence;
use crate::history::game::span_at;
use crate::history::lanes::awaited;
use crate::history::roles::is_about_object;
use crate::history::settled::take_ns;
use crate::history::state::value::apart_words;
use crate::history::state::{Lasting, Owned, States};
use crate::history::{Span, Standing};

/// What a session comes to: findings, and what stands at its end for too short a time to be one.
#[derive(Default)]
pub(super) struct Differences {
    pub found: Vec<Found>,
    pub standing: Vec<Standing>,
    /// The first of the values that nobody can tell at the end.
    pub unknown: Option<Standing>,
}

/// `explained`: objects that other rules tell of; `told`: the same of an object at one node.
pub(super) fn find(
    case: &Case<'_>,
    explained: &BTreeSet<u64>,
    told: &BTreeSet<(u64, NodeId)>,
) -> Differences {
    let &Case {
        session, history, ..
    } = case;
    let mut differences = Differences::default();
    let ages = Ages::new(case);
    let is_open =
        |object: u64, node: NodeId| !explained.contains(&object) && !told.contains(&(object, node));
    let objects = history.objects.iter();
    let existence: Vec<Lived> = objects
        .filter(|(id, _)| !explained.contains(*id))
        .flat_map(|(&id, object)| ages.lived(session, id, object))
        .filter(|it| is_open(it.object, it.node))
        .collect();
    let missed: BTreeSet<(u64, NodeId)> = existence.iter().map(|it| (it.object, it.node)).collect();
    let mut together: BTreeMap<(NodeId, NodeId, bool, Stands), Vec<Lived>> = BTreeMap::new();
    for each in existence {
        let about = (each.object, None, each.node, each.owner);
        let stands = ages.stands(session, about, (each.from..each.to, each.stands));
        if stands == Stands::Told {
            differences.standing.push(lived_on(session, &each));
        }
        let key = (each.node, each.owner, each.lives, stands);
        together.entry(key).or_default().push(each);
    }
    let found = together.iter();
    let found = found.filter_map(|(&(.., stands), all)| existed(case, stands, all));
    differences.found.extend(found);
    let wire = session.wire.as_ref();
    if wire.is_none_or(|wire| wire.properties().is_empty()) {
        return differences;
    }
    let states = case.states();
    differences.unknown = unknown(session, states);
    let mut together: BTreeMap<(NodeId, NodeId, Stands), Vec<Lasting>> = BTreeMap::new();
    for (object, properties) in states.objects() {
        let Some(known) = history.objects.get(&object) else {
            continue;
        };
        let owned = owned(session, known);
        for property in properties {
            for &node in known.lanes.keys() {
                if !is_open(object, node) || missed.contains(&(object, node)) {
                    continue;
                }
                let about = (object, property, node);
                let Some(lasting) = ages.lasting(states, about, &owned) else {
                    continue;
                };
                let standing = || standing(session, states, &lasting);
                if lasting.length_ns() < ages.longest_ns(lasting.owner, node) {
                    differences.standing.extend(standing());
                    continue;
                }
                let about = (object, Some(property), node, lasting.owner);
                let stretch = lasting.from..lasting.to;
                let stands = ages.stands(session, about, (stretch, lasting.stands));
                if stands == Stands::Told {
                    differences.standing.extend(standing());
                }
                let key = (node, lasting.owner, stands);
                together.entry(key).or_default().push(lasting);
            }
        }
    }
    let found = together.into_iter().filter_map(|((.., stands), mut all)| {
        all.sort_by_key(|it| (it.from, it.object, it.property));
        differed(session, states, stands, &all)
    });
    differences.found.extend(found);
    differences
}

/// How a difference ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stands {
    /// It came right.
    Ended,
    /// It stands when the reels end, and was being told again.
    Told,
    /// It stands, and nobody tells of it any more, or what was told was taken for something else.
    Untold,
}

/// Objects of whose life something was told, and properties of objects.
type Retold = BTreeSet<(u64, Option<PropertyId>)>;

/// How long news may take between two nodes, and when they take part.
struct Ages<'a> {
    case: &'a Case<'a>,
    least_ns: i64,
    round_trips: i64,
    /// The middle way of a packet on each link, in ns.
    ways: BTreeMap<(NodeId, NodeId), i64>,
    /// The longest of the middle ways of a node's links, in ns.
    farthest: BTreeMap<NodeId, i64>,
    young_ns: i64,
    existence: Existence,
    /// Who is still to be told something of which object when the reels end, reliably.
    awaited: BTreeSet<(NodeId, u64)>,
    /// What was being told again when the reels end, of each owner and node that was asked about.
    retold: RefCell<BTreeMap<(NodeId, NodeId), Retold>>,
}

impl<'a> Ages<'a> {
    fn new(case: &'a Case<'a>) -> Ages<'a> {
        let (session, bounds) = (case.session, &case.session.bounds.difference_lasts);
        let traffic = session.traffic().iter();
        let ways = traffic.filter_map(|(&link, traffic)| {
            let (_, middle, _) = traffic.latency_ns?;
            Some((link, middle.max(0)))
        });
        let ways: BTreeMap<(NodeId, NodeId), i64> = ways.collect();
        let mut farthest: BTreeMap<NodeId, i64> = BTreeMap::new();
        for (&(from, to), &way) in &ways {
            for node in [from, to] {
                let longest = farthest.entry(node).or_insert(way);
                *longest = way.max(*longest);
            }
        }
        Ages {
            case,
            least_ns: bounds.longest.0,
            round_trips: i64::from(bounds.round_trips),
            ways,
            farthest,
            young_ns: take_ns(session),
            existence: Existence::new(session, case.history),
            awaited: awaited(session, case.history),
            retold: RefCell::default(),
        }
    }

    /// How long news may take from one node to another, which hears it directly or by way of a third.
    fn longest_ns(&self, owner: NodeId, node: NodeId) -> i64 {
        let ways = [(owner, node), (node, owner)].map(|link| self.ways.get(&link));
        let direct = ways.into_iter().flatten().max().copied();
        let relayed = || {
            let [one, other] = [owner, node].map(|it| self.farthest.get(&it).copied().unwrap_or(0));
            one.saturating_add(other)
        };
        let round_ns = direct.unwrap_or_else(relayed).saturating_mul(2);
        self.least_ns.max(round_ns.saturating_mul(self.round_trips))
    }

    /// How a difference of this stretch ends, which stands or not. One that stands and has lasted for twice
    /// as long as news may take is told by nobody any more. A shorter one ends where the owner left. It is
    /// being told again where a reliable message about the object is still to be handed up by the node, by
    /// the owner, or by whom the node takes for the owner; or where it was told again
    /// ([`Ages::told_again`]).
    fn stands(
        &self,
        session: &Session,
        (object, property, node, owner): (u64, Option<PropertyId>, NodeId, NodeId),
        (stretch, stands): (Range<SessionTime>, bool),
    ) -> Stands {
        if !stands {
            return Stands::Ended;
        }
        let end = stretch.end;
        let longest_ns = self.longest_ns(owner, node);
        if end.since(stretch.start) > longest_ns.saturating_mul(2) {
            return Stands::Untold;
        }
        // Of who left nobody hears any more.
        if self.existence.has_left(owner) {
            return Stands::Ended;
        }
        // The owner may be the one who does not know yet that it is owner no more, and the next owner the
        // one who does not know yet that it is.
        let next = match self.case.history.last_belief(object, node) {
            Some(Belief::Owned(peer)) => session.node_of_peer(peer),
            _ => None,
        };
        let mut those = [Some(node), Some(owner), next].into_iter().flatten();
        if those.any(|at| self.awaited.contains(&(at, object))) {
            return Stands::Told;
        }
        let mut retold = self.retold.borrow_mut();
        let of_both = retold.entry((owner, node));
        let told = of_both.or_insert_with(|| self.told_again(session, owner, node));
        if told.contains(&(object, property)) {
            Stands::Told
        } else {
            Stands::Untold
        }
    }

    /// What was sent to a node, or by an owner to who may hand it on, not long before both are last there,
    /// and was lost or had no time to be taken.
    fn told_again(&self, session: &Session, owner: NodeId, node: NodeId) -> Retold {
        let end = self.part(owner, node).end.0;
        let since = end.saturating_sub(self.longest_ns(owner, node) / 2);
        let is_open = |packet: PacketId| {
            let known = session.packet(packet);
            let taken = known.and_then(|it| it.received.map(|it| it.time.0));
            taken.is_none_or(|at| at > end.saturating_sub(self.young_ns))
        };
        let is_between = |packet: PacketId| {
            let link = session.link(packet);
            link.is_some_and(|(from, to)| to == node || from == owner)
        };
        let mut told = Retold::new();
        let recent = session.packets_since(SessionTime(since));
        for packet in recent.filter(|&it| is_between(it) && is_open(it)) {
            let messages = session.messages_of(packet);
            let about = messages.map(|(_, facts)| {
                let role = session.role(&facts);
                Some((facts.object.filter(|_| is_about_object(role))?, role))
            });
            let about: Vec<Option<(u64, Role)>> = about.collect();
            let all = about.iter().flatten();
            told.extend(all.filter(|it| it.1 != Role::Update).map(|it| (it.0, None)));
            let decoded = if about.iter().any(Option::is_some) {
                session.decode(packet)
            } else {
                None
            };
            let properties = decoded.iter().flat_map(|it| it.properties());
            told.extend(properties.filter_map(|it| {
                let (object, _) = (*about.get(it.message as usize)?)?;
                Some((object, Some(it.property)))
            }));
        }
        told
    }

    fn part(&self, one: NodeId, other: NodeId) -> Range<SessionTime> {
        let [one, other] = [one, other].map(|node| self.existence.part(node));
        one.start.max(other.start)..one.end.min(other.end)
    }

    fn lasting(
        &self,
        states: &States,
        (object, property, node): (u64, PropertyId, NodeId),
        owned: &Owned,
    ) -> Option<Lasting> {
        let owners = owned.iter().map(|&(_, owner)| owner);
        let longest_ns = owners.filter(|owner| *owner != node);
        let longest_ns = longest_ns.map(|owner| self.longest_ns(owner, node)).max()?;
        let about = (object, property, node);
        states.lasting(about, owned, (longest_ns, self.young_ns), |owner| {
            self.part(owner, node)
        })
    }

    /// Where an object lived at a node while its owner had destroyed it, or did not while the owner had it.
    fn lived(&self, session: &Session, id: u64, object: &Object) -> Vec<Lived> {
        let mut found = Vec::new();
        let owned = owned(session, object);
        for (&node, lane) in &object.lanes {
            for (owner, its) in object.lanes.iter().filter(|(owner, _)| **owner != node) {
                let part = self.part(*owner, node);
                let ended = its.iter().filter(|it| it.belief == Belief::Destroyed);
                let ended = ended.map(|span| (span.time.clone(), false));
                let own = owned.iter().filter(|(_, by)| by == owner);
                let own = own.map(|(time, _)| (time.clone(), true));
                for (time, lives) in ended.chain(own) {
                    let peer = session.node(*owner).and_then(|it| it.peer);
                    let against = |span: &&Span| match span.belief {
                        Belief::Destroyed => lives,
                        Belief::Owned(by) | Belief::Orphaned(by) => !lives && Some(by) == peer,
                        Belief::Unknown => false,
                    };
                    for span in lane.iter().filter(against) {
                        let from = span.time.start.max(time.start).max(part.start);
                        let to = span.time.end.min(time.end).min(part.end);
                        if to.since(from) < self.longest_ns(*owner, node) {
                            continue;
                        }
                        found.push(Lived {
                            object: id,
                            node,
                            owner: *owner,
                            lives: !lives,
                            from,
                            to,
                            stands: to == part.end && is_last(lane, span, to),
                        });
                    }
                }
            }
        }
        found
    }
}

/// A stretch in which an object lived at a node, or did not, against its owner's word.
struct Lived {
    object: u64,
    node: NodeId,
    owner: NodeId,
    /// Whether it lived at the node.
    lives: bool,
    from: SessionTime,
    to: SessionTime,
    stands: bool,
}

/// Whether no other span of a lane has begun by then, be it at that moment.
fn is_last(lane: &[Span], span: &Span, at: SessionTime) -> bool {
    span_at(lane, at).is_some_and(|last| std::ptr::eq(last, span))
}

/// When which node alone believed that it owned an object.
fn owned(session: &Session, object: &Object) -> Owned {
    let mut turns: Vec<(SessionTime, bool, NodeId)> = Vec::new();
    for (&node, lane) in &object.lanes {
        let own = session.node(node).and_then(|it| it.peer).map(Belief::Owned);
        for span in lane.iter().filter(|span| Some(span.belief) == own) {
            turns.push((span.time.start, true, node));
            turns.push((span.time.end, false, node));
        }
    }
    turns.sort_unstable();
    let mut owners: Vec<NodeId> = Vec::new();
    let mut owned = Owned::new();
    let mut since = SessionTime(i64::MIN);
    for (time, begins, node) in turns {
        if let [only] = owners[..]
            && since < time
        {
            owned.push((since..time, only));
        }
        if begins {
            owners.push(node);
        } else if let Some(place) = owners.iter().position(|it| *it == node) {
            owners.swap_remove(place);
        }
        since = time;
    }
    owned
}

fn existed(case: &Case<'_>, stands: Stands, all: &[Lived]) -> Option<Found> {
    let session = case.session;
    let first = all.iter().min_by_key(|it| (it.from, it.object))?;
    let (node, owner) = (session.name(first.node), session.name(first.owner));
    let object = first.object;
    let for_long = duration(first.to.since(first.from));
    let what = if first.lives {
        format!("{owner} destroyed object {object}, and for {for_long} it lived on at {node}")
    } else {
        format!(
            "object {object} lived at its owner {owner}, and for {for_long} {node} took it for destroyed"
        )
    };
    let sentence = format!("{what}{}{}", until(stands), and_more(all.len() as u64));
    let because = |node: NodeId| {
        let span = case.history.belief_at(object, node, first.from)?;
        Some(case.told(span.because)?.done())
    };
    let pieces = [because(first.owner), because(first.node)];
    let mut evidence: Vec<Evidence> = pieces.into_iter().flatten().collect();
    evidence.dedup_by_key(|it| (it.node, it.number));
    let time = evidence.iter().map(|it| it.time).max();
    let time = time.unwrap_or(first.from);
    let found = Found::new(level(stands), first.node, time, evidence, sentence);
    Some(found.about([object]))
}

fn until(stands: Stands) -> &'static str {
    match stands {
        Stands::Untold => ", until the reels end",
        Stands::Told => ", until the reels end, where it was being told again",
        Stands::Ended => "",
    }
}

fn level(stands: Stands) -> Level {
    match stands {
        Stands::Untold => Level::Error,
        Stands::Told | Stands::Ended => Level::Info,
    }
}

/// An object that lives at a node, or does not, against its owner's word, when the reels end.
fn lived_on(session: &Session, each: &Lived) -> Standing {
    let (node, owner) = (session.name(each.node), session.name(each.owner));
    let (here, there) = if each.lives {
        ("lives", "is destroyed")
    } else {
        ("is destroyed", "lives")
    };
    Standing {
        since: each.from,
        object: each.object,
        node: each.node,
        words: format!(
            "object {} {here} at {node}, and {there} at its owner {owner}",
            each.object
        ),
    }
}

fn differed(session: &Session, states: &States, stands: Stands, all: &[Lasting]) -> Option<Found> {
    let first = all.first()?;
    let property = states.property(first.property)?;
    let (node, owner) = (session.name(first.node), session.name(first.owner));
    let pieces = [
        held_by(session, first.node, &first.held, "believed"),
        held_by(session, first.owner, &first.owned, "told"),
    ];
    let times = pieces.iter().flatten().map(|it| it.time);
    let time = times
        .max()
        .unwrap_or(first.owned.since.max(first.held.since));
    let sentence = format!(
        "for {} {node} believed that {} of object {} is {}, which its owner {owner} had left behind \
         ({} by then, {}){}{}",
        duration(first.length_ns()),
        property.name,
        first.object,
        first.held.value.words(property),
        first.owned.value.words(property),
        apart_words(property, first.apart),
        until(stands),
        and_more(all.len() as u64)
    );
    let found = Found::new(level(stands), first.node, time, pieces, sentence);
    Some(found.about([first.object]))
}

fn standing(session: &Session, states: &States, lasting: &Lasting) -> Option<Standing> {
    let property = states.property(lasting.property)?;
    lasting.stands.then(|| Standing {
        since: lasting.from,
        object: lasting.object,
        node: lasting.node,
        words: format!(
            "{} of object {} is {} at {}, and its owner {} left that behind {} before the reels end",
            property.name,
            lasting.object,
            lasting.held.value.words(property),
            session.name(lasting.node),
            session.name(lasting.owner),
            duration(lasting.length_ns())
        ),
    })
}

fn unknown(session: &Session, states: &States) -> Option<Standing> {
    let mut unknown = states.unknown_at_end();
    let (object, property, node) = unknown.next()?;
    let property = &states.property(property)?.name;
    let more = match unknown.count() {
        0 => String::new(),
        count => format!("; so with {count} more values"),
    };
    let name = session.name(node);
    Some(Standing {
        since: SessionTime::default(),
        object,
        node,
        words: format!("what {property} of object {object} is at {name} nobody can say{more}"),
    })
}

//! `belief-differs`: what a game said of an object is not what its messages make of it by the wire's rules.
//!
//! The game's word counts for all other rules; this one says where the two part: the first place for each
//! node and each kind of difference, with the message after which they parted. They part where both
//! stand for a while: a game may do in its next tick what a message says. A wire that declares other
//! rules than the engine goes by shows here as well as an engine that breaks its own.
//!
//! A game says of all objects of a type what happens to them, or of none: an object that by the rules
//! lives at a node whose game said nothing of it, and spoke of most of its type, is unknown to the game.

use netreel_reel::EventNumber;

use super::belief_differs_values as values;
use super::prelude::*;
use crate::history::game::span_at;
use crate::history::lanes::departures_of_nodes;
use crate::history::{Delivery, Span};
use crate::session::{GameSays, Hole};

/// How the two part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    /// The game has an object that by the rules ended, or was never made.
    Lives,
    /// By the rules an object lives that the game took for destroyed.
    Ended,
    /// Both have it, and not one owner.
    Owner,
    /// By the rules an object lives of which the game never spoke.
    Silent,
    /// The game made an object again that it had, and no message said so.
    Again,
}

/// Where they part.
#[derive(Clone, Copy, Debug)]
struct Parting {
    object: u64,
    from: SessionTime,
    /// How long it stood, in ns.
    stood_ns: i64,
    by_rules: Option<Belief>,
    said: Option<Belief>,
    /// The event by which the game said it.
    word: Option<EventNumber>,
    /// Places of the deliveries that led to what each believes.
    because: [Option<u32>; 2],
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let nodes = session.numbered_nodes();
    let mut speaking = nodes
        .filter(|(id, node)| node.recorded && session.game_speaks(*id))
        .map(|(id, _)| id)
        .peekable();
    if speaking.peek().is_none() {
        return Vec::new();
    }
    let ended = Ended::new(case);
    let mut found: Vec<Found> = Vec::new();
    for node in speaking {
        let mut partings: BTreeMap<How, Vec<Parting>> = BTreeMap::new();
        for (&id, object) in &case.history.objects {
            for (how, parting) in parted(case, &ended, node, (id, object)) {
                partings.entry(how).or_default().push(parting);
            }
        }
        partings.insert(How::Silent, silent(case, &ended, node));
        partings.insert(How::Again, again(case, node));
        for (how, mut partings) in partings {
            partings.sort_by_key(|it| (it.from, it.object));
            found.extend(finding(case, node, how, &partings));
        }
    }
    found.extend(values::find(case));
    found
}

/// Whose part in the session ended: what a game does with its table then is its own affair.
struct Ended {
    nodes: BTreeMap<NodeId, SessionTime>,
    /// Nodes that were told that a peer leaves, each with that peer.
    told: BTreeSet<(NodeId, u64)>,
}

impl Ended {
    fn new(case: &Case<'_>) -> Ended {
        let &Case {
            session, history, ..
        } = case;
        let partings = history.partings.iter();
        let told = partings.filter_map(|parting| {
            let delivery = history.deliveries.get(parting.delivery as usize)?;
            Some((delivery.node, parting.peer))
        });
        Ended {
            nodes: departures_of_nodes(session, history),
            told: told.collect(),
        }
    }

    /// Until when what a node says of objects counts.
    fn of(&self, session: &Session, node: NodeId) -> SessionTime {
        let end = session
            .node(node)
            .map_or(SessionTime(0), |node| node.span.end);
        let left = self.nodes.get(&node).copied();
        left.map_or(end, |left| left.min(end))
    }

    /// Whether a peer is gone as far as a node may know.
    fn is_gone(&self, session: &Session, node: NodeId, peer: u64) -> bool {
        let left = session
            .node_of_peer(peer)
            .is_some_and(|it| self.nodes.contains_key(&it));
        left || self.told.contains(&(node, peer))
    }
}

fn patience_ns(session: &Session) -> i64 {
    session.bounds.belief_differs.longest.0
}

/// Where the game's word of an object and the rules part, each kind once.
fn parted(
    case: &Case<'_>,
    ended: &Ended,
    node: NodeId,
    (id, object): (u64, &Object),
) -> Vec<(How, Parting)> {
    let session = case.session;
    let (Some(rules), Some(said)) = (object.by_rules.get(&node), object.lanes.get(&node)) else {
        return Vec::new();
    };
    let Some(first) = said.iter().find(|span| span.said.is_some()) else {
        return Vec::new();
    };
    let (start, end) = (first.time.start, ended.of(session, node));
    let starts = rules.iter().chain(said).map(|span| span.time.start);
    let mut times: Vec<SessionTime> = starts.filter(|&it| it >= start && it < end).collect();
    times.sort_unstable();
    times.dedup();
    let mut stretches: Vec<(How, Parting)> = Vec::new();
    let mut before: Option<How> = None;
    for (place, &from) in times.iter().enumerate() {
        let until = times.get(place + 1).copied().unwrap_or(end);
        let (by_rules, word) = (span_at(rules, from), span_at(said, from));
        let how = word.and_then(|word| how(by_rules, word));
        let is_gone = |span: &Span| match span.belief {
            Belief::Owned(owner) => ended.is_gone(session, node, owner),
            _ => false,
        };
        let how = how.filter(|&how| how != How::Ended || !by_rules.is_some_and(is_gone));
        let stood_ns = until.since(from);
        if let Some(how) = how {
            match stretches.last_mut().filter(|_| before == Some(how)) {
                Some((_, parting)) => parting.stood_ns = parting.stood_ns.saturating_add(stood_ns),
                None => stretches.push((
                    how,
                    Parting {
                        object: id,
                        from,
                        stood_ns,
                        by_rules: by_rules.map(|span| span.belief),
                        said: word.map(|span| span.belief),
                        word: word.and_then(|span| span.said),
                        because: [by_rules, word].map(because),
                    },
                )),
            }
        }
        before = how;
    }
    let mut known: BTreeSet<How> = BTreeSet::new();
    let long = stretches
        .into_iter()
        .filter(|(_, it)| it.stood_ns >= patience_ns(session));
    long.filter(|(how, _)| known.insert(*how)).collect()
}

fn because(span: Option<&Span>) -> Option<u32> {
    span.map(|span| span.because)
        .filter(|&place| place != Span::NO_DELIVERY)
}

fn how(by_rules: Option<&Span>, word: &Span) -> Option<How> {
    let by_rules = by_rules.map(|span| span.belief);
    match (by_rules, word.belief) {
        (_, Belief::Unknown) | (Some(Belief::Unknown), _) => None,
        (None | Some(Belief::Destroyed), Belief::Destroyed) => None,
        (None | Some(Belief::Destroyed), _) => Some(How::Lives),
        (Some(_), Belief::Destroyed) => Some(How::Ended),
        (Some(one), other) => (owner(one) != owner(other)).then_some(How::Owner),
    }
}

/// The objects that live at a node by the rules and of which its game never spoke, where it spoke of most
/// of their type.
fn silent(case: &Case<'_>, ended: &Ended, node: NodeId) -> Vec<Parting> {
    let session = case.session;
    let end = ended.of(session, node);
    let mut spoken: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    let mut silent: BTreeMap<Option<u64>, Vec<Parting>> = BTreeMap::new();
    for (&id, object) in &case.history.objects {
        if object.is_said(node) {
            *spoken.entry(object.object_type).or_default() += 1;
            continue;
        }
        let lane = object.lanes.get(&node).map_or(&[][..], Vec::as_slice);
        let lives = lane.iter().find_map(|span| {
            let is_alive = owner(span.belief).is_some();
            let until = span.time.end.min(end);
            let stood_ns = until.since(span.time.start);
            (is_alive && stood_ns >= patience_ns(session)).then_some((span, stood_ns))
        });
        if let Some((span, stood_ns)) = lives {
            silent.entry(object.object_type).or_default().push(Parting {
                object: id,
                from: span.time.start,
                stood_ns,
                by_rules: Some(span.belief),
                said: None,
                word: None,
                because: [because(Some(span)), None],
            });
        }
    }
    let mostly = |object_type: &Option<u64>, objects: usize| {
        let spoken = spoken.get(object_type).copied().unwrap_or_default();
        spoken > objects as u64
    };
    let silent = silent
        .into_iter()
        .filter(|(object_type, objects)| mostly(object_type, objects.len()));
    silent.flat_map(|(_, objects)| objects).collect()
}

/// Objects that a game made while it had them, though no message between its two words made or gave away
/// the object.
fn again(case: &Case<'_>, node: NodeId) -> Vec<Parting> {
    let &Case {
        session, history, ..
    } = case;
    let mut lives: BTreeMap<u64, Stamp> = BTreeMap::new();
    let mut found: BTreeMap<u64, Parting> = BTreeMap::new();
    for (at, word) in session.game_words(node) {
        let owner = match word.what {
            GameSays::Created { owner } => owner,
            GameSays::Destroyed => {
                lives.remove(&word.object);
                continue;
            }
            GameSays::Owner(_) | GameSays::Value => continue,
        };
        let before = lives.insert(word.object, at);
        let Some(before) = before.filter(|_| !found.contains_key(&word.object)) else {
            continue;
        };
        let between = before.number..at.number;
        let telling = history.telling(word.object).iter().copied();
        let own = || {
            let of_node = telling
                .clone()
                .filter(|&it| history.deliveries.effect(it).0 == node);
            of_node.filter_map(|it| Some((it, history.deliveries.get(it as usize)?)))
        };
        let makes = |effect: Effect| {
            use Effect::{Created, CreatedByMigrate, CreatedByUpdate, Migrated, Unknown};
            matches!(
                effect,
                Created | CreatedByMigrate | CreatedByUpdate | Migrated | Unknown
            )
        };
        let is_hole = |hole: &Hole| between.contains(&hole.before);
        let in_hole = session
            .node(node)
            .is_some_and(|node| node.holes.iter().any(is_hole));
        let is_made = |(_, it): (_, Delivery)| makes(it.effect) && between.contains(&it.at.number);
        if in_hole || own().any(is_made) {
            continue;
        }
        let belief = owner.map(Belief::Owned);
        let last = own().filter(|(_, it)| it.at.number < at.number).last();
        found.insert(
            word.object,
            Parting {
                object: word.object,
                from: at.time,
                stood_ns: 0,
                by_rules: belief,
                said: belief,
                word: Some(at.number),
                because: [last.map(|(place, _)| place), None],
            },
        );
    }
    found.into_values().collect()
}

fn finding(case: &Case<'_>, node: NodeId, how: How, partings: &[Parting]) -> Option<Found> {
    let session = case.session;
    let first = partings.first()?;
    let object = first.object;
    let name = session.name(node);
    let [by_rules, said] = first.because.map(|place| case.told(place?));
    let rule_words = by_rules.map_or_else(String::new, |it| {
        format!(" ({}, packet {})", it.words(session), it.packet)
    });
    let owned = |belief: Option<Belief>| match belief.and_then(owner) {
        Some(owner) => session.peer_name(owner),
        None => "nobody".to_owned(),
    };
    let what = match (how, first.by_rules) {
        (How::Lives, None) => format!(
            "the game of {name} has object {object}, and by the rules of the wire no message made it"
        ),
        (How::Lives, Some(_)) => format!(
            "the game of {name} has object {object}, and by the rules of the wire it ended{rule_words}"
        ),
        (How::Ended, _) => format!(
            "the game of {name} took object {object} for destroyed, and by the rules of the wire it \
             lives{rule_words}"
        ),
        (How::Owner, _) => format!(
            "the game of {name} believes that {} owns object {object}, and by the rules of the wire \
             {} does{rule_words}",
            owned(first.said),
            owned(first.by_rules)
        ),
        (How::Silent, _) => format!(
            "by the rules of the wire object {object} lives at {name}{rule_words}, and its game, which \
             spoke of others of its type, never did"
        ),
        (How::Again, _) => format!(
            "the game of {name} made object {object} again, which it had, and no message said so"
        ),
    };
    let stood = match how {
        How::Again => String::new(),
        _ => format!(", for {}", duration(first.stood_ns)),
    };
    let told = [by_rules, said].into_iter().flatten();
    let mut evidence: Vec<Evidence> = told.map(|it| it.done()).collect();
    if evidence.is_empty() {
        evidence.extend(last_crossing(session, node, first));
    }
    evidence.sort_by_key(|it| (it.time, it.number));
    evidence.dedup_by_key(|it| (it.node, it.number));
    let sentence = format!("{what}{stood}{}", and_more(partings.len() as u64));
    let level = level(case, node, how, partings);
    Some(Found::new(level, node, first.from, evidence, sentence).about([object]))
}

/// Tables that differ in the end are an error: another node has an object that the game of this one never
/// heard of. Where the game speaks, `objects-differ-at-rest` says so.
fn level(case: &Case<'_>, node: NodeId, how: How, partings: &[Parting]) -> Level {
    if how != How::Silent {
        return Level::Warning;
    }
    let history = case.history;
    let lives = |it: &Parting| {
        let object = history.objects.get(&it.object);
        object.is_some_and(|object| {
            let mut others = object.lanes.iter().filter(|(other, _)| **other != node);
            let last = object.lanes.get(&node).and_then(|lane| lane.last());
            let is_alive = |span: &Span| matches!(span.belief, Belief::Owned(_));
            last.is_some_and(is_alive)
                && others.any(|(other, lane)| {
                    object.is_said(*other) && lane.last().is_some_and(is_alive)
                })
        })
    };
    if partings.iter().any(lives) {
        Level::Error
    } else {
        Level::Warning
    }
}

/// The last packet before the game's word.
fn last_crossing(session: &Session, node: NodeId, parting: &Parting) -> Option<Evidence> {
    let before = |at: &Stamp| match parting.word {
        Some(word) => at.number < word,
        None => at.time <= parting.from,
    };
    let ends = session.ends(node).map(|(.., at)| at);
    let at = ends.filter(before).last()?;
    at_event(session, node, at, "the last packet before it")
}

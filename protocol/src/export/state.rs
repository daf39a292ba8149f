//! `state`: what every node believed of the values of objects.

use netreel_wire::PropertyId;
use serde::Serialize;
use serde_json::Value as Json;

use crate::figures::hex;
use crate::history::state::{Apart, Held, Known, Rest, Scalar, States, apart_words};
use crate::history::{Belief, Existence, ExistenceDifference, Exists, History};
use crate::session::{NodeId, Session, SessionTime};

/// The answer of `netreel state --json`.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// The moment that was asked for.
    pub at_ns: i64,
    /// The objects that live at a node that was asked about, by number.
    pub objects: Vec<StateObject>,
    /// How many values were compared with those of the objects' owners, at that moment.
    pub compared: u64,
    /// How many of them differed.
    pub differ: u64,
    /// Objects that existed at a node, or did not, against the word of their owners, at that moment.
    pub existence: Vec<StateExistence>,
    /// What is so when all is delivered.
    pub rest: StateRest,
}

/// An object that exists at a node, or does not, against the word of its owner, or of who saw it end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateExistence {
    /// Its number.
    pub object: u64,
    /// The node that differs.
    pub node: String,
    /// From whom.
    pub other: String,
    /// Whether it lives at the node.
    pub lives: bool,
    /// For people.
    pub words: String,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateObject {
    /// Its number.
    pub object: u64,
    /// What the wire calls its type; its number where it gives it no name.
    #[serde(rename = "type")]
    pub object_type: Option<String>,
    /// The nodes that believed that they owned the object: one, if all is well.
    pub owners: Vec<String>,
    /// In the order of the wire.
    pub properties: Vec<StateProperty>,
    /// The nodes that did not know the object, or knew that it was destroyed.
    pub without: Vec<String>,
}

/// A property of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateProperty {
    /// The name of its fields.
    pub property: String,
    /// `number`, `position`, `angle`, `count`, `flag`, `name`.
    pub kind: &'static str,
    /// As the wire spells it.
    pub unit: String,
    /// How far values may differ and be the same.
    pub tolerance: f64,
    /// What each node believed that knew the object.
    pub nodes: Vec<StateValue>,
}

/// What a node believed of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateValue {
    /// Who.
    pub node: String,
    /// `value`, `unknown` (nobody can say), `untold` (nobody told it since the object came to life).
    pub known: &'static str,
    /// The value; a list where it has several parts. Whole numbers that JSON readers may not hold are
    /// texts.
    pub value: Json,
    /// The value for people, with its unit.
    pub words: String,
    /// Since when.
    pub since_ns: i64,
    /// The packet that told it, or that the node told it with.
    pub packet: Option<u32>,
    /// The event by which the node's game said it; not there where it follows from messages by the rules
    /// of the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<u64>,
    /// How it differs from what the owner believed; `null` where it does not, or there is no owner.
    pub differs: Option<StateDiffers>,
}

/// How a value differs from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateDiffers {
    /// How far, in the unit; `null` where no number says it.
    pub by: Option<f64>,
    /// The same for people.
    pub words: String,
    /// Since when.
    pub since_ns: i64,
}

/// What is so when all is delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateRest {
    /// `agree`, `differ`, or `unknown`: nothing can be said of any value.
    pub verdict: &'static str,
    /// How many values of nodes were those of the objects' owners.
    pub agreed: u64,
    /// How many were not.
    pub differ: u64,
    /// How many words of nodes about the existence of objects were those of the objects' owners.
    pub existing: u64,
    /// Those that were not.
    pub existence: Vec<StateExistence>,
    /// Of how many objects nobody can say whether all is delivered.
    pub open: u64,
    /// Why, of the first of them.
    pub why_open: Option<String>,
}

/// What is asked for.
pub struct StateQuestion<'a> {
    /// When.
    pub at: SessionTime,
    /// Of one node alone.
    pub node: Option<NodeId>,
    /// Whether an object is asked about.
    pub wanted: &'a dyn Fn(u64) -> bool,
}

impl StateProperty {
    /// Without what anybody holds.
    fn of(states: &States, property: PropertyId) -> Option<StateProperty> {
        let declared = states.property(property)?;
        Some(StateProperty {
            property: declared.name.clone(),
            kind: declared.kind.name(),
            unit: declared.unit.clone(),
            tolerance: declared.tolerance,
            nodes: Vec::new(),
        })
    }
}

impl StateQuestion<'_> {
    fn asks(&self, node: NodeId) -> bool {
        self.node.is_none_or(|asked| asked == node)
    }
}

impl State {
    /// Counts what somebody holds who does not own the object.
    fn count(&mut self, value: Option<&StateValue>) {
        if let Some(value) = value.filter(|it| it.known == "value") {
            self.compared += 1;
            self.differ += u64::from(value.differs.is_some());
        }
    }
}

/// What nodes believed of the values of objects at a moment.
pub fn state(
    session: &Session,
    history: &History,
    states: &States,
    question: &StateQuestion<'_>,
) -> State {
    let mut answer = State {
        at_ns: question.at.0,
        objects: Vec::new(),
        compared: 0,
        differ: 0,
        existence: Vec::new(),
        rest: rest(session, &states.at_rest(session, history)),
    };
    let existence = Existence::new(session, history);
    for &object in history.objects.keys().filter(|it| (question.wanted)(**it)) {
        let differing = existence.differing(session, history, object, question.at);
        let asked = differing.iter().filter(|it| question.asks(it.node));
        let existing = asked.map(|it| existing(session, it));
        answer.existence.extend(existing);
    }
    let recorded = session
        .numbered_nodes()
        .filter(|(_, node)| node.recorded)
        .map(|(id, _)| id);
    let nodes: Vec<NodeId> = recorded.collect();
    for (object, properties) in states.objects() {
        if !(question.wanted)(object) {
            continue;
        }
        let lives = |node: NodeId| {
            let knows = || {
                let mut held = properties
                    .iter()
                    .filter_map(|&property| states.at(object, property, node, question.at));
                held.any(|held| held.value != Known::Nothing)
            };
            lives(history, object, node, question.at) && knows()
        };
        if !nodes.iter().any(|&node| question.asks(node) && lives(node)) {
            continue;
        }
        let owners = owners(session, history, object, &nodes, question.at);
        let owner = match owners[..] {
            [only] => Some(only),
            _ => None,
        };
        let mut told = StateObject {
            object,
            object_type: type_name(history, states, object),
            owners: owners.iter().map(|&node| session.name(node)).collect(),
            properties: Vec::new(),
            without: nodes
                .iter()
                .filter(|&&node| question.asks(node) && !lives(node))
                .map(|&node| session.name(node))
                .collect(),
        };
        for &property in &properties {
            let Some(mut shown) = StateProperty::of(states, property) else {
                continue;
            };
            for &node in nodes.iter().filter(|&node| lives(*node)) {
                let about = (object, property, node);
                let value = value(session, states, about, owner, question.at);
                let is_other = owner.is_some_and(|owner| owner != node);
                answer.count(value.as_ref().filter(|_| is_other));
                shown.nodes.extend(value.filter(|_| question.asks(node)));
            }
            if !shown.nodes.is_empty() {
                told.properties.push(shown);
            }
        }
        if !told.properties.is_empty() {
            answer.objects.push(told);
        }
    }
    answer
}

/// What the wire calls an object's type; its number where it gives it no name.
fn type_name(history: &History, states: &States, object: u64) -> Option<String> {
    let known = history.objects.get(&object)?;
    Some(states.type_name(known.object_type?))
}

/// Whether an object may live at a node, as far as its beliefs tell: of objects that come in snapshots
/// they say nothing.
fn lives(history: &History, object: u64, node: NodeId, at: SessionTime) -> bool {
    let span = history.belief_at(object, node, at);
    span.is_none_or(|span| span.belief != Belief::Destroyed)
}

/// The nodes that believe that they own an object.
fn owners(
    session: &Session,
    history: &History,
    object: u64,
    nodes: &[NodeId],
    at: SessionTime,
) -> Vec<NodeId> {
    let owns = |node: &NodeId| {
        let peer = session.node(*node)?.peer?;
        let span = history.belief_at(object, *node, at)?;
        Some(span.belief == Belief::Owned(peer))
    };
    let owners = nodes.iter().filter(|node| owns(node) == Some(true));
    owners.copied().collect()
}

fn value(
    session: &Session,
    states: &States,
    (object, property, node): (u64, PropertyId, NodeId),
    owner: Option<NodeId>,
    at: SessionTime,
) -> Option<StateValue> {
    let declared = states.property(property)?;
    let held = states.at(object, property, node, at)?;
    let owner = owner.filter(|&owner| owner != node);
    let differs = owner.and_then(|owner| {
        let pair = (owner, node);
        let apart = states.apart(object, property, pair, at)?;
        if apart == Apart::Same {
            return None;
        }
        let all = states.differences(object, property, pair, at);
        let since = all.stretches.last().filter(|it| it.lasts);
        Some(StateDiffers {
            by: by(apart),
            words: apart_words(declared, apart),
            since_ns: since.map_or(at, |it| it.from).0,
        })
    });
    Some(StateValue {
        node: session.name(node),
        known: match held.value {
            Known::Value(_) => "value",
            Known::Unknown => "unknown",
            Known::Nothing => "untold",
        },
        value: known_json(&held.value),
        words: held.value.words(declared),
        since_ns: held.since.0,
        packet: packet(session, &held),
        said: held.said.map(|said| said.0),
        differs,
    })
}

fn packet(session: &Session, held: &Held) -> Option<u32> {
    session.carrier(held.because?).map(|packet| packet.0)
}

fn by(apart: Apart) -> Option<f64> {
    match apart {
        Apart::By(by) => Some(by),
        Apart::Same | Apart::Other => None,
    }
}

/// What a node knows of a property, as JSON; `null` where nobody can say, and where there is nothing.
pub fn known_json(known: &Known) -> Json {
    let part = |part: &Scalar| match part {
        Scalar::Integer(number) => match i64::try_from(*number) {
            Ok(number) if number.unsigned_abs() <= 1 << 53 => Json::from(number),
            _ => Json::from(number.to_string()),
        },
        Scalar::Real(number) => Json::from(*number),
        Scalar::Truth(truth) => Json::from(*truth),
        Scalar::Name(name) => Json::from(name.as_str()),
        Scalar::Bytes(bytes) => Json::from(hex(bytes)),
        Scalar::Unknown => Json::Null,
    };
    match known {
        Known::Value(parts) => match &parts[..] {
            [only] => part(only),
            several => several.iter().map(part).collect(),
        },
        Known::Unknown | Known::Nothing => Json::Null,
    }
}

fn existing(session: &Session, it: &ExistenceDifference) -> StateExistence {
    StateExistence {
        object: it.object,
        node: session.name(it.node),
        other: session.name(it.other),
        lives: it.how == Exists::LivesOn,
        words: it.words(session),
    }
}

fn rest(session: &Session, rest: &Rest) -> StateRest {
    let differ = rest.differ.len() as u64;
    let existence = rest.existence.iter();
    StateRest {
        verdict: match (rest.existence.len() as u64 + differ, rest.agreed) {
            (0, 0) => "unknown",
            (0, _) => "agree",
            _ => "differ",
        },
        agreed: rest.agreed,
        differ,
        existing: rest.existing,
        existence: existence.map(|it| existing(session, it)).collect(),
        open: rest.open,
        why_open: rest.why_open.clone(),
    }
}

/// The answer of `netreel state --diff A,B --json`.
#[derive(Clone, Debug, Serialize)]
pub struct StateDiff {
    /// The moment up to which was looked.
    pub at_ns: i64,
    /// The two nodes.
    pub nodes: [String; 2],
    /// When they first parted, and about what; `null` where they never did.
    pub first: Option<StateFirst>,
    /// The values in which they ever differed, by object and property.
    pub values: Vec<StateDiffValue>,
    /// How many values both nodes knew at that moment.
    pub compared: u64,
    /// The objects that lived at one of the two and not at the other at that moment.
    pub lives_at_one: Vec<StateLives>,
}

/// An object that lived at one of two nodes.
#[derive(Clone, Debug, Serialize)]
pub struct StateLives {
    /// The object.
    pub object: u64,
    /// What the wire calls its type.
    #[serde(rename = "type")]
    pub object_type: Option<String>,
    /// Where it lived.
    pub at: String,
    /// Where it did not.
    pub not_at: String,
    /// Whether the other had known it, and took it for destroyed.
    pub destroyed: bool,
}

/// Where two nodes first parted.
#[derive(Clone, Debug, Serialize)]
pub struct StateFirst {
    /// When.
    pub time_ns: i64,
    /// The object.
    pub object: u64,
    /// Its property.
    pub property: String,
}

/// How what two nodes believed of a property of an object differed.
#[derive(Clone, Debug, Serialize)]
pub struct StateDiffValue {
    /// The object.
    pub object: u64,
    /// What the wire calls its type.
    #[serde(rename = "type")]
    pub object_type: Option<String>,
    /// The property.
    pub property: String,
    /// Whether they differ at the moment.
    pub now: bool,
    /// What the one and the other believe at the moment, for people; `null` where it does not live.
    pub words: [Option<String>; 2],
    /// How far they are apart at the moment, for people; `null` where they are not.
    pub apart: Option<String>,
    /// How often they differed.
    pub times: u64,
    /// For how long in all.
    pub total_ns: i64,
    /// The longest time.
    pub longest_ns: i64,
    /// When that began.
    pub longest_from_ns: i64,
    /// The farthest that they were apart, in the unit; `null` where no number says it.
    pub farthest: Option<f64>,
    /// The same for people.
    pub farthest_words: String,
    /// When they first differed.
    pub first_ns: i64,
}

/// How what two nodes believed of the values of objects differed, up to a moment.
pub fn state_diff(
    session: &Session,
    history: &History,
    states: &States,
    pair: (NodeId, NodeId),
    question: &StateQuestion<'_>,
) -> StateDiff {
    let at = question.at;
    let (one, other) = pair;
    let mut values = Vec::new();
    let mut compared = 0;
    for (object, properties) in states.objects() {
        if !(question.wanted)(object) {
            continue;
        }
        for property in properties {
            let Some(declared) = states.property(property) else {
                continue;
            };
            let now = states.apart(object, property, pair, at);
            compared += u64::from(now.is_some());
            let all = states.differences(object, property, pair, at);
            let (Some(longest), Some(first)) = (all.longest(), all.stretches.first()) else {
                continue;
            };
            let farthest = all
                .stretches
                .iter()
                .map(|it| it.most)
                .fold(Apart::Same, Apart::farther);
            let shown = |node| {
                let held = states.at(object, property, node, at)?;
                let lives = lives(history, object, node, at) && held.value != Known::Nothing;
                lives.then(|| held.value.words(declared))
            };
            let differs = now.filter(|it| *it != Apart::Same);
            values.push(StateDiffValue {
                object,
                object_type: type_name(history, states, object),
                property: declared.name.clone(),
                now: differs.is_some(),
                words: [shown(one), shown(other)],
                apart: differs.map(|apart| apart_words(declared, apart)),
                times: all.stretches.len() as u64,
                total_ns: all.total_ns(),
                longest_ns: longest.length_ns(),
                longest_from_ns: longest.from.0,
                farthest: by(farthest),
                farthest_words: apart_words(declared, farthest),
                first_ns: first.from.0,
            });
        }
    }
    let first = values.iter().min_by_key(|it| (it.first_ns, it.object));
    StateDiff {
        at_ns: at.0,
        nodes: [session.name(one), session.name(other)],
        first: first.map(|it| StateFirst {
            time_ns: it.first_ns,
            object: it.object,
            property: it.property.clone(),
        }),
        values,
        compared,
        lives_at_one: lives_at_one(session, history, states, pair, question),
    }
}

fn lives_at_one(
    session: &Session,
    history: &History,
    states: &States,
    (one, other): (NodeId, NodeId),
    question: &StateQuestion<'_>,
) -> Vec<StateLives> {
    let objects = history.objects.keys().copied();
    let wanted = objects.filter(|&id| (question.wanted)(id));
    let parted = wanted.filter_map(|id| {
        let belief = |node| Some(history.belief_at(id, node, question.at)?.belief);
        let lives = |belief| matches!(belief, Some(Belief::Owned(_) | Belief::Orphaned(_)));
        let [mine, theirs] = [belief(one), belief(other)];
        let (at, not_at, lacks) = match (lives(mine), lives(theirs)) {
            (true, false) => (one, other, theirs),
            (false, true) => (other, one, mine),
            _ => return None,
        };
        if lacks == Some(Belief::Unknown) {
            return None;
        }
        Some(StateLives {
            object: id,
            object_type: type_name(history, states, id),
            at: session.name(at),
            not_at: session.name(not_at),
            destroyed: lacks == Some(Belief::Destroyed),
        })
    });
    parted.collect()
}

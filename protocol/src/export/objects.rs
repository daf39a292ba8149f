//! `objects`: what every node believed of every object.

use serde::Serialize;

use crate::history::{Belief, Effect, History, Object, Span};
use crate::session::{Node, Session, SessionTime};

/// The answer of `netreel objects --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Objects {
    /// The moment that was asked for; `null` for all time.
    pub at_ns: Option<i64>,
    /// By object.
    pub objects: Vec<ObjectJson>,
}

/// One object.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectJson {
    /// Its number.
    pub object: u64,
    /// The protocol's number of its type.
    #[serde(rename = "type")]
    pub object_type: Option<u64>,
    /// In the session's order of nodes; a node that never heard of it has none. At a moment, each
    /// node has one.
    pub lanes: Vec<LaneJson>,
    /// What happened to it, in order, without the UPDATEs that were taken.
    pub deliveries: Vec<DeliveryJson>,
    /// How many UPDATEs were taken, at all nodes together.
    pub updates: u64,
}

/// What one node believed.
#[derive(Clone, Debug, Serialize)]
pub struct LaneJson {
    /// Who.
    pub node: String,
    /// In time order; with `at`, the one of that moment.
    pub spans: Vec<SpanJson>,
}

/// A stretch of time in which a belief did not change.
#[derive(Clone, Debug, Serialize)]
pub struct SpanJson {
    /// Where it starts.
    pub from_ns: i64,
    /// Where it ends.
    pub to_ns: i64,
    /// `owned`, `orphaned`, `destroyed`, `unknown`; at a moment also `none`: the node does not know
    /// the object.
    pub belief: &'static str,
    /// The believed owner.
    pub owner: Option<String>,
    /// The highest migration counter that the node had heard.
    pub counter: Option<u64>,
    /// The packet that began it; where the game said it, the last one before that told of the object.
    pub packet: Option<u32>,
    /// The event by which the node's game said it; not there where it follows from messages by the rules
    /// of the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<u64>,
}

/// A message about the object, at a node.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryJson {
    /// Where.
    pub node: String,
    /// When.
    pub time_ns: i64,
    /// As the wire spells it.
    pub kind: Option<String>,
    /// The packet that carried it.
    pub packet: Option<u32>,
    /// Whether the node did it itself.
    pub local: bool,
    /// What the node did with it.
    pub effect: &'static str,
}

/// All objects, over all time or at one moment.
pub fn objects(session: &Session, history: &History, at: Option<SessionTime>) -> Objects {
    let objects = history
        .objects
        .iter()
        .map(|(&id, object)| self::object(session, history, id, object, at))
        .filter(|object| at.is_none() || !object.lanes.is_empty())
        .collect();
    Objects {
        at_ns: at.map(|time| time.0),
        objects,
    }
}

/// One object of a session, at a moment or for all time.
pub(crate) fn object(
    session: &Session,
    history: &History,
    id: u64,
    object: &Object,
    at: Option<SessionTime>,
) -> ObjectJson {
    let lanes = match at {
        None => object
            .lanes
            .iter()
            .map(|(&node, spans)| LaneJson {
                node: session.name(node),
                spans: spans
                    .iter()
                    .map(|each| span(session, history, each))
                    .collect(),
            })
            .filter(|lane| !lane.spans.is_empty())
            .collect(),
        Some(time) => lanes_at(session, history, id, object, time),
    };
    let mut updates = 0;
    let mut deliveries = Vec::new();
    for delivery in object
        .deliveries
        .iter()
        .filter_map(|&at| history.deliveries.get(at as usize))
    {
        if at.is_some_and(|time| delivery.at.time > time) {
            continue;
        }
        if delivery.effect == Effect::Updated {
            updates += 1;
            continue;
        }
        let facts = history.facts(session, delivery.message);
        let kind = facts.and_then(|facts| Some(session.kind_of(&facts)?.name.clone()));
        deliveries.push(DeliveryJson {
            node: session.name(delivery.node),
            time_ns: delivery.at.time.0,
            kind,
            packet: session.carrier(delivery.message).map(|packet| packet.0),
            local: delivery.local,
            effect: delivery.effect.name(),
        });
    }
    ObjectJson {
        object: id,
        object_type: object.object_type,
        lanes,
        deliveries,
        updates,
    }
}

/// What every node of the session believed of an object at a moment; nothing where no node knew it.
fn lanes_at(
    session: &Session,
    history: &History,
    id: u64,
    object: &Object,
    time: SessionTime,
) -> Vec<LaneJson> {
    let mut known = false;
    let mut lanes = Vec::with_capacity(session.nodes.len());
    for (node, each) in session.numbered_nodes() {
        let believed = history.belief_at(id, node, time);
        known |= believed.is_some();
        let first = object.lanes.get(&node).and_then(|lane| lane.first());
        lanes.push(LaneJson {
            node: each.name.clone(),
            spans: vec![match believed {
                // Where a reel ends, so does what is known of its node.
                Some(believed) if time <= each.span.end => span(session, history, believed),
                Some(_) => unknown(each.span.end..session.span.end),
                None => unheard(session, each, first, time),
            }],
        });
    }
    if known { lanes } else { Vec::new() }
}

/// The stretch around a moment at which a node had not heard of an object, as far as its reel tells:
/// whether it knows the object is unknown where it was not recorded, and behind a hole.
fn unheard(session: &Session, node: &Node, first: Option<&Span>, time: SessionTime) -> SpanJson {
    let end = first.map_or(node.span.end, |first| first.time.start);
    let hole = node.holes.iter().map(|hole| hole.time.start).min();
    let (belief, stretch) = match hole {
        _ if !node.recorded => ("unknown", session.span.clone()),
        Some(hole) if hole <= time => ("unknown", hole..end.max(hole)),
        _ if time < node.span.start => ("unknown", session.span.start..node.span.start),
        _ if time > node.span.end => ("unknown", node.span.end..session.span.end),
        hole => (
            "none",
            node.span.start..hole.map_or(end, |hole| hole.min(end)),
        ),
    };
    SpanJson {
        belief,
        ..unknown(stretch)
    }
}

/// A stretch in which nobody can say.
fn unknown(stretch: std::ops::Range<SessionTime>) -> SpanJson {
    SpanJson {
        from_ns: stretch.start.0,
        to_ns: stretch.end.0,
        belief: "unknown",
        owner: None,
        counter: None,
        packet: None,
        said: None,
    }
}

/// One stretch of a belief.
pub fn span(session: &Session, history: &History, span: &Span) -> SpanJson {
    let (belief, owner) = match span.belief {
        Belief::Owned(owner) => ("owned", Some(owner)),
        Belief::Orphaned(owner) => ("orphaned", Some(owner)),
        Belief::Destroyed => ("destroyed", None),
        Belief::Unknown => ("unknown", None),
    };
    let because = history.deliveries.get(span.because as usize);
    let packet = because.and_then(|delivery| session.carrier(delivery.message));
    SpanJson {
        from_ns: span.time.start.0,
        to_ns: span.time.end.0,
        belief,
        owner: owner.map(|peer| session.peer_name(peer)),
        counter: span.counter,
        packet: packet.map(|packet| packet.0),
        said: span.said.map(|said| said.0),
    }
}

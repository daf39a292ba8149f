//! `objects`: what every node believed of every object.

use serde::Serialize;

use crate::history::{Belief, Effect, History, Object, Span};
use crate::query::effect_name;
use crate::session::{NodeId, Session, SessionTime};

/// The answer of `netreel objects --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Objects {
    /// The moment that was asked for; `null` for all time.
    pub at_ns: Option<i64>,
    /// By object.
    pub objects: Vec<ObjectJson>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectJson {
    /// Its number.
    pub object: u64,
    /// The protocol's number of its type.
    #[serde(rename = "type")]
    pub object_type: Option<u64>,
    /// In the session's order of nodes; a node that had not heard of it has none.
    pub lanes: Vec<LaneJson>,
    /// What happened to it, in order, without the UPDATEs that were taken.
    pub deliveries: Vec<DeliveryJson>,
    /// How many UPDATEs were taken, at all nodes together.
    pub updates: u64,
}

/// What one node believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneJson {
    /// Who.
    pub node: String,
    /// In time order; with `at`, the one of that moment.
    pub spans: Vec<SpanJson>,
}

/// A stretch of time in which a belief did not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpanJson {
    /// Where it starts.
    pub from_ns: i64,
    /// Where it ends.
    pub to_ns: i64,
    /// `owned`, `orphaned`, `destroyed`, `unknown`.
    pub belief: &'static str,
    /// The believed owner.
    pub owner: Option<String>,
    /// The highest migration counter that the node had heard.
    pub counter: Option<u64>,
    /// The packet that began it.
    pub packet: Option<u32>,
}

/// A message about the object, at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

fn object(
    session: &Session,
    history: &History,
    id: u64,
    object: &Object,
    at: Option<SessionTime>,
) -> ObjectJson {
    let lane = |(&node, spans): (&NodeId, &Vec<Span>)| {
        let spans: Vec<SpanJson> = match at {
            None => spans
                .iter()
                .map(|each| span(session, history, each))
                .collect(),
            Some(time) => {
                let at = history.belief_at(id, node, time);
                at.map(|each| span(session, history, each))
                    .into_iter()
                    .collect()
            }
        };
        LaneJson {
            node: session.name(node),
            spans,
        }
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
        let kind = facts.and_then(|facts| {
            session
                .wire
                .as_ref()?
                .kinds()
                .get(usize::from(facts.kind?.0))
                .map(|k| k.name.clone())
        });
        deliveries.push(DeliveryJson {
            node: session.name(delivery.node),
            time_ns: delivery.at.time.0,
            kind,
            packet: session
                .message(delivery.message)
                .map(|message| message.packet.0),
            local: delivery.local,
            effect: effect_name(delivery.effect),
        });
    }
    ObjectJson {
        object: id,
        object_type: object.object_type,
        lanes: object
            .lanes
            .iter()
            .map(lane)
            .filter(|lane| !lane.spans.is_empty())
            .collect(),
        deliveries,
        updates,
    }
}

fn span(session: &Session, history: &History, span: &Span) -> SpanJson {
    let (belief, owner) = match span.belief {
        Belief::Owned(owner) => ("owned", Some(owner)),
        Belief::Orphaned(owner) => ("orphaned", Some(owner)),
        Belief::Destroyed => ("destroyed", None),
        Belief::Unknown => ("unknown", None),
    };
    let because = history.deliveries.get(span.because as usize);
    let packet = because.and_then(|delivery| session.message(delivery.message));
    SpanJson {
        from_ns: span.time.start.0,
        to_ns: span.time.end.0,
        belief,
        owner: owner.map(|peer| session.peer_name(peer)),
        counter: span.counter,
        packet: packet.map(|message| message.packet.0),
    }
}

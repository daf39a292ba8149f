//! What is left of a condition at a node, as what the node believes of objects changes.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::EventNumber;
use netreel_wire::{Property, PropertyId};

use super::eval::is_named;
use super::expr::{Belief, BeliefValue, Constant, Expr, Query};
use crate::figures::hex;
use crate::history::state::{Known, Scalar, States};
use crate::history::{self, History};
use crate::session::{MessageId, NodeId, Session, SessionReel, SessionTime, Stamp};

/// A condition at a node: what is left of it to be asked of packets, from each moment on.
pub struct AtANode {
    /// Each what is left at some moment, once.
    pub queries: Vec<Query>,
    /// From when on which of them.
    pub steps: Vec<(SessionTime, usize)>,
    /// The events at which it becomes true whatever packets are.
    pub begins: BTreeSet<EventNumber>,
}

impl AtANode {
    /// Which of the queries is left at a moment; `None` before the node's first.
    pub fn at(&self, time: SessionTime) -> Option<usize> {
        let after = self.steps.partition_point(|&(from, _)| from <= time);
        Some(self.steps.get(after.checked_sub(1)?)?.1)
    }
}

impl Query {
    /// Whether a part of it is about what a node believes, and whether another is about packets.
    pub fn is_about_beliefs_and_packets(&self) -> (bool, bool) {
        let is_belief = |leaf: &Expr| matches!(leaf, Expr::Belief(_));
        let beliefs = self.root.any(&mut |leaf| is_belief(leaf));
        (beliefs, self.root.any(&mut |leaf| !is_belief(leaf)))
    }

    /// What is left of it at the node of a reel, moment by moment.
    ///
    /// # Errors
    /// A sentence for people, where the node can never believe or disbelieve a part of it.
    pub fn at_a_node(
        &self,
        session: &Session,
        history: &History,
        reel: &SessionReel<'_>,
    ) -> Result<AtANode, String> {
        let mut beliefs = Vec::new();
        self.root.any(&mut |leaf| {
            if let Expr::Belief(belief) = leaf {
                beliefs.push(belief);
            }
            false
        });
        let known = Knows::of(&beliefs, (session, history), reel)?;
        let start = session.node(known.node).map(|node| node.span.start);
        let mut moments = BTreeMap::from([(start.unwrap_or(session.span.start), None)]);
        for belief in &beliefs {
            known.moments(belief, &mut moments);
        }
        let mut course = AtANode {
            queries: Vec::new(),
            steps: Vec::new(),
            begins: BTreeSet::new(),
        };
        for (&time, &number) in &moments {
            let root = self.root.given(&|belief| known.truth(belief, time));
            let holds = root == Expr::Truth(Some(true));
            let left = Query { root };
            let known = course.queries.iter().position(|it| *it == left);
            let place = known.unwrap_or(course.queries.len());
            if course.steps.last().is_some_and(|&(_, last)| last == place) {
                continue;
            }
            if place == course.queries.len() {
                course.queries.push(left);
            }
            course.steps.push((time, place));
            if holds {
                let event = number.or_else(|| reel.event_at(time));
                course.begins.extend(event);
            }
        }
        Ok(course)
    }
}

/// What is known of one node's objects.
struct Knows<'a> {
    session: &'a Session,
    history: &'a History,
    node: NodeId,
    states: States,
}

impl<'a> Knows<'a> {
    /// Checks that each belief can be true of something.
    fn of(
        beliefs: &[&Belief],
        (session, history): (&'a Session, &'a History),
        reel: &SessionReel<'_>,
    ) -> Result<Knows<'a>, String> {
        let node = reel
            .node
            .ok_or("this is no node's reel: nobody knows what it believed")?;
        let objects: BTreeSet<u64> = beliefs.iter().map(|belief| belief.object).collect();
        for object in &objects {
            let Some(known) = history.objects.get(object) else {
                return Err(format!(
                    "no message of this session is about object {object}; `netreel objects` lists \
                     those that there are"
                ));
            };
            if !known.lanes.contains_key(&node) {
                return Err(format!("{} never heard of object {object}", reel.name));
            }
        }
        let mut asked = beliefs.iter().filter_map(|belief| belief.asked.as_ref());
        let states = if asked.all(|it| ["owner", "counter"].contains(&it.name.as_str())) {
            States::default()
        } else {
            States::of(session, history, &|object| objects.contains(&object))
        };
        let knows = Knows {
            session,
            history,
            node,
            states,
        };
        for belief in beliefs {
            if let Some(value) = &belief.asked {
                let checked = knows.check(belief.object, value);
                checked.map_err(|why| format!("`{}`: {why}", belief.text))?;
            }
        }
        Ok(knows)
    }

    fn check(&self, object: u64, value: &BeliefValue) -> Result<(), String> {
        let (name, typed) = (&value.name, &value.typed);
        let is_number = value.constant.decimal().is_some();
        if name == "owner" {
            if self.peer(value).is_some() {
                return Ok(());
            }
            let nodes = self.session.nodes.iter().filter(|node| node.peer.is_some());
            let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
            return Err(format!(
                "`{typed}` is neither a peer's number nor one of the nodes: {}",
                names.join(", ")
            ));
        }
        if name == "counter" {
            let is_not = || "a counter is a number".to_owned();
            return is_number.then_some(()).ok_or_else(is_not);
        }
        let Some((id, _)) = self.property(name) else {
            let known: Vec<&str> = self
                .states
                .properties()
                .iter()
                .map(|property| property.name.as_str())
                .collect();
            return Err(if known.is_empty() {
                "without a wire that declares properties only `owner` and `counter` are \
                         known; name one with --wire FILE (docs/wire-language.md)"
                    .to_owned()
            } else {
                format!(
                    "an object has no `{name}`; there are owner, counter, {}",
                    known.join(", ")
                )
            });
        };
        let mut changes = self.states.changes(object, id, self.node);
        let first = changes.find_map(|held| match held.value {
            Known::Value(parts) => Some(parts),
            Known::Unknown | Known::Nothing => None,
        });
        let first =
            first.ok_or_else(|| format!("this node never knew a `{name}` of object {object}"))?;
        let count = first.len();
        let part = match (value.part, count) {
            (Some(part), count) if part >= count => {
                return Err(format!("`{name}` has {count} parts, from 0 on"));
            }
            (None, 2..) => {
                return Err(format!(
                    "`{name}` has {count} parts; write `objects[{object}].{name}[0]`"
                ));
            }
            (part, _) => part.unwrap_or(0),
        };
        let is_text = matches!(first.get(part), Some(Scalar::Name(_) | Scalar::Bytes(_)));
        if is_text && value.comparison.is_of_order() {
            return Err(format!("`{name}` is no number; compare with == or !="));
        }
        if !is_text && !is_number && truth(typed).is_none() {
            return Err(format!("`{name}` is a number, and `{typed}` is none"));
        }
        Ok(())
    }

    fn property(&self, name: &str) -> Option<(PropertyId, &Property)> {
        let mut all = (0u16..).map(PropertyId).zip(self.states.properties());
        all.find(|(_, property)| property.name == name)
    }

    /// The protocol number of a node, or of what is one.
    fn peer(&self, value: &BeliefValue) -> Option<u64> {
        let mut nodes = self.session.nodes.iter();
        let named = nodes.find(|node| is_named(node, &value.typed));
        let number = || match value.constant {
            Constant::Whole(number) => u64::try_from(number).ok(),
            _ => None,
        };
        named.and_then(|node| node.peer).or_else(number)
    }

    /// When what the node believes of it changes, and by which event, where that is known.
    fn moments(&self, belief: &Belief, moments: &mut BTreeMap<SessionTime, Option<EventNumber>>) {
        let object = self.history.objects.get(&belief.object);
        let delivered = |place: u32| self.history.deliveries.get(place as usize);
        let mut change = |since: SessionTime, at: Option<Stamp>| {
            let number = at.filter(|at| at.time == since).map(|at| at.number);
            let known = moments.entry(since).or_default();
            *known = known.or(number);
        };
        let lane = object.and_then(|it| it.lanes.get(&self.node));
        for span in lane.into_iter().flatten() {
            change(span.time.start, delivered(span.because).map(|it| it.at));
        }
        let asked = belief.asked.as_ref();
        let Some((property, _)) = asked.and_then(|asked| self.property(&asked.name)) else {
            return;
        };
        let places = object.into_iter().flat_map(|it| &it.deliveries);
        let own = places
            .filter_map(|&place| delivered(place))
            .filter(|delivery| delivery.node == self.node);
        let by_message: BTreeMap<MessageId, Stamp> = own
            .map(|delivery| (delivery.message, delivery.at))
            .collect();
        for held in self.states.changes(belief.object, property, self.node) {
            let at = held.because.and_then(|message| by_message.get(&message));
            change(held.since, at.copied());
        }
    }

    /// Whether a belief is held at a moment. What nobody knows is neither true nor false.
    fn truth(&self, belief: &Belief, time: SessionTime) -> Option<bool> {
        let span = self.history.belief_at(belief.object, self.node, time);
        let owner = match span.map(|span| span.belief) {
            Some(history::Belief::Unknown) => return None,
            Some(history::Belief::Owned(owner) | history::Belief::Orphaned(owner)) => Some(owner),
            Some(history::Belief::Destroyed) | None => None,
        };
        let Some(value) = &belief.asked else {
            return Some(owner.is_some());
        };
        let holds = |found: u64, constant: &Constant| {
            let order = Constant::Whole(i128::from(found)).order(constant)?;
            Some(value.comparison.holds(order))
        };
        match value.name.as_str() {
            "owner" => holds(owner?, &Constant::Whole(i128::from(self.peer(value)?))),
            "counter" => holds(span?.counter?, &value.constant),
            name => {
                owner?;
                let (id, property) = self.property(name)?;
                let held = self.states.at(belief.object, id, self.node, time)?;
                let Known::Value(parts) = held.value else {
                    return None;
                };
                let scalar = parts.get(value.part.unwrap_or(0))?;
                of_scalar(scalar, value, property.tolerance)
            }
        }
    }
}

fn truth(typed: &str) -> Option<bool> {
    match typed {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Numbers that are closer than `tolerance` are equal.
fn of_scalar(scalar: &Scalar, value: &BeliefValue, tolerance: f64) -> Option<bool> {
    let (found, tolerance) = match scalar {
        Scalar::Integer(found) => (Constant::Whole(*found), 0.0),
        Scalar::Real(found) => (Constant::Decimal(*found), tolerance),
        Scalar::Truth(found) => (Constant::Whole(i128::from(*found)), 0.0),
        Scalar::Name(found) => return Some(value.comparison.of_texts(*found == value.typed)),
        Scalar::Bytes(found) => {
            let is_equal = hex(found).eq_ignore_ascii_case(&value.typed);
            return Some(value.comparison.of_texts(is_equal));
        }
        Scalar::Unknown => return None,
    };
    let other = match truth(&value.typed) {
        Some(truth) => Constant::Whole(i128::from(truth)),
        None => value.constant.clone(),
    };
    let Some(order) = found.order(&other) else {
        // What is no number is like none.
        let are_numbers = found.decimal().is_some() && other.decimal().is_some();
        return are_numbers.then(|| value.comparison.of_texts(false));
    };
    let is_near = (found.decimal()? - other.decimal()?).abs() <= tolerance;
    Some(if is_near && !value.comparison.is_of_order() {
        value.comparison.of_texts(true)
    } else {
        value.comparison.holds(order)
    })
}

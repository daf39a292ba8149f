//! Conditions on what a node believed of an object: `objects[42].owner == X`.
//!
//! By itself such a condition stops where it becomes true. Beside a filter of packets it stops at
//! each packet that fits while it is true.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::history::Belief;
use netreel_protocol::history::state::{Known, Scalar, States};
use netreel_protocol::session::{MessageId, NodeId, SessionReel, SessionTime, Stamp};
use netreel_reel::EventNumber;
use netreel_wire::{Property, PropertyId};

use crate::open::Story;

/// What such a condition is made of, joined by `&&`.
pub struct Believed {
    terms: Vec<Term>,
    /// What is a filter of packets, as it was typed.
    pub filter: Option<String>,
}

/// `!objects[42].position[0] < 1.5`
struct Term {
    is_negated: bool,
    object: u64,
    /// The name of a property, `owner` or `counter`; nothing: whether it lives.
    name: Option<String>,
    /// Which part of a property that has several.
    part: Option<usize>,
    test: Option<(Compare, String)>,
    /// As it was typed.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// When a condition is true: from each of these moments on it is, or is not.
pub struct Truths {
    edges: Vec<(SessionTime, bool)>,
}

impl Truths {
    pub fn at(&self, time: SessionTime) -> bool {
        let after = self.edges.partition_point(|&(from, _)| from <= time);
        let before = after.checked_sub(1).and_then(|place| self.edges.get(place));
        before.is_some_and(|&(_, holds)| holds)
    }
}

impl Believed {
    /// Reads it; `None` where nothing of the text is about what a node believed.
    pub fn parse(text: &str) -> Result<Option<Believed>, String> {
        let pieces = split(text, "&&");
        let is_belief = |piece: &str| without_not(piece).1.starts_with("objects[");
        if !pieces.iter().any(|piece| is_belief(piece)) {
            return Ok(None);
        }
        if split(text, "||").len() > 1 {
            return Err(
                "what a node believed is joined by `&&` alone; for `||` make two breakpoints"
                    .to_owned(),
            );
        }
        let (beliefs, filters): (Vec<&str>, Vec<&str>) =
            pieces.into_iter().partition(|piece| is_belief(piece));
        let terms = beliefs.into_iter().map(Term::parse);
        let terms = terms.collect::<Result<_, _>>()?;
        let filter = (!filters.is_empty()).then(|| filters.join(" && "));
        Ok(Some(Believed { terms, filter }))
    }

    /// When it is true of the node of a reel, and the events at which it becomes so. The sentence
    /// says why it can never be.
    pub fn of(
        &self,
        story: &Story,
        reel: &SessionReel<'_>,
    ) -> Result<(Truths, BTreeSet<EventNumber>), String> {
        let node = reel
            .node
            .ok_or("this is no node's reel: nobody knows what it believed")?;
        let known = Knows::of(&self.terms, story, reel, node)?;
        let mut moments = BTreeMap::from([(story_start(story, node), None)]);
        for term in &self.terms {
            known.moments(term, &mut moments);
        }
        let mut edges: Vec<(SessionTime, bool)> = Vec::new();
        let mut begins = BTreeSet::new();
        for (&time, &number) in &moments {
            let holds = self.terms.iter().all(|term| known.holds(term, time));
            if edges.last().is_some_and(|&(_, before)| before == holds) {
                continue;
            }
            edges.push((time, holds));
            if holds {
                begins.extend(number.or_else(|| reel.event_at(time)));
            }
        }
        Ok((Truths { edges }, begins))
    }
}

fn story_start(story: &Story, node: NodeId) -> SessionTime {
    let node = story.session.node(node);
    node.map_or(story.session.span.start, |node| node.span.start)
}

/// The pieces of a text between separators that are in no quotes.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let (mut begin, mut is_quoted) = (0, false);
    for (place, letter) in text.char_indices() {
        is_quoted ^= letter == '"';
        let rest = text.get(place..).unwrap_or_default();
        if !is_quoted && place >= begin && rest.starts_with(separator) {
            pieces.push(text.get(begin..place).unwrap_or_default().trim());
            begin = place + separator.len();
        }
    }
    pieces.push(text.get(begin..).unwrap_or_default().trim());
    pieces
}

fn without_not(piece: &str) -> (bool, &str) {
    match piece.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, piece),
    }
}

impl Term {
    fn parse(piece: &str) -> Result<Term, String> {
        let (is_negated, rest) = without_not(piece);
        let wrong = |why: &str| {
            format!(
                "`{piece}`: {why}; write `objects[42]`, `objects[42].owner == X` or \
                 `objects[42].position[0] < 1.5`"
            )
        };
        let rest = rest.strip_prefix("objects[").unwrap_or(rest);
        let (object, rest) = rest
            .split_once(']')
            .ok_or_else(|| wrong("`]` is missing"))?;
        let object = object.trim().parse::<u64>();
        let object = object.map_err(|_| wrong("the number of an object stands in the brackets"))?;
        let mut term = Term {
            is_negated,
            object,
            name: None,
            part: None,
            test: None,
            text: piece.to_owned(),
        };
        let rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(term);
        }
        let rest = rest
            .strip_prefix('.')
            .ok_or_else(|| wrong("write a point and a name behind the brackets"))?;
        let end = rest.find(['=', '!', '<', '>']);
        let end = end.ok_or_else(|| wrong("a comparison is missing"))?;
        let (path, test) = rest.split_at(end);
        let path = path.trim();
        let (name, part) = match path.split_once('[') {
            None => (path, None),
            Some((name, part)) => {
                let part = part
                    .strip_suffix(']')
                    .and_then(|part| part.trim().parse().ok());
                (
                    name,
                    Some(part.ok_or_else(|| wrong("a part is a number in brackets"))?),
                )
            }
        };
        let compare = Compare::read(test);
        let (compare, value) =
            compare.ok_or_else(|| wrong("compare with ==, !=, <, <=, > or >="))?;
        if name.is_empty() || value.is_empty() {
            return Err(wrong("a name or a value is missing"));
        }
        (term.name, term.part) = (Some(name.to_owned()), part);
        term.test = Some((compare, value.trim_matches('"').to_owned()));
        Ok(term)
    }
}

impl Compare {
    /// The comparison with which a text begins, and what comes behind it.
    fn read(text: &str) -> Option<(Compare, &str)> {
        let all = [
            ("==", Compare::Equal),
            ("!=", Compare::Unequal),
            ("<=", Compare::AtMost),
            (">=", Compare::AtLeast),
            // As filters of packets take it.
            ("=", Compare::Equal),
            ("<", Compare::Less),
            (">", Compare::More),
        ];
        all.into_iter().find_map(|(sign, compare)| {
            let rest = text.strip_prefix(sign)?;
            Some((compare, rest.trim()))
        })
    }

    /// Whether it holds of two numbers; closer than `tolerance` is equal.
    fn of(self, one: f64, other: f64, tolerance: f64) -> bool {
        let is_equal = (one - other).abs() <= tolerance;
        match self {
            Compare::Equal => is_equal,
            Compare::Unequal => !is_equal,
            Compare::Less => one < other,
            Compare::AtMost => one <= other,
            Compare::More => one > other,
            Compare::AtLeast => one >= other,
        }
    }

    /// The same of two texts; these have no order.
    fn of_texts(self, one: &str, other: &str) -> bool {
        match self {
            Compare::Equal => one == other,
            Compare::Unequal => one != other,
            _ => false,
        }
    }
}

/// What is known of one node's objects.
struct Knows<'a> {
    story: &'a Story,
    node: NodeId,
    states: States,
}

impl<'a> Knows<'a> {
    /// Checks that each term can be true of something.
    fn of(
        terms: &[Term],
        story: &'a Story,
        reel: &SessionReel<'_>,
        node: NodeId,
    ) -> Result<Knows<'a>, String> {
        let history = story.history();
        let wanted: BTreeSet<u64> = terms.iter().map(|term| term.object).collect();
        for object in &wanted {
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
        let is_builtin = |name: &str| ["owner", "counter"].contains(&name);
        let names = terms.iter().filter_map(|term| term.name.as_deref());
        let states = match names.clone().all(is_builtin) {
            true => States::default(),
            false => States::of(&story.session, history, &|object| wanted.contains(&object)),
        };
        let knows = Knows {
            story,
            node,
            states,
        };
        for term in terms {
            knows.check(term)?;
        }
        Ok(knows)
    }

    fn check(&self, term: &Term) -> Result<(), String> {
        let Term {
            object, text, test, ..
        } = term;
        let (Some(name), Some((compare, value))) = (&term.name, test) else {
            return Ok(());
        };
        let has_order = !matches!(compare, Compare::Equal | Compare::Unequal);
        let is_number = value.parse::<f64>().is_ok();
        if name == "owner" {
            if self.peer(value).is_none() {
                let nodes = self.story.session.nodes.iter();
                let names: Vec<&str> = nodes
                    .filter(|node| node.peer.is_some())
                    .map(|node| node.name.as_str())
                    .collect();
                return Err(format!(
                    "`{text}`: `{value}` is neither a peer's number nor one of the nodes: {}",
                    names.join(", ")
                ));
            }
            return Ok(());
        }
        if name == "counter" {
            return match is_number {
                true => Ok(()),
                false => Err(format!("`{text}`: a counter is a number")),
            };
        }
        let Some((id, _)) = self.property(name) else {
            if self.states.properties().is_empty() {
                return Err(format!(
                    "`{text}`: without a wire that declares properties only `owner` and `counter` \
                     are known; name one with --wire FILE (docs/wire-language.md)"
                ));
            }
            let mut names = vec!["owner", "counter"];
            let known = self.states.properties().iter();
            names.extend(known.map(|property| property.name.as_str()));
            return Err(format!(
                "`{text}`: an object has no `{name}`; there are {}",
                names.join(", ")
            ));
        };
        let changes = self.states.changes(*object, id, self.node);
        let values = changes.filter_map(|held| match held.value {
            Known::Value(parts) => Some(parts),
            Known::Unknown | Known::Nothing => None,
        });
        let mut values = values.peekable();
        let Some(first) = values.peek() else {
            return Err(format!(
                "`{text}`: this node never knew a `{name}` of object {object}"
            ));
        };
        let count = first.len();
        let part = match (term.part, count) {
            (Some(part), count) if part >= count => {
                return Err(format!("`{text}`: `{name}` has {count} parts, from 0 on"));
            }
            (None, 2..) => {
                return Err(format!(
                    "`{text}`: `{name}` has {count} parts; write `objects[{object}].{name}[0]`"
                ));
            }
            (part, _) => part.unwrap_or(0),
        };
        let is_text = matches!(first.get(part), Some(Scalar::Name(_) | Scalar::Bytes(_)));
        let is_truth = ["true", "false"].contains(&value.as_str());
        if is_text && has_order {
            return Err(format!(
                "`{text}`: `{name}` is no number; compare with == or !="
            ));
        }
        if !is_text && !is_number && !is_truth {
            return Err(format!(
                "`{text}`: `{name}` is a number, and `{value}` is none"
            ));
        }
        Ok(())
    }

    fn property(&self, name: &str) -> Option<(PropertyId, &Property)> {
        let all = (0u16..).map(PropertyId).zip(self.states.properties());
        all.into_iter().find(|(_, property)| property.name == name)
    }

    /// The protocol number of a node, or of what is one.
    fn peer(&self, value: &str) -> Option<u64> {
        let nodes = &self.story.session.nodes;
        let named = nodes.iter().find(|node| node.name == value);
        named
            .and_then(|node| node.peer)
            .or_else(|| value.parse().ok())
    }

    /// When what the node believes of it changes, and by which event, where that is known.
    fn moments(&self, term: &Term, moments: &mut BTreeMap<SessionTime, Option<EventNumber>>) {
        let history = self.story.history();
        let object = history.objects.get(&term.object);
        let delivered = |place: u32| history.deliveries.get(place as usize);
        for span in object
            .and_then(|it| it.lanes.get(&self.node))
            .into_iter()
            .flatten()
        {
            let because = delivered(span.because);
            let at = because.map(|delivery| delivery.at);
            let number = at
                .filter(|at| at.time == span.time.start)
                .map(|at| at.number);
            let known = moments.entry(span.time.start).or_default();
            *known = known.or(number);
        }
        let property = term.name.as_deref().and_then(|name| self.property(name));
        let Some((property, _)) = property else {
            return;
        };
        let places = object.into_iter().flat_map(|it| &it.deliveries);
        let own = places.filter_map(|&place| delivered(place));
        let own = own.filter(|delivery| delivery.node == self.node);
        let by_message: BTreeMap<MessageId, Stamp> = own
            .map(|delivery| (delivery.message, delivery.at))
            .collect();
        for held in self.states.changes(term.object, property, self.node) {
            let at = held.because.and_then(|message| by_message.get(&message));
            let number = at.filter(|at| at.time == held.since).map(|at| at.number);
            let known = moments.entry(held.since).or_default();
            *known = known.or(number);
        }
    }

    /// Whether a term is true at a moment. What nobody knows is neither true nor false.
    fn holds(&self, term: &Term, time: SessionTime) -> bool {
        let truth = self.truth(term, time);
        truth.is_some_and(|truth| truth != term.is_negated)
    }

    fn truth(&self, term: &Term, time: SessionTime) -> Option<bool> {
        let history = self.story.history();
        let span = history.belief_at(term.object, self.node, time);
        let belief = span.map(|span| span.belief);
        let owner = match belief {
            Some(Belief::Unknown) => return None,
            Some(Belief::Owned(owner) | Belief::Orphaned(owner)) => Some(owner),
            Some(Belief::Destroyed) | None => None,
        };
        let Some(((compare, value), name)) = term.test.as_ref().zip(term.name.as_deref()) else {
            return Some(owner.is_some());
        };
        let number = |one: u64| {
            let other = value.parse::<f64>().ok()?;
            Some(compare.of(one as f64, other, 0.0))
        };
        match name {
            "owner" => {
                let other = self.peer(value)? as f64;
                Some(compare.of(owner? as f64, other, 0.0))
            }
            "counter" => number(span?.counter?),
            name => {
                owner?;
                let (id, property) = self.property(name)?;
                let held = self.states.at(term.object, id, self.node, time)?;
                let Known::Value(parts) = held.value else {
                    return None;
                };
                let scalar = parts.get(term.part.unwrap_or(0))?;
                of_scalar(scalar, *compare, value, property.tolerance)
            }
        }
    }
}

fn of_scalar(scalar: &Scalar, compare: Compare, value: &str, tolerance: f64) -> Option<bool> {
    let other = match value {
        "true" => Some(1.0),
        "false" => Some(0.0),
        value => value.parse::<f64>().ok(),
    };
    Some(match scalar {
        Scalar::Integer(one) => compare.of(*one as f64, other?, 0.0),
        Scalar::Real(one) => compare.of(*one, other?, tolerance),
        Scalar::Truth(one) => compare.of(f64::from(u8::from(*one)), other?, 0.0),
        Scalar::Name(one) => compare.of_texts(one, value),
        Scalar::Bytes(one) => {
            let hex: String = one.iter().map(|byte| format!("{byte:02x}")).collect();
            compare.of_texts(&hex, value)
        }
        Scalar::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, said: &str) {
        let why = Believed::parse(text).err().unwrap_or_default();
        assert!(why.contains(said), "{text}: {why}");
    }

    #[test]
    fn what_is_typed_wrong_says_what_is_wrong() {
        refused("objects[42", "`]` is missing");
        refused("objects[box]", "the number of an object");
        refused("objects[42] owner", "a point and a name");
        refused("objects[42].owner", "a comparison is missing");
        refused("objects[42].owner ! 2", "compare with");
        refused("objects[42].owner ==", "a value is missing");
        refused("objects[42].position[x] == 1", "a part is a number");
        refused("objects[1] || objects[2]", "two breakpoints");
    }

    #[test]
    fn a_filter_beside_it_stays_a_filter() {
        let text = "kind == chat && text == \"a && objects[1]\" && !objects[42]";
        let believed = Believed::parse(text).unwrap().unwrap();
        assert_eq!(believed.terms.len(), 1);
        assert!(believed.terms[0].is_negated);
        let filter = "kind == chat && text == \"a && objects[1]\"";
        assert_eq!(believed.filter.as_deref(), Some(filter));
        assert!(Believed::parse("object == 42").unwrap().is_none());
    }
}

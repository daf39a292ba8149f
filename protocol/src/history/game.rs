//! What games said that they believed of objects, laid over what follows from messages by the rules of
//! the wire.
//!
//! From the first word on that a game says of an object its word counts, until a hole of its reel: what
//! it said in there nobody knows. Of an object that it said to live without an owner, the owner is the
//! one whom the rules name.

use std::collections::BTreeMap;

use netreel_reel::EventNumber;

use super::{Belief, History, Object, Span};
use crate::session::{GameSays, Hole, Node, NodeId, Session, SessionTime, Stamp};

/// Lays what games said over the lanes of objects.
pub(super) fn overlay(session: &Session, history: &mut History) {
    for (id, node) in (0u16..).map(NodeId).zip(&session.nodes) {
        if !node.recorded || !session.game_speaks(id) {
            continue;
        }
        for (object, said) in said_of(session, id, node) {
            let deliveries = deliveries_of(history, object, id);
            let known = history.objects.entry(object).or_default();
            let by_rules = known.lanes.remove(&id).unwrap_or_default();
            let lane = lane(&said, &by_rules, &deliveries, node.span.end);
            known.lanes.insert(id, lane);
            known.by_rules.insert(id, by_rules);
        }
    }
}

/// What a game said of an object.
#[derive(Clone, Copy, Debug)]
struct Word {
    at: Stamp,
    state: State,
}

/// What is so of an object by what its game said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive {
        owner: Option<u64>,
    },
    Dead,
    /// The reel has a hole in which the game may have said anything.
    Unknown,
}

fn said_of(session: &Session, id: NodeId, node: &Node) -> BTreeMap<u64, Vec<Word>> {
    let mut said: BTreeMap<u64, Vec<Word>> = BTreeMap::new();
    let mut holes: Vec<&Hole> = node.holes.iter().collect();
    holes.sort_by_key(|hole| hole.before);
    let mut holes = holes.into_iter().peekable();
    let mut latest = SessionTime(i64::MIN);
    let mut forget = |until: EventNumber, said: &mut BTreeMap<u64, Vec<Word>>| {
        while let Some(hole) = holes.next_if(|hole| hole.before <= until) {
            let at = Stamp {
                number: hole.before,
                time: hole.time.start,
            };
            for words in said.values_mut() {
                let state = State::Unknown;
                words.push(Word { at, state });
            }
        }
    };
    for (at, word) in session.game_words(id) {
        forget(at.number, &mut said);
        // A node's own order holds even where its clock does not.
        latest = latest.max(at.time);
        let at = Stamp { time: latest, ..at };
        let state = match word.what {
            GameSays::Created { owner } => State::Alive { owner },
            GameSays::Destroyed => State::Dead,
            GameSays::Owner(owner) => State::Alive { owner: Some(owner) },
            GameSays::Value => continue,
        };
        said.entry(word.object)
            .or_default()
            .push(Word { at, state });
    }
    forget(EventNumber(u64::MAX), &mut said);
    said
}

/// The deliveries of a node about an object that are more than UPDATEs, in order: their events and
/// their places.
fn deliveries_of(history: &History, object: u64, node: NodeId) -> Vec<(EventNumber, u32)> {
    let places = history.telling(object).iter();
    let own = places.filter(|&&place| history.deliveries.effect(place).0 == node);
    own.filter_map(|&place| {
        let delivery = history.deliveries.get(place as usize)?;
        Some((delivery.at.number, place))
    })
    .collect()
}

/// The lane of a node whose game spoke of the object.
fn lane(
    said: &[Word],
    by_rules: &[Span],
    deliveries: &[(EventNumber, u32)],
    end: SessionTime,
) -> Vec<Span> {
    let first = said.first().map_or(end, |word| word.at.time);
    let before = by_rules.iter().take_while(|span| span.time.start < first);
    let mut lane: Vec<Span> = before.cloned().collect();
    if let Some(last) = lane.last_mut() {
        last.time.end = last.time.end.min(first);
    }
    for (place, word) in said.iter().enumerate() {
        let next = said.get(place + 1);
        let until = next.map_or(end, |next| next.at.time).max(word.at.time);
        for (start, belief) in beliefs(word, until, by_rules) {
            let known = deliveries.partition_point(|(number, _)| *number < word.at.number);
            let because = known
                .checked_sub(1)
                .and_then(|it| deliveries.get(it))
                .or(deliveries.first());
            let counter = counter_of(belief, start, by_rules);
            let span = Span {
                time: start..until,
                belief,
                counter,
                because: because.map_or(Span::NO_DELIVERY, |&(_, place)| place),
                said: (word.state != State::Unknown).then_some(word.at.number),
            };
            put(&mut lane, span);
        }
    }
    lane
}

/// The counter of what a game says at a moment, which is that of the messages. A game may speak when its tick
/// is over: of an owner whom another one has followed since by messages that came in the same tick.
fn counter_of(belief: Belief, at: SessionTime, by_rules: &[Span]) -> Option<u64> {
    let known = by_rules.partition_point(|span| span.time.start <= at);
    let mut before = by_rules.get(..known)?.iter().rev();
    match belief {
        Belief::Owned(_) => before.find(|span| span.belief == belief)?.counter,
        _ => before.next()?.counter,
    }
}

/// What a word says until a moment, each belief from when on.
fn beliefs(word: &Word, until: SessionTime, by_rules: &[Span]) -> Vec<(SessionTime, Belief)> {
    let start = word.at.time;
    match word.state {
        State::Dead => vec![(start, Belief::Destroyed)],
        State::Unknown => vec![(start, Belief::Unknown)],
        State::Alive { owner: Some(owner) } => vec![(start, Belief::Owned(owner))],
        State::Alive { owner: None } => {
            let owner = |span: &Span| match span.belief {
                Belief::Owned(owner) | Belief::Orphaned(owner) => Some(Belief::Owned(owner)),
                Belief::Destroyed | Belief::Unknown => None,
            };
            let before = by_rules.iter().filter(|span| span.time.start <= start);
            let first = before
                .rev()
                .find_map(owner)
                .or_else(|| by_rules.iter().find_map(owner));
            let within = by_rules
                .iter()
                .filter(|span| start < span.time.start && span.time.start < until);
            let later = within.filter_map(|span| Some((span.time.start, owner(span)?)));
            let first = (start, first.unwrap_or(Belief::Unknown));
            std::iter::once(first).chain(later).collect()
        }
    }
}

/// Adds a span to a lane. Where the game says what is believed already, the span that is there goes on
/// and is the game's.
fn put(lane: &mut Vec<Span>, span: Span) {
    let Some(last) = lane.last_mut() else {
        lane.push(span);
        return;
    };
    if (last.belief, last.counter) == (span.belief, span.counter) {
        last.time.end = span.time.end;
        last.said = last.said.or(span.said);
        return;
    }
    last.time.end = last.time.end.min(span.time.start);
    if last.time.start >= span.time.start {
        // Of several words of one moment the last counts.
        lane.pop();
    }
    lane.push(span);
}

impl History {
    /// Whether what nodes believed of objects is known without the rules of the wire: all nodes were
    /// recorded, and the game of each said what became of each object that messages told it of.
    pub(crate) fn games_said_all(&self, session: &Session) -> bool {
        let nodes = || (0u16..).map(NodeId).zip(&session.nodes);
        let speaks = |(id, node): (NodeId, &Node)| node.recorded && session.game_speaks(id);
        !session.nodes.is_empty()
            && nodes().all(speaks)
            && self.objects.values().all(|object| {
                let mut lanes = object.lanes.iter();
                lanes.all(|(node, lane)| {
                    object.is_said(*node) && lane.iter().any(|span| span.said.is_some())
                })
            })
    }
}

/// The span of a lane that holds at a moment.
pub(super) fn span_at(lane: &[Span], time: SessionTime) -> Option<&Span> {
    let after = lane.partition_point(|span| span.time.start <= time);
    lane.get(after.checked_sub(1)?)
}

impl Object {
    /// Whether a node's game said that it knows the object, or that it ended.
    pub fn is_said(&self, node: NodeId) -> bool {
        self.by_rules.contains_key(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(number: u64, state: State) -> Word {
        let time = SessionTime(number as i64 * 10);
        let number = EventNumber(number);
        Word {
            at: Stamp { number, time },
            state,
        }
    }

    fn rule(start: i64, end: i64, belief: Belief, because: u32) -> Span {
        Span {
            time: SessionTime(start)..SessionTime(end),
            belief,
            counter: None,
            because,
            said: None,
        }
    }

    /// Spans as `start, belief, whether the game said it, because`.
    fn check(said: &[Word], by_rules: &[Span], expected: &[(i64, Belief, bool, u32)]) {
        let deliveries: Vec<_> = by_rules
            .iter()
            .map(|span| {
                let number = EventNumber(span.time.start.0 as u64 / 10);
                (number, span.because)
            })
            .collect();
        let lane = lane(said, by_rules, &deliveries, SessionTime(1000));
        let found: Vec<_> = lane
            .iter()
            .map(|it| (it.time.start.0, it.belief, it.said.is_some(), it.because))
            .collect();
        assert_eq!(found, expected);
        let ends = lane.windows(2).all(|two| match two {
            [one, two] => one.time.end == two.time.start,
            _ => true,
        });
        assert!(ends, "{lane:?}");
        assert_eq!(lane.last().unwrap().time.end, SessionTime(1000));
    }

    const ALIVE: State = State::Alive { owner: Some(3) };

    #[test]
    fn the_rules_count_before_the_first_word() {
        let by_rules = [
            rule(100, 300, Belief::Owned(1), 7),
            rule(300, 1000, Belief::Destroyed, 8),
        ];
        check(
            &[word(20, ALIVE), word(40, State::Dead)],
            &by_rules,
            &[
                (100, Belief::Owned(1), false, 7),
                (200, Belief::Owned(3), true, 7),
                (400, Belief::Destroyed, true, 8),
            ],
        );
    }

    #[test]
    fn a_word_that_says_what_is_believed_makes_no_new_span() {
        let by_rules = [rule(100, 1000, Belief::Owned(3), 7)];
        check(
            &[word(20, ALIVE)],
            &by_rules,
            &[(100, Belief::Owned(3), true, 7)],
        );
    }

    // Two messages come in one tick, at whose end the game says what each did.
    #[test]
    fn an_owner_whom_another_has_followed_keeps_the_counter_of_the_message() {
        let owned = |start, end, owner, counter| Span {
            counter: Some(counter),
            ..rule(start, end, Belief::Owned(owner), 7)
        };
        let by_rules = [
            owned(100, 190, 1, 0),
            owned(190, 191, 3, 2),
            owned(191, 1000, 1, 3),
        ];
        let back = State::Alive { owner: Some(1) };
        let said = [word(20, ALIVE), word(21, back)];
        let lane = lane(&said, &by_rules, &[], SessionTime(1000));
        let counters: Vec<_> = lane.iter().rev().take(2).map(|it| it.counter).collect();
        assert_eq!(counters, [Some(3), Some(2)]);
    }

    #[test]
    fn an_object_that_no_message_told_of_has_the_game_s_lane() {
        check(
            &[word(20, ALIVE)],
            &[],
            &[(200, Belief::Owned(3), true, Span::NO_DELIVERY)],
        );
    }

    #[test]
    fn without_an_owner_it_is_the_one_of_the_rules() {
        let by_rules = [
            rule(100, 300, Belief::Owned(1), 7),
            rule(300, 500, Belief::Owned(2), 8),
            rule(500, 1000, Belief::Destroyed, 9),
        ];
        let alive = State::Alive { owner: None };
        check(
            &[word(20, alive)],
            &by_rules,
            &[
                (100, Belief::Owned(1), true, 7),
                (300, Belief::Owned(2), true, 7),
            ],
        );
    }

    #[test]
    fn behind_a_hole_nobody_knows_until_the_next_word() {
        check(
            &[word(20, ALIVE), word(30, State::Unknown), word(40, ALIVE)],
            &[],
            &[
                (200, Belief::Owned(3), true, Span::NO_DELIVERY),
                (300, Belief::Unknown, false, Span::NO_DELIVERY),
                (400, Belief::Owned(3), true, Span::NO_DELIVERY),
            ],
        );
    }
}

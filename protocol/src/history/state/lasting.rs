//! Where what a node believed of a property was none of what the object's owner had said for a while.
//!
//! A value is always behind its owner's by the way of a packet, so that of an object that moves no moment
//! finds the same at both. What is fresh is a value that the owner had not long ago; a difference lasts from
//! the moment at which the owner last had the value in which the node believes.

use std::collections::VecDeque;
use std::ops::Range;

use netreel_wire::PropertyId;

use super::{Apart, Held, Lanes, States, is_value};
use crate::session::{NodeId, SessionTime};

/// A stretch in which a node believed in a value that the owner had not had for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lasting {
    pub object: u64,
    pub property: PropertyId,
    pub owner: NodeId,
    pub node: NodeId,
    /// When the owner last had the value in which the node believes.
    pub from: SessionTime,
    /// When the node had a fresh value again, or the end of what was looked at.
    pub to: SessionTime,
    /// Whether it differed until the end of what was looked at.
    pub stands: bool,
    /// What the owner said when it had lasted for as long as was asked for, and what the node believed.
    pub owned: Held,
    pub held: Held,
    pub apart: Apart,
}

impl Lasting {
    pub fn length_ns(&self) -> i64 {
        self.to.0.saturating_sub(self.from.0)
    }
}

/// Who owned an object when: one node at a time, in order.
pub(crate) type Owned = Vec<(Range<SessionTime>, NodeId)>;

/// A value of the owner, by the row of its lane.
#[derive(Clone, Copy)]
struct Word {
    owner: NodeId,
    row: usize,
    code: u32,
}

/// A stretch of the owners' words; none where nobody owns the object.
type Words = Vec<(Range<SessionTime>, Option<Word>)>;

impl States {
    /// What the owners of an object said of a property, one after the other.
    fn words(&self, object: u64, property: PropertyId, owned: &Owned) -> Words {
        let mut words = Words::new();
        for (part, owner) in owned {
            let Some(lanes) = self.nodes.get(owner) else {
                continue;
            };
            let Some(rows) = lanes.rows(object, property.0) else {
                continue;
            };
            let end = rows.end;
            let first = lanes.row_at(object, property.0, part.start);
            for row in first.unwrap_or(rows.start)..end {
                let from = lanes.time(row).max(part.start);
                let to = if row + 1 < end {
                    lanes.time(row + 1).min(part.end)
                } else {
                    part.end
                };
                if from >= part.end {
                    break;
                }
                let code = lanes.values.get(row) as u32;
                let word = Word {
                    owner: *owner,
                    row,
                    code,
                };
                words.push((from..to, is_value(code).then_some(word)));
            }
        }
        words
    }

    /// The longest stretch in which a node believed of a property in what the owners had not said for
    /// `longest_ns` or more; where none was as long, the one that stands at the end, if it is longer than
    /// `young_ns`. `part` is when both are there.
    pub(crate) fn lasting(
        &self,
        (object, property, node): (u64, PropertyId, NodeId),
        owned: &Owned,
        (longest_ns, young_ns): (i64, i64),
        part: impl Fn(NodeId) -> Range<SessionTime>,
    ) -> Option<Lasting> {
        let own: &Lanes = self.nodes.get(&node)?;
        let rows = own.rows(object, property.0)?;
        let words = self.words(object, property, owned);
        let mut watch = Watch {
            states: self,
            about: (object, property, node),
            longest_ns,
            young_ns,
            recent: VecDeque::new(),
            since: None,
            fresh: None,
            stretch: None,
            found: None,
        };
        let mut row = rows.start;
        let mut end = None;
        let mut latest = None;
        for (when, word) in words {
            let Some(word) = word.filter(|word| word.owner != node) else {
                watch.forget();
                latest = None;
                continue;
            };
            latest = Some(word.code);
            let there = part(word.owner);
            end = Some(there.end);
            let there = there.start.max(when.start)..there.end.min(when.end);
            let mut from = there.start;
            watch.say(word.code, from);
            while from < there.end {
                while row + 1 < rows.end && own.time(row + 1) <= from {
                    row += 1;
                }
                let next = match own.time(row) <= from {
                    true if row + 1 < rows.end => own.time(row + 1),
                    true => SessionTime::MAX,
                    false => own.time(row),
                };
                let to = next.min(there.end);
                let known = (own.time(row) <= from).then(|| own.values.get(row) as u32);
                match known.filter(|&code| is_value(code)) {
                    Some(code) => {
                        let said = own.said.get_some(row).is_some();
                        watch.pass(from..to, word, (row, code, said));
                    }
                    None => watch.lose(),
                }
                from = to;
            }
        }
        // What the node learns at the very moment of the end it knows.
        if let Some((end, word)) = end.zip(latest) {
            while row + 1 < rows.end && own.time(row + 1) <= end {
                row += 1;
            }
            let known = (own.time(row) == end).then(|| own.values.get(row) as u32);
            if let Some(code) = known.filter(|&it| is_value(it) && watch.is_same(word, it)) {
                watch.is_fresh(end, code);
            }
        }
        watch.end(end)
    }
}

/// A walk along the time of an owner's words and a node's beliefs.
struct Watch<'a> {
    states: &'a States,
    about: (u64, PropertyId, NodeId),
    longest_ns: i64,
    young_ns: i64,
    /// What the owner said of late: the value, and until when it had it.
    recent: VecDeque<(u32, SessionTime)>,
    /// Since when the node has known a value while somebody owned the object.
    since: Option<SessionTime>,
    /// When the owner last had the value in which the node believes, and which that is.
    fresh: Option<(SessionTime, u32)>,
    /// The difference under way.
    stretch: Option<Lasting>,
    found: Option<Lasting>,
}

impl Watch<'_> {
    /// Nobody owns the object: what was said before says nothing of what comes.
    fn forget(&mut self) {
        self.recent.clear();
        self.lose();
    }

    /// The node knows no value.
    fn lose(&mut self) {
        self.since = None;
        self.fresh = None;
        self.close();
    }

    /// The owner has another value.
    fn say(&mut self, code: u32, from: SessionTime) {
        self.recent.push_back((code, from));
    }

    fn is_same(&self, one: u32, other: u32) -> bool {
        let (_, property, _) = self.about;
        one == other || self.states.apart_by_code(property, one, other) == Some(Apart::Same)
    }

    /// Until when the owner had a value before the one that it has; `None` where it did not of late.
    fn had(&self, is_it: impl Fn(u32) -> bool) -> Option<SessionTime> {
        let mut before = self.recent.iter().rev().skip(1);
        before.find(|(other, _)| is_it(*other)).map(|&(_, to)| to)
    }

    fn is_fresh(&mut self, at: SessionTime, code: u32) {
        self.fresh = Some((at, code));
        self.close();
    }

    /// Both stood for a while.
    fn pass(
        &mut self,
        time: Range<SessionTime>,
        word: Word,
        (row, code, said): (usize, u32, bool),
    ) {
        let since = time.start.0.saturating_sub(self.longest_ns);
        while self.recent.len() > 1 && self.recent.front().is_some_and(|(_, to)| to.0 < since) {
            self.recent.pop_front();
        }
        if let Some((_, until)) = self.recent.back_mut() {
            *until = time.end;
        }
        let known_since = *self.since.get_or_insert(time.start);
        let before = self.fresh;
        let known = match before {
            Some((at, known)) if known == code => Some(at),
            _ => self.had(|other| other == code).map(|at| at.min(time.start)),
        };
        // What the node did not know yet it did not believe; and where an old message takes it back to a
        // value that it had left behind as well, it differs from then on.
        let before = before.map(|(at, _)| at);
        let later = before.map_or(known_since, |before| before.max(known_since));
        let known = known.map(|at| at.max(later));
        let short_ns = self.young_ns.min(self.longest_ns);
        let lasts = |at: SessionTime| time.end.0.saturating_sub(at.0) >= short_ns;
        if word.code == code {
            return self.is_fresh(time.end, code);
        }
        // No two values are compared before one is old.
        if let Some(at) = known.filter(|at| !lasts(*at)) {
            return self.is_fresh(at, code);
        }
        if self.is_same(word.code, code) {
            return self.is_fresh(time.end, code);
        }
        let fresh = match said {
            // Games say values that lie between those that messages tell: they are far behind only where
            // the owner stands still.
            true => known
                .or(before)
                .unwrap_or(time.start)
                .max(self.stood_since(word.code)),
            false => {
                let near = || self.had(|other| self.is_same(other, code));
                let near = || near().map(|at| at.min(time.start).max(later));
                known.or_else(near).or(before).unwrap_or(time.start)
            }
        };
        self.fresh = Some((fresh, code));
        if self.stretch.as_ref().is_some_and(|it| fresh > it.from) {
            self.close();
        }
        if let Some(stretch) = &mut self.stretch {
            stretch.to = time.end;
        } else if lasts(fresh) {
            self.stretch = self.new_stretch(fresh..time.end, word, row);
        }
    }

    /// Since when the owner has had its value.
    fn stood_since(&self, code: u32) -> SessionTime {
        let mut before = self.recent.iter().rev().skip_while(|(it, _)| *it == code);
        before.next().map_or(SessionTime(i64::MIN), |&(_, to)| to)
    }

    fn new_stretch(&self, time: Range<SessionTime>, word: Word, row: usize) -> Option<Lasting> {
        let (object, property, node) = self.about;
        let held = |node: NodeId, row: usize| {
            let lanes = self.states.nodes.get(&node)?;
            Some(self.states.held(lanes, row))
        };
        let (owned, held) = (held(word.owner, word.row)?, held(node, row)?);
        Some(Lasting {
            object,
            property,
            owner: word.owner,
            node,
            from: time.start,
            to: time.end,
            stands: false,
            apart: self.states.apart_of(property, &owned.value, &held.value)?,
            owned,
            held,
        })
    }

    /// The difference under way is over.
    fn close(&mut self) {
        let Some(stretch) = self.stretch.take() else {
            return;
        };
        let longest = self
            .found
            .as_ref()
            .map_or(self.longest_ns, |it| it.length_ns() + 1);
        if stretch.length_ns() >= longest {
            self.found = Some(stretch);
        }
    }

    /// All is told; `end` is when the last owner and the node were there for the last time. What differed
    /// until the object's end does not stand.
    fn end(mut self, end: Option<SessionTime>) -> Option<Lasting> {
        if self.stretch.as_ref().is_none_or(|it| Some(it.to) != end) {
            self.close();
        }
        let stands = self.stretch.take().map(|it| Lasting { stands: true, ..it });
        match (self.found, stands) {
            (Some(found), Some(stands)) if stands.length_ns() < self.longest_ns => Some(found),
            (_, Some(stands)) => Some(stands),
            (found, None) => found,
        }
    }
}

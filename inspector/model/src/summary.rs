//! What is known at once of every object: how bad it is with it, and what all nodes together believe.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use netreel_protocol::history::{Belief, History, Level, Object};
use netreel_protocol::session::{NodeId, SessionTime};

/// What is believed in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All nodes that know the object believe this.
    Agreed(Belief),
    /// At least one of them believes this, and it is wrong whatever the others believe.
    Somewhere(Belief),
    /// They do not agree.
    Split,
}

/// What is computed once for an object.
pub struct Summary {
    pub object: u64,
    /// The worst finding about it.
    pub level: Option<Level>,
    /// Whether the nodes' last beliefs differ, or one is an orphan.
    pub open: bool,
    /// What all nodes together believe, worked out when it is first drawn.
    merged: OnceLock<Vec<(Range<SessionTime>, Shown)>>,
}

impl Summary {
    pub fn merged(&self, history: &History) -> &[(Range<SessionTime>, Shown)] {
        self.merged.get_or_init(|| {
            history
                .objects
                .get(&self.object)
                .map(merge)
                .unwrap_or_default()
        })
    }
}

/// Summaries of all objects: those with errors first, then by number.
pub fn summaries(history: &History) -> Vec<Summary> {
    let mut levels = BTreeMap::new();
    for finding in &history.findings {
        for &object in &finding.objects {
            let level = levels.entry(object).or_insert(finding.level);
            *level = finding.level.max(*level);
        }
    }
    let mut summaries: Vec<Summary> = history
        .objects
        .iter()
        .map(|(&id, object)| Summary {
            object: id,
            level: levels.get(&id).copied(),
            open: ends_open(object),
            merged: OnceLock::new(),
        })
        .collect();
    summaries.sort_by_key(|summary| {
        let quiet = summary.level != Some(Level::Error) && !summary.open;
        (quiet, summary.object)
    });
    summaries
}

fn ends_open(object: &Object) -> bool {
    let last: Vec<Belief> = object
        .lanes
        .values()
        .filter_map(|spans| spans.last())
        .map(|span| span.belief)
        .collect();
    let orphan = last.iter().any(|b| matches!(b, Belief::Orphaned(_)));
    // A node that left early and one that cannot say prove no disagreement.
    let mut said = last.iter().filter(|belief| **belief != Belief::Unknown);
    let first = said.next();
    orphan || said.any(|belief| Some(belief) != first)
}

/// What all nodes together believe: their spans, cut at every change of any of them.
fn merge(object: &Object) -> Vec<(Range<SessionTime>, Shown)> {
    let mut changes: Vec<(SessionTime, NodeId, Option<Belief>)> = Vec::new();
    for (&node, spans) in &object.lanes {
        for span in spans {
            changes.push((span.time.start, node, Some(span.belief)));
        }
        if let Some(last) = spans.last() {
            changes.push((last.time.end, node, None));
        }
    }
    changes.sort_by_key(|&(time, node, belief)| (time, node, belief.is_none()));
    let mut now: BTreeMap<NodeId, Belief> = BTreeMap::new();
    let mut merged: Vec<(Range<SessionTime>, Shown)> = Vec::new();
    let mut at = 0;
    while let Some(&(time, ..)) = changes.get(at) {
        while let Some(&(same, node, belief)) = changes.get(at) {
            if same != time {
                break;
            }
            match belief {
                Some(belief) => drop(now.insert(node, belief)),
                None => drop(now.remove(&node)),
            }
            at += 1;
        }
        if let Some(open) = merged.last_mut()
            && open.0.end > time
        {
            open.0.end = time;
        }
        let mut beliefs = now.values();
        let Some(&first) = beliefs.next() else {
            continue;
        };
        let orphan = now.values().find(|b| matches!(b, Belief::Orphaned(_)));
        let shown = match orphan {
            Some(&orphan) => Shown::Somewhere(orphan),
            None if beliefs.all(|&belief| belief == first) => Shown::Agreed(first),
            None => Shown::Split,
        };
        match merged.last_mut() {
            Some(open) if open.1 == shown && open.0.end == time => {
                open.0.end = SessionTime(i64::MAX);
            }
            _ => merged.push((time..SessionTime(i64::MAX), shown)),
        }
    }
    merged.retain(|(time, _)| time.start < time.end && time.end.0 < i64::MAX);
    merged
}

#[cfg(test)]
mod tests {
    use netreel_protocol::history::Span;

    use super::*;

    fn span(start: i64, end: i64, belief: Belief) -> Span {
        Span {
            time: SessionTime(start)..SessionTime(end),
            belief,
            counter: None,
            because: 0,
            said: None,
        }
    }

    /// A node and what it believes from when to when.
    type LaneOf<'a> = (u16, &'a [(i64, i64, Belief)]);

    fn object(lanes: &[LaneOf<'_>]) -> Object {
        Object {
            lanes: lanes
                .iter()
                .map(|(node, spans)| {
                    let spans = spans.iter().map(|&(s, e, b)| span(s, e, b)).collect();
                    (NodeId(*node), spans)
                })
                .collect(),
            ..Object::default()
        }
    }

    fn check(object: &Object, expected: &[(i64, i64, Shown)]) {
        let merged: Vec<(i64, i64, Shown)> = merge(object)
            .into_iter()
            .map(|(time, shown)| (time.start.0, time.end.0, shown))
            .collect();
        assert_eq!(merged, expected);
    }

    #[test]
    fn nodes_that_agree_are_one_stretch() {
        let a = Belief::Owned(1);
        check(
            &object(&[(0, &[(10, 90, a)]), (1, &[(20, 100, a)])]),
            &[(10, 100, Shown::Agreed(a))],
        );
    }

    #[test]
    fn a_migration_in_flight_is_a_split() {
        let (a, b) = (Belief::Owned(1), Belief::Owned(2));
        check(
            &object(&[
                (0, &[(0, 50, a), (50, 100, b)]),
                (1, &[(0, 60, a), (60, 100, b)]),
            ]),
            &[
                (0, 50, Shown::Agreed(a)),
                (50, 60, Shown::Split),
                (60, 100, Shown::Agreed(b)),
            ],
        );
    }

    #[test]
    fn an_orphan_or_a_lasting_disagreement_opens_the_object() {
        let a = Belief::Owned(1);
        let agreed = object(&[(0, &[(0, 9, a)]), (1, &[(0, 9, a)])]);
        assert!(!ends_open(&agreed));
        let orphan = object(&[(0, &[(0, 9, Belief::Orphaned(1))])]);
        assert!(ends_open(&orphan));
        let split = object(&[(0, &[(0, 9, a)]), (1, &[(0, 9, Belief::Destroyed)])]);
        assert!(ends_open(&split));
        let unknown = object(&[(0, &[(0, 9, a)]), (1, &[(0, 9, Belief::Unknown)])]);
        assert!(!ends_open(&unknown));
    }
}

//! Findings of one cause are one finding: nine objects that outlive their DESTROY because of one stream
//! are told of in one sentence, and each of them can be opened.
//!
//! A rule says what its finding comes of ([`Found::because`]), in words that name what its objects have in
//! common: a link, a packet, whom a node believes. Findings of one rule, level and node that come of the
//! same and are fixed at the same moment are one. Since all of them are known at that moment, a finding
//! that was called certain does not grow later on.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use crate::figures::listed_few;
use crate::history::{Finding, Instance, Level};
use crate::session::{NodeId, SessionTime};

type Cause = (&'static str, Level, NodeId, Option<SessionTime>, String);

/// The same findings, those of one cause in one.
pub(super) fn together(all: Vec<Found>) -> Vec<Found> {
    let mut joined = Vec::new();
    let mut causes: BTreeMap<Cause, Vec<Found>> = BTreeMap::new();
    for found in all {
        let Some(because) = found.because.clone() else {
            joined.push(found);
            continue;
        };
        let it = &found.finding;
        let cause = (it.rule, it.level, it.node, found.fixed, because);
        causes.entry(cause).or_default().push(found);
    }
    for ((.., because), found) in causes {
        let first = found.first().and_then(|it| it.finding.object());
        let is_one = found.iter().all(|it| it.finding.object() == first);
        if is_one {
            joined.extend(found)
        } else {
            joined.extend(one(found, &because))
        }
    }
    joined
}

/// One finding for several of one cause.
fn one(mut all: Vec<Found>, because: &str) -> Option<Found> {
    all.sort_by_key(|it| (it.finding.time, it.finding.object()));
    let first = all.first()?;
    let (fixed, told) = (first.fixed, &first.finding);
    let (rule, level, node, time) = (told.rule, told.level, told.node, told.time);
    let evidence = told.evidence.clone();
    let each: Vec<Instance> = all.into_iter().map(|it| instance(it.finding)).collect();
    let mut known = BTreeSet::new();
    let objects = each.iter().filter_map(|it| it.object);
    let objects: Vec<u64> = objects.filter(|&object| known.insert(object)).collect();
    let names: Vec<String> = objects.iter().map(u64::to_string).collect();
    let sentence = format!(
        "{} objects ({}) {because}",
        objects.len(),
        listed_few(&names)
    );
    let mut one = Found::new(level, node, time, evidence, sentence).about(objects);
    (one.finding.rule, one.finding.each) = (rule, each);
    Some(one.fixed(fixed))
}

fn instance(finding: Finding) -> Instance {
    Instance {
        node: finding.node,
        object: finding.object(),
        time: finding.time,
        sentence: finding.sentence,
        evidence: finding.evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Evidence;

    fn found(object: u64, time: i64, because: &str) -> Found {
        let (node, time) = (NodeId(1), SessionTime(time));
        let nothing: [Option<Evidence>; 0] = [];
        let sentence = format!("object {object}");
        let found = Found::new(Level::Error, node, time, nothing, sentence).about([object]);
        found.because(because.to_owned())
    }

    fn sentences(all: Vec<Found>) -> Vec<String> {
        let joined = together(all).into_iter();
        joined.map(|it| it.finding.sentence).collect()
    }

    #[test]
    fn findings_of_one_cause_are_one_with_each_to_open() {
        let all = (40..49).map(|object| found(object, 1_000 - object as i64, "outlive it"));
        let joined = together(all.collect());
        let [one] = &joined[..] else {
            panic!("{} findings", joined.len());
        };
        let finding = &one.finding;
        assert_eq!(
            finding.sentence,
            "9 objects (48, 47, 46, 45 and 5 more) outlive it"
        );
        let each: Vec<_> = finding.each.iter().map(|it| it.object).collect();
        assert_eq!(each, (40..49).rev().map(Some).collect::<Vec<_>>());
        assert_eq!((finding.time, finding.objects[0]), (SessionTime(952), 48));
    }

    #[test]
    fn what_comes_of_something_else_is_a_finding_of_its_own() {
        let all = vec![found(1, 5, "a"), found(2, 6, "b"), found(3, 7, "a")];
        assert_eq!(sentences(all), ["2 objects (1 and 3) a", "object 2"]);
        let later = found(2, 6, "a").fixed(Some(SessionTime(9)));
        assert_eq!(
            sentences(vec![found(1, 5, "a"), later]),
            ["object 1", "object 2"]
        );
    }

    #[test]
    fn one_object_twice_is_told_twice() {
        let all = vec![found(1, 5, "a"), found(1, 6, "a")];
        assert_eq!(sentences(all), ["object 1", "object 1"]);
    }
}

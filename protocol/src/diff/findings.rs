//! Findings of two sessions, side by side.

use std::collections::BTreeMap;

use super::sides::ComparedSession;
use crate::history::{Finding, Level};
use crate::session::Session;

/// What makes two findings of two sessions the same: not their times, nor the numbers of their packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Same {
    /// The rule.
    pub rule: &'static str,
    /// The name of the node that saw it.
    pub node: String,
    /// The objects that it is about.
    pub objects: Vec<u64>,
}

/// See [`Same`].
pub fn finding_key(session: &Session, finding: &Finding) -> Same {
    Same {
        rule: finding.rule,
        node: session.name(finding.node),
        objects: finding.objects.clone(),
    }
}

/// Which findings two sessions have in common: places in [`crate::history::History::findings`] of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The first session alone has these, and the second these, in their order.
    pub only: [Vec<usize>; 2],
    /// Both have these, in the order of the second.
    pub both: Vec<[usize; 2]>,
    /// Of these the level is another one, with the levels: places in [`Findings::both`].
    pub levels: Vec<(usize, [Level; 2])>,
}

impl Findings {
    pub(super) fn new(sides: [ComparedSession<'_>; 2]) -> Findings {
        let [one, other] = sides.map(|side| {
            let findings = side.history.findings.iter();
            let keys = findings.map(|it| (finding_key(side.session, it), it.level));
            keys.collect::<Vec<_>>()
        });
        Findings::of(&one, &other)
    }

    /// The same of findings that were noted before, each with its level.
    pub fn of(one: &[(Same, Level)], other: &[(Same, Level)]) -> Findings {
        let mut were: BTreeMap<&Same, Vec<usize>> = BTreeMap::new();
        for (place, (same, _)) in one.iter().enumerate().rev() {
            were.entry(same).or_default().push(place);
        }
        let mut findings = Findings::default();
        for (place, (same, level)) in other.iter().enumerate() {
            match were.get_mut(same).and_then(Vec::pop) {
                None => findings.only[1].push(place),
                Some(was) => {
                    let level_before = one.get(was).map_or(*level, |&(_, level)| level);
                    if level_before != *level {
                        let both = findings.both.len();
                        findings.levels.push((both, [level_before, *level]));
                    }
                    findings.both.push([was, place]);
                }
            }
        }
        findings.only[0] = were.into_values().flatten().collect();
        findings.only[0].sort_unstable();
        findings
    }

    /// Whether both sessions have the same.
    pub fn is_same(&self) -> bool {
        self.only.iter().all(Vec::is_empty) && self.levels.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: &'static str, object: u64, level: Level) -> (Same, Level) {
        let same = Same {
            rule,
            node: "X".to_owned(),
            objects: vec![object],
        };
        (same, level)
    }

    #[test]
    fn the_first_of_several_that_are_the_same_is_the_first() {
        let zombie = found("zombie-object", 42, Level::Error);
        let twice = [zombie.clone(), zombie.clone()];
        let findings = Findings::of(&twice, &[zombie]);
        assert_eq!(findings.both, [[0, 0]]);
        assert_eq!(findings.only, [vec![1], vec![]]);
    }

    #[test]
    fn a_finding_of_another_level_is_the_same_finding() {
        let before = [found("two-owners", 7, Level::Error)];
        let after = [
            found("two-owners", 7, Level::Info),
            found("two-owners", 8, Level::Info),
        ];
        let findings = Findings::of(&before, &after);
        assert_eq!(findings.levels, [(0, [Level::Error, Level::Info])]);
        assert_eq!(findings.only, [vec![], vec![1]]);
        assert!(!findings.is_same());
    }
}

//! Rules that somebody does not want to see: their findings leave the list and the marks. What the
//! session comes to stays as it was.

use std::collections::BTreeSet;
use std::sync::Arc;

use netreel_protocol::history::{Finding, Level};
use netreel_protocol::session::PacketId;

use crate::Model;
use crate::judged::{Findings, Marks};

/// Names of rules.
pub type Rules = Arc<BTreeSet<String>>;

/// A muted rule that has found something in this session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutedRow {
    /// `late-action`
    pub rule: &'static str,
    /// How many findings it has here.
    pub findings: usize,
}

/// What is muted, and what that leaves.
#[derive(Default)]
pub struct Muted {
    rules: Rules,
    /// `None` where nothing that was found here is muted.
    left: Option<Left>,
}

/// What is left where some findings are muted.
struct Left {
    all: Findings,
    /// Those of them that the filter takes, where it leaves some out.
    taken: Option<Findings>,
    marks: Marks,
}

impl Model {
    /// The rules that are muted, whether they have found something here or not.
    pub fn muted(&self) -> &Rules {
        &self.muted.rules
    }

    /// Mutes these rules and no others. Whoever has not looked around yet is shown the story that is
    /// left.
    pub fn set_muted(&mut self, rules: Rules) {
        if self.muted.rules == rules {
            return;
        }
        self.muted.rules = rules;
        self.arrange_findings();
        let told = self.selection.finding;
        if !self.is_looked_at && !self.lacks_history() {
            self.select_nothing();
            self.open_story();
        } else if told.is_some_and(|told| self.is_muted(told)) {
            self.end_story();
        }
    }

    pub(crate) fn mute(&mut self, rule: &str, is_muted: bool) {
        let mut rules = BTreeSet::clone(&self.muted.rules);
        if is_muted {
            rules.insert(rule.to_owned())
        } else {
            rules.remove(rule)
        };
        self.set_muted(rules.into());
    }

    /// The muted rules that have found something here, by name.
    pub fn muted_rows(&self) -> Vec<MutedRow> {
        let muted = self
            .judged
            .rule_counts
            .iter()
            .filter(|(rule, _)| self.muted.rules.contains(**rule));
        let row = |(&rule, &findings)| MutedRow { rule, findings };
        muted.map(row).collect()
    }

    /// The rules that have found something here and are not muted, by name.
    pub fn heard_rules(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.judged
            .rule_counts
            .keys()
            .copied()
            .filter(|rule| !self.muted.rules.contains(*rule))
    }

    /// Whether a finding is one of a muted rule: its place in the history.
    pub fn is_muted(&self, finding: usize) -> bool {
        self.finding(finding)
            .is_some_and(|it| self.muted.rules.contains(it.rule))
    }

    /// These findings, but for those of muted rules.
    fn heard(&self, findings: &Findings) -> Findings {
        Findings::of(
            findings
                .order
                .iter()
                .copied()
                .filter(|&place| !self.is_muted(place)),
        )
    }

    /// The findings that are not muted, in the order of their list.
    pub(crate) fn heard_findings(&self) -> &[usize] {
        let left = self.muted.left.as_ref();
        &left.map_or(&self.judged.findings, |left| &left.all).order
    }

    /// The findings of the list: those that are not muted and that the filter takes.
    fn listed(&self) -> &Findings {
        match (&self.muted.left, self.filter.findings()) {
            (Some(left), _) => left.taken.as_ref().unwrap_or(&left.all),
            (None, Some(taken)) => taken,
            (None, None) => &self.judged.findings,
        }
    }

    /// The same in the order of the list.
    pub(crate) fn listed_findings(&self) -> &[usize] {
        &self.listed().order
    }

    /// Where a finding stands in the list; `None` where the filter leaves it out or its rule is muted.
    pub fn finding_place(&self, finding: usize) -> Option<usize> {
        self.listed().place(finding)
    }

    /// What findings leave on lanes and packets, without those that are muted.
    pub(crate) fn finding_marks(&self) -> &Marks {
        let left = self.muted.left.as_ref();
        left.map_or(&self.judged.marks, |left| &left.marks)
    }

    /// The worst finding that a packet proves, of those that are not muted.
    pub(crate) fn worst(&self, packet: PacketId) -> Option<Level> {
        self.finding_marks().worst(packet)
    }

    /// Leaves the muted findings out of what was found, or brings them back.
    pub(crate) fn arrange_findings(&mut self) {
        let rules = &self.muted.rules;
        let hides = self.judged.rule_counts.keys().any(|it| rules.contains(*it));
        if !hides && self.muted.left.is_none() {
            return;
        }
        let is_heard = |finding: &Finding| !rules.contains(finding.rule);
        self.muted.left = hides.then(|| Left {
            all: self.heard(&self.judged.findings),
            taken: self.filter.findings().map(|taken| self.heard(taken)),
            marks: Marks::of(&self.session, &self.judged.history, &is_heard),
        });
        // Levels of packets and flags are others from now on.
        self.seen = Default::default();
        self.minimap = Default::default();
    }

    /// Leaves the muted findings out of what the filter takes by now.
    pub(crate) fn arrange_taken(&mut self) {
        let taken = self.filter.findings().map(|taken| self.heard(taken));
        if let Some(left) = &mut self.muted.left {
            left.taken = taken;
        }
    }

    /// How many bytes of memory is taken by what is left of the marks.
    pub(crate) fn muted_memory(&self) -> usize {
        self.muted
            .left
            .as_ref()
            .map_or(0, |left| left.marks.memory())
    }
}

//! What was found: judged as strictly as a recording.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use netreel_protocol::diff::Same;
use netreel_protocol::session::Session;
use netreel_replay::explore::{
    Change, Cut, Ground, MakeNode, Outcome, Runner, Swap, Wrong, tighten,
};
use serde::{Deserialize, Serialize};

use super::anew::{Anew, CheckedError, Written};
use crate::outcome::{Failure, Result};

/// Judges runs: by what nodes believe at the end, and by the rules of `netreel check`.
pub struct Judge<'a> {
    anew: Anew,
    /// What is found without changes too.
    known: BTreeSet<Same>,
    /// One node alone makes no session.
    alone: bool,
    /// Plays the same session for longer: what nodes part in for good.
    patient: Patient<'a>,
}

/// Nodes that part may only not be at rest yet: they play on for so many times as long.
const PATIENCE: u32 = 4;

/// Plays a session until even what takes long has come, once that is asked for.
struct Patient<'a> {
    make: &'a dyn Fn() -> Box<MakeNode<'a, Failure>>,
    runner: Option<Runner<'a, Failure>>,
}

impl<'a> Patient<'a> {
    fn runner(&mut self, ground: &Ground) -> Result<&mut Runner<'a, Failure>> {
        let runner = match self.runner.take() {
            Some(runner) => runner,
            None => {
                let ground = ground.resting(ground.rest().saturating_mul(PATIENCE));
                Runner::new(Arc::new(ground), (self.make)())?.0
            }
        };
        Ok(self.runner.insert(runner))
    }
}

/// A way that came to something wrong.
pub struct Found {
    pub changes: Vec<Change>,
    pub outcome: Outcome,
    pub swaps: Vec<Swap>,
    pub findings: Vec<CheckedError>,
    /// Whether all nodes are live in it: it is a session.
    pub confirmed: bool,
    /// The number of the run that found it.
    pub run: u64,
    reels: Written,
    pub folder: Option<PathBuf>,
}

impl<'a> Judge<'a> {
    /// Plays the session without changes, to know what is found in it.
    pub fn new(
        runner: &mut Runner<'_, Failure>,
        session: &Session,
        alone: bool,
        make: &'a dyn Fn() -> Box<MakeNode<'a, Failure>>,
    ) -> Result<Judge<'a>> {
        let ground = Arc::clone(runner.ground());
        let anew = Anew::new(&ground, session, "explore");
        let mut known = BTreeSet::new();
        if !alone {
            let (reels, ..) = anew.written(runner, &[], &Cut::nothing(&ground))?;
            let findings = anew.findings(&reels)?.into_iter();
            known = findings.map(|it| it.key).collect();
        }
        let patient = Patient { make, runner: None };
        Ok(Judge {
            anew,
            known,
            alone,
            patient,
        })
    }

    /// What a run is, as short as it can be; `None` where nothing is wrong with it.
    pub fn judged(
        &mut self,
        runner: &mut Runner<'_, Failure>,
        wrong: &Wrong,
    ) -> Result<Option<Found>> {
        let outcome = Outcome::of(&wrong.ran);
        let says = wrong.ran.is_wrong();
        let mut changes = wrong.changes.clone();
        if says && !self.alone && !self.stays(&changes, &outcome)? {
            return Ok(None);
        }
        if says {
            let tight = tighten(runner, &changes, &outcome)?;
            if self.alone || tight == changes || self.stays(&tight, &outcome)? {
                changes = tight;
            }
        }
        let swaps = match &self.anew.wire {
            Some(wire) => runner.swaps(&changes, wire)?,
            None => Vec::new(),
        };
        let mut found = Found {
            changes,
            outcome,
            swaps,
            findings: Vec::new(),
            confirmed: !self.alone,
            run: wrong.run,
            reels: Written::default(),
            folder: None,
        };
        if !self.alone {
            let whole = Cut::nothing(&self.anew.ground);
            (found.reels, ..) = self.anew.written(runner, &found.changes, &whole)?;
            let findings = self.anew.findings(&found.reels)?.into_iter();
            found.findings = findings
                .filter(|it| !self.known.contains(&it.key))
                .collect();
        }
        Ok((says || !found.findings.is_empty()).then_some(found))
    }

    /// Whether what is wrong with a run is so as well when nodes play on for longer.
    fn stays(&mut self, changes: &[Change], outcome: &Outcome) -> Result<bool> {
        let patient = self.patient.runner(&self.anew.ground)?;
        Ok(outcome.is_in(&Outcome::of(&patient.ran(changes)?)))
    }
}

/// What was found before, as far as it is told from what is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// What nodes believed, and layers said, in words that differ where those differ.
    outcome: String,
    /// Rule, node and objects of each error.
    errors: BTreeSet<(String, String, Vec<u64>)>,
}

impl Known {
    pub fn of(found: &Found) -> Known {
        let errors = found.findings.iter().map(|it| {
            let Same {
                rule,
                node,
                objects,
            } = it.key.clone();
            (rule.to_owned(), node, objects)
        });
        Known {
            outcome: format!("{:?}", found.outcome),
            errors: errors.collect(),
        }
    }

    /// Whether another way came to the same: all that is wrong there is wrong here.
    pub fn has(&self, other: &Known) -> bool {
        self.outcome == other.outcome && other.errors.is_subset(&self.errors)
    }
}

impl Found {
    /// Whether check finds an error of this rule in it.
    pub fn has(&self, rule: &str) -> bool {
        self.findings.iter().any(|it| it.rule == rule)
    }

    /// Writes its reels.
    pub fn write(&mut self, folder: PathBuf) -> Result {
        self.reels.write(&folder)?;
        self.folder = Some(folder);
        Ok(())
    }
}

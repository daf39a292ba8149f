//! What was found: judged as strictly as a recording.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use netreel_protocol::diff::Same;
use netreel_protocol::session::Session;
use netreel_replay::explore::{Change, Cut, Ground, Outcome, Runner, Swap, Wrong, tighten};

use super::anew::{Anew, Told, Written};
use crate::outcome::Failure;

/// Judges runs: by what nodes believe at the end, and by the rules of `netreel check`.
pub struct Judge<'a> {
    anew: Anew<'a>,
    /// What is found without changes too.
    known: BTreeSet<Same>,
    /// One node alone makes no session.
    alone: bool,
}

/// A way that came to something wrong.
pub struct Found {
    pub changes: Vec<Change>,
    pub outcome: Outcome,
    pub swaps: Vec<Swap>,
    pub findings: Vec<Told>,
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
        ground: &'a Arc<Ground>,
        session: &Session,
        alone: bool,
    ) -> Result<Judge<'a>, Failure> {
        let anew = Anew::new(ground, session, "explore");
        let mut known = BTreeSet::new();
        if !alone {
            let (reels, ..) = anew.written(runner, &[], &Cut::nothing(ground))?;
            let findings = anew.findings(&reels)?.into_iter();
            known = findings.map(|it| it.key).collect();
        }
        Ok(Judge { anew, known, alone })
    }

    /// What a run is, as short as it can be; `None` where nothing is wrong with it.
    pub fn judged(
        &self,
        runner: &mut Runner<'_, Failure>,
        wrong: &Wrong,
    ) -> Result<Option<Found>, Failure> {
        let outcome = Outcome::of(&wrong.ran);
        let says = wrong.ran.is_wrong();
        let changes = match says {
            true => tighten(runner, &wrong.changes, &outcome)?,
            false => wrong.changes.clone(),
        };
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
            let whole = Cut::nothing(self.anew.ground);
            (found.reels, ..) = self.anew.written(runner, &found.changes, &whole)?;
            let findings = self.anew.findings(&found.reels)?.into_iter();
            found.findings = findings
                .filter(|it| !self.known.contains(&it.key))
                .collect();
        }
        Ok((says || !found.findings.is_empty()).then_some(found))
    }
}

impl Found {
    /// Whether another way came to the same: all that is wrong here is wrong there.
    pub fn is_like(&self, other: &Found) -> bool {
        let rules = |found: &Found| {
            found
                .findings
                .iter()
                .map(|it| it.key.clone())
                .collect::<BTreeSet<_>>()
        };
        self.outcome == other.outcome && rules(other).is_subset(&rules(self))
    }

    /// Writes its reels.
    pub fn write(&mut self, folder: PathBuf) -> Result<(), Failure> {
        self.reels.write(&folder)?;
        self.folder = Some(folder);
        Ok(())
    }
}

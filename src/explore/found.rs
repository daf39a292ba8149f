//! What was found: judged as strictly as a recording.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_protocol::diff::{Same, finding_key};
use netreel_protocol::export;
use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{Header, Reel};
use netreel_replay::explore::{Change, Ground, Outcome, Runner, Swap, Wrong, tighten};
use netreel_replay::together::Reels;
use netreel_wire::Wire;
use serde_json::Value;

use crate::outcome::Failure;
use crate::replay::together;

/// Judges runs: by what nodes believe at the end, and by the rules of `netreel check`.
pub struct Judge<'a> {
    ground: &'a Arc<Ground>,
    wire: Option<Arc<Wire>>,
    /// What is found without changes too.
    known: BTreeSet<Same>,
    /// One node alone makes no session.
    alone: bool,
}

/// An error of a run that the recording has not.
#[derive(Clone, Debug)]
pub struct Told {
    pub key: Same,
    pub rule: &'static str,
    pub sentence: String,
    pub json: Value,
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
    /// The reels, by the names of their nodes.
    reels: Vec<(String, Vec<u8>)>,
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
        let mut judge = Judge {
            ground,
            wire: session.wire.clone(),
            known: BTreeSet::new(),
            alone,
        };
        if !alone {
            let reels = judge.written(runner, &[])?;
            judge.known = judge
                .findings(&reels)?
                .into_iter()
                .map(|it| it.key)
                .collect();
        }
        Ok(judge)
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
        let swaps = match &self.wire {
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
            reels: Vec::new(),
            folder: None,
        };
        if !self.alone {
            found.reels = self.written(runner, &found.changes)?;
            let findings = self.findings(&found.reels)?.into_iter();
            found.findings = findings
                .filter(|it| !self.known.contains(&it.key))
                .collect();
        }
        Ok((says || !found.findings.is_empty()).then_some(found))
    }

    fn written(
        &self,
        runner: &mut Runner<'_, Failure>,
        changes: &[Change],
    ) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let names: Vec<String> = self.ground.names().map(str::to_owned).collect();
        let headers = (0..names.len()).map(|node| {
            let reel = self.ground.reel(node)?;
            let recorded = reel.header().clone();
            let session = together::session_id(recorded.session, &format!("{changes:?}"), 1);
            let header = Header {
                session,
                redacted: None,
                ..recorded
            };
            Some((header, Vec::new()))
        });
        let memory =
            |error: netreel_reel::WriteError| Failure::new(format!("the new reels: {error}"));
        let reels = Reels::create(headers.collect()).map_err(memory)?;
        runner.write(changes, Box::new(reels.clone()))?;
        let name = |node: usize| super::name(self.ground, node);
        let words: Vec<String> = changes
            .iter()
            .map(|it| it.words(&name).to_string())
            .collect();
        let words = match words.is_empty() {
            true => "nothing changed".to_owned(),
            false => words.join("; "),
        };
        let note = format!("played anew (netreel explore): {words}");
        let written = reels.finish(&note, |_| false).map_err(memory)?;
        let named = names.into_iter().zip(written);
        Ok(named
            .filter_map(|(name, reel)| Some((name, reel?)))
            .collect())
    }

    /// The errors of a session.
    fn findings(&self, reels: &[(String, Vec<u8>)]) -> Result<Vec<Told>, Failure> {
        let mut inputs = Vec::new();
        for (name, bytes) in reels {
            let reel = Reel::from_bytes(bytes.clone()).map_err(Failure::new)?;
            inputs.push(ReelInput {
                name: name.clone(),
                reel: Arc::new(reel),
            });
        }
        let session = Session::build(inputs, self.wire.clone()).map_err(Failure::new)?;
        let history = History::build(&session);
        let errors = history
            .findings
            .iter()
            .filter(|it| it.level == Level::Error);
        Ok(errors.map(|finding| told(&session, finding)).collect())
    }
}

fn told(session: &Session, finding: &Finding) -> Told {
    Told {
        key: finding_key(session, finding),
        rule: finding.rule,
        sentence: finding.sentence.clone(),
        json: serde_json::json!(export::finding(session, finding)),
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
    pub fn write(&mut self, folder: &Path) -> Result<(), Failure> {
        let at = |path: &Path, error: std::io::Error| {
            Failure::new(format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        let mut names = together::Names::default();
        for (name, bytes) in &self.reels {
            let path = names.file(folder, name);
            std::fs::write(&path, bytes).map_err(|error| at(&path, error))?;
        }
        self.folder = Some(folder.to_owned());
        Ok(())
    }
}

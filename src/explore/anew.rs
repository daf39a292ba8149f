//! Sessions that are played anew, in memory, and judged as recordings are; and what is found so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_protocol::diff::{Same, finding_key};
use netreel_protocol::export;
use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{Header, Reel, WriteError};
use netreel_replay::explore::{
    Change, Cut, Ground, MakeNode, Outcome, PacketId, Ran, Runner, Swap, Wrong, tighten,
};
use netreel_replay::together::Reels;
use netreel_wire::Wire;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::{Failure, Result};
use crate::replay::together;

/// Plays a session anew.
pub struct Anew {
    pub ground: Arc<Ground>,
    pub wire: Option<Arc<Wire>>,
    /// For whom, in the note at the end of each reel.
    command: &'static str,
}

/// The reels of a session, by the names of their nodes.
#[derive(Clone, Default)]
pub struct Written(pub Vec<(String, Vec<u8>)>);

/// The folder of a match that was played first, beside what was found.
pub const PLAYED: &str = "played";

/// An error that check finds in a session.
#[derive(Clone, Debug)]
pub struct CheckedError {
    pub key: Same,
    pub rule: &'static str,
    pub sentence: String,
    /// What proves it, and at which node: `MIGRATE dropped` at X. Several of a kind in a row are one.
    pub evidence: Vec<(String, String)>,
    pub json: Value,
}

impl Anew {
    pub fn new(ground: &Arc<Ground>, session: &Session, command: &'static str) -> Anew {
        Anew {
            ground: Arc::clone(ground),
            wire: session.wire.clone(),
            command,
        }
    }

    /// The reels of a run with these changes and without what is cut; what it came to, and the packets that
    /// were delivered.
    pub fn written(
        &self,
        runner: &mut Runner<'_, Failure>,
        changes: &[Change],
        cut: &Cut,
    ) -> Result<(Written, Ran, Vec<PacketId>)> {
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
        let memory = |error: WriteError| Failure::new(format!("the new reels: {error}"));
        let reels = Reels::create(headers.collect()).map_err(memory)?;
        let (ran, packets) = runner.write(changes, cut, Box::new(reels.clone()))?;
        let name = |node: usize| self.ground.name(node).to_owned();
        let words: Vec<String> = changes.iter().map(|it| it.words(&name)).collect();
        let words = if words.is_empty() {
            "nothing changed".to_owned()
        } else {
            words.join("; ")
        };
        let note = format!("played anew (netreel {}): {words}", self.command);
        let written = reels.finish(&note, |_| false).map_err(memory)?;
        let named = names.into_iter().zip(written);
        let written = named
            .filter_map(|(name, reel)| Some((name, reel?)))
            .collect();
        Ok((Written(written), ran, packets))
    }

    /// Of what was written, the session.
    pub fn session(&self, reels: &Written) -> Result<Session> {
        reels.session(self.wire.clone())
    }

    /// The errors of what was written.
    pub fn findings(&self, reels: &Written) -> Result<Vec<CheckedError>> {
        let session = self.session(reels)?;
        let history = History::build(&session);
        let errors = history
            .findings
            .iter()
            .filter(|it| it.level == Level::Error);
        Ok(errors.map(|finding| told(&session, finding)).collect())
    }
}

/// What proves a finding, without what differs from session to session.
pub fn evidence(session: &Session, finding: &Finding) -> Vec<(String, String)> {
    let evidence = finding.evidence.iter();
    let mut all: Vec<_> = evidence
        .map(|it| (it.what.clone(), session.name(it.node)))
        .collect();
    all.dedup();
    all
}

fn told(session: &Session, finding: &Finding) -> CheckedError {
    CheckedError {
        key: finding_key(session, finding),
        rule: finding.rule,
        sentence: finding.sentence.clone(),
        evidence: evidence(session, finding),
        json: serde_json::json!(export::finding(session, finding)),
    }
}

impl Written {
    /// The session that they are.
    pub fn session(&self, wire: Option<Arc<Wire>>) -> Result<Session> {
        let mut inputs = Vec::new();
        for (name, bytes) in &self.0 {
            let reel = Reel::from_bytes(bytes.clone())?;
            inputs.push(ReelInput {
                name: name.clone(),
                reel: Arc::new(reel),
            });
        }
        Ok(Session::builder().wire(wire).build(inputs)?)
    }

    /// Writes each into a file of its node's name.
    pub fn write(&self, folder: &Path) -> Result {
        std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
        let mut names = together::Names::default();
        for (name, bytes) in &self.0 {
            let path = names.file(folder, name);
            std::fs::write(&path, bytes).map_err(|error| Failure::at(&path, error))?;
        }
        Ok(())
    }

    /// How large they are together.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|it| it.1.len() as u64).sum()
    }
}

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

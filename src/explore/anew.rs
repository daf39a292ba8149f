//! Sessions that are played anew, in memory, and judged as recordings are.

use std::path::Path;
use std::sync::Arc;

use netreel_protocol::diff::{Same, finding_key};
use netreel_protocol::export;
use netreel_protocol::history::{Finding, History, Level};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{Header, Reel, WriteError};
use netreel_replay::explore::{Change, Cut, Ground, PacketId, Ran, Runner};
use netreel_replay::together::Reels;
use netreel_wire::Wire;
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
            let reel = Reel::from_bytes(bytes.clone()).map_err(Failure::new)?;
            inputs.push(ReelInput {
                name: name.clone(),
                reel: Arc::new(reel),
            });
        }
        Session::builder()
            .wire(wire)
            .build(inputs)
            .map_err(Failure::new)
    }

    /// Writes each into a file of its node's name.
    pub fn write(&self, folder: &Path) -> Result {
        let at = |path: &Path, error: std::io::Error| Failure::at(path, error);
        std::fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        let mut names = together::Names::default();
        for (name, bytes) in &self.0 {
            let path = names.file(folder, name);
            std::fs::write(&path, bytes).map_err(|error| at(&path, error))?;
        }
        Ok(())
    }

    /// How large they are together.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|it| it.1.len() as u64).sum()
    }
}

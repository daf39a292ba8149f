//! Runs of small programs for tests.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use netreel_scenario::{
    AskedState, Believed, Found, Judged, Loop, Match, Notes, Outcome, PlayError, RunNews, Scenario,
    repeat,
};
use netreel_system::Cancel;

/// A node that answers each line with its name and the line, and ends at `crash`.
pub const ECHO: &str = r#"
[every]
command = ["sh", "-c", "while read line; do case $line in crash) exit 3;; esac; echo {node} $line; done"]
console = "stdin"
"#;

pub struct Bench {
    pub folder: tempfile::TempDir,
    pub noted: Arc<Mutex<Vec<String>>>,
    pub told: Mutex<Vec<String>>,
    pub cancel: Cancel,
    pub findings: Vec<Found>,
    /// What is believed of whatever is asked.
    pub believed: Believed,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            folder: tempfile::tempdir().unwrap(),
            noted: Arc::default(),
            told: Mutex::default(),
            cancel: Cancel::default(),
            findings: Vec::new(),
            believed: Believed::default(),
        }
    }

    pub fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// A scenario with nodes A and B that echo.
    pub fn scenario(&self, script: &str) -> Scenario {
        let nodes = "[[node]]\nname = \"A\"\n[[node]]\nname = \"B\"\nrole = \"guest\"\n";
        self.read(&format!(
            "limit = 20.0\nscript = '''\n{script}\n'''\n{ECHO}{nodes}"
        ))
    }

    pub fn read(&self, text: &str) -> Scenario {
        let path = self.folder.path().join("it.toml");
        std::fs::write(&path, text).unwrap();
        Scenario::read(&path, &[]).unwrap_or_else(|mistake| panic!("{mistake}"))
    }

    pub fn repeat(&self, scenario: &Scenario, matches: u64) -> Result<Vec<Match>, PlayError> {
        self.repeat_by(scenario, matches, |_| {})
    }

    pub fn repeat_by(
        &self,
        scenario: &Scenario,
        matches: u64,
        change: impl FnOnce(&mut Loop<'_>),
    ) -> Result<Vec<Match>, PlayError> {
        let tell = |told: RunNews<'_>| {
            if let RunNews::Line(_, line) = told {
                self.told.lock().unwrap().push(line.to_owned());
            }
        };
        let notes = |_: &Path, _: u64, _: &[(String, String)]| -> Result<Notes, String> {
            let noted = Arc::clone(&self.noted);
            Ok(Box::new(move |text| {
                noted.lock().unwrap().push(text.to_owned())
            }))
        };
        let judge = |_: &Path, asked: &[AskedState]| {
            Ok(Judged {
                verdict: "clean".to_owned(),
                findings: self.findings.clone(),
                believed: vec![self.believed.clone(); asked.len()],
                ..Judged::default()
            })
        };
        let folder = self.run_folder();
        let mut wants = Loop {
            scenario,
            folder: &folder,
            matches,
            part: (1, 1),
            jobs: 1,
            seed: 1,
            level: "error",
            ends_at_bad: false,
            keeps_good: false,
            netreel: Path::new("netreel"),
            debugs: None,
            cancel: &self.cancel,
            tell: &tell,
            notes: &notes,
            network: &|_, _, _| Err("nobody makes networks here".to_owned()),
            judge: &judge,
            rules: &["zombie-object"],
        };
        change(&mut wants);
        repeat(&wants)
    }

    /// How the one match of a script ends.
    pub fn outcome(&self, script: &str) -> Outcome {
        let scenario = self.scenario(script);
        let mut matches = self.repeat(&scenario, 1).unwrap();
        matches.remove(0).outcome
    }

    pub fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

/// Why a match failed.
#[track_caller]
pub fn why(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed(why) => why,
        other => panic!("it did not fail: {other:?}"),
    }
}

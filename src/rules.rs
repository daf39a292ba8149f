//! `netreel rules`: what a file of rules has, and whether its tests pass.

use std::io::Write;
use std::path::{Path, PathBuf};

use netreel_protocol::history::History;
use netreel_protocol::rules::{self, RuleFile};
use netreel_protocol::session::Session;

use crate::arguments::Rules;
use crate::outcome::{Answer, Failure, Result};
use crate::{open, text};

pub fn run(arguments: &Rules, out: &mut dyn Write) -> Result<Answer> {
    let file = read(&arguments.file)?;
    let mut failed = 0;
    for name in &file.tests {
        match file.test(name) {
            Ok(()) => writeln!(out, "passed  {name}")?,
            Err(error) => {
                failed += 1;
                writeln!(out, "FAILED  {name}: {error}")?;
            }
        }
    }
    let rules = text::counted(file.rules.len(), "rule");
    let tests = text::counted(file.tests.len(), "test");
    writeln!(
        out,
        "{rules} ({}), {tests}, {failed} failed",
        file.rules.join(", ")
    )?;
    Ok(Answer::clean_if(failed == 0))
}

/// The rules of a file, whose tests have passed.
#[derive(Clone)]
pub struct Tested {
    path: PathBuf,
    pub file: RuleFile,
}

impl Tested {
    /// Those that were named.
    pub fn named(path: Option<&Path>) -> Result<Option<Tested>> {
        path.map(Tested::read).transpose()
    }

    fn read(path: &Path) -> Result<Tested> {
        let file = read(path)?;
        for name in &file.tests {
            file.test(name).map_err(|error| {
                format!(
                    "{}: its test {name:?} fails: {error}; see them all with netreel rules",
                    path.display()
                )
            })?;
        }
        let path = path.to_owned();
        Ok(Tested { path, file })
    }

    /// Adds what they find.
    pub fn add(&self, session: &Session, history: &mut History) -> Result {
        let found = rules::find(&self.file, session, history);
        history.add_findings(found.map_err(|error| Failure::at(&self.path, error))?);
        Ok(())
    }
}

fn read(path: &Path) -> Result<RuleFile> {
    rules::parse(&open::text_at(path)?).map_err(|error| Failure::at(path, error))
}

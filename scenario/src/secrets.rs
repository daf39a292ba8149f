//! Values that a match needs and nobody else may read: passwords, keys of accounts.
//!
//! They come from files or from the runner's environment. A node is given the path of a file with one, never
//! the value, so that no command line and no recording of a start has it. Whatever the runner writes down has
//! three stars in its place.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use netreel_system::file::{private_file, private_folder};

use crate::journal::{Begun, Journal};
use crate::mistake::about;

/// Shorter ones would be found in whatever a node prints. Bytes.
const BYTES_MIN: usize = 4;

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first line of this file.
    File(PathBuf),
    /// A variable of the runner's environment.
    Environment(String),
}

/// The secrets of a run.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The files that nodes are told of, by name.
    files: BTreeMap<String, PathBuf>,
    /// The values, the longest first.
    values: Vec<String>,
    /// The folder of those that were in no file.
    folder: Option<(PathBuf, Begun)>,
}

impl Secrets {
    /// Reads all of a scenario. What is in no file goes into one that the runner's user alone can read, and
    /// that is there only while the run goes on.
    ///
    /// # Errors
    /// A secret that is not there or too short to be hidden; which, never what it is.
    pub fn read(sources: &BTreeMap<String, Source>, journal: &Journal) -> Result<Secrets, String> {
        let mut secrets = Secrets::default();
        for (name, source) in sources {
            let told = about(format!("the secret {name}"));
            let (value, file) = match source {
                Source::File(file) => {
                    let text = std::fs::read_to_string(file).map_err(about(file.display()));
                    let text = text.map_err(&told)?;
                    (first_line(&text), file.clone())
                }
                Source::Environment(variable) => {
                    let value = std::env::var(variable);
                    let value = value.map_err(about(format!("the variable {variable}")));
                    let value = value.map_err(&told)?;
                    let value = first_line(&value);
                    let file = secrets.kept(name, &value, journal);
                    (value, file.map_err(|error| told(error.to_string()))?)
                }
            };
            if value.len() < BYTES_MIN {
                return Err(told(format!(
                    "it has {} bytes, and what is shorter than {BYTES_MIN} cannot be hidden",
                    value.len()
                )));
            }
            secrets.files.insert(name.clone(), file);
            secrets.values.push(value);
        }
        secrets
            .values
            .sort_by_key(|value| std::cmp::Reverse(value.len()));
        Ok(secrets)
    }

    fn kept(&mut self, name: &str, value: &str, journal: &Journal) -> std::io::Result<PathBuf> {
        let folder = match &self.folder {
            Some((folder, _)) => folder.clone(),
            None => {
                let own = format!("netreel-secrets-{}", journal.run_mark());
                let folder = std::env::temp_dir().join(own);
                let begun = journal.folder(&folder)?;
                private_folder(&folder)?;
                self.folder = Some((folder.clone(), begun));
                folder
            }
        };
        let path = folder.join(name);
        let mut file = private_file(&path)?;
        writeln!(file, "{value}")?;
        Ok(path)
    }

    /// The run is over: takes away what was written.
    pub fn forget(&self, journal: &Journal) {
        if let Some((folder, begun)) = &self.folder
            && std::fs::remove_dir_all(folder).is_ok()
        {
            journal.undone(*begun);
        }
    }

    /// The file that has a secret.
    pub fn file(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(PathBuf::as_path)
    }

    /// A text in which no secret is.
    pub fn hide(&self, text: &str) -> String {
        let values = self.values.iter();
        values.fold(text.to_owned(), |text, value| text.replace(value, STARS))
    }

    /// The same of bytes that go on: how many of the last may be the begin of a secret.
    pub fn hide_bytes(&self, bytes: &[u8]) -> (Vec<u8>, usize) {
        let mut hidden = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let mut values = self.values.iter().map(String::as_bytes);
            if let Some(value) = values.clone().find(|value| rest.starts_with(value)) {
                hidden.extend_from_slice(STARS.as_bytes());
                at += value.len();
            } else if values.any(|value| value.starts_with(rest)) {
                return (hidden, rest.len());
            } else {
                hidden.push(rest[0]);
                at += 1;
            }
        }
        (hidden, 0)
    }
}

/// What stands where a secret was.
const STARS: &str = "***";

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Secrets {
        Secrets {
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..Secrets::default()
        }
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let secrets = of(&["hunter22", "hunter"]);
        assert_eq!(secrets.hide("a hunter22 and hunter"), "a *** and ***");
        assert_eq!(of(&[]).hide("as it is"), "as it is");
    }

    #[test]
    fn a_secret_that_comes_in_two_parts_is_hidden() {
        let secrets = of(&["hunter22"]);
        let (first, left) = secrets.hide_bytes(b"word hunt");
        assert_eq!((first.as_slice(), left), (b"word ".as_slice(), 4));
        assert_eq!(secrets.hide_bytes(b"hunter22!"), (b"***!".to_vec(), 0));
        assert_eq!(secrets.hide_bytes(b"hunting"), (b"hunting".to_vec(), 0));
    }
}

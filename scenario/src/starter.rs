//! How a node's command becomes a process.

use std::io::PipeWriter;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use netreel_system::network::Network;
use netreel_system::process::{ends_with_this, in_own_group};

use crate::file::Start;
use crate::fill::quoted;
use crate::journal::MARK;
use crate::reach::Reach;

/// A command that was filled.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    /// Program and arguments.
    pub words: Vec<String>,
    /// What its environment has besides.
    pub environment: Vec<(String, String)>,
    /// The folder that it starts in; the runner's without one.
    pub folder: Option<String>,
    /// How it is started.
    pub start: Start,
    /// What it is told when the match is over.
    pub quit: Option<String>,
}

impl Filled {
    /// As a shell would have it, environment and folder with it.
    pub fn line(&self) -> String {
        let mut words = Vec::new();
        if let Some(folder) = &self.folder {
            words.push(format!("cd {} &&", quoted(folder)));
        }
        if !self.environment.is_empty() {
            words.push("env".to_owned());
        }
        for (name, value) in &self.environment {
            words.push(format!("{name}={}", quoted(value)));
        }
        words.extend(self.words.iter().map(|word| quoted(word)));
        words.join(" ")
    }

    /// Why it cannot be started: the folder or the program is not there.
    pub fn missing(&self, error: &std::io::Error) -> String {
        match &self.folder {
            Some(folder) if !Path::new(folder).is_dir() => format!("there is no folder {folder}"),
            _ => format!("{}: {error}", self.words.first().map_or("", String::as_str)),
        }
    }

    /// Starts it, in a network of its own where there is one. What it prints goes to `prints`. It has the
    /// `mark` in its environment, is the first of a group of its own, and ends with the runner. `None` where
    /// a person starts it.
    pub fn start(
        &self,
        (reach, network): (&Reach, Option<&Network>),
        (prints, mark): (PipeWriter, &str),
        speaks: bool,
    ) -> std::io::Result<Option<Child>> {
        let start = &self.start;
        let words = match start {
            Start::External => return Ok(None),
            Start::Local => self.words.clone(),
            Start::Through(words) => {
                let line = self.line();
                words
                    .iter()
                    .map(|word| word.replace("{command}", &line))
                    .collect()
            }
        };
        let mut command;
        if reach.0.is_empty() {
            command = Command::new(words.first().map_or("", String::as_str));
            command.args(words.iter().skip(1));
            if *start == Start::Local {
                command.envs(self.environment.iter().cloned());
            }
            if let Some(folder) = &self.folder {
                command.current_dir(folder);
            }
        } else {
            // The mark is in the environment there, where the processes are.
            let mut there = self.clone();
            there.words = words;
            there.environment.push((MARK.to_owned(), mark.to_owned()));
            let reached = reach.command(&there.line());
            command = Command::new(&reached[0]);
            command.args(&reached[1..]);
        }
        command
            .env(MARK, mark)
            .stdin(if speaks {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(prints.try_clone()?)
            .stderr(prints);
        if let Some(network) = network {
            network.starts_in(&mut command)?;
        }
        ends_with_this(in_own_group(&mut command)).spawn().map(Some)
    }
}

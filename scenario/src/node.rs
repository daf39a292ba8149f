//! A node of a match that is played: how its command becomes a process, and who hears its commands.

use std::io::{PipeWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use netreel_console::{ClientError, Remote, read_token};
use netreel_system::network::Network;
use netreel_system::process::{
    How, asks_to_end, end_group, ends_with_this, in_own_group, signal_of,
};

use crate::file::{ConsolePlan, NodePlan, Start};
use crate::fill::quoted;
use crate::journal::MARK;
use crate::log::Log;
use crate::mistake::about;
use crate::reach::{Reach, command_of};
use crate::waits::{GRACE, LOOK};

/// So long a connection to a console may take.
const CONNECTS: Duration = Duration::from_secs(2);

/// A node that was started.
pub(crate) struct Running {
    child: Option<Child>,
    speaker: Option<Speaker>,
    console: ConsolePlan,
    /// The network that it is in, where that is not the machine's.
    network: Option<Arc<Network>>,
    quit: Option<String>,
    /// What it prints.
    pub log: Log,
    ended: Option<ExitStatus>,
    /// Whether it may end by itself.
    ends: bool,
    /// Whether somebody wanted it to end.
    is_let_go: bool,
    /// Whether it took a word to end by, and is to end in order.
    is_told: bool,
    /// Whether it gave no answer to that word: it may have heard it all the same, and be about to close its
    /// recording.
    may_have_heard: bool,
    /// Whether it was ended as if it had crashed.
    is_killed: bool,
    /// Whether a person starts it: nobody sees whether it lives.
    is_external: bool,
}

impl Running {
    /// Starts a node. `console` is its plan with everything filled.
    pub fn start(
        plan: &NodePlan,
        console: ConsolePlan,
        (filled, reach, network): (&Filled, &Reach, Option<Arc<Network>>),
        ((log, prints), mark): ((Log, PipeWriter), &str),
    ) -> Result<Running, String> {
        let speaks = console == ConsolePlan::Stdin;
        let mut child = filled
            .start((reach, network.as_deref()), (prints, mark), speaks)
            .map_err(|error| filled.missing(&error))?;
        let stdin = child.as_mut().and_then(|child| child.stdin.take());
        Ok(Running {
            child,
            speaker: stdin.map(Speaker::stdin),
            console,
            network,
            quit: filled.quit.clone(),
            log,
            ended: None,
            ends: plan.ends,
            is_let_go: plan.start == Start::External,
            is_told: false,
            may_have_heard: false,
            is_killed: false,
            is_external: plan.start == Start::External,
        })
    }

    /// Why a node that nobody let go of is no more.
    pub fn has_died(&mut self) -> Option<String> {
        self.look();
        let is_meant = |status: &ExitStatus| self.is_let_go || self.ends && status.success();
        let status = self.ended.filter(|status| !is_meant(status))?;
        Some(format!("has ended by itself: {}", ended_words(status)))
    }

    fn look(&mut self) {
        if let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.ended = Some(status);
            self.child = None;
        }
    }

    /// Whether it has a process that lives, or that nobody can see.
    pub fn lives(&mut self) -> bool {
        self.look();
        let is_gone = self.is_external && (self.is_told || self.is_killed);
        self.ended.is_none() && !is_gone
    }

    /// Connects to its console if that was not done; whether there is one that listens.
    pub fn connect(&mut self) -> Result<bool, String> {
        if self.speaker.is_some() {
            return Ok(true);
        }
        match &self.console {
            ConsolePlan::Remote {
                way,
                address,
                token,
            } => {
                let address = resolved(address)?;
                let token = read_token(token.as_deref().map(Path::new))?;
                let connects = || Remote::connect(*way, address, token.as_deref(), CONNECTS);
                let connected = match &self.network {
                    Some(network) => network.inside(connects).map_err(|it| it.to_string())?,
                    None => connects(),
                };
                match connected {
                    Ok(remote) => self.speaker = Some(Speaker::Remote(remote)),
                    // It does not listen yet, or is held up.
                    Err(ClientError::Connection { .. } | ClientError::Silent { .. }) => {
                        return Ok(false);
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
            ConsolePlan::Stdin => return Err("its standard input is closed".to_owned()),
            ConsolePlan::None => return Err("the file names no console for it".to_owned()),
        }
        Ok(true)
    }

    /// Whoever hears its commands, once it is connected.
    pub fn speaker(&mut self) -> Option<&mut Speaker> {
        self.speaker.as_mut()
    }

    /// Ends it at once, as if it had crashed.
    pub fn kill(&mut self) {
        (self.is_let_go, self.is_killed) = (true, true);
        self.speaker = None;
        self.end(How::Killed);
        self.wait(Instant::now() + GRACE);
    }

    /// Tells it to end.
    pub fn tell_to_end(&mut self) {
        self.is_let_go = true;
        self.look();
        if self.ended.is_some() {
            return;
        }
        let answer = match (&self.quit, &mut self.speaker) {
            (Some(quit), Some(speaker)) => Some(speaker.say(quit, GRACE)),
            _ => None,
        };
        self.is_told = matches!(answer, Some(Ok(_)));
        self.may_have_heard = matches!(answer, Some(Err(_)));
        // One that reads its input to the end is done then.
        self.speaker = None;
        if answer.is_none() {
            self.end(How::Asked);
        }
    }

    /// Waits until it has ended, at most until then, and ends it where it does not.
    ///
    /// # Errors
    /// It did not end in order: how.
    pub fn wait_for_end(&mut self, until: Instant) -> Result<(), String> {
        let mut has_ended = self.wait(until);
        if !has_ended && self.may_have_heard {
            self.end(How::Asked);
            has_ended = self.wait(Instant::now() + GRACE);
        } else if self.ended.is_some() {
            self.is_told |= self.may_have_heard;
        }
        if !has_ended {
            self.kill();
            return Err("did not end when it was told to, and was killed".to_owned());
        }
        let Some(status) = self.ended.filter(|_| !self.is_killed) else {
            return Ok(());
        };
        match (status.code(), signal_of(status)) {
            (_, Some(signal)) if !asks_to_end(signal) => {}
            (Some(code), _) if self.is_told && code != 0 => {}
            _ => return Ok(()),
        }
        Err(format!(
            "was to end, and did so badly: {}",
            ended_words(status)
        ))
    }

    fn wait(&mut self, until: Instant) -> bool {
        loop {
            self.look();
            if self.child.is_none() {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// To the whole group: a shell's children are of the node.
    fn end(&self, how: How) {
        if let Some(child) = &self.child {
            end_group(child.id(), how);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.look();
        if self.child.is_some() {
            self.kill();
        }
    }
}

fn ended_words(status: ExitStatus) -> String {
    match (status.code(), signal_of(status)) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn resolved(address: &str) -> Result<SocketAddr, String> {
    let mut found = address
        .to_socket_addrs()
        .map_err(about(format!("the address {address:?}")))?;
    found
        .next()
        .ok_or_else(|| format!("the address {address:?} is nowhere"))
}

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
            command = command_of(&words);
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
            command = command_of(&reach.command(&there.line()));
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

/// So many lines wait for a node that does not read its standard input.
const LINES_MAX: usize = 64;

pub(crate) enum Speaker {
    Remote(Remote),
    /// Lines for the standard input, which a thread of its own writes: a pipe that nobody reads holds up
    /// nobody else. It is closed when this is dropped and all is written.
    Stdin(SyncSender<String>),
}

impl Speaker {
    /// Whoever writes lines to a standard input.
    pub fn stdin(mut stdin: ChildStdin) -> Speaker {
        let (lines, said) = sync_channel::<String>(LINES_MAX);
        std::thread::spawn(move || {
            for line in said {
                if writeln!(stdin, "{line}")
                    .and_then(|()| stdin.flush())
                    .is_err()
                {
                    return;
                }
            }
        });
        Speaker::Stdin(lines)
    }

    /// Says a command: what the node answers within `patience`; empty where it has no way to.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn say(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Remote(remote) => remote.say(line, patience),
            Speaker::Stdin(lines) => {
                let until = Instant::now() + patience;
                let mut line = line.to_owned();
                loop {
                    match lines.try_send(line) {
                        Ok(()) => return Ok(String::new()),
                        Err(TrySendError::Disconnected(_)) => {
                            return Err("its standard input is closed".to_owned());
                        }
                        Err(TrySendError::Full(_)) if Instant::now() > until => {
                            return Err("it does not read its standard input".to_owned());
                        }
                        Err(TrySendError::Full(unsaid)) => line = unsaid,
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    /// Has the node run a script.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn script(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Remote(remote) => remote.script(text, patience),
            Speaker::Stdin(_) => Err("a standard input takes no scripts".to_owned()),
        }
    }
}

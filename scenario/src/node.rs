//! A node of a match that is played.

use std::io::PipeWriter;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_console::{ClientError, Remote, read_token};
use netreel_system::network::Network;
use netreel_system::process::{How, asks_to_end, end_group, signal_of};

use crate::file::{ConsolePlan, NodePlan, Start};
use crate::log::Log;
use crate::reach::Reach;
use crate::speaker::Speaker;
use crate::starter::Filled;
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
                let token = token
                    .as_deref()
                    .map(|file| read_token(Path::new(file)))
                    .transpose()?;
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
        let told = match (&self.quit, &mut self.speaker) {
            (Some(quit), Some(speaker)) => speaker.say(quit, GRACE).is_ok(),
            _ => false,
        };
        self.is_told = told;
        // One that reads its input to the end is done then.
        self.speaker = None;
        if !told {
            self.end(How::Asked);
        }
    }

    /// Waits until it has ended, at most until then, and ends it where it does not.
    ///
    /// # Errors
    /// It did not end in order: how.
    pub fn wait_for_end(&mut self, until: Instant) -> Result<(), String> {
        if !self.wait(until) {
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
        .map_err(|error| format!("the address {address:?}: {error}"))?;
    found
        .next()
        .ok_or_else(|| format!("the address {address:?} is nowhere"))
}

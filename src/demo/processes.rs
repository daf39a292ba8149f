//! The processes of a demonstration, and the lines that they and their parent exchange.
//!
//! A node prints `bound ENDPOINT`, is given its [`Assignment`] as a line of JSON, prints `idle` when its
//! script is done and all that it said is acked (`busy` when that changes), is told `quit` when all have been
//! idle for a while, and prints `done EVENTS`. A node whose input ends quits too, so that no node outlives
//! its parent.
//!
//! In ring mode a node prints `bound ENDPOINT TRIGGERS`, the second being where it is asked for
//! windows; it is never idle; `key NAME` tells it that a key was pressed, `time-outs on` and
//! `time-outs off` throw the one switch of its time-outs; it prints `kept FOLDER`
//! and `told SENTENCE`.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use netreel_sample_engine::Mode;
use serde::{Deserialize, Serialize};

use crate::outcome::{self, Failure, Result, fail};
use crate::text;

/// What a node must know before the first tick.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The same in all reels of the session.
    pub session: [u8; 16],
    /// The nodes' names, by peer number.
    pub names: Vec<String>,
    /// The nodes' endpoints, by peer number.
    pub endpoints: Vec<SocketAddr>,
    /// How objects change owner.
    pub mode: Mode,
    /// Whether the host relays.
    pub relayed: bool,
    /// The seed of the scripts.
    pub seed: u64,
    /// For how many seconds the players play freely, over links that differ; else they play the
    /// demonstration.
    pub free: Option<f64>,
    /// Whether a node gives up one that is silent for too long.
    pub time_outs: bool,
    /// In ring mode, where each node is asked for windows, by peer number.
    pub triggers: Vec<SocketAddr>,
    /// In ring mode, what the nodes know and strangers do not.
    pub trigger_key: String,
}

/// How long nothing is said before the nodes finish: `netreel check` takes what was said a tenth of a second
/// and four ways of a packet before the end for at rest.
const REST: Duration = Duration::from_millis(400);

/// How the nodes are started.
#[derive(Clone, Copy, Debug)]
pub struct HowToPlay {
    /// Ports count up from here.
    pub port: Option<u16>,
    /// The seed of the session.
    pub seed: u64,
    /// Everything must be over within this time; in ring mode, start and end each.
    pub limit: Duration,
    /// Ring mode, with this many seconds.
    pub ring: Option<f64>,
    /// Snapshots, every this many seconds; 0 for none.
    pub snapshots: f64,
}

/// What a node says of its windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It has kept one, here.
    Kept(PathBuf),
    /// Something else about triggers.
    Told(String),
}

/// The running nodes, by peer number.
pub struct Processes {
    nodes: Vec<Process>,
    lines: Receiver<(usize, Option<String>)>,
    deadline: Instant,
    limit: Duration,
}

struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    idle: bool,
    finished: bool,
}

impl Processes {
    /// Starts one process a name; reels go to `out`.
    pub fn start(names: &[String], out: &Path, how: HowToPlay) -> Result<Processes> {
        let program = outcome::own_program()?;
        let (sender, lines) = channel();
        let mut nodes = Vec::new();
        for (peer, name) in names.iter().enumerate() {
            let ring = how.ring.map(|seconds| format!("--ring={seconds}"));
            let mut child = Command::new(&program)
                .arg("demo-node")
                .args(ring)
                .arg("--out")
                .arg(out.join(format!("{name}.reel")))
                .args(["--peer", &peer.to_string()])
                .args(["--port", &own_port(how.port, peer)?.to_string()])
                .args(["--seed", &how.seed.to_string()])
                .args(["--snapshots", &how.snapshots.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| format!("cannot start node {name}: {error}"))?;
            let stdin = child.stdin.take();
            if let Some(stdout) = child.stdout.take() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                        if sender.send((peer, Some(line))).is_err() {
                            return;
                        }
                    }
                    let _ = sender.send((peer, None));
                });
            }
            nodes.push(Process {
                name: name.clone(),
                child,
                stdin,
                idle: false,
                finished: false,
            });
        }
        Ok(Processes {
            nodes,
            lines,
            deadline: Instant::now() + how.limit,
            limit: how.limit,
        })
    }

    /// Waits until every node has told its endpoint, and in ring mode where it is asked for
    /// windows: both by peer number.
    pub fn endpoints(&mut self) -> Result<(Vec<SocketAddr>, Vec<SocketAddr>)> {
        let mut endpoints = vec![None; self.nodes.len()];
        let mut triggers = vec![None; self.nodes.len()];
        while endpoints.iter().any(Option::is_none) {
            let (peer, line) = self.next_line("tell its endpoint")?;
            if let Some(bound) = line.strip_prefix("bound ") {
                let mut words = bound.split(' ').map(|word| word.parse().ok());
                endpoints[peer] = words.next().flatten();
                triggers[peer] = words.next().flatten();
            }
        }
        let (endpoints, triggers) = (endpoints.into_iter(), triggers.into_iter());
        Ok((endpoints.flatten().collect(), triggers.flatten().collect()))
    }

    /// Tells one node something.
    pub fn tell(&mut self, node: usize, line: &str) -> Result {
        let Some(node) = self.nodes.get_mut(node) else {
            return Ok(());
        };
        let told = node.stdin.as_mut().map(|stdin| writeln!(stdin, "{line}"));
        match told {
            Some(Ok(())) => Ok(()),
            _ => fail(format!("node {} does not listen any more", node.name)),
        }
    }

    /// What nodes have said of windows since the last time.
    pub fn said(&mut self) -> Result<Vec<(usize, Said)>> {
        let mut all = Vec::new();
        while let Some((peer, line)) = self.next_line_within(Duration::ZERO)? {
            all.extend(said(&line).map(|said| (peer, said)));
        }
        Ok(all)
    }

    /// Lets all nodes finish, whatever they do; what they still say of windows.
    pub fn end(&mut self) -> Result<Vec<(usize, Said)>> {
        self.deadline = Instant::now() + self.limit;
        self.quit()
    }

    /// Tells every node what it is part of: the session begins.
    pub fn assign(&mut self, assignment: &Assignment) -> Result {
        let line = serde_json::to_string(assignment)?;
        self.tell_all(&line)
    }

    /// Waits until all nodes have been idle at once for a while, then lets them finish: what they said last
    /// has come to rest then, and can be judged.
    pub fn finish(&mut self) -> Result {
        let mut rests: Option<Instant> = None;
        loop {
            let is_idle = self.nodes.iter().all(|node| node.idle);
            rests = rests.filter(|_| is_idle);
            let patience = if is_idle {
                let rests = *rests.get_or_insert_with(|| Instant::now() + REST);
                rests.saturating_duration_since(Instant::now())
            } else {
                self.deadline.saturating_duration_since(Instant::now())
            };
            let Some((peer, line)) = self.next_line_within(patience)? else {
                if is_idle {
                    return self.quit().map(drop);
                }
                return Err(self.waited("become idle"));
            };
            match line.as_str() {
                "idle" => self.nodes[peer].idle = true,
                "busy" => self.nodes[peer].idle = false,
                _ => {}
            }
        }
    }

    fn quit(&mut self) -> Result<Vec<(usize, Said)>> {
        let mut all = Vec::new();
        self.tell_all("quit")?;
        while !self.nodes.iter().all(|node| node.finished) {
            let (peer, line) = self.next_line("finish its reel")?;
            self.nodes[peer].finished |= line.starts_with("done ");
            all.extend(said(&line).map(|said| (peer, said)));
        }
        for node in &mut self.nodes {
            node.stdin = None;
            let status = node.child.wait().map_err(Failure::new)?;
            if !status.success() {
                return fail(format!("node {} ended with {status}", node.name));
            }
        }
        Ok(all)
    }

    fn tell_all(&mut self, line: &str) -> Result {
        (0..self.nodes.len()).try_for_each(|node| self.tell(node, line))
    }

    fn next_line(&mut self, awaited: &str) -> Result<(usize, String)> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let next = self.next_line_within(left)?;
        next.ok_or_else(|| self.waited(awaited))
    }

    /// `None` where no line came in time.
    fn next_line_within(&mut self, patience: Duration) -> Result<Option<(usize, String)>> {
        let Ok((peer, line)) = self.lines.recv_timeout(patience) else {
            return Ok(None);
        };
        let Process { name, finished, .. } = &self.nodes[peer];
        match line {
            Some(line) => match line.strip_prefix("failed ") {
                Some(why) => fail(format!("node {name}: {why}")),
                None => Ok(Some((peer, line))),
            },
            None if *finished => self.next_line_within(patience),
            None => fail(format!("node {name} ended too early")),
        }
    }

    fn waited(&self, awaited: &str) -> Failure {
        let nodes = self.nodes.iter();
        let waiting = nodes.filter(|node| !node.idle && !node.finished);
        let names = text::joined(waiting.map(|node| node.name.as_str()), ", ");
        Failure::new(format!("waited too long for {names} to {awaited}"))
    }
}

fn said(line: &str) -> Option<Said> {
    let kept = line.strip_prefix("kept ");
    let told = line.strip_prefix("told ");
    kept.map(|folder| Said::Kept(folder.into()))
        .or(told.map(|sentence| Said::Told(sentence.to_owned())))
}

fn own_port(first: Option<u16>, peer: usize) -> Result<u16> {
    let Some(first) = first else {
        return Ok(0);
    };
    let own = usize::from(first) + peer;
    u16::try_from(own).map_err(|_| {
        Failure::new(format!(
            "--port {first}: node {peer} would need port {own}, above 65535"
        ))
    })
}

impl Drop for Processes {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if node.stdin.take().is_some() {
                let _ = node.child.kill();
            }
            let _ = node.child.wait();
        }
    }
}

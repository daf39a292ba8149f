//! The processes of a demonstration, and the lines that they and their parent exchange.
//!
//! A node prints `bound ENDPOINT`, is given its [`Assignment`] as a line of JSON, prints `idle` when
//! its script is done and all that it said is acked (`busy` when that changes), is told `quit`, and
//! prints `done EVENTS`. A node whose input ends quits too, so that no node outlives its parent.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::outcome::Failure;

/// What a node must know before the first tick.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The same in all reels of the session.
    pub session: [u8; 16],
    /// The nodes' names, by peer number.
    pub names: Vec<String>,
    /// The nodes' endpoints, by peer number.
    pub endpoints: Vec<SocketAddr>,
    /// `host` or `owner`.
    pub counted: bool,
    /// Whether the host relays.
    pub relayed: bool,
    /// The seed of the scripts.
    pub seed: u64,
}

/// The running nodes, by peer number.
pub struct Processes {
    nodes: Vec<Process>,
    lines: Receiver<(usize, Option<String>)>,
    deadline: Instant,
}

struct Process {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    idle: bool,
    finished: bool,
}

impl Processes {
    /// Starts one process a name; reels go to `out`; ports count up from `port`. Everything must be
    /// over within `limit`.
    pub fn start(
        names: &[String],
        out: &Path,
        port: Option<u16>,
        seed: u64,
        limit: Duration,
    ) -> Result<Processes, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot find the program itself: {error}")))?;
        let (sender, lines) = channel();
        let mut nodes = Vec::new();
        for (peer, name) in names.iter().enumerate() {
            let mut child = Command::new(&program)
                .arg("demo-node")
                .arg("--out")
                .arg(out.join(format!("{name}.reel")))
                .args(["--peer", &peer.to_string()])
                .args(["--port", &own_port(port, peer)?.to_string()])
                .args(["--seed", &seed.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| Failure::new(format!("cannot start node {name}: {error}")))?;
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
            deadline: Instant::now() + limit,
        })
    }

    /// Waits until every node has told its endpoint.
    pub fn endpoints(&mut self) -> Result<Vec<SocketAddr>, Failure> {
        let mut endpoints = vec![None; self.nodes.len()];
        while endpoints.iter().any(Option::is_none) {
            let (peer, line) = self.next_line("tell its endpoint")?;
            if let Some(endpoint) = line
                .strip_prefix("bound ")
                .and_then(|text| text.parse().ok())
            {
                endpoints[peer] = Some(endpoint);
            }
        }
        Ok(endpoints.into_iter().flatten().collect())
    }

    /// Tells every node what it is part of: the session begins.
    pub fn assign(&mut self, assignment: &Assignment) -> Result<(), Failure> {
        let line = serde_json::to_string(assignment).map_err(Failure::new)?;
        self.tell_all(&line)
    }

    /// Waits until all nodes are idle at once, then lets them finish.
    pub fn finish(&mut self) -> Result<(), Failure> {
        while !self.nodes.iter().all(|node| node.idle) {
            let (peer, line) = self.next_line("become idle")?;
            match line.as_str() {
                "idle" => self.nodes[peer].idle = true,
                "busy" => self.nodes[peer].idle = false,
                _ => {}
            }
        }
        self.tell_all("quit")?;
        while !self.nodes.iter().all(|node| node.finished) {
            let (peer, line) = self.next_line("finish its reel")?;
            self.nodes[peer].finished |= line.starts_with("done ");
        }
        for node in &mut self.nodes {
            node.stdin = None;
            let status = node.child.wait().map_err(Failure::new)?;
            if !status.success() {
                return Err(Failure::new(format!(
                    "node {} ended with {status}",
                    node.name
                )));
            }
        }
        Ok(())
    }

    fn tell_all(&mut self, line: &str) -> Result<(), Failure> {
        for node in &mut self.nodes {
            let told = node.stdin.as_mut().map(|stdin| writeln!(stdin, "{line}"));
            if !matches!(told, Some(Ok(()))) {
                return Err(Failure::new(format!(
                    "node {} does not listen any more",
                    node.name
                )));
            }
        }
        Ok(())
    }

    fn next_line(&mut self, awaited: &str) -> Result<(usize, String), Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok((peer, Some(line))) => match line.strip_prefix("failed ") {
                Some(why) => Err(Failure::new(format!(
                    "node {}: {why}",
                    self.nodes[peer].name
                ))),
                None => Ok((peer, line)),
            },
            Ok((peer, None)) if self.nodes[peer].finished => self.next_line(awaited),
            Ok((peer, None)) => Err(Failure::new(format!(
                "node {} ended too early",
                self.nodes[peer].name
            ))),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let waiting = self
                    .nodes
                    .iter()
                    .filter(|node| !node.idle && !node.finished);
                let names = waiting
                    .map(|node| node.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(Failure::new(format!(
                    "waited too long for {names} to {awaited}"
                )))
            }
        }
    }
}

fn own_port(first: Option<u16>, peer: usize) -> Result<u16, Failure> {
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

//! A match under way: its nodes, and what a script can do with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netreel_system::locked;

use crate::file::{ConsolePlan, NodePlan, Scenario, Start};
use crate::fill::fill;
use crate::journal::end_marked;
use crate::judged::{AskedState, Expected, gravity};
use crate::log::Log;
use crate::mistake::about;
use crate::node::{Filled, Running, Speaker};
use crate::places::Ports;
use crate::played::{Between, Notes, Waiting, Wants};
use crate::reach::Reach;
use crate::waits::{GRACE, LOOK};

/// So long a node may take from its start until its console listens, unless a script says otherwise.
pub(crate) const READY: Duration = Duration::from_secs(20);

/// So long a match may take that somebody debugs.
const NO_LIMIT: Duration = Duration::from_secs(7 * 86_400);

/// A match under way: what its script can do.
pub(crate) struct Stage<'a> {
    pub scenario: &'a Scenario,
    pub wants: &'a Wants<'a>,
    pub network: Option<Between>,
    pub folder: PathBuf,
    pub mark: String,
    pub ports: Ports,
    nodes: BTreeMap<String, Running>,
    /// How often each node was started.
    lives: BTreeMap<String, u32>,
    pub expected: Vec<Expected>,
    /// What is asked of the recordings.
    pub asked: Vec<AskedState>,
    /// Whether all that is still to be done undoes something: no more is asked whether the match may go on.
    is_undoing: bool,
    /// When it has taken too long: a person's time is added while it is waited for.
    until: Arc<Mutex<Instant>>,
    notes: Notes,
    /// Whether no other match would fare better.
    pub is_hopeless: bool,
    /// Whether something that the script expects at once was not so.
    pub is_missed: bool,
}

impl<'a> Stage<'a> {
    /// The match that `mark` marks, before anything is done; it begins at `begun`.
    pub fn new(
        (scenario, wants): (&'a Scenario, &'a Wants<'a>),
        (folder, mark): (PathBuf, String),
        (network, notes): (Option<Between>, Notes),
        begun: Instant,
    ) -> Stage<'a> {
        Stage {
            scenario,
            wants,
            network,
            folder,
            mark,
            ports: Ports::default(),
            nodes: BTreeMap::new(),
            lives: BTreeMap::new(),
            expected: Vec::new(),
            asked: Vec::new(),
            is_undoing: false,
            until: Arc::new(Mutex::new(if wants.asked.debugs.is_some() {
                begun + NO_LIMIT
            } else {
                begun + Duration::from_secs_f64(scenario.limit)
            })),
            notes,
            is_hopeless: false,
            is_missed: false,
        }
    }

    /// Whether the match may go on.
    ///
    /// # Errors
    /// Why it may not: it has taken too long, the run is to end, a node has died.
    pub fn go_on(&mut self) -> Result<(), String> {
        if self.is_undoing && !is_over(&self.until) {
            return Ok(());
        }
        if !self.wants.asked.cancel.goes_on() {
            return Err("the run was ended".to_owned());
        }
        if is_over(&self.until) {
            let limit = self.scenario.limit;
            return Err(format!(
                "the match has taken longer than its limit of {limit} s"
            ));
        }
        for (name, node) in &mut self.nodes {
            if let Some(why) = node.has_died() {
                let last = node.log.last_line();
                return Err(format!("node {name} {why}; its last line: {last:?}"));
            }
        }
        Ok(())
    }

    fn is_debugged(&self) -> bool {
        self.wants.asked.debugs.is_some()
    }

    /// How long an answer may take.
    pub fn patience(&self) -> Duration {
        if self.is_debugged() { NO_LIMIT } else { READY }
    }

    /// When it has taken too long, for whoever looks at it while the script runs.
    pub fn until(&self) -> Arc<Mutex<Instant>> {
        Arc::clone(&self.until)
    }

    /// Writes down what was done, where the recordings are.
    pub fn note(&mut self, text: &str) {
        (self.notes)(&self.wants.secrets.hide(text));
    }

    /// Starts nodes in order, each once more if it has ended, and waits until the console of each listens: of
    /// each before the next, or of all where somebody has to do something for each.
    pub fn start(&mut self, names: &[String]) -> Result<(), String> {
        if self.is_debugged() {
            names.iter().try_for_each(|name| self.launch(name))?;
            return names
                .iter()
                .try_for_each(|name| self.wait_for_console(name));
        }
        names.iter().try_for_each(|name| {
            self.launch(name)?;
            self.wait_for_console(name)
        })
    }

    fn launch(&mut self, name: &str) -> Result<(), String> {
        let plan = self.plan(name)?;
        if self.nodes.get_mut(name).is_some_and(Running::lives) {
            return Err(format!("node {name} has been started"));
        }
        let life = self.lives.entry(name.to_owned()).or_insert(0);
        *life += 1;
        let log = match *life {
            1 => format!("logs/{name}.log"),
            life => format!("logs/{name}.life-{life}.log"),
        };
        let log = self.folder.join(log);
        let (mut filled, console) = self.filled(plan)?;
        self.note(&format!("start {name}"));
        if plan.start == Start::External {
            (self.wants.tell)(&format!("start {name} by hand: {}", filled.line()));
        }
        if self.is_debugged() && plan.start == Start::Local && plan.reach.is_empty() {
            self.wait_for_debugger(plan, &mut filled)?;
        }
        let reach = self.reach(plan)?;
        let prints = Log::begin(&log, self.scenario.log_limit, self.wants.secrets)
            .map_err(about(log.display()))?;
        let mark = self.node_mark(name);
        let place = self.scenario.place(name);
        let network = self
            .network
            .as_ref()
            .and_then(|it| it.networks.get(place?).cloned());
        let places = (&filled, &reach, network);
        let running = Running::start(plan, console, places, (prints, &mark)).map_err(|why| {
            self.is_hopeless = true;
            format!("node {name} cannot be started: {why}")
        })?;
        self.nodes.insert(name.to_owned(), running);
        Ok(())
    }

    fn wait_for_console(&mut self, name: &str) -> Result<(), String> {
        let plan = self.plan(name)?;
        if plan.console == ConsolePlan::None {
            return Ok(());
        }
        let by_hand = plan.start == Start::External;
        let ready = Instant::now() + READY;
        let mut latest = Instant::now();
        loop {
            self.go_on()?;
            let node = self.running(name)?;
            let is_there = node.connect();
            if by_hand {
                // A person's time is nobody's limit.
                *locked(&self.until) += latest.elapsed();
                latest = Instant::now();
            }
            if is_there.map_err(|why| format!("node {name}: {why}"))? {
                return Ok(());
            }
            if Instant::now() > ready && !by_hand && !self.is_debugged() {
                let seconds = READY.as_secs();
                return Err(format!(
                    "node {name}: nobody listens at its console after {seconds} s"
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Has a node start under a debugger's server, and tells where that is.
    fn wait_for_debugger(&mut self, plan: &NodePlan, filled: &mut Filled) -> Result<(), String> {
        let port = self.port(&format!("debugger of {}", plan.name))?;
        let place = format!("127.0.0.1:{port}");
        let program = filled.words.first().cloned().unwrap_or_default();
        let server = ["gdbserver", "--once", &place].map(str::to_owned);
        filled.words.splice(0..0, server);
        let (name, quoted) = (&plan.name, crate::fill::quoted(&program));
        if let Some(hears) = self.wants.asked.debugs {
            hears(&Waiting {
                number: self.wants.number,
                node: name.clone(),
                server: place.clone(),
                program,
            });
        }
        (self.wants.tell)(&format!(
            "node {name} waits: gdb -ex 'target remote {place}' {quoted}"
        ));
        Ok(())
    }

    /// Says a command to a node: its answer.
    pub fn say(&mut self, name: &str, line: &str) -> Result<String, String> {
        self.go_on()?;
        let patience = self.patience();
        self.note(&format!("say {name}: {line}"));
        self.ask(name, line, patience)
    }

    /// Whether somebody hears what is said to a node.
    ///
    /// # Errors
    /// Why nobody does, nor will.
    pub fn hears(&mut self, name: &str) -> Result<(), String> {
        self.speaker(name).map(|_| ())
    }

    /// What `say` does, unrecorded: a question.
    pub fn ask(&mut self, name: &str, line: &str, patience: Duration) -> Result<String, String> {
        let answer = self.speaker(name)?.say(line, patience);
        answer.map_err(|why| format!("node {name}: `{line}`: {why}"))
    }

    /// Has a node run a script.
    pub fn script(&mut self, name: &str, text: &str) -> Result<String, String> {
        self.go_on()?;
        self.note(&format!("script {name}: {text}"));
        let patience = self.patience();
        let answer = self.speaker(name)?.script(text, patience);
        answer.map_err(|why| format!("node {name}: {why}"))
    }

    /// Waits until it is so, and looks again and again.
    ///
    /// # Errors
    /// It is not so in time; what was waited for.
    pub fn wait_until(
        &mut self,
        seconds: f64,
        what: &str,
        is_so: &mut dyn FnMut(&mut Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            self.go_on()?;
            let is_so = is_so(self)?;
            let took = begun.elapsed().as_secs_f64();
            if is_so || took > seconds && !self.is_debugged() {
                return self.waited(what, (is_so, took), seconds);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What came of waiting `took` of at most `seconds`.
    pub fn waited(
        &mut self,
        what: &str,
        (is_so, took): (bool, f64),
        seconds: f64,
    ) -> Result<(), String> {
        if is_so {
            self.note(&format!("{what}: so after {took:.3} s"));
            Ok(())
        } else {
            let why = format!("{what}: not so in {seconds} s");
            self.note(&why);
            Err(why)
        }
    }

    /// What a node has printed, the last of it.
    pub fn log(&mut self, name: &str) -> Result<String, String> {
        self.running(name)?.log.text()
    }

    /// Makes the link from one node to another worse, or one that is itself something that runs; or as it
    /// was.
    pub fn faults(&mut self, from: Option<&str>, to: &str, faults: &str) -> Result<(), String> {
        from.map(|from| self.plan(from)).transpose()?;
        let Some(template) = &self.plan(to)?.faults else {
            return self.faults_between(from, to, faults);
        };
        let mut value = |name: &str| match (name, from) {
            ("from", Some(from)) => Ok(from.to_owned()),
            ("faults", _) => Ok(faults.to_owned()),
            _ => Err(()),
        };
        let line = fill(template, &mut value).map_err(|_| {
            format!("node {to} is told of faults of the link from a node: name that first")
        })?;
        self.say(to, line.trim_end()).map(|_| ())
    }

    /// The same on the network between the nodes.
    fn faults_between(&mut self, from: Option<&str>, to: &str, faults: &str) -> Result<(), String> {
        let Some(network) = &self.network else {
            return Err(format!(
                "the file does not say how node {to} is told of faults: it has no faults = \"...\" for it, and no \
                 network = \"own\", which makes faults for programs that know of none (docs/scenarios.md)"
            ));
        };
        let place = |name: Option<&str>| name.and_then(|name| self.scenario.place(name));
        let (Some(own), Some(other)) = (place(from), place(Some(to))) else {
            return Err(
                "on a network a link has two ends: write faults(FROM, TO, {...})".to_owned(),
            );
        };
        (network.faults)((own, other), faults)?;
        let from = from.unwrap_or_default();
        self.note(&format!("faults from {from} to {to}: {faults}"));
        Ok(())
    }

    /// Ends a node as a crash would.
    pub fn kill(&mut self, name: &str) -> Result<(), String> {
        self.go_on()?;
        self.note(&format!("kill {name}"));
        self.running(name)?.kill();
        let plan = self.plan(name)?;
        if plan.reach.is_empty() {
            // What it started has crashed with it, whatever group that is in.
            end_marked(&self.node_mark(name));
            return Ok(());
        }
        // What led there has ended; the node itself may live on.
        let line = Reach::end_line(&self.node_mark(name));
        self.reach(plan)?.run(&line, None).map(drop)
    }

    /// Tells a node to end, and waits for it.
    pub fn stop(&mut self, name: &str) -> Result<(), String> {
        self.go_on()?;
        self.note(&format!("stop {name}"));
        let node = self.running(name)?;
        node.tell_to_end();
        let ended = node.wait_for_end(Instant::now() + GRACE);
        ended.map_err(|why| format!("node {name} {why}"))
    }

    /// Whether there is such a rule or level.
    pub fn is_known(&self, what: &str) -> Result<(), String> {
        let rules = self.wants.asked.rules;
        if rules.is_empty() || rules.contains(&what) || gravity(what).is_some() {
            Ok(())
        } else {
            Err(format!(
                "there is no rule and no level {what:?}: docs/check.md has all"
            ))
        }
    }

    /// What the recordings must say at the end.
    pub fn expect(&mut self, expected: Expected) {
        self.note(&format!("expect {}", expected.words()));
        self.expected.push(expected);
    }

    /// What a node must have believed of an object at this moment.
    pub fn expect_state(
        &mut self,
        node: &str,
        object: u64,
        (exists, owner): (bool, Option<String>),
    ) -> Result<(), String> {
        self.plan(node)?;
        owner.as_deref().map(|owner| self.plan(owner)).transpose()?;
        let asked = AskedState {
            node: node.to_owned(),
            object,
            at_ns: netreel_system::clock::monotonic_ns(),
        };
        let place = self.asked.len();
        self.asked.push(asked.clone());
        self.expect(Expected::State {
            place,
            asked,
            exists,
            owner,
        });
        Ok(())
    }

    /// From now on all that is done undoes something; it has as long as a node has to end. When the match
    /// would have taken too long.
    pub fn begin_undoing(&mut self) -> Instant {
        self.is_undoing = true;
        let mut until = locked(&self.until);
        std::mem::replace(&mut *until, Instant::now() + GRACE)
    }

    /// All is undone; when the match has taken too long.
    pub fn end_undoing(&mut self, until: Instant) {
        self.is_undoing = false;
        *locked(&self.until) = until;
    }

    /// The file that has a secret.
    pub fn secret(&self, name: &str) -> Result<String, String> {
        let file = self.wants.secrets.file(name).ok_or_else(|| {
            let names: Vec<&str> = self.scenario.secrets.keys().map(String::as_str).collect();
            format!(
                "there is no secret {name:?}; [secrets] has {}",
                names.join(", ")
            )
        })?;
        Ok(file.display().to_string())
    }

    /// The port of this name, as `{port.NAME}` has it.
    pub fn port(&mut self, name: &str) -> Result<u16, String> {
        let port = self.ports.port(name);
        port.ok_or_else(|| "no port is free at 127.0.0.1".to_owned())
    }

    /// Whether a node was started and has not ended.
    pub fn lives(&mut self, name: &str) -> Result<bool, String> {
        self.plan(name)?;
        Ok(self.nodes.get_mut(name).is_some_and(Running::lives))
    }

    /// Ends all nodes: first each is told, then each is waited for. On other machines nothing of the match
    /// stays, and what was recorded there comes here.
    pub fn end(&mut self) -> Result<(), String> {
        let mut done = Ok(());
        for node in self.nodes.values_mut() {
            node.tell_to_end();
        }
        // Nodes that do not end are waited for together.
        let until = Instant::now() + GRACE;
        for (name, node) in &mut self.nodes {
            let ended = node.wait_for_end(until);
            done = done.and(ended.map_err(|why| format!("node {name} {why}")));
        }
        let scenario = self.scenario;
        for plan in &scenario.nodes {
            if plan.reach.is_empty() || !self.nodes.contains_key(&plan.name) {
                continue;
            }
            let reach = self.reach(plan)?;
            let ended = reach.run(&Reach::end_line(&self.mark), None);
            let fetched = plan.fetch.as_ref().map_or(Ok(()), |from| {
                let from = self.fill(plan, from, "")?;
                reach.fetch(&from, &self.folder)
            });
            done = done.and(ended.map(drop)).and(fetched);
        }
        done
    }

    /// What a node's processes have in their environment.
    fn node_mark(&self, name: &str) -> String {
        format!("{}.{name}", self.mark)
    }

    fn reach(&self, plan: &NodePlan) -> Result<Reach, String> {
        let words = (self.wants.run, self.wants.asked.netreel);
        self.scenario.of_a_run(&plan.reach, words).map(Reach)
    }

    fn plan(&self, name: &str) -> Result<&'a NodePlan, String> {
        self.scenario.node(name).ok_or_else(|| {
            let names: Vec<&str> = self
                .scenario
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect();
            format!("there is no node {name:?}; there are {}", names.join(", "))
        })
    }

    fn speaker(&mut self, name: &str) -> Result<&mut Speaker, String> {
        let why = match self.plan(name)?.console {
            ConsolePlan::None => {
                "the file has no console = \"...\" for the node (docs/scenarios.md); wait_log waits for \
                 what the node prints"
            }
            _ => "the node has ended",
        };
        let speaker = self.running(name)?.speaker();
        speaker.ok_or_else(|| format!("node {name} cannot be told anything: {why}"))
    }

    fn running(&mut self, name: &str) -> Result<&mut Running, String> {
        self.plan(name)?;
        let node = self.nodes.get_mut(name);
        node.ok_or_else(|| format!("node {name} was not started"))
    }
}

/// Whether a moment has passed that may still be moved.
pub(crate) fn is_over(until: &Mutex<Instant>) -> bool {
    Instant::now() > *locked(until)
}

//! `netreel replay --gdb EXPR`: the replay of a node under a debugger, stopped before an event. The
//! replay's clock is the recorded one, and the layer's time-outs are off where it has a switch for
//! them: nothing times out, however long somebody looks.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command};

use netreel_reel::EventNumber;
use netreel_scenario::quoted;
use serde_json::{Value as Json, json};

use super::breaks::Condition;
use super::program::asked::refuse;
use crate::arguments::{Replay, Switch};
use crate::events::chosen;
use crate::outcome::{self, Answer, Failure, Result, fail};
use crate::{open, text};

/// What the replay calls before each event (`replay/src/cursor.rs`).
const FUNCTION: &str = "netreel_before_event";

/// The register with its first argument: it needs no debug information.
const NUMBER: &str = if cfg!(target_arch = "aarch64") {
    "$x0"
} else {
    "$rdi"
};

/// A node's replay, and where it is to stop.
struct Stop {
    node: String,
    event: EventNumber,
    /// What follows the program's name.
    arguments: Vec<String>,
    is_plugin: bool,
}

/// Starts gdb on a program that has stopped itself; `None` where there is no terminal for it, or no gdb.
pub fn attach(pid: u32) -> Option<Child> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return None;
    }
    let pid = pid.to_string();
    let arguments = ["-p", &pid, "-ex", "handle SIGSTOP nostop noprint nopass"];
    Command::new("gdb").args(arguments).spawn().ok()
}

pub fn run(arguments: &Replay, expression: &str, out: &mut dyn Write) -> Result<Answer> {
    if cfg!(windows) {
        return fail(
            "--gdb: netreel starts a debugger on Linux alone; here stop the replay with --step, and attach your \
             debugger to the process of netreel",
        );
    }
    let story = open::story(&arguments.read.source)?;
    let reels = story.session.session_reels();
    let which = chosen(&reels, arguments.node.as_deref())?;
    let mut stops = Vec::new();
    let mut without = Vec::new();
    for reel in which {
        refuse(reel.reel, &arguments.read.source.paths)?;
        let condition = Condition::parse(expression, &story, reel);
        let condition = match condition {
            Ok(condition) => condition,
            // A finding has evidence at some nodes and not at others.
            Err(why) if arguments.node.is_none() => {
                without.push(why);
                continue;
            }
            Err(why) => return fail(format!("--gdb {expression}: {why}")),
        };
        match condition.first(reel) {
            Some(event) => stops.push(Stop {
                node: reel.name.clone(),
                event,
                arguments: again(arguments, &reel.name),
                is_plugin: arguments.together.layer.is_some(),
            }),
            None => without.push(format!("nothing in the reel of {} fits", reel.name)),
        }
    }
    // What is wrong with the words is wrong at every node.
    let mut told = BTreeSet::new();
    without.retain(|why: &String| told.insert(why.clone()));
    if stops.is_empty() {
        return fail(format!("--gdb {expression}: {}", without.join("; ")));
    }
    let program = outcome::own_program()?;
    let program = program.display().to_string();
    if let Some(file) = &arguments.gdb.vscode {
        let configurations: Vec<Json> = stops.iter().map(|stop| stop.of_vscode(&program)).collect();
        write_launch(file, &program, &configurations)?;
        writeln!(out, "{}", file.display())?;
        return Ok(Answer::Clean);
    }
    let is_seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    if let ([stop], true) = (stops.as_slice(), is_seen) {
        let mut gdb = Command::new("gdb");
        let error = netreel_system::process::become_program(gdb.args(stop.of_gdb(&program)));
        return fail(format!("gdb cannot be started: {error}"));
    }
    text::warn(without);
    for stop in &stops {
        let words = stop.of_gdb(&program);
        let words = words.iter().map(|word| quoted(&word.to_string_lossy()));
        writeln!(out, "gdb {}", text::joined(words, " "))?;
    }
    Ok(Answer::Clean)
}

/// The same command for one node, without the debugger.
fn again(arguments: &Replay, node: &str) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let source = &arguments.read.source;
    let mut words = vec!["replay".to_owned()];
    words.extend(source.paths.iter().map(|path| text(path)));
    let mut add = |option: &str, value: &str| words.extend([option, value].map(str::to_owned));
    // Whatever clock the engine reads besides, nothing is to time out while somebody looks.
    if arguments.sit.time_outs != Some(Switch::On) {
        add("--time-outs", "off");
    }
    add("--node", node);
    let options = [
        ("--layer", &arguments.together.layer),
        ("--wire", &source.wire),
        ("--keys", &source.keys),
    ];
    for (option, value) in options {
        if let Some(value) = value {
            add(option, &text(value));
        }
    }
    for (option, values) in [("--tune", &arguments.tune), ("--set", &arguments.set)] {
        for value in values {
            add(option, value);
        }
    }
    words
}

impl Stop {
    /// What gdb is told, each a command of it.
    fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if self.is_plugin {
            // The plugin runs in a process of its own.
            commands.push("set follow-fork-mode child".to_owned());
        }
        // By gdb's grammar for Rust the function has no name without its crate's.
        commands.push("set language c".to_owned());
        commands.push(format!("break *{FUNCTION} if {NUMBER} == {}", self.event.0));
        commands.push("set language auto".to_owned());
        commands
    }

    fn of_gdb(&self, program: &str) -> Vec<OsString> {
        let mut words = vec!["-q".to_owned()];
        for command in self.commands() {
            words.extend(["-ex".to_owned(), command]);
        }
        words.extend(["-ex".to_owned(), "run".to_owned()]);
        words.extend(["--args".to_owned(), program.to_owned()]);
        words.extend(self.arguments.iter().cloned());
        words.into_iter().map(OsString::from).collect()
    }

    /// A configuration of Microsoft's C/C++ extension.
    fn of_vscode(&self, program: &str) -> Json {
        let commands = self
            .commands()
            .into_iter()
            .map(|text| json!({ "text": text }));
        json!({
            "name": self.title(),
            "type": "cppdbg",
            "request": "launch",
            "MIMode": "gdb",
            "program": program,
            "args": self.arguments,
            "cwd": std::env::current_dir().unwrap_or_default().display().to_string(),
            "setupCommands": commands.collect::<Vec<_>>(),
        })
    }

    fn title(&self) -> String {
        format!("{} before event {}", self.node, self.event.0)
    }
}

/// What a launch file of replays has, and no more.
const OWN_KEYS: [&str; 3] = ["version", "configurations", "compounds"];
/// The one that starts all of them.
const COMPOUND: &str = "all nodes";

/// Whether a launch file is one that was written here, so that nothing is lost with it.
fn is_own(text: &str, program: &str) -> bool {
    let Ok(Json::Object(launch)) = serde_json::from_str(text) else {
        return false;
    };
    let all = |key: &str, is_own: &dyn Fn(&Json) -> bool| {
        let found = launch.get(key).and_then(Json::as_array);
        found.is_some_and(|all| all.iter().all(is_own))
    };
    let is_replay = |it: &Json| {
        let name = |path: &Json| Path::new(path.as_str()?).file_name().map(ToOwned::to_owned);
        name(&it["program"]) == Path::new(program).file_name().map(ToOwned::to_owned)
            && it["args"][0] == "replay"
            || it["miDebuggerServerAddress"].is_string()
    };
    launch.keys().all(|key| OWN_KEYS.contains(&key.as_str()))
        && all("configurations", &is_replay)
        && all("compounds", &|it| it["name"] == COMPOUND)
}

/// Writes a launch file that starts these configurations at once, in place of one that was written here.
///
/// # Errors
/// Somebody else's file is there, or it cannot be written.
pub fn write_launch(file: &Path, program: &str, configurations: &[Json]) -> Result {
    let there = std::fs::read_to_string(file);
    let is_lost = match &there {
        Ok(text) => !is_own(text, program),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if is_lost {
        return fail(format!(
            "--vscode {}: there is such a file, with more than netreel writes in it; name another one, and \
             take its configurations over",
            file.display()
        ));
    }
    let names: Vec<&Json> = configurations.iter().map(|it| &it["name"]).collect();
    let launch = json!({
        "version": "0.2.0",
        "configurations": configurations,
        "compounds": [{ "name": COMPOUND, "configurations": names, "stopAll": true }],
    });
    let text = serde_json::to_string_pretty(&launch)?;
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text + "\n"))
        .map_err(|error| {
            let file = file.display();
            Failure::new(format!("--vscode {file}: it cannot be written: {error}"))
        })
}

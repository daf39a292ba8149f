//! `netreel console`: what is typed goes to the consoles of nodes, and their answers stand side by side.

use std::io::{BufRead, IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netreel_console::{Remote, Way, read_token};
use netreel_system::locked;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Editor, Helper, Highlighter, Hinter, Validator};
use serde_json::json;

use crate::arguments::Console;
use crate::outcome::{Answer, Result, fail};
use crate::text;

/// What stands before each line that is typed.
const PROMPT: &str = "> ";

struct Node {
    name: String,
    remote: Remote,
}

type Nodes = Arc<Mutex<Vec<Node>>>;

pub fn run(arguments: &Console, out: &mut dyn Write) -> Result<Answer> {
    let patience = Duration::from_secs_f64(arguments.patience);
    let token = read_token(arguments.token.as_deref())?;
    let connect = |(name, way, address): &(String, Way, SocketAddr)| {
        let remote = Remote::connect(*way, *address, token.as_deref(), patience)
            .map_err(|error| format!("{name}: {error}"))?;
        let name = name.clone();
        Ok(Node { name, remote })
    };
    let nodes: Result<Vec<Node>> = arguments.nodes.iter().map(connect).collect();
    let nodes: Nodes = Arc::new(Mutex::new(nodes?));
    let mut answer = Answer::Clean;
    let mut hear = |line: &str, out: &mut dyn Write| -> Result {
        if !say(&nodes, line, (patience, arguments.json), out)? {
            answer = Answer::Wrong;
        }
        Ok(out.flush()?)
    };
    if !arguments.say.is_empty() {
        for line in &arguments.say {
            hear(line, out)?;
        }
    } else if std::io::stdin().is_terminal() {
        let helper = Completes(Arc::clone(&nodes), patience);
        prompt(helper, &mut |line| hear(line, out))?;
    } else {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|error| format!("standard input: {error}"))?;
            hear(&line, out)?;
        }
    }
    Ok(answer)
}

/// Reads lines at a terminal, with the history of earlier ones.
fn prompt(helper: Completes, hear: &mut dyn FnMut(&str) -> Result) -> Result {
    let mut editor: Editor<Completes, DefaultHistory> = Editor::new()?;
    editor.set_helper(Some(helper));
    loop {
        match editor.readline(PROMPT) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                let _ = editor.add_history_entry(line.as_str());
                hear(&line)?;
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return fail(error),
        }
    }
}

/// Says a line to all nodes, or to the one that it names; whether each has done it.
fn say(
    nodes: &Nodes,
    line: &str,
    (patience, is_json): (Duration, bool),
    out: &mut dyn Write,
) -> Result<bool> {
    let mut nodes = locked(nodes);
    let (to, line) = match line.trim().strip_prefix('@') {
        Some(named) => {
            let (name, line) = named.split_once(' ').unwrap_or((named, ""));
            (Some(name), line)
        }
        None => (None, line.trim()),
    };
    if let Some(to) = to
        && !nodes.iter().any(|node| node.name == to)
    {
        let names = text::joined(nodes.iter().map(|node| node.name.as_str()), ", ");
        anstream::eprintln!("netreel: there is no node {to:?}; there are {names}");
        return Ok(false);
    }
    let meant = nodes
        .iter_mut()
        .filter(|node| to.is_none_or(|to| node.name == to));
    // All hear it at once: nobody's answer waits for another's.
    let answers: Vec<(String, Result<String, String>)> = std::thread::scope(|scope| {
        let asks: Vec<_> = meant
            .map(|node| {
                let name = node.name.clone();
                (name, scope.spawn(|| node.remote.say(line, patience)))
            })
            .collect();
        let answers = asks.into_iter().map(|(name, asks)| {
            let answer = asks.join();
            (
                name,
                answer.unwrap_or_else(|_| Err("the question broke off".to_owned())),
            )
        });
        answers.collect()
    });
    let width = answers
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    for (name, answer) in &answers {
        let is_done = answer.is_ok();
        let (Ok(text) | Err(text)) = answer;
        if is_json {
            let object = json!({ "node": name, "said": line, "ok": is_done, "text": text });
            writeln!(out, "{object}")?;
            continue;
        }
        let failed = if is_done { "" } else { "error: " };
        let mut lines = text.lines();
        let first = lines.next().unwrap_or("done");
        writeln!(out, "{name:width$}  {failed}{first}")?;
        for line in lines {
            writeln!(out, "{:width$}  {line}", "")?;
        }
    }
    Ok(answers.iter().all(|(_, answer)| answer.is_ok()))
}

/// Completes what is typed by what the first node knows.
#[derive(Helper, Highlighter, Hinter, Validator)]
struct Completes(Nodes, Duration);

impl Completer for Completes {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..at];
        let begin = typed.rfind(' ').map_or(0, |at| at + 1);
        let mut nodes = locked(&self.0);
        let names = nodes.iter().map(|node| format!("@{} ", node.name));
        if begin == 0 && typed.starts_with('@') {
            let names = names.filter(|name| name.starts_with(typed));
            return Ok((0, names.collect()));
        }
        let command = match typed.strip_prefix('@') {
            Some(named) => named.split_once(' ').map_or("", |(_, line)| line),
            None => typed,
        };
        let patience = self.1;
        let first = nodes.first_mut();
        let found = first.map(|node| node.remote.complete(command, patience));
        Ok((begin, found.unwrap_or_default()))
    }
}

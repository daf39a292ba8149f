//! `netreel manual` and `netreel completions`: the manual page, and what shells complete, made of the same
//! definitions as `--help`.

use std::io::Write;

use clap::{Arg, Command, CommandFactory};

use crate::arguments::{self, Arguments};
use crate::outcome::{Answer, Result};
use crate::text;

/// Prints `netreel.1`.
pub fn run(out: &mut dyn Write) -> Result<Answer> {
    out.write_all(page().as_bytes())?;
    Ok(Answer::Clean)
}

/// Prints what a shell needs to complete commands and options.
pub fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "netreel", &mut script);
    out.write_all(&script)?;
    Ok(Answer::Clean)
}

/// The page, in the language of man(7).
fn page() -> String {
    let mut whole = Arguments::command();
    whole.build();
    let version = whole.get_version().unwrap_or_default().to_owned();
    let mut page = format!(".TH NETREEL 1 \"\" \"netreel {version}\" \"User Commands\"\n");
    let about = whole
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let name = about.split(':').next().unwrap_or_default();
    heading(&mut page, "SH", "NAME");
    text(&mut page, &format!("netreel - {name}"));
    heading(&mut page, "SH", "SYNOPSIS");
    for command in shown(&whole) {
        page += &format!(".B netreel {}\n", escaped(command.get_name()));
        page += "[\\fIoptions\\fR]\n.br\n";
    }
    heading(&mut page, "SH", "DESCRIPTION");
    paragraphs(&mut page, &long_about(&whole));
    heading(&mut page, "SH", "COMMANDS");
    for command in shown(&whole) {
        describe(&mut page, command, "netreel");
    }
    heading(&mut page, "SH", "FILES");
    text(
        &mut page,
        "What belongs to the package is in /usr/share: the wires of known protocols in \
         netreel/wires, two recorded sessions in netreel/sessions, guides and references in \
         doc/netreel/docs.",
    );
    heading(&mut page, "SH", "SEE ALSO");
    text(&mut page, "tcpdump(8), tshark(1), strace(1)");
    page
}

/// A command with its options, and then those below it.
fn describe(page: &mut String, command: &Command, above: &str) {
    let name = format!("{above} {}", command.get_name());
    heading(page, "SS", &name);
    paragraphs(page, &long_about(command));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    *page += &format!(".PP\n.EX\n{}\n.EE\n", lines(usage));
    let mut heading_before = None;
    let arguments = command.get_arguments();
    for argument in arguments.filter(|it| !it.is_hide_set() && !is_help(it)) {
        let own = argument.get_help_heading();
        if own != heading_before
            && let Some(own) = own
        {
            *page += &format!(".PP\n.I {}:\n", escaped(own));
        }
        heading_before = own;
        option(page, argument);
    }
    for inner in shown(command) {
        describe(page, inner, &name);
    }
}

fn option(page: &mut String, argument: &Arg) {
    let mut spelled: Vec<String> = Vec::new();
    spelled.extend(argument.get_short().map(|short| format!("-{short}")));
    spelled.extend(argument.get_long().map(|long| format!("--{long}")));
    let is_flag = !argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|name| format!("<{name}>")).collect();
    let mut line = format!("\\fB{}\\fR", escaped(&spelled.join(", ")));
    if spelled.is_empty() {
        line = format!("\\fI{}\\fR", escaped(&values.join(" ")));
    } else if !is_flag && !values.is_empty() {
        line += &format!(" \\fI{}\\fR", escaped(&values.join(" ")));
    }
    *page += &format!(".TP\n{line}\n");
    let mut help = argument
        .get_long_help()
        .or(argument.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let possible = argument.get_possible_values();
    let possible: Vec<String> = possible
        .iter()
        .filter(|value| !value.is_hide_set() && !is_flag)
        .map(|value| match value.get_help() {
            Some(help) => format!("{}: {help}", value.get_name()),
            None => value.get_name().to_owned(),
        })
        .collect();
    if !possible.is_empty() {
        help += &format!(" [{}]", possible.join("; "));
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if !defaults.is_empty() && !is_flag {
        help += &format!(" [default: {}]", defaults.join(" "));
    }
    text(page, &help.replace("\n\n", " ").replace('\n', " "));
}

/// Help and version are the same everywhere.
fn is_help(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "help" | "version")
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let inner = command.get_subcommands();
    inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn long_about(command: &Command) -> String {
    let long = command.get_long_about().or(command.get_about());
    let mut words = long.map(ToString::to_string).unwrap_or_default();
    let more = command.get_after_long_help().or(command.get_after_help());
    if let Some(more) = more {
        words += &format!("\n\n{more}");
    }
    words
}

fn heading(page: &mut String, kind: &str, words: &str) {
    *page += &format!(".{kind} \"{}\"\n", escaped(words));
}

/// Paragraphs, each after an empty line. One whose lines are set in is an example.
fn paragraphs(page: &mut String, words: &str) {
    for paragraph in words.split("\n\n").filter(|it| !it.trim().is_empty()) {
        if paragraph.lines().all(|line| line.starts_with("  ")) {
            *page += &format!(".PP\n.EX\n{}\n.EE\n", lines(paragraph));
        } else {
            *page += ".PP\n";
            text(page, paragraph);
        }
    }
}

fn text(page: &mut String, words: &str) {
    *page += &lines(words);
    *page += "\n";
}

/// Lines that begin with no mark of the language.
fn lines(words: &str) -> String {
    let lines = words.lines().map(|line| {
        let line = escaped(line);
        if line.starts_with(['.', '\'']) {
            format!("\\&{line}")
        } else {
            line
        }
    });
    text::joined(lines, "\n")
}

fn escaped(words: &str) -> String {
    words
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('"', "\\(dq")
}

//! Programs that know nothing of netreel, stepped through: `netreel replay --step -- CMD`.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use netreel_reel::{Event, EventNumber};
use support::programs::{Bench, records, text, with_event, write};

const ROUNDS: &str = "20";

/// Somebody at the prompt of a program that was recorded.
struct Prompt {
    command: Child,
    says: ChildStdin,
    shown: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
}

impl Prompt {
    fn new(reels: &Path, program: &Path) -> Prompt {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["replay", text(reels), "--step", "--", text(program), ROUNDS])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Prompt {
            says: command.stdin.take().unwrap(),
            shown: BufReader::new(command.stdout.take().unwrap()),
            errors: BufReader::new(command.stderr.take().unwrap()),
            command,
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.says, "{line}").unwrap();
    }

    /// Reads on to a line with this.
    fn shows(&mut self, part: &str) -> String {
        line_with(&mut self.shown, part)
    }

    /// The process that stands still.
    fn process(&mut self) -> u32 {
        let line = line_with(&mut self.errors, "stands still at each stop");
        number_behind(&line, "process ")
    }

    /// Says nothing any more; the exit code.
    fn ends(self) -> i32 {
        let Prompt {
            mut command, says, ..
        } = self;
        drop(says);
        support::ended(&mut command).code().unwrap()
    }
}

fn line_with(from: &mut impl BufRead, part: &str) -> String {
    let (mut line, mut all) = (String::new(), String::new());
    while !line.contains(part) {
        line.clear();
        let read = from.read_line(&mut line).unwrap();
        assert!(read > 0, "no line with `{part}`: {all}");
        all += &line;
    }
    line
}

fn number_behind(line: &str, part: &str) -> u32 {
    let behind = line.split(part).nth(1).unwrap();
    let digits = behind.split(|it: char| !it.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

fn is_stopped(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.contains("State:\tT")
}

/// A program that was recorded, and the numbers of its sends.
fn recorded() -> (Bench, std::path::PathBuf, Vec<EventNumber>) {
    let bench = Bench::new();
    let program = bench.compile("pair");
    bench.record(&[], &[text(&program), ROUNDS]).expect(0);
    let sent = records(&bench.reel()).into_iter().filter_map(|it| {
        let record = it.as_record();
        matches!(record.event, Event::Sent { .. }).then_some(record.number)
    });
    let sent = sent.collect();
    (bench, program, sent)
}

#[test]
fn a_program_stands_still_at_each_stop_and_is_exact_to_its_end() {
    let (bench, program, sent) = recorded();
    let mut prompt = Prompt::new(&bench.out(), &program);
    let process = prompt.process();
    assert!(is_stopped(process));
    for number in [sent[3], sent[4], sent[15]] {
        prompt.say(&format!("goto {number}"));
        prompt.shows(&format!("event {number}  "));
        assert!(is_stopped(process), "before event {number}");
    }
    prompt.say("packet");
    prompt.shows("event ");
    prompt.say("continue");
    prompt.shows(": exact, 20 of 20 sends equal");
    assert_eq!(prompt.ends(), 0);
}

#[test]
fn going_back_starts_the_program_again() {
    let (bench, program, sent) = recorded();
    let mut prompt = Prompt::new(&bench.out(), &program);
    let first = prompt.process();
    prompt.say(&format!("goto {}", sent[15]));
    prompt.shows(&format!("event {}  ", sent[15]));
    prompt.say(&format!("goto {}", sent[2]));
    let line = prompt.shows("the program was started again");
    let second = number_behind(&line, "process ");
    assert_ne!(first, second);
    assert!(is_stopped(second));
    let is_gone = !Path::new(&format!("/proc/{first}")).exists();
    assert!(is_gone, "the first one has been ended");
    prompt.say("continue");
    prompt.shows(": exact, 20 of 20 sends equal");
    // Also behind its end.
    prompt.say("back packet");
    prompt.shows("the program was started again");
    assert_eq!(prompt.ends(), 0);
}

#[test]
fn whoever_leaves_ends_the_program() {
    let (bench, program, sent) = recorded();
    let mut prompt = Prompt::new(&bench.out(), &program);
    let process = prompt.process();
    prompt.say(&format!("goto {}", sent[3]));
    prompt.shows(&format!("event {}  ", sent[3]));
    prompt.say("quit");
    assert_eq!(prompt.ends(), 0);
    assert!(!Path::new(&format!("/proc/{process}")).exists());
}

#[test]
fn where_a_program_parts_from_its_recording_one_goes_no_further() {
    let (bench, program, sent) = recorded();
    let reel = bench.reel();
    let changed = sent[9];
    let all = records(&reel).into_iter().map(|it| {
        let record = it.as_record();
        match record.event {
            Event::Sent {
                socket,
                to,
                payload,
            } if record.number == changed => {
                let mut bytes = payload.to_vec();
                bytes[0] ^= 1;
                let payload = bytes.as_slice();
                let event = Event::Sent {
                    socket,
                    to,
                    payload,
                };
                with_event(&record, event)
            }
            _ => it,
        }
    });
    let all: Vec<_> = all.collect();
    write(&bench.reel_file(), &reel, &all);
    let mut prompt = Prompt::new(&bench.out(), &program);
    prompt.say("continue");
    prompt.shows(&format!("diverged at event {changed}"));
    prompt.say("event");
    prompt.shows(&format!("diverged at event {changed}"));
    prompt.say(&format!("goto {}", sent[8]));
    prompt.shows(&format!("event {}  ", sent[8]));
    assert_eq!(prompt.ends(), 1);
}

#[test]
fn a_program_has_neither_states_nor_a_switch_of_time_outs_and_says_what_to_do() {
    let (bench, program, _) = recorded();
    let mut prompt = Prompt::new(&bench.out(), &program);
    prompt.say("state");
    assert!(prompt.shows("? ").contains("gdb -p "));
    prompt.say("time-outs off");
    assert!(prompt.shows("? ").contains("the recorded one"));
    assert_eq!(prompt.ends(), 2);
}

/// With a debugger that has no terminal nothing would be seen: `script` gives it one.
#[test]
fn at_a_terminal_gdb_comes_up_where_the_program_stands() {
    let (bench, program, sent) = recorded();
    let home = tempfile::tempdir().unwrap();
    let settings = "set pagination off\nset confirm off\nset debuginfod enabled off\n";
    std::fs::write(home.path().join(".gdbinit"), settings).unwrap();
    let command = format!(
        "{} replay {} --gdb 'event {}' -- {} {ROUNDS}",
        env!("CARGO_BIN_EXE_netreel"),
        text(&bench.out()),
        sent[9],
        text(&program),
    );
    let mut terminal = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "dumb")
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux");
    let mut says = terminal.stdin.take().unwrap();
    let mut shown = terminal.stdout.take().unwrap();
    let mut said = String::new();
    for command in ["continue", "quit"] {
        if !reads_to(&mut shown, "(gdb) ", &mut said) {
            assert!(!said.contains("exited normally"), "{said}");
            let is_missing = said.contains("is stopped before");
            support::skipped(match is_missing {
                true => format!("gdb: No such file: {said}"),
                false => said,
            });
            terminal.kill().unwrap();
            terminal.wait().unwrap();
            return;
        }
        writeln!(says, "{command}").unwrap();
    }
    reads_to(&mut shown, "nothing says this", &mut said);
    assert!(said.contains("exited normally"), "{said}");
    assert!(said.contains("exact, 20 of 20 sends equal"), "{said}");
    assert!(support::ended(&mut terminal).success());
}

/// Reads on until what was read ends with this; whether it does.
fn reads_to(from: &mut impl std::io::Read, end: &str, all: &mut String) -> bool {
    let mut byte = [0];
    while from.read(&mut byte).is_ok_and(|read| read > 0) {
        all.push(char::from(byte[0]));
        let waits_for_nobody = all.contains("is stopped before") || all.contains("ptrace: ");
        if all.ends_with(end) || waits_for_nobody {
            return all.ends_with(end);
        }
    }
    false
}

//! What a recorded program prints: its lines as events, and nothing of it changed.

mod support;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use netreel_reel::{CallId, Event, EventNumber, Reel};
use support::netreel;
use support::programs::{Bench, records, replay, text};
use support::terminals::terminal;

/// What was printed on a descriptor: the number of each event, and its bytes.
fn printed(reel: &Reel, descriptor: u8) -> Vec<(EventNumber, Vec<u8>)> {
    let mut all = Vec::new();
    reel.for_each(|record| {
        if let Event::Called {
            call: CallId::PRINTED,
            details: [its, line @ ..],
            result,
        } = record.event
            && *its == descriptor
        {
            assert_eq!(result as usize, line.len());
            all.push((record.number, line.to_vec()));
        }
    });
    all
}

fn joined(lines: &[(EventNumber, Vec<u8>)]) -> Vec<u8> {
    lines.iter().flat_map(|(_, line)| line.clone()).collect()
}

/// The same bytes; of others the first that differs is told.
#[track_caller]
fn same(came: &[u8], expected: &[u8], what: &str) {
    let pairs = came.iter().zip(expected);
    let at = pairs
        .take_while(|(came, expected)| came == expected)
        .count();
    let shown = |bytes: &[u8]| {
        let from = at.saturating_sub(20);
        let part = &bytes[from.min(bytes.len())..bytes.len().min(at + 20)];
        String::from_utf8_lossy(part).into_owned()
    };
    let equal = came.len() == at && expected.len() == at;
    assert!(
        equal,
        "{what}, byte {at}: {:?} instead of {:?}",
        shown(came),
        shown(expected)
    );
}

/// Runs the program with its outputs led into files: what stands in them.
fn run(bench: &Bench, command: &mut Command, name: &str) -> [Vec<u8>; 2] {
    let paths = ["out", "err"].map(|it| bench.at(&format!("{name}.{it}")));
    let [out, err] = paths.each_ref().map(|path| File::create(path).unwrap());
    let status = command.stdout(out).stderr(err).status().unwrap();
    assert!(status.success(), "{name}: {status}");
    paths.map(|path| std::fs::read(path).unwrap())
}

/// The recorder with the program behind a shell that keeps the program's errors apart from the
/// recorder's own.
fn recording(bench: &Bench, flags: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netreel"));
    let script = "exec \"$@\" 2>\"$ERRORS\"";
    command
        .args(["record", "--out", text(&bench.out())])
        .args(flags)
        .args(["--", "sh", "-c", script, "sh", text(program)])
        .args(arguments)
        .env("ERRORS", bench.at("errors"));
    command
}

#[test]
fn what_a_program_prints_in_all_ways_comes_out_unchanged_and_is_in_the_reel() {
    for mode in ["ways", "binary", "partial", "wide"] {
        let bench = Bench::new();
        let program = bench.compile("prints");
        let plain = run(&bench, Command::new(&program).arg(mode), "plain");
        let mut recorder = recording(&bench, &[], &program, &[mode]);
        let [out, _] = run(&bench, &mut recorder, "recorded");
        let errors = std::fs::read(bench.at("errors")).unwrap();
        same(&out, &plain[0], mode);
        same(&errors, &plain[1], mode);
        let reel = bench.reel();
        let mut expected = out.clone();
        if mode == "ways" {
            // One line goes through a copy of the descriptor, which is not the standard output.
            let beside = "this goes through another descriptor\n";
            let all = String::from_utf8(expected).unwrap();
            expected = all.replace(beside, "").into();
        }
        same(&joined(&printed(&reel, 1)), &expected, mode);
        same(&joined(&printed(&reel, 2)), &errors, mode);
    }
}

#[test]
fn a_line_is_an_event_that_stands_before_the_packet_that_was_sent_after_it() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let mut recorder = recording(&bench, &[], &program, &["ways"]);
    run(&bench, &mut recorder, "recorded");
    let reel = bench.reel();
    let lines = printed(&reel, 1);
    let amid = records(&reel).iter().find_map(|it| match it.as_record() {
        record if record.event.bytes() == Some(b"amid") => Some(record.number),
        _ => None,
    });
    // The stream is a file's, so that the C library wrote it long after.
    let before = lines.iter().filter(|(number, _)| Some(*number) < amid);
    let before: Vec<&[u8]> = before.map(|(_, line)| line.as_slice()).collect();
    assert_eq!(before.first(), Some(&&b"printf 42 words\n"[..]));
    assert_eq!(before.last(), Some(&&b"a list of 7\n"[..]));
    assert!(lines.iter().all(|(_, line)| {
        let ends = line.iter().filter(|byte| **byte == b'\n').count();
        ends <= 1
    }));
}

#[test]
fn what_a_program_said_before_it_crashed_is_there() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let ran = bench.record_plainly(&[], &[text(&program), "crashes"]);
    assert_eq!(ran.out, "", "the C library never wrote it");
    let said = joined(&printed(&bench.reel(), 1));
    assert_eq!(said, b"all is well\nsomething is wrong\n");
    let again = bench.again(&[], &[text(&program), "crashes"]).expect(0);
    assert!(again.out.contains("2 lines"), "{}", again.out);
}

#[test]
fn a_descriptor_that_was_closed_is_the_standard_output_no_more() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("prints"), bench.at("data"));
    let mut recorder = recording(&bench, &[], &program, &["closes", text(&file)]);
    let [out, _] = run(&bench, &mut recorder, "recorded");
    assert_eq!(out, b"before\n");
    assert_eq!(std::fs::read(&file).unwrap(), b"data, not a line\n");
    let reel = bench.reel();
    assert_eq!(joined(&printed(&reel, 1)), b"before\n");
    assert_eq!(joined(&printed(&reel, 2)), b"after\n");
}

#[test]
fn an_output_that_the_program_leads_elsewhere_is_still_its_output() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("prints"), bench.at("file"));
    let mut recorder = recording(&bench, &[], &program, &["dups", text(&file)]);
    let [out, _] = run(&bench, &mut recorder, "recorded");
    assert_eq!(out, b"to the pipe\nto the pipe again\n");
    let inside = std::fs::read_to_string(&file).unwrap();
    assert_eq!(inside, "straight to the file\nto the file\nopened again\n");
    let all = joined(&printed(&bench.reel(), 1));
    let expected =
        "to the pipe\nto the file\nstraight to the file\nto the pipe again\nopened again\n";
    assert_eq!(String::from_utf8(all).unwrap(), expected);
}

#[test]
fn parent_and_child_have_their_lines_in_their_own_reels() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let mut recorder = recording(&bench, &[], &program, &["forks"]);
    let [out, _] = run(&bench, &mut recorder, "recorded");
    let reels = bench.reels();
    let mut said: Vec<String> = reels
        .iter()
        .map(|(_, reel)| String::from_utf8(joined(&printed(reel, 1))).unwrap())
        .collect();
    said.sort();
    assert_eq!(
        said,
        [
            "the child\ngoes on\n",
            "the parent has a line\nwaiting, the parent goes on\n"
        ]
    );
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().count(), 4, "{out}");
}

/// What a program prints on a terminal.
fn on_a_terminal(mut command: Command) -> String {
    let (slave, mut master) = terminal();
    command.stdout(Stdio::from(slave)).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut said = Vec::new();
    // The terminal's end is an error for whoever reads it.
    let _ = master.read_to_end(&mut said);
    assert!(child.wait().unwrap().success());
    String::from_utf8(said).unwrap()
}

#[test]
fn a_terminal_stays_one_also_in_a_replay_that_has_none() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let mut plain = Command::new(&program);
    plain.arg("tty");
    let plain = on_a_terminal(plain);
    assert!(plain.starts_with("a terminal: 1 0\r\n"), "{plain}");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"));
    recorder.args(["record", "--out", text(&bench.out()), "--"]);
    recorder.args([text(&program), "tty"]);
    assert_eq!(on_a_terminal(recorder), plain);
    let said = joined(&printed(&bench.reel(), 1));
    assert_eq!(said, plain.replace("\r\n", "\n").as_bytes());
    let again = bench.again(&[], &[text(&program), "tty"]).expect(0);
    assert!(again.out.contains(", 2 lines"), "{}", again.out);
}

#[test]
fn a_hundred_thousand_lines_are_all_there() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let mut recorder = recording(&bench, &[], &program, &["many", "100000"]);
    let [out, _] = run(&bench, &mut recorder, "recorded");
    let lines = printed(&bench.reel(), 1);
    same(&joined(&lines), &out, "in the reel");
    // The C library writes when its buffer is full, amid a line: then there is an event more.
    let ends = lines.iter().filter(|(_, line)| line.ends_with(b"\n"));
    assert_eq!(ends.count(), 100_000);
    let shown = netreel(&["events", text(&bench.out()), "--kind", "called"]).expect(0);
    let shown = shown
        .out
        .lines()
        .filter(|it| it.contains("prints on descriptor 1:"));
    assert_eq!(shown.count(), lines.len());
}

#[test]
fn without_the_log_nothing_of_it_is_recorded() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let mut recorder = recording(&bench, &["--no-log"], &program, &["ways"]);
    run(&bench, &mut recorder, "recorded");
    let reel = bench.reel();
    assert!(printed(&reel, 1).is_empty() && printed(&reel, 2).is_empty());
}

#[test]
fn the_first_line_that_differs_is_a_divergence_also_where_all_packets_are_equal() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("prints"), bench.at("line"));
    std::fs::write(&file, "as it was\n").unwrap();
    let command = [text(&program), "file", text(&file)];
    bench.record(&[], &command).expect(0);
    bench.expect_exact(&command);
    std::fs::write(&file, "as it is\n").unwrap();
    let told = bench.again(&["--json"], &command).expect(1).json();
    assert_eq!(told["result"], "divergence");
    assert_eq!(told["sends"], told["sends_recorded"]);
    let event = told["divergence"]["event"].as_u64().unwrap();
    let lines = printed(&bench.reel(), 1);
    let second = lines.iter().find(|(number, _)| number.0 == event);
    assert_eq!(second.unwrap().1, b"the file says as it was\n");
    assert_eq!(told["line"]["came"], "the file says as it is");
    // Whoever does not want to compare lines says so.
    bench.again(&["--no-log"], &command).expect(0);
}

#[test]
fn lines_that_threads_print_at_the_same_time_are_told_and_no_divergence() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let command = [text(&program), "threads"];
    bench.record_plainly(&[], &command).expect(0);
    for _ in 0..3 {
        let told = replay(&bench.out(), &["--json"], &command).expect(0).json();
        assert_eq!(told["result"], "exact");
        assert_eq!(told["lines"], 600);
    }
}

//! What a program was started with, and the kernel's files that it reads, where they are others when it is
//! started again.

mod support;

use std::process::Command;

use support::Ran;
use support::programs::{Bench, sent, text};

/// Records `command` with these descriptors, as a shell makes them, behind what the shell does first.
fn record_with(bench: &Bench, descriptors: &str, first: &str, command: &[&str]) {
    let out = bench.out();
    let _ = std::fs::remove_dir_all(&out);
    let script = format!("{{ {first}; exec \"$@\"; }} {descriptors}");
    let recorded = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_netreel")])
        .args(["record", "--out", text(&out), "--"])
        .args(command)
        .current_dir(bench.at(""))
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
}

/// What is said at the start of the descriptors that these programs were given, not of those that whoever
/// runs this test may have handed down.
fn named(ran: &Ran) -> Vec<&str> {
    let given = |line: &&str| (5..10).any(|fd| line.contains(&format!("descriptor {fd} led to")));
    ran.err.lines().filter(given).collect()
}

#[test]
fn a_file_that_a_program_was_started_with_is_read_on_from_where_it_was() {
    let bench = Bench::new();
    let program = bench.compile("held");
    let command = [text(&program)];
    let file = bench.at("file");
    std::fs::write(&file, "read before, and read now").unwrap();
    let first = "dd bs=13 count=1 status=none <&5 >/dev/null";
    record_with(&bench, "5<file", first, &command);
    assert_eq!(sent(&bench.reel()), [&b"hello"[..], b"and read now"]);
    let ran = bench.again(&[], &command).expect(0);
    assert!(ran.out.contains("exact, 2 of 2 sends"), "{}", ran.out);
    assert_eq!(named(&ran), [""; 0]);

    std::fs::write(&file, "read before, and read now and then").unwrap();
    let ran = bench.again(&[], &command).expect(1);
    let told = format!(
        "netreel: descriptor 5 led to {}, which was changed since",
        text(&file)
    );
    assert_eq!(named(&ran), [told]);
    assert!(
        ran.out.contains("maybe because descriptor 5"),
        "{}",
        ran.out
    );

    std::fs::remove_file(&file).unwrap();
    let ran = bench.again(&[], &command).expect(1);
    assert!(named(&ran)[0].contains("which is gone"), "{}", ran.err);
}

#[test]
fn descriptors_that_are_no_files_are_named_at_once() {
    let bench = Bench::new();
    let program = bench.compile("held");
    let command = [text(&program)];
    // A pipe that it reads, a file that it may write to, and nothing.
    record_with(
        &bench,
        "5</dev/null 7>written 8</dev/null",
        "true",
        &command,
    );
    let ran = bench.again(&[], &command).expect(0);
    let told = format!(
        "netreel: descriptor 7 led to {}, and leads to nothing now (/dev/null)",
        text(&bench.at("written"))
    );
    assert_eq!(named(&ran), [told]);

    let first = "exec 5<&0 </dev/null";
    let script = format!("echo piped | {{ {first}; exec \"$@\"; }}");
    let _ = std::fs::remove_dir_all(bench.out());
    let recorded = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_netreel")])
        .args(["record", "--out", text(&bench.out()), "--"])
        .args(command)
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    assert_eq!(sent(&bench.reel())[1], b"piped\n");
    let ran = bench.again(&[], &command).expect(1);
    let [told] = named(&ran)[..] else {
        panic!("{}", ran.err)
    };
    assert!(told.contains("descriptor 5 led to pipe:["), "{told}");
    assert!(told.ends_with("leads to nothing now (/dev/null)"), "{told}");
    assert!(
        ran.out.contains("maybe because descriptor 5"),
        "{}",
        ran.out
    );
}

/// The files that are named as others than they were.
fn others(bench: &Bench, command: &[&str]) -> Vec<String> {
    bench.record_plainly(&[], command).expect(0);
    let ran = bench.again(&[], command).expect(1);
    let lines = ran.out.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("maybe because the file ")?;
        let (path, _) = rest.split_once(" said something else")?;
        Some(path.to_owned())
    });
    lines.collect()
}

#[test]
fn the_kernels_file_that_differs_is_named() {
    for (file, other, named) in [
        ("/proc/uptime", "/proc/version", "/proc/uptime"),
        ("/proc/version", "/proc/uptime", "/proc/uptime"),
        ("/proc/version", "/proc/self/stat", "/proc/self/stat"),
    ] {
        let bench = Bench::new();
        let program = bench.compile("reads");
        let command = [text(&program), file, other];
        assert_eq!(others(&bench, &command), [named], "{file} {other}");
    }
}

#[test]
fn a_file_below_the_programs_own_number_is_its_own() {
    let bench = Bench::new();
    let program = bench.compile("reads");
    let command = [text(&program), "/proc/version", "own"];
    bench.record(&[], &command).expect(0);
    assert_eq!(sent(&bench.reel())[1], b"reads\n");
    bench.expect_exact(&command);
}

#[test]
fn a_program_that_counts_its_starts_in_a_file_finds_the_number_that_it_found() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("counts"), bench.at("count"));
    let command = [text(&program), text(&file)];
    for older in [None, Some("3")] {
        let _ = std::fs::remove_dir_all(bench.out());
        if let Some(older) = older {
            std::fs::write(&file, older).unwrap();
        }
        bench.record(&[], &command).expect(0);
        let left = std::fs::read(&file).unwrap();
        bench.expect_exact(&command);
        assert_eq!(std::fs::read(&file).unwrap(), left);
    }
}

#[test]
fn memory_lies_where_it_lay_behind_the_lookup_of_a_name_that_this_machine_knows() {
    let order = std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    let first = |line: &str| line.strip_prefix("hosts:").map(|it| it.trim().to_owned());
    if !order
        .lines()
        .find_map(first)
        .is_some_and(|it| it.starts_with("files"))
    {
        support::skipped("names are not looked for in /etc/hosts first here");
        return;
    }
    heap_is_exact_behind(&["getaddrinfo", "gethostbyname"]);
}

/// Nobody is asked for it, but without hints the C library makes an answer for each kind of socket.
#[test]
fn memory_lies_where_it_lay_behind_the_lookup_of_an_address_in_numbers() {
    heap_is_exact_behind(&["number"]);
}

fn heap_is_exact_behind(lookups: &[&str]) {
    let bench = Bench::new();
    let program = bench.compile("heap");
    for how in lookups {
        let _ = std::fs::remove_dir_all(bench.out());
        let command = [text(&program), how];
        bench.record(&[], &command).expect(0);
        bench.expect_exact(&command);
    }
}

#[test]
fn the_number_of_its_process_stands_for_it_whatever_takes_it() {
    let bench = Bench::new();
    let program = bench.compile("numbers");
    let command = [text(&program)];
    bench.record(&[], &command).expect(0);
    bench.expect_exact(&command);
}

//! Programs that go past the recorder: refused before they start, or named while they run.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use netreel_reel::EventKind;
use support::programs::{Bench, calls, count, notes, sent, text};

/// A gap is a line on the error output, a note in the reel, and exit code 1.
#[track_caller]
fn check_gap(bench: &Bench, command: &[&str], sentence: &str) {
    let ran = bench.record(&[], command).expect(1);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    let notes: String = bench.reels().iter().map(|(_, reel)| notes(reel)).collect();
    let last = sentence.split(": ").last().unwrap();
    assert!(notes.contains(last), "{last:?} in {notes}");
}

#[test]
fn system_calls_past_the_c_library_are_named() {
    let bench = Bench::new();
    let raw = bench.compile("raw");
    check_gap(
        &bench,
        &[text(&raw), "5"],
        "calls sendto past the C library",
    );
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"seen".to_vec()]);
    assert!(notes(&reel).contains("system calls past the recorder: sendto 5 times"));
}

#[test]
fn reads_and_writes_past_the_c_library_are_named_where_they_concern_a_socket() {
    let bench = Bench::new();
    let raw = bench.compile("raw");
    let command = [text(&raw), "0", "as files"];
    check_gap(&bench, &command, "calls write past the C library");
    let past = "system calls past the recorder: write once, close once, writev once";
    assert!(notes(&bench.reel()).contains(past));
}

#[test]
fn a_child_goes_on_as_it_would_when_its_watched_parent_has_ended() {
    let bench = Bench::new();
    let raw = bench.compile("raw");
    bench
        .record(&[], &[text(&raw), "5", "by a", "child"])
        .expect(1);
    let reels = bench.reels();
    assert!(
        reels
            .iter()
            .any(|(_, reel)| sent(reel) == [b"seen".to_vec()])
    );
}

#[test]
fn what_is_printed_or_moved_to_a_socket_is_named_and_arrives() {
    let bench = Bench::new();
    let odd = bench.compile("odd");
    for (how, sentence) in [
        ("printed", "it uses a UDP socket as a stream"),
        ("spliced", "it has bytes moved into or out of a UDP socket"),
        (
            "requested",
            "it has bytes moved into or out of a UDP socket",
        ),
    ] {
        check_gap(&bench, &[text(&odd), how], sentence);
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn reads_and_writes_at_the_offset_that_a_socket_has_are_recorded() {
    let bench = Bench::new();
    let odd = bench.compile("odd");
    bench.record(&[], &[text(&odd), "offsets"]).expect(0);
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"out".to_vec(), b"out".to_vec()]);
    assert_eq!(count(&reel, EventKind::Received), 2);
}

#[test]
fn functions_are_recorded_under_their_second_names() {
    let bench = Bench::new();
    let odd = bench.compile("odd");
    bench.record(&[], &[text(&odd), "twins"]).expect(0);
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(count(&reel, EventKind::Received), 2);
    assert_eq!(calls(&reel)["close"], 1);
}

#[test]
fn a_look_for_the_kernels_own_library_is_named() {
    let bench = Bench::new();
    let vdso = bench.compile("vdso");
    check_gap(
        &bench,
        &[text(&vdso)],
        "it looks for the kernel's own library",
    );
}

#[test]
fn an_io_uring_is_named() {
    let bench = Bench::new();
    let uring = bench.compile("uring");
    if has_no_ring(&uring) {
        return;
    }
    check_gap(&bench, &[text(&uring), "0"], "it uses io_uring");
}

#[test]
fn an_io_uring_that_liburing_makes_is_named() {
    let bench = Bench::new();
    let flags = ["-DLIBURING", "-l:liburing.so.2"];
    let Some(uring) = bench.compile_with("uring", "cc", &flags) else {
        return;
    };
    if has_no_ring(&uring) {
        return;
    }
    check_gap(&bench, &[text(&uring), "0"], "it uses io_uring");
}

fn has_no_ring(program: &Path) -> bool {
    let status = Command::new(program).arg("0").status().unwrap();
    let none = status.code() == Some(77);
    if none {
        support::skipped("this kernel makes no io_uring");
    }
    none
}

#[test]
fn a_child_that_escapes_is_named() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let flags = ["-static"];
    let Some(pair) = bench.compile_with("pair", "cc", &flags) else {
        return;
    };
    let ran = bench
        .record(&[], &[text(&children), text(&pair), "3"])
        .expect(1);
    assert!(
        ran.err.contains("is not recorded: it is statically linked"),
        "{}",
        ran.err
    );
}

#[test]
fn a_child_that_escapes_by_a_call_without_a_hook_is_named() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    let command = [text(&children), "quietly", text(&idle), "1800"];
    check_gap(&bench, &command, "into which the recorder was not loaded");
}

#[test]
fn a_short_lived_child_that_escapes_is_named_however_its_arguments_were_listed() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    for call in ["execl", "execlp", "execle"] {
        let command = [text(&children), call, text(&idle), "0"];
        check_gap(&bench, &command, "is statically linked");
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn arguments_listed_in_the_call_reach_the_program() {
    let bench = Bench::new();
    let children = bench.compile("children");
    for call in ["execl", "execle"] {
        let ran = bench.record(&[], &[text(&children), call, "/bin/echo", "b"]);
        assert_eq!(ran.expect(0).out.lines().next(), Some("b c d e f g h"));
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn a_child_whose_environment_was_cleaned_is_named() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    let ran = bench
        .record(&[], &[text(&children), "clean", text(&pair), "3"])
        .expect(1);
    let sentence = "is not recorded: its environment was cleaned of the recorder";
    assert!(ran.err.contains(sentence), "{}", ran.err);
}

/// A program that would escape is refused before it starts, and leaves no folder behind.
#[track_caller]
fn check_refused(bench: &Bench, program: &Path, sentence: &str) {
    let ran = bench.record(&[], &[text(program)]).expect(2);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    assert!(!bench.out().exists(), "nothing was made");
}

#[test]
fn a_static_program_is_refused() {
    let bench = Bench::new();
    if let Some(program) = bench.compile_with("pair", "cc", &["-static"]) {
        check_refused(&bench, &program, "it is statically linked");
    }
}

#[test]
fn a_musl_program_is_refused() {
    let bench = Bench::new();
    if let Some(program) = bench.compile_with("pair", "musl-gcc", &[]) {
        check_refused(&bench, &program, "it runs on musl");
    }
}

#[test]
fn a_setuid_program_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let program = bench.compile("pair");
    if std::os::unix::fs::chown(&program, Some(65_534), None).is_err() {
        support::skipped("only root can give a file away");
        return;
    }
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    check_refused(&bench, &program, "setuid");
}

/// The program `pair` with some of its bytes changed.
fn changed(bench: &Bench, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let program = bench.compile("pair");
    let mut bytes = std::fs::read(&program).unwrap();
    change(&mut bytes);
    std::fs::write(&program, bytes).unwrap();
    program
}

#[test]
fn a_32_bit_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[4] = 1);
    check_refused(&bench, &program, "it is a 32-bit program");
}

#[test]
fn a_program_for_another_processor_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[18] = 8);
    check_refused(&bench, &program, "another processor");
}

#[test]
fn a_go_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| {
        // A dynamically linked Go program is an ELF file like others, but for two sections.
        let name = b".note.gnu.build-id\0";
        let at = bytes.windows(name.len()).position(|part| part == name);
        bytes[at.unwrap()..][..18].copy_from_slice(b".note.go.buildid\0\0");
    });
    check_refused(&bench, &program, "it is a Go program");
    check_refused(&bench, &program, "netreel record --proxy LISTEN=TARGET");
    check_refused(&bench, &program, "netreel record --live IFACE");
}

#[test]
fn what_is_no_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[..4].copy_from_slice(b"text"));
    check_refused(&bench, &program, "neither an ELF program nor a script");
    std::fs::remove_file(&program).unwrap();
    check_refused(&bench, &program, "no program of this name");
    std::fs::write(&program, "\x7fELF").unwrap();
    check_refused(&bench, &program, "the file may not be run: chmod +x");
    std::fs::remove_file(&program).unwrap();
    std::fs::create_dir(&program).unwrap();
    check_refused(&bench, &program, "it is a folder");
}

#[test]
fn a_script_is_recorded_through_its_interpreter() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let script = bench.at("script");
    std::fs::write(&script, format!("#!/bin/sh\n{} 3\n", text(&program))).unwrap();
    std::fs::set_permissions(&script, std::fs::metadata(&program).unwrap().permissions()).unwrap();
    bench.record(&[], &[text(&script)]).expect(0);
    let reels = bench.reels();
    let pair = reels.iter().find(|(name, _)| name == "pair").unwrap();
    assert_eq!(count(&pair.1, EventKind::Sent), 3);
}

#[test]
fn what_a_start_script_of_bash_starts_is_watched() {
    let bench = Bench::new();
    let raw = bench.compile("raw");
    if Command::new("bash").arg("--version").output().is_err() {
        support::skipped("no bash");
        return;
    }
    let line = format!("{} 5; true", text(&raw));
    let ran = bench.record(&[], &["bash", "-c", &line]).expect(1);
    assert!(!ran.err.contains("not watched"), "{}", ran.err);
    assert!(
        ran.err.contains("calls sendto past the C library"),
        "{}",
        ran.err
    );
}

#[test]
fn a_program_given_to_the_loader_is_recorded() {
    let bench = Bench::new();
    let pair = bench.compile("pair");
    let interpreter = "/lib64/ld-linux-x86-64.so.2";
    let loader = Path::new(interpreter);
    if !loader.exists() {
        support::skipped("the loader has another name here");
        return;
    }
    bench
        .record(&[], &[interpreter, text(&pair), "3"])
        .expect(0);
    assert_eq!(sent(&bench.reel()).len(), 3);
    std::fs::remove_dir_all(bench.out()).unwrap();
    let line = format!("{interpreter} {} 3; true", text(&pair));
    bench.record(&[], &["sh", "-c", &line]).expect(0);
}

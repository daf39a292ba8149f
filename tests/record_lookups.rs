//! Functions of the C library that a program looks up while it runs are recorded like others, and
//! libraries that find them past the recorder are named.

mod support;

use std::process::Command;

use support::programs::{Bench, notes, sent, text};

/// A library of `plugin.c`.
fn plugin(bench: &Bench, flags: &[&str]) -> std::path::PathBuf {
    let flags = [&["-shared", "-fPIC"], flags].concat();
    bench
        .compile_with("plugin", "cc", &flags)
        .expect("the C compiler that Rust links with compiles this")
}

/// The packet is in the reel once, and nothing is missing.
#[track_caller]
fn check_recorded(bench: &Bench, command: &[&str], payload: &str) {
    bench.record(&[], command).expect(0);
    let all = bench.reels();
    let packets: Vec<_> = all.iter().flat_map(|(_, reel)| sent(reel)).collect();
    assert_eq!(packets, [payload.as_bytes().to_vec()], "{command:?}");
    std::fs::remove_dir_all(bench.out()).unwrap();
}

#[test]
fn a_function_that_is_looked_up_is_recorded() {
    let bench = Bench::new();
    let program = bench.compile("lookups");
    for how in ["handle", "version", "next", "default", "twice"] {
        check_recorded(&bench, &[text(&program), how], how);
    }
}

#[test]
fn a_function_that_python_looks_up_is_recorded() {
    let bench = Bench::new();
    let source = "import ctypes, socket, sys
c = ctypes.CDLL(sys.argv[1] or None)
to = b'\\2\\0\\0\\x09\\x7f\\0\\0\\1' + bytes(8)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sys.exit(c.sendto(s.fileno(), b'ctypes', 6, 0, to, 16) != 6)
";
    let path = "import ctypes, sys; print(sys.executable, end='')";
    let Ok(found) = Command::new("python3").args(["-c", path]).output() else {
        support::skipped("there is no python3");
        return;
    };
    if !found.status.success() {
        support::skipped("this python3 has no ctypes");
        return;
    }
    let python = String::from_utf8(found.stdout).unwrap();
    for library in ["libc.so.6", ""] {
        check_recorded(&bench, &[&python, "-c", source, library], "ctypes");
    }
}

#[test]
fn a_library_that_is_loaded_and_looks_further_is_recorded() {
    let bench = Bench::new();
    let program = bench.compile("lookups");
    for flags in [&[][..], &["-DNEXT"]] {
        let plugin = plugin(&bench, flags);
        let command = [text(&program), "plugin", text(&plugin)];
        check_recorded(&bench, &command, "plugin");
    }
}

/// Another preloaded library that stands before `sendto`, however it finds the C library's one.
#[test]
fn another_preloaded_library_is_called_once_and_so_is_the_recorder() {
    let bench = Bench::new();
    let program = bench.compile("lookups");
    let next = "-DWRAPS=dlsym(RTLD_NEXT,\"sendto\")";
    let handle = "-DWRAPS=dlsym(dlopen(\"libc.so.6\",RTLD_LAZY),\"sendto\")";
    let ways = [
        (next, "-Wl,--hash-style=gnu"),
        (handle, "-Wl,--hash-style=gnu"),
        (handle, "-Wl,--hash-style=sysv"),
    ];
    for (way, table) in ways {
        let plugin = plugin(&bench, &[way, table]);
        for preload in ["$1 $LD_PRELOAD", "$LD_PRELOAD $1"] {
            let script = format!("LD_PRELOAD=\"{preload}\" exec \"$0\" \"$2\"");
            for how in ["plain", "handle"] {
                let command = ["sh", "-c", &script, text(&program), text(&plugin), how];
                let ran = bench.record(&[], &command).expect(0);
                let all = bench.reels();
                let packets: Vec<_> = all.iter().flat_map(|(_, reel)| sent(reel)).collect();
                let case = format!("{way} {table} {preload} {how}");
                assert_eq!(packets, [how.as_bytes().to_vec()], "{case}");
                let wrapped = ran.err.matches("wrapped").count();
                assert!(wrapped <= 1 && (wrapped == 1 || how == "handle"), "{case}");
                std::fs::remove_dir_all(bench.out()).unwrap();
            }
        }
    }
}

/// The sanitizers' libraries stand before many functions, and look them up before anything else runs.
#[test]
fn a_program_under_a_sanitizer_runs_and_is_recorded() {
    let bench = Bench::new();
    for flag in ["-fsanitize=thread", "-fsanitize=address"] {
        let Some(program) = bench.compile_with("lookups", "gcc", &[flag]) else {
            continue;
        };
        let options = "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0";
        for how in ["plain", "handle"] {
            check_recorded(&bench, &["env", options, text(&program), how], how);
        }
    }
}

/// A gap is a line on the error output, a note in the reel, and exit code 1.
#[track_caller]
fn check_gap(how: &str, flags: &[&str], sentence: &str) {
    let bench = Bench::new();
    let (program, plugin) = (bench.compile("lookups"), plugin(&bench, flags));
    let ran = bench
        .record(&[], &[text(&program), how, text(&plugin)])
        .expect(1);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    assert!(notes(&bench.reel()).contains(sentence));
}

#[test]
fn a_library_that_finds_the_c_library_first_is_named() {
    check_gap(
        "deep",
        &[],
        "it loads a library that goes past the recorder",
    );
}

#[test]
fn a_library_with_a_c_library_of_its_own_is_named() {
    check_gap(
        "apart",
        &[],
        "it loads a library with a C library of its own",
    );
}

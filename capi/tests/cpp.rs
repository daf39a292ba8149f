//! `netreel.hpp` and `netreel_layer.hpp`: clean by every compiler that is here, all of the C headers, and
//! as good as their word.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use netreel_plugin::Plugin;
use netreel_record::open;
use netreel_reel::{Ending, EventKind};
use netreel_replay::{Driver, Outcome};
use support::{CPP17, CPP20, Compiler, checked, file, replay, run, session};

const CPP: [&str; 2] = ["netreel.hpp", "netreel_console.hpp"];
const BARE: [&str; 2] = ["-fno-exceptions", "-fno-rtti"];

fn check_clean(command: &'static str) {
    for compiler in [CPP17, CPP20] {
        let compiler = Compiler {
            command,
            ..compiler
        };
        if !compiler.is_here() {
            return;
        }
        // It includes both headers.
        let mut layer = compiler.strict();
        layer.args(["-Wconversion", "-Wshadow", "-fsyntax-only"]);
        checked(layer.arg(file("examples/udp_layer.cpp")));
        checked(
            compiler
                .strict()
                .arg("-fsyntax-only")
                .arg(file("examples/udp.cpp")),
        );
    }
    let mut bare = Compiler { command, ..CPP17 }.strict();
    bare.args(BARE).args(["-fsyntax-only", "-x", "c++"]);
    checked(bare.arg(file("include/netreel_layer.hpp")));
}

#[test]
fn the_cpp_headers_are_clean_by_the_compiler_of_the_system() {
    check_clean("c++");
}

#[test]
fn the_cpp_headers_are_clean_by_clang() {
    check_clean("clang++");
}

#[test]
fn the_cpp_headers_are_clean_by_the_compiler_for_windows() {
    check_clean("x86_64-w64-mingw32-g++");
}

/// The functions of a C header's tables, and what of them its C++ header does not call.
fn not_reached(header: &str, cpp: &[&str], before: &str) -> (usize, Vec<String>) {
    let read = |name: &str| std::fs::read_to_string(file("include").join(name)).unwrap();
    let (header, cpp): (_, String) = (read(header), cpp.iter().map(|name| read(name)).collect());
    let names = header.split("(*").skip(1);
    let names: Vec<_> = names.filter_map(|rest| rest.split(')').next()).collect();
    let missing = names
        .iter()
        .filter(|name| !cpp.contains(&format!("{before}{name}")));
    (names.len(), missing.map(|name| name.to_string()).collect())
}

#[test]
fn every_function_of_the_c_headers_is_called() {
    let (count, missing) = not_reached("netreel.h", &CPP, "table().");
    let others = ["error_text", "code_name", "netreel_load_fn"];
    let close = ["close", "thread_close", "replay_close", "console_close"];
    assert!(
        count > 45 && missing.iter().all(|name| others.contains(&&**name)),
        "{missing:?}"
    );
    let cpp = CPP.map(|name| std::fs::read_to_string(file("include").join(name)).unwrap());
    let cpp = cpp.concat();
    for name in close.iter().chain(&others[..1]) {
        assert!(cpp.contains(&format!("table.{name}")), "{name}");
    }
    let (count, missing) = not_reached("netreel_layer.h", &["netreel_layer.hpp"], "");
    assert!(count > 14 && missing.is_empty(), "{missing:?}");
}

fn check_handles(compiler: Compiler, flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let source = file("tests/programs/handles.cpp");
    let Some(program) = compiler.build(&source, folder.path(), flags) else {
        return;
    };
    let reel = folder.path().join("a.reel");
    checked(Command::new(program).arg(&reel));
    let reel = open(&reel).unwrap();
    assert_eq!(
        (reel.ending(), reel.header().node.as_str()),
        (&Ending::Clean, "A")
    );
    assert_eq!(reel.header().args, ["game", "--fast"]);
    assert_eq!(reel.header().session[0], 9);
    let counts = reel.counts();
    let kinds = [
        EventKind::Tick,
        EventKind::Input,
        EventKind::Clock,
        EventKind::Random,
        EventKind::Received,
        EventKind::PollEmpty,
        EventKind::ReceiveFailed,
        EventKind::Note,
        EventKind::Snapshot,
    ];
    for kind in kinds {
        assert_eq!(counts[&kind], 100, "{kind:?}");
    }
    assert_eq!(
        (counts[&EventKind::Sent], counts[&EventKind::Believed]),
        (200, 500)
    );
}

#[test]
fn handles_move_and_errors_are_values_or_thrown_in_cpp17() {
    check_handles(CPP17, &[]);
}

#[test]
fn handles_move_and_errors_are_values_or_thrown_in_cpp20() {
    check_handles(CPP20, &[]);
}

#[test]
fn handles_do_without_exceptions() {
    check_handles(CPP17, &BARE);
}

/// The example's layer as a plugin; `None` where there is no compiler.
fn plugin(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    if !CPP17.is_here() {
        return None;
    }
    // The loader takes a library of a name that it has for the same one.
    let library = folder.join(format!("layer{}.so", flags.concat()));
    let mut command = CPP17.strict();
    command.args(["-shared", "-fPIC"]).args(flags);
    command.arg(file("examples/udp_layer.cpp")).arg("-o");
    checked(command.arg(&library));
    Some(library)
}

fn outcome(reel: &Path, plugin: &Path) -> Outcome {
    let reel = Arc::new(open(reel).unwrap());
    let driver = Driver::with_sockets(Arc::clone(&reel)).unwrap();
    let plugin = Plugin::load(plugin).unwrap();
    let mut layer = plugin.layer(&reel, Box::new(driver.transport())).unwrap();
    let report = driver.run(&mut layer);
    assert!(report.sends > 0 || !matches!(report.outcome, Outcome::Exact));
    report.outcome
}

fn check_records(compiler: Compiler) {
    let folder = tempfile::tempdir().unwrap();
    let source = file("examples/udp.cpp");
    let Some(program) = compiler.build(&source, folder.path(), &[]) else {
        return;
    };
    session(&program, folder.path());
    let layer = plugin(folder.path(), &[]).unwrap();
    for node in ["server.reel", "client.reel"] {
        let reel = folder.path().join(node);
        let (exact, said) = replay(&program, &reel, None);
        assert!(exact && said.starts_with("exact: "), "{node}: {said}");
        assert!(!said.contains(" 0 equal sends"), "{node}: {said}");
        assert!(matches!(outcome(&reel, &layer), Outcome::Exact), "{node}");
    }
    let reel = folder.path().join("client.reel");
    let (exact, said) = replay(&program, &reel, Some("6"));
    assert!(!exact && said.starts_with("diverged at event "), "{said}");
    let changed = plugin(folder.path(), &["-DSTEP=7"]).unwrap();
    assert!(matches!(outcome(&reel, &changed), Outcome::Diverged(_)));
}

#[test]
fn two_nodes_in_cpp17_record_and_replay_as_programs_and_as_plugins() {
    check_records(CPP17);
}

#[test]
fn two_nodes_in_cpp20_record_and_replay_as_programs_and_as_plugins() {
    check_records(CPP20);
}

#[test]
fn what_a_layer_in_cpp_throws_is_why_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let Some(layer) = plugin(folder.path(), &[]) else {
        return;
    };
    let header = netreel_reel::Header {
        start: vec![1],
        ..Default::default()
    };
    let reel = netreel_reel::ReelWriter::create(Vec::new(), &header).unwrap();
    let reel = netreel_reel::Reel::from_bytes(reel.finish().unwrap()).unwrap();
    let reel = Arc::new(reel);
    let io = Driver::with_sockets(Arc::clone(&reel)).unwrap().transport();
    let why = Plugin::load(&layer)
        .unwrap()
        .layer(&reel, Box::new(io))
        .err()
        .unwrap();
    assert!(
        why.to_string().ends_with("that is no state of a walker"),
        "{why}"
    );
}

#[test]
fn a_class_is_the_table_of_a_layer_with_what_it_has() {
    let source = file("tests/programs/layer_table.cpp");
    for flags in [&[][..], &BARE] {
        let folder = tempfile::tempdir().unwrap();
        if let Some(program) = CPP17.build(&source, folder.path(), flags) {
            checked(&mut Command::new(program));
        }
    }
}

/// The program with which the page begins.
#[test]
fn the_ten_lines_of_the_page_record() {
    let page = std::fs::read_to_string(file("../docs/c-api.md")).unwrap();
    let program = page
        .split("```c++\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("ten.cpp");
    std::fs::write(&source, program).unwrap();
    for compiler in [CPP17, CPP20] {
        let Some(program) = compiler.build(&source, folder.path(), &[]) else {
            return;
        };
        checked(run(&program).current_dir(folder.path()));
        let reel = folder.path().join("player.reel");
        let opened = open(&reel).unwrap();
        assert_eq!(*opened.ending(), Ending::Clean);
        assert_eq!(opened.counts()[&EventKind::Received], 1);
        assert_eq!(opened.counts()[&EventKind::SendResult], 1);
        std::fs::remove_file(reel).unwrap();
    }
}

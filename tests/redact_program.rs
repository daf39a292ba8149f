//! What a copy tells of an unmodified program, and of who ran it.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_reel::{CallId, Event, Reel};
use support::programs::{Bench, records, text};
use support::{Ran, netreel, skipped};

/// Reads its plan and a line that was typed, imports what lies beside it, and says a word to itself.
const PROGRAM: &str = "
import os, socket, sys
import annes_own_module
plan = open(os.path.expanduser('~/secret-plans/level-nine.json')).read()
typed = sys.stdin.readline()
print('the password is swordfish', flush=True)
print('netreel: value 7 name Grandmother', flush=True)
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(('127.0.0.1', 0))
socket.getaddrinfo('localhost', here.getsockname()[1])
here.sendto(b'a word', here.getsockname())
assert here.recvfrom(100)[0] == b'a word'
";

/// Names of whoever ran it, and what is theirs.
const OURS: [&str; 8] = [
    "annelise",
    "annes-studio-box",
    "secret-plans",
    "level-nine",
    "annes_own_module",
    "swordfish",
    "typed in secret",
    "TOKEN_OF_OURS",
];

struct Recorded {
    bench: Bench,
    reel: PathBuf,
}

/// The program, recorded in the home of somebody; `None`, with a word, where there is no python3.
fn recorded() -> Option<Recorded> {
    let bench = Bench::new();
    let home = bench.at("home/annelise");
    let plans = home.join("secret-plans");
    std::fs::create_dir_all(&plans).unwrap();
    std::fs::write(plans.join("level-nine.json"), "{}").unwrap();
    std::fs::write(home.join("annes_own_module.py"), "pass\n").unwrap();
    std::fs::write(home.join("game.py"), PROGRAM).unwrap();
    let where_it_is = ["-c", "import sys; print(sys.executable, end='')"];
    let Ok(python) = Command::new("python3").args(where_it_is).output() else {
        skipped("there is no python3");
        return None;
    };
    let python = String::from_utf8(python.stdout).unwrap();
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&bench.out()), "--", &python])
        .arg(home.join("game.py"))
        .current_dir(&home)
        .env("HOME", &home)
        .env("USER", "annelise")
        .env("LOGNAME", "annelise")
        .env("HOSTNAME", "annes-studio-box")
        .env("PLAN", "TOKEN_OF_OURS")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the recorder");
    let mut typed = recorder.stdin.take().expect("its input");
    std::io::Write::write_all(&mut typed, b"typed in secret\n").unwrap();
    drop(typed);
    let ended = support::ended(&mut recorder);
    assert!(ended.success(), "{ended}");
    let reel = bench.reel_file();
    Some(Recorded { bench, reel })
}

impl Recorded {
    fn redact(&self, out: &str, options: &[&str]) -> (Ran, PathBuf) {
        let out = self.bench.at(out);
        let all = [&["redact", text(&self.reel), "--out", text(&out)], options].concat();
        let ran = netreel(&all);
        let copy = self.reel.file_name().map(|name| out.join(name));
        (ran, copy.expect("a name"))
    }
}

fn open(reel: &Path) -> Reel {
    Reel::from_bytes(std::fs::read(reel).expect("its bytes")).expect("a reel")
}

fn stands_in(reel: &Path, what: &str) -> bool {
    let bytes = std::fs::read(reel).expect("its bytes");
    bytes.windows(what.len()).any(|it| it == what.as_bytes())
}

/// The paths of the files that it opened.
fn files(reel: &Path) -> Vec<String> {
    let records = records(&open(reel));
    let path = |event: Event<'_>| match event {
        Event::Called {
            call: CallId::FILE,
            details,
            ..
        } => Some(String::from_utf8_lossy(&details[25..]).into_owned()),
        _ => None,
    };
    let events = records.iter().map(|it| it.as_record().event);
    events.filter_map(path).collect()
}

#[test]
fn of_a_program_no_file_no_word_and_no_name_is_left() {
    let Some(recorded) = recorded() else { return };
    let missing: Vec<_> = OURS
        .iter()
        .filter(|what| !stands_in(&recorded.reel, what))
        .collect();
    assert!(missing.is_empty(), "not recorded: {missing:?}");
    let (ran, copy) = recorded.redact("copy", &[]);
    let ran = ran.expect(0);
    for kind in [
        "paths of files",
        "what the program was started with",
        "the standard input",
        "printed lines",
        "addresses of names",
        "program arguments",
    ] {
        assert!(ran.out.contains(kind), "{kind}: {}", ran.out);
    }
    for what in OURS {
        assert!(!stands_in(&copy, what), "{what}");
    }
    let before = files(&recorded.reel);
    assert!(before.iter().any(|path| path.ends_with("level-nine.json")));
    let after = files(&copy);
    assert_eq!(after.len(), before.len());
    assert!(after.iter().all(|path| path == "[removed]"), "{after:?}");
    // As many events, with the same numbers.
    assert_eq!(open(&copy).len(), open(&recorded.reel).len());
}

#[test]
fn what_is_asked_to_stay_stays_but_for_names() {
    let Some(recorded) = recorded() else { return };
    let options = ["--files", "scrub", "--printed", "keep"];
    let more = ["--environment", "keep", "--typed", "keep"];
    let (ran, copy) = recorded.redact("copy", &[&options[..], &more].concat());
    ran.expect(0);
    for (what, stays) in [
        ("annelise", false),
        ("annes-studio-box", false),
        ("secret-plans", true),
        ("/level-nine.json", true),
        ("swordfish", true),
        ("typed in secret", true),
        ("TOKEN_OF_OURS", true),
        ("Grandmother", true),
    ] {
        assert_eq!(stands_in(&copy, what), stays, "{what}");
    }
    let scrubbed = files(&copy);
    let plan = scrubbed.iter().find(|it| it.ends_with("level-nine.json"));
    assert!(
        plan.is_some_and(|it| it.contains("/home/user-")),
        "{plan:?}"
    );
    let (ran, copy) = recorded.redact("named", &["--keep-names", "--files", "keep"]);
    ran.expect(0);
    assert!(stands_in(&copy, "annelise"));
    assert_eq!(files(&copy), files(&recorded.reel));
}

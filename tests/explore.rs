//! `netreel explore` and `netreel shrink`: a race that is not in a recording, and the packets that it takes.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use support::{netreel, windows};

fn sample(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("samples").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A match over real UDP in which nothing goes wrong: no link is slow.
fn healthy(folder: &Path) -> PathBuf {
    let scenario = sample("scenarios/boxes.toml");
    let out = folder.join("run");
    let arguments = [
        "run",
        text(&scenario),
        "--set",
        "slow=0",
        "--keep-all",
        "--out",
        text(&out),
    ];
    netreel(&arguments).expect(0);
    let session = out.join("match-00001");
    netreel(&["check", text(&session)]).expect(0);
    session
}

fn number(of: &Value, name: &str) -> u64 {
    of[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {of}"))
}

/// The rules of all findings, in the order of their numbers.
fn rules(session: &Path) -> Vec<String> {
    let checked = netreel(&["check", "--json", text(session)]).json();
    let findings = checked["findings"].as_array().expect("findings");
    let rules = findings.iter().map(|it| it["rule"].as_str());
    rules.map(|it| it.expect("a rule").to_owned()).collect()
}

fn assert_exact(session: &Path) {
    netreel(&["replay", text(session)]).expect(0);
}

#[test]
fn the_zombie_of_a_healthy_match_is_found_written_and_shrunk() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let found = folder.path().join("found");
    let arguments = [
        "explore",
        text(&session),
        "--until",
        "8",
        "--json",
        "--out",
        text(&found),
    ];
    let explored = netreel(&arguments).expect(1).json();
    let all = explored["found"].as_array().expect("what was found");
    let is_zombie = |it: &&Value| {
        let findings = it["findings"].as_array().into_iter().flatten();
        findings
            .clone()
            .any(|finding| finding["rule"] == "zombie-object")
    };
    let zombie = all.iter().find(is_zombie).expect("a zombie");
    assert_eq!(zombie["confirmed"], true);
    assert_eq!(
        zombie["changes"].as_array().map(Vec::len),
        Some(1),
        "{zombie}"
    );
    let session = PathBuf::from(zombie["folder"].as_str().expect("a folder"));
    assert!(rules(&session).contains(&"zombie-object".to_owned()));
    assert_exact(&session);

    let place = rules(&session)
        .iter()
        .position(|it| it == "zombie-object")
        .expect("a zombie")
        + 1;
    let small = folder.path().join("small");
    let arguments = [
        "shrink",
        text(&session),
        "--finding",
        &place.to_string(),
        "--json",
        "--out",
        text(&small),
    ];
    let shrunk = netreel(&arguments).expect(1).json();
    assert_eq!(shrunk["minimal"], true);
    assert!(number(&shrunk, "packets") <= 24, "{shrunk}");
    assert!(number(&shrunk, "delivered") <= 12, "{shrunk}");
    assert!(rules(&small.join("failing")).contains(&"zombie-object".to_owned()));
    assert!(!rules(&small.join("healthy")).contains(&"zombie-object".to_owned()));
}

#[test]
fn with_the_cure_nothing_is_found_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let arguments = ["explore", text(&session), "--set", "mode=owner", "--json"];
    let explored = netreel(&arguments).expect(0).json();
    assert_eq!(explored["whole"], true);
    assert!(number(&explored, "orders") > 20, "{explored}");
}

#[test]
fn what_was_shrunk_becomes_a_test_of_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, test) = (folder.path().join("small"), folder.path().join("race.rs"));
    let session = sample("sessions/host");
    let arguments = [
        "shrink",
        text(&session),
        "--out",
        text(&out),
        "--as-test",
        text(&test),
    ];
    let shrunk = netreel(&arguments).expect(1);
    assert!(
        shrunk
            .out
            .contains("it is healthy where at X, CREATE of A comes before"),
        "{}",
        shrunk.out
    );
    let written = std::fs::read_to_string(&test).expect("a test");
    assert!(
        written.contains("include_bytes!(\"small/failing/X.reel\")"),
        "{written}"
    );
    assert!(
        !written.contains("{packets}") && !written.contains("{nodes}"),
        "{written}"
    );
}

/// What a test in C says and returns, with the sample engine's plugin as it is or cured.
fn tried(test: &Path, cured: bool) -> (Option<i32>, String) {
    let command = Path::new(env!("CARGO_BIN_EXE_netreel"));
    let beside = command.parent().expect("a folder");
    let (layer, mut run) = match windows::folder() {
        None => (
            beside.join("examples/libboxes_layer.so"),
            Command::new(test),
        ),
        Some(folder) => (
            folder.join("examples/boxes_layer.dll"),
            windows::command(test),
        ),
    };
    assert!(
        layer.exists(),
        "cargo build -p netreel-plugin --example boxes_layer makes it"
    );
    run.arg(layer);
    if cured {
        run.env("BOXES_CURED", "1");
    }
    let ran = run.output().expect("it runs");
    (
        ran.status.code(),
        String::from_utf8_lossy(&ran.stdout).into_owned(),
    )
}

#[test]
fn what_was_shrunk_becomes_a_test_in_c_that_the_cured_engine_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, source) = (folder.path().join("small"), folder.path().join("race.c"));
    let session = sample("sessions/host");
    let arguments = [
        "shrink",
        text(&session),
        "--finding",
        "2",
        "--out",
        text(&out),
    ];
    let told = netreel(&[&arguments[..], &["--json", "--as-test", text(&source)]].concat());
    assert_eq!(told.expect(1).json()["test_fails"], true);
    let (test, linked): (_, &[&str]) = match windows::folder() {
        None => ("race", &["-ldl"]),
        Some(_) => ("race.exe", &[]),
    };
    let test = folder.path().join(test);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("capi/include");
    let compiled = Command::new(windows::compiler("cc"))
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
            text(&include),
        ])
        .args([text(&source), "-o", text(&test)])
        .args(linked)
        .status();
    assert!(compiled.expect("a C compiler").success());
    let (code, said) = tried(&test, false);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("X believes that object 42 lives, and HOST does not"),
        "{said}"
    );
    assert_eq!(
        tried(&test, true),
        (Some(0), "all nodes agree\n".to_owned())
    );
}

#[test]
fn no_seconds_are_as_long_as_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [out, found] = ["out", "found"].map(|name| folder.path().join(name));
    let [host, owner] = ["sessions/host", "sessions/owner"].map(sample);
    let shrunk = [
        "shrink",
        text(&host),
        "--finding",
        "2",
        "--seconds",
        "0",
        "--json",
    ];
    let shrunk = netreel(&[&shrunk[..], &["--out", text(&out)]].concat()).json();
    assert_eq!(shrunk["minimal"], true, "{shrunk}");
    let explored = ["explore", text(&owner), "--set", "mode=host", "--runs", "3"];
    let more = ["--seconds", "0", "--json", "--out", text(&found)];
    let explored = netreel(&[&explored[..], &more].concat()).json();
    assert_eq!(number(&explored, "runs"), 3);
}

#[test]
fn every_order_of_three_packets_is_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = healthy(folder.path());
    let filter =
        "to == X and kind != update and (kind == create or kind == migrate or kind == destroy)";
    let packets = netreel(&["packets", text(&session), "--json", "--filter", filter]).expect(0);
    let mut numbers: Vec<(String, u64)> = Vec::new();
    for line in packets.out.lines() {
        let packet: Value = serde_json::from_str(line).expect("an object a line");
        for message in packet["messages"].as_array().into_iter().flatten() {
            let kind = message["kind"].as_str().unwrap_or_default().to_owned();
            let is_box = message["object"] == 41;
            if is_box && !numbers.iter().any(|it| it.0 == kind) {
                numbers.push((kind, number(&packet, "packet")));
            }
        }
    }
    assert_eq!(numbers.len(), 3, "{numbers:?}");
    let orders: Vec<String> = numbers.iter().map(|it| it.1.to_string()).collect();
    let orders = orders.join(",");
    let arguments = [
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        &orders,
        "--json",
    ];
    let table = netreel(&arguments).expect(1).json();
    let rows = table["orders"].as_array().expect("rows");
    // CREATE of A, MIGRATE of HOST, DESTROY of B: six orders, and the box stays in three of them.
    assert_eq!(rows.len(), 6);
    let lives = |row: &&Value| row["believes"].as_array().is_some_and(|it| !it.is_empty());
    assert_eq!(rows.iter().filter(lives).count(), 3, "{table}");

    let arguments = [
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        &orders,
        "--json",
        "--set",
        "mode=owner",
    ];
    let told = netreel(&arguments);
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
}

#[test]
fn what_cannot_be_explored_says_what_is_missing() {
    let session = sample("sessions/host");
    let told = netreel(&["explore", text(&session), "--node", "Q"]).expect(2);
    assert!(
        told.err
            .contains("no node of this name can be played; the session has"),
        "{}",
        told.err
    );
    let told = netreel(&[
        "explore",
        text(&session),
        "--node",
        "X",
        "--orders",
        "99999",
    ])
    .expect(2);
    assert!(
        told.err.contains("packet 99999 is not in the session"),
        "{}",
        told.err
    );
    let folder = tempfile::tempdir().expect("a folder");
    let owner = sample("sessions/owner");
    let told = netreel(&["shrink", text(&owner), "--out", text(folder.path())]).expect(2);
    assert!(
        told.err.contains("the session has no error"),
        "{}",
        told.err
    );
}

#[test]
fn an_exploration_that_ended_goes_on_and_finds_nothing_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let explored = |session: &Path, out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        let arguments = [
            "explore",
            text(session),
            "--json",
            "--hold",
            "2000",
            "--out",
        ];
        let arguments = [&arguments[..], &[text(&out)], more].concat();
        netreel(&arguments)
    };
    let sentences = |of: &Value| -> Vec<String> {
        let found = of["found"].as_array().into_iter().flatten();
        let sentences = found.map(|it| it["sentence"].as_str().unwrap_or_default().to_owned());
        sentences.collect()
    };
    // What is under way at one time in a match is the machine's doing: most matches hide three errors.
    let played = (0..20).find_map(|number| {
        let own = folder.path().join(number.to_string());
        std::fs::create_dir(&own).expect("a folder");
        let session = healthy(&own);
        let out = format!("whole-{number}");
        let whole = explored(&session, &out, &["--until", "3"]).expect(1).json();
        (sentences(&whole).len() == 3).then_some((session, whole))
    });
    let (session, whole) = played.expect("a match that hides three errors");
    let whole_found = sentences(&whole);
    let explored = |out: &str, more: &[&str]| explored(&session, out, more);

    let first = explored("parts", &[]).expect(1).json();
    let rest = explored("parts", &["--continue", "--until", "2"]).expect(1);
    let rest = rest.json();
    assert_eq!([sentences(&first), sentences(&rest)].concat(), whole_found);
    for count in ["runs", "orders", "saved", "waiting", "wrong"] {
        assert_eq!(number(&rest, count), number(&whole, count), "{count}");
    }
    let third = folder.path().join("parts/3");
    assert_eq!(rest["found"][1]["folder"].as_str(), Some(text(&third)));
    assert_exact(&third);

    let refused = |more: &[&str]| explored("parts", more).expect(2).err;
    let told = refused(&["--continue", "--ticks"]);
    assert!(told.contains("was explored without --ticks"), "{told}");
    let told = refused(&[]);
    assert!(
        told.contains("it is not empty; name a new folder"),
        "{told}"
    );
    let another = sample("sessions/owner");
    let out = folder.path().join("parts");
    let arguments = [
        "explore",
        text(&another),
        "--hold",
        "2000",
        "--out",
        text(&out),
        "--continue",
    ];
    let told = netreel(&arguments).expect(2).err;
    assert!(told.contains("was explored from another session"), "{told}");
    let told = explored("nothing", &["--continue"]).expect(2).err;
    assert!(told.contains("leaves it there when it ends"), "{told}");

    let file = out.join("exploration");
    let bytes = std::fs::read(&file).expect("it was written");
    for place in (0..bytes.len()).step_by(bytes.len() / 5 + 1) {
        let mut wrong = bytes.clone();
        wrong[place] ^= 1;
        std::fs::write(&file, wrong).expect("it is there");
        let told = refused(&["--continue"]);
        assert!(told.contains("is damaged; begin anew"), "{place}: {told}");
    }
}

#[test]
fn a_match_that_nobody_has_played_is_explored() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sample("matches/boxes.toml");
    let out = folder.path().join("found");
    let arguments = [
        "explore",
        "--scenario",
        text(&file),
        "--until",
        "3",
        "--json",
        "--out",
        text(&out),
    ];
    let explored = netreel(&arguments).expect(1).json();
    let found = explored["found"].as_array().expect("what was found");
    let is_zombie = |it: &&Value| {
        let findings = it["findings"].as_array().into_iter().flatten();
        findings.clone().any(|it| it["rule"] == "zombie-object")
    };
    let zombie = found.iter().find(is_zombie).expect("a zombie");
    assert_exact(Path::new(zombie["folder"].as_str().expect("a folder")));
    // The healthy match itself is there as well.
    let played = out.join("played");
    netreel(&["check", text(&played)]).expect(0);
    assert_exact(&played);
    // Another match, however little differs.
    let other = folder.path().join("other.toml");
    let said = std::fs::read_to_string(&file).expect("the match");
    let said = said.replace("rest 300ms", "rest 310ms");
    std::fs::write(&other, said).expect("a file");
    let more = ["--continue", "--out", text(&out)];
    let arguments = [&["explore", "--scenario", text(&other)][..], &more].concat();
    let told = netreel(&arguments).expect(2).err;
    assert!(told.contains("from another session; begin anew"), "{told}");
    let arguments = [
        "explore",
        "--scenario",
        text(&file),
        "--set",
        "mode=owner",
        "--json",
    ];
    let cured = netreel(&arguments).expect(0).json();
    assert_eq!(cured["whole"], true, "{cured}");
}

#[test]
fn what_a_scenario_lacks_to_be_explored_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |file: &Path, more: &[&str]| {
        let arguments = [&["explore", "--scenario", text(file)], more].concat();
        netreel(&arguments).expect(2).err
    };
    let programs = sample("scenarios/boxes.toml");
    let err = told(&programs, &[]);
    assert!(
        err.contains("its nodes are programs") && err.contains("--keep-all"),
        "{err}"
    );
    let write = |text: &str| {
        let file = folder.path().join("match.toml");
        std::fs::write(&file, text).expect("a file");
        file
    };
    let err = told(&write("seed = 1"), &[]);
    assert!(err.contains("it has no `script`"), "{err}");
    let err = told(&write("script = 'A dances'\ndelay = 200"), &[]);
    assert!(err.contains("`delay` is for layers of --layer"), "{err}");
    let err = told(&write("script = 'A dances'"), &[]);
    assert!(err.contains("its script, line 1: "), "{err}");
    let err = told(&write("script = 'wait A has 7'"), &[]);
    assert!(
        err.contains("its script still waits in line 1 after 300 s"),
        "{err}"
    );
    let err = told(&write("scripts = ''"), &[]);
    assert!(err.contains("unknown field `scripts`"), "{err}");
    let err = told(&folder.path().join("none.toml"), &[]);
    assert!(
        err.contains("--scenario") && err.contains("none.toml"),
        "{err}"
    );
}

/// The start conditions of `udp_layer.c`, as hexadecimal digits: whom it speaks to.
fn speaks_to(peer: Option<std::net::SocketAddr>) -> String {
    let mut start = peer.map_or(vec![0; 28], |it| {
        let of = netreel_plugin::abi::CEndpoint::from(it);
        let head = [of.family.to_ne_bytes(), of.port.to_ne_bytes()].concat();
        let rest = [of.flow.to_ne_bytes(), of.scope.to_ne_bytes()].concat();
        [&head[..], &rest, &of.address].concat()
    });
    start.extend_from_slice(&[0; 12]);
    start.extend_from_slice(&5_i32.to_ne_bytes());
    start.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_match_of_a_plugin_that_nobody_has_played_is_explored() {
    let folder = tempfile::tempdir().expect("a folder");
    let layer = support::plugins::udp_layer(folder.path(), &[]);
    let file = folder.path().join("match.toml");
    let hears = std::net::SocketAddr::from(([10, 0, 0, 1], 7000));
    let scenario = format!(
        "length = 500\ntick = 10\ndelay = 25\n\
         [[node]]\nname = 'hears'\naddress = '{hears}'\nstart_hex = '{}'\n\
         [[node]]\nname = 'walks'\naddress = '10.0.0.2:7000'\nstart_hex = '{}'\n\
         [[call]]\nnode = 'walks'\nat = 100\nhex = '01'\n",
        speaks_to(None),
        speaks_to(Some(hears))
    );
    let write = |text: &str| std::fs::write(&file, text).expect("a file");
    write(&scenario);
    let out = folder.path().join("found");
    let of_layer = ["--layer", text(&layer)];
    let arguments = [
        "explore",
        "--scenario",
        text(&file),
        "--json",
        "--out",
        text(&out),
    ];
    let explored = netreel(&[&arguments[..], &of_layer].concat())
        .expect(0)
        .json();
    assert_eq!(explored["whole"], true, "{explored}");
    // 50 of the one, and nearly as many answers.
    assert!(
        (90..100).contains(&number(&explored, "packets")),
        "{explored}"
    );
    let played = out.join("played");
    let replayed = ["replay", text(&played)];
    netreel(&[&replayed[..], &of_layer].concat()).expect(0);

    write(&scenario.replace("node = 'walks'", "node = 'runs'"));
    let told = |more: &[&str]| {
        let arguments = ["explore", "--scenario", text(&file)];
        netreel(&[&arguments[..], more].concat()).expect(2).err
    };
    let err = told(&of_layer);
    assert!(
        err.contains("a call is of runs, and there is no such node"),
        "{err}"
    );
    let err = told(&[]);
    assert!(err.contains("another engine takes --layer"), "{err}");
    write(&scenario.replace("at = 100", "at = 700"));
    let err = told(&of_layer);
    assert!(err.contains("a call of walks is at 700 ms"), "{err}");
}

/// What is said of a layer in C whose tick does this; each of two nodes speaks to the other by `to`.
fn told_of_a_layer(does: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let functions = format!(
        "#include <string.h>\n\
         static int32_t make(const netreel_layer_start *s, const netreel_world *w, void **l) \
         {{ *l = malloc(28); memcpy(*l, s->start, 28); return 0; }}\n\
         static int32_t turn(void *l, const netreel_world *w, uint64_t n, uint64_t t) {{ \
         const netreel_endpoint *to = l; static uint32_t calls; netreel_packet came; char in[64]; (void)to; ++calls; \
         came.size = sizeof came; while (w->receive(w->world, 0, in, sizeof in, &came) == NETREEL_OK && \
         came.kind == NETREEL_RECEIVED) {{ }} {does}; return 0; }}\n"
    );
    let table = support::plugins::table(&functions, "make", "turn");
    let layer = support::plugins::of_text(folder.path(), &table);
    let nodes = [("a", 1_u8, 2), ("b", 2, 1)].map(|(name, own, other)| {
        let other = std::net::SocketAddr::from(([10, 0, 0, other], 7000));
        let start = &speaks_to(Some(other))[..56];
        format!("[[node]]\nname = '{name}'\naddress = '10.0.0.{own}:7000'\nstart_hex = '{start}'\n")
    });
    let file = folder.path().join("match.toml");
    std::fs::write(&file, format!("length = 500\n{}", nodes.concat())).expect("a file");
    let arguments = [
        "explore",
        "--scenario",
        text(&file),
        "--layer",
        text(&layer),
    ];
    netreel(&arguments).expect(2).err
}

#[test]
fn a_layer_that_cannot_be_explored_is_named_with_what_it_does() {
    let sends = |what: &str| format!("w->send(w->world, 0, to, {what}, 4, NULL)");
    let err = told_of_a_layer(&sends("&calls"));
    assert!(
        err.contains("does not do the same: played twice with the same packets"),
        "{err}"
    );
    let err = told_of_a_layer("if (n == 9) *(volatile int *)0 = 1");
    assert!(
        err.contains("it died of signal 11") && err.contains("at a, in the tick of event"),
        "{err}"
    );
    let err = told_of_a_layer("if (n == 9) return -3");
    assert!(
        err.contains("the layer of a fails without any change: "),
        "{err}"
    );
}

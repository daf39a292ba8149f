//! Network layers as plugins, in C: `capi/examples/udp_layer.c`, and some that are wrong.

mod support;

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_plugin::abi::CEndpoint;
use netreel_reel::{
    Endpoint, Event, EventNumber, Header, OwnedRecord, Record, Reel, ReelWriter, SendOutcome,
    SocketId, ThreadId, Time,
};
use serde_json::Value;
use support::programs::{records, with_event, write};
use support::{Ran, netreel};
use tempfile::TempDir;

const CAPI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/capi");

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Compiles a shared library.
fn library(folder: &Path, source: &Path, more: &[&str]) -> PathBuf {
    let library = folder.join("layer.so");
    let compiled = Command::new("cc")
        .args([
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
        ])
        .args(more)
        .arg(source)
        .args(["-I", &format!("{CAPI}/include"), "-o"])
        .arg(&library)
        .status();
    assert!(compiled.expect("a C compiler").success());
    library
}

fn udp_layer(folder: &Path, more: &[&str]) -> PathBuf {
    library(folder, &Path::new(CAPI).join("examples/udp_layer.c"), more)
}

/// A library of a few lines of C.
fn of_text(folder: &Path, text: &str) -> PathBuf {
    let source = folder.join("layer.c");
    let whole = format!("#include <netreel_layer.h>\n#include <stdlib.h>\n{text}");
    std::fs::write(&source, whole).expect("a file");
    library(folder, &source, &["-Wno-unused-parameter"])
}

fn peer() -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 9000))
}

/// Writes what `udp.c` would have recorded that hears its peer on `socket` of so many.
fn record(folder: &Path, sockets: u16, socket: u16) -> PathBuf {
    record_but(folder, sockets, socket, 0..0)
}

/// The layer's state before this tick, as the plugin saves it.
fn state(tick: u32, position: i32, socket: u16) -> Vec<u8> {
    let of = CEndpoint::from(peer());
    let mut state = Vec::new();
    state.extend([of.family.to_ne_bytes(), of.port.to_ne_bytes()].concat());
    state.extend([of.flow.to_ne_bytes(), of.scope.to_ne_bytes()].concat());
    state.extend(of.address);
    for number in [tick, tick, position as u32, 5, socket.into()] {
        state.extend(number.to_ne_bytes());
    }
    state
}

/// The same with recording switched off for some ticks, and a snapshot where it is on again.
fn record_but(folder: &Path, sockets: u16, socket: u16, off: Range<u32>) -> PathBuf {
    let mut start = vec![0; 28 + 12];
    start.extend_from_slice(&5_i32.to_ne_bytes());
    let header = Header {
        node: "walker".to_owned(),
        engine: "udp example".to_owned(),
        start,
        ..Header::default()
    };
    let mut reel = ReelWriter::create(Vec::new(), &header).expect("memory");
    let mut push = |time: u64, event: Event<'_>| {
        let number = reel.next_number();
        let (time, thread) = (Time(time), ThreadId(0));
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        reel.push(&record).expect("memory");
        number
    };
    for number in 0..sockets {
        let local = Endpoint::from(([127, 0, 0, 1], 7000 + number));
        push(
            0,
            Event::SocketOpened {
                socket: SocketId(number),
                local,
            },
        );
    }
    let mut position = 0_i32;
    for tick in 0..50_u32 {
        let ns = u64::from(tick) * 2_000_000;
        if tick == off.start && !off.is_empty() {
            push(ns, Event::Switched { on: false });
        }
        if tick == off.end && !off.is_empty() {
            push(ns, Event::Switched { on: true });
            let state = state(tick, position, socket);
            push(ns, Event::Snapshot { state: &state });
        }
        position += 5 * i32::from(tick % 3 == 0);
        if off.contains(&tick) {
            continue;
        }
        if tick % 3 == 0 {
            push(ns, Event::Input { call: &[1] });
        }
        push(
            ns,
            Event::Tick {
                tick: tick.into(),
                time: Time(ns),
            },
        );
        push(ns, Event::Clock { value: Time(ns) });
        for number in 0..sockets {
            if number == socket {
                let mut payload = [0; 20];
                payload[..4].copy_from_slice(&(tick + 1).to_be_bytes());
                let (socket, from) = (SocketId(number), peer());
                push(
                    ns,
                    Event::Received {
                        socket,
                        from,
                        payload: &payload,
                    },
                );
            }
            push(
                ns,
                Event::PollEmpty {
                    socket: SocketId(number),
                },
            );
        }
        let value = u64::from(tick) * 77;
        push(ns, Event::Random { value });
        let words = [tick + 1, tick + 1, tick * 2, tick * 77, position as u32];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let (socket, to) = (SocketId(socket), peer());
        let of = push(
            ns,
            Event::Sent {
                socket,
                to,
                payload: &payload,
            },
        );
        push(
            ns,
            Event::SendResult {
                of,
                outcome: SendOutcome::Sent,
            },
        );
    }
    let path = folder.join("walker.reel");
    std::fs::write(&path, reel.finish().expect("memory")).expect("a file");
    path
}

fn replay(reel: &Path, layer: &Path, more: &[&str]) -> Ran {
    let [reel, layer] = [reel, layer].map(|path| path.to_str().expect("a path in UTF-8"));
    netreel(&[&["replay", reel, "--layer", layer], more].concat())
}

#[test]
fn a_layer_in_c_is_replayed_exactly() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let ran = replay(&reel, &udp_layer(folder.path(), &[]), &[]).expect(0);
    assert_eq!(
        ran.out,
        "walker: exact: 50 ticks, 17 calls and 50 equal sends of 1000 B\n"
    );
}

#[test]
fn a_layer_with_two_sockets_says_which() {
    let folder = folder();
    let reel = record(folder.path(), 2, 1);
    let ran = replay(&reel, &udp_layer(folder.path(), &[]), &["--json"]).expect(0);
    assert_eq!(ran.json()["result"], "exact");
}

#[test]
fn a_layer_with_states_goes_on_at_the_snapshot_behind_what_was_not_recorded() {
    for sockets in [1, 2] {
        let folder = folder();
        let reel = record_but(folder.path(), sockets, sockets - 1, 20..31);
        let layer = udp_layer(folder.path(), &["-DSTATES"]);
        let ran = replay(&reel, &layer, &["--json"]).expect(0);
        let told = ran.json();
        assert_eq!(
            (&told["result"], &told["sends"]),
            (&"exact".into(), &39.into())
        );
        assert_eq!(
            told["stretches"].as_array().map(Vec::len),
            Some(2),
            "{told}"
        );
        // Another packet behind it is found there.
        let of = Reel::from_bytes(std::fs::read(&reel).expect("the reel")).expect("a reel");
        let mut all = records(&of);
        let is_send = |it: &OwnedRecord| matches!(it.as_record().event, Event::Sent { .. });
        let last = all.iter().rposition(is_send).expect("a send");
        let (socket, to) = (SocketId(sockets - 1), peer());
        let payload = &[7; 20];
        let event = Event::Sent {
            socket,
            to,
            payload,
        };
        let changed = with_event(&all[last].as_record(), event);
        all[last] = changed;
        let other = folder.path().join("other.reel");
        write(&other, &of, &all);
        let told = replay(&other, &layer, &["--json"]).expect(1).json();
        assert_eq!(
            (&told["result"], &told["sends"]),
            (&"divergence".into(), &38.into())
        );
        let (answers, ran) = steps(
            &reel,
            &layer,
            "until event 250\nstate\nback tick 1\ncontinue\n",
        );
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert_eq!(
            answers.last().expect("an answer")["stop"],
            "end",
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_layer_without_states_is_not_played_past_what_was_not_recorded() {
    let folder = folder();
    let reel = record_but(folder.path(), 2, 1, 20..31);
    let ran = replay(&reel, &udp_layer(folder.path(), &[]), &[]).expect(2);
    let told = "recording was switched off and on while it ran";
    assert!(ran.err.contains(told), "{}", ran.err);
}

#[test]
fn a_changed_layer_diverges_at_the_first_byte_that_differs() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let ran = replay(&reel, &udp_layer(folder.path(), &["-DSTEP=7"]), &[]).expect(1);
    assert!(ran.out.contains("first difference: byte 19"), "{}", ran.out);
}

#[test]
fn a_plugin_of_another_build_is_told_where_it_diverges() {
    let folder = folder();
    let plain = record(folder.path(), 1, 0);
    let opened = Reel::from_bytes(std::fs::read(&plain).expect("the reel")).expect("a reel");
    let header = Header {
        build: "walk-1".to_owned(),
        ..opened.header().clone()
    };
    let mut named = ReelWriter::create(Vec::new(), &header).expect("memory");
    for it in records(&opened) {
        named.push(&it.as_record()).expect("memory");
    }
    let reel = folder.path().join("named.reel");
    std::fs::write(&reel, named.finish().expect("memory")).expect("a file");
    let told = |reel: &Path, flags: &[&str]| {
        let layer = udp_layer(folder.path(), &[&["-DSTEP=7"], flags].concat());
        let said = replay(reel, &layer, &[]).expect(1).out;
        let json = replay(reel, &layer, &["--json"]).expect(1).json();
        let build = json["divergence"]["other_build"].clone();
        let line = said.lines().find(|line| line.contains("another build"));
        (line.unwrap_or_default().trim().to_owned(), build)
    };
    let (line, build) = told(&reel, &["-DBUILD=\"walk-2\""]);
    assert_eq!(
        line,
        "maybe because it was recorded with another build: walk-1, and this is walk-2"
    );
    let both = serde_json::json!({ "recorded": "walk-1", "own": "walk-2" });
    assert_eq!(build, both);
    let layer = udp_layer(folder.path(), &["-DSTEP=7", "-DBUILD=\"walk-2\""]);
    let (answers, ran) = steps(&reel, &layer, "continue\n");
    let parted = answers.last().expect(&ran.err);
    assert_eq!(parted["replay"]["divergence"]["other_build"], both);
    // The same build, and a reel that names none.
    for (reel, flag) in [
        (&reel, "-DBUILD=\"walk-1\""),
        (&plain, "-DBUILD=\"walk-2\""),
    ] {
        assert_eq!(told(reel, &[flag]), (String::new(), Value::Null));
    }
    // One that does not say its own.
    let (line, build) = told(&reel, &[]);
    assert!(
        line.contains("walk-1, and the plugin does not say its own"),
        "{line}"
    );
    assert_eq!(
        build,
        serde_json::json!({ "recorded": "walk-1", "own": null })
    );
}

#[test]
fn a_table_without_the_fields_at_its_end_is_taken() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let text =
        table("", "create", "tick").replace("sizeof api,", "offsetof(netreel_layer_api, error),");
    let text = format!("#include <stddef.h>\n{text}");
    replay(&reel, &of_text(folder.path(), &text), &[]).expect(1);
}

#[test]
fn a_changed_layer_plays_on_to_the_end() {
    let folder = folder();
    let reel = record(folder.path(), 2, 1);
    let layer = udp_layer(folder.path(), &["-DSTEP=7"]);
    let out = folder.path().join("on");
    let out = out.to_str().expect("UTF-8");
    let report = replay(&reel, &layer, &["--together", "--out", out, "--json"]).json();
    let sent = &report["played"]["nodes"][0]["sent"];
    let node = report["played"]["nodes"].as_array().expect("nodes");
    let walker = node.iter().find(|node| node["node"] == "walker");
    let sent = walker.map_or(sent, |walker| &walker["sent"]);
    assert_eq!(
        (&sent["now"], &sent["changed"]),
        (&50.into(), &50.into()),
        "{report}"
    );
}

/// The answers to a script of someone who steps, as JSON.
fn steps(reel: &Path, layer: &Path, script: &str) -> (Vec<Value>, Ran) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", "--step", "--json", "--no-index"])
        .arg(reel)
        .arg("--layer")
        .arg(layer)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(script.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let ran = Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("a text"),
        err: String::from_utf8(output.stderr).expect("a text"),
    };
    let lines = ran.out.lines();
    let answers = lines.map(|line| serde_json::from_str(line).expect("JSON"));
    (answers.collect(), ran)
}

#[test]
fn a_layer_with_states_is_the_same_at_an_event_whichever_way_one_came() {
    for sockets in [1, 2] {
        let folder = folder();
        let reel = record(folder.path(), sockets, sockets - 1);
        let layer = udp_layer(folder.path(), &["-DSTATES"]);
        let script = "goto 120\nstate\ngoto 200\nback tick 4\ngoto 120\nstate\ngoto 0\n\
                      packet 9\ngoto 120\nstate\ncontinue\n";
        let (answers, ran) = steps(&reel, &layer, script);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let states = answers.iter().filter_map(|it| it.get("state"));
        let states: Vec<&Value> = states.filter(|it| !it.is_null()).collect();
        assert_eq!(states.len(), 3, "{}", ran.out);
        assert!(
            states.iter().all(|state| *state == states[0]),
            "{}",
            ran.out
        );
        let moves = answers.iter().filter_map(|it| it.get("restarted"));
        assert!(moves.into_iter().all(|it| it == false), "{}", ran.out);
        let last = answers.last().expect("an answer");
        assert_eq!(last["stop"], "end", "{}", ran.out);
    }
}

#[test]
fn a_layer_without_states_is_played_again_from_the_begin_to_go_back() {
    let folder = folder();
    let reel = record(folder.path(), 2, 1);
    let layer = udp_layer(folder.path(), &[]);
    let (answers, ran) = steps(&reel, &layer, "goto 120\nback tick 2\ncontinue\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let restarted: Vec<bool> = answers
        .iter()
        .filter_map(|it| it.get("restarted")?.as_bool())
        .collect();
    assert_eq!(restarted, [false, true, false], "{}", ran.out);
}

#[test]
fn a_changed_layer_cannot_be_stepped_past_its_divergence() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = udp_layer(folder.path(), &["-DSTATES", "-DSTEP=7"]);
    let (answers, ran) = steps(&reel, &layer, "continue\nback tick 1\ncontinue\n");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let stops = answers.iter().filter_map(|it| it.get("stop"));
    let stops: Vec<&Value> = stops.collect();
    assert_eq!(
        stops,
        ["divergence", "reached", "divergence"],
        "{}",
        ran.out
    );
}

#[test]
fn a_layer_that_fails_or_crashes_while_one_steps_says_where() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let fails = "static int32_t fails(void *l, const netreel_world *w, uint64_t n, uint64_t t) { return -3; }";
    let layer = of_text(folder.path(), &table(fails, "create", "fails"));
    let (_, ran) = steps(&reel, &layer, "continue\n");
    let told = "at walker, in the tick of event 2: code -3";
    assert!(ran.err.contains(told), "{}", ran.err);
    let crash = fails
        .replace("return -3;", "abort();")
        .replace("fails", "crash");
    let layer = of_text(folder.path(), &table(&crash, "create", "crash"));
    let (_, ran) = steps(&reel, &layer, "continue\n");
    assert_eq!(ran.code, Some(2));
    let told = "it died of signal 6";
    assert!(ran.err.contains(told), "{}", ran.err);
}

/// A table around functions of C that a test gives.
fn table(functions: &str, create: &str, tick: &str) -> String {
    format!(
        "static int32_t create(const netreel_layer_start *s, const netreel_world *w, void **l) \
         {{ *l = (void *)&create; return 0; }}\n\
         static int32_t tick(void *l, const netreel_world *w, uint64_t n, uint64_t t) {{ return 0; }}\n\
         static int32_t input(void *l, const netreel_world *w, const void *c, uint64_t n) {{ return 0; }}\n\
         static void destroy(void *l) {{ }}\n{functions}\n\
         const netreel_layer_api *netreel_layer(uint32_t version) {{\n\
         static netreel_layer_api api = {{ .size = sizeof api, .version = 1, .name = \"udp example\", \
         .create = {create}, .tick = {tick}, .input = input, .destroy = destroy }};\n\
         (void)create; (void)tick; return &api; }}\n"
    )
}

#[track_caller]
fn refused(text: &str, said: &[&str]) {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let ran = replay(&reel, &of_text(folder.path(), text), &[]).expect(2);
    for said in said {
        assert!(ran.err.contains(said), "no `{said}` in {}", ran.err);
    }
}

#[test]
fn a_library_without_the_function_is_refused() {
    refused(
        "int other(void) { return 0; }",
        &["no function netreel_layer", "layer!"],
    );
}

#[test]
fn a_library_that_does_not_serve_the_version_is_refused() {
    let text = "const netreel_layer_api *netreel_layer(uint32_t v) { return 0; }";
    refused(text, &["does not serve version 1"]);
}

#[test]
fn a_table_of_another_version_is_refused() {
    let text = table("", "create", "tick").replace(".version = 1,", ".version = 9,");
    refused(&text, &["version 9", "knows 1"]);
}

#[test]
fn a_table_that_is_too_short_is_refused() {
    let text = table("", "create", "tick").replace("sizeof api,", "16,");
    refused(
        &text,
        &["its table has 16 bytes", "sizeof(netreel_layer_api)"],
    );
}

#[test]
fn a_missing_function_is_named() {
    refused(&table("", "create", "NULL"), &["no function `tick`"]);
}

#[test]
fn the_layer_of_another_engine_is_refused() {
    let text = table("", "create", "tick").replace("udp example", "quake");
    refused(
        &text,
        &[
            "recorded at the engine `udp example`",
            "says that it is `quake`",
        ],
    );
}

#[test]
fn a_layer_that_cannot_be_made_says_why() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let text = table(
        "static int32_t none(const netreel_layer_start *s, const netreel_world *w, void **l) { return -7; }",
        "none",
        "tick",
    );
    let ran = replay(&reel, &of_text(folder.path(), &text), &[]).expect(2);
    assert!(
        ran.err.contains("it makes no layer for walker: code -7"),
        "{}",
        ran.err
    );
}

#[test]
fn a_tick_that_fails_ends_the_replay_with_its_reason() {
    let fails = "static int32_t fails(void *l, const netreel_world *w, uint64_t n, uint64_t t) { return -3; }";
    refused(&table(fails, "create", "fails"), &["at walker: code -3"]);
}

#[test]
fn a_crash_is_told_with_its_node_and_event() {
    let crash = "static int32_t crash(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { abort(); }";
    let said = ["it died of signal 6", "at walker, in the tick of event 2"];
    refused(&table(crash, "create", "crash"), &said);
}

#[test]
fn a_crash_leaves_no_half_of_a_session_behind() {
    let crash = "static int32_t crash(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { abort(); }";
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = of_text(folder.path(), &table(crash, "create", "crash"));
    let out = folder.path().join("played");
    let arguments = ["--together", "--out", out.to_str().expect("UTF-8")];
    let told = replay(&reel, &layer, &arguments).expect(2).err;
    assert!(told.contains("it died of signal 6"), "{told}");
    assert!(!out.exists(), "{told}");
}

#[test]
fn a_layer_that_ends_the_process_is_told() {
    let leave = "static int32_t leave(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { exit(0); }";
    let said = [
        "it ended the process with exit code 0",
        "in the tick of event 2",
    ];
    refused(&table(leave, "create", "leave"), &said);
}

#[test]
fn bad_arguments_of_a_layer_are_refused_and_harm_nobody() {
    let wild = "static int32_t wild(void *l, const netreel_world *w, uint64_t n, uint64_t t) {\n\
                netreel_packet packet; netreel_endpoint to = {9, 0, 0, 0, {0}}; uint64_t value;\n\
                packet.size = 4;\n\
                int32_t wrong = w->receive(w->world, 0, 0, 0, 0) == NETREEL_E_ARGUMENT\n\
                && w->receive(w->world, 0, 0, 0, &packet) == NETREEL_E_ARGUMENT\n\
                && w->send(w->world, 0, &to, 0, 0, 0) == NETREEL_E_ARGUMENT\n\
                && w->send(w->world, 0, 0, 0, 5, 0) == NETREEL_E_ARGUMENT\n\
                && w->clock(w->world, 0) == NETREEL_E_ARGUMENT\n\
                && w->clock((void *)7777, &value) == NETREEL_E_HANDLE\n\
                && w->random(0, &value) == NETREEL_E_HANDLE\n\
                && w->note(w->world, 0, 3) == NETREEL_E_ARGUMENT;\n\
                return wrong ? -99 : -1; }";
    refused(&table(wild, "create", "wild"), &["at walker: code -99"]);
}

#[test]
fn the_numbers_of_events_are_those_of_the_reel() {
    // What the crash test counts on.
    let folder = folder();
    let reel = std::fs::read(record(folder.path(), 1, 0)).expect("the reel");
    let reel = netreel_reel::Reel::from_bytes(reel).expect("a reel");
    let event = reel.record(EventNumber(2)).expect("event 2");
    assert!(matches!(
        event.as_record().event,
        Event::Tick { tick: 0, .. }
    ));
}

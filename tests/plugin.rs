//! Network layers as plugins, in C: `capi/examples/udp_layer.c`, and some that are wrong.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use netreel_reel::{Event, EventNumber, Header, OwnedRecord, Reel, ReelWriter, SocketId};
use serde_json::Value;
use support::plugins::{folder, of_text, peer, record, record_but, table, udp_layer};
use support::programs::{records, with_event, write};
use support::{Ran, netreel};

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
    // Both are called after the file.
    let layer = udp_layer(folder.path(), &["-DSTEP=7"]);
    let own = netreel_plugin::file_build(&layer).expect("the layer");
    for (recorded, is_other) in [(own.as_str(), false), ("file 0123456789abcdef", true)] {
        let header = Header {
            build: recorded.to_owned(),
            ..opened.header().clone()
        };
        let reel = folder.path().join("of_file.reel");
        let mut writer = ReelWriter::create(Vec::new(), &header).expect("memory");
        for it in records(&opened) {
            writer.push(&it.as_record()).expect("memory");
        }
        std::fs::write(&reel, writer.finish().expect("memory")).expect("a file");
        let both = match is_other {
            true => serde_json::json!({ "recorded": recorded, "own": own }),
            false => Value::Null,
        };
        assert_eq!(told(&reel, &[]).1, both);
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
    let mut child = support::command()
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

/// A layer to which every tick is too late, by a clock that netreel does not answer.
const ALWAYS_LATE: &[&str] = &["-DTIME_OUT_NS=0", "-Wno-type-limits"];

#[test]
fn a_watchdog_ends_a_replay_unless_the_time_outs_are_off() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = udp_layer(folder.path(), ALWAYS_LATE);
    let ran = replay(&reel, &layer, &[]).expect(2);
    assert!(ran.err.contains("stood still for too long"), "{}", ran.err);
    let ran = replay(&reel, &layer, &["--time-outs", "off"]).expect(0);
    assert_eq!(
        ran.out,
        "walker: exact: 50 ticks, 17 calls and 50 equal sends of 1000 B\n    \
         with the layer's time-outs off\n"
    );
}

#[test]
fn who_steps_a_layer_has_its_time_outs_off_until_they_are_thrown() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = udp_layer(folder.path(), ALWAYS_LATE);
    let (answers, ran) = steps(&reel, &layer, "continue\nback tick\ntime-outs on\n");
    assert_eq!(answers[1]["stop"], "end");
    assert_eq!(answers[1]["time_outs"], "off");
    assert_eq!(answers[3]["stop"], "divergence");
    assert_eq!(answers[3]["time_outs"], "on");
    let told = "in the tick of event";
    assert!(
        ran.err.contains(told) && ran.err.contains("too long"),
        "{}",
        ran.err
    );
}

#[test]
fn a_layer_without_the_switch_is_told() {
    let folder = folder();
    let reel = record(folder.path(), 1, 0);
    let layer = udp_layer(folder.path(), &[]);
    let ran = replay(&reel, &layer, &["--time-outs", "off"]).expect(0);
    assert!(
        ran.out.contains("has no switch of its time-outs"),
        "{}",
        ran.out
    );
    let (answers, _) = steps(&reel, &layer, "time-outs on\n");
    let told = answers[1]["error"].as_str().expect("it is told");
    assert!(told.contains("has no switch of its time-outs"), "{told}");
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
    assert!(ran.err.contains(aborted()), "{}", ran.err);
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

/// How a plugin's abort is told.
fn aborted() -> &'static str {
    match support::windows::folder() {
        None => "it died of signal 6 (SIGABRT, abort or a failed assertion)",
        Some(_) => "it died of exit code 3 (abort or a failed assertion, or exit(3))",
    }
}

#[test]
fn a_bad_address_is_told_as_such() {
    let crash = "static int32_t crash(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { volatile int *volatile nowhere = 0; *nowhere = 1; return 0; }";
    let told = match support::windows::folder() {
        None => "it died of signal 11 (SIGSEGV, a bad address)",
        Some(_) => "it died of exception 0xC0000005 (a bad address)",
    };
    refused(&table(crash, "create", "crash"), &[told]);
}

#[test]
fn a_crash_is_told_with_its_node_and_event() {
    let crash = "static int32_t crash(void *l, const netreel_world *w, uint64_t n, uint64_t t) \
                 { abort(); }";
    let said = [aborted(), "at walker, in the tick of event 2"];
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
    assert!(told.contains(aborted()), "{told}");
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

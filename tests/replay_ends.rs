//! How recorded programs end, and how they end when they are started again.

mod support;

use netreel_reel::{CallId, Event};
use support::netreel;
use support::programs::{Bench, records, text, write};

/// Records a program that ends as `then` says, and starts it again where it ends as `now` says.
fn ends(then: &str, now: &str) -> (support::Ran, support::Ran) {
    let bench = Bench::new();
    let (program, file) = (bench.compile("ends"), bench.at("how"));
    let command = [text(&program), text(&file)];
    std::fs::write(&file, then).unwrap();
    bench.record_plainly(&[], &command);
    let info = netreel(&["info", text(&bench.out())]);
    std::fs::write(&file, now).unwrap();
    (bench.again(&[], &command), info)
}

#[test]
fn how_a_program_ended_is_recorded_and_compared() {
    for (how, told) in [
        ("exit", "exit code 3"),
        ("_exit", "exit code 4"),
        ("abort", "signal 6 (ABRT)"),
    ] {
        let (ran, info) = ends(how, how);
        assert_eq!(ran.code, Some(0), "{how}: {}{}", ran.out, ran.err);
        let ended = format!("ended with {told}");
        assert!(ran.out.contains(&ended), "{how}: {}", ran.out);
        assert!(
            info.out.contains(&format!(": with {told}\n")),
            "{how}: {}",
            info.out
        );
    }
}

#[test]
fn a_program_that_ends_otherwise_is_a_divergence() {
    for (then, now, expected, came) in [
        (
            "exit",
            "ok",
            "it ends, with exit code 3",
            "it ends, with exit code 0",
        ),
        (
            "_exit",
            "abort",
            "it ends, with exit code 4",
            "it ends, with signal 6 (ABRT)",
        ),
        (
            "abort",
            "_exit",
            "it ends, with signal 6 (ABRT)",
            "it ends, with exit code 4",
        ),
    ] {
        let (ran, _) = ends(then, now);
        assert_eq!(ran.code, Some(1), "{then}, {now}: {}{}", ran.out, ran.err);
        for said in [
            "diverged in how it ends",
            expected,
            came,
            "how has another content than when it read it",
        ] {
            assert!(
                ran.out.contains(said),
                "{then}, {now}: no `{said}` in {}",
                ran.out
            );
        }
    }
}

#[test]
fn a_program_that_goes_on_behind_its_last_event_is_a_divergence() {
    let (ran, _) = ends("_exit", "more");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("it goes on"), "{}", ran.out);
}

#[test]
fn a_program_that_was_killed_is_exact_to_where_it_was() {
    for now in ["kill", "more"] {
        let (ran, info) = ends("kill", now);
        assert_eq!(ran.code, Some(0), "{now}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("signal 9 (KILL)"), "{now}: {}", ran.out);
        assert!(
            info.out.contains(": with signal 9 (KILL)\n"),
            "{}",
            info.out
        );
    }
}

#[test]
fn an_older_reel_does_not_say_how_its_program_ended() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let command = [text(&program), "5"];
    bench.record(&[], &command).expect(0);
    let (file, reel) = (bench.reel_file(), bench.reel());
    let mut records = records(&reel);
    let last = records.pop().expect("it has events");
    let is_status = |event| matches!(event, Event::Called { call, .. } if call == CallId::STATUS);
    assert!(is_status(last.as_record().event), "it is the last word");
    write(&file, &reel, &records);
    let ran = bench.again(&[], &command).expect(0);
    assert!(
        ran.out.contains("how it ended is not in the reel"),
        "{}",
        ran.out
    );
    let info = netreel(&["info", text(&bench.out())]).expect(0);
    assert!(
        info.out.contains("by itself; its exit code is not known"),
        "{}",
        info.out
    );
}

#[test]
fn a_forked_child_is_refused_with_what_to_do_and_how_its_family_ended_is_told() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    bench
        .record(&[], &[text(&children), text(&pair), "3"])
        .expect(0);
    let info = netreel(&["info", text(&bench.out())]).expect(0).out;
    let ended: Vec<&str> = info
        .lines()
        .filter(|line| line.starts_with("ended "))
        .collect();
    let has = |name: &str, how: &str| {
        let is_it = |line: &&&str| line.contains(name) && line.contains(how);
        assert_eq!(
            ended.iter().filter(is_it).count(),
            1,
            "{name}, {how}: {info}"
        );
    };
    has("children", "with exit code 0");
    has("children", "as this program; it became another one");
    has("pair", "by itself; its exit code is not known");
    let session = netreel_capture::open_session(&[bench.out()]).unwrap();
    let names = session.reels.iter().map(|it| it.reel.header().node.clone());
    let child = names.filter(|name| name.starts_with("children"));
    let told: Vec<String> = child
        .map(|name| {
            let ran = netreel(&["replay", text(&bench.out()), "--node", &name, "--"]);
            ran.out + &ran.err
        })
        .collect();
    for words in ["start the parent again", "exact, 2 of 2 sends equal"] {
        let of_one = told.iter().filter(|it| it.contains(words));
        assert_eq!(of_one.count(), 1, "{words}: {told:?}");
    }
}

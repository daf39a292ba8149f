//! `netreel why` on the sessions in the repository.

mod support;

use serde_json::Value;
use support::answers::Stage;

/// What the command prints as JSON.
fn json(arguments: &[&str]) -> Value {
    let mut all = vec!["why", "--json"];
    all.extend(arguments);
    let answer = Stage::new().run(&all);
    assert_eq!(
        answer.code,
        Some(0),
        "{}",
        String::from_utf8_lossy(&answer.err)
    );
    serde_json::from_slice(&answer.out).expect("JSON")
}

/// The kinds of the steps from the first root down to one of this kind, where there is a way.
fn way_to(why: &Value, kind: &str) -> Option<Vec<String>> {
    fn below(steps: &[Value], number: u64, kind: &str) -> Option<Vec<String>> {
        let step = steps.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        let own = step["kind"].as_str()?.to_owned();
        if own == kind {
            return Some(vec![own]);
        }
        let causes = step["because"].as_array()?.iter().filter_map(Value::as_u64);
        let mut ways = causes.filter_map(|cause| below(steps, cause, kind));
        let mut way = ways.next()?;
        way.insert(0, own);
        Some(way)
    }
    let roots = why["roots"].as_array()?;
    below(why["steps"].as_array()?, roots.first()?.as_u64()?, kind)
}

fn step<'a>(why: &'a Value, kind: &str) -> &'a Value {
    let steps = why["steps"].as_array().expect("steps");
    let found = steps.iter().find(|step| step["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {why:#}"))
}

const HOST: &str = "samples/sessions/host";
const OWNER: &str = "samples/sessions/owner";

#[test]
fn the_zombie_at_x_comes_of_a_link_that_held_create() {
    let why = json(&[HOST, "--finding", "2"]);
    let way = way_to(&why, "held").expect("a way to the link");
    assert_eq!(way, ["found", "did", "later", "reached", "late", "held"]);
    let held = step(&why, "held");
    assert_eq!(held["packets"], serde_json::json!([53, 422]));
    assert_eq!(held["node"], "X");
    let would = step(&why, "would");
    assert_eq!(would["certainty"], "would-have");
    assert_eq!(
        would["sentence"],
        "had CREATE of object 42 (packet 71) come before DESTROY of object 42 (packet 419), X would \
         have destroyed the object by DESTROY, by its rules"
    );
}

#[test]
fn the_cure_ignored_create_because_destroy_was_heard() {
    let why = json(&[OWNER, "--finding", "3"]);
    let stale = why["steps"].as_array().expect("steps").iter().find(|step| {
        let sentence = step["sentence"].as_str().unwrap_or_default();
        step["kind"] == "did" && sentence.ends_with("and ignored it as old")
    });
    assert_eq!(stale.expect("a step")["packets"], serde_json::json!([71]));
    let way = way_to(&why, "rule").expect("a rule");
    assert_eq!(way, ["found", "did", "rule"]);
    assert!(way_to(&why, "held").is_some(), "{why:#}");
}

#[test]
fn what_x_did_not_know_it_learnt_later() {
    let why = json(&[HOST, "--object", "42", "--node", "X", "--at", "0.6s"]);
    let believed = step(&why, "believed");
    assert_eq!(
        believed["sentence"],
        "at 0.600000 s X did not know object 42"
    );
    step(&why, "held");
}

#[test]
fn a_copy_was_sent_again_for_want_of_an_ack() {
    let why = json(&[HOST, "--packet", "129"]);
    let silence = step(&why, "silence");
    assert_eq!(silence["certainty"], "doubtful");
    assert_eq!(silence["packets"], serde_json::json!([71]));
}

#[test]
fn what_led_to_something_is_told_once() {
    let answer = Stage::new().run(&["why", HOST, "--finding", "2"]);
    let text = String::from_utf8(answer.out).expect("text");
    assert_eq!(text.matches("A -> X held everything").count(), 1, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(text.contains("see 4"), "{text}");
}

#[test]
fn what_is_not_there_is_answered_with_what_is() {
    let asked = [
        (
            vec!["--packet", "9999"],
            "there is no packet 9999: the session has 573 packets, numbered from 0",
        ),
        (
            vec!["--finding", "3"],
            "there is no finding 3: the session has 2 findings, numbered from 1",
        ),
        (
            vec!["--object", "42", "--node", "Y"],
            "there is no node `Y`; the nodes are HOST, A, B, X",
        ),
        (
            vec!["--object", "7", "--node", "X"],
            "no node heard of object 7",
        ),
    ];
    for (arguments, expected) in asked {
        let mut all = vec!["why", HOST];
        all.extend(arguments);
        let answer = Stage::new().run(&all);
        let err = String::from_utf8(answer.err).expect("text");
        assert_eq!(answer.code, Some(2), "{err}");
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn a_capture_is_explained_without_talk_of_objects() {
    let recordings = [("enet", "40"), ("minetest", "60"), ("raknet", "20")];
    for (name, packet) in recordings {
        let capture = format!("recordings/{name}.pcap");
        let wire = format!("samples/wires/{name}.wire");
        let why = json(&[&capture, "--wire", &wire, "--packet", packet]);
        let text = why.to_string();
        assert!(!text.contains("object "), "{text}");
        assert!(why["steps"].as_array().is_some_and(|it| it.len() > 1));
    }
}

#[test]
fn findings_keep_their_numbers_when_some_are_left_out() {
    let filter = "rule == \"zombie-object\"";
    let answer = Stage::new().run(&["check", HOST, "--json", "--filter", filter]);
    let check: Value = serde_json::from_slice(&answer.out).expect("JSON");
    let findings = check["findings"].as_array().expect("findings");
    let numbers: Vec<_> = findings.iter().map(|it| it["finding"].as_u64()).collect();
    assert_eq!(numbers, [Some(2)]);
}

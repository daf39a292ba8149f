//! What the command says to other programs: test reports, findings, mistakes as JSON, completions.

mod support;

use serde_json::Value;
use support::netreel;

const OWNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/owner");
const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions");

#[test]
fn a_test_report_fails_the_rules_that_found_an_error() {
    let ran = netreel(&["check", HOST, "--format", "junit"]).expect(1);
    let cases: Vec<&str> = ran.out.split("<testcase name=\"").skip(1).collect();
    let case = |rule: &str| {
        let own = cases.iter().find(|it| it.starts_with(&format!("{rule}\"")));
        own.expect("a case a rule")
    };
    let zombie = case("zombie-object");
    assert!(zombie.contains("<failure message="), "{zombie}");
    assert!(zombie.contains("packet "), "{zombie}");
    let other = case("stream-gap");
    assert!(!other.contains("failure"), "{other}");
    // An info stands in the output of its case, and is no failure.
    let owners = case("two-owners");
    assert!(!owners.contains("failure"), "{owners}");
}

#[test]
fn what_could_not_be_judged_is_an_error_of_the_report_and_with_partial_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    for node in ["HOST", "A", "B"] {
        let name = format!("{node}.reel");
        std::fs::copy(format!("{HOST}/{name}"), folder.path().join(name)).expect("a copy");
    }
    let path = folder.path().to_str().expect("UTF-8");
    let told = |more: &[&str], code| {
        netreel(&[&["check", path, "--format", "junit"][..], more].concat())
            .expect(code)
            .out
    };
    let all = told(&[], 2);
    assert!(
        all.contains("<error message=\"not all could be judged\""),
        "{all}"
    );
    assert!(all.contains("no-reel"), "{all}");
    let partial = told(&["--partial"], 0);
    assert!(
        partial.contains("<skipped message=\"not all could be judged\""),
        "{partial}"
    );
}

#[test]
fn of_many_sessions_each_is_a_suite() {
    let ran = netreel(&["check", "--each", SESSIONS, "--format", "junit"]).expect(1);
    assert_eq!(
        ran.out.matches("<testsuite name=").count(),
        2,
        "{}",
        ran.out
    );
}

#[test]
fn findings_as_sarif_are_those_of_json() {
    let sarif: Value = netreel(&["check", HOST, "--format", "sarif"])
        .expect(1)
        .json();
    let json: Value = netreel(&["check", HOST, "--json"]).expect(1).json();
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let findings = json["findings"].as_array().expect("findings");
    assert_eq!(results.len(), findings.len());
    for (result, finding) in results.iter().zip(findings) {
        assert_eq!(result["ruleId"], finding["rule"]);
        assert_eq!(result["message"]["text"], finding["sentence"]);
        let level = match finding["level"].as_str() {
            Some("info") => "note",
            level => level.expect("a level"),
        };
        assert_eq!(result["level"], level);
    }
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules");
    let known = |id: &Value| rules.iter().any(|it| it["id"] == *id);
    assert!(results.iter().all(|it| known(&it["ruleId"])));
    assert_eq!(sarif["version"], "2.1.0");
}

#[test]
fn a_mistake_is_json_where_json_was_asked_for() {
    for arguments in [
        &["check", "/nowhere", "--json"][..],
        &["info", OWNER, "--json", "--no-such-option"],
        &["packets", OWNER, "--json", "--filter", "form == A"],
    ] {
        let ran = netreel(arguments).expect(2);
        let said: Value = serde_json::from_str(ran.out.trim()).expect("a line of JSON");
        assert!(
            said["error"].as_str().is_some_and(|it| it.len() > 10),
            "{said}"
        );
        assert!(!ran.err.is_empty());
    }
    assert_eq!(netreel(&["check", "/nowhere"]).expect(2).out, "");
}

#[test]
fn nobody_is_told_to_name_a_file_like_an_option() {
    let ran = netreel(&["record", "--out", "here", "--no-such-option"]).expect(2);
    assert!(ran.err.contains("unexpected argument"), "{}", ran.err);
    assert!(!ran.err.contains("-- --no-such-option"), "{}", ran.err);
    let ran = netreel(&["record", "./server"]).expect(2);
    let tip = "a program stands behind `--`: netreel record -- ./server";
    assert!(ran.err.contains(tip), "{}", ran.err);
}

#[test]
fn a_filter_that_no_packet_fits_is_said_to_show_none() {
    let ran = netreel(&["show", OWNER, "--filter", "object == 77777"]).expect(0);
    assert_eq!(ran.out, "no packet fits the filter\n");
}

#[test]
fn a_wrong_argument_has_its_usage_and_what_to_do_in_fields_of_one_line() {
    for (arguments, error, usage, tip) in [
        (
            &["info", OWNER, "--json", "--no-such-option"][..],
            "unexpected argument '--no-such-option' found",
            Some("netreel info "),
            "--help",
        ),
        (
            &["packets", OWNER, "--json", "--filte", "lost"],
            "unexpected argument '--filte' found",
            Some("netreel packets "),
            "'--filter'",
        ),
        (
            &["show", OWNER, "--json", "--packet", "first"],
            "invalid value 'first' for '--packet <N>': it is not a whole number",
            None,
            "--help",
        ),
        (
            &["info", "--json"],
            "the following required arguments were not provided: <PATH>...",
            Some("netreel info "),
            "--help",
        ),
        (
            &["check", OWNER, "--json", "--fail-on", "sky"],
            "invalid value 'sky' for '--fail-on <LEVEL>' [possible values: ",
            None,
            "--help",
        ),
    ] {
        let ran = netreel(arguments).expect(2);
        let said: Value = serde_json::from_str(ran.out.trim()).expect("a line of JSON");
        let field = |name: &str| said[name].as_str().unwrap_or_default();
        assert!(field("error").starts_with(error), "{said}");
        assert!(field("tip").contains(tip), "{said}");
        match usage {
            Some(usage) => assert!(field("usage").starts_with(usage), "{said}"),
            None => assert_eq!(said["usage"], Value::Null),
        }
        let fields = said.as_object().expect("fields");
        let lines = |value: &Value| value.as_str().map_or(1, |text| text.lines().count());
        assert!(fields.values().all(|value| lines(value) == 1), "{said}");
    }
}

#[test]
fn a_reel_that_cannot_be_read_is_no_answer() {
    for command in ["info", "packets", "objects", "state", "stats"] {
        let ran = netreel(&[command, "/nowhere.reel", OWNER]).expect(2);
        assert!(ran.err.contains("/nowhere.reel"), "{command}: {}", ran.err);
        assert!(!ran.out.is_empty(), "{command} says nothing of the others");
        netreel(&[command, OWNER]).expect(0);
    }
}

#[test]
fn objects_that_are_none_are_told() {
    let ran = netreel(&["objects", OWNER, "--filter", "object == 77"]).expect(0);
    assert_eq!(ran.out, "no object fits the filter\n");
    let arguments = ["objects", OWNER, "--json", "--filter", "object == 77"];
    let ran = netreel(&arguments).expect(0);
    let said: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(said["objects"], Value::Array(Vec::new()));
    assert_eq!(ran.err, "netreel: no object fits the filter\n");
    let ran = netreel(&["objects", OWNER, "--migrations", "--filter", "object == 77"]).expect(0);
    assert_eq!(ran.out, "no object fits the filter\n");
}

#[test]
fn a_wrong_word_in_a_filter_is_first_told_what_may_have_been_meant() {
    let ran = netreel(&["packets", OWNER, "--filter", "form == A"]).expect(2);
    let first = "netreel: --filter: column 1: `form`: did you mean `from`? It can be one of ack,";
    assert!(ran.err.starts_with(first), "{}", ran.err);
}

#[test]
fn a_shell_is_told_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = netreel(&["completions", shell]).expect(0).out;
        for command in ["record", "check", "replay", "manual"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn the_short_help_is_shorter() {
    for command in ["check", "record", "replay"] {
        let short = netreel(&[command, "-h"]).expect(0).out;
        let long = netreel(&[command, "--help"]).expect(0).out;
        let lines = |page: &str| page.lines().count();
        assert!(lines(&short) * 2 < lines(&long), "{command}: {short}");
    }
}

//! Rules of a team's own, in Lua, as people give them.

mod support;

use std::path::Path;

use support::{Ran, netreel};

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions");

/// The file that docs/rules.md shows.
fn shown() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("```lua\n").expect("a file of rules");
    rest.split_once("```").expect("its end").0.to_owned()
}

fn written(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("own.lua");
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

fn check(text: &str, more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, text);
    netreel(&[&["check", HOST, "--rules", &rules], more].concat())
}

fn named<'a>(said: &'a serde_json::Value, rule: &str) -> Vec<&'a serde_json::Value> {
    let findings = said["findings"].as_array().expect("findings");
    findings.iter().filter(|it| it["rule"] == rule).collect()
}

#[test]
fn the_rule_that_the_page_shows_finds_late_creates() {
    let ran = check(&shown(), &["--json"]).expect(1).json();
    let found = named(&ran, "late-create");
    let late = netreel(&[
        "packets",
        HOST,
        "--json",
        "--filter",
        "kind == create && late > 100ms",
    ]);
    assert_eq!(found.len(), late.expect(0).out.lines().count());
    assert!(!found.is_empty());
    for finding in found {
        assert_eq!(finding["level"], "warning");
        assert_eq!(finding["object"], 42);
        assert_eq!(finding["evidence"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn findings_of_own_rules_are_filtered_and_counted_as_others_are() {
    let filtered = check(&shown(), &["--json", "--filter", "rule == late-create"]);
    let said = filtered.json();
    let all = said["findings"].as_array().expect("findings").len();
    assert_eq!(named(&said, "late-create").len(), all);
    assert_eq!(said["counts"]["warning"], all);
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, &shown());
    let each = netreel(&["check", "--each", SESSIONS, "--rules", &rules, "--json"]);
    assert!(
        each.out
            .lines()
            .last()
            .expect("a summary")
            .contains("late-create")
    );
}

#[test]
fn what_a_rule_calls_an_error_is_wrong() {
    let owner = Path::new(SESSIONS).join("owner");
    let owner = owner.to_str().expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let text = "rule('busy', function()
        for it in links() do
            if it.packets > 10 then
                report { level = 'error', node = it.from, sentence = it.from .. ' is busy' }
            end
        end
    end)";
    let rules = written(&folder, text);
    netreel(&["check", owner]).expect(0);
    let ran = netreel(&["check", owner, "--rules", &rules]).expect(1);
    assert!(ran.out.contains("busy"), "{}", ran.out);
}

/// The sentences that the rule `r` finds in a session.
#[track_caller]
fn sentences(body: &str) -> Vec<String> {
    let text = format!("rule('r', function() {body} end)");
    let ran = check(&text, &["--json", "--filter", "rule == r"]);
    assert!(ran.code < Some(2), "{}", ran.err);
    let said = ran.json();
    let said = named(&said, "r");
    let sentence = |it: &serde_json::Value| it["sentence"].as_str().expect("a text").to_owned();
    said.into_iter().map(sentence).collect()
}

fn lines(subcommand: &str, filter: &str) -> usize {
    let ran = netreel(&[subcommand, HOST, "--json", "--filter", filter]);
    ran.expect(0).out.lines().count()
}

#[test]
fn packets_that_are_read_for_a_rule_change_nothing_of_its_steps() {
    let body = "local count = 0
        for it in packets('any(has_ack) == 1') do count = count + 1 end
        for it in messages('create.color >= 0') do count = count + 1 end
        for i = 1, 2000000 do end
        report { sentence = count .. ' things' }";
    let creates =
        sentences("for it in messages('create.color >= 0') do report { sentence = '' } end");
    let count = lines("packets", "any(has_ack) == 1") + creates.len();
    assert_eq!(sentences(body), [format!("{count} things")]);
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, &format!("rule('r', function() {body} end)"));
    let each = netreel(&["check", "--each", SESSIONS, "--rules", &rules, "--json"]);
    assert!(
        each.out.contains(&format!("\"{count} things\"")),
        "{}",
        each.out
    );
    assert!(!each.out.contains("limit of"), "{}", each.out);
}

#[test]
fn messages_are_those_of_the_packets() {
    let all = sentences(
        "local row, count = messages(), 0
        for packet in packets() do
            for _, message in ipairs(packet.messages) do
                local it = row()
                assert(it.message == message.message and it.kind == message.kind)
                assert(it.packet == packet.packet and it.sent_ns == packet.sent_ns)
                assert(it.from == packet.from and it.fate == packet.fate and not it.messages)
                count = count + 1
            end
        end
        assert(row() == nil and row() == nil)
        report { sentence = count .. '' }",
    );
    assert_ne!(all, ["0"]);
    let fitting = sentences(
        "local row, count = messages('kind == update && from == A'), 0
        for it in messages() do
            if it.kind == 'update' and it.from == 'A' then
                assert(row().message == it.message)
                count = count + 1
            end
        end
        assert(row() == nil)
        report { sentence = count .. '' }",
    );
    assert_ne!(fitting, ["0"]);
    assert_ne!(fitting, all);
}

#[test]
fn whole_things_are_proof_and_none_is_none() {
    let text = "rule('r', function()
        local all = {}
        for it in packets() do
            all[#all + 1] = it
            if #all == 200 then break end
        end
        report { sentence = 'many', packets = all }
        report { sentence = 'one', packets = all[7] }
        report { sentence = 'none', packets = {} }
    end)";
    let said = check(text, &["--json"]).json();
    let proof = |it: &serde_json::Value| {
        let packets = it["evidence"].as_array().expect("a list").iter();
        packets
            .map(|it| it["packet"].as_u64().expect("a number"))
            .collect::<Vec<_>>()
    };
    let proofs: Vec<_> = named(&said, "r").into_iter().map(proof).collect();
    assert_eq!(proofs, [(0..200).collect(), vec![6], vec![]]);
}

#[test]
fn rules_of_own_are_named_by_filters_of_the_command_alone() {
    let two = "rule('a', function() packets('rule == b') end) rule('b', function() end)";
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, two);
    let each = netreel(&["check", "--each", SESSIONS, "--rules", &rules, "--json"]).expect(2);
    assert_eq!(
        each.out.matches("no rule is called b").count(),
        2,
        "{}",
        each.out
    );
    let one = "rule('b', function() end)";
    check(one, &["--filter", "rule == b"]).expect(0);
    let ran = check(one, &["--filter", "rule == c"]).expect(2);
    assert!(ran.err.contains("no rule is called c"), "{}", ran.err);
}

#[test]
fn tests_of_a_file_are_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = netreel(&["rules", &written(&folder, &shown())]).expect(0);
    assert!(ran.out.contains("passed  a CREATE that is late is found"));
    let broken = shown().replace("object == 42", "object == 43");
    let ran = netreel(&["rules", &written(&folder, &broken)]).expect(1);
    assert!(ran.out.contains("FAILED"), "{}", ran.out);
    let ran = check(&broken, &[]).expect(2);
    assert!(ran.err.contains("its test"), "{}", ran.err);
}

#[test]
fn what_cannot_be_asked_ends_with_a_sentence() {
    for (text, why) in [
        (
            "rule('r', function() while true do end end)",
            "limit of 10000000 steps",
        ),
        (
            "rule('r', function() local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end end)",
            "limit of",
        ),
        (
            "rule('zombie-object', function() end)",
            "netreel has itself",
        ),
        (
            "rule('r', function() packets('nonsense ==') end)",
            "packets:",
        ),
        (
            "rule('r', function() report { } end)",
            "there is no sentence",
        ),
        (
            "rule('r', function() report { sentence = 'x', node = 'nobody' } end)",
            "no node nobody",
        ),
        (
            "rule('r', function() report { sentence = 'x', packets = 1e9 } end)",
            "numbers of packets",
        ),
        ("rule('r', function() os.exit() end)", "nil value"),
        ("", "it has no rule"),
        ("rule(", "line 1"),
    ] {
        let ran = check(text, &[]).expect(2);
        assert!(ran.err.contains(why), "{text}: {}", ran.err);
        assert!(ran.err.contains("own.lua"), "{text}: {}", ran.err);
    }
}

/// What a team's rule finds is no suspicion: a session without errors stays clean.
#[test]
fn a_warning_of_a_teams_rule_leaves_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.lua");
    let rule = "rule(\"here\", function() for it in objects() do report { \
                sentence = \"one\", object = it.object } end end)";
    std::fs::write(&file, rule).expect("a file");
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/owner");
    let [file, session] = [&file, &session].map(|it| it.to_str().expect("a path"));
    let ran = netreel(&["check", session, "--rules", file]).expect(0);
    assert!(ran.out.contains("warning  here"), "{}", ran.out);
    assert!(ran.out.contains("\nclean"), "{}", ran.out);
}

#[test]
fn what_a_rule_of_own_found_is_explained_as_others_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, &shown());
    let said = netreel(&["check", HOST, "--rules", &rules, "--json"]).json();
    let findings = said["findings"].as_array().expect("findings");
    let place = findings.iter().position(|it| it["rule"] == "late-create");
    let number = (place.expect("it is found") + 1).to_string();
    let why = ["why", HOST, "--finding", &number];
    let ran = netreel(&[&why[..], &["--rules", &rules]].concat()).expect(0);
    assert!(ran.out.contains("CREATE of 42 came to"), "{}", ran.out);
    netreel(&why).expect(2);
}

#[test]
fn following_asks_the_rules_of_own_when_all_is_recorded() {
    let followed = check(&shown(), &["--follow"]).expect(1).out;
    let told = check(&shown(), &[]).expect(1).out;
    let found = |out: &str| {
        out.lines()
            .filter(|it| it.contains("CREATE of 42 came to"))
            .count()
    };
    assert!(found(&told) > 0, "{told}");
    assert_eq!(found(&followed), found(&told), "{followed}");
    let failed = check(
        "rule('r', function() end) test('t', 'r', {}, function() error('x') end)",
        &["--follow"],
    );
    failed.expect(2);
}

/// The picture of the window that shows what a rule of a file found.
fn pictured(rules: &str, rule: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("window.png");
    let filter = format!("rule == {rule}");
    let asked = ["inspect", HOST, "--rules", rules, "--filter", &filter];
    let drawn = ["--workspace", "why", "--size", "900x560", "--screenshot"];
    let path = picture.to_str().expect("UTF-8");
    netreel(&[&asked[..], &drawn[..], &[path]].concat()).expect(0);
    std::fs::read(picture).expect("the picture")
}

#[test]
fn the_window_shows_what_own_rules_found() {
    let folder = tempfile::tempdir().expect("a folder");
    // The same file with a rule that finds nothing.
    let none = "\nrule(\"never\", function() end)\n";
    let rules = written(&folder, &(shown() + none));
    let (found, nothing) = (pictured(&rules, "late-create"), pictured(&rules, "never"));
    assert!(found.starts_with(b"\x89PNG") && nothing.starts_with(b"\x89PNG"));
    assert_ne!(found, nothing);
    // Without the file nobody knows the rule.
    let filter = [
        "--filter",
        "rule == late-create",
        "--screenshot",
        "window.png",
    ];
    let ran = netreel(&[&["inspect", HOST], &filter[..]].concat()).expect(2);
    assert!(ran.err.contains("late-create"), "{}", ran.err);
}

#[test]
fn the_window_refuses_rules_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = written(&folder, "rule(");
    let asked = [
        "inspect",
        HOST,
        "--rules",
        &rules,
        "--screenshot",
        "window.png",
    ];
    let ran = netreel(&asked).expect(2);
    assert!(ran.err.contains("own.lua"), "{}", ran.err);
}

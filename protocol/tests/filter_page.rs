//! `docs/filter.md`: every example on the page is a command that finds something.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use netreel_protocol::history::{History, Object};
use netreel_protocol::query::Query;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_reel::Reel;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn story(folder: &str) -> (Session, History) {
    let inputs = ["HOST", "A", "B", "X"].map(|node| {
        let path = root().join(folder).join(format!("{node}.reel"));
        let bytes = std::fs::read(path).expect("the samples are there");
        ReelInput {
            name: format!("{node}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes).expect("a good reel")),
        }
    });
    let session = Session::builder()
        .build(inputs.into())
        .expect("one session");
    let history = History::build(&session);
    (session, history)
}

/// How much of a session a subcommand shows with this filter.
fn shown(subcommand: &str, query: &Query, (session, history): &(Session, History)) -> usize {
    let about = |object: &Object| {
        let places = object.deliveries.iter();
        let mut deliveries = places.filter_map(|&place| history.deliveries.get(place as usize));
        deliveries.any(|each| query.message(session, history, each.message))
    };
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let mut findings = history.findings.iter();
    match subcommand {
        "packets" => packets
            .filter(|&packet| query.packet(session, history, packet))
            .count(),
        "check" => findings
            .by_ref()
            .filter(|finding| query.finding(session, history, finding))
            .count(),
        "objects" => history.objects.values().filter(|each| about(each)).count(),
        _ => panic!("no example uses {subcommand}"),
    }
}

#[test]
fn every_example_on_the_page_finds_something() {
    let page = std::fs::read_to_string(root().join("docs/filter.md")).expect("the page is there");
    let mut stories = BTreeMap::new();
    let mut examples = 0;
    let mut wrong = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("netreel ")) {
        let (command, filter) = line.split_once(" --filter ").expect(line);
        let words: Vec<&str> = command.split(' ').collect();
        let [_, subcommand, folder] = words.as_slice() else {
            panic!("{line}")
        };
        let quote = filter.chars().next().expect(line);
        let filter = filter
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        let story = stories
            .entry((*folder).to_owned())
            .or_insert_with(|| story(folder));
        if let Some(asked) = Query::asked(filter.expect(line), &story.0, &[]) {
            assert!(asked.starts_with("here may stand "), "{line}: {asked}");
            continue;
        }
        let query = Query::parse(filter.expect(line)).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert_eq!(query.unknown_names(&story.0), [""; 0], "{line}");
        let all = shown(subcommand, &Query::parse("").unwrap(), story);
        let some = shown(subcommand, &query, story);
        // The samples have few findings and objects; packets are left out by every example.
        let selects = some < all || *subcommand != "packets";
        if some == 0 || !selects {
            wrong.push(format!("{line}: {some} of {all}"));
        }
        examples += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(examples > 15, "{examples}");
}

#[test]
fn a_filter_that_ends_in_a_question_mark_is_told_what_may_stand_there() {
    let (session, _) = story("samples/sessions/host");
    let check = |filter: &str, expected: Option<&str>| {
        let asked = Query::asked(filter, &session, &["late-create"]);
        let expected = expected.map(|it| format!("here may stand {it}"));
        assert_eq!(asked, expected, "{filter}");
    };
    check("level == ?", Some("error, info, warning"));
    check("to == ?", Some("A, B, HOST, X"));
    check("lost && from == A || link == B->?", Some("A, B, HOST, X"));
    check("kind == c?", Some("confirm, connect, create"));
    check("rule == la?", Some("late-create"));
    check(
        "lost && un?",
        Some("undecodable, unknown, unread, unreliable"),
    );
    check("(rec?", Some("received"));
    check("object ?", Some("!=, &&, <, <=, ==, >, >=, ||"));
    check("kind ?", Some("!=, &&, ==, ||"));
    check("object == 42 ?", Some("&&, ||"));
    check("lost ?", Some("&&, ||"));
    check("create.colo?", Some("create.color"));
    check("late > ?", Some("100ms, 1s, 50us, 80ns"));
    // What is no question is none.
    check("kind == create", None);
    check("from == \"the ?", None);
    let nothing = Query::asked("object == ?", &session, &[]);
    assert_eq!(
        nothing.as_deref(),
        Some("nothing that can be listed may stand here")
    );
}

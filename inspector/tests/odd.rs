//! Sessions that are not as one expects: each pane says something sensible of each.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;
mod sheet;

use std::path::Path;

use drive::Window;
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::ways::{self, Passed, recorded, seen};
use netreel_inspector::{Pane, Workspace};
use netreel_inspector_model::Model;
use netreel_protocol::session::{Node, SessionTime};
use sheet::Sheet;

const YEAR: i64 = 365 * 86_400_000_000_000;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|node| format!("n{node}")).collect()
}

fn of(nodes: Vec<Node>) -> Model {
    ways::model(ways::talk(nodes))
}

fn two(one: Node, other: Node) -> Model {
    of(vec![one, other])
}

/// The other's reel ends in the middle.
fn cut() -> Model {
    let cut = Node {
        complete: false,
        span: SessionTime(0)..SessionTime(20_000_000),
        ..recorded("B")
    };
    two(recorded("A"), cut)
}

/// Two packets, and two more after 23 years.
fn years() -> Model {
    let passed = |at: i64, from: u16, to: u16| Passed {
        at,
        from,
        to,
        arrives: true,
        cut: None,
    };
    let packets = [
        passed(1_000_000, 0, 1),
        passed(2_000_000, 1, 0),
        passed(23 * YEAR, 0, 1),
        passed(23 * YEAR + 1_000_000, 1, 0),
    ];
    let nodes = ["A", "B"].map(|name| Node {
        span: SessionTime(0)..SessionTime(23 * YEAR + 2_000_000),
        ..recorded(name)
    });
    ways::model(ways::exchange(nodes.into(), &packets))
}

fn many(count: usize, node: fn(&str) -> Node) -> Model {
    of(names(count).iter().map(|name| node(name)).collect())
}

/// A session's name, and how it is made.
type Odd = (&'static str, fn() -> Model);

/// All of them.
const SESSIONS: [Odd; 9] = [
    ("empty", || {
        Model::new(Default::default(), Default::default())
    }),
    ("one reel", || of(vec![recorded("A")])),
    ("one reel of two nodes", || two(recorded("A"), seen("B"))),
    ("unknown protocol", || two(recorded("A"), recorded("B"))),
    ("cut", cut),
    ("sixteen nodes", || many(16, recorded)),
    ("200 nodes of a capture", || many(200, seen)),
    ("23 years", years),
    ("10 000 objects", || fixture::many_objects(10_000)),
];

#[test]
fn every_workspace_of_every_odd_session_looks_as_it_did() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd.png");
    let mut sheet = Sheet::open(&kept, SESSIONS.len());
    for (column, (name, model)) in SESSIONS.into_iter().enumerate() {
        for (row, (workspace_name, workspace)) in Workspace::ALL.into_iter().enumerate() {
            let other = (workspace == Workspace::Compare).then(model);
            let mut inspector = sheet::inspector(model(), other, workspace, "dark");
            let name = format!("odd-{}-{workspace_name}", name.replace(' ', "-"));
            sheet.check(&mut inspector, (1600, 1000), (row, column), &name);
        }
    }
    sheet.finish();
}

fn said(window: &Window) -> Vec<String> {
    let all = window.query_all_by(|_| true);
    let labels = all.flat_map(|node| {
        let node = node.accesskit_node();
        [node.label(), node.value()]
    });
    labels.flatten().filter(|it| !it.is_empty()).collect()
}

/// What panes say of a session without packets.
const NO_PACKETS: [(Pane, &str); 7] = [
    (Pane::Packets, "The session has no packets."),
    (Pane::Fields, "The session has no packets."),
    (Pane::Bytes, "The session has no packets."),
    (Pane::Findings, "the reels hold no packets"),
    (Pane::Links, "Nobody sent anything that is shown."),
    (Pane::Link, "The session has no packets, so no links."),
    (Pane::Ledger, "No bytes: nothing was sent"),
];
/// What they say of one with packets of which nobody knows what they mean.
const PACKETS: [(Pane, &str); 6] = [
    (Pane::Fields, "Select a packet on the timeline"),
    (Pane::Bytes, "Select a packet to see its bytes."),
    (Pane::Findings, "no reel holds a wire"),
    (Pane::Links, " → "),
    (Pane::Link, "over time"),
    (Pane::Ledger, "not decoded: "),
];
const NO_WIRE: [(Pane, &str); 5] = [
    (Pane::Objects, "no wire says what packets are about"),
    (Pane::Values, "No values: no wire says what"),
    (Pane::Map, "Where objects are: no wire says what"),
    (Pane::Course, "Values over time: no wire says what"),
    (
        Pane::Notes,
        "Nothing is marked, and no node wrote anything.",
    ),
];
/// What they say while nobody has asked for another session or a replay.
const NOT_ASKED: [(Pane, &str); 4] = [
    (Pane::Other, "Open another session below"),
    (Pane::Differences, "compare with"),
    (Pane::Layer, "The state of the layer stands here"),
    (Pane::Parting, "Where the layer does something else"),
];
const MANY_OBJECTS: [(Pane, &str); 9] = [
    (Pane::Fields, "Select a packet on the timeline"),
    (Pane::Bytes, "Select a packet to see its bytes."),
    (Pane::Findings, "No rule found anything wrong or odd."),
    (Pane::Links, "HOST → A"),
    (Pane::Link, "over time"),
    (Pane::Ledger, "create: "),
    (Pane::Map, "5 000 objects"),
    (Pane::Course, "over time"),
    (Pane::Notes, "created box 42, told A"),
];
const PLAYS: (Pane, &str) = (Pane::Replay, "Play the recording of a node");
const PLAYS_NOT: (Pane, &str) = (
    Pane::Replay,
    "no node was recorded, and what an observer saw",
);

/// What each pane says of a session.
fn sentences(name: &str) -> Vec<(Pane, &'static str)> {
    let nobody = [(Pane::Timeline, "Nobody took part"), PLAYS_NOT];
    let own: Vec<&[(Pane, &'static str)]> = match name {
        "empty" => vec![&NO_PACKETS, &NO_WIRE, &nobody],
        "one reel" => vec![&NO_PACKETS, &NO_WIRE, &[PLAYS]],
        "200 nodes of a capture" => vec![&PACKETS, &NO_WIRE, &[PLAYS_NOT]],
        "10 000 objects" => vec![&MANY_OBJECTS, &[PLAYS]],
        _ => vec![&PACKETS, &NO_WIRE, &[PLAYS]],
    };
    let all = own.into_iter().chain([&NOT_ASKED[..]]);
    all.flatten().copied().collect()
}

#[test]
fn every_pane_says_of_every_odd_session_what_there_is_and_what_not() {
    let mut wrong = Vec::new();
    for (name, model) in SESSIONS {
        let mut window = drive::open(model(), Workspace::Why);
        for (pane, sentence) in sentences(name) {
            window.state_mut().show_alone(Some(pane));
            window.run();
            let said = said(&window);
            if !said.iter().any(|it| it.contains(sentence)) {
                wrong.push(format!("{name}: {pane:?}: {sentence:?} is not in {said:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn check(model: Model, workspace: Workspace, pane: Pane, sentence: &str) {
    let mut window = drive::open(model, workspace);
    window.state_mut().show_alone(Some(pane));
    window.run();
    let said = said(&window);
    let is_said = said.iter().any(|it| it.contains(sentence));
    assert!(is_said, "{sentence:?} is not among {said:?}");
}

#[test]
fn what_cannot_be_shown_is_said_with_its_reason() {
    let unknown = || of(vec![recorded("A"), recorded("B")]);
    let seen = || of(vec![seen("A"), seen("B")]);
    let check = |model: Model, pane, sentence: &str| check(model, Workspace::Why, pane, sentence);
    check(
        unknown(),
        Pane::Objects,
        "no wire says what packets are about",
    );
    check(unknown(), Pane::Values, "No values: ");
    check(
        unknown(),
        Pane::Findings,
        "No rule found anything wrong or odd.",
    );
    check(seen(), Pane::Replay, "no node was recorded");
    check(
        Model::new(Default::default(), Default::default()),
        Pane::Link,
        "no links",
    );
    check(fixture::many_objects(100), Pane::Findings, "No rule found");
}

#[test]
fn ten_thousand_objects_have_rows_and_marks_of_those_in_view_alone() {
    let model = fixture::many_objects(10_000);
    assert_eq!(model.object_count(), 10_000);
    for (pane, most) in [
        (Pane::Objects, 200),
        (Pane::Values, 400),
        (Pane::Map, 2_500),
    ] {
        let model = fixture::many_objects(10_000);
        let mut window = drive::open(model, Workspace::State);
        window.state_mut().show_alone(Some(pane));
        window.run();
        let count = said(&window).len();
        assert!(count < most, "{pane:?}: {count} controls");
    }
}

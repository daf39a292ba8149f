//! Sessions that are not as one expects: each pane says something sensible of each.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui_kittest::kittest::{NodeT, Queryable};
use fixture::ways::{self, Passed, recorded, seen};
use netreel_inspector::{Pane, Workspace};
use netreel_inspector_model::Model;
use netreel_protocol::session::{Node, SessionTime};

const YEAR: i64 = 365 * 86_400_000_000_000;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|node| format!("n{node}")).collect()
}

fn of(nodes: Vec<Node>) -> Model {
    ways::model(ways::talk(nodes))
}

/// All of them, with their names.
fn sessions() -> Vec<(&'static str, Model)> {
    let sixteen = names(16);
    let many = names(200);
    let cut = Node {
        complete: false,
        span: SessionTime(0)..SessionTime(20_000_000),
        ..recorded("B")
    };
    let late = |at: i64, from: u16, to: u16| Passed {
        at,
        from,
        to,
        arrives: true,
        cut: None,
    };
    let after_years = [
        late(1_000_000, 0, 1),
        late(2_000_000, 1, 0),
        late(23 * YEAR, 0, 1),
        late(23 * YEAR + 1_000_000, 1, 0),
    ];
    let years = |name| Node {
        span: SessionTime(0)..SessionTime(23 * YEAR + 2_000_000),
        ..recorded(name)
    };
    vec![
        ("empty", Model::new(Default::default(), Default::default())),
        ("one reel", of(vec![recorded("A")])),
        ("one reel of two nodes", of(vec![recorded("A"), seen("B")])),
        ("unknown protocol", of(vec![recorded("A"), recorded("B")])),
        ("cut", of(vec![recorded("A"), cut])),
        (
            "sixteen nodes",
            of(sixteen.iter().map(|name| recorded(name)).collect()),
        ),
        (
            "200 nodes of a capture",
            of(many.iter().map(|name| seen(name)).collect()),
        ),
        (
            "23 years",
            ways::model(ways::exchange(vec![years("A"), years("B")], &after_years)),
        ),
        ("10 000 objects", fixture::many_objects(10_000)),
    ]
}

fn said(window: &Window) -> Vec<String> {
    let all = window.query_all_by(|_| true);
    let labels = all.flat_map(|node| {
        let node = node.accesskit_node();
        [node.label(), node.value()]
    });
    labels.flatten().filter(|it| !it.is_empty()).collect()
}

#[test]
fn every_pane_of_every_odd_session_says_something() {
    for (name, model) in sessions() {
        let mut window = drive::open(model, Workspace::Why);
        window.state_mut().show_alone(None);
        window.run();
        for (pane_name, pane) in Pane::ALL {
            window.state_mut().show_alone(Some(pane));
            window.run();
            let said = said(&window);
            let head = said.iter().position(|it| it.starts_with("pane "));
            let head = head.unwrap_or_else(|| panic!("{name}: {pane_name} has no head: {said:?}"));
            // Behind the head: its menu, and what the pane has. The lines around panes come before.
            let own = &said[head + 1..];
            let says = own.iter().any(|it| !it.starts_with("menu of "));
            assert!(says, "{name}: {pane_name} says nothing: {said:?}");
        }
    }
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

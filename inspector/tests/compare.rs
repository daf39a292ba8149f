//! The workspace that holds another session against this one.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use egui::accesskit::Role;
use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use netreel_inspector::{Answer, Inspector, Request, Workspace, theme};
use netreel_inspector_model::{Command, Model};

fn open() -> Harness<'static, Inspector> {
    let inspector = Inspector::new(fixture::race_model(), Workspace::Compare);
    let mut harness = Harness::builder()
        .with_size(vec2(1600.0, 1000.0))
        .with_max_steps(16)
        .with_context_setup(theme::apply)
        .build_ui_state(
            |ui, inspector: &mut Inspector| inspector.show(ui),
            inspector,
        );
    harness.run();
    harness
}

fn hear(harness: &mut Harness<'_, Inspector>, model: Model) {
    let answer = Answer::Compared {
        model: Box::new(model),
        title: "the other".to_owned(),
    };
    harness.state_mut().hear(answer);
    harness.run();
}

fn rows(harness: &Harness<'_, Inspector>, begin: &str) -> Vec<String> {
    let buttons = harness.query_all_by_role(Role::Button);
    let labels = buttons.filter_map(|node| node.accesskit_node().label());
    labels.filter(|label| label.starts_with(begin)).collect()
}

fn other() -> Model {
    let (session, history) = fixture::long(2_000);
    Model::new(session, history)
}

#[test]
fn a_session_is_the_same_as_itself() {
    let compared = fixture::race_model().compared(&fixture::race_model());
    let compared = compared.expect("a comparison");
    assert_eq!((compared.first.clone(), compared.offset_ns), (None, 0));
    assert!(compared.objects.is_empty());
    let is_both = |at: [Option<usize>; 2]| at[0] == at[1] && at[0].is_some();
    assert!(compared.findings.iter().all(|it| is_both(it.at)));
}

#[test]
fn the_first_packets_that_differ_lie_above_each_other() {
    let (one, two) = (fixture::race_model(), other());
    let compared = one.compared(&two).expect("a comparison");
    let first = compared.first.clone().expect("a difference");
    let [here, there] = first.time.map(|time| time.expect("a time"));
    assert_eq!(here.0 - there.0, compared.offset_ns);
    // No packet before it differs on any link.
    for link in compared.links.iter().filter(|link| !link.is_same()) {
        assert!(link.time[0].or(link.time[1]) >= Some(here), "{link:?}");
    }
    // All that was found here is found only here.
    let only = compared.findings.iter().filter(|it| it.at[1].is_none());
    assert!(only.count() > 0);
}

#[test]
fn a_click_on_the_first_difference_goes_there() {
    let mut harness = open();
    hear(&mut harness, other());
    assert!(harness.query_by_label("pane the other").is_some());
    let first = rows(&harness, "first: ");
    assert_eq!(first.len(), 1, "{first:?}");
    harness.get_by_label(&first[0]).click();
    harness.run();
    let model = harness.state().model();
    let compared = model.compared(&other()).expect("a comparison");
    let first = compared.first.clone().expect("a difference");
    assert_eq!(model.selection().packet, first.at[0]);
    assert_eq!(model.cursor(), first.time[0]);
    assert!(!rows(&harness, "only here: ").is_empty());
}

#[test]
fn moving_through_time_moves_both() {
    let mut harness = open();
    hear(&mut harness, other());
    let range = fixture::ms(300..500);
    let model = harness.state_mut().model_mut();
    model.apply(Command::Show(range.clone()));
    harness.run();
    let lanes = harness.get_by_label("the other").rect();
    let at = egui::pos2(lanes.center().x, lanes.top() + 24.0);
    harness.drag_at(at);
    harness.run();
    harness.hover_at(at + vec2(120.0, 0.0));
    harness.run();
    harness.drop_at(at + vec2(120.0, 0.0));
    harness.run();
    let visible = harness.state().model().visible();
    assert!(visible.start < range.start, "{visible:?}");
}

#[test]
fn another_session_is_asked_for_and_a_failure_is_said() {
    let mut harness = open();
    drop(harness.state_mut().take_requests());
    harness.get_by_label("play on").click();
    harness.run();
    let asked = harness.state_mut().take_requests();
    assert_eq!(asked, [Request::PlayOn(String::new())]);
    let why = Answer::NotCompared("no node can be played on".to_owned());
    harness.state_mut().hear(why);
    harness.run();
    harness.get_by_label("play on").click();
    harness.run();
    assert_eq!(harness.state_mut().take_requests().len(), 1);
}

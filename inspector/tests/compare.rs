//! The workspace that holds another session against this one.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use drive::Window;
use egui::accesskit::Role;
use egui::vec2;
use egui_kittest::kittest::Queryable;
use fixture::ways;
use netreel_inspector::{Answer, Request, Workspace};
use netreel_inspector_model::{Command, Model};
use netreel_protocol::diff::{ComparedSession, Diff};
use netreel_protocol::export;

fn open() -> Window {
    drive::open(fixture::race_model(), Workspace::Compare)
}

fn hear(harness: &mut Window, model: Model) {
    let answer = Answer::Compared {
        model: Box::new(model),
        title: "the other".to_owned(),
    };
    harness.state_mut().hear(answer);
    harness.run();
}

fn rows(harness: &Window, begin: &str) -> Vec<String> {
    let labels = drive::buttons(harness).into_iter();
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
    assert_eq!(
        (&compared.bytes.first, compared.bytes.offset_ns),
        (&None, 0)
    );
    assert_eq!(compared.rows, []);
    assert!(
        compared.summary.starts_with("none: "),
        "{}",
        compared.summary
    );
}

#[test]
fn messages_that_came_the_other_way_round_are_told_first_and_lead_to_both() {
    let (one, two) = (fixture::race_model(), fixture::race_in_time());
    let compared = one.compared(&two).expect("a comparison");
    let swapped = compared.rows.iter().filter(|it| it.mark == "swapped");
    let words: Vec<&str> = swapped.map(|it| it.words.as_str()).collect();
    let swap =
        "at X, destroy of B comes before create of A here, and behind it there, of object 42";
    assert!(words.contains(&swap), "{words:?}");
    assert_eq!(compared.rows[0].mark, "swapped");
    let both = &compared.rows[0].shown_by;
    assert!(
        both.iter()
            .all(|it| matches!(it, Some(Command::SelectPacket(_)))),
        "{both:?}"
    );
}

#[test]
fn what_came_the_other_way_round_is_lit_in_both_as_soon_as_it_is_known() {
    let mut window = open();
    hear(&mut window, fixture::race_in_time());
    let models = window.state_mut().models_mut();
    let lit: Vec<Command> = models
        .filter_map(|it| Some(Command::SelectPacket(it.selection().packet?)))
        .collect();
    let (one, two) = (fixture::race_model(), fixture::race_in_time());
    let compared = one.compared(&two).expect("a comparison");
    let told: Vec<Command> = compared.rows[0]
        .shown_by
        .iter()
        .flatten()
        .cloned()
        .collect();
    assert_eq!((lit.len(), lit), (2, told));
}

#[test]
fn the_first_packets_that_differ_lie_above_each_other() {
    let (one, two) = (fixture::race_model(), other());
    let compared = one.compared(&two).expect("a comparison");
    let bytes = &compared.bytes;
    let first = bytes.first.clone().expect("a difference");
    let [here, there] = first.time.map(|time| time.expect("a time"));
    assert_eq!(here.0 - there.0, bytes.offset_ns);
    // What is said otherwise first lies above each other, where it is in both.
    let [
        Some(Command::SelectPacket(here_first)),
        Some(Command::SelectPacket(there_first)),
    ] = &compared.rows[0].shown_by
    else {
        assert_eq!(compared.offset_ns, bytes.offset_ns);
        return;
    };
    let time = |model: &Model, id| {
        model
            .packet(id)
            .and_then(|it| it.first())
            .map(|it| it.time.0)
    };
    let apart = time(&one, *here_first).zip(time(&two, *there_first));
    assert_eq!(
        apart.map(|(here, there)| here - there),
        Some(compared.offset_ns)
    );
    // No packet before it differs on any link.
    for link in bytes.links.iter().filter(|link| !link.is_same()) {
        assert!(link.time[0].or(link.time[1]) >= Some(here), "{link:?}");
    }
}

#[test]
fn the_window_says_what_netreel_diff_says() {
    let (one, two) = (fixture::race_model(), other());
    let compared = one.compared(&two).expect("a comparison");
    let sides = [&one, &two].map(|model| ComparedSession {
        session: model.session(),
        history: model.history(),
    });
    let told = export::diff(sides, &Diff::new(sides).expect("two sessions of one wire"));
    let count = |mark: &str| compared.rows.iter().filter(|it| it.mark == mark).count();
    let (only, findings) = (&told.only, &told.findings_only);
    assert_eq!(count("only here"), only.first.len() + findings.first.len());
    assert_eq!(
        count("only there"),
        only.second.len() + findings.second.len()
    );
    assert_eq!(count("taken"), told.differently.len());
    assert_eq!(count("believed"), told.believed.len());
    assert_eq!(count("value"), told.valued.len());
    assert_eq!(count("fields"), told.changed_alike().len());
    let first = told.first.clone().expect("they part");
    assert_eq!(
        (compared.rows[0].mark, &compared.rows[0].words),
        ("first", &first.words)
    );
    let says = |words: String| compared.rows.iter().any(|row| row.words == words);
    assert!(told.believed.iter().all(|it| says(it.words())));
    assert!(findings.first.iter().all(|it| says(it.sentence.clone())));
}

#[test]
fn sessions_without_a_wire_part_by_bytes_alone_and_the_window_says_why() {
    let talk = || ways::model(ways::talk(vec![ways::recorded("A"), ways::recorded("B")]));
    let (one, two) = (talk(), talk());
    let compared = one.compared(&two).expect("a comparison");
    assert_eq!(compared.rows, []);
    assert!(
        compared.summary.contains("--wire FILE"),
        "{}",
        compared.summary
    );
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
    let first = &compared.rows[0];
    // The other session alone has it: here is shown when it would be.
    assert!(first.shown_by[1].is_some());
    assert_eq!(model.cursor(), first.time);
    let at = first.time.expect("a time");
    assert!(model.visible().contains(&at));
    assert!(!rows(&harness, "only here: ").is_empty());
    assert!(compared.bytes.first.is_some());
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

#[test]
fn enter_plays_on_with_what_was_typed() {
    let mut harness = open();
    drop(harness.state_mut().take_requests());
    let field = harness.get_by_role_and_label(Role::TextInput, "or play on with");
    field.focus();
    field.type_text("--set mode=owner");
    harness.run();
    harness.key_press(egui::Key::Enter);
    harness.run();
    let asked = harness.state_mut().take_requests();
    assert_eq!(asked, [Request::PlayOn("--set mode=owner".to_owned())]);
}

#[test]
fn what_is_selected_in_the_session_below_is_shown_where_one_packet_is() {
    let mut harness = open();
    hear(&mut harness, other());
    let shows_other = |harness: &Window| harness.query_by_label("of the other").is_some();
    let click = |harness: &mut Window, begin: &str| {
        let row = rows(harness, begin).into_iter().next();
        harness.get_by_label(&row.expect("a difference")).click();
        harness.run();
    };
    let here = harness.state().model().selection();
    assert!(!shows_other(&harness));
    click(&mut harness, "only there: ");
    assert!(shows_other(&harness));
    // The keys go on from there.
    harness.key_press(egui::Key::J);
    harness.run();
    assert!(shows_other(&harness));
    assert_eq!(harness.state().model().selection(), here);
    click(&mut harness, "only here: ");
    assert!(!shows_other(&harness));
}

#[test]
fn what_takes_long_is_given_up_and_gone_on_with() {
    let mut harness = open();
    // A click asks for a session that never comes.
    harness.get_by_label("play on").click();
    harness.run();
    let asked = harness.state_mut().take_requests();
    assert!(asked.contains(&Request::PlayOn(String::new())), "{asked:?}");
    harness.get_by_label("give up").click();
    harness.run();
    let asked = harness.state_mut().take_requests();
    assert!(asked.contains(&Request::CancelCompare), "{asked:?}");
    assert!(harness.query_by_label("give up").is_none());
}

#[test]
fn a_history_that_takes_long_is_given_up_by_a_click() {
    let session = std::sync::Arc::new(fixture::fresh(100_004));
    let mut harness = drive::open(Model::open(session, &[]), Workspace::Why);
    // Nobody waits for the thread: whatever it has done, it is given up.
    drive::apply(&mut harness, Command::GiveUp);
    let why = harness.state().model().why_not_yet();
    assert!(why.is_none_or(|why| why.starts_with("given up")), "{why:?}");
    if why.is_some() {
        harness.get_by_label("go on").click();
        harness.step();
        assert_eq!(harness.state().model().given_up(), None);
    }
}

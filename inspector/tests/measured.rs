//! A stretch of time that a hand has measured.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::Path;

use drive::{Window, apply, open};
use egui::{Event, Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Inspector, Workspace, draw};
use netreel_inspector_model::Command;

/// A window in which somebody drags over 300 points of the timeline with Shift.
fn measured() -> Window {
    let mut window = open(fixture::race_model(), Workspace::Why);
    apply(&mut window, Command::ShowAll);
    let from = window.get_by_label("timeline").rect().center() - vec2(200.0, 0.0);
    let to = from + vec2(300.0, 0.0);
    window.event(Event::ModifiersChanged(Modifiers::SHIFT));
    window.hover_at(from);
    window.run();
    window.drag_at(from);
    window.run();
    window.hover_at(to);
    window.run();
    window.drop_at(to);
    window.run();
    window.event(Event::ModifiersChanged(Modifiers::NONE));
    window.run();
    window
}

fn said(window: &Window) -> Option<String> {
    let model = window.state().model();
    Some(format!("measured {}", model.measured_text()?))
}

#[test]
fn a_drag_with_shift_stays_and_says_what_was_sent_in_every_workspace() {
    let mut window = measured();
    let words = said(&window).expect("it is measured");
    assert!(words.contains(" packets · "), "{words}");
    for key in [Key::Num1, Key::Num2, Key::Num3, Key::Num4] {
        window.key_press(key);
        window.run();
        window.get_by_label(&words);
    }
}

#[test]
fn escape_and_the_cross_take_it_away() {
    let mut window = measured();
    window.key_press(Key::Escape);
    window.run();
    assert_eq!(said(&window), None);
    let mut window = measured();
    window.get_by_label("take the measured time away").click();
    window.run();
    assert_eq!(said(&window), None);
}

#[test]
fn a_click_on_its_words_shows_it_alone() {
    let mut window = measured();
    let words = said(&window).expect("it is measured");
    let time = window
        .state()
        .model()
        .measured_time()
        .expect("it is measured");
    window.get_by_label(&words).click();
    window.run();
    let visible = window.state().model().visible();
    assert!(
        visible.start.0.abs_diff(time.start.0) < 2,
        "{visible:?}, {time:?}"
    );
    assert!(
        visible.end.0.abs_diff(time.end.0) < 2,
        "{visible:?}, {time:?}"
    );
}

#[test]
fn a_key_measures_what_is_visible_and_takes_it_away() {
    let mut window = open(fixture::race_model(), Workspace::Why);
    window.key_press(Key::R);
    window.run();
    let model = window.state().model();
    assert_eq!(model.measured_time(), Some(model.visible()));
    window.key_press(Key::R);
    window.run();
    assert_eq!(said(&window), None);
}

#[test]
fn a_measured_time_is_drawn_in_every_view_of_time() {
    for (name, workspace, size) in [
        ("why-small", Workspace::Why, (1000, 640)),
        ("why", Workspace::Why, (1600, 1000)),
        ("links", Workspace::Links, (1600, 1000)),
        ("state", Workspace::State, (1600, 1000)),
    ] {
        let mut model = fixture::race_model();
        model.apply(Command::ShowAll);
        model.apply(Command::Measure(Some(fixture::ms(155..1_017))));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("measured-{name}.png"));
        let mut inspector = Inspector::new(model, workspace);
        draw(&mut inspector, size, &path).expect("a picture");
        assert!(path.metadata().expect("a file").len() > 10_000);
    }
}

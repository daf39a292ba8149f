//! Any field of the wire over time, as a hand asks for it.

mod drive;
#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use std::path::Path;

use drive::{Window, apply, open};
use egui::epaint::Primitive;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use netreel_inspector::{Inspector, Request, Settings, Stage, Workspace, draw};
use netreel_inspector_model::{Command, Model, PlotBy, Plotted};
use netreel_protocol::session::PacketId;
use netreel_wire::KindId;

/// A packet that updates an object.
fn update(model: &Model) -> PacketId {
    let mut messages = model.session().messages();
    let update = messages.find(|message| message.kind() == Some(KindId(fixture::UPDATE)));
    update.expect("an update").packet
}

fn window(workspace: Workspace) -> Window {
    let mut window = open(fixture::race_model(), workspace);
    let packet = update(window.state().model());
    apply(&mut window, Command::SelectPacket(packet));
    window
}

fn plotted(window: &Window) -> Option<(&str, PlotBy)> {
    let plotted = window.state().model().plotted()?;
    Some((&plotted.path, plotted.by))
}

#[test]
fn the_menu_of_a_field_draws_it_below_the_panes_that_are_there() {
    let mut window = window(Workspace::Packets);
    let field = "field messages[0].update.object";
    window.get_by_label(field).click_secondary();
    window.run();
    window.get_by_label("draw it over time").click();
    window.run();
    let path = "messages.update.object";
    assert_eq!(plotted(&window), Some((path, PlotBy::Object)));
    window.get_by_label(&format!("pane {path} over time"));
    window.get_by_label("by link").click();
    window.run();
    assert_eq!(plotted(&window), Some((path, PlotBy::Link)));
    window.get_by_label("no longer").click();
    window.run();
    assert_eq!(plotted(&window), None);
}

#[test]
fn it_is_drawn_without_a_mouse() {
    let mut window = window(Workspace::Why);
    window.key_press_modifiers(Modifiers::COMMAND, Key::P);
    window.run();
    window
        .get_by_label("Do or go")
        .type_text("over time: sequence");
    window.run();
    window.key_press(Key::Enter);
    window.run();
    assert_eq!(plotted(&window), Some(("sequence", PlotBy::Link)));
    window.get_by_label("pane sequence over time");
}

#[test]
fn fields_over_time_are_drawn_in_every_size() {
    for (name, path, by, size) in [
        (
            "object-small",
            "messages.update.player.position.x",
            PlotBy::Object,
            (1000, 640),
        ),
        (
            "object",
            "messages.update.player.position.x",
            PlotBy::Object,
            (1600, 1000),
        ),
        ("link", "sequence", PlotBy::Link, (1600, 1000)),
        ("words", "messages.kind", PlotBy::Link, (1600, 1000)),
    ] {
        let mut model = fixture::race_model();
        model.apply(Command::ShowAll);
        model.apply(Command::Plot(Some(Plotted {
            path: path.to_owned(),
            by,
        })));
        let file = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = file.join(format!("plotted-{name}.png"));
        let mut inspector = Inspector::new(model, Workspace::State);
        draw(&mut inspector, size, &file).expect("a picture");
        assert!(file.metadata().expect("a file").len() > 10_000);
    }
}

#[test]
fn a_field_of_many_packets_costs_no_more_than_a_frame_has_and_then_nothing() {
    let (session, history) = fixture::long(60_000);
    let mut model = Model::new(session, history);
    model.finish();
    model.apply(Command::ShowAll);
    model.apply(Command::Plot(Some(Plotted {
        path: "sequence".to_owned(),
        by: PlotBy::Link,
    })));
    let mut inspector = Inspector::new(model, Workspace::State);
    let mut stage = Stage::new(1600, 1000);
    let mut frame = || {
        let mut staged = stage.frame(Vec::new(), &mut |ui| inspector.show(ui));
        staged.textures.clear();
        inspector.model_mut().finish_beside();
        staged
    };
    for _ in 0..6 {
        frame();
    }
    let staged = frame();
    assert_eq!(staged.again, None);
    let meshes = staged.primitives.iter().map(|it| match &it.primitive {
        Primitive::Mesh(mesh) => mesh.vertices.len(),
        Primitive::Callback(_) => 0,
    });
    let corners: usize = meshes.sum();
    assert!(corners < 160_000, "{corners} corners");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plotted-many.png");
    draw(&mut inspector, (1600, 1000), &path).expect("a picture");
}

#[test]
fn another_window_draws_the_same_field_and_a_session_without_it_none() {
    let mut window = window(Workspace::Packets);
    let path = "messages.update.object".to_owned();
    let by = PlotBy::Link;
    let plot = Plotted { path, by };
    apply(&mut window, Command::Plot(Some(plot.clone())));
    let asked = window.state_mut().take_requests().into_iter();
    let kept = asked.filter_map(|it| match it {
        Request::Keep(settings) => Some(settings.to_json()),
        _ => None,
    });
    let kept = Settings::from_json(&kept.last().expect("it is kept")).expect("settings");
    for (model, expected) in [
        (fixture::race_model(), Some(&plot)),
        (Model::of_session(Default::default(), &[]), None),
    ] {
        let mut again = Inspector::new(model, Workspace::Packets);
        again.set_settings(kept.clone());
        assert_eq!(again.model().plotted(), expected);
    }
}

//! The bar at the top: what is open, the filter, the zoom.

use egui::{Align, Button, Color32, Label, Layout, RichText, TextEdit, Ui, vec2};
use netreel_inspector_model::{Command, Model, text};
use netreel_protocol::session::SessionTime;

use crate::theme;

/// Longer lists of names leave no room for the filter.
const WHO_MAX: usize = 48;
/// Room for the filter with its label.
const FILTER: f32 = 330.0;
/// Room for what changes the visible time.
const ZOOM: f32 = 290.0;

/// Draws the bar. `filter` is the text as it is being typed.
pub fn show(ui: &mut Ui, model: &Model, filter: &mut String, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.set_min_height(24.0);
        ui.label(
            RichText::new("netreel")
                .strong()
                .size(15.0)
                .color(theme::ink()),
        );
        ui.add_space(6.0);
        let room = ui.available_width() - FILTER - ZOOM;
        fitted(ui, room, |ui| session(ui, model));
        ui.add_space(16.0);
        filter_box(ui, model, filter, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            zoom(ui, model, commands);
        });
    });
}

fn session(ui: &mut Ui, model: &Model) {
    let wire = model.session().wire.as_ref().map_or_else(
        || "no wire: packets are bytes".to_owned(),
        |wire| format!("wire {}", wire.name()),
    );
    let span = model.span();
    let length = text::duration(span.end.0 - span.start.0);
    let lanes = model.lanes().iter();
    let names: Vec<&str> = lanes.map(|&node| model.node_name(node)).collect();
    let who = names.join(" ");
    let who = if names.len() <= 6 && who.len() <= WHO_MAX {
        who
    } else {
        format!("{} nodes", names.len())
    };
    let text = RichText::new(format!("{who}  ·  {length}  ·  {wire}"));
    let text = text.font(theme::mono()).color(theme::WEAK);
    ui.add(Label::new(text).truncate())
        .on_hover_text(names.join("\n"));
}

/// Something that takes no more than so much room.
fn fitted(ui: &mut Ui, room: f32, show: impl FnOnce(&mut Ui)) {
    ui.scope(|ui| {
        ui.set_max_width(room.max(40.0));
        show(ui);
    });
}

fn filter_box(ui: &mut Ui, model: &Model, filter: &mut String, commands: &mut Vec<Command>) {
    let error = model.filter().error.as_deref();
    let label = ui.label(RichText::new("filter").color(theme::WEAK));
    let edit = TextEdit::singleline(filter)
        .id_salt("filter")
        .font(theme::mono())
        .hint_text(RichText::new("for example: object == 42 && lost").color(theme::DIM))
        .text_color(if error.is_some() {
            theme::ERROR
        } else {
            theme::TEXT
        })
        .desired_width((ui.available_width() - ZOOM - 100.0).clamp(180.0, 320.0));
    let response = ui.add(edit).labelled_by(label.id);
    if response.changed() {
        commands.push(Command::SetFilter(filter.clone()));
    }
    if let Some(error) = error {
        let first = error.lines().next().unwrap_or_default();
        let room = ui.available_width() - ZOOM;
        let first = RichText::new(first).font(theme::mono()).color(theme::ERROR);
        fitted(ui, room, |ui| {
            ui.add(Label::new(first).truncate())
                .on_hover_text(RichText::new(error).font(theme::mono()));
        });
    } else if model.filter().is_narrow() {
        let rows = text::count(model.row_count() as u64);
        let said = match model.filter().looked_at() {
            _ if model.filter().waits() => "waits for acks and findings".to_owned(),
            Some(0) => "none looked at yet".to_owned(),
            Some(looked_at) => format!("{rows} of so far {}", text::count(looked_at as u64)),
            None => format!("{rows} packets"),
        };
        ui.label(RichText::new(said).font(theme::mono()).color(theme::WEAK));
        if small(ui, "clear", "clear the filter") {
            filter.clear();
            commands.push(Command::SetFilter(String::new()));
        }
    }
}

fn zoom(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let visible = model.visible();
    let length = visible.end.0 - visible.start.0;
    let at = SessionTime(visible.start.0 + length / 2);
    if small(ui, "all", "show the whole session (A)") {
        commands.push(Command::ShowAll);
    }
    if small(ui, "frame", "bring the selection into view (F)") {
        commands.push(Command::FrameSelection);
    }
    if small(ui, "+", "show less time (+)") {
        commands.push(Command::Zoom { at, factor: 1.5 });
    }
    if small(ui, "−", "show more time (-)") {
        commands.push(Command::Zoom {
            at,
            factor: 1.0 / 1.5,
        });
    }
    ui.label(
        RichText::new(format!("{} in view", text::duration(length)))
            .font(theme::mono())
            .color(theme::WEAK),
    );
}

fn small(ui: &mut Ui, name: &str, what: &str) -> bool {
    let text = RichText::new(name).font(theme::mono()).color(theme::TEXT);
    ui.add(
        Button::new(text)
            .min_size(vec2(24.0, 20.0))
            .fill(Color32::TRANSPARENT),
    )
    .on_hover_text(what)
    .clicked()
}

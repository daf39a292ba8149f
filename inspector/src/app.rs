//! The whole window: which view lies where, and the keys.

use std::time::Duration;

use egui::{Align, CentralPanel, Frame, Key, Layout, Margin, Panel, Stroke, Ui, UiBuilder};
use netreel_inspector_model::{Command, Model, Step};
use netreel_protocol::session::SessionTime;

use crate::theme;
use crate::views::{
    bytes, fields, findings, legend, minimap, objects, packets, status, timeline, top,
};

/// How soon there is a next frame while the filter looks at packets.
const FILTERING: Duration = Duration::from_millis(16);

/// What to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Everything, around the timeline.
    #[default]
    Timeline,
    /// The packet table, the fields and the bytes.
    Packets,
    /// Who owned what, over time.
    Objects,
    /// What went wrong, on the timeline.
    Findings,
}

impl View {
    /// All views and their names.
    pub const ALL: [(&'static str, View); 4] = [
        ("timeline", View::Timeline),
        ("packets", View::Packets),
        ("objects", View::Objects),
        ("findings", View::Findings),
    ];

    /// A view by its name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn named(name: &str) -> Result<View, String> {
        View::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, view)| *view)
            .ok_or_else(|| {
                let names = View::ALL.map(|(name, _)| name).join(", ");
                format!("there is no view {name:?}; there are {names}")
            })
    }
}

impl std::str::FromStr for View {
    type Err = String;

    fn from_str(name: &str) -> Result<View, String> {
        View::named(name)
    }
}

/// The inspector's window without its window: a model and how it is laid out.
pub struct Inspector {
    model: Model,
    view: View,
    filter: String,
}

impl Inspector {
    /// Shows a model.
    pub fn new(model: Model, view: View) -> Inspector {
        Inspector {
            filter: model.filter().text.clone(),
            model,
            view,
        }
    }

    /// What is shown.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What is shown, to be changed.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// One frame: draws, then does what was asked for.
    pub fn show(&mut self, ui: &mut Ui) {
        if self.model.advance() {
            ui.ctx().request_repaint_after(FILTERING);
        }
        let mut commands = Vec::new();
        keys(ui, &self.model, &mut commands);
        self.panels(ui, &mut commands);
        let hovers = |command: &Command| matches!(command, Command::Hover(_));
        if !commands.iter().any(hovers) {
            commands.push(Command::Hover(None));
        }
        for command in commands {
            // Drawing again what is drawn already would never end.
            let same = command == Command::Hover(self.model.hover());
            if !same {
                self.model.apply(command);
                ui.ctx().request_repaint();
            }
        }
    }

    fn panels(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let model = &self.model;
        let filter = &mut self.filter;
        Panel::top("top")
            .frame(bar())
            .show(ui, |ui| top::show(ui, model, filter, commands));
        Panel::bottom("status")
            .frame(bar())
            .show(ui, |ui| status::show(ui, model, commands));
        let height = ui.available_height();
        match self.view {
            View::Timeline => {
                Panel::bottom("details")
                    .frame(plain())
                    .resizable(true)
                    .default_size((height * 0.37).round())
                    .show(ui, |ui| details(ui, model, commands));
                // What was laid out without objects does not say how much room they need.
                let objects = match model.lacks_history() {
                    true => "objects to come",
                    false => "objects",
                };
                Panel::bottom(objects)
                    .frame(plain())
                    .resizable(true)
                    .default_size(objects_height(model, height))
                    .show(ui, |ui| objects::show(ui, model, false, commands));
                CentralPanel::default().frame(plain()).show(ui, |ui| {
                    minimap::show(ui, model, commands);
                    timeline(ui, model, commands);
                });
            }
            View::Packets => {
                CentralPanel::default().frame(plain()).show(ui, |ui| {
                    minimap::show(ui, model, commands);
                    details(ui, model, commands);
                });
            }
            View::Objects => {
                CentralPanel::default().frame(plain()).show(ui, |ui| {
                    minimap::show(ui, model, commands);
                    objects::show(ui, model, true, commands);
                });
            }
            View::Findings => {
                Panel::bottom("findings")
                    .frame(plain())
                    .resizable(true)
                    .default_size((height * 0.42).round())
                    .show(ui, |ui| findings::show(ui, model, commands));
                CentralPanel::default().frame(plain()).show(ui, |ui| {
                    minimap::show(ui, model, commands);
                    timeline(ui, model, commands);
                });
            }
        }
    }
}

/// The timeline and below it what its signs mean.
fn timeline(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    Panel::bottom("legend")
        .frame(plain())
        .exact_size(22.0)
        .show(ui, |ui| legend::show(ui, model));
    timeline::show(ui, model, commands);
}

/// The packets, and the selected one from close up, beside the findings.
fn details(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    let rect = ui.available_rect_before_wrap();
    let width = rect.width();
    // The table needs its columns; the others share the rest.
    let table = (width * 0.42)
        .max(420.0)
        .max(packets::width_min(model).min(width * 0.5))
        .min(700.0_f32.min(width * 0.6))
        .round();
    let tree = ((width - table) * 0.45).round();
    let (left, rest) = rect.split_left_right_at_x(rect.left() + table);
    let (middle, right) = rest.split_left_right_at_x(rest.left() + tree);
    let bytes_height = bytes::height(model.detail())
        .min(rect.height() * 0.5)
        .round();
    let (upper, lower) = right.split_top_bottom_at_y(right.top() + bytes_height);
    let at = |ui: &mut Ui, rect: egui::Rect, name: &str, show: &mut dyn FnMut(&mut Ui)| {
        let builder = UiBuilder::new()
            .id_salt(name)
            .max_rect(rect)
            .layout(Layout::top_down(Align::Min));
        ui.scope_builder(builder, |ui| {
            ui.set_clip_rect(rect.intersect(ui.clip_rect()));
            show(ui);
        });
    };
    at(ui, left, "packets", &mut |ui| {
        packets::show(ui, model, commands)
    });
    at(ui, middle, "fields", &mut |ui| {
        fields::show(ui, model, commands)
    });
    at(ui, upper, "bytes", &mut |ui| {
        bytes::show(ui, model, commands)
    });
    at(ui, lower, "findings", &mut |ui| {
        findings::show(ui, model, commands)
    });
    let line = Stroke::new(1.0, theme::LINE);
    let painter = ui.painter();
    painter.vline(left.right(), rect.y_range(), line);
    painter.vline(middle.right(), rect.y_range(), line);
    painter.hline(right.x_range(), upper.bottom(), line);
    ui.advance_cursor_after_rect(rect);
}

/// Room for a few rows, a fifth of the window at most.
fn objects_height(model: &Model, height: f32) -> f32 {
    let rows = model.object_rows().len() as f32;
    if rows == 0.0 {
        return objects::HEAD;
    }
    (objects::HEAD + rows * objects::ROW + 8.0)
        .min(height * 0.24)
        .max(objects::HEAD + 2.0 * objects::ROW)
        .round()
}

fn bar() -> Frame {
    Frame::NONE
        .fill(theme::HEAD)
        .inner_margin(Margin::symmetric(10, 5))
}

fn plain() -> Frame {
    Frame::NONE.fill(theme::PANEL)
}

/// What the keys do while no text is being typed.
fn keys(ui: &Ui, model: &Model, commands: &mut Vec<Command>) {
    if ui.ctx().egui_wants_keyboard_input() {
        return;
    }
    let visible = model.visible();
    let length = visible.end.0 - visible.start.0;
    let middle = SessionTime(visible.start.0 + length / 2);
    let at = model
        .cursor()
        .filter(|at| visible.contains(at))
        .unwrap_or(middle);
    ui.input(|input| {
        let plain = input.modifiers.is_none();
        let shift = input.modifiers.shift_only();
        let mut on = |key: Key, held: bool, command: Command| {
            if held && input.key_pressed(key) {
                commands.push(command);
            }
        };
        on(Key::ArrowDown, plain, Command::Step(Step::NextPacket));
        on(Key::ArrowUp, plain, Command::Step(Step::PreviousPacket));
        on(Key::ArrowRight, plain, Command::Step(Step::NextOnLink));
        on(Key::ArrowLeft, plain, Command::Step(Step::PreviousOnLink));
        on(Key::ArrowRight, shift, Command::Pan(length / 4));
        on(Key::ArrowLeft, shift, Command::Pan(-(length / 4)));
        on(Key::Home, plain, Command::Step(Step::FirstPacket));
        on(Key::End, plain, Command::Step(Step::LastPacket));
        on(Key::N, plain, Command::Step(Step::NextFinding));
        on(Key::P, plain, Command::Step(Step::PreviousFinding));
        on(Key::F, plain, Command::FrameSelection);
        on(Key::A, plain, Command::ShowAll);
        on(Key::Escape, plain, Command::Deselect);
        let zoom = |factor| Command::Zoom { at, factor };
        for (key, factor) in [
            (Key::Plus, 1.5),
            (Key::Equals, 1.5),
            (Key::Minus, 1.0 / 1.5),
        ] {
            on(key, plain || shift, zoom(factor));
        }
    });
}

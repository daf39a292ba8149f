//! The whole window: which view lies where, who has the keyboard, what is asked of whoever runs it.

use std::path::PathBuf;
use std::time::Duration;

use egui::{
    Align, CentralPanel, EventFilter, Frame, Id, Key, Layout, Margin, Panel, Rect, Stroke,
    StrokeKind, Ui, UiBuilder,
};
use netreel_inspector_model::{Command, Model};

use crate::ask::{Answer, Request};
use crate::divide::{Divider, Dividers};
use crate::keys::{self, Ask};
use crate::settings::Settings;
use crate::theme;
use crate::views::dialogs::{self, PathBox, Said, Wanted};
use crate::views::{
    bytes, fields, findings, head, legend, minimap, objects, packets, status, timeline, top,
};

/// How soon there is a next frame while the filter looks at packets.
const FILTERING: Duration = Duration::from_millis(16);

/// How soon there is a next frame while something is opened.
const WORKING: Duration = Duration::from_millis(250);

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
    settings: Settings,
    /// As the settings were kept last.
    kept: Settings,
    bar: top::Bar,
    /// Whether text was being typed when the last frame ended, and whether a control had the focus or
    /// something lay over the window. Whatever Escape ends there is gone when a frame begins.
    before: Before,
    keys_shown: bool,
    path_box: Option<PathBox>,
    requests: Vec<Request>,
    title: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    types: bool,
    focus: bool,
    popup: bool,
}

impl Inspector {
    /// Shows a model.
    pub fn new(model: Model, view: View) -> Inspector {
        Inspector {
            bar: top::Bar {
                filter: model.filter().text.clone(),
                ..top::Bar::default()
            },
            model,
            view,
            settings: Settings::default(),
            kept: Settings::default(),
            before: Before::default(),
            keys_shown: false,
            path_box: None,
            requests: Vec::new(),
            title: None,
        }
    }

    /// Lays it out so.
    pub fn set_settings(&mut self, settings: Settings) {
        self.kept = settings.clone();
        self.settings = settings;
    }

    /// What is shown.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What is shown, to be changed.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Which view is shown.
    pub fn view(&self) -> View {
        self.view
    }

    /// What was asked for since, in order.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// What the window is called from now on, if that is something new.
    pub fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// Takes in what became of a request.
    pub fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::Working(what) => self.bar.working = Some(what),
            Answer::Opened { model, title } => {
                self.bar.filter = model.filter().text.clone();
                self.model = *model;
                self.bar.news = None;
                self.bar.working = None;
                self.bar.live = false;
                self.settings.opened(&title);
                self.title = Some(title);
            }
            Answer::Grown { model, live } => {
                self.bar.working = None;
                self.bar.live = live;
                self.model.grow(*model);
            }
            Answer::Failed(sentence) => {
                self.bar.working = None;
                self.bar.news = Some(sentence);
            }
        }
    }

    /// One frame: draws, then does what was asked for.
    pub fn show(&mut self, ui: &mut Ui) {
        theme::apply_theme(ui.ctx(), self.settings.theme());
        if self.model.advance() {
            ui.ctx().request_repaint_after(FILTERING);
        }
        match self.bar.working {
            Some(_) => {
                ui.ctx().request_repaint_after(WORKING);
                let now = ui.input(|input| input.time);
                self.bar.since.get_or_insert(now);
            }
            None => self.bar.since = None,
        }
        let mut commands = Vec::new();
        self.keys(ui, &mut commands);
        self.dropped(ui);
        head::begin(ui.ctx());
        self.panels(ui, &mut commands);
        self.dialogs(ui);
        self.focus(ui.ctx());
        for command in std::mem::take(&mut self.bar.asked) {
            self.asked(command);
        }
        let hovers = |command: &Command| matches!(command, Command::Hover(_));
        if !commands.iter().any(hovers) {
            commands.push(Command::Hover(None));
        }
        for command in commands {
            // Drawing again what is drawn already would never end.
            let same = command == Command::Hover(self.model.hover());
            if !same {
                let moves = matches!(command, Command::Back | Command::Forward);
                self.model.apply(command);
                if moves {
                    self.bar.filter.clone_from(&self.model.filter().text);
                }
                ui.ctx().request_repaint();
            }
        }
        if self.settings != self.kept && !ui.input(|input| input.pointer.any_down()) {
            self.kept = self.settings.clone();
            self.requests.push(Request::Keep(self.kept.clone()));
        }
    }

    fn keys(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        let Before {
            types,
            focus,
            popup,
        } = self.before;
        let is_free = !types && !popup && self.path_box.is_none() && !self.keys_shown;
        if !is_free {
            return;
        }
        let first = commands.len();
        for ask in keys::read(ui, &self.model, commands) {
            match ask {
                Ask::Filter => {
                    self.bar.wants_filter = true;
                    // The sign is the key, not the filter's first letter.
                    ui.input_mut(|input| {
                        let is_sign =
                            |event: &egui::Event| matches!(event, egui::Event::Text(it) if it == "/");
                        input.events.retain(|event| !is_sign(event));
                    });
                }
                Ask::Keys => self.keys_shown = true,
                Ask::Open => self.path_box = Some(PathBox::new(Wanted::Recording)),
                Ask::NextPane => head::next(ui.ctx()),
                Ask::View(view) => self.view = view,
            }
        }
        // Escape took the focus from a control: one layer at a time.
        if focus && ui.input(|input| input.key_pressed(Key::Escape)) {
            let peels = |command: &Command| *command == Command::LetGo;
            let mut at = 0;
            commands.retain(|command| {
                at += 1;
                at <= first || !peels(command)
            });
        }
    }

    /// Files that were dropped on the window.
    fn dropped(&mut self, ui: &Ui) {
        let dropped = ui.input(|input| input.raw.dropped_files.clone());
        let paths = dropped.into_iter().map(|file| file.path().to_owned());
        let (wires, recordings): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.partition(|path| path.extension().is_some_and(|it| it == "wire"));
        if !recordings.is_empty() {
            self.requests.push(Request::Open(recordings));
        }
        self.requests.extend(wires.into_iter().map(Request::Wire));
    }

    fn dialogs(&mut self, ui: &Ui) {
        if self.keys_shown && dialogs::keys(ui) {
            self.keys_shown = false;
        }
        let Some(asked) = &mut self.path_box else {
            return;
        };
        match dialogs::path(ui, asked, &self.settings) {
            Said::Nothing => {}
            Said::Close => self.path_box = None,
            Said::Path(path) => {
                self.requests.push(match asked.wanted {
                    Wanted::Recording => Request::Open(vec![PathBuf::from(path)]),
                    Wanted::Wire => Request::Wire(PathBuf::from(path)),
                });
                self.path_box = None;
            }
        }
    }

    /// What a click in the bars asked for.
    fn asked(&mut self, asked: top::Asked) {
        match asked {
            top::Asked::View(view) => self.view = view,
            top::Asked::Theme(theme) => self.settings.theme = theme.name().to_owned(),
            top::Asked::Layout => {
                self.settings = Settings {
                    theme: self.settings.theme.clone(),
                    recent: std::mem::take(&mut self.settings.recent),
                    ..Settings::default()
                };
            }
            top::Asked::Keys => self.keys_shown = true,
            top::Asked::Open => self.path_box = Some(PathBox::new(Wanted::Recording)),
            top::Asked::Wire => self.path_box = Some(PathBox::new(Wanted::Wire)),
            top::Asked::Follow(follow) => {
                self.bar.live = false;
                self.requests.push(Request::Follow(follow));
            }
            top::Asked::Cancel => {
                self.bar.working = None;
                self.requests.push(Request::Cancel);
            }
            top::Asked::Recent(path) => self.requests.push(Request::Open(vec![path.into()])),
        }
    }

    /// Shows which control has the keyboard, and leaves the arrow keys to the window.
    fn focus(&mut self, ctx: &egui::Context) {
        let focused: Option<Id> = ctx.memory(|memory| memory.focused());
        let types = ctx.text_edit_focused();
        self.before = Before {
            types,
            focus: focused.is_some(),
            popup: egui::Popup::is_any_open(ctx),
        };
        let Some(id) = focused.filter(|_| !types) else {
            return;
        };
        let arrows = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        ctx.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
        if let Some(response) = ctx.read_response(id) {
            let rect = response.rect.intersect(response.interact_rect.expand(2.0));
            let layer = egui::LayerId::new(egui::Order::Foreground, Id::unique("focus ring"));
            let ring = Stroke::new(2.0, theme::accent());
            let painter = ctx.layer_painter(layer);
            painter.rect_stroke(rect.shrink(1.0), 3.0, ring, StrokeKind::Inside);
        }
    }

    fn panels(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let model = &self.model;
        let (bar, view, settings) = (&mut self.bar, self.view, &self.settings);
        Panel::top("top")
            .frame(bar_frame())
            .show(ui, |ui| top::show(ui, model, bar, view, settings, commands));
        if let Some((sentence, color)) = top::said(model, bar) {
            let frame = bar_frame().fill(theme::panel());
            Panel::top("said").frame(frame).show(ui, |ui| {
                top::sentence(ui, &sentence, color, bar);
            });
        }
        Panel::bottom("status")
            .frame(bar_frame())
            .show(ui, |ui| status::show(ui, model, bar, commands));
        let settings = &mut self.settings;
        CentralPanel::default().frame(plain()).show(ui, |ui| {
            // Nothing is there yet: what there is to say is what is being done.
            if model.session().nodes.is_empty()
                && let Some(working) = &bar.working
            {
                findings::empty(ui, &format!("{working}…"));
                return;
            }
            minimap::show(ui, model, commands);
            let rect = ui.available_rect_before_wrap();
            let mut dividers = Dividers::default();
            views(ui, model, (view, settings), rect, &mut dividers, commands);
            ui.advance_cursor_after_rect(rect);
            dividers.show(ui, settings);
        });
    }
}

/// The least heights and widths of panes, in points.
const TIMELINE_MIN: f32 = 150.0;
const DETAILS_MIN: f32 = 120.0;
const PANE_MIN: f32 = 180.0;
/// A line of bytes, without their text.
const BYTES_MIN: f32 = 360.0;

fn views(
    ui: &mut Ui,
    model: &Model,
    (view, settings): (View, &Settings),
    rect: Rect,
    dividers: &mut Dividers,
    commands: &mut Vec<Command>,
) {
    match view {
        View::Timeline => {
            let least = (TIMELINE_MIN + objects::HEAD, DETAILS_MIN);
            let share = settings.details;
            let (upper, lower) = dividers.cut(Divider::Details, rect, share, least);
            let upper = match objects_height(model, upper.height()) {
                None => upper,
                // Nothing to see in it: a line.
                Some(height) if height <= objects::HEAD => {
                    let (upper, objects) = upper.split_top_bottom_at_y(upper.bottom() - height);
                    at(ui, objects, "objects", &mut |ui| {
                        objects::show(ui, model, false, commands)
                    });
                    upper
                }
                Some(height) => {
                    let share = settings.objects.unwrap_or(height / upper.height().max(1.0));
                    let least = (TIMELINE_MIN, objects::HEAD);
                    let (upper, objects) = dividers.cut(Divider::Objects, upper, share, least);
                    at(ui, objects, "objects", &mut |ui| {
                        objects::show(ui, model, false, commands)
                    });
                    upper
                }
            };
            at(ui, upper, "timeline", &mut |ui| {
                timeline(ui, model, commands)
            });
            at(ui, lower, "details", &mut |ui| {
                details(ui, model, settings, dividers, commands)
            });
        }
        View::Packets => at(ui, rect, "details", &mut |ui| {
            details(ui, model, settings, dividers, commands)
        }),
        View::Objects => at(ui, rect, "objects", &mut |ui| {
            objects::show(ui, model, true, commands)
        }),
        View::Findings => {
            let least = (TIMELINE_MIN, DETAILS_MIN);
            let share = settings.findings;
            let (upper, lower) = dividers.cut(Divider::Findings, rect, share, least);
            at(ui, upper, "timeline", &mut |ui| {
                timeline(ui, model, commands)
            });
            at(ui, lower, "findings", &mut |ui| {
                findings::show(ui, model, commands)
            });
        }
    }
}

/// A pane at a place.
fn at(ui: &mut Ui, rect: Rect, name: &str, show: &mut dyn FnMut(&mut Ui)) {
    let builder = UiBuilder::new()
        .id_salt(name)
        .max_rect(rect)
        .layout(Layout::top_down(Align::Min));
    ui.scope_builder(builder, |ui| {
        ui.set_clip_rect(rect.intersect(ui.clip_rect()));
        show(ui);
    });
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
fn details(
    ui: &mut Ui,
    model: &Model,
    settings: &Settings,
    dividers: &mut Dividers,
    commands: &mut Vec<Command>,
) {
    let rect = ui.available_rect_before_wrap();
    let width = rect.width();
    // The table needs its columns; the others share the rest.
    let table = (width * 0.42)
        .max(420.0)
        .max(packets::width_min(model).min(width * 0.5))
        .min(700.0_f32.min(width * 0.6));
    let share = settings.table.unwrap_or(table / width.max(1.0));
    let (left, rest) = dividers.cut(
        Divider::Table,
        rect,
        share,
        (PANE_MIN, PANE_MIN + BYTES_MIN),
    );
    let (middle, right) = dividers.cut(Divider::Tree, rest, settings.tree, (PANE_MIN, BYTES_MIN));
    let height = rect.height().max(1.0);
    let bytes_share = (bytes::height(model.detail()) / height).min(0.5);
    let share = settings.bytes.unwrap_or(bytes_share);
    let least = (head::HEIGHT * 2.0, head::HEIGHT * 2.0);
    let (upper, lower) = dividers.cut(Divider::Bytes, right, share, least);
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
    ui.advance_cursor_after_rect(rect);
}

/// Room for a few rows, a quarter of what there is at most; `None` where there cannot be objects.
fn objects_height(model: &Model, height: f32) -> Option<f32> {
    let rows = model.object_rows().len() as f32;
    if rows == 0.0 {
        return model.session().wire.is_some().then_some(objects::HEAD);
    }
    let height = (objects::HEAD + rows * objects::ROW + 8.0)
        .min(height * 0.38)
        .max(objects::HEAD + 2.0 * objects::ROW);
    Some(height.round())
}

fn bar_frame() -> Frame {
    Frame::NONE
        .fill(theme::head())
        .inner_margin(Margin::symmetric(10, 5))
}

fn plain() -> Frame {
    Frame::NONE.fill(theme::panel())
}

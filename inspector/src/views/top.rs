//! The bar at the top: what is open, which view, the menus; below it the filter and the zoom.

use egui::{
    Align, Area, Button, Color32, Frame, Id, Label, Layout, Order, Pos2, RichText, Role, Ui, vec2,
};
use netreel_inspector_model::{Command, Commands, Model, text};
use netreel_protocol::session::SessionTime;

use super::bar::{Asked, Bar, small};
use super::{control, filter_box, label};
use crate::glyph::{self, Transport};
use crate::layout::{Edge, Move, Pane, Workspace};
use crate::settings::Settings;
use crate::theme::{self, Theme};

/// Longer lists of names leave no room for the rest.
const WHO_MAX: usize = 48;
/// Room for the badge and for the sentence of what is being worked on.
const BADGE: f32 = 260.0;

/// Draws the two lines.
pub fn show(
    ui: &mut Ui,
    model: &Model,
    bar: &mut Bar,
    (workspace, panes): (Workspace, &[Pane]),
    settings: &Settings,
    commands: &mut Commands,
) {
    ui.horizontal(|ui| {
        ui.set_min_height(24.0);
        ui.label(
            RichText::new("netreel")
                .strong()
                .size(15.0)
                .color(theme::ink()),
        );
        ui.add_space(4.0);
        menus(ui, bar, settings, panes);
        if bar.welcomes {
            return badge(ui, bar, commands);
        }
        ways(ui, model, commands);
        ui.separator();
        for (number, (name, of)) in (1..).zip(Workspace::ALL) {
            let text = label::body(title(name));
            if ui
                .selectable_label(workspace == of, text)
                .on_hover_text(format!("key {number}"))
                .clicked()
            {
                bar.asked.push(Asked::Workspace(of));
            }
        }
        ui.separator();
        let has_badge = bar.live || bar.working.is_some() || beside(ui, bar).is_some();
        let room = ui.available_width() - if has_badge { BADGE } else { 0.0 };
        fitted(ui, room, |ui| session(ui, model));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            badge(ui, bar, commands);
        });
    });
    if bar.welcomes {
        return;
    }
    ui.horizontal(|ui| {
        ui.set_min_height(24.0);
        filter_box::show(ui, model, bar, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            zoom(ui, model, commands);
            ui.separator();
            transport(ui, model, bar, commands);
        });
    });
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default()
        + letters.as_str()
}

fn menus(ui: &mut Ui, bar: &mut Bar, settings: &Settings, panes: &[Pane]) {
    ui.menu_button("Open", |ui| {
        let follow = if bar.live {
            "Follow no longer"
        } else {
            "Follow while it is recorded"
        };
        let items = [
            ("Recording or capture…  Ctrl+O", Asked::Open),
            ("The demonstration", Asked::Demonstration),
            ("Matches of the run…", Asked::Run),
            ("Wire…", Asked::Wire),
            ("Wires that may fit…", Asked::Candidates),
            (follow, Asked::Follow(!bar.live)),
        ];
        bar.items(ui, items);
        if !settings.recent.is_empty() {
            ui.separator();
        }
        for paths in &settings.recent {
            bar.items(
                ui,
                [(
                    label::mono(Settings::named(paths)),
                    Asked::Recent(paths.clone()),
                )],
            );
        }
    });
    ui.menu_button("Share", |ui| bar.items(ui, SHARES));
    ui.menu_button("Look", |ui| {
        for (name, theme) in Theme::ALL {
            if ui
                .radio(settings.theme() == theme, title(&name.replace('-', ", ")))
                .clicked()
            {
                bar.asked.push(Asked::Theme(theme));
            }
        }
        ui.separator();
        ui.menu_button("Panes of this workspace", |ui| {
            for (name, pane) in Pane::ALL {
                let mut is_there = panes.contains(&pane);
                if ui.checkbox(&mut is_there, title(name)).clicked() {
                    bar.asked.push(Asked::Pane(if is_there {
                        Move::Edge(pane, Edge::Bottom)
                    } else {
                        Move::Hide(pane)
                    }));
                }
            }
        });
        let items = [
            ("Panes as they were at first", Asked::Layout),
            ("All keys  ?", Asked::Keys),
        ];
        bar.items(ui, items);
    });
}

/// What can be handed on.
pub const SHARES: [(&str, Asked); 4] = [
    ("Copy what is selected  Ctrl+C", Asked::Copy),
    ("Copy a text for a bug report", Asked::Report),
    ("Picture of the window…", Asked::Picture),
    ("What the filter takes, as a session…", Asked::Cut),
];

/// Back and forward.
fn ways(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let (back, forward) = model.ways();
    for (name, what, is_there, command) in [
        ("←", "back (Alt+left)", back, Command::Back),
        ("→", "forward (Alt+right)", forward, Command::Forward),
    ] {
        let button = Button::new(label::mono(name)).min_size(vec2(22.0, 20.0));
        let response = ui.add_enabled(is_there, button.fill(Color32::TRANSPARENT));
        let label = what.to_owned();
        response.widget_info(|| egui::WidgetInfo::labeled(Role::Button, is_there, &label));
        if response.on_hover_text(what).clicked() {
            commands.push(command);
        }
    }
}

/// How many seconds panes work before the window says so: most work takes less.
const QUIET: f64 = 1.0;

/// How long something has been worked on, in s.
fn since(ui: &Ui, bar: &Bar) -> f64 {
    let now = ui.input(|input| input.time);
    now - bar.since.unwrap_or(now)
}

/// What is said of what panes have worked out, and what a click on the sign behind it does.
fn beside(ui: &Ui, bar: &Bar) -> Option<(String, &'static str, &'static str, Command)> {
    if let Some(what) = bar.beside.filter(|_| since(ui, bar) >= QUIET) {
        let said = format!("working out {what}, {:.0} s", since(ui, bar));
        return Some((said, "×", "give it up", Command::GiveUp));
    }
    let what = bar.given_up?;
    Some((
        format!("{what}: given up"),
        "go on",
        "work out what was given up",
        Command::GoOn,
    ))
}

/// Whether the recording goes on, and what is being worked on.
fn badge(ui: &mut Ui, bar: &mut Bar, commands: &mut Commands) {
    if bar.live {
        let text = label::body("live");
        let what = "The recording goes on, and the window follows it.";
        ui.label(text.color(theme::error())).on_hover_text(what);
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), egui::Sense::hover());
        ui.painter()
            .circle_filled(rect.center(), 4.0, theme::error());
    }
    let said = if let Some(working) = &bar.working {
        let said = format!("{working}, {:.0} s", since(ui, bar));
        if small(ui, "×", "no longer work on it") {
            bar.asked.push(Asked::Cancel);
        }
        said
    } else if let Some((said, sign, what, command)) = beside(ui, bar) {
        commands.extend(small(ui, sign, what).then_some(command));
        said
    } else {
        return;
    };
    ui.add(Label::new(label::body(said).color(theme::weak())).truncate());
}

fn session(ui: &mut Ui, model: &Model) {
    let wire = model.session().wire.as_ref().map_or_else(
        || "no wire: packets are bytes".to_owned(),
        |wire| format!("wire {}", wire.name()),
    );
    let span = model.span();
    let length = text::duration(span.end.0.saturating_sub(span.start.0));
    let names: Vec<&str> = model
        .lanes()
        .iter()
        .map(|&node| model.node_name(node))
        .collect();
    let who = names.join(" ");
    let who = if names.is_empty() {
        "nobody".to_owned()
    } else if names.len() <= 6 && who.len() <= WHO_MAX {
        who
    } else {
        format!("{} nodes", names.len())
    };
    let text = RichText::new(format!("{who}  ·  {length}  ·  {wire}"))
        .font(theme::mono())
        .color(theme::weak());
    ui.add(Label::new(text).truncate().show_tooltip_when_elided(false))
        .on_hover_text(format!("{}\n{length}\n{wire}", names.join("\n")));
}

/// Something that takes no more than this much room.
fn fitted(ui: &mut Ui, room: f32, show: impl FnOnce(&mut Ui)) {
    ui.scope(|ui| {
        ui.set_max_width(room.max(40.0));
        show(ui);
    });
}

/// A sentence that needs a line of its own: why something failed, or a mistake in the filter.
pub fn said(model: &Model, bar: &Bar) -> Option<(String, Color32)> {
    let filter = model.filter();
    let news = bar.news.as_ref().map(|it| (it.clone(), theme::error()));
    // While somebody types, a word that is not whole is no mistake.
    let error = filter.error.as_ref().filter(|_| !bar.completion.types);
    let error = || error.map(|it| (it.clone(), theme::error()));
    news.or_else(error)
        .or(bar.done.as_ref().map(|it| (it.clone(), theme::text())))
}

/// Draws it, whole, over what is below `at`: nothing moves for it.
pub fn sentence(ui: &Ui, at: Pos2, (sentence, color): (&str, Color32), bar: &mut Bar) {
    let room = ui.ctx().content_rect().width() - 24.0;
    Area::new(Id::unique("said"))
        .fixed_pos(at)
        .order(Order::Middle)
        .show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).show(ui, |ui| {
                ui.set_max_width(room);
                ui.horizontal_top(|ui| {
                    let is_told = bar.news.is_some() || bar.done.is_some();
                    if is_told && small(ui, "×", "close this message") {
                        match bar.news.take() {
                            Some(_) => {}
                            None => bar.done = None,
                        }
                    }
                    ui.add(
                        Label::new(label::mono(sentence).color(color))
                            .wrap()
                            .selectable(true),
                    );
                });
            });
        });
}

/// The cursor, through time. From the right to the left.
fn transport(ui: &mut Ui, model: &Model, bar: &mut Bar, commands: &mut Commands) {
    let mut to = |is_next| {
        let at = model.next_moment(is_next);
        commands.extend(at.map(|at| Command::SetCursor(Some(at))));
    };
    if sign(
        ui,
        Transport::Forward,
        "put the cursor on the next departure or arrival (.)",
    ) {
        to(true);
    }
    let (plays, what) = if bar.plays {
        (Transport::Stop, "stop the cursor (space)")
    } else {
        (Transport::Play, "let the cursor go on by itself (space)")
    };
    if sign(ui, plays, what) {
        bar.plays = !bar.plays;
    }
    if sign(
        ui,
        Transport::Back,
        "put the cursor on the departure or arrival before (,)",
    ) {
        to(false);
    }
}

fn zoom(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let visible = model.visible();
    let length = visible.end.0 - visible.start.0;
    let at = SessionTime(visible.start.0 + length / 2);
    let zoom = |factor| Command::Zoom { at, factor };
    for (sign, what, command) in [
        ("all", "show the whole session (A)", Command::ShowAll),
        (
            "frame",
            "bring the selection into view (F)",
            Command::FrameSelection,
        ),
        ("+", "show less time (+)", zoom(1.5)),
        ("−", "show more time (-)", zoom(1.0 / 1.5)),
    ] {
        commands.extend(small(ui, sign, what).then_some(command));
    }
    ui.label(label::mono(format!("{} in view", text::duration(length))).color(theme::weak()));
}

/// A button with a sign of what moves the cursor.
fn sign(ui: &mut Ui, sign: Transport, what: &str) -> bool {
    let response = ui.add(
        Button::new("")
            .min_size(vec2(24.0, 20.0))
            .fill(Color32::TRANSPARENT),
    );
    control::named(&response, Role::Button, what);
    glyph::transport(
        ui.painter(),
        response.rect.center(),
        9.0,
        sign,
        theme::text(),
    );
    response.on_hover_text(what).clicked()
}

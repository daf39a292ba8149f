//! What each directed link is like, to be changed by hand.

use std::time::Duration;

use egui::{Align, DragValue, Layout, RichText, Role, Slider, Ui, WidgetInfo, vec2};
use netreel_inspector::theme;
use netreel_sample_engine::Peer;

use super::board::{Board, Command};
use super::button::button;
use crate::link_setting::LinkSetting;
use crate::node::Order;
use crate::seen::Seen;

/// How wide all of it is; in a narrow window, where there are numbers without sliders.
const WIDTH: f32 = 520.0;
const WIDTH_NARROW: f32 = 366.0;
/// A narrower window leaves no room for sliders beside the floors.
const NARROW: f32 = 1100.0;

const NAME: f32 = 86.0;
const COLUMN: f32 = 118.0;
const COLUMN_NARROW: f32 = 64.0;
const TRACK: f32 = 60.0;
const ROW: f32 = 20.0;

/// The most that a slider gives. Milliseconds; percent.
const DELAY_MAX: f64 = 5000.0;
const JITTER_MAX: f64 = 500.0;
const LOSS_MAX: f64 = 60.0;

/// How the zombie is made, for whoever plays for the first time.
const RECIPE: [&str; 4] = [
    "Slow A -> X down to some seconds, or hold it.",
    "A spawns a box. HOST and B see it; X does not.",
    "B picks it up and throws it away. X hears of both first.",
    "X hears at last that the box was created, and keeps it.",
];

/// How wide all of it is in a window of this width.
pub fn width(window: f32) -> f32 {
    if window < NARROW { WIDTH_NARROW } else { WIDTH }
}

/// How wide a column is.
fn column(ui: &Ui) -> f32 {
    if ui.ctx().content_rect().width() < NARROW {
        COLUMN_NARROW
    } else {
        COLUMN
    }
}

/// Draws a row for each link to a node that is played here.
pub fn show(board: &mut Board, ui: &mut Ui, seen: &[Seen]) {
    ui.spacing_mut().slider_width = TRACK;
    ui.spacing_mut().interact_size.x = 44.0;
    ui.spacing_mut().item_spacing.x = 6.0;
    titles(ui);
    let nodes = (0u8..).map(Peer).take(board.names.len());
    for to in board.here.clone() {
        ui.add_space(6.0);
        for from in nodes.clone().filter(|from| *from != to) {
            row(board, ui, from, to);
        }
    }
    ui.add_space(14.0);
    if board.here.len() == board.names.len() && board.names.len() >= 4 {
        recipe(ui);
    }
    ghosts(board, ui, seen);
}

fn titles(ui: &mut Ui) {
    ui.horizontal(|ui| {
        cell(ui, NAME, |ui| {
            ui.label(weak("link"));
        });
        let width = column(ui);
        for title in ["delay, ms", "jitter, ms", "loss, %"] {
            cell(ui, width, |ui| {
                ui.label(weak(title));
            });
        }
        ui.label(weak("hold"));
    });
}

fn row(board: &mut Board, ui: &mut Ui, from: Peer, to: Peer) {
    let before = board.link(from, to);
    let name = format!("{} -> {}", board.name(from), board.name(to));
    let plain = format!("{} to {}", board.name(from), board.name(to));
    let mut delay = millis(before.delay);
    let mut jitter = millis(before.jitter);
    let mut loss = before.loss * 100.0;
    let mut held = before.held;
    ui.push_id((from.0, to.0), |ui| {
        ui.horizontal(|ui| {
            let color = if before == LinkSetting::default() {
                theme::weak()
            } else {
                theme::warning()
            };
            cell(ui, NAME, |ui| {
                ui.label(RichText::new(&name).font(theme::mono()).color(color));
            });
            let ends = [
                (&mut delay, DELAY_MAX, "delay"),
                (&mut jitter, JITTER_MAX, "jitter"),
                (&mut loss, LOSS_MAX, "loss"),
            ];
            let width = column(ui);
            for (value, most, what) in ends {
                cell(ui, width, |ui| {
                    let response = if width == COLUMN {
                        ui.add(Slider::new(value, 0.0..=most).integer())
                    } else {
                        ui.add(DragValue::new(value).range(0.0..=most).max_decimals(0))
                    };
                    let label = format!("{plain}: {what}");
                    let is = *value;
                    response.widget_info(|| WidgetInfo::slider(true, is, &label));
                });
            }
            let response = ui.checkbox(&mut held, "");
            let label = format!("{plain}: hold");
            response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, held, &label));
        });
    });
    let setting = LinkSetting {
        delay: Duration::from_millis(delay.round() as u64),
        jitter: Duration::from_millis(jitter.round() as u64),
        loss: loss.round() / 100.0,
        held,
        ..before
    };
    if setting != before {
        board.links.insert((from, to), setting);
        board.order(to, Order::Link { from, setting });
    }
}

fn recipe(ui: &mut Ui) {
    ui.separator();
    ui.label(RichText::new("A zombie in a minute").strong());
    for (number, line) in (1..).zip(RECIPE) {
        ui.label(weak(format!("{number}. {line}")));
    }
}

/// What only one node still has, as a sentence.
fn ghosts(board: &mut Board, ui: &mut Ui, seen: &[Seen]) {
    let mut asked = None;
    for node in seen {
        let ghosts = node.things.iter();
        for thing in ghosts.filter(|thing| board.ghosts.has(node, thing.id)) {
            ui.add_space(8.0);
            let sentence = format!(
                "{} believes in box {} of {}, which nobody else has: a zombie.",
                board.name(node.peer),
                thing.id.0,
                board.name(thing.owner),
            );
            ui.label(RichText::new(sentence).color(theme::error()));
            let box_number = thing.id.0;
            if button(ui, "Why", &format!("why box {box_number}"), true) {
                asked = Some(thing.id);
            }
        }
    }
    if asked.is_some() {
        board.commands.push(Command::Inspect(asked));
    }
}

fn cell(ui: &mut Ui, width: f32, show: impl FnOnce(&mut Ui)) {
    let layout = Layout::left_to_right(Align::Center);
    ui.allocate_ui_with_layout(vec2(width, ROW), layout, |ui| {
        ui.set_min_width(width);
        show(ui);
    });
}

fn weak(text: impl Into<String>) -> RichText {
    RichText::new(text).color(theme::weak())
}

fn millis(length: Duration) -> f64 {
    length.as_secs_f64() * 1000.0
}

//! One node: what it believes, what its player can do, what happened last.

use egui::{Align2, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector::theme;
use netreel_sample_engine::Deed;

use super::board::Board;
use super::button::button;
use super::floor;
use crate::node::Order;
use crate::script::TICKS_A_SECOND;
use crate::seen::Seen;
use crate::words;

const HEAD: f32 = 26.0;
const LINE: f32 = 16.0;
/// How many lines of what happened are shown.
const LINES: usize = 5;
const FOOT: f32 = LINE * LINES as f32 + 8.0;
const BUTTONS: f32 = 30.0;

/// Draws a pane over all the room there is.
pub fn show(board: &mut Board, ui: &mut Ui, node: &Seen) {
    let rect = ui.max_rect();
    let is_active = board.active == node.peer;
    ui.painter().rect_filled(rect, 4.0, theme::panel());
    let cut =
        |from: f32, to: f32| Rect::from_min_max(pos2(rect.left(), from), pos2(rect.right(), to));
    let foot = rect.bottom() - FOOT;
    head(board, ui, cut(rect.top(), rect.top() + HEAD), node);
    floor::show(board, ui, cut(rect.top() + HEAD, foot - BUTTONS), node);
    deeds(board, ui, cut(foot - BUTTONS, foot), node);
    news(board, ui, cut(foot, rect.bottom()), node);
    let (width, color) = if is_active {
        (2.0, theme::accent())
    } else {
        (1.0, theme::line())
    };
    let edge = Stroke::new(width, color);
    ui.painter()
        .rect_stroke(rect, 4.0, edge, StrokeKind::Inside);
}

fn head(board: &mut Board, ui: &Ui, rect: Rect, node: &Seen) {
    let name = board.name(node.peer).to_owned();
    let response = ui.interact(rect, ui.scope_id().with("head"), Sense::click());
    let is_active = board.active == node.peer;
    let label = format!("{name}: play");
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_active, &label));
    if response.clicked() {
        board.active = node.peer;
    }
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, 4.0, theme::head());
    let swatch =
        Rect::from_center_size(pos2(rect.left() + 16.0, rect.center().y), vec2(10.0, 10.0));
    painter.rect_filled(swatch, 2.0, theme::owner(u64::from(node.peer.0)));
    let end = painter.text(
        pos2(swatch.right() + 8.0, rect.center().y),
        Align2::LEFT_CENTER,
        &name,
        theme::body(),
        theme::text(),
    );
    let boxes = match node.boxes() {
        1 => "1 box".to_owned(),
        count => format!("{count} boxes"),
    };
    let doing = match (node.errand, node.held) {
        (Some((doing, object)), _) => words::errand(doing, object),
        (None, Some(held)) => format!("holds {}", held.0),
        (None, None) => String::new(),
    };
    painter.text(
        pos2(end.right() + 12.0, rect.center().y),
        Align2::LEFT_CENTER,
        if doing.is_empty() {
            boxes
        } else {
            format!("{boxes} · {doing}")
        },
        theme::mono(),
        theme::weak(),
    );
    let ghosts = board.ghosts.count(node);
    if ghosts > 0 {
        painter.text(
            pos2(rect.right() - 10.0, rect.center().y),
            Align2::RIGHT_CENTER,
            match ghosts {
                1 => "a box that nobody else has".to_owned(),
                count => format!("{count} boxes that nobody else has"),
            },
            theme::body(),
            theme::error(),
        );
    }
}

fn deeds(board: &mut Board, ui: &mut Ui, rect: Rect, node: &Seen) {
    let name = board.name(node.peer).to_owned();
    let take = match node.held {
        Some(_) => Deed::PutDown,
        None => Deed::PickUp(None),
    };
    let inner = rect.shrink2(vec2(8.0, 3.0));
    let mut done = None;
    ui.scope_builder(egui::UiBuilder::new().max_rect(inner), |ui| {
        ui.horizontal(|ui| {
            for deed in [Deed::Spawn, take, Deed::Push(None), Deed::ThrowAway(None)] {
                let what = words::deed(deed);
                let can = deed == Deed::Spawn || node.at_hand(deed).is_some();
                if button(ui, &capital(what), &format!("{name}: {what}"), can) {
                    done = Some(deed);
                }
            }
        });
    });
    if let Some(deed) = done {
        board.active = node.peer;
        board.order(node.peer, Order::Deed(deed));
    }
}

fn news(board: &Board, ui: &Ui, rect: Rect, node: &Seen) {
    let painter = ui.painter().with_clip_rect(rect);
    painter.hline(rect.x_range(), rect.top() + 0.5, (1.0, theme::faint()));
    let told = node.news.iter().rev().filter_map(|news| {
        let is_ignored = matches!(news.event, netreel_sample_engine::Event::Ignored { .. });
        let sentence = words::sentence(&news.event, &board.names)?;
        Some((news.tick as f64 / TICKS_A_SECOND, sentence, is_ignored))
    });
    let last: Vec<_> = told.take(LINES).collect();
    for (line, (time, sentence, is_ignored)) in last.into_iter().rev().enumerate() {
        let y = rect.top() + 4.0 + line as f32 * LINE;
        let x = rect.left() + 10.0;
        let time = format!("{time:6.2}");
        painter.text(
            pos2(x, y),
            Align2::LEFT_TOP,
            time,
            theme::small(),
            theme::dim(),
        );
        let color = if is_ignored {
            theme::warning()
        } else {
            theme::weak()
        };
        painter.text(
            pos2(x + 52.0, y),
            Align2::LEFT_TOP,
            sentence,
            theme::small(),
            color,
        );
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

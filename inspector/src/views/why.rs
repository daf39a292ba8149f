//! What led to the selected finding: where it began above its proof, and a sentence a row below that.

use std::sync::Arc;

use egui::text::LayoutJob;
use egui::{Galley, Pos2, Rect, Role, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Command, Commands, Model, WhyRow};
use netreel_protocol::session::PacketId;

use super::control;
use super::copy::{self, Offers, What};
use crate::theme;

/// A step further back stands this much further right.
const INDENT: f32 = 10.0;
const INDENT_MAX: f32 = 60.0;
const LEFT: f32 = 14.0;
const GAP: f32 = 5.0;

/// The rows, each with its text as it is laid out.
pub struct Lines {
    /// Goes before the number of a row in the name of its control.
    name: &'static str,
    rows: Arc<[WhyRow]>,
    galleys: Vec<Arc<Galley>>,
    selected: Option<PacketId>,
}

/// The row that says where it began, which stands out.
pub fn cause(ui: &Ui, model: &Model) -> Lines {
    let row = model.why_cause().map(|row| WhyRow { depth: 0, ..row });
    laid(ui, model, "cause", row.into_iter().collect())
}

/// The rows, as wide as there is room.
pub fn lines(ui: &Ui, model: &Model) -> Lines {
    laid(ui, model, "why", model.why_rows())
}

fn laid(ui: &Ui, model: &Model, name: &'static str, rows: Arc<[WhyRow]>) -> Lines {
    let width = ui.available_width();
    let galleys = rows.iter().map(|row| {
        let room = (width - left(row) - 8.0).max(80.0);
        let (text, color) = match (name, row.is_certain) {
            ("cause", _) => (format!("because {}", row.sentence), theme::warning()),
            (_, true) => (row.sentence.clone(), theme::text()),
            (_, false) => (row.sentence.clone(), theme::weak()),
        };
        let job = LayoutJob::simple(theme::two_dashes(&text), theme::body(), color, room);
        ui.painter().layout_job(job)
    });
    Lines {
        galleys: galleys.collect(),
        name,
        rows,
        selected: model.selection().packet,
    }
}

/// The height of all rows, in points.
pub fn height(lines: &Lines) -> f32 {
    let rows = lines.galleys.iter().map(|galley| galley.size().y + GAP);
    if lines.galleys.is_empty() {
        0.0
    } else {
        rows.sum::<f32>() + GAP
    }
}

/// Draws them from `origin` on. A click on one selects the packet that shows it.
pub fn show(ui: &mut Ui, model: &Model, origin: Pos2, lines: &Lines, commands: &mut Commands) {
    let width = ui.available_width();
    let all = Rect::from_min_size(origin, vec2(width, height(lines)));
    let painter = ui.painter_at(all);
    painter.rect_filled(all, 0.0, theme::panel());
    let mut top = origin.y + GAP;
    for (place, (row, galley)) in lines.rows.iter().zip(&lines.galleys).enumerate() {
        let size = vec2(width, galley.size().y + GAP);
        let rect = Rect::from_min_size(pos2(origin.x, top - GAP / 2.0), size);
        let response = control::clickable(ui, rect, (lines.name, place));
        let label = format!("because {}", row.sentence);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, row.packet.is_some(), &label));
        let is_selected = row.packet == lines.selected;
        if row.packet.is_some() && (is_selected || response.hovered()) {
            painter.rect_filled(rect, 0.0, theme::related());
        }
        let x = origin.x + left(row);
        // A stroke from what it led to.
        painter.vline(x - 6.0, rect.y_range(), (1.0, theme::faint()));
        painter.galley(pos2(x, top), Arc::clone(galley), theme::text());
        if let Some(packet) = row.packet.filter(|_| response.clicked()) {
            commands.push(Command::SelectPacket(packet));
        }
        copy::menu(&response, model, commands, || offers(model, row));
        top += size.y;
    }
}

/// What can be done with a step.
fn offers(model: &Model, row: &WhyRow) -> Offers {
    let mut offers = vec![("copy the sentence", What::Copy(row.sentence.clone()))];
    if let Some(filter) = row.packet.and_then(|packet| model.link_filter(packet)) {
        offers.push(("filter by its link", What::Filter(filter)));
    }
    offers
}

fn left(row: &WhyRow) -> f32 {
    LEFT + (row.depth as f32 * INDENT).min(INDENT_MAX)
}

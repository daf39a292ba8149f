//! Where a layer parts from its recording: what was expected beside what came, to the first byte that
//! differs.

use egui::text::LayoutJob;
use egui::{Align2, Color32, FontId, Rect, Role, ScrollArea, Sense, Ui, pos2, vec2};
use netreel_inspector_model::text;

use super::replay::Seat;
use super::{control, findings, head, label};
use crate::ask::Parting;
use crate::theme;

/// Width of a byte and height of a line of them.
const BYTE: f32 = 20.0;
const ROW: f32 = 17.0;

/// Draws it.
pub fn show(ui: &mut Ui, seat: &Seat) {
    let title = "divergence";
    let Some(standing) = &seat.standing else {
        let sentence = "Where the layer does something else than the recording has, both stand here \
                        side by side.";
        return findings::nothing(ui, title, "", sentence);
    };
    let Some(parting) = &standing.parting else {
        let sentence = format!(
            "So far the layer of {} has done what the recording has: up to event {}.",
            standing.node,
            text::count(standing.position.saturating_sub(1))
        );
        return findings::nothing(ui, title, "none so far", &sentence);
    };
    head::show(
        ui,
        title,
        &format!("at event {}", text::count(parting.event)),
    );
    ScrollArea::vertical()
        .id_salt("divergence")
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.add_space(4.0);
            if let Some((path, expected, came)) = &parting.field {
                line(ui, "first difference", path, theme::error());
                line(ui, "expected", expected, theme::text());
                line(ui, "came", came, theme::warning());
                ui.add_space(4.0);
            }
            for cause in &parting.likely {
                // What it likely comes from stands out.
                let color = if cause.starts_with("likely") {
                    theme::warning()
                } else {
                    theme::text()
                };
                sentence(ui, cause, theme::body(), color);
                ui.add_space(2.0);
            }
            line(ui, "the recording", &parting.expected, theme::weak());
            line(ui, "the layer", &parting.came, theme::weak());
            ui.add_space(4.0);
            bytes(ui, parting);
            if !parting.said.is_empty() {
                ui.add_space(6.0);
                sentence(ui, &parting.said, theme::mono(), theme::weak());
            }
        });
}

/// A text over the whole width, in as many lines as it needs.
fn sentence(ui: &mut Ui, what: &str, font: FontId, color: Color32) {
    let room = (ui.available_width() - 20.0).max(60.0);
    let job = LayoutJob::simple(theme::two_dashes(what), font, color, room);
    let galley = ui.painter().layout_job(job);
    let (rect, response) = control::row(ui, galley.size().y + 2.0, Sense::hover());
    control::named(&response, Role::Label, what);
    let at = rect.min + vec2(10.0, 1.0);
    ui.painter().galley(at, galley, color);
}

fn line(ui: &mut Ui, name: &str, what: &str, color: Color32) {
    let room = (ui.available_width() - 150.0).max(60.0);
    let painter = ui.painter().clone();
    let mut job = LayoutJob::simple(what.to_owned(), theme::mono(), color, room);
    job.wrap.max_rows = 4;
    let galley = painter.layout_job(job);
    let (rect, response) = control::row(ui, galley.size().y + 2.0, Sense::hover());
    control::named(&response, Role::Label, &format!("{name}: {what}"));
    let (at, font) = (rect.min + vec2(10.0, 1.0), theme::mono());
    label::below(&painter, at, 128.0, name, font, theme::weak());
    painter.galley(rect.min + vec2(144.0, 1.0), galley, color);
}

/// Both packets, one beside the other where there is room.
fn bytes(ui: &mut Ui, parting: &Parting) {
    let (Some(expected), Some(came)) = (&parting.expected_bytes, &parting.came_bytes) else {
        return;
    };
    let count = expected.len().max(came.len());
    let first = (0..count).find(|&place| expected.get(place) != came.get(place));
    let half = (ui.available_width() - 12.0) / 2.0;
    let columns = (((half - 56.0) / BYTE).floor() as usize).clamp(4, 16) / 4 * 4;
    let rows = count.div_ceil(columns.max(1));
    let size = vec2(ui.available_width(), (rows as f32 + 1.0) * ROW + 6.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    for (name, bytes, other, left) in [
        ("expected", expected, came, 0.0),
        ("came", came, expected, half + 12.0),
    ] {
        let area = Rect::from_min_size(rect.min + vec2(left, 0.0), vec2(half, size.y));
        let response = ui.interact(area, ui.scope_id().with(("bytes", name)), Sense::hover());
        let label = match first {
            Some(first) => format!("{name}: {} bytes, byte {first} differs first", bytes.len()),
            None => format!("{name}: {} bytes, the same", bytes.len()),
        };
        control::named(&response, Role::Image, &label);
        let painter = ui.painter_at(area);
        let title = format!("{name}, {} bytes", bytes.len());
        let at = area.min + vec2(10.0, 1.0);
        label::below(&painter, at, half, &title, theme::small(), theme::weak());
        for row in 0..rows {
            let y = area.top() + (row as f32 + 1.0) * ROW;
            let start = row * columns;
            let offset = format!("{start:04x}");
            let at = pos2(area.left() + 10.0, y + 1.0);
            painter.text(at, Align2::LEFT_TOP, offset, theme::small(), theme::dim());
            for place in start..(start + columns).min(bytes.len()) {
                let x = area.left() + 48.0 + (place - start) as f32 * BYTE;
                let cell = Rect::from_min_size(pos2(x - 2.0, y), vec2(BYTE, ROW));
                let differs = bytes.get(place) != other.get(place);
                let color = match (Some(place) == first, differs) {
                    (true, _) => {
                        painter.rect_filled(cell, 2.0, theme::error());
                        theme::ink_on(theme::error())
                    }
                    (false, true) => {
                        painter.rect_filled(cell, 0.0, theme::faded(theme::error(), 0.25));
                        theme::text()
                    }
                    (false, false) => theme::weak(),
                };
                let digits = text::hex(bytes.get(place..=place).unwrap_or_default());
                let at = pos2(x, y + 1.0);
                painter.text(at, Align2::LEFT_TOP, digits, theme::mono(), color);
            }
        }
    }
}

//! The whole session in one strip: traffic, loss, findings, and which part is in view.

use egui::{Color32, CursorIcon, Mesh, Painter, Rect, Role, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, MinimapColumn, Model};
use netreel_protocol::history::Level;
use netreel_protocol::session::SessionTime;

use super::axis::TimeRect;
use super::timeline::bar;
use super::{axis, control, label};
use crate::{glyph, theme};

const HEIGHT: f32 = 46.0;

/// How near an edge of the frame the pointer takes hold of it, in points.
const EDGE: f32 = 5.0;

/// Draws the strip. A click or a drag brings a time into view, a drag of the frame's edge shows less
/// or more; the wheel zooms.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let (view, _) = control::row(ui, HEIGHT, Sense::hover());
    control::close_up(ui);
    let rect = axis::time_rect(view, model);
    let response = ui
        .interact(rect, ui.scope_id().with("minimap"), Sense::click_and_drag())
        .on_hover_cursor(CursorIcon::PointingHand);
    let whole = TimeRect {
        rect,
        scale: model.whole_scale(rect.width()),
    };
    let painter = ui.painter_at(view);
    painter.rect_filled(view, 0.0, theme::background());
    painter.hline(view.x_range(), view.bottom() - 0.5, (1.0, theme::line()));
    let at = pos2(view.left() + 10.0, view.center().y - 2.0);
    label::text(&painter, at, "session", theme::small(), theme::weak());

    let columns = model.minimap(rect.width());
    let taken = model.minimap_taken(rect.width());
    let most = columns
        .iter()
        .map(|column| column.events)
        .max()
        .unwrap_or(1)
        .max(1);
    let quiet = if taken.is_some() { 0.3 } else { 0.75 };
    strip(&painter, rect, &columns, most, (theme::plain(), quiet));
    if let Some(taken) = &taken {
        strip(&painter, rect, taken, most, (theme::accent(), 1.0));
    }
    axis::gaps(&painter, &whole, view.y_range());
    flags(&painter, &whole, model);
    if let Some(range) = model.measured_time() {
        axis::measured_band(&painter, &whole, &range);
    }
    window(&painter, &whole, model);
    let held = edges(ui, &whole, model, commands);
    if !held
        && (response.clicked() || response.dragged())
        && let Some(at) = axis::time_at(&response, &whole)
    {
        let middle = model.scale(rect.width()).time(rect.width() / 2.0);
        let scale = &whole.scale;
        commands.push(Command::Pan(
            scale.ns((scale.exact_x(at) - scale.exact_x(middle)) as f32),
        ));
    } else if !response.dragged() {
        axis::navigate(ui, &response, &whole, commands);
    }
}

/// Traffic as bars, loss below them.
fn strip(
    painter: &Painter,
    time: Rect,
    columns: &[MinimapColumn],
    most: u32,
    (color, strength): (Color32, f32),
) {
    let floor = time.bottom() - 6.0;
    let room = HEIGHT - 20.0;
    let lost = theme::faded(theme::warning(), strength.max(0.5));
    let color = theme::faded(color, strength);
    let mut mesh = Mesh::default();
    for column in columns {
        let x = (time.left() + column.column as f32).round();
        // The square root keeps single packets visible beside bursts.
        let part = (column.events as f32 / most as f32).sqrt();
        let top = floor - (part * room).max(1.5);
        mesh.add_colored_rect(bar(x, top, floor), color);
        if column.lost > 0 {
            mesh.add_colored_rect(bar(x, floor + 1.0, floor + 5.0), lost);
        }
    }
    painter.add(mesh);
}

/// The edges of the frame, which can be dragged. Returns whether somebody holds one.
fn edges(ui: &Ui, whole: &TimeRect, model: &Model, commands: &mut Commands) -> bool {
    let visible = model.visible();
    let mut held = false;
    for (name, is_left) in [
        ("left edge of the frame", true),
        ("right edge of the frame", false),
    ] {
        let (at, outwards) = if is_left {
            (whole.x(visible.start), -1.0)
        } else {
            let right = whole.x(visible.end).max(whole.x(visible.start) + 3.0);
            (right, 1.0)
        };
        // Mostly outside, so that a narrow frame can be taken in its middle.
        let centre = pos2(at + outwards * EDGE * 0.6, whole.rect.center().y);
        let strip = Rect::from_center_size(centre, vec2(2.0 * EDGE, whole.rect.height()));
        let response = ui
            .interact(strip, ui.scope_id().with(name), Sense::drag())
            .on_hover_cursor(CursorIcon::ResizeHorizontal);
        control::named(&response, Role::Splitter, name);
        held |= response.dragged();
        if response.dragged()
            && let Some(pointer) = response.interact_pointer_pos()
        {
            let to = whole.at(pointer.x);
            let range = if is_left {
                to.min(visible.end)..visible.end
            } else {
                visible.start..to.max(visible.start)
            };
            if range != visible {
                commands.push(Command::Show(range));
            }
        }
    }
    held
}

/// Findings as marks at the top; the worst of a column on top of the others.
fn flags(painter: &Painter, whole: &TimeRect, model: &Model) {
    let mut last: Option<(f32, Level)> = None;
    let mut marks: Vec<(f32, Level)> = model
        .minimap_flags(whole.rect.width())
        .iter()
        .map(|flag| (whole.x(flag.time).round(), flag.level))
        .collect();
    marks.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
    for (x, level) in marks {
        if last == Some((x, level)) {
            continue;
        }
        last = Some((x, level));
        let color = theme::level(level);
        let top = whole.rect.top() + 3.0;
        match level {
            Level::Info => {
                painter.vline(x, top + 3.0..=top + 7.0, (1.0, theme::faded(color, 0.6)));
            }
            _ => {
                let corners = [(-4.0, 0.0), (4.0, 0.0), (0.0, 7.0)];
                glyph::polygon(painter, pos2(x, top), 1.0, &corners, color);
            }
        }
    }
}

/// What is in view.
fn window(painter: &Painter, whole: &TimeRect, model: &Model) {
    let (visible, rect) = (model.visible(), whole.rect);
    let x = |at: SessionTime| whole.x(at).round();
    let (left, right) = (x(visible.start), x(visible.end).max(x(visible.start) + 3.0));
    let shade = theme::faded(theme::background(), 0.55);
    let side = |from: f32, to: f32| {
        Rect::from_min_max(pos2(from, rect.top()), pos2(to, rect.bottom() - 1.0))
    };
    painter.rect_filled(side(rect.left(), left), 0.0, shade);
    painter.rect_filled(side(right, rect.right()), 0.0, shade);
    painter.rect_stroke(
        side(left, right).shrink(0.5),
        2.0,
        (1.0, theme::accent()),
        egui::StrokeKind::Inside,
    );
}

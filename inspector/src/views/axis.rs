//! What all views of time share: where time lies, its labels, and how it is moved.

use egui::{
    Event, Id, MouseWheelUnit, Painter, Rect, Response, Role, Sense, Shape, Stroke, Ui, pos2, vec2,
};
use netreel_inspector_model::{Command, Model, Scale, text, ticks};
use netreel_protocol::session::SessionTime;

use super::control;
use crate::theme;

/// Height of the labelled axis.
pub const HEIGHT: f32 = 22.0;

/// Room at the right edge.
const MARGIN: f32 = 14.0;

/// The part of a view in which time runs from left to right.
pub fn time_rect(view: Rect, model: &Model) -> Rect {
    let mut rect = view;
    rect.min.x = (view.left() + theme::gutter(model)).min(view.right() - 1.0);
    rect.max.x = (view.right() - MARGIN).max(rect.min.x + 1.0);
    rect
}

/// A view of time: where things lie in it, and what it is drawn with.
pub struct TimeView {
    /// All of it.
    pub view: Rect,
    /// The labelled axis.
    pub ruler: Rect,
    /// Below the axis, where time runs from left to right.
    pub time: Rect,
    pub scale: Scale,
    pub response: Response,
    /// Cut to the view.
    pub painter: Painter,
}

impl TimeView {
    /// What is left of a pane, with the axis drawn; `label` is what it is called.
    pub fn new(ui: &mut Ui, model: &Model, id: &str, label: &str) -> TimeView {
        let view = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(view);
        let mut time = time_rect(view, model);
        let ruler = Rect::from_min_size(time.min, vec2(time.width(), HEIGHT));
        time.min.y = ruler.bottom();
        let scale = model.scale(time.width());
        let response = ui.interact(view, ui.scope_id().with(id), Sense::click_and_drag());
        control::named(&response, Role::Canvas, label);
        let painter = ui.painter_at(view);
        painter.rect_filled(view, 0.0, theme::panel());
        let below = Rect::from_min_max(ruler.min, pos2(time.right(), view.bottom()));
        gaps(&painter.with_clip_rect(below), below, time, &scale);
        show(&painter, ruler, view.bottom(), &scale);
        TimeView {
            view,
            ruler,
            time,
            scale,
            response,
            painter,
        }
    }

    /// Draws the cursor, and reads what a hand does to time.
    pub fn finish(&self, ui: &Ui, model: &Model, commands: &mut Vec<Command>) {
        // What was sent then is of all links; here stands what is of one, or of no packet.
        if let Some(range) = model.measured_time() {
            let words = text::duration(range.end.0.saturating_sub(range.start.0));
            measured(&self.painter, self.time, &self.scale, (&range, words));
        }
        cursor(&self.painter, self.time, &self.scale, model);
        navigate(ui, &self.response, self.time, &self.scale, commands);
        if self.response.clicked() {
            commands.push(Command::SetCursor(time_at(
                &self.response,
                self.time,
                &self.scale,
            )));
        }
        if self.response.secondary_clicked() {
            commands.push(Command::SetCursor(None));
        }
    }
}

/// Draws the axis over `axis` and faint lines down to `bottom`. How long folded times are stands
/// where they are, before any tick.
pub fn show(painter: &Painter, axis: Rect, bottom: f32, scale: &Scale) {
    if scale.gaps().is_empty() {
        painter.rect_filled(axis, 0.0, theme::panel());
    }
    let mut taken: Vec<std::ops::RangeInclusive<f32>> = Vec::new();
    let mut write = |text: String, left: f32, color| {
        let label = painter.layout_no_wrap(text, theme::small(), color);
        let right = left + label.size().x;
        let is_free = |taken: &std::ops::RangeInclusive<f32>| {
            right + 6.0 < *taken.start() || left - 6.0 > *taken.end()
        };
        if !taken.iter().all(is_free) {
            return;
        }
        taken.push(left..=right);
        let top = axis.center().y - label.size().y / 2.0;
        let behind = Rect::from_min_size(pos2(left, top), label.size());
        painter.rect_filled(behind.expand(2.0), 0.0, theme::panel());
        painter.galley(behind.min, label, color);
    };
    let width = |text: &str| {
        painter
            .layout_no_wrap(text.to_owned(), theme::small(), theme::weak())
            .size()
            .x
    };
    for (gap, length) in scale.gaps() {
        let x = |at| (axis.left() + scale.x(at)).clamp(axis.left(), axis.right());
        let middle = (x(gap.start) + x(gap.end)) / 2.0;
        let text = format!("{length} idle");
        let half = width(&text) / 2.0;
        let left = (middle - half).clamp(axis.left(), (axis.right() - 2.0 * half).max(axis.left()));
        write(text, left, theme::warning());
    }
    for tick in ticks(scale, 110.0) {
        let x = (axis.left() + scale.x(tick.time)).round() + 0.5;
        if tick.label.is_empty() {
            painter.vline(x, axis.bottom() - 3.0..=axis.bottom(), (1.0, theme::line()));
            continue;
        }
        painter.vline(x, axis.bottom() - 6.0..=bottom, (1.0, theme::faint()));
        // The last one stands before its line where there is no room behind it; where there is none
        // there either, its line is enough.
        let width = width(&tick.label);
        let left = if x + 4.0 + width <= axis.right() + MARGIN {
            x + 4.0
        } else {
            x - 4.0 - width
        };
        write(tick.label, left, theme::weak());
    }
    painter.hline(axis.x_range(), axis.bottom() - 0.5, (1.0, theme::line()));
}

/// Draws what is folded: a band over `view` with two torn edges.
pub fn gaps(painter: &Painter, view: Rect, time: Rect, scale: &Scale) {
    for (gap, _) in scale.gaps() {
        let x = |at| (time.left() + scale.x(at)).clamp(time.left() - 4.0, time.right() + 4.0);
        let band = Rect::from_x_y_ranges(x(gap.start)..=x(gap.end), view.y_range());
        painter.rect_filled(band, 0.0, theme::background());
        for x in [band.left(), band.right()] {
            let points = (0..=(band.height() / 5.0) as usize).map(|step| {
                let aside = if step % 2 == 0 { -2.0 } else { 2.0 };
                pos2(x + aside, band.top() + step as f32 * 5.0)
            });
            let edge = Stroke::new(1.0, theme::quiet(theme::plain(), 0.6));
            painter.add(Shape::line(points.collect(), edge));
        }
    }
}

/// Draws a time that somebody has measured, with words to it.
pub fn measured(
    painter: &Painter,
    time: Rect,
    scale: &Scale,
    (range, words): (&std::ops::Range<SessionTime>, String),
) {
    let Some(band) = measured_band(painter, time, scale, range) else {
        return;
    };
    let galley = painter.layout_no_wrap(words, theme::mono(), theme::ink());
    label(painter, time, band.x_range(), &galley);
}

/// The band of a measured time alone; `None` where it is not in view.
pub fn measured_band(
    painter: &Painter,
    time: Rect,
    scale: &Scale,
    range: &std::ops::Range<SessionTime>,
) -> Option<Rect> {
    let x = |at| time.left() + scale.x(at);
    let (left, right) = (x(range.start), x(range.end));
    if right < time.left() || left > time.right() {
        return None;
    }
    let within = |x: f32| x.clamp(time.left(), time.right());
    let band = Rect::from_x_y_ranges(within(left)..=within(right), time.y_range());
    painter.rect_filled(band, 0.0, theme::faded(theme::accent(), 0.1));
    for x in [left, right] {
        if time.x_range().contains(x) {
            painter.vline(x, band.y_range(), (1.0, theme::accent()));
        }
    }
    Some(band)
}

/// Words over the middle of a stretch of time, within a view of it.
fn label(painter: &Painter, time: Rect, over: egui::Rangef, galley: &std::sync::Arc<egui::Galley>) {
    let most = (time.right() - galley.size().x - 4.0).max(time.left());
    let middle = (over.min + over.max - galley.size().x) / 2.0;
    let at = pos2(middle.clamp(time.left(), most), time.top() + 6.0);
    let place = Rect::from_min_size(at, galley.size());
    painter.rect_filled(place.expand(3.0), 2.0, theme::background());
    painter.galley(place.min, std::sync::Arc::clone(galley), theme::ink());
}

/// Draws the time cursor.
pub fn cursor(painter: &Painter, time: Rect, scale: &Scale, model: &Model) {
    let Some(at) = model.cursor() else { return };
    let x = (time.left() + scale.x(at)).round() + 0.5;
    if time.x_range().contains(x) {
        let points = [pos2(x, time.top()), pos2(x, time.bottom())];
        let line = Stroke::new(1.0, theme::faded(theme::accent(), 0.8));
        painter.extend(Shape::dashed_line(&points, line, 4.0, 3.0));
    }
}

/// Pans by drag, with Shift measures, with Alt shows what was dragged over; zooms by wheel at the
/// pointer, pans by a wheel that goes sideways.
pub fn navigate(
    ui: &Ui,
    response: &Response,
    time: Rect,
    scale: &Scale,
    commands: &mut Vec<Command>,
) {
    if stretch(ui, response, time, scale, commands) {
        // Time stays where it is meanwhile.
    } else if response.dragged() && response.drag_delta().x != 0.0 {
        commands.push(Command::Pan(-scale.ns(response.drag_delta().x)));
    }
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    note_pointer(ui, scale.time(pointer.x - time.left()));
    let (lines, sideways) = wheel(ui);
    if lines != 0.0 {
        commands.push(Command::Zoom {
            at: scale.time(pointer.x - time.left()),
            factor: 1.2_f64.powf(f64::from(lines)),
        });
    }
    if sideways != 0.0 {
        commands.push(Command::Pan(-scale.ns(sideways)));
    }
    // Of two fingers alone: with Ctrl the wheel makes everything larger.
    let pinch = ui.input(|input| {
        let pinches = input.events.iter().map(|event| match event {
            Event::Zoom(factor) => *factor,
            _ => 1.0,
        });
        let fingers = input.multi_touch().map_or(1.0, |touch| touch.zoom_delta);
        pinches.product::<f32>() * fingers
    });
    if pinch != 1.0 && lines == 0.0 {
        commands.push(Command::Zoom {
            at: scale.time(pointer.x - time.left()),
            factor: f64::from(pinch),
        });
    }
}

/// What is being dragged over while Shift or Alt is held: how long it is is written beside it. When the
/// button is let go of, it is shown alone with Alt, and stays measured with Shift. Whether that is what
/// is done.
fn stretch(
    ui: &Ui,
    response: &Response,
    time: Rect,
    scale: &Scale,
    commands: &mut Vec<Command>,
) -> bool {
    let held = ui.input(|input| input.modifiers);
    let is_it = (held.shift || held.alt) && (response.dragged() || response.drag_stopped());
    let from = ui.input(|input| input.pointer.press_origin());
    let key = response.id.with("stretch");
    // Where the button went down is forgotten in the frame in which it comes up.
    let from = from.or_else(|| ui.data(|data| data.get_temp(key)));
    let (Some(from), Some(to)) = (from, response.interact_pointer_pos()) else {
        return false;
    };
    if !is_it {
        return false;
    }
    ui.data_mut(|data| data.insert_temp(key, from));
    let within = |x: f32| x.clamp(time.left(), time.right());
    let (left, right) = (within(from.x.min(to.x)), within(from.x.max(to.x)));
    let at = |x: f32| scale.time(x - time.left());
    let (start, end) = (at(left), at(right));
    if response.drag_stopped() {
        match end > start {
            true if held.alt => commands.push(Command::Show(start..end)),
            true => commands.push(Command::Measure(Some(start..end))),
            false => {}
        }
        return true;
    }
    let layer = egui::LayerId::new(egui::Order::Foreground, Id::unique("stretch of time"));
    let painter = ui.ctx().layer_painter(layer);
    let band = Rect::from_x_y_ranges(left..=right, time.y_range());
    painter.rect_filled(band, 0.0, theme::faded(theme::accent(), 0.15));
    for x in [left, right] {
        painter.vline(x, band.y_range(), (1.0, theme::accent()));
    }
    let said = text::duration(end.0.saturating_sub(start.0));
    let galley = painter.layout_no_wrap(said, theme::mono(), theme::ink());
    label(&painter, time, band.x_range(), &galley);
    true
}

fn pointer_key() -> Id {
    Id::unique("time under the pointer")
}

/// Remembers what time the pointer is at.
fn note_pointer(ui: &Ui, time: SessionTime) {
    let known: Option<SessionTime> = ui.ctx().data(|data| data.get_temp(pointer_key()));
    if known != Some(time) {
        ui.ctx().data_mut(|data| {
            data.insert_temp(pointer_key(), time);
        });
        ui.ctx().request_repaint();
    }
}

/// The time that the pointer was over last.
pub fn pointer_time(ui: &Ui) -> Option<SessionTime> {
    ui.ctx().data(|data| data.get_temp(pointer_key()))
}

/// The time at a place that was clicked or is pointed at.
pub fn time_at(response: &Response, time: Rect, scale: &Scale) -> Option<SessionTime> {
    Some(scale.time(response.interact_pointer_pos().or(response.hover_pos())?.x - time.left()))
}

/// How far the wheel was turned in this frame, in lines away from the user.
pub fn wheel_lines(ui: &Ui) -> f32 {
    wheel(ui).0
}

/// How far the wheel was turned in this frame with Ctrl held down, in lines away from the user.
pub fn wheel_with_command(ui: &Ui) -> f32 {
    ui.input(|input| {
        input
            .events
            .iter()
            .map(|event| match event {
                Event::MouseWheel {
                    unit,
                    delta,
                    modifiers,
                    ..
                } if modifiers.command => match unit {
                    MouseWheelUnit::Line | MouseWheelUnit::Page => delta.y,
                    MouseWheelUnit::Point => delta.y / 50.0,
                },
                _ => 0.0,
            })
            .sum()
    })
}

/// The wheel in this frame: lines away from the user, points to the right. Taken as it comes, not
/// smoothed over frames: nothing moves by itself.
fn wheel(ui: &Ui) -> (f32, f32) {
    ui.input(|input| {
        let mut lines = 0.0;
        let mut sideways = 0.0;
        for event in &input.events {
            let Event::MouseWheel {
                unit,
                delta,
                modifiers,
                ..
            } = event
            else {
                continue;
            };
            let (line, point) = match unit {
                MouseWheelUnit::Line => (1.0, 50.0),
                MouseWheelUnit::Page => (10.0, 500.0),
                MouseWheelUnit::Point => (1.0 / 50.0, 1.0),
            };
            if modifiers.shift {
                sideways += (delta.x + delta.y) * point;
            } else if !modifiers.command {
                lines += delta.y * line;
                sideways += delta.x * point;
            }
        }
        (lines, sideways)
    })
}

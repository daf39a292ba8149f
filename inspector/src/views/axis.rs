//! What all views of time share: where time lies, its labels, and how it is moved.

use std::ops::{Range, RangeInclusive};

use egui::{
    Color32, Event, MouseWheelUnit, Order, Painter, Rangef, Rect, Response, Role, Sense, Shape, Ui,
    Vec2, pos2,
};
use netreel_inspector_model::{Command, Commands, Model, Scale, text, ticks};
use netreel_protocol::session::SessionTime;

use super::{control, label, memory};
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

/// A stretch of time over a rectangle: which moment lies where.
#[derive(Clone)]
pub struct TimeRect {
    pub rect: Rect,
    pub scale: Scale,
}

impl TimeRect {
    /// The visible time in its part of a view.
    pub fn new(view: Rect, model: &Model) -> TimeRect {
        let rect = time_rect(view, model);
        let scale = model.scale(rect.width());
        TimeRect { rect, scale }
    }

    /// The same time higher or lower.
    pub fn over(&self, y: Rangef) -> TimeRect {
        let rect = Rect::from_x_y_ranges(self.rect.x_range(), y);
        let scale = self.scale.clone();
        TimeRect { rect, scale }
    }

    /// Where a moment lies: outside the rectangle, where it is not visible.
    pub fn x(&self, at: SessionTime) -> f32 {
        self.rect.left() + self.scale.x(at)
    }

    /// The same, at the edge that is nearest to what lies outside.
    pub fn x_inside(&self, at: SessionTime) -> f32 {
        self.inside(self.x(at))
    }

    fn inside(&self, x: f32) -> f32 {
        x.clamp(self.rect.left(), self.rect.right())
    }

    /// Where a line of one pixel for a moment lies, if that is visible.
    pub fn line_x(&self, at: SessionTime) -> Option<f32> {
        let x = self.x(at).round() + 0.5;
        self.has(x).then_some(x)
    }

    /// The moment at a place.
    pub fn at(&self, x: f32) -> SessionTime {
        self.scale.time(x - self.rect.left())
    }

    /// Whether a place is neither left nor right of it.
    pub fn has(&self, x: f32) -> bool {
        self.rect.x_range().contains(x)
    }
}

/// A view of time: where things lie in it, and what it is drawn with.
pub struct TimeView {
    /// All of it.
    pub view: Rect,
    /// The labelled axis.
    pub ruler: Rect,
    /// Below the axis, where time runs from left to right.
    pub time: TimeRect,
    pub response: Response,
    /// Cut to the view.
    pub painter: Painter,
}

impl TimeView {
    /// What is left of a pane, with the axis drawn; `label` is what it is called.
    pub fn new(ui: &mut Ui, model: &Model, id: &str, label: &str) -> TimeView {
        let view = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(view);
        let mut time = TimeRect::new(view, model);
        let ruler = time.over(Rangef::new(view.top(), view.top() + HEIGHT));
        time.rect.min.y = ruler.rect.bottom();
        let response = ui.interact(view, ui.scope_id().with(id), Sense::click_and_drag());
        control::named(&response, Role::Canvas, label);
        let painter = ui.painter_at(view);
        painter.rect_filled(view, 0.0, theme::panel());
        let below = ruler.rect.union(time.rect);
        gaps(&painter.with_clip_rect(below), &time, below.y_range());
        show(&painter, &ruler, view.bottom());
        TimeView {
            view,
            ruler: ruler.rect,
            time,
            response,
            painter,
        }
    }

    /// Draws the cursor, and reads what a hand does to time.
    pub fn finish(&self, ui: &Ui, model: &Model, commands: &mut Commands) {
        // What was sent then is of all links; here stands what is of one, or of no packet.
        if let Some(range) = model.measured_time() {
            let words = text::duration(range.end.0.saturating_sub(range.start.0));
            measured(&self.painter, &self.time, (&range, words));
        }
        cursor(&self.painter, &self.time, model);
        navigate(ui, &self.response, &self.time, commands);
        if self.response.clicked() {
            commands.push(Command::SetCursor(time_at(&self.response, &self.time)));
        }
        if self.response.secondary_clicked() {
            commands.push(Command::SetCursor(None));
        }
    }
}

/// Draws the axis over `axis` and faint lines down to `bottom`. How long folded times are stands
/// where they are, before any tick.
pub fn show(painter: &Painter, time: &TimeRect, bottom: f32) {
    let (axis, scale) = (time.rect, &time.scale);
    if scale.gaps().is_empty() {
        painter.rect_filled(axis, 0.0, theme::panel());
    }
    let mut taken: Vec<RangeInclusive<f32>> = Vec::new();
    let mut write = |text: String, left: f32, color| {
        let label = painter.layout_no_wrap(text, theme::small(), color);
        let right = left + label.size().x;
        let is_free =
            |taken: &RangeInclusive<f32>| right + 6.0 < *taken.start() || left - 6.0 > *taken.end();
        if !taken.iter().all(is_free) {
            return;
        }
        taken.push(left..=right);
        let at = pos2(left, axis.center().y - label.size().y / 2.0);
        let patch = (Vec2::splat(2.0), 0.0, theme::panel());
        label::over(painter, at, label, patch, color);
    };
    let width = |text: &str| label::width(painter, text, theme::small());
    for (gap, length) in scale.gaps() {
        let middle = (time.x_inside(gap.start) + time.x_inside(gap.end)) / 2.0;
        let text = format!("{length} idle");
        let half = width(&text) / 2.0;
        let left = (middle - half).clamp(axis.left(), (axis.right() - 2.0 * half).max(axis.left()));
        write(text, left, theme::warning());
    }
    for tick in ticks(scale, 110.0) {
        let x = time.x(tick.time).round() + 0.5;
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

/// Draws what is folded: a band as high as `y` with two torn edges.
pub fn gaps(painter: &Painter, time: &TimeRect, y: Rangef) {
    let (least, most) = (time.rect.left() - 4.0, time.rect.right() + 4.0);
    for (gap, _) in time.scale.gaps() {
        let x = |at| time.x(at).clamp(least, most);
        let band = Rect::from_x_y_ranges(x(gap.start)..=x(gap.end), y);
        painter.rect_filled(band, 0.0, theme::background());
        for x in [band.left(), band.right()] {
            let points = (0..=(band.height() / 5.0) as usize).map(|step| {
                let aside = if step % 2 == 0 { -2.0 } else { 2.0 };
                pos2(x + aside, band.top() + step as f32 * 5.0)
            });
            let edge = (1.0, theme::quiet(theme::plain(), 0.6));
            painter.add(Shape::line(points.collect(), edge));
        }
    }
}

/// Draws a time that somebody has measured, with words to it.
pub fn measured(painter: &Painter, time: &TimeRect, (range, words): (&Range<SessionTime>, String)) {
    if let Some(band) = measured_band(painter, time, range) {
        within(painter, time.rect, band, words);
    }
}

/// The band of a measured time alone; `None` where it is not in view.
pub fn measured_band(
    painter: &Painter,
    time: &TimeRect,
    range: &Range<SessionTime>,
) -> Option<Rect> {
    let (left, right) = (time.x(range.start), time.x(range.end));
    if right < time.rect.left() || left > time.rect.right() {
        return None;
    }
    let across = time.inside(left)..=time.inside(right);
    let band = Rect::from_x_y_ranges(across, time.rect.y_range());
    painter.rect_filled(band, 0.0, theme::faded(theme::accent(), 0.1));
    for x in [left, right] {
        if time.has(x) {
            painter.vline(x, band.y_range(), (1.0, theme::accent()));
        }
    }
    Some(band)
}

/// Words over the middle of a band of time, within a view of it.
fn within(painter: &Painter, time: Rect, over: Rect, words: String) {
    let galley = painter.layout_no_wrap(words, theme::mono(), theme::ink());
    let most = (time.right() - galley.size().x - 4.0).max(time.left());
    let middle = (over.left() + over.right() - galley.size().x) / 2.0;
    let at = pos2(middle.clamp(time.left(), most), time.top() + 6.0);
    let patch = (Vec2::splat(3.0), 2.0, theme::background());
    label::over(painter, at, galley, patch, theme::ink());
}

/// Draws the time cursor.
pub fn cursor(painter: &Painter, time: &TimeRect, model: &Model) {
    dashed(
        painter,
        time,
        model.cursor(),
        theme::faded(theme::accent(), 0.8),
        4.0,
    );
}

/// Draws a dashed line at a moment, with dashes so long.
pub fn dashed(
    painter: &Painter,
    time: &TimeRect,
    at: Option<SessionTime>,
    color: Color32,
    dash: f32,
) {
    if let Some(x) = at.and_then(|at| time.line_x(at)) {
        let points = [pos2(x, time.rect.top()), pos2(x, time.rect.bottom())];
        painter.extend(Shape::dashed_line(&points, (1.0, color), dash, 3.0));
    }
}

/// Pans by drag, with Shift measures, with Alt shows what was dragged over; zooms by wheel at the
/// pointer, pans by a wheel that goes sideways.
pub fn navigate(ui: &Ui, response: &Response, time: &TimeRect, commands: &mut Commands) {
    let scale = &time.scale;
    if stretch(ui, response, time, commands) {
        // Time stays where it is meanwhile.
    } else if response.dragged() && response.drag_delta().x != 0.0 {
        commands.push(Command::Pan(-scale.ns(response.drag_delta().x)));
    }
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let at = time.at(pointer.x);
    note_pointer(ui, at);
    let (lines, sideways) = wheel(ui);
    if lines != 0.0 {
        let factor = 1.2_f64.powf(f64::from(lines));
        commands.push(Command::Zoom { at, factor });
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
        let factor = f64::from(pinch);
        commands.push(Command::Zoom { at, factor });
    }
}

/// What is being dragged over while Shift or Alt is held: how long it is is written beside it. When the
/// button is let go of, it is shown alone with Alt, and stays measured with Shift. Whether that is what
/// is done.
fn stretch(ui: &Ui, response: &Response, time: &TimeRect, commands: &mut Commands) -> bool {
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
    let left = time.inside(from.x.min(to.x));
    let right = time.inside(from.x.max(to.x));
    let (start, end) = (time.at(left), time.at(right));
    if response.drag_stopped() {
        match end > start {
            true if held.alt => commands.push(Command::Show(start..end)),
            true => commands.push(Command::Measure(Some(start..end))),
            false => {}
        }
        return true;
    }
    let painter = control::on_layer(ui.ctx(), Order::Foreground, "stretch of time");
    let band = Rect::from_x_y_ranges(left..=right, time.rect.y_range());
    painter.rect_filled(band, 0.0, theme::faded(theme::accent(), 0.15));
    for x in [left, right] {
        painter.vline(x, band.y_range(), (1.0, theme::accent()));
    }
    let said = text::duration(end.0.saturating_sub(start.0));
    within(&painter, time.rect, band, said);
    true
}

const POINTER: &str = "time under the pointer";

/// Remembers what time the pointer is at.
fn note_pointer(ui: &Ui, time: SessionTime) {
    if pointer_time(ui) != Some(time) {
        memory::keep(ui.ctx(), POINTER, time);
        ui.ctx().request_repaint();
    }
}

/// The time that the pointer was over last.
pub fn pointer_time(ui: &Ui) -> Option<SessionTime> {
    memory::get(ui.ctx(), POINTER)
}

/// The time at a place that was clicked or is pointed at.
pub fn time_at(response: &Response, time: &TimeRect) -> Option<SessionTime> {
    let at = response.interact_pointer_pos().or(response.hover_pos())?;
    Some(time.at(at.x))
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

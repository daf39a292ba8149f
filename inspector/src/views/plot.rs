//! What all drawings of values over time share: a strip with its name and its scale at the left.

use egui::{Align2, Color32, Mesh, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2};

use super::axis::TimeRect;
use super::label::{self, elided};
use crate::theme;

/// A strip of a plot: values from `least` at the bottom to `most` at the top.
#[derive(Clone, Copy, Debug)]
pub struct Strip {
    /// Where values are drawn.
    pub time: Rect,
    pub least: f64,
    pub most: f64,
}

impl Strip {
    /// How high a value stands; not outside the strip.
    pub fn y(&self, value: f64) -> f32 {
        let length = (self.most - self.least).max(f64::MIN_POSITIVE);
        let part = ((value - self.least) / length).clamp(0.0, 1.0);
        self.time.bottom() - part as f32 * self.time.height()
    }
}

/// One of several rows of this height below each other, over all of a view.
pub fn row(view: Rect, time: &TimeRect, place: usize, height: f32) -> Rect {
    let top = time.rect.top() + place as f32 * height;
    Rect::from_x_y_ranges(view.x_range(), top..=top + height)
}

/// What stands at the left of a strip.
pub struct Head<'a> {
    pub name: &'a str,
    /// Below the name.
    pub note: &'a str,
    /// At the strip's top and at its bottom.
    pub ends: (String, String),
}

/// Draws the frame of a strip over `view`, and returns it. `time` says from where to where time runs.
pub fn strip(
    painter: &Painter,
    view: Rect,
    TimeRect { rect: time, .. }: &TimeRect,
    head: &Head<'_>,
    (least, most): (f64, f64),
) -> Strip {
    let line = (1.0, theme::faint());
    painter.hline(view.x_range(), view.bottom() - 0.5, line);
    let inside = Rect::from_x_y_ranges(
        time.x_range(),
        view.top() + 5.0..=(view.bottom() - 4.0).max(view.top() + 6.0),
    );
    let room = time.left() - view.left() - 14.0;
    let left = view.left() + 10.0;
    let name = elided(painter, head.name, theme::body(), room, theme::text());
    let mut top = view.top() + 3.0;
    let height = name.size().y;
    painter.galley(pos2(left, top), name, theme::text());
    top += height;
    if !head.note.is_empty() && top + 14.0 < view.bottom() {
        let (at, font) = (pos2(left, top), theme::small());
        label::below(painter, at, room, head.note, font, theme::weak());
    }
    painter.hline(time.x_range(), inside.top(), line);
    Strip {
        time: inside,
        least,
        most,
    }
}

/// Writes at its ends where a strip ends: over what is drawn in it, which shows through.
pub fn ends(painter: &Painter, strip: &Strip, head: &Head<'_>) {
    let inside = strip.time;
    if inside.height() <= 26.0 {
        return;
    }
    let (upper, lower) = &head.ends;
    let places = [
        (inside.top() + 2.0, Align2::LEFT_TOP, upper),
        (inside.bottom() - 1.0, Align2::LEFT_BOTTOM, lower),
    ];
    for (y, align, text) in places.into_iter().filter(|(.., text)| !text.is_empty()) {
        let galley = painter.layout_no_wrap(text.clone(), theme::small(), theme::dim());
        let rect = align.anchor_size(pos2(inside.left() + 5.0, y), galley.size());
        let patch = (Vec2::splat(1.0), 0.0, theme::faded(theme::panel(), 0.8));
        label::over(painter, rect.min, galley, patch, theme::dim());
    }
}

/// The next number above that people count in: 1, 2 or 5 with zeros.
pub fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps
        .into_iter()
        .find(|step| step * power >= value * 0.999_999)
        .unwrap_or(10.0)
        * power
}

/// A line through points, cut where there is `None`.
pub fn line(painter: &Painter, points: impl Iterator<Item = Option<Pos2>>, stroke: Stroke) {
    let mut run: Vec<Pos2> = Vec::new();
    let flush = |run: &mut Vec<Pos2>| {
        match run.as_slice() {
            [] => {}
            [only] => drop(painter.circle_filled(*only, 1.2, stroke.color)),
            _ => drop(painter.add(Shape::line(run.clone(), stroke))),
        }
        run.clear();
    };
    for point in points {
        match point {
            Some(point) => run.push(point),
            None => flush(&mut run),
        }
    }
    flush(&mut run);
}

/// From the least to the most, in a few pixels each: one shape of them all, because there are thousands
/// in a frame.
#[derive(Default)]
pub struct Bands(Mesh);

impl Bands {
    /// Adds one.
    pub fn add(&mut self, x: (f32, f32), y: (f32, f32), color: Color32) {
        let (left, right) = (x.0.min(x.1), x.1.max(x.0 + 1.0));
        let (top, bottom) = (y.0.min(y.1), y.1.max(y.0));
        let rect = Rect::from_min_max(pos2(left, top - 0.5), pos2(right, bottom + 0.5));
        self.0.add_colored_rect(rect, color);
    }

    /// Draws them.
    pub fn draw(self, painter: &Painter) {
        painter.add(Shape::mesh(self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn scales_end_at_numbers_that_people_count_in() {
        let rounded = [0.0, 1.0, 1.1, 2.4, 4.9, 51.0, 1_001.0].map(round_up);
        assert_eq!(rounded, [1.0, 1.0, 2.0, 2.5, 5.0, 100.0, 2_000.0]);
    }
}

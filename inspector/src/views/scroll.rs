//! Bringing what was just selected into view, at once and not beyond the end.

use egui::{Context, Id, ScrollArea, Ui};

use super::memory;

/// A list of rows that are equally high, of which those in view are made; `to` is the one to bring into
/// view, and how many stand above it.
pub fn rows<T>(
    ui: &mut Ui,
    list: &'static str,
    height: f32,
    rows: &[T],
    to: Option<(usize, f32)>,
    mut show: impl FnMut(&mut Ui, &T),
) {
    let area = area(ui, list, (rows.len(), height), to);
    area.show_rows(ui, height, rows.len(), |ui, range| {
        rows.get(range)
            .unwrap_or_default()
            .iter()
            .for_each(|row| show(ui, row));
    });
}

/// Where a list of so many rows is scrolled that stand below each other, each so high; `to` as of
/// [`rows`].
pub fn area(
    ui: &mut Ui,
    list: &'static str,
    (rows, height): (usize, f32),
    to: Option<(usize, f32)>,
) -> ScrollArea {
    ui.spacing_mut().item_spacing.y = 0.0;
    let mut area = ScrollArea::vertical().id_salt(list).auto_shrink(false);
    if let Some(to) = to {
        area = area.vertical_scroll_offset(offset(ui, list, to, rows, height));
    }
    note_length(ui.ctx(), list, rows);
    area
}

/// Whether a value differs from the last frame's.
pub fn changed<T: Copy + PartialEq + Send + Sync + 'static>(
    ctx: &Context,
    what: &'static str,
    now: T,
) -> bool {
    let before = memory::get(ctx, what);
    memory::keep(ctx, what, now);
    before != Some(now)
}

/// How far to scroll a list so that a row stands `above` rows below its top; never so far that there
/// is nothing below, from where egui would glide back. It goes by how long the list was in the last
/// frame, so of a list that has just grown not beyond its end of then. `list` names the list.
fn offset(
    ui: &Ui,
    list: &'static str,
    (row, above): (usize, f32),
    rows: usize,
    height: f32,
) -> f32 {
    let before = length_before(ui.ctx(), list).unwrap_or(rows);
    let end = (rows.min(before) as f32 * height - ui.available_height()).max(0.0);
    ((row as f32 - above).max(0.0) * height).min(end)
}

fn key(list: &'static str) -> Id {
    Id::unique(list).with("rows")
}

/// How many rows a list had in the last frame.
pub fn length_before(ctx: &Context, list: &'static str) -> Option<usize> {
    ctx.data(|data| data.get_temp(key(list)))
}

/// Remembers how many rows a list has in this frame.
pub fn note_length(ctx: &Context, list: &'static str, rows: usize) {
    ctx.data_mut(|data| data.insert_temp(key(list), rows));
}

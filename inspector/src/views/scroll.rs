//! Bringing what was just selected into view, at once and not beyond the end.

/// Whether a value differs from the last frame's.
pub fn changed<T: Copy + PartialEq + Send + Sync + 'static>(
    ctx: &egui::Context,
    what: &'static str,
    now: T,
) -> bool {
    let key = egui::Id::unique(what);
    let before: Option<T> = ctx.data(|data| data.get_temp(key));
    ctx.data_mut(|data| data.insert_temp(key, now));
    before != Some(now)
}

/// How far to scroll a list so that a row stands `above` rows below its top; never so far that there
/// is nothing below, from where egui would glide back. It goes by how long the list was in the last
/// frame, so of a list that has just grown not beyond its end of then. `list` names the list.
pub fn offset(
    ui: &egui::Ui,
    list: &'static str,
    (row, above): (usize, f32),
    rows: usize,
    height: f32,
) -> f32 {
    let before = length_before(ui.ctx(), list).unwrap_or(rows);
    let end = (rows.min(before) as f32 * height - ui.available_height()).max(0.0);
    ((row as f32 - above).max(0.0) * height).min(end)
}

fn key(list: &'static str) -> egui::Id {
    egui::Id::unique(list).with("rows")
}

/// How many rows a list had in the last frame.
pub fn length_before(ctx: &egui::Context, list: &'static str) -> Option<usize> {
    ctx.data(|data| data.get_temp(key(list)))
}

/// Remembers how many rows a list has in this frame.
pub fn note_length(ctx: &egui::Context, list: &'static str, rows: usize) {
    ctx.data_mut(|data| data.insert_temp(key(list), rows));
}

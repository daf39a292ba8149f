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
/// is nothing below, from where egui would glide back.
pub fn offset(ui: &egui::Ui, row: usize, above: f32, rows: usize, height: f32) -> f32 {
    let end = (rows as f32 * height - ui.available_height()).max(0.0);
    ((row as f32 - above).max(0.0) * height).min(end)
}

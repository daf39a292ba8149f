//! The line at the bottom: how much there is, and what is wrong with it.

use egui::{Align, Label, Layout, RichText, Sense, Ui, vec2};
use netreel_inspector_model::{Command, Model, Step, text};

use crate::{glyph, theme};

/// What the keys do; the window's own file has them.
const KEYS: &str = "\
up, down      previous, next packet
left, right   the same on its link
home, end     first, last packet
n, p          next, previous finding
f             bring the selection into view
a             show the whole session
+, -          show less, more time
shift left,
shift right   earlier, later
escape        let go of the selection

wheel         zoom at the pointer
drag          move through time";

/// Draws the line. The pointer over the verdict shows what could not be judged; a click on it selects
/// the next finding.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.set_min_height(17.0);
        let weak = |text: String| RichText::new(text).font(theme::mono()).color(theme::WEAK);
        ui.label(weak(model.status()));
        let (level, verdict) = model.verdict();
        if let Some(level) = level {
            let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
            glyph::level(ui.painter(), rect.center(), 12.0, level);
        }
        let color = level.map_or(theme::WEAK, theme::level);
        let text = RichText::new(verdict).font(theme::body()).color(color);
        let label = Label::new(text).sense(Sense::click()).truncate();
        let room = ui.available_width() - 300.0;
        let clicked = ui
            .scope(|ui| {
                ui.set_max_width(room.max(60.0));
                let mut response = ui.add(label);
                let reasons = model.judgement().map_or(&[][..], |it| &it.reasons);
                if !reasons.is_empty() {
                    let reasons = reasons.iter().map(|reason| reason.sentence.as_str());
                    let reasons = reasons.collect::<Vec<_>>().join("\n");
                    response = response.on_hover_text(reasons);
                }
                response.clicked()
            })
            .inner;
        if clicked && !model.history().findings.is_empty() {
            commands.push(Command::Step(Step::NextFinding));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let cursor = model
                .cursor()
                .map_or_else(String::new, |at| format!("cursor {} s", text::seconds(at)));
            if !cursor.is_empty() {
                ui.label(weak(cursor));
            }
            let keys = RichText::new("keys").font(theme::mono()).color(theme::WEAK);
            ui.label(keys)
                .on_hover_text(RichText::new(KEYS).font(theme::mono()));
            let warnings = model.session().warnings();
            if !warnings.is_empty() {
                let noun = if warnings.len() == 1 { "note" } else { "notes" };
                let text = RichText::new(format!("{} {noun} on the recording", warnings.len()))
                    .font(theme::mono())
                    .color(theme::WARNING);
                ui.label(text).on_hover_text(warnings.join("\n"));
            }
        });
    });
}

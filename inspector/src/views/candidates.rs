//! The wires that are known, and how much of what is shown each of them decodes.

use egui::{Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use netreel_inspector_model::text;

use super::dialogs::{self, Said};
use super::{control, label, memory};
use crate::ask::Candidate;
use crate::theme;

const ROW: f32 = 24.0;
/// Room for the name.
const NAME: f32 = 210.0;
const BAR: f32 = 90.0;

/// What was found out so far.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// `None` until they were tried.
    pub found: Option<Vec<Candidate>>,
}

const ASKED: &str = "wires are to be tried";

/// A line that has the wires that are known tried, beside packets that none describes, or not well.
pub fn offer(ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let text = label::body("wires that may fit…");
        let what = "try the wires that are known on these packets";
        if ui.button(text).on_hover_text(what).clicked() {
            memory::keep(ui.ctx(), ASKED, true);
        }
    });
}

/// Whether somebody took the offer since.
pub fn is_asked(ctx: &egui::Context) -> bool {
    memory::take(ctx, ASKED)
}

/// Draws the list. A click on a wire reads what is shown with it.
pub fn show(ui: &Ui, candidates: &Candidates) -> Said<Candidate> {
    dialogs::over(ui, "candidates", 660.0, |ui, said| {
        ui.label(label::body("Wires that may fit").strong());
        let what = "The share of packets that each wire decodes without a mistake. A short wire may \
     decode what it does not mean.";
        ui.label(label::weak(what));
        ui.add_space(4.0);
        match &candidates.found {
            None => drop(ui.label(label::weak("They are being tried…"))),
            Some(found) => {
                let height = ui.ctx().content_rect().height() - 220.0;
                ScrollArea::vertical().max_height(height).show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    for candidate in found {
                        if line(ui, candidate) {
                            *said = Said::Answer(candidate.clone());
                        }
                    }
                });
            }
        }
        ui.add_space(6.0);
        if ui.button("close").clicked() {
            *said = Said::Close;
        }
    })
}

fn line(ui: &mut Ui, candidate: &Candidate) -> bool {
    let (rect, response) = control::row(ui, ROW, Sense::click());
    let Candidate {
        name,
        packets,
        fit,
        why,
        ..
    } = candidate;
    let words = match why {
        Some(why) => why.clone(),
        None => format!("{fit} of {}", text::packets(*packets as u64)),
    };
    let label = format!("wire {name}: {words}");
    let can = why.is_none();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, can, &label));
    let painter = ui.painter();
    if response.hovered() && can {
        painter.rect_filled(rect, 2.0, theme::related());
    }
    let y = rect.center().y;
    label::cell(painter, rect, 6.0, NAME - 12.0, name, theme::text());
    let bar = Rect::from_min_size(pos2(rect.left() + NAME, y - 4.0), vec2(BAR, 8.0));
    painter.rect_filled(bar, 0.0, theme::faint());
    let share = *fit as f32 / (*packets).max(1) as f32;
    let part = vec2(BAR * share.clamp(0.0, 1.0), 8.0);
    painter.rect_filled(Rect::from_min_size(bar.min, part), 0.0, theme::accent());
    let left = NAME + BAR + 14.0;
    let color = if can { theme::text() } else { theme::error() };
    label::cell(painter, rect, left, rect.width() - left, &words, color);
    let response = match (&candidate.path, why) {
        (_, Some(why)) => response.on_hover_text(why),
        (Some(path), None) => response.on_hover_text(path.display().to_string()),
        (None, None) => response.on_hover_text("one of netreel's own"),
    };
    response.clicked() && can
}

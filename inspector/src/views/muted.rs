//! Which rules are muted, above the findings that are left.

use egui::text::LayoutJob;
use egui::{Button, Rect, Role, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, MutedRow, text};

use super::{control, label};
use crate::theme;

/// Width of the button of a line.
const BUTTON: f32 = 76.0;

/// Of more muted rules there is one line for all.
const LINES_MAX: usize = 3;

/// Draws a line for each, with a button that brings its findings back.
pub fn show(ui: &mut Ui, muted: &[MutedRow], commands: &mut Commands) {
    if muted.len() > LINES_MAX {
        let count = muted.iter().map(|row| row.findings).sum();
        let sentence = format!("{} of {} rules {MUTED}", findings_of(count), muted.len());
        if line(ui, &sentence, "unmute all", "unmute all rules") {
            commands.extend(muted.iter().map(unmute));
        }
        return;
    }
    for row in muted {
        let sentence = format!(
            "{} of rule {} {}",
            findings_of(row.findings),
            row.rule,
            match row.findings {
                1 => MUTED_ONE,
                _ => MUTED,
            }
        );
        if line(
            ui,
            &sentence,
            "unmute",
            &format!("unmute the rule {}", row.rule),
        ) {
            commands.push(unmute(row));
        }
    }
}

const MUTED_ONE: &str = "is muted; the verdict counts it as before";
const MUTED: &str = "are muted; the verdict counts them as before";

fn findings_of(count: usize) -> String {
    text::counted(count as u64, "finding")
}

fn unmute(row: &MutedRow) -> Command {
    Command::Mute(row.rule.to_owned(), false)
}

/// A sentence with a button behind it. Returns whether that was pressed.
fn line(ui: &mut Ui, sentence: &str, word: &str, name: &str) -> bool {
    let room = (ui.available_width() - BUTTON - 20.0).max(60.0);
    let job = LayoutJob::simple(sentence.to_owned(), theme::small(), theme::weak(), room);
    let galley = ui.painter().layout_job(job);
    let height = galley.size().y.max(theme::ROW) + 4.0;
    let (rect, response) = control::row(ui, height, Sense::hover());
    control::named(&response, Role::Label, sentence);
    let top = rect.center().y - galley.size().y / 2.0;
    let painter = ui.painter();
    painter.galley(pos2(rect.left() + 12.0, top), galley, theme::weak());
    painter.hline(rect.x_range(), rect.bottom() - 0.5, (1.0, theme::faint()));
    let at = Rect::from_center_size(
        pos2(rect.right() - BUTTON / 2.0 - 6.0, rect.center().y),
        vec2(BUTTON, theme::ROW - 2.0),
    );
    let response = ui.put(at, Button::new(label::small(word)));
    control::named(&response, Role::Button, name);
    response.clicked()
}

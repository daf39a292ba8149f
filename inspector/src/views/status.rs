//! The line at the bottom: how much there is, and what is wrong with it.

use egui::{Align, Label, Layout, Response, RichText, Role, Sense, Ui, vec2};
use netreel_inspector_model::{Command, Commands, Model, Step, text};
use netreel_protocol::history::Level;

use super::bar::{Asked, Bar, flat};
use super::{axis, control, copy, label};
use crate::{glyph, theme};

fn small(ui: &mut Ui, sign: &str, name: &str) -> Response {
    let response = flat(ui, sign, vec2(18.0, 16.0));
    control::named(&response, Role::Button, name);
    response
}

/// How much there is. What was lost, and what became of nobody knows what, is a click away.
fn counts(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let weak = |text: &str| label::mono(text).color(theme::weak());
    ui.spacing_mut().item_spacing.x = 0.0;
    for (said, filter) in model.status_pieces() {
        let Some(filter) = filter else {
            if !said.is_empty() {
                ui.label(weak(&said));
            }
            continue;
        };
        let response = ui.add(Label::new(weak(&said).underline()).sense(Sense::click()));
        control::named(&response, Role::Button, &said);
        copy::narrows(response, model, filter, commands);
    }
    ui.add_space(8.0);
    ui.reset_style();
}

/// Draws the line. The pointer over the verdict shows what could not be judged; a click on it selects
/// the next finding.
pub fn show(ui: &mut Ui, model: &Model, bar: &mut Bar, commands: &mut Commands) {
    ui.horizontal(|ui| {
        ui.set_min_height(17.0);
        counts(ui, model, commands);
        let (level, verdict) = model.verdict();
        if let Some(level) = level {
            let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
            glyph::level(ui.painter(), rect.center(), 12.0, level);
        }
        if model.selection().finding.is_some() {
            let what = "end this story (Escape, when nothing else is selected)";
            if small(ui, "×", "end the story")
                .on_hover_text(what)
                .clicked()
            {
                commands.push(Command::EndStory);
            }
        }
        let measured = model.measured_text().map(|said| format!("measured {said}"));
        let room = ui.available_width() - beside(ui, model, measured.as_deref());
        judged(ui, model, (level, &verdict), room.max(60.0), commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if small(ui, "?", "all keys").clicked() {
                bar.asked.push(Asked::Keys);
            }
            times(ui, model, measured, commands);
            let warnings = model.warnings();
            if !warnings.is_empty() {
                let noun = if warnings.len() == 1 { "note" } else { "notes" };
                let text = label::mono(format!("{} {noun} on the recording", warnings.len()))
                    .color(theme::warning());
                ui.label(text).on_hover_text(warnings.join("\n"));
            }
        });
    });
}

/// How much room everything takes that stands at the right.
fn beside(ui: &Ui, model: &Model, measured: Option<&str>) -> f32 {
    let measured = measured.map_or(0.0, |said| {
        label::width(ui.painter(), said, theme::mono()) + 48.0
    });
    let right = [
        (40.0, true),
        (210.0, model.cursor().is_some()),
        (measured, measured > 0.0),
        (230.0, axis::pointer_time(ui).is_some()),
        (210.0, !model.warnings().is_empty()),
    ];
    right
        .iter()
        .filter(|(_, is_there)| *is_there)
        .map(|(width, _)| width)
        .sum()
}

/// The verdict, in the room that there is.
fn judged(
    ui: &mut Ui,
    model: &Model,
    (level, verdict): (Option<Level>, &str),
    room: f32,
    commands: &mut Commands,
) {
    let color = level.map_or(theme::weak(), theme::level);
    let text = RichText::new(theme::two_dashes(verdict));
    let label = Label::new(text.font(theme::body()).color(color))
        .sense(Sense::click())
        .truncate()
        .show_tooltip_when_elided(false);
    let response = ui
        .scope(|ui| {
            ui.set_max_width(room);
            ui.add(label)
        })
        .inner;
    control::named(&response, Role::Button, verdict);
    let reasons = model.judgement().map_or(&[][..], |it| &it.reasons);
    let until = model.judgement().and_then(|it| it.until());
    let said: Vec<&str> = reasons
        .iter()
        .map(|reason| reason.sentence.as_str())
        .chain(until.as_deref())
        .collect();
    if response
        .on_hover_text(if said.is_empty() {
            verdict.to_owned()
        } else {
            said.join("\n")
        })
        .clicked()
        && !model.history().findings.is_empty()
    {
        commands.push(Command::Step(Step::NextFinding));
    }
}

/// The time of the cursor, the time that is `measured`, and that under the pointer.
fn times(ui: &mut Ui, model: &Model, measured: Option<String>, commands: &mut Commands) {
    let weak = |text: String| label::mono(text).color(theme::weak());
    if let Some(at) = model.cursor() {
        let what = "take the cursor away (Escape)";
        if small(ui, "×", "take the cursor away")
            .on_hover_text(what)
            .clicked()
        {
            commands.push(Command::SetCursor(None));
        }
        ui.label(weak(format!("cursor {} s", text::seconds(at))));
    }
    if let Some((time, said)) = model.measured_time().zip(measured) {
        let what = "take the measured time away (Escape)";
        if small(ui, "×", "take the measured time away")
            .on_hover_text(what)
            .clicked()
        {
            commands.push(Command::Measure(None));
        }
        let label = Label::new(weak(said.clone()).color(theme::accent()));
        let response = ui.add(label.sense(Sense::click()).truncate());
        control::named(&response, Role::Button, &said);
        if response.on_hover_text("click: show it").clicked() {
            commands.push(Command::Show(time));
        }
    }
    if let Some(at) = axis::pointer_time(ui) {
        let apart = model
            .cursor()
            .map(|cursor| at.0.saturating_sub(cursor.0))
            .map_or_else(String::new, |ns| {
                let sign = if ns < 0 { "" } else { "+" };
                format!(" ({sign}{})", text::duration(ns))
            });
        ui.label(weak(
            format!("{}{apart} s", text::seconds(at)).replace(") s", ")"),
        ));
    }
}

//! Any field of the wire over time: a line for each link or object, in the place of the value in focus.

use egui::Ui;
use netreel_inspector_model::{Command, Commands, Model, PlotBy, Plotted};

use super::axis::{TimeRect, TimeView};
use super::strips::{Line, legend, ribbons, strips};
use super::{findings, head, label};
use crate::theme;

/// Draws the field.
pub fn show(ui: &mut Ui, model: &Model, plotted: &Plotted, commands: &mut Commands) {
    let title = format!("{} over time", plotted.path);
    let signs = head::bar(ui, &title);
    let plot = model.plot(&TimeRect::new(ui.max_rect(), model).scale);
    ui.add_space(3.0);
    head::wrapped(ui, |ui| {
        for (name, by) in [("by link", PlotBy::Link), ("by object", PlotBy::Object)] {
            if ui
                .selectable_label(plotted.by == by, label::body(name))
                .clicked()
            {
                let path = plotted.path.clone();
                commands.push(Command::Plot(Some(Plotted { path, by })));
            }
        }
        ui.separator();
        if ui
            .button("no longer")
            .on_hover_text("draw the value in focus again")
            .clicked()
        {
            commands.push(Command::Plot(None));
        }
        let note = plot.as_ref().map_or(model.why_waits(), |plot| &plot.note);
        ui.label(label::small(note).color(theme::weak()));
    });
    let Some(plot) = plot else { return };
    if plot.lines.is_empty() {
        findings::empty(ui, "No packet that the filter takes says something there.");
        return;
    }
    let shown = TimeView::new(ui, model, "plotted", &title);
    let TimeView {
        view,
        time,
        painter,
        ..
    } = &shown;
    let lines: Vec<Line> = plot
        .lines
        .into_iter()
        .enumerate()
        .map(|(place, line)| {
            let name = model.line_name(line.of);
            // In rows of words each says what it is.
            let now = line.now.filter(|_| plot.range.is_some());
            Line {
                name: now.map_or_else(|| name.clone(), |now| format!("{name}: {now}")),
                color: theme::owner(place as u64),
                pieces: line.pieces,
            }
        })
        .collect();
    match plot.range {
        Some(range) => {
            legend(ui, signs, &lines);
            strips(painter, *view, time, (1, &[range]), &lines);
        }
        None => ribbons(painter, *view, time, &lines),
    }
    shown.finish(ui, model, commands);
}

//! A property of an object over time: a strip for each number of it, a line in the colour of each
//! node; what is no number stands as words in a row for each node.

use egui::Ui;
use netreel_inspector_model::{Command, Model};

use super::axis::{self, TimeView};
use super::links::node_color;
use super::strips::{Line, legend, ribbons, strips};
use super::{findings, head, plotted};
use crate::theme;

/// Draws the value in focus.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Vec<Command>) {
    if let Some(plotted) = model.plotted() {
        return plotted::show(ui, model, plotted, commands);
    }
    let Some(believed) = model.believed() else {
        let why = model.why_no_values();
        let more = why.is_none().then(|| model.why_waits());
        head::show(ui, "value over time", more.unwrap_or_default());
        let why = why.unwrap_or_else(|| model.why_waits().to_owned());
        findings::empty(ui, &format!("Values over time: {why}."));
        return;
    };
    let Some(row) = model.value_in_focus(&believed) else {
        head::show(ui, "value over time", "");
        findings::empty(ui, "No message told a property of an object.");
        return;
    };
    let property = believed.property_name(row.property);
    let title = format!("{property} of {}", model.object_name(row.object));
    let signs = head::bar(ui, &title);
    let shown = TimeView::new(ui, model, "course", &format!("{title} over time"));
    let TimeView {
        view,
        time,
        painter,
        ..
    } = &shown;
    if let Some(courses) = model.courses(&believed, row, &time.scale) {
        let lines: Vec<Line> = courses
            .nodes
            .into_iter()
            .map(|(node, pieces)| Line {
                name: model.lane_name(node).to_owned(),
                color: node_color(model, node),
                pieces,
            })
            .collect();
        legend(ui, signs, &lines);
        match courses.parts {
            0 => ribbons(painter, *view, time, &lines),
            parts => strips(painter, *view, time, (parts, &courses.ranges), &lines),
        }
    }
    axis::dashed(painter, time, model.pinned(), theme::warning(), 2.0);
    shown.finish(ui, model, commands);
}

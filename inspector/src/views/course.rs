//! A property of an object over time: a strip for each number of it, a line in the colour of each
//! node; what is no number stands as words in a row for each node.

use egui::Ui;
use netreel_inspector_model::{Commands, Model};

use super::axis::{self, TimeView};
use super::links::node_color;
use super::strips::{Line, legend, ribbons, strips};
use super::{findings, head, plotted};
use crate::theme;

/// What is being waited for, where values only are not there yet; and why there are none.
pub fn why_no_values(model: &Model) -> (&'static str, String) {
    match model.why_no_values() {
        Some(why) => ("", why),
        None => (model.why_waits(), model.why_waits().to_owned()),
    }
}

/// Draws the value in focus.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    if let Some(plotted) = model.plotted() {
        return plotted::show(ui, model, plotted, commands);
    }
    let title = "value over time";
    let Some(believed) = model.believed() else {
        let (waits, why) = why_no_values(model);
        return findings::nothing(ui, title, waits, &format!("Values over time: {why}."));
    };
    let Some(row) = model.value_in_focus(&believed) else {
        let sentence = "No message told a property of an object.";
        return findings::nothing(ui, title, "", sentence);
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

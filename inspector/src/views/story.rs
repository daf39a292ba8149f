//! The selected finding's proof on the timeline: numbered where it was seen, and named.

use std::sync::Arc;

use egui::{Align2, Color32, Galley, Painter, Pos2, Rect, vec2};
use netreel_inspector_model::Model;

use super::arrows::Labels;
use super::label;
use crate::theme;

/// Size of a numbered disc.
const DISC: f32 = 15.0;

/// Where the steps of a story and their names are.
#[derive(Default)]
pub struct Story {
    color: Color32,
    steps: Vec<Step>,
}

struct Step {
    at: Pos2,
    name: Option<(Rect, Arc<Galley>)>,
}

impl Story {
    /// Finds room for the steps at `points` within `bounds` before anything else takes it. What does
    /// not fit at all stays a number.
    pub fn plan(
        painter: &Painter,
        model: &Model,
        bounds: Rect,
        points: &[Pos2],
        labels: &mut Labels,
    ) -> Story {
        let Some(finding) = model.pinned_finding() else {
            return Story::default();
        };
        let visible = |at: &Pos2| bounds.expand(DISC).contains(*at);
        for &point in points.iter().filter(|at| visible(at)) {
            labels.block(Rect::from_center_size(point, vec2(DISC, DISC)));
        }
        // From the last to the first: of two close steps the later one is named at its right, the
        // earlier one at its left.
        let mut steps: Vec<Step> = Vec::new();
        for ((place, piece), &at) in model.story().iter().enumerate().zip(points).rev() {
            let text = format!("{} {}", place + 1, piece.what);
            let galley = painter.layout_no_wrap(text, theme::small(), theme::ink());
            let name = Some(at)
                .filter(visible)
                .and_then(|at| labels.find(bounds, at, galley.size(), DISC / 2.0 + 3.0, true))
                .map(|rect| (rect, galley));
            steps.push(Step { at, name });
        }
        steps.reverse();
        Story {
            color: theme::level(finding.level),
            steps,
        }
    }

    /// Draws the steps over what is there.
    pub fn draw(&self, painter: &Painter) {
        for (place, step) in self.steps.iter().enumerate() {
            painter.circle(step.at, DISC / 2.0, theme::background(), (1.5, self.color));
            let number = (place + 1).to_string();
            painter.text(
                step.at,
                Align2::CENTER_CENTER,
                number,
                theme::small(),
                theme::ink(),
            );
            if let Some((rect, galley)) = &step.name {
                let patch = (vec2(3.0, 1.0), 2.0, theme::faded(theme::background(), 0.85));
                label::over(painter, rect.min, galley.clone(), patch, theme::ink());
            }
        }
    }
}

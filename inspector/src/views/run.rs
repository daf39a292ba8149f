//! The matches that a run has kept: one is opened, or two are held against each other.

use std::path::PathBuf;

use egui::{Button, Rect, Role, ScrollArea, Sense, Ui, pos2, vec2};
use netreel_inspector_model::text;

use super::dialogs::{self, Said};
use super::{control, label};
use crate::kept_run::{By, KeptMatch, KeptRun};
use crate::{glyph, theme};

const ROW: f32 = 24.0;
/// Where columns begin, behind the box that picks a match; and what each is sorted by.
const COLUMNS: [(f32, &str, By); 5] = [
    (34.0, "match", By::Number),
    (94.0, "seed", By::Seed),
    (194.0, "lasts", By::Length),
    (272.0, "packets", By::Packets),
    (352.0, "what went wrong", By::Finding),
];

/// A run, and what somebody has picked of it.
#[derive(Clone, Debug, Default)]
pub struct RunList {
    /// Which.
    pub run: KeptRun,
    /// Whether it is shown now.
    pub is_shown: bool,
    by: By,
    /// The numbers of those that are picked, the first picked first; two at the most.
    picked: Vec<u64>,
}

impl RunList {
    /// Of a run of which nothing is picked yet.
    pub fn new(run: KeptRun, is_shown: bool) -> RunList {
        RunList {
            run,
            is_shown,
            ..RunList::default()
        }
    }

    /// Picks a match, or no longer. The first of two makes room for a third.
    fn pick(&mut self, number: u64) {
        if self.picked.contains(&number) {
            self.picked.retain(|it| *it != number);
            return;
        }
        if self.picked.len() == 2 {
            self.picked.remove(0);
        }
        self.picked.push(number);
    }

    fn folder(&self, number: u64) -> Option<PathBuf> {
        self.run
            .matches
            .iter()
            .find(|it| it.number == number)
            .map(|it| it.folder.clone())
    }

    /// The two that are picked.
    fn both(&self) -> Option<(PathBuf, PathBuf)> {
        let [one, other] = self.picked.as_slice() else {
            return None;
        };
        Some((self.folder(*one)?, self.folder(*other)?))
    }
}

/// Draws the list. A click on a match opens it, the box before it picks it. The session to open, and the
/// one to hold against it.
pub fn show(ui: &Ui, list: &mut RunList) -> Said<(PathBuf, Option<PathBuf>)> {
    dialogs::over(ui, "run", 980.0, |ui, said| {
        ui.label(label::body(format!("Matches that {} kept", list.run.title)).strong());
        ui.label(label::weak(&list.run.sums));
        ui.add_space(4.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        heads(ui, list);
        let height = ui.ctx().content_rect().height() - 220.0;
        let area = ScrollArea::vertical().max_height(height);
        let places = list.run.sorted(list.by);
        area.show_rows(ui, ROW, places.len(), |ui, range| {
            for place in places.get(range).unwrap_or_default() {
                if let Some(folder) = line(ui, list, *place) {
                    *said = Said::Answer((folder, None));
                }
            }
        });
        if places.is_empty() {
            ui.label(label::weak("Nothing was kept: no match went wrong so far."));
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let both = list.both();
            let compare = Button::new("compare the two that are picked");
            if ui.add_enabled(both.is_some(), compare).clicked()
                && let Some((one, other)) = both
            {
                *said = Said::Answer((one, Some(other)));
            }
            if ui.button("close").clicked() {
                *said = Said::Close;
            }
        });
    })
}

/// The names of the columns; a click sorts by one.
fn heads(ui: &mut Ui, list: &mut RunList) {
    let (row, _) = control::row(ui, ROW, Sense::hover());
    for (place, (left, name, by)) in COLUMNS.into_iter().enumerate() {
        let right = COLUMNS.get(place + 1).map_or(row.width(), |next| next.0);
        let left = row.left() + left;
        let rect = Rect::from_x_y_ranges(left..=row.left() + right, row.y_range());
        let is_by = list.by == by;
        let response = control::choice(ui, rect, ("by", name), is_by, &format!("sort by {name}"));
        let color = if is_by {
            theme::accent()
        } else {
            theme::weak()
        };
        label::cell(ui.painter(), rect, 0.0, rect.width(), name, color);
        if response.clicked() {
            list.by = by;
        }
    }
    ui.painter()
        .hline(row.x_range(), row.bottom(), (1.0, theme::line()));
}

/// Draws a match. Its folder, where somebody opens it.
fn line(ui: &mut Ui, list: &mut RunList, place: usize) -> Option<PathBuf> {
    let kept = list.run.matches.get(place)?.clone();
    let (rect, response) = control::row(ui, ROW, Sense::click());
    let words = words(&kept);
    let number = kept.number;
    control::named(
        &response,
        Role::Button,
        &format!("match {number}: seed {}, {words}", kept.seed),
    );
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 2.0, theme::related());
    }
    picks(ui, list, rect, number);
    let painter = ui.painter();
    let cells = [
        number.to_string(),
        kept.seed.to_string(),
        text::duration(i64::try_from(kept.lasted_ns).unwrap_or(i64::MAX)),
        text::count(kept.packets),
        words,
    ];
    for (place, ((left, ..), cell)) in COLUMNS.into_iter().zip(&cells).enumerate() {
        let right = COLUMNS.get(place + 1).map_or(rect.width(), |next| next.0);
        let mut left = left;
        if let Some(level) = kept.level.filter(|_| place + 1 == COLUMNS.len()) {
            glyph::level(
                painter,
                pos2(rect.left() + left + 5.0, rect.center().y),
                7.0,
                level,
            );
            left += 18.0;
        }
        let room = right - left - 8.0;
        label::cell(painter, rect, left, room, cell, theme::text());
    }
    response
        .on_hover_text(match kept.why.as_str() {
            "" => kept.folder.display().to_string(),
            why => format!("{why}\n{}", kept.folder.display()),
        })
        .clicked()
        .then_some(kept.folder)
}

/// The rule, where there is one, and else what was wrong.
fn words(kept: &KeptMatch) -> String {
    match (kept.rule.as_str(), kept.why.as_str()) {
        ("", "") => "good".to_owned(),
        ("", why) => why.to_owned(),
        (rule, why) => format!("{rule}: {why}"),
    }
}

/// The box before a match.
fn picks(ui: &mut Ui, list: &mut RunList, row: Rect, number: u64) {
    let rect = Rect::from_min_size(row.min, vec2(28.0, ROW));
    let response = control::clickable(ui, rect, ("pick", number));
    let is_picked = list.picked.contains(&number);
    control::selectable(
        &response,
        Role::CheckBox,
        is_picked,
        &format!("pick match {number}"),
    );
    let square = Rect::from_center_size(rect.center(), vec2(12.0, 12.0));
    let painter = ui.painter();
    let color = if response.hovered() || is_picked {
        theme::accent()
    } else {
        theme::dim()
    };
    painter.rect_stroke(square, 2.0, (1.0, color), egui::StrokeKind::Inside);
    if is_picked {
        painter.rect_filled(square.shrink(3.0), 0.0, color);
    }
    if response.on_hover_text("pick two to compare them").clicked() {
        list.pick(number);
    }
}

//! Bookmarks, and what nodes wrote into their recordings, in the order of time.

use std::sync::Arc;

use egui::{Key, Rect, Role, Sense, Ui, pos2};
use netreel_inspector_model::{
    Bookmark, BookmarkRow, Command, Commands, LogLine, LogLines, Model, Spot, text,
};

use super::{control, findings, head, label, scroll};
use crate::{glyph, theme};

const ROW: f32 = 19.0;
/// The columns of the time and of who wrote.
const TIME: f32 = 96.0;
const WHO: f32 = 84.0;
/// A bookmark's buttons.
const BUTTON: f32 = 50.0;

/// What is looked for, and what was found of it.
#[derive(Default)]
pub struct Search {
    text: String,
    found: Option<(Of, Arc<[Entry]>)>,
}

/// Of what something was found.
#[derive(Clone, PartialEq)]
struct Of {
    text: String,
    bookmarks: Arc<[Bookmark]>,
    /// By how many there are and where they lie in memory.
    lines: (usize, usize),
}

#[derive(Clone, Copy)]
enum Entry {
    /// A place in the bookmarks' rows.
    Bookmark(usize),
    /// A place in the lines.
    Line(usize),
}

/// Draws the list. Returns the spot that somebody wants to write a note for.
pub fn show(
    ui: &mut Ui,
    model: &Model,
    search: &mut Search,
    commands: &mut Commands,
) -> Option<Spot> {
    let lines = model.log_lines(true);
    let bookmarks = model.bookmark_rows().len();
    let mut more = text::many(bookmarks as u64, "bookmark");
    match &lines {
        None => more.push_str("   lines of the nodes are being read"),
        Some(lines) => {
            let all = lines.lines.len() + lines.more;
            more.push_str(&format!("   {}", text::many(all as u64, "line")));
            if lines.more > 0 {
                more.push_str(&format!(
                    ", the first {} are shown",
                    text::count(lines.lines.len() as u64)
                ));
            }
        }
    }
    head::show(ui, "notes", &more);
    ui.add_space(3.0);
    let mut wants = bar(ui, model, search);
    let lines = lines.unwrap_or(Arc::new(LogLines::default()));
    let found = search.find(model, &lines);
    if found.is_empty() {
        let sentence = match (search.text.trim(), bookmarks + lines.lines.len()) {
            ("", 0) => {
                "Nothing is marked, and no node wrote anything. B marks the selected packet, or the \
                 time at the cursor, with a note; Shift+B the visible time."
            }
            _ => "Nothing here has these words.",
        };
        findings::empty(ui, sentence);
        return wants;
    }
    scroll::rows(ui, "notes", ROW, &found, None, |ui, entry| match *entry {
        Entry::Bookmark(place) => {
            if let Some(row) = model.bookmark_rows().get(place)
                && bookmark(ui, model, row, commands)
            {
                wants = model
                    .bookmarks()
                    .get(row.place)
                    .map(|it| it.at.clone())
                    .or(wants.take());
            }
        }
        Entry::Line(place) => {
            if let Some(written) = lines.lines.get(place) {
                line(ui, model, written, place, commands);
            }
        }
    });
    wants
}

fn bar(ui: &mut Ui, model: &Model, search: &mut Search) -> Option<Spot> {
    let mut wants = None;
    ui.horizontal(|ui| {
        ui.add_space(8.0);
        let spot = model.spot();
        let what = match &spot {
            Spot::Packet { .. } => "mark the packet",
            Spot::Time { from, to } if from == to => "mark this moment",
            Spot::Time { .. } => "mark this time",
        };
        let said = format!("{} (B); the visible time: Shift+B", model.spot_text(&spot));
        if ui.button(what).on_hover_text(label::mono(said)).clicked() {
            wants = Some(spot);
        }
        let is_any = !model.bookmarks().is_empty();
        if ui
            .add_enabled(is_any, egui::Button::new("copy"))
            .on_hover_text("copy all bookmarks as text, for a bug report")
            .clicked()
        {
            ui.ctx().copy_text(model.bookmarks_text());
        }
        ui.separator();
        let width = |room: f32| room.clamp(60.0, 240.0) - 12.0;
        if label::edit(ui, "find", &mut search.text, "", width).has_focus()
            && ui.input(|input| input.key_pressed(Key::Escape))
        {
            search.text.clear();
        }
    });
    ui.add_space(2.0);
    wants
}

impl Search {
    /// What has all the words, in the order of time.
    fn find(&mut self, model: &Model, lines: &Arc<LogLines>) -> Arc<[Entry]> {
        let of = Of {
            text: self.text.trim().to_lowercase(),
            bookmarks: Arc::clone(model.bookmarks()),
            lines: (lines.lines.len(), Arc::as_ptr(lines) as usize),
        };
        if let Some((known, found)) = &self.found
            && *known == of
        {
            return Arc::clone(found);
        }
        let words: Vec<&str> = of.text.split_whitespace().collect();
        let has = |parts: [&str; 2]| {
            let parts = parts.map(str::to_lowercase);
            words
                .iter()
                .all(|word| parts.iter().any(|part| part.contains(word)))
        };
        let rows = model
            .bookmark_rows()
            .iter()
            .enumerate()
            .filter(|(_, row)| has([&row.title, &row.note]))
            .map(|(place, row)| {
                let time = row.time.as_ref().map(|time| time.start);
                ((time.is_none(), time), Entry::Bookmark(place))
            });
        let written = lines
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| has([&line.who, &line.text]))
            .map(|(place, line)| ((false, Some(line.time)), Entry::Line(place)));
        let mut found: Vec<_> = rows.chain(written).collect();
        found.sort_by_key(|(time, _)| *time);
        let found: Arc<[Entry]> = found.into_iter().map(|(_, entry)| entry).collect();
        self.found = Some((of, Arc::clone(&found)));
        found
    }
}

/// Returns whether its note is to be another one.
fn bookmark(ui: &mut Ui, model: &Model, row: &BookmarkRow, commands: &mut Commands) -> bool {
    let (rect, response) = control::row(ui, ROW, Sense::click());
    let painter = ui.painter_at(rect);
    let label = format!("bookmark {}: {}", row.title, row.note);
    let is_selected = row.packet.is_some() && row.packet == model.selection().packet;
    control::selectable(&response, Role::Button, is_selected, &label);
    control::shade(&painter, rect, 0.0, is_selected, &response);
    let when = row.time.as_ref().map(|time| text::seconds(time.start));
    let when = when.as_deref().unwrap_or("–");
    label::cell(&painter, rect, 10.0, TIME - 14.0, when, theme::weak());
    let top = pos2(rect.left() + TIME + 4.0, rect.center().y - 5.0);
    glyph::bookmark(&painter, top, theme::accent());
    let room = rect.width() - TIME - 16.0 - 2.0 * BUTTON - 8.0;
    let words = match row.note.as_str() {
        "" => row.title.clone(),
        note => format!("{note}   {}", row.title),
    };
    label::cell(&painter, rect, TIME + 16.0, room, &words, theme::text());
    let button = |place: f32, name: &str| {
        let right = rect.right() - 4.0 - place * BUTTON;
        let area = Rect::from_min_max(
            pos2(right - BUTTON + 4.0, rect.top() + 1.0),
            pos2(right, rect.bottom() - 1.0),
        );

        let response = control::button(
            ui,
            area,
            ("bookmark", row.place, name),
            &format!("{name} bookmark {}", row.title),
        );
        let color = if response.hovered() {
            theme::text()
        } else {
            theme::weak()
        };
        let galley = painter.layout_no_wrap(name.to_owned(), theme::small(), color);
        let at = area.center() - galley.size() / 2.0;
        painter.galley(at, galley, color);
        response.clicked()
    };
    let edits = button(1.0, "edit");
    if button(0.0, "remove") {
        commands.push(Command::RemoveBookmark(row.place));
    } else if response.clicked() && !edits {
        commands.push(Command::GoToBookmark(row.place));
    }
    edits
}

fn line(ui: &mut Ui, model: &Model, written: &LogLine, place: usize, commands: &mut Commands) {
    let (rect, _) = control::row(ui, ROW, Sense::hover());
    let painter = ui.painter_at(rect);
    let label = format!("line of {}: {}", written.who, written.text);
    let is_at = model.cursor() == Some(written.time);
    let response = control::choice(ui, rect, ("line", place), is_at, &label);
    control::shade(&painter, rect, 0.0, is_at, &response);
    let when = text::seconds(written.time);
    label::cell(&painter, rect, 10.0, TIME - 14.0, &when, theme::weak());
    label::cell(&painter, rect, TIME, WHO - 8.0, &written.who, theme::weak());
    let room = rect.width() - TIME - WHO - 8.0;
    let color = if model.visible().contains(&written.time) {
        theme::text()
    } else {
        theme::weak()
    };
    label::cell(&painter, rect, TIME + WHO, room, &written.text, color);
    if response.clicked() {
        commands.push(Command::GoToTime(written.time));
    }
    if response.hovered() {
        response.on_hover_text(label::mono(&written.text));
    }
}

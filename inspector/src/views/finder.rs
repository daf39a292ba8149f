//! Everything by its name: what can be done, and where one can go. Ctrl+P.

use egui::{
    Id, Key, Modal, Modifiers, RichText, Role, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2,
};
use netreel_inspector_model::{Command, Model, Step};
use netreel_protocol::session::{PacketId, SessionTime};

use super::findings;
use super::top::Asked;
use crate::layout::{Pane, Side, Workspace};
use crate::panes::Move;
use crate::theme::{self, Theme};

/// So many rows are shown.
const ROWS: usize = 14;
/// So many objects, findings and links can be found by their names.
const NAMES_MAX: usize = 5_000;
const ROW: f32 = 21.0;

/// What is being looked for.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    text: String,
    /// Which of the rows that fit.
    at: usize,
    begun: bool,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    Command(Command),
    Asked(Asked),
}

/// Something that can be found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// By what it is found.
    pub name: String,
    /// Its key, where it has one.
    pub key: &'static str,
    /// What it does.
    pub what: Do,
}

/// What became of looking.
pub enum Said {
    Nothing,
    Close,
    Do(Do),
}

/// Draws the box and the rows that fit.
pub fn show(ui: &Ui, model: &Model, panes: &[Pane], finder: &mut Finder) -> Said {
    let mut said = Said::Nothing;
    let shown = Modal::new(Id::unique("finder")).show(ui.ctx(), |ui| {
        ui.set_width(600.0_f32.min(ui.ctx().content_rect().width() - 60.0));
        let before = finder.text.clone();
        let label = ui.label(RichText::new("Do or go").font(theme::body()).strong());
        let hint = "a command, a pane, an object, a finding, `packet 120`, `1.2s`, a filter";
        // Up and down are the list's.
        for (key, back) in [(Key::ArrowDown, false), (Key::ArrowUp, true)] {
            if ui.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                finder.at = match back {
                    true => finder.at.saturating_sub(1),
                    false => finder.at + 1,
                };
            }
        }
        let edit = TextEdit::singleline(&mut finder.text)
            .id_salt("finder text")
            .font(theme::mono())
            .hint_text(RichText::new(hint).color(theme::dim()))
            .desired_width(f32::INFINITY);
        let response = ui.add(edit).labelled_by(label.id);
        if !finder.begun {
            finder.begun = true;
            response.request_focus();
        }
        if finder.text != before {
            finder.at = 0;
        }
        let found = find(model, panes, &finder.text);
        finder.at = finder.at.min(found.len().saturating_sub(1));
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        ui.add_space(4.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        for (place, row) in found.iter().enumerate() {
            if line(ui, row, place == finder.at) || (entered && place == finder.at) {
                said = Said::Do(row.what.clone());
            }
        }
        if found.is_empty() {
            ui.label(RichText::new("nothing is called so").color(theme::weak()));
        }
    });
    match said {
        Said::Nothing if shown.should_close() => Said::Close,
        said => said,
    }
}

fn line(ui: &mut Ui, row: &Found, is_selected: bool) -> bool {
    let size = vec2(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let label = row.name.clone();
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_selected, &label));
    let painter = ui.painter();
    if is_selected || response.hovered() {
        let fill = if is_selected {
            theme::selected()
        } else {
            theme::related()
        };
        painter.rect_filled(rect, 2.0, fill);
    }
    let key = findings::elided(painter, row.key, theme::small(), 120.0, theme::weak());
    let room = rect.width() - key.size().x - 24.0;
    let name = findings::elided(painter, &row.name, theme::mono(), room, theme::text());
    let y = |height: f32| rect.center().y - height / 2.0;
    painter.galley(
        pos2(rect.left() + 6.0, y(name.size().y)),
        name,
        theme::text(),
    );
    let left = rect.right() - 6.0 - key.size().x;
    painter.galley(pos2(left, y(key.size().y)), key, theme::weak());
    response.clicked()
}

/// What fits a text best; without one what there is to do.
pub fn find(model: &Model, panes: &[Pane], text: &str) -> Vec<Found> {
    let text = text.trim();
    let mut found: Vec<Found> = direct(model, text).into_iter().collect();
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let mut fits: Vec<(usize, Found)> = Vec::new();
    for row in all(model, panes, !words.is_empty()) {
        let name = row.name.to_lowercase();
        let places = words.iter().map(|word| name.find(word));
        let Some(places) = places.collect::<Option<Vec<usize>>>() else {
            continue;
        };
        // What begins so comes first.
        let first = places.first().copied().unwrap_or(0);
        fits.push((first.min(1), row));
    }
    fits.sort_by_key(|(first, _)| *first);
    found.extend(fits.into_iter().map(|(_, row)| row));
    found.truncate(ROWS);
    if !text.is_empty() && found.len() < ROWS {
        found.push(Found {
            name: format!("filter by {text}"),
            key: "/",
            what: Do::Command(Command::SetFilter(text.to_owned())),
        });
    }
    found
}

/// What a text names by itself: a packet, a time.
fn direct(model: &Model, text: &str) -> Option<Found> {
    let number = text.strip_prefix("packet ").unwrap_or(text).trim();
    if let Ok(number) = number.parse::<u32>()
        && model.packet(PacketId(number)).is_some()
    {
        return Some(Found {
            name: format!("go to packet {number}"),
            key: "",
            what: Do::Command(Command::SelectPacket(PacketId(number))),
        });
    }
    let units = [("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9)];
    let (number, ns) = units
        .into_iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let number: f64 = number
        .trim()
        .parse()
        .ok()
        .filter(|it: &f64| it.is_finite())?;
    let at = SessionTime((number * ns) as i64);
    Some(Found {
        name: format!("put the cursor at {text}"),
        key: "",
        what: Do::Command(Command::SetCursor(Some(at))),
    })
}

fn all(model: &Model, panes: &[Pane], with_names: bool) -> Vec<Found> {
    let mut all = Vec::new();
    let mut add = |name: String, key: &'static str, what: Do| {
        all.push(Found { name, key, what });
    };
    let keys = ["1", "2", "3", "4", "5", "6"];
    for ((name, workspace), key) in Workspace::ALL.into_iter().zip(keys) {
        let what = Do::Asked(Asked::Workspace(workspace));
        add(format!("workspace {name}"), key, what);
    }
    let visible = model.visible();
    let middle = visible.start.0 + (visible.end.0 - visible.start.0) / 2;
    let zoom = |factor| Command::Zoom {
        at: SessionTime(middle),
        factor,
    };
    let next = |is_next| Command::SetCursor(model.next_moment(is_next).or(model.cursor()));
    for (name, key, command) in [
        ("next finding", "N", Command::Step(Step::NextFinding)),
        (
            "previous finding",
            "P",
            Command::Step(Step::PreviousFinding),
        ),
        ("next packet", "J", Command::Step(Step::NextPacket)),
        ("previous packet", "K", Command::Step(Step::PreviousPacket)),
        (
            "next packet of the link",
            "L",
            Command::Step(Step::NextOnLink),
        ),
        (
            "previous packet of the link",
            "H",
            Command::Step(Step::PreviousOnLink),
        ),
        ("back", "Alt+left", Command::Back),
        ("forward", "Alt+right", Command::Forward),
        (
            "bring the selection into view",
            "F",
            Command::FrameSelection,
        ),
        ("show the whole session", "A", Command::ShowAll),
        ("show less time", "+", zoom(1.5)),
        ("show more time", "-", zoom(1.0 / 1.5)),
        ("cursor to the next departure or arrival", ".", next(true)),
        (
            "cursor to the departure or arrival before",
            ",",
            next(false),
        ),
        ("take the cursor away", "Escape", Command::SetCursor(None)),
        ("pin this moment", "M", Command::Pin(Some(model.moment()))),
        ("unpin the moment", "M", Command::Pin(None)),
        ("end the story", "", Command::EndStory),
        ("clear the filter", "", Command::SetFilter(String::new())),
    ] {
        add(name.to_owned(), key, Do::Command(command));
    }
    for (name, key, asked) in [
        ("open a recording or a capture", "Ctrl+O", Asked::Open),
        ("open a wire", "", Asked::Wire),
        ("follow while it is recorded", "", Asked::Follow(true)),
        ("all keys", "?", Asked::Keys),
        ("panes as they were at first", "", Asked::Layout),
    ] {
        add(name.to_owned(), key, Do::Asked(asked));
    }
    for (name, theme) in Theme::ALL {
        add(
            format!("colours: {name}"),
            "",
            Do::Asked(Asked::Theme(theme)),
        );
    }
    for (name, pane) in Pane::ALL {
        let (word, what) = match panes.contains(&pane) {
            true => ("hide", Move::Hide(pane)),
            false => ("show", Move::Edge(pane, Side::Bottom)),
        };
        add(
            format!("{word} pane {name}"),
            "",
            Do::Asked(Asked::Pane(what)),
        );
        let alone = Do::Asked(Asked::Pane(Move::Alone(pane)));
        add(format!("pane {name} alone"), "Z", alone);
    }
    if with_names {
        for &link in model.session().traffic().keys().take(NAMES_MAX) {
            let what = Do::Command(Command::SelectLink(Some(link)));
            add(format!("link {}", model.link_label(link)), "", what);
        }
        for &object in model.history().objects.keys().take(NAMES_MAX) {
            let what = Do::Command(Command::SelectObject(Some(object)));
            add(format!("object {}", model.object_name(object)), "", what);
        }
        let findings = model.history().findings.iter().enumerate();
        for (place, finding) in findings.take(NAMES_MAX) {
            let what = Do::Command(Command::SelectFinding(place));
            let name = format!("finding {}: {}", finding.rule, finding.sentence);
            add(name, "", what);
        }
    }
    all
}

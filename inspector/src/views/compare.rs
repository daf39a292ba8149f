//! Another session below this one, moved so that what differs first lies above each other; and a list
//! of how they differ.

use egui::{Button, Role, Sense, Ui, pos2, vec2};
use netreel_inspector_model::{Command, Commands, Difference, LinkBytes, Model, NOT_YET, text};
use netreel_protocol::session::SessionTime;

use super::{control, findings, head, label, scroll, timeline};
use crate::ask::Request;
use crate::settings::Settings;
use crate::{glyph, theme};

const ROW: f32 = 20.0;
/// The line above a pane that says of which session it is.
const STRIP: f32 = 18.0;

/// The session that this one is compared with.
#[derive(Default)]
pub struct Other {
    /// What there is of it.
    pub model: Option<Box<Model>>,
    /// What it is called, and how it came to be.
    pub title: String,
    /// Whether it is being opened.
    pub waits: bool,
    /// Why there is none.
    pub why: Option<String>,
    /// Whether it is the one in which somebody selected something last: panes of one packet show its.
    pub is_focus: bool,
    /// Whether nobody has seen yet how the two differ: what came the other way round is lit in both then.
    pub is_new: bool,
    path: String,
    changes: String,
}

/// Draws the timeline of the other session under the ruler of this one.
pub fn show(ui: &mut Ui, model: &Model, other: &mut Other, commands: &mut Commands) {
    let Some(second) = other.model.as_deref_mut() else {
        let sentence = match (&other.why, other.waits) {
            (_, true) => "Being opened…",
            (Some(why), false) => why,
            (None, false) => {
                "Open another session below, or play this one on with something changed."
            }
        };
        return findings::nothing(ui, "other session", "", sentence);
    };
    let offset = model.compared(second).map_or(0, |it| it.offset_ns);
    let to_other = |at: SessionTime| SessionTime(at.0.saturating_sub(offset));
    let from_other = |at: SessionTime| SessionTime(at.0.saturating_add(offset));
    let visible = model.visible();
    let visible = to_other(visible.start)..to_other(visible.end);
    second.follow(visible, model.cursor().map(to_other));
    let mut own = Vec::new();
    timeline::named(ui, &other.title, second, &mut own);
    for command in own {
        commands.push(match command {
            Command::Pan(_) => command,
            Command::Zoom { at, factor } => Command::Zoom {
                at: from_other(at),
                factor,
            },
            Command::SetCursor(at) => Command::SetCursor(at.map(from_other)),
            Command::GoToTime(at) => Command::GoToTime(from_other(at)),
            Command::Reveal(at) => Command::Reveal(from_other(at)),
            Command::Show(range) => Command::Show(from_other(range.start)..from_other(range.end)),
            _ => {
                other.apply(ui, command);
                continue;
            }
        });
    }
}

impl Other {
    /// Does what was asked for in it.
    pub fn apply(&mut self, ui: &Ui, command: Command) {
        let Some(second) = self.model.as_deref_mut() else {
            return;
        };
        // Drawing again what is drawn already would never end.
        if command == Command::Hover(second.hover()) {
            return;
        }
        self.is_focus |= selects(&command);
        second.apply(command);
        ui.ctx().request_repaint();
    }
}

/// Whether a command picks something out of a session, which is then the one that is looked at.
pub fn selects(command: &Command) -> bool {
    matches!(
        command,
        Command::SelectPacket(_)
            | Command::SelectMessage(_)
            | Command::SelectObject(Some(_))
            | Command::SelectFinding(_)
            | Command::SelectEvidence(..)
    )
}

/// Draws a pane of the other session, below a line that says so.
pub fn of_other(ui: &mut Ui, other: &mut Other, show: fn(&mut Ui, &Model, &mut Commands)) {
    let Some(second) = other.model.as_deref() else {
        return;
    };
    let said = format!("of {}", other.title);
    let (strip, response) = control::row(ui, STRIP, Sense::hover());
    control::close_up(ui);
    control::named(&response, Role::Label, &said);
    let painter = ui.painter_at(strip);
    painter.rect_filled(strip, 0.0, theme::related());
    let at = strip.left_center() + vec2(10.0, 0.0);
    let room = strip.width() - 20.0;
    label::write(&painter, at, room, &said, theme::small(), theme::text());
    let mut own = Vec::new();
    show(ui, second, &mut own);
    for command in own {
        other.apply(ui, command);
    }
}

/// Draws how the two differ, below what opens another one.
pub fn differences(
    ui: &mut Ui,
    model: &Model,
    other: &mut Other,
    settings: &Settings,
    commands: &mut Commands,
    requests: &mut Vec<Request>,
) {
    let compared = other.model.as_deref().and_then(|it| model.compared(it));
    let more = match (&compared, &other.model) {
        (Some(compared), _) => compared.summary.clone(),
        (None, Some(it)) => waits(model, it),
        (None, None) => String::new(),
    };
    head::show(ui, "differences", &more);
    ui.add_space(3.0);
    open(ui, other, settings, requests);
    let Some(compared) = compared else { return };
    if std::mem::take(&mut other.is_new)
        && let Some(first) = compared.rows.first().filter(|it| it.mark == "swapped")
    {
        go(other, &Line::Meaning(first), commands);
        ui.ctx().request_repaint();
    }
    let parted = || compared.bytes.links.iter().filter(|it| !it.is_same());
    let count = compared.rows.len() + parted().count();
    scroll::area(ui, "differences", (count, ROW), None).show_rows(ui, ROW, count, |ui, range| {
        for place in range {
            let line = match compared.rows.get(place) {
                Some(difference) => Some(Line::Meaning(difference)),
                None => parted().nth(place - compared.rows.len()).map(Line::Bytes),
            };
            if let Some(line) = line.filter(|line| row(ui, line)) {
                go(other, &line, commands);
            }
        }
    });
}

/// Why the two are not held against each other yet.
fn waits(model: &Model, other: &Model) -> String {
    let why = [model, other].map(Model::why_waits);
    let other_than = why.into_iter().find(|it| *it != NOT_YET);
    other_than.unwrap_or(NOT_YET).to_owned()
}

fn open(ui: &mut Ui, other: &mut Other, settings: &Settings, requests: &mut Vec<Request>) {
    head::wrapped(ui, |ui| {
        let path = label::edit(
            ui,
            "compare with",
            &mut other.path,
            "a folder of reels",
            |_| 220.0,
        );
        let entered = label::is_entered(ui, &path);
        let path = other.path.trim().to_owned();
        let is_free = !other.waits && !path.is_empty();
        if (ui.add_enabled(is_free, Button::new("compare")).clicked() || entered) && is_free {
            other.waits = true;
            requests.push(Request::Compare(path.into()));
        }
        ui.menu_button("recent", |ui| {
            let paths = settings.recent.iter().filter(|paths| paths.len() == 1);
            for path in paths.map(|paths| Settings::named(paths)) {
                if ui.button(label::mono(&path)).clicked() {
                    other.path = path;
                }
            }
        });
        if other.waits
            && ui
                .button("give up")
                .on_hover_text("no longer open or play on the other session")
                .clicked()
        {
            other.waits = false;
            requests.push(Request::CancelCompare);
        }
        ui.separator();
        let hint = theme::two_dashes("--set mode=owner");
        let changes = label::edit(ui, "or play on with", &mut other.changes, &hint, |_| 200.0);
        let entered = label::is_entered(ui, &changes) && !other.changes.trim().is_empty();
        let button = ui.add_enabled(!other.waits, Button::new("play on"));
        let what = "play all nodes on at once, and compare with what comes (docs/play-on.md)";
        if (button.on_hover_text(what).clicked() || entered) && !other.waits {
            other.waits = true;
            requests.push(Request::PlayOn(other.changes.clone()));
        }
    });
}

/// A line of the list.
enum Line<'a> {
    /// As `netreel diff` says it.
    Meaning(&'a Difference),
    /// A link whose packets have other bytes.
    Bytes(&'a LinkBytes),
}

fn row(ui: &mut Ui, line: &Line<'_>) -> bool {
    let (rect, response) = control::row(ui, ROW, Sense::click());
    let painter = ui.painter_at(rect);
    let (mark, words) = match line {
        Line::Meaning(difference) => (difference.mark, difference.words.clone()),
        Line::Bytes(link) => ("bytes", bytes_words(link)),
    };
    control::named(&response, Role::Button, &format!("{mark}: {words}"));
    control::shade(&painter, rect, 0.0, false, &response);
    let color = match mark {
        "only here" | "only there" | "first" | "swapped" => theme::accent(),
        _ => theme::weak(),
    };
    label::cell(&painter, rect, 10.0, 84.0, mark, color);
    if let Line::Meaning(Difference {
        level: Some(level), ..
    }) = line
    {
        let at = pos2(rect.left() + 102.0, rect.center().y);
        glyph::level(&painter, at, 11.0, *level);
    }
    let room = rect.width() - 120.0;
    label::cell(&painter, rect, 114.0, room, &words, theme::text());
    response.on_hover_text(label::mono(words)).clicked()
}

fn bytes_words(link: &LinkBytes) -> String {
    let when = |side: usize| {
        link.at[side].zip(link.time[side]).map_or_else(
            || "no further packet".to_owned(),
            |(packet, time)| format!("packet {} at {} s", packet.0, text::seconds(time)),
        )
    };
    format!(
        "{}: {} with the same bytes, then here {}, there {}",
        link.name,
        text::packets(link.equal),
        when(0),
        when(1)
    )
}

/// Shows what a line is about, in both.
fn go(other: &mut Other, line: &Line<'_>, commands: &mut Commands) {
    let (shown_by, time) = match line {
        Line::Meaning(difference) => (difference.shown_by.clone(), difference.time),
        Line::Bytes(link) => (
            link.at.map(|it| it.map(Command::SelectPacket)),
            link.time[0],
        ),
    };
    let [here, there] = shown_by;
    other.is_focus = here.is_none() && there.is_some();
    commands.extend(here);
    if let (Some(second), Some(command)) = (other.model.as_deref_mut(), there) {
        second.apply(command);
    }
    // What the other session alone has is shown where it would be here.
    commands.extend(time.map(Command::GoToTime));
}

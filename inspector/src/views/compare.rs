//! Another session below this one, moved so that what differs first lies above each other; and a list
//! of how they differ.

use egui::{Key, Role, ScrollArea, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Command, ComparedFinding, Comparison, Model, PartingLink, text};
use netreel_protocol::session::SessionTime;

use super::{findings, head, timeline};
use crate::ask::Request;
use crate::settings::Settings;
use crate::{glyph, theme};

const ROW: f32 = 20.0;

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
    path: String,
    changes: String,
}

/// Draws the timeline of the other session under the ruler of this one.
pub fn show(ui: &mut Ui, model: &Model, other: &mut Other, commands: &mut Vec<Command>) {
    let Some(second) = other.model.as_deref_mut() else {
        head::show(ui, "other session", "");
        let sentence = match (&other.why, other.waits) {
            (_, true) => "Being opened…",
            (Some(why), false) => why,
            (None, false) => {
                "Open another session below, or play this one on with something changed."
            }
        };
        findings::empty(ui, sentence);
        return;
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
        match command {
            Command::Pan(ns) => commands.push(Command::Pan(ns)),
            Command::Zoom { at, factor } => commands.push(Command::Zoom {
                at: from_other(at),
                factor,
            }),
            Command::SetCursor(at) => commands.push(Command::SetCursor(at.map(from_other))),
            Command::Show(range) => {
                let range = from_other(range.start)..from_other(range.end);
                commands.push(Command::Show(range));
            }
            command => {
                // Drawing again what is drawn already would never end.
                if command != Command::Hover(second.hover()) {
                    second.apply(command);
                    ui.ctx().request_repaint();
                }
            }
        }
    }
}

/// Draws how the two differ, below what opens another one.
pub fn differences(
    ui: &mut Ui,
    model: &Model,
    other: &mut Other,
    settings: &Settings,
    commands: &mut Vec<Command>,
    requests: &mut Vec<Request>,
) {
    let compared = other.model.as_deref().and_then(|it| model.compared(it));
    let more = match (&compared, &other.model) {
        (Some(compared), _) => summary(compared),
        (None, Some(_)) => "being worked out".to_owned(),
        (None, None) => String::new(),
    };
    head::show(ui, "differences", &more);
    ui.add_space(3.0);
    open(ui, other, settings, requests);
    let Some(compared) = compared else { return };
    let lines = lines(&compared);
    ui.spacing_mut().item_spacing.y = 0.0;
    let area = ScrollArea::vertical()
        .id_salt("differences")
        .auto_shrink(false);
    area.show_rows(ui, ROW, lines.len(), |ui, range| {
        for line in lines.get(range).unwrap_or_default() {
            if row(ui, line) {
                go(model, other, line, commands);
            }
        }
    });
}

fn open(ui: &mut Ui, other: &mut Other, settings: &Settings, requests: &mut Vec<Request>) {
    ui.horizontal_wrapped(|ui| {
        ui.add_space(8.0);
        let label = ui.label(egui::RichText::new("compare with").color(theme::weak()));
        let edit = TextEdit::singleline(&mut other.path)
            .id_salt("other path")
            .font(theme::mono())
            .hint_text(egui::RichText::new("a folder of reels").color(theme::dim()))
            .desired_width(220.0);
        let response = ui.add(edit).labelled_by(label.id);
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let path = other.path.trim().to_owned();
        let is_free = !other.waits && !path.is_empty();
        let clicked = ui
            .add_enabled(is_free, egui::Button::new("compare"))
            .clicked();
        if (clicked || entered) && is_free {
            other.waits = true;
            requests.push(Request::Compare(path.into()));
        }
        ui.menu_button("recent", |ui| {
            for path in &settings.recent {
                if ui
                    .button(egui::RichText::new(path).font(theme::mono()))
                    .clicked()
                {
                    other.path.clone_from(path);
                }
            }
        });
        ui.separator();
        let label = ui.label(egui::RichText::new("or play on with").color(theme::weak()));
        let edit = TextEdit::singleline(&mut other.changes)
            .id_salt("other changes")
            .font(theme::mono())
            .hint_text(egui::RichText::new("--set mode=owner").color(theme::dim()))
            .desired_width(200.0);
        ui.add(edit).labelled_by(label.id);
        let button = ui.add_enabled(!other.waits, egui::Button::new("play on"));
        let what = "play all nodes on at once, and compare with what comes (docs/play-on.md)";
        if button.on_hover_text(what).clicked() {
            other.waits = true;
            requests.push(Request::PlayOn(other.changes.clone()));
        }
    });
}

/// A line of the list.
enum Line<'a> {
    Parting(&'a PartingLink, bool),
    Finding(&'a ComparedFinding),
    Object(u64, String),
}

fn lines(compared: &Comparison) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    lines.extend(compared.first.iter().map(|it| Line::Parting(it, true)));
    lines.extend(compared.findings.iter().map(Line::Finding));
    lines.extend(compared.objects.iter().map(|it| {
        let [here, there] = &it.end;
        Line::Object(it.object, format!("here {here}   ·   there {there}"))
    }));
    let parted = compared.links.iter().filter(|it| !it.is_same());
    lines.extend(parted.map(|it| Line::Parting(it, false)));
    lines
}

fn summary(compared: &Comparison) -> String {
    let parted = compared.links.iter().filter(|it| !it.is_same()).count();
    let only = |side: usize| {
        let findings = compared.findings.iter();
        findings
            .filter(|it| it.at[side].is_some() && it.at[1 - side].is_none())
            .count()
    };
    if parted == 0 {
        return "none: both have the same packets on every link".to_owned();
    }
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let ends = counted(compared.objects.len(), "object ends", "objects end");
    format!(
        "{parted} of {} part   {} only here, {} only there   {ends} otherwise",
        counted(compared.links.len(), "link", "links"),
        counted(only(0), "finding", "findings"),
        only(1),
    )
}

fn row(ui: &mut Ui, line: &Line<'_>) -> bool {
    let size = vec2(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    let (mark, words) = match line {
        Line::Parting(link, is_first) => {
            let mark = if *is_first { "first" } else { "link" };
            (mark, parting_words(link))
        }
        Line::Finding(finding) => {
            let mark = match finding.at {
                [Some(_), None] => "only here",
                [None, Some(_)] => "only there",
                _ => "in both",
            };
            (mark, finding.sentence.clone())
        }
        Line::Object(object, words) => ("object", format!("{object}: {words}")),
    };
    let label = format!("{mark}: {words}");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    if response.hovered() {
        painter.rect_filled(rect, 0.0, theme::related());
    }
    let color = match mark {
        "only here" | "only there" | "first" => theme::accent(),
        _ => theme::weak(),
    };
    let write = |left: f32, room: f32, text: &str, color| {
        let galley = findings::elided(&painter, text, theme::mono(), room, color);
        let y = rect.center().y - galley.size().y / 2.0;
        painter.galley(pos2(rect.left() + left, y), galley, color);
    };
    write(10.0, 84.0, mark, color);
    if let Line::Finding(finding) = line {
        let at = pos2(rect.left() + 102.0, rect.center().y);
        glyph::level(&painter, at, 11.0, finding.level);
    }
    write(114.0, rect.width() - 120.0, &words, theme::text());
    let hover = egui::RichText::new(words).font(theme::mono());
    response.on_hover_text(hover).clicked()
}

fn parting_words(link: &PartingLink) -> String {
    let when = |side: usize| {
        let number = link.at[side].zip(link.time[side]);
        number.map_or_else(
            || "no further packet".to_owned(),
            |(packet, time)| format!("packet {} at {} s", packet.0, text::seconds(time)),
        )
    };
    format!(
        "{}: {} packets are the same, then here {}, there {}",
        link.name,
        text::count(link.equal),
        when(0),
        when(1)
    )
}

/// Selects what a line is about, in both.
fn go(model: &Model, other: &mut Other, line: &Line<'_>, commands: &mut Vec<Command>) {
    let mut both = |commands_of: [Option<Command>; 2]| {
        let [here, there] = commands_of;
        commands.extend(here);
        if let (Some(second), Some(command)) = (other.model.as_deref_mut(), there) {
            second.apply(command);
        }
    };
    match line {
        Line::Parting(link, _) => {
            both(link.at.map(|it| it.map(Command::SelectPacket)));
            commands.extend(link.time[0].map(|at| Command::SetCursor(Some(at))));
        }
        Line::Finding(finding) => both(finding.at.map(|it| it.map(Command::SelectFinding))),
        Line::Object(object, _) => {
            let select = Command::SelectObject(Some(*object));
            let known = model.knows_object(*object).then(|| select.clone());
            both([known, Some(select)]);
        }
    }
}

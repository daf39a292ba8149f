//! A replay that somebody sits in: the events of one node, and a layer that is played to before one of
//! them.

use egui::{Button, Painter, Role, ScrollArea, Sense, Ui, UiBuilder, WidgetInfo, pos2, vec2};
use netreel_inspector_model::{Model, text};
use netreel_protocol::session::NodeId;

use super::links::node_color;
use super::{control, findings, head, label, scroll};
use crate::ask::{Event, Request, Standing};
use crate::{glyph, theme};

const ROW: f32 = 18.0;
/// A letter of the face that numbers have.
const LETTER: f32 = 7.3;

/// The replay, as the window knows it.
#[derive(Clone, Debug, Default)]
pub struct Seat {
    /// Where it stands; `None`: nobody sits.
    pub standing: Option<Standing>,
    /// The layer's state before the last command.
    pub before: Vec<(String, String)>,
    /// Whether a command is being obeyed.
    pub waits: bool,
    /// Why it ended.
    pub why: Option<String>,
    /// The command that is being typed.
    command: String,
    /// What is to be another than recorded.
    pub changes: String,
    /// What of the layer's state is shown.
    pub part: String,
}

impl Seat {
    /// Takes in where it stands now.
    pub fn stands(&mut self, standing: Standing) {
        self.before = self
            .standing
            .take()
            .map(|it| it.layer)
            .unwrap_or_else(|| standing.layer.clone());
        self.standing = Some(standing);
        self.waits = false;
        self.why = None;
    }

    /// Takes in that it is over.
    pub fn stood(&mut self, why: String) {
        self.standing = None;
        self.before.clear();
        self.waits = false;
        self.why = (!why.is_empty()).then_some(why);
    }

    /// Has a command obeyed, unless one is being obeyed.
    pub fn say(&mut self, command: &str, requests: &mut Vec<Request>) {
        if !self.waits {
            self.waits = true;
            requests.push(Request::Say(command.to_owned()));
        }
    }

    /// Sits at a node, unless somebody sits already, or is about to.
    pub fn sit(&mut self, node: &str, requests: &mut Vec<Request>) {
        if self.waits || self.standing.is_some() {
            return;
        }
        self.waits = true;
        self.why = None;
        requests.push(Request::Sit {
            node: node.to_owned(),
            changes: self.changes.clone(),
        });
    }
}

/// What the buttons say, and what that is at the prompt.
pub const BUTTONS: [(&str, &str, &str); 10] = [
    (
        "< break",
        "continue back to the breakpoint before",
        "back continue",
    ),
    ("< tick", "back to the tick before", "back tick"),
    ("< packet", "back to the packet before", "back packet"),
    ("< event", "back to the event before", "back event"),
    ("event >", "on to the next event", "event"),
    ("packet >", "on to the next packet", "packet"),
    ("message >", "on to the next message", "message"),
    ("tick >", "on to the next tick", "tick"),
    (
        "run >",
        "run to the next breakpoint, or to where it parts from the recording",
        "continue",
    ),
    ("?", "what can be said to it", "help"),
];

/// Draws the replay.
pub fn show(ui: &mut Ui, model: &Model, seat: &mut Seat, requests: &mut Vec<Request>) {
    let Some(standing) = seat.standing.clone() else {
        return begin(ui, model, seat, requests);
    };
    let when = standing.time.map_or_else(
        || "the end".to_owned(),
        |time| format!("{} s", text::seconds(time)),
    );
    let more = format!(
        "{}   before event {} of {}   {when}{}",
        standing.node,
        text::count(standing.position),
        text::count(standing.last),
        if seat.waits { "   playing…" } else { "" }
    );
    head::show(ui, "replay", &more);
    controls(ui, model, seat, &standing, requests);
    let room = ui.available_height();
    let below = match standing.said.is_empty() && standing.breaks.is_empty() {
        true => 0.0,
        false => (room * 0.34).clamp(48.0, 190.0),
    };
    let list = ui.available_rect_before_wrap();
    let (upper, lower) = list.split_top_bottom_at_y(list.bottom() - below);
    ui.scope_builder(UiBuilder::new().max_rect(upper).id_salt("events"), |ui| {
        ui.shrink_clip_rect(upper);
        events(ui, seat, &standing, requests);
    });
    if below > 0.0 {
        ui.painter()
            .hline(list.x_range(), lower.top(), (1.0, theme::line()));
        let inside = lower.shrink2(vec2(8.0, 4.0));
        ui.scope_builder(UiBuilder::new().max_rect(inside).id_salt("said"), |ui| {
            ui.shrink_clip_rect(lower);
            said(ui, seat, &standing, requests);
        });
    }
    ui.advance_cursor_after_rect(list);
}

/// Nobody sits yet: at which node?
fn begin(ui: &mut Ui, model: &Model, seat: &mut Seat, requests: &mut Vec<Request>) {
    head::show(ui, "replay", "");
    let nodes = (0u16..).map(NodeId).zip(&model.session().nodes);
    let recorded: Vec<_> = nodes.filter(|(_, node)| node.recorded).collect();
    if recorded.is_empty() {
        let why = "no node was recorded, and what an observer saw cannot be played";
        findings::empty(ui, &format!("A replay plays a node's recording: {why}."));
        return;
    }
    ui.add_space(8.0);
    ui.horizontal_wrapped(|ui| {
        ui.add_space(10.0);
        ui.label("Play the recording of a node into its network layer, forward and back:");
    });
    ui.horizontal_wrapped(|ui| {
        ui.add_space(10.0);
        for (id, node) in recorded {
            let button = Button::new(label::body(model.lane_name(id)));
            let stroke = (1.5, theme::quiet(node_color(model, id), 1.0));
            let response = ui.add_enabled(!seat.waits, button.stroke(stroke));
            control::named(&response, Role::Button, &format!("replay {}", node.name));
            if response.clicked() {
                seat.sit(&node.name, requests);
            }
        }
    });
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let hint = theme::two_dashes("--set mode=owner");
        label::edit(ui, "changed", &mut seat.changes, &hint, |room| {
            (room - 20.0).min(360.0)
        });
    });
    if seat.waits {
        findings::empty(ui, "Opening the recording…");
    } else if let Some(why) = &seat.why {
        findings::empty(ui, why);
    }
}

fn controls(
    ui: &mut Ui,
    model: &Model,
    seat: &mut Seat,
    standing: &Standing,
    requests: &mut Vec<Request>,
) {
    ui.add_space(3.0);
    head::wrapped(ui, |ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        for (sign, what, command) in BUTTONS {
            let response = ui.add_enabled(!seat.waits, Button::new(label::small(sign)));
            let is_free = !seat.waits;
            response.widget_info(|| WidgetInfo::labeled(Role::Button, is_free, what));
            if response
                .on_hover_text(format!("{what}: `{command}`"))
                .clicked()
            {
                seat.say(command, requests);
            }
        }
        let at = model.cursor().filter(|at| standing.time != Some(*at));
        let text = label::small("to the cursor");
        if ui
            .add_enabled(at.is_some() && !seat.waits, Button::new(text))
            .on_hover_text("play to the time cursor")
            .clicked()
            && let Some(at) = at
        {
            seat.say(&format!("goto {}ns", at.0), requests);
        }
        if ui.add(Button::new(label::small("leave"))).clicked() {
            seat.stood(String::new());
            requests.push(Request::Stand);
        }
    });
    head::wrapped(ui, |ui| {
        let hint = "until kind == migrate  ·  break finding  ·  goto 1.2s  ·  object 42";
        let response = label::edit(ui, "say", &mut seat.command, hint, |room| room - 8.0);
        if label::is_entered(ui, &response) && !seat.command.trim().is_empty() {
            let command = std::mem::take(&mut seat.command);
            seat.say(command.trim(), requests);
            response.request_focus();
        }
    });
}

/// The events around the one that is here. A click goes to one.
fn events(ui: &mut Ui, seat: &mut Seat, standing: &Standing, requests: &mut Vec<Request>) {
    let lines = &standing.events;
    let here = lines
        .iter()
        .position(|line| line.number >= standing.position)
        .unwrap_or(lines.len());
    let moved = scroll::changed(ui.ctx(), "events", (standing.position, lines.len()));
    let above = (ui.available_height() / ROW * 0.4).floor();
    let count = lines.len() + 1;
    let area = scroll::area(ui, "events", (count, ROW), moved.then_some((here, above)));
    let longest = lines
        .iter()
        .map(|line| text::seconds(line.time).len())
        .max();
    let times = (longest.unwrap_or(0) as f32 * LETTER + 12.0).max(86.0);
    area.show_rows(ui, ROW, count, |ui, range| {
        for place in range {
            let (rect, response) = control::row(ui, ROW, Sense::click());
            let painter = ui.painter_at(rect);
            let is_here = place == here;
            if is_here {
                painter.rect_filled(rect, 0.0, theme::selected());
                let at = pos2(rect.left() + 6.0, rect.center().y);
                let corners = [(-3.0, -4.0), (4.0, 0.0), (-3.0, 4.0)];
                glyph::polygon(&painter, at, 1.0, &corners, theme::accent());
            }
            let Some(line) = lines.get(place) else {
                let said = if is_here { "the end" } else { "" };
                let (at, font) = (rect.min + vec2(14.0, 2.0), theme::mono());
                label::below(&painter, at, 200.0, said, font, theme::weak());
                continue;
            };
            control::selectable(
                &response,
                Role::Row,
                is_here,
                &format!("event {} {} {}", line.number, line.kind, line.words),
            );
            if response.hovered() && !is_here {
                painter.rect_filled(rect, 0.0, theme::related());
            }
            columns(&painter, rect, (line, times), place < here);
            if response.clicked() {
                seat.say(&format!("goto {}", line.number), requests);
            }
        }
    });
}

/// What a line says of an event; its time has a column as wide as `times`.
fn columns(painter: &Painter, rect: egui::Rect, (line, times): (&Event, f32), is_behind: bool) {
    let color = match (is_behind, line.packet) {
        (true, _) => theme::dim(),
        (false, Some(_)) => theme::text(),
        (false, None) => theme::weak(),
    };
    let columns = [
        (line.number.to_string(), 52.0),
        (text::seconds(line.time), times),
        (line.kind.clone(), 92.0),
        (line.words.clone(), f32::MAX),
    ];
    let mut x = rect.left() + 14.0;
    for (text, width) in columns {
        let room = width.min(rect.right() - x) - 6.0;
        let at = pos2(x, rect.center().y);
        label::write(painter, at, room, &text, theme::mono(), color);
        x += width;
    }
}

/// What the last command said, and the breakpoints.
fn said(ui: &mut Ui, seat: &mut Seat, standing: &Standing, requests: &mut Vec<Request>) {
    ScrollArea::vertical()
        .id_salt("said")
        .auto_shrink(false)
        .show(ui, |ui| {
            for (place, text) in (1..).zip(&standing.breaks) {
                ui.horizontal(|ui| {
                    let remove = ui.add_enabled(!seat.waits, Button::new("×").small());
                    control::named(&remove, Role::Button, &format!("remove breakpoint {place}"));
                    if remove.clicked() {
                        seat.say(&format!("delete {place}"), requests);
                    }
                    ui.label(label::mono(format!("break {text}")).color(theme::accent()));
                });
            }
            if !standing.said.is_empty() {
                let text = label::mono(&standing.said);
                ui.add(
                    egui::Label::new(text.color(theme::text()))
                        .wrap()
                        .selectable(true),
                );
            }
        });
}

/// The state of the layer that is played; what the last command changed stands out.
pub fn layer(ui: &mut Ui, seat: &mut Seat) {
    let Some(standing) = &seat.standing else {
        let sentence = "The state of the layer stands here while one sits in a replay.";
        return findings::nothing(ui, "layer", "", sentence);
    };
    let changed = |line: &(String, String)| !seat.before.contains(line);
    let count = standing.layer.iter().filter(|line| changed(line)).count();
    let more = format!(
        "before {}   {}, {count} changed",
        match standing.turn == standing.position {
            true => format!("event {}", text::count(standing.turn)),
            false => format!(
                "the turn of event {}, which begins with event {}",
                text::count(standing.position),
                text::count(standing.turn)
            ),
        },
        text::many(standing.layer.len() as u64, "line")
    );
    head::show(ui, "layer", &more);
    if standing.layer.is_empty() {
        findings::empty(ui, "This engine's layer does not say what its state is.");
        return;
    }
    ui.add_space(3.0);
    head::wrapped(ui, |ui| {
        label::edit(ui, "only", &mut seat.part, "objects[42]", |room| room - 8.0);
    });
    let lines: Vec<&(String, String)> = standing
        .layer
        .iter()
        .filter(|(name, _)| name.contains(seat.part.trim()))
        .collect();
    scroll::rows(ui, "layer", ROW, &lines, None, |ui, line| {
        let (rect, response) = control::row(ui, ROW, Sense::hover());
        let (name, value) = line;
        let is_changed = !seat.before.contains(line);
        let label = match is_changed {
            true => format!("{name}: {value}, changed"),
            false => format!("{name}: {value}"),
        };
        control::named(&response, Role::Row, &label);
        let painter = ui.painter_at(rect);
        let color = if is_changed {
            painter.rect_filled(rect, 0.0, theme::related());
            theme::accent()
        } else {
            theme::text()
        };
        let split = (rect.width() * 0.5).min(230.0);
        label::cell(&painter, rect, 10.0, split - 16.0, name, theme::weak());
        let room = rect.width() - split - 4.0;
        label::cell(&painter, rect, split, room, value, color);
        response.on_hover_text(format!("{name}\n{value}"));
    });
}

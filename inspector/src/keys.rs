//! What can be done by a key: the window reads keys by this list, `?` shows it, and Ctrl+P finds all of
//! it by its name.

use egui::{Event, InputState, Key, Modifiers, Ui};
use netreel_inspector_model::{Command, Model, Step};
use netreel_protocol::session::SessionTime;

use crate::layout::Workspace;
use crate::views::lane_hands::LaneKey;

/// Something that a key does.
pub struct Act {
    /// As it is called.
    pub name: &'static str,
    /// Any of them does it.
    presses: &'static [Press],
    what: What,
}

/// What is pressed.
#[derive(Clone, Copy)]
enum Press {
    Plain(Key),
    Shift(Key),
    Alt(Key),
    Command(Key),
    /// With shift as well.
    ShiftCommand(Key),
    /// What the system calls copying: Ctrl+C where nobody chose otherwise.
    Copying,
    /// With shift or without: where it is on a keyboard differs.
    Either(Key),
    /// What a key writes: it must not be written into a text that opens with it.
    Text(&'static str),
}

/// What comes of it.
#[derive(Clone, Copy)]
enum What {
    Step(Step),
    Command(fn(&Model) -> Option<Command>),
    Ask(Ask),
}

/// What a key asks of the window itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Filter,
    Keys,
    Open,
    NextPane,
    Find,
    Workspace(Workspace),
    Alone,
    Play,
    Bookmark,
    BookmarkTime,
    Copy,
    Lane(LaneKey),
    Undo,
    Redo,
}

/// What came of a key, or would come of it.
pub enum Done {
    Command(Command),
    Ask(Ask),
}

use Press::{Alt, Command as Ctrl, Copying, Either, Plain, Shift, ShiftCommand, Text};

const fn act(name: &'static str, presses: &'static [Press], what: What) -> Act {
    Act {
        name,
        presses,
        what,
    }
}

/// All of it, as it is shown.
pub static ACTS: &[Act] = &[
    act(
        "workspace why",
        &[Plain(Key::Num1)],
        What::Ask(Ask::Workspace(Workspace::Why)),
    ),
    act(
        "workspace packets",
        &[Plain(Key::Num2)],
        What::Ask(Ask::Workspace(Workspace::Packets)),
    ),
    act(
        "workspace state",
        &[Plain(Key::Num3)],
        What::Ask(Ask::Workspace(Workspace::State)),
    ),
    act(
        "workspace links",
        &[Plain(Key::Num4)],
        What::Ask(Ask::Workspace(Workspace::Links)),
    ),
    act(
        "workspace compare",
        &[Plain(Key::Num5)],
        What::Ask(Ask::Workspace(Workspace::Compare)),
    ),
    act(
        "workspace replay",
        &[Plain(Key::Num6)],
        What::Ask(Ask::Workspace(Workspace::Replay)),
    ),
    act(
        "next packet",
        &[Plain(Key::ArrowDown), Plain(Key::J)],
        What::Step(Step::NextPacket),
    ),
    act(
        "previous packet",
        &[Plain(Key::ArrowUp), Plain(Key::K)],
        What::Step(Step::PreviousPacket),
    ),
    act(
        "next packet of the link",
        &[Plain(Key::ArrowRight), Plain(Key::L)],
        What::Step(Step::NextOnLink),
    ),
    act(
        "previous packet of the link",
        &[Plain(Key::ArrowLeft), Plain(Key::H)],
        What::Step(Step::PreviousOnLink),
    ),
    act(
        "first packet",
        &[Plain(Key::Home)],
        What::Step(Step::FirstPacket),
    ),
    act(
        "last packet",
        &[Plain(Key::End)],
        What::Step(Step::LastPacket),
    ),
    act(
        "next finding",
        &[Plain(Key::N), Plain(Key::CloseBracket)],
        What::Step(Step::NextFinding),
    ),
    act(
        "previous finding",
        &[Plain(Key::P), Plain(Key::OpenBracket)],
        What::Step(Step::PreviousFinding),
    ),
    act(
        "mute the rule of the finding, or no longer",
        &[Shift(Key::M)],
        What::Command(mute),
    ),
    act(
        "next bookmark",
        &[Alt(Key::ArrowDown)],
        What::Step(Step::NextBookmark),
    ),
    act(
        "previous bookmark",
        &[Alt(Key::ArrowUp)],
        What::Step(Step::PreviousBookmark),
    ),
    act(
        "back: undo a step",
        &[Alt(Key::ArrowLeft)],
        What::Command(|_| Some(Command::Back)),
    ),
    act(
        "forward: redo it",
        &[Alt(Key::ArrowRight)],
        What::Command(|_| Some(Command::Forward)),
    ),
    act(
        "bring the selection into view",
        &[Plain(Key::F)],
        What::Command(|_| Some(Command::FrameSelection)),
    ),
    act(
        "show the whole session",
        &[Plain(Key::A)],
        What::Command(|_| Some(Command::ShowAll)),
    ),
    act(
        "show less time",
        &[Either(Key::Plus), Either(Key::Equals)],
        What::Command(|model| Some(zoom(model, 1.5))),
    ),
    act(
        "show more time",
        &[Either(Key::Minus)],
        What::Command(|model| Some(zoom(model, 1.0 / 1.5))),
    ),
    act(
        "earlier",
        &[Shift(Key::ArrowLeft)],
        What::Command(|model| Some(pan(model, -1))),
    ),
    act(
        "later",
        &[Shift(Key::ArrowRight)],
        What::Command(|model| Some(pan(model, 1))),
    ),
    act(
        "cursor to the departure or arrival before",
        &[Plain(Key::Comma)],
        What::Command(|model| moment(model, false)),
    ),
    act(
        "cursor to the next departure or arrival",
        &[Plain(Key::Period)],
        What::Command(|model| moment(model, true)),
    ),
    act(
        "let the cursor go on by itself, or stop it",
        &[Plain(Key::Space)],
        What::Ask(Ask::Play),
    ),
    act(
        "pin this moment to hold values against, or unpin it",
        &[Plain(Key::M)],
        What::Command(|model| Some(pin(model))),
    ),
    act(
        "measure the visible time, or no longer",
        &[Plain(Key::R)],
        What::Command(|model| Some(measure(model))),
    ),
    act(
        "mark the packet or the cursor with a note",
        &[Text("b")],
        What::Ask(Ask::Bookmark),
    ),
    act(
        "mark the visible time with a note",
        &[Text("B")],
        What::Ask(Ask::BookmarkTime),
    ),
    act(
        "let go of one thing: text, cursor, measured time, focus, story",
        &[Plain(Key::Escape)],
        What::Command(|_| Some(Command::LetGo)),
    ),
    act(
        "the pane alone, or with the others again",
        &[Plain(Key::Z)],
        What::Ask(Ask::Alone),
    ),
    act(
        "lane at hand up",
        &[Shift(Key::ArrowUp)],
        What::Ask(Ask::Lane(LaneKey::Up)),
    ),
    act(
        "lane at hand down",
        &[Shift(Key::ArrowDown)],
        What::Ask(Ask::Lane(LaneKey::Down)),
    ),
    act(
        "hide the lane at hand",
        &[Shift(Key::H)],
        What::Ask(Ask::Lane(LaneKey::Hide)),
    ),
    act(
        "the lane at hand alone, or all again",
        &[Shift(Key::L)],
        What::Ask(Ask::Lane(LaneKey::Alone)),
    ),
    act("next pane", &[Plain(Key::F6)], What::Ask(Ask::NextPane)),
    act(
        "type a filter",
        &[Text("/"), Plain(Key::Slash), Ctrl(Key::F)],
        What::Ask(Ask::Filter),
    ),
    act(
        "do anything, go anywhere, by its name",
        &[Ctrl(Key::P)],
        What::Ask(Ask::Find),
    ),
    act(
        "copy what is selected as text",
        &[Copying],
        What::Ask(Ask::Copy),
    ),
    act(
        "panes and lanes as they were before the last move",
        &[Ctrl(Key::Z)],
        What::Ask(Ask::Undo),
    ),
    act(
        "take that back",
        &[ShiftCommand(Key::Z)],
        What::Ask(Ask::Redo),
    ),
    act(
        "open a recording or a capture",
        &[Ctrl(Key::O)],
        What::Ask(Ask::Open),
    ),
    act(
        "all keys",
        &[Text("?"), Either(Key::Questionmark)],
        What::Ask(Ask::Keys),
    ),
];

/// What [`ACTS`] are about, with the name of the act from which on they are.
const GROUPS: [(&str, &str); 6] = [
    ("Workspaces", "workspace why"),
    ("Packets", "next packet"),
    ("Findings, bookmarks, steps", "next finding"),
    ("Time", "bring the selection into view"),
    (
        "Panes and lanes",
        "the pane alone, or with the others again",
    ),
    ("Filter, open, copy", "type a filter"),
];

/// Keys and gestures as they are shown: of each group its name, and the keys and what they do.
pub fn groups() -> Vec<(&'static str, Vec<(String, &'static str)>)> {
    let mut groups: Vec<(&str, Vec<(String, &str)>)> = Vec::new();
    for act in ACTS {
        let begun = GROUPS.iter().find(|(_, first)| *first == act.name);
        if let Some((name, _)) = begun {
            groups.push((name, Vec::new()));
        }
        if let Some((_, acts)) = groups.last_mut() {
            acts.push((act.keys(), act.name));
        }
    }
    let gestures = GESTURES.iter().map(|&(how, what)| (how.to_owned(), what));
    groups.push(("Mouse", gestures.collect()));
    groups
}

/// What a hand does with more than a key.
pub const GESTURES: &[(&str, &str)] = &[
    ("Tab, Shift+Tab", "next, previous control; Enter presses it"),
    (
        "wheel over time",
        "zoom at the pointer; over names it scrolls",
    ),
    ("Shift+wheel, drag over time", "earlier, later"),
    (
        "Shift+drag over time",
        "measure it: how long it is, what was sent in it",
    ),
    ("Alt+drag over time", "show that time alone"),
    (
        "Ctrl+wheel, Ctrl++, Ctrl+-, Ctrl+0",
        "everything larger, smaller, as at first",
    ),
    (
        "right click on a row",
        "copy it, its value, its path, its bytes; filter by it; make a field a column, draw it over time",
    ),
    (
        "click on the head of a column",
        "sort the table by it, the other way, by time again",
    ),
    (
        "right click on the head of a column",
        "add and remove columns of the table",
    ),
    ("click on an arrow", "select its packet"),
    (
        "click beside arrows",
        "put the time cursor; right click takes it away",
    ),
    (
        "drag the frame's edge",
        "in the strip of the session: show less or more",
    ),
    (
        "drag a pane's head",
        "move the pane; double click: it alone",
    ),
    (
        "drag a lane's name",
        "move the lane; a click opens its menu",
    ),
    (
        "drop files",
        "open reels, folders, captures; a wire is applied",
    ),
];

impl Act {
    /// Its keys, as they are shown: `N, ]`.
    pub fn keys(&self) -> String {
        let mut labels: Vec<String> = Vec::new();
        for label in self.presses.iter().map(|press| press.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels.join(", ")
    }

    /// What it does now; `None` where there is nothing to do.
    pub fn done(&self, model: &Model) -> Option<Done> {
        match self.what {
            What::Step(step) => Some(Done::Command(Command::Step(step))),
            What::Command(command) => command(model).map(Done::Command),
            What::Ask(ask) => Some(Done::Ask(ask)),
        }
    }
}

impl Press {
    fn label(self) -> String {
        match self {
            Plain(key) | Either(key) => name(key).to_owned(),
            Shift(key) => format!("Shift+{}", name(key)),
            Alt(key) => format!("Alt+{}", name(key)),
            Ctrl(key) => format!("Ctrl+{}", name(key)),
            ShiftCommand(key) => format!("Ctrl+Shift+{}", name(key)),
            Copying => "Ctrl+C".to_owned(),
            Text("B") => "Shift+B".to_owned(),
            Text(text) => text.to_uppercase(),
        }
    }

    fn is_pressed(self, input: &InputState) -> bool {
        // What was held when the key went down: when the frame is drawn it may be up again.
        let pressed = |wanted: Key, fits: &dyn Fn(Modifiers) -> bool| {
            input.events.iter().any(|event| match event {
                Event::Key {
                    key,
                    pressed: true,
                    modifiers,
                    ..
                } => *key == wanted && fits(*modifiers),
                _ => false,
            })
        };
        match self {
            Plain(key) => pressed(key, &|it| it.is_none()),
            Shift(key) => pressed(key, &|it| it.shift_only()),
            Alt(key) => pressed(key, &|it| it.matches_exact(Modifiers::ALT)),
            Ctrl(key) => pressed(key, &|it| it.command_only()),
            ShiftCommand(key) => pressed(key, &|it| it.command && it.shift),
            Copying => input.events.contains(&Event::Copy),
            Either(key) => pressed(key, &|it| it.is_none() || it.shift_only()),
            Text(text) => {
                let mut events = input.events.iter();
                events.any(|event| matches!(event, Event::Text(written) if written == text))
            }
        }
    }
}

fn name(key: Key) -> &'static str {
    match key {
        Key::ArrowDown => "down",
        Key::ArrowUp => "up",
        Key::ArrowLeft => "left",
        Key::ArrowRight => "right",
        Key::Home => "home",
        Key::End => "end",
        Key::Space => "space",
        Key::Plus => "+",
        Key::Equals => "=",
        Key::Minus => "-",
        Key::Comma => ",",
        Key::Period => ".",
        Key::Slash => "/",
        Key::Questionmark => "?",
        Key::OpenBracket => "[",
        Key::CloseBracket => "]",
        key => key.name(),
    }
}

fn length(model: &Model) -> i64 {
    let visible = model.visible();
    visible.end.0.saturating_sub(visible.start.0)
}

/// At the cursor, where it can be seen.
fn zoom(model: &Model, factor: f64) -> Command {
    let visible = model.visible();
    let middle = SessionTime(visible.start.0 + length(model) / 2);
    let cursor = model.cursor().filter(|at| visible.contains(at));
    Command::Zoom {
        at: cursor.unwrap_or(middle),
        factor,
    }
}

fn pan(model: &Model, quarters: i64) -> Command {
    Command::Pan(length(model) / 4 * quarters)
}

fn moment(model: &Model, is_next: bool) -> Option<Command> {
    Some(Command::SetCursor(Some(model.next_moment(is_next)?)))
}

fn measure(model: &Model) -> Command {
    Command::Measure(match model.measured_time() {
        Some(_) => None,
        None => Some(model.visible()),
    })
}

fn pin(model: &Model) -> Command {
    Command::Pin(match model.pinned() {
        Some(_) => None,
        None => Some(model.moment()),
    })
}

fn mute(model: &Model) -> Option<Command> {
    let finding = model.selection().finding?;
    let rule = model.history().findings.get(finding)?.rule;
    Some(Command::Mute(rule.to_owned(), !model.is_muted(finding)))
}

/// What was pressed in this frame, while no text is being typed.
pub fn read(ui: &Ui, model: &Model, commands: &mut Vec<Command>) -> Vec<Ask> {
    let mut asks = Vec::new();
    let is_pressed = |act: &&Act| {
        let mut presses = act.presses.iter();
        ui.input(|input| presses.any(|press| press.is_pressed(input)))
    };
    for act in ACTS.iter().filter(is_pressed) {
        match act.done(model) {
            Some(Done::Command(command)) => commands.push(command),
            Some(Done::Ask(ask)) => asks.push(ask),
            None => {}
        }
    }
    asks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_things_have_the_same_key_or_name() {
        let mut keys: Vec<String> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for act in ACTS {
            let own = act.keys();
            keys.extend(
                own.split(", ")
                    .map(str::to_owned)
                    .filter(|it| !it.is_empty()),
            );
            names.push(act.name);
        }
        let count = (keys.len(), names.len());
        keys.sort();
        keys.dedup();
        names.sort_unstable();
        names.dedup();
        assert_eq!((keys.len(), names.len()), count);
    }

    #[test]
    fn every_workspace_has_the_key_of_its_place() {
        let is_of = |act: &&Act| matches!(act.what, What::Ask(Ask::Workspace(_)));
        let keys = ACTS
            .iter()
            .filter(is_of)
            .map(|act| (act.keys(), act.name.to_owned()));
        let all = (1..).zip(Workspace::ALL);
        let all = all.map(|(number, (name, _))| (number.to_string(), format!("workspace {name}")));
        let (keys, all): (Vec<_>, Vec<_>) = (keys.collect(), all.collect());
        assert_eq!(keys, all, "the keys, and `Workspace::ALL`");
    }

    #[test]
    fn every_key_and_gesture_stands_in_a_group() {
        let groups = groups();
        let shown: usize = groups.iter().map(|(_, acts)| acts.len()).sum();
        assert_eq!(shown, ACTS.len() + GESTURES.len());
        assert_eq!(groups.len(), GROUPS.len() + 1);
    }

    /// Ctrl is let go of before the frame that sees the key is drawn.
    #[test]
    fn a_fast_key_is_pressed_with_what_was_held_with_it() {
        let event = Event::Key {
            key: Key::P,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::COMMAND | Modifiers::CTRL,
        };
        let mut input = InputState::default();
        input.events.push(event);
        assert!(Ctrl(Key::P).is_pressed(&input));
        assert!(!Plain(Key::P).is_pressed(&input));
    }

    #[test]
    fn the_docs_have_all_keys_and_gestures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/inspector.md");
        let docs = std::fs::read_to_string(path).expect("docs/inspector.md");
        let acts = ACTS.iter().map(|act| (act.keys(), act.name));
        let gestures = GESTURES.iter().map(|&(keys, what)| (keys.to_owned(), what));
        for (keys, what) in acts.chain(gestures) {
            let row = format!("| {keys} | {what} |");
            assert!(docs.contains(&row), "docs/inspector.md lacks: {row}");
        }
    }
}

//! What can be done by a key: the window reads keys by this list, `?` shows it, and Ctrl+P finds all of
//! it by its name.

use egui::Key::{self, *};
use egui::{Event, InputState, Modifiers, Ui};
use netreel_inspector_model::Step::{self, *};
use netreel_inspector_model::{Command, Commands, Model};
use netreel_protocol::session::SessionTime;

use crate::layout::Workspace;
use crate::views::bar::Asked;
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
enum What {
    Step(Step),
    Command(fn(&Model) -> Option<Command>),
    Asked(Asked),
}

/// What came of a key, or would come of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Do {
    Command(Command),
    Asked(Asked),
}

use Press::{Alt, Command as Ctrl, Copying, Either, Plain, Shift, ShiftCommand, Text};

const fn act(name: &'static str, presses: &'static [Press], what: What) -> Act {
    Act {
        name,
        presses,
        what,
    }
}

const fn step(name: &'static str, presses: &'static [Press], step: Step) -> Act {
    act(name, presses, What::Step(step))
}

const fn ask(name: &'static str, presses: &'static [Press], asked: Asked) -> Act {
    act(name, presses, What::Asked(asked))
}

const fn does(
    name: &'static str,
    presses: &'static [Press],
    command: fn(&Model) -> Option<Command>,
) -> Act {
    act(name, presses, What::Command(command))
}

/// All of it, as it is shown.
pub static ACTS: &[Act] = &[
    ask(
        "workspace why",
        &[Plain(Num1)],
        Asked::Workspace(Workspace::Why),
    ),
    ask(
        "workspace packets",
        &[Plain(Num2)],
        Asked::Workspace(Workspace::Packets),
    ),
    ask(
        "workspace state",
        &[Plain(Num3)],
        Asked::Workspace(Workspace::State),
    ),
    ask(
        "workspace links",
        &[Plain(Num4)],
        Asked::Workspace(Workspace::Links),
    ),
    ask(
        "workspace compare",
        &[Plain(Num5)],
        Asked::Workspace(Workspace::Compare),
    ),
    ask(
        "workspace replay",
        &[Plain(Num6)],
        Asked::Workspace(Workspace::Replay),
    ),
    step("next packet", &[Plain(ArrowDown), Plain(J)], NextPacket),
    step(
        "previous packet",
        &[Plain(ArrowUp), Plain(K)],
        PreviousPacket,
    ),
    step(
        "next packet of the link",
        &[Plain(ArrowRight), Plain(L)],
        NextOnLink,
    ),
    step(
        "previous packet of the link",
        &[Plain(ArrowLeft), Plain(H)],
        PreviousOnLink,
    ),
    step("first packet", &[Plain(Home)], FirstPacket),
    step("last packet", &[Plain(End)], LastPacket),
    step(
        "next finding",
        &[Plain(N), Plain(CloseBracket)],
        NextFinding,
    ),
    step(
        "previous finding",
        &[Plain(P), Plain(OpenBracket)],
        PreviousFinding,
    ),
    does(
        "mute the rule of the finding, or no longer",
        &[Shift(M)],
        mute,
    ),
    step("next bookmark", &[Alt(ArrowDown)], NextBookmark),
    step("previous bookmark", &[Alt(ArrowUp)], PreviousBookmark),
    does("back: undo a step", &[Alt(ArrowLeft)], |_| {
        Some(Command::Back)
    }),
    does("forward: redo it", &[Alt(ArrowRight)], |_| {
        Some(Command::Forward)
    }),
    does("bring the selection into view", &[Plain(F)], |_| {
        Some(Command::FrameSelection)
    }),
    does("show the whole session", &[Plain(A)], |_| {
        Some(Command::ShowAll)
    }),
    does("show less time", &[Either(Plus), Either(Equals)], |model| {
        Some(zoom(model, 1.5))
    }),
    does("show more time", &[Either(Minus)], |model| {
        Some(zoom(model, 1.0 / 1.5))
    }),
    does("earlier", &[Shift(ArrowLeft)], |model| Some(pan(model, -1))),
    does("later", &[Shift(ArrowRight)], |model| Some(pan(model, 1))),
    does(
        "cursor to the departure or arrival before",
        &[Plain(Comma)],
        |model| moment(model, false),
    ),
    does(
        "cursor to the next departure or arrival",
        &[Plain(Period)],
        |model| moment(model, true),
    ),
    ask(
        "let the cursor go on by itself, or stop it",
        &[Plain(Space)],
        Asked::Play,
    ),
    does(
        "pin this moment to hold values against, or unpin it",
        &[Plain(M)],
        |model| Some(pin(model)),
    ),
    does(
        "measure the visible time, or no longer",
        &[Plain(R)],
        |model| Some(measure(model)),
    ),
    ask(
        "mark the packet or the cursor with a note",
        &[Text("b")],
        Asked::Mark,
    ),
    ask(
        "mark the visible time with a note",
        &[Text("B")],
        Asked::MarkTime,
    ),
    does(
        "let go of one thing: text, cursor, measured time, focus, story",
        &[Plain(Escape)],
        |_| Some(Command::LetGo),
    ),
    ask(
        "the pane alone, or with the others again",
        &[Plain(Z)],
        Asked::Alone,
    ),
    ask(
        "lane at hand up",
        &[Shift(ArrowUp)],
        Asked::Lane(LaneKey::Up),
    ),
    ask(
        "lane at hand down",
        &[Shift(ArrowDown)],
        Asked::Lane(LaneKey::Down),
    ),
    ask(
        "hide the lane at hand",
        &[Shift(H)],
        Asked::Lane(LaneKey::Hide),
    ),
    ask(
        "the lane at hand alone, or all again",
        &[Shift(L)],
        Asked::Lane(LaneKey::Alone),
    ),
    ask("next pane", &[Plain(F6)], Asked::NextPane),
    ask(
        "type a filter",
        &[Text("/"), Plain(Slash), Ctrl(F)],
        Asked::Filter,
    ),
    ask(
        "do anything, go anywhere, by its name",
        &[Ctrl(P)],
        Asked::Find,
    ),
    ask("copy what is selected as text", &[Copying], Asked::Copy),
    ask(
        "panes and lanes as they were before the last move",
        &[Ctrl(Z)],
        Asked::Undo,
    ),
    ask("take that back", &[ShiftCommand(Z)], Asked::Redo),
    ask("open a recording or a capture", &[Ctrl(O)], Asked::Open),
    ask("all keys", &[Text("?"), Either(Questionmark)], Asked::Keys),
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
        if let Some((name, _)) = GROUPS.iter().find(|(_, first)| *first == act.name) {
            groups.push((name, Vec::new()));
        }
        if let Some((_, acts)) = groups.last_mut() {
            acts.push((act.keys(), act.name));
        }
    }
    groups.push((
        "Mouse",
        GESTURES
            .iter()
            .map(|&(how, what)| (how.to_owned(), what))
            .collect(),
    ));
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
    pub fn done(&self, model: &Model) -> Option<Do> {
        match &self.what {
            What::Step(step) => Some(Do::Command(Command::Step(*step))),
            What::Command(command) => command(model).map(Do::Command),
            What::Asked(asked) => Some(Do::Asked(asked.clone())),
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
        let pressed = |wanted: Key, fits: fn(Modifiers) -> bool| {
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
            Plain(key) => pressed(key, |it| it.is_none()),
            Shift(key) => pressed(key, |it| it.shift_only()),
            Alt(key) => pressed(key, |it| it.matches_exact(Modifiers::ALT)),
            Ctrl(key) => pressed(key, |it| it.command_only()),
            ShiftCommand(key) => pressed(key, |it| it.command && it.shift),
            Copying => input.events.contains(&Event::Copy),
            Either(key) => pressed(key, |it| it.is_none() || it.shift_only()),
            Text(text) => input
                .events
                .iter()
                .any(|event| matches!(event, Event::Text(written) if written == text)),
        }
    }
}

fn name(key: Key) -> &'static str {
    match key {
        ArrowDown => "down",
        ArrowUp => "up",
        ArrowLeft => "left",
        ArrowRight => "right",
        Home => "home",
        End => "end",
        Space => "space",
        Plus => "+",
        Equals => "=",
        Minus => "-",
        Comma => ",",
        Period => ".",
        Slash => "/",
        Questionmark => "?",
        OpenBracket => "[",
        CloseBracket => "]",
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
    let rule = model.finding(finding)?.rule;
    Some(Command::Mute(rule.to_owned(), !model.is_muted(finding)))
}

/// What was pressed in this frame, while no text is being typed.
pub fn read(ui: &Ui, model: &Model, commands: &mut Commands) -> Vec<Asked> {
    let mut asks = Vec::new();
    let is_pressed = |act: &&Act| {
        let mut presses = act.presses.iter();
        ui.input(|input| presses.any(|press| press.is_pressed(input)))
    };
    for act in ACTS.iter().filter(is_pressed) {
        match act.done(model) {
            Some(Do::Command(command)) => commands.push(command),
            Some(Do::Asked(asked)) => asks.push(asked),
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
        let is_of = |act: &&Act| matches!(act.what, What::Asked(Asked::Workspace(_)));
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

    #[test]
    fn the_docs_and_the_help_have_every_workspace() {
        let read = |name: &str| {
            let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
            std::fs::read_to_string(format!("{docs}/{name}")).expect(name)
        };
        let docs = read("inspector.md").to_lowercase();
        // The manual page is the help (`tests/help.rs`).
        let manual = read("netreel.1");
        let mut help = manual.lines().skip_while(|it| !it.contains("workspace"));
        let help = help.nth(1).expect("what is said of --workspace");
        for (number, (name, _)) in (1..).zip(Workspace::ALL) {
            let row = format!("| {name} | {number} | ");
            assert!(docs.contains(&row), "docs/inspector.md lacks: {row}");
            assert!(
                help.contains(&format!("`{name}`")),
                "src/arguments/inspect.rs lacks `{name}` at `workspace`, or docs/netreel.1 is old: {help}"
            );
        }
    }
}

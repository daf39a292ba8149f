//! What the keys do: the window reads them here, and `?` shows the same list.

use egui::{Event, Key, Modifiers, Ui};
use netreel_inspector_model::{Command, Model, Step};
use netreel_protocol::session::SessionTime;

use crate::layout::Workspace;

/// All keys and gestures, as they are shown: what to press, and what it does.
pub const LIST: &[(&str, &str)] = &[
    ("down, up; J, K", "next, previous packet"),
    ("right, left; L, H", "the same on its link"),
    ("home, end", "first, last packet"),
    ("N, P; ] [", "next, previous finding"),
    ("Alt+left, Alt+right", "back, forward: undo a step, redo it"),
    ("F", "bring the selection into view"),
    ("A", "show the whole session"),
    ("+ -", "show less, more time"),
    ("Shift+left, Shift+right", "earlier, later"),
    ("1 to 6", "why, packets, state, links, compare, replay"),
    (
        ", .",
        "the departure or arrival before the cursor, and behind it",
    ),
    ("space", "let the cursor go on by itself, or stop it"),
    (
        "M",
        "pin the moment that values are held against, or unpin it",
    ),
    ("Z", "the pane alone, or with the others again"),
    ("/ or Ctrl+F", "type a filter"),
    ("Ctrl+P", "do anything, go anywhere, by its name"),
    ("Ctrl+O", "open a recording or a capture"),
    ("Tab, Shift+Tab", "next, previous control; Enter presses it"),
    ("F6", "next pane"),
    ("Escape", "let go of one thing: text, cursor, focus, story"),
    ("?", "this list"),
    ("", ""),
    (
        "wheel over time",
        "zoom at the pointer; over names it scrolls",
    ),
    ("Shift+wheel", "earlier, later"),
    ("drag over time", "move through time"),
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
        "drop files",
        "open reels, folders, captures; a wire is applied",
    ),
];

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
}

/// What was pressed in this frame, while no text is being typed.
pub fn read(ui: &Ui, model: &Model, commands: &mut Vec<Command>) -> Vec<Ask> {
    let visible = model.visible();
    let length = visible.end.0.saturating_sub(visible.start.0);
    let middle = SessionTime(visible.start.0 + length / 2);
    let at = model
        .cursor()
        .filter(|at| visible.contains(at))
        .unwrap_or(middle);
    let mut asks = Vec::new();
    ui.input(|input| {
        let plain = input.modifiers.is_none();
        let shift = input.modifiers.shift_only();
        let alt = input.modifiers.matches_exact(Modifiers::ALT);
        let mut on = |key: Key, held: bool, command: Command| {
            if held && input.key_pressed(key) {
                commands.push(command);
            }
        };
        on(Key::ArrowLeft, alt, Command::Back);
        on(Key::ArrowRight, alt, Command::Forward);
        for (keys, step) in [
            ([Key::ArrowDown, Key::J], Step::NextPacket),
            ([Key::ArrowUp, Key::K], Step::PreviousPacket),
            ([Key::ArrowRight, Key::L], Step::NextOnLink),
            ([Key::ArrowLeft, Key::H], Step::PreviousOnLink),
            ([Key::N, Key::CloseBracket], Step::NextFinding),
            ([Key::P, Key::OpenBracket], Step::PreviousFinding),
        ] {
            for key in keys {
                on(key, plain, Command::Step(step));
            }
        }
        on(Key::Home, plain, Command::Step(Step::FirstPacket));
        on(Key::End, plain, Command::Step(Step::LastPacket));
        on(Key::ArrowRight, shift, Command::Pan(length / 4));
        on(Key::ArrowLeft, shift, Command::Pan(-(length / 4)));
        for (key, is_next) in [(Key::Period, true), (Key::Comma, false)] {
            if plain
                && input.key_pressed(key)
                && let Some(moment) = model.next_moment(is_next)
            {
                on(key, plain, Command::SetCursor(Some(moment)));
            }
        }
        let pin = match model.pinned() {
            Some(_) => None,
            None => Some(model.moment()),
        };
        on(Key::M, plain, Command::Pin(pin));
        on(Key::F, plain, Command::FrameSelection);
        on(Key::A, plain, Command::ShowAll);
        on(Key::Escape, plain, Command::LetGo);
        let zoom = |factor| Command::Zoom { at, factor };
        for (key, factor) in [
            (Key::Plus, 1.5),
            (Key::Equals, 1.5),
            (Key::Minus, 1.0 / 1.5),
        ] {
            on(key, plain || shift, zoom(factor));
        }
        // Where `/` and `?` are on a keyboard differs; what they write does not.
        let writes = |text: &str| {
            let mut events = input.events.iter();
            events.any(|event| matches!(event, Event::Text(written) if written == text))
        };
        let command = input.modifiers.command_only();
        if writes("/") || (plain && input.key_pressed(Key::Slash)) {
            asks.push(Ask::Filter);
        }
        if command && input.key_pressed(Key::F) {
            asks.push(Ask::Filter);
        }
        if writes("?") || input.key_pressed(Key::Questionmark) {
            asks.push(Ask::Keys);
        }
        if command && input.key_pressed(Key::O) {
            asks.push(Ask::Open);
        }
        if command && input.key_pressed(Key::P) {
            asks.push(Ask::Find);
        }
        if plain && input.key_pressed(Key::F6) {
            asks.push(Ask::NextPane);
        }
        if plain && input.key_pressed(Key::Space) {
            asks.push(Ask::Play);
        }
        if plain && input.key_pressed(Key::Z) {
            asks.push(Ask::Alone);
        }
        let numbers = [
            Key::Num1,
            Key::Num2,
            Key::Num3,
            Key::Num4,
            Key::Num5,
            Key::Num6,
        ];
        for (key, (_, workspace)) in numbers.into_iter().zip(Workspace::ALL) {
            if plain && input.key_pressed(key) {
                asks.push(Ask::Workspace(workspace));
            }
        }
    });
    asks
}

//! What hands do to the window itself: keys, menus, dialogs, files that are dropped.

use std::path::{Path, PathBuf};

use egui::{Event, Key, Ui};
use netreel_inspector_model::{Command, Commands, Model, Spot, text};

use super::{Before, Inspector};
use crate::ask::{Cut, PathKind, Request, Shown};
use crate::keys::{self, Do};
use crate::layout::Workspace;
use crate::panes::{Arrangement, Lie};
use crate::views::bar::Asked;
use crate::views::candidates::{self, Candidates};
use crate::views::dialogs::{self, NoteBox, PathBox, Said};
use crate::views::finder::{self, Finder};
use crate::views::{bar, head, lane_hands, run};

impl Inspector {
    pub(super) fn keys(&mut self, ui: &Ui, commands: &mut Commands) {
        let Before {
            types,
            focus,
            popup,
        } = self.before;
        let asks = self.path_box.is_some()
            || self.note_box.is_some()
            || self.finder.is_some()
            || self.candidates.is_some()
            || self.run.as_ref().is_some_and(|it| it.is_shown);
        let is_free = !types && !popup && !asks && !self.keys_shown;
        if !is_free {
            return;
        }
        let first = commands.len();
        for asked in keys::read(ui, &self.model, commands) {
            self.asked(ui, asked);
        }
        // Escape took the focus from a control: one layer at a time.
        if focus && ui.input(|input| input.key_pressed(Key::Escape)) {
            let peels = |command: &Command| *command == Command::LetGo;
            let mut at = 0;
            commands.retain(|command| {
                at += 1;
                at <= first || !peels(command)
            });
        }
    }

    /// Files that were dropped on the window; while they are held over it, what would be done.
    pub(super) fn dropped(&mut self, ui: &Ui) {
        let held = ui.input(|input| input.raw.hovered_files.clone());
        if !held.is_empty() {
            let is_wire = |path: &Path| path.extension().is_some_and(|it| it == "wire");
            let wires = held.iter().filter_map(|file| file.path.as_deref());
            dialogs::held(ui, wires.clone().count() > 0 && wires.clone().all(is_wire));
        }
        let (wires, recordings): (Vec<PathBuf>, Vec<PathBuf>) = ui
            .input(|input| input.raw.dropped_files.clone())
            .into_iter()
            .map(|file| file.path().to_owned())
            .partition(|path| path.extension().is_some_and(|it| it == "wire"));
        if !recordings.is_empty() {
            self.requests.push(Request::Open(recordings));
        }
        self.requests.extend(wires.into_iter().map(Request::Wire));
    }

    pub(super) fn dialogs(&mut self, ui: &Ui) {
        if self.keys_shown && dialogs::keys(ui) {
            self.keys_shown = false;
        }
        let Some(asked) = &mut self.path_box else {
            return;
        };
        let wanted = asked.wanted;
        match dialogs::path(ui, asked, &self.settings, &mut self.requests) {
            Said::Nothing => return,
            Said::Close => {}
            Said::Answer(path) => self.named_path(wanted, PathBuf::from(path)),
        }
        self.path_box = None;
    }

    /// Does with a path what it was asked for.
    pub(super) fn named_path(&mut self, wanted: PathKind, path: PathBuf) {
        match wanted {
            PathKind::Recording => self.requests.push(Request::Open(vec![path])),
            PathKind::Wire => self.requests.push(Request::Wire(path)),
            PathKind::Picture => self.photo.ask(dialogs::picture(path)),
            PathKind::Cut => self.requests.push(Request::Cut(cut(&self.model, path))),
        }
    }

    pub(super) fn note(&mut self, ui: &Ui, commands: &mut Commands) {
        let Some(asked) = &mut self.note_box else {
            return;
        };
        match dialogs::note(ui, asked) {
            Said::Nothing => return,
            Said::Close => {}
            Said::Answer(note) => commands.push(Command::Bookmark(asked.at.clone(), note)),
        }
        self.note_box = None;
    }

    pub(super) fn find(&mut self, ui: &Ui, commands: &mut Commands) {
        let Some(finder) = &mut self.finder else {
            return;
        };
        let panes = self.arrangement.tree(self.workspace).panes();
        match finder::show(
            ui,
            &self.model,
            (&panes, self.seat.standing.is_some()),
            finder,
        ) {
            Said::Nothing => return,
            Said::Close => {}
            Said::Answer(Do::Asked(asked)) => self.asked(ui, asked),

            Said::Answer(Do::Command(command)) => {
                if let Command::SetFilter(text) = &command {
                    self.bar.filter.clone_from(text);
                }
                commands.push(command);
            }
        }
        self.finder = None;
    }

    /// The wires that are being tried, or were.
    pub(super) fn try_wires(&mut self, ui: &Ui) {
        let Some(candidates) = &self.candidates else {
            return;
        };
        match candidates::show(ui, candidates) {
            Said::Nothing => return,
            Said::Close => {}
            Said::Answer(candidate) => self.requests.push(match candidate.path {
                Some(path) => Request::Wire(path),
                None => Request::KnownWire(candidate.name),
            }),
        }
        self.candidates = None;
    }

    /// The matches of the run, while they are listed.
    pub(super) fn choose_match(&mut self, ui: &Ui) {
        let Some(list) = self.run.as_mut().filter(|it| it.is_shown) else {
            return;
        };
        let said = run::show(ui, list);
        list.is_shown = said == Said::Nothing;
        match said {
            Said::Nothing | Said::Close => {}
            Said::Answer((folder, None)) => self.requests.push(Request::Open(vec![folder])),
            Said::Answer((one, Some(other))) => {
                self.requests.push(Request::OpenBoth(one, other));
                self.go_to(Workspace::Compare);
            }
        }
    }

    /// Takes a move of panes or lanes back, or does it again.
    fn step_panes(&mut self, is_back: bool) {
        let Some(Lie { trees, lanes }) = self.moves.step(is_back) else {
            return;
        };
        if self.arrangement.trees != trees {
            self.arrangement.trees = trees;
            self.arrangement.alone = None;
        }
        self.model.set_lanes(lanes);
    }

    /// Asks for a spot's note.
    fn mark(&mut self, spot: Spot) {
        self.note_box = Some(NoteBox::new(&self.model, spot));
    }

    /// What a key or a click asks of the window itself.
    pub(super) fn asked(&mut self, ui: &Ui, asked: Asked) {
        match asked {
            Asked::Filter => {
                self.bar.wants_filter = true;
                is_key(ui, "/");
            }
            Asked::Mark => {
                self.mark(self.model.spot());
                is_key(ui, "b");
            }
            Asked::MarkTime => {
                self.mark(self.model.visible_spot());
                is_key(ui, "B");
            }
            Asked::Find => self.finder = Some(Finder::default()),
            Asked::NextPane => head::next(ui.ctx()),
            Asked::Play => self.bar.plays = !self.bar.plays,
            Asked::Alone => self.toggle_alone(ui.ctx()),
            Asked::Lane(key) => match lane_hands::at_hand(ui.ctx(), &self.model) {
                Some(node) => self.model.apply(Command::Lanes(key.of(node))),
                None => self
                    .bar
                    .say("No lane is at hand: point at its name, or go to it with Tab."),
            },
            Asked::Undo => self.step_panes(true),
            Asked::Redo => self.step_panes(false),
            Asked::Bookmark(spot) => self.mark(spot),
            Asked::Workspace(workspace) => self.go_to(workspace),
            Asked::Pane(what) => self.arrangement.perform(self.workspace, what),
            Asked::Theme(theme) => self.settings.theme = theme.name().to_owned(),
            Asked::Layout => self.arrangement = Arrangement::default(),
            Asked::Keys => self.keys_shown = true,
            Asked::Open => self.path_box = Some(PathBox::new(PathKind::Recording)),
            Asked::Demonstration => self.requests.push(Request::Demonstration),
            Asked::Wire => self.path_box = Some(PathBox::new(PathKind::Wire)),
            Asked::Follow(follow) => {
                self.bar.live = false;
                self.requests.push(Request::Follow(follow));
            }
            Asked::Cancel => {
                self.bar.working = None;
                if self.only_begun() {
                    let said = "Only its beginning was read: open it again to see the rest.";
                    self.bar.news = Some(said.to_owned());
                }
                self.requests.push(Request::Cancel);
            }
            Asked::Sit(node) => {
                self.go_to(Workspace::Replay);
                self.seat.sit(&node, &mut self.requests);
            }
            Asked::Say(command) => {
                self.go_to(Workspace::Replay);
                self.seat.say(command, &mut self.requests);
            }
            Asked::Copy => match self.model.selected_text() {
                Some(text) => copied(ui, &mut self.bar, "what is selected", text),
                None => self.bar.say("Nothing is selected that could be copied."),
            },
            Asked::Report => {
                copied(
                    ui,
                    &mut self.bar,
                    "the report",
                    self.model.report(&self.named),
                );
            }
            Asked::Picture => self.path_box = Some(PathBox::new(PathKind::Picture)),
            Asked::Cut => self.path_box = Some(PathBox::new(PathKind::Cut)),
            Asked::Candidates => {
                self.candidates = Some(Candidates::default());
                self.requests
                    .push(Request::Candidates(Shown(self.model.shared_session())));
            }
            Asked::Run => match &mut self.run {
                Some(list) => list.is_shown = true,
                None => {
                    let said =
                        "No run is at hand: open the folder of one that `netreel run` wrote.";
                    self.bar.say(said);
                }
            },
            Asked::Recent(paths) => self.requests.push(Request::Open(paths)),
        }
    }
}

/// Hands a text to whatever it is pasted into, and says so.
fn copied(ui: &Ui, bar: &mut bar::Bar, what: &str, text: String) {
    let lines = text::counted(text.lines().count() as u64, "line");
    bar.say(&format!("copied: {what}, {lines}"));
    ui.ctx().copy_text(text);
}

/// What of a session is to stay: what the filter takes of the visible time.
fn cut(model: &Model, folder: PathBuf) -> Cut {
    let filter = model.filter();
    let packets = filter
        .is_narrow()
        .then(|| model.packets_by_time().collect());
    Cut {
        of: Shown(model.shared_session()),
        packets,
        time: model.visible(),
        filter: filter.text.clone(),
        folder,
    }
}

/// What was typed is a key, not the first letter of what is typed next.
fn is_key(ui: &Ui, typed: &str) {
    ui.input_mut(|input| {
        let is_it = |event: &Event| matches!(event, Event::Text(it) if it == typed);
        input.events.retain(|event| !is_it(event));
    });
}

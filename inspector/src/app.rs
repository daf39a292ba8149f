//! The whole window: which view lies where, who has the keyboard, what is asked of whoever runs it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{CentralPanel, EventFilter, Frame, Id, Key, Margin, Panel, Stroke, StrokeKind, Ui};
use netreel_inspector_model::{Bookmark, Command, LedgerBy, Model, RowsOf, Spot};
use netreel_protocol::session::SessionTime;

use crate::ask::{Answer, Request};
use crate::keys::{self, Ask};
use crate::layout::{Pane, Workspace};
use crate::panes::{self, Arrangement, Move};
use crate::settings::Settings;
use crate::theme;
use crate::views::compare::{self, Other};
use crate::views::dialogs::{self, NoteBox, PathBox, Said, Wanted};
use crate::views::finder::{self, Do, Finder};
use crate::views::replay::Seat;
use crate::views::{
    bytes, course, fields, findings, head, ledger, link, links, map, minimap, notes, objects,
    packets, parting, replay, status, timeline, top, values,
};

/// How soon there is a next frame while the filter looks at packets.
const FILTERING: Duration = Duration::from_millis(16);

/// How soon there is a next frame while something is opened.
const WORKING: Duration = Duration::from_millis(250);

/// In so many seconds the cursor goes through what is visible.
const PLAY_S: f64 = 12.0;

/// What somebody has chosen in panes: how things are shown there.
#[derive(Default)]
struct Looks {
    ledger: LedgerBy,
    values: RowsOf,
    map: map::Look,
    notes: notes::Search,
}

/// The inspector's window without its window: a model and how it is laid out.
pub struct Inspector {
    model: Model,
    workspace: Workspace,
    arrangement: Arrangement,
    settings: Settings,
    /// As the settings were kept last.
    kept: Settings,
    /// As the bookmarks were kept last.
    kept_bookmarks: Arc<[Bookmark]>,
    bar: top::Bar,
    /// Whether text was being typed when the last frame ended, and whether a control had the focus or
    /// something lay over the window. Whatever Escape ends there is gone when a frame begins.
    before: Before,
    keys_shown: bool,
    path_box: Option<PathBox>,
    note_box: Option<NoteBox>,
    finder: Option<Finder>,
    looks: Looks,
    seat: Seat,
    other: Other,
    /// When the cursor was moved on last, in the time of the frames.
    played_at: Option<f64>,
    /// The pane that the pointer was over last.
    pointed: Option<Pane>,
    requests: Vec<Request>,
    title: Option<String>,
    /// Of what only the beginning is shown so far.
    begun: Option<Vec<PathBuf>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    types: bool,
    focus: bool,
    popup: bool,
}

impl Inspector {
    /// Shows a model.
    pub fn new(model: Model, workspace: Workspace) -> Inspector {
        Inspector {
            bar: top::Bar {
                filter: model.filter().text.clone(),
                ..top::Bar::default()
            },
            kept_bookmarks: Arc::clone(model.bookmarks()),
            model,
            workspace,
            arrangement: Arrangement::default(),
            settings: Settings::default(),
            kept: Settings::default(),
            before: Before::default(),
            keys_shown: false,
            path_box: None,
            note_box: None,
            finder: None,
            looks: Looks::default(),
            seat: Seat::default(),
            other: Other::default(),
            played_at: None,
            pointed: None,
            requests: Vec::new(),
            title: None,
            begun: None,
        }
    }

    /// Lays it out so.
    pub fn set_settings(&mut self, settings: Settings) {
        self.kept = settings.clone();
        self.arrangement.trees.clone_from(&settings.layouts);
        self.settings = settings;
    }

    /// What is shown.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What is shown, to be changed.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// What is shown, and what that is compared with.
    pub fn models_mut(&mut self) -> impl Iterator<Item = &mut Model> {
        let other = self.other.model.as_deref_mut();
        std::iter::once(&mut self.model).chain(other)
    }

    /// Which workspace is shown.
    pub fn workspace(&self) -> Workspace {
        self.workspace
    }

    /// The pane that is shown alone.
    pub fn alone(&self) -> Option<Pane> {
        self.arrangement.alone
    }

    /// Shows one pane alone, or all of the workspace.
    pub fn show_alone(&mut self, pane: Option<Pane>) {
        self.arrangement.alone = pane;
    }

    fn go_to(&mut self, workspace: Workspace) {
        self.workspace = workspace;
        self.arrangement.alone = None;
    }

    /// What was asked for since, in order.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// What the window is called from now on, if that is something new.
    pub fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// Takes in what became of a request.
    pub fn hear(&mut self, answer: Answer) {
        match answer {
            Answer::Working(what) => self.bar.working = Some(what),
            Answer::Begun {
                model,
                title,
                paths,
            } => {
                self.opens(*model, title, &paths);
                self.begun = Some(paths);
            }
            Answer::Opened {
                mut model,
                title,
                paths,
            } => {
                if self.begun.as_ref() == Some(&paths) {
                    model.go_on_from(&self.model);
                }
                self.opens(*model, title, &paths);
            }
            Answer::Grown { model, live } => {
                self.begun = None;
                self.bar.working = None;
                self.bar.live = live;
                let is_kept = self.kept_bookmarks == *self.model.bookmarks();
                self.model.grow(*model);
                if is_kept {
                    self.kept_bookmarks = Arc::clone(self.model.bookmarks());
                }
            }
            Answer::Stands(standing) => {
                // The cursor goes along: all panes show what was so then.
                if let Some(time) = standing.time {
                    self.model.apply(Command::SetCursor(Some(time)));
                }
                if let Some(packet) = standing.packet {
                    self.model.apply(Command::SelectPacket(packet));
                }
                self.seat.stands(*standing);
            }
            Answer::Stood(why) => self.seat.stood(why),
            Answer::Compared { model, title } => {
                self.other.model = Some(model);
                self.other.title = title;
                self.other.is_focus = false;
                (self.other.waits, self.other.why) = (false, None);
            }
            Answer::NotCompared(why) => (self.other.waits, self.other.why) = (false, Some(why)),
            Answer::Failed(sentence) => {
                self.bar.working = None;
                self.only_begun();
                self.bar.news = Some(sentence);
            }
        }
    }

    /// Nobody reads on any more; whether it is the beginning alone that is shown.
    fn only_begun(&mut self) -> bool {
        let is_begun = self.begun.take().is_some();
        if is_begun {
            self.model.apply(Command::GiveUp);
        }
        is_begun
    }

    /// Shows another session.
    fn opens(&mut self, model: Model, title: String, paths: &[PathBuf]) {
        self.bar.filter = model.filter().text.clone();
        self.model = model;
        self.begun = None;
        self.kept_bookmarks = Arc::clone(self.model.bookmarks());
        self.seat = Seat::default();
        self.other = Other::default();
        self.bar.news = None;
        self.bar.working = None;
        self.bar.live = false;
        self.settings.opened(paths);
        self.title = Some(title);
    }

    /// One frame: draws, then does what was asked for.
    pub fn show(&mut self, ui: &mut Ui) {
        theme::apply_theme(ui.ctx(), self.settings.theme());
        let comes = self.other.model.as_mut().is_some_and(|it| it.advance());
        if self.model.advance() || comes {
            ui.ctx().request_repaint_after(FILTERING);
        }
        self.works(ui);
        let mut commands = Vec::new();
        self.keys(ui, &mut commands);
        self.dropped(ui);
        head::begin(ui.ctx());
        self.panels(ui, &mut commands);
        self.dialogs(ui);
        self.note(ui, &mut commands);
        self.find(ui, &mut commands);
        self.focus(ui.ctx());
        self.play(ui, &mut commands);
        for command in std::mem::take(&mut self.bar.asked) {
            self.asked(command);
        }
        let hovers = |command: &Command| matches!(command, Command::Hover(_));
        if !commands.iter().any(hovers) {
            commands.push(Command::Hover(None));
        }
        for command in commands {
            // Drawing again what is drawn already would never end.
            let same = command == Command::Hover(self.model.hover());
            if !same {
                let moves = matches!(
                    command,
                    Command::Back | Command::Forward | Command::SetFilter(_)
                );
                // What is picked out in the session below ends with the same key, and one filter is
                // for both. Each has a way back of its own. What takes long is given up in both.
                let ends = matches!(
                    command,
                    Command::LetGo
                        | Command::EndStory
                        | Command::Deselect
                        | Command::SetFilter(_)
                        | Command::GiveUp
                        | Command::GoOn
                );
                if let Some(other) = self.other.model.as_deref_mut().filter(|_| ends) {
                    other.apply(command.clone());
                }
                // Who selected something below goes on from there.
                let is_below = self.other.is_focus && self.workspace == Workspace::Compare;
                if is_below && matches!(command, Command::Step(_)) {
                    self.other.apply(ui, command);
                    continue;
                }
                self.other.is_focus &= !compare::selects(&command);
                self.model.apply(command);
                if moves {
                    self.bar.filter.clone_from(&self.model.filter().text);
                }
                ui.ctx().request_repaint();
            }
        }
        if *self.model.bookmarks() != self.kept_bookmarks {
            self.kept_bookmarks = Arc::clone(self.model.bookmarks());
            let kept = Arc::clone(&self.kept_bookmarks);
            self.requests.push(Request::KeepBookmarks(kept));
        }
        if self.settings.layouts != self.arrangement.trees {
            self.settings.layouts.clone_from(&self.arrangement.trees);
        }
        if self.settings != self.kept && !ui.input(|input| input.pointer.any_down()) {
            self.kept = self.settings.clone();
            self.requests.push(Request::Keep(self.kept.clone()));
        }
    }

    /// Looks what is being worked on, and how long.
    fn works(&mut self, ui: &Ui) {
        let both = || std::iter::once(&self.model).chain(self.other.model.as_deref());
        let (beside, given_up) = (
            both().find_map(Model::works_on),
            both().find_map(Model::given_up),
        );
        (self.bar.beside, self.bar.given_up) = (beside, given_up);
        if self.bar.working.is_none() && beside.is_none() {
            self.bar.since = None;
            return;
        }
        ui.ctx().request_repaint_after(WORKING);
        let now = ui.input(|input| input.time);
        self.bar.since.get_or_insert(now);
    }

    fn keys(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        let Before {
            types,
            focus,
            popup,
        } = self.before;
        let asks = self.path_box.is_some() || self.note_box.is_some() || self.finder.is_some();
        let is_free = !types && !popup && !asks && !self.keys_shown;
        if !is_free {
            return;
        }
        let first = commands.len();
        for ask in keys::read(ui, &self.model, commands) {
            self.ask(ui, ask);
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

    /// Does what a key asks of the window itself.
    fn ask(&mut self, ui: &Ui, ask: Ask) {
        match ask {
            Ask::Filter => {
                self.bar.wants_filter = true;
                is_key(ui, "/");
            }
            Ask::Bookmark => {
                self.mark(self.model.spot());
                is_key(ui, "b");
            }
            Ask::BookmarkTime => {
                self.mark(self.model.visible_spot());
                is_key(ui, "B");
            }
            Ask::Keys => self.keys_shown = true,
            Ask::Open => self.path_box = Some(PathBox::new(Wanted::Recording)),
            Ask::Find => self.finder = Some(Finder::default()),
            Ask::NextPane => head::next(ui.ctx()),
            Ask::Play => self.bar.plays = !self.bar.plays,
            Ask::Workspace(workspace) => self.go_to(workspace),
            Ask::Alone => self.toggle_alone(ui.ctx()),
        }
    }

    /// Files that were dropped on the window.
    fn dropped(&mut self, ui: &Ui) {
        let dropped = ui.input(|input| input.raw.dropped_files.clone());
        let paths = dropped.into_iter().map(|file| file.path().to_owned());
        let (wires, recordings): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.partition(|path| path.extension().is_some_and(|it| it == "wire"));
        if !recordings.is_empty() {
            self.requests.push(Request::Open(recordings));
        }
        self.requests.extend(wires.into_iter().map(Request::Wire));
    }

    fn dialogs(&mut self, ui: &Ui) {
        if self.keys_shown && dialogs::keys(ui) {
            self.keys_shown = false;
        }
        let Some(asked) = &mut self.path_box else {
            return;
        };
        match dialogs::path(ui, asked, &self.settings) {
            Said::Nothing => {}
            Said::Close => self.path_box = None,
            Said::Text(path) => {
                self.requests.push(match asked.wanted {
                    Wanted::Recording => Request::Open(vec![PathBuf::from(path)]),
                    Wanted::Wire => Request::Wire(PathBuf::from(path)),
                });
                self.path_box = None;
            }
            Said::Recent(paths) => {
                self.requests.push(Request::Open(paths));
                self.path_box = None;
            }
        }
    }

    fn note(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        let Some(asked) = &mut self.note_box else {
            return;
        };
        match dialogs::note(ui, asked) {
            // It asks for no path.
            Said::Nothing | Said::Recent(_) => return,
            Said::Close => {}
            Said::Text(note) => commands.push(Command::Bookmark(asked.at.clone(), note)),
        }
        self.note_box = None;
    }

    fn find(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        let Some(finder) = &mut self.finder else {
            return;
        };
        let panes = self.arrangement.tree(self.workspace).panes();
        let sits = self.seat.standing.is_some();
        match finder::show(ui, &self.model, (&panes, sits), finder) {
            finder::Said::Nothing => return,
            finder::Said::Close => {}
            finder::Said::Do(Do::Asked(asked)) => self.asked(asked),
            finder::Said::Do(Do::Ask(ask)) => self.ask(ui, ask),
            finder::Said::Do(Do::Command(command)) => {
                if let Command::SetFilter(text) = &command {
                    self.bar.filter.clone_from(text);
                }
                commands.push(command);
            }
        }
        self.finder = None;
    }

    /// Asks for a spot's note.
    fn mark(&mut self, spot: Spot) {
        self.note_box = Some(NoteBox::new(&self.model, spot));
    }

    /// What a click in the bars asked for.
    fn asked(&mut self, asked: top::Asked) {
        match asked {
            top::Asked::Bookmark(spot) => self.mark(spot),
            top::Asked::Workspace(workspace) => self.go_to(workspace),
            top::Asked::Pane(what) => self.arrangement.perform(self.workspace, what),
            top::Asked::Theme(theme) => self.settings.theme = theme.name().to_owned(),
            top::Asked::Layout => {
                self.arrangement = Arrangement::default();
            }
            top::Asked::Keys => self.keys_shown = true,
            top::Asked::Open => self.path_box = Some(PathBox::new(Wanted::Recording)),
            top::Asked::Wire => self.path_box = Some(PathBox::new(Wanted::Wire)),
            top::Asked::Follow(follow) => {
                self.bar.live = false;
                self.requests.push(Request::Follow(follow));
            }
            top::Asked::Cancel => {
                self.bar.working = None;
                if self.only_begun() {
                    let said = "Only its beginning was read: open it again to see the rest.";
                    self.bar.news = Some(said.to_owned());
                }
                self.requests.push(Request::Cancel);
            }
            top::Asked::Sit(node) => {
                self.go_to(Workspace::Replay);
                self.seat.sit(&node, &mut self.requests);
            }
            top::Asked::Say(command) => {
                self.go_to(Workspace::Replay);
                self.seat.say(command, &mut self.requests);
            }
            top::Asked::Recent(paths) => self.requests.push(Request::Open(paths)),
        }
    }

    /// Shows which control has the keyboard, and leaves the arrow keys to the window.
    fn focus(&mut self, ctx: &egui::Context) {
        let focused: Option<Id> = ctx.memory(|memory| memory.focused());
        let types = ctx.text_edit_focused();
        self.before = Before {
            types,
            focus: focused.is_some(),
            popup: egui::Popup::is_any_open(ctx),
        };
        let Some(id) = focused.filter(|_| !types) else {
            return;
        };
        let arrows = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        ctx.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
        if let Some(response) = ctx.read_response(id) {
            let rect = response.rect.intersect(response.interact_rect.expand(2.0));
            let layer = egui::LayerId::new(egui::Order::Foreground, Id::unique("focus ring"));
            let ring = Stroke::new(2.0, theme::accent());
            let painter = ctx.layer_painter(layer);
            painter.rect_stroke(rect.shrink(1.0), 3.0, ring, StrokeKind::Inside);
        }
    }

    /// Moves the cursor on, as far as it goes in a frame: through what is visible in [`PLAY_S`], and
    /// the visible time along with it.
    fn play(&mut self, ui: &Ui, commands: &mut Vec<Command>) {
        if !self.bar.plays {
            self.played_at = None;
            return;
        }
        ui.ctx().request_repaint();
        let now = ui.input(|input| input.time);
        let Some(before) = self.played_at.replace(now) else {
            return;
        };
        let model = &self.model;
        let visible = model.visible();
        let scale = model.scale(1_000.0);
        let from = model.cursor().unwrap_or(visible.start);
        let from = from.clamp(visible.start, visible.end);
        let step = (now - before).clamp(0.0, 0.25) / PLAY_S * 1_000.0;
        // By the axis, so that what is folded takes no time.
        let to = scale.time(scale.x(from) + step as f32);
        let to = SessionTime(to.0.max(from.0.saturating_add(1)));
        if to >= model.span().end {
            self.bar.plays = false;
            commands.push(Command::SetCursor(Some(model.span().end)));
            return;
        }
        commands.push(Command::SetCursor(Some(to)));
        let (at, ahead) = (scale.x(to), 900.0);
        if at > ahead {
            commands.push(Command::Pan(scale.ns(at - ahead)));
        }
    }

    /// The pane that has the keyboard has the workspace, else the one that the pointer is over.
    fn toggle_alone(&mut self, ctx: &egui::Context) {
        let pane = self.arrangement.alone.or_else(|| head::focused(ctx));
        let pane = pane.or(self.pointed);
        if let Some(pane) = pane {
            self.arrangement.perform(self.workspace, Move::Alone(pane));
        }
    }

    fn panels(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let model = &self.model;
        let (bar, workspace, settings) = (&mut self.bar, self.workspace, &self.settings);
        let panes = self.arrangement.tree(workspace).panes();
        Panel::top("top").frame(bar_frame()).show(ui, |ui| {
            top::show(ui, model, bar, (workspace, &panes), settings, commands);
        });
        if let Some((sentence, color)) = top::said(model, bar) {
            let frame = bar_frame().fill(theme::panel());
            Panel::top("said").frame(frame).show(ui, |ui| {
                top::sentence(ui, &sentence, color, bar);
            });
        }
        Panel::bottom("status")
            .frame(bar_frame())
            .show(ui, |ui| status::show(ui, model, bar, commands));
        let (arrangement, pointed) = (&mut self.arrangement, &mut self.pointed);
        let looks = &mut self.looks;
        let (seat, requests) = (&mut self.seat, &mut self.requests);
        let (other, settings) = (&mut self.other, &self.settings);
        CentralPanel::default().frame(plain()).show(ui, |ui| {
            // Nothing is there yet: what there is to say is what is being done.
            if model.session().nodes.is_empty()
                && let Some(working) = &bar.working
            {
                findings::empty(ui, &format!("{working}…"));
                return;
            }
            minimap::show(ui, model, commands);
            panes::show(ui, model, workspace, arrangement, &mut |ui, pane| {
                let pointer = ui.input(|input| input.pointer.hover_pos());
                if pointer.is_some_and(|at| ui.max_rect().contains(at)) {
                    *pointed = Some(pane);
                }
                // What was selected in the session below is shown where one packet is.
                if other.is_focus && workspace == Workspace::Compare {
                    match pane {
                        Pane::Packets => return compare::of_other(ui, other, packets::show),
                        Pane::Fields => return compare::of_other(ui, other, fields::show),
                        Pane::Bytes => return compare::of_other(ui, other, bytes::show),
                        _ => {}
                    }
                }
                match pane {
                    Pane::Timeline => timeline::show(ui, model, commands),
                    Pane::Objects => objects::show(ui, model, commands),
                    Pane::Packets => packets::show(ui, model, commands),
                    Pane::Fields => fields::show(ui, model, commands),
                    Pane::Bytes => bytes::show(ui, model, commands),
                    Pane::Findings => findings::show(ui, model, commands),
                    Pane::Values => values::show(ui, model, &mut looks.values, commands),
                    Pane::Map => map::show(ui, model, &mut looks.map, commands),
                    Pane::Course => course::show(ui, model, commands),
                    Pane::Other => compare::show(ui, model, other, commands),
                    Pane::Differences => {
                        compare::differences(ui, model, other, settings, commands, requests);
                    }
                    Pane::Replay => replay::show(ui, model, seat, requests),
                    Pane::Layer => replay::layer(ui, seat),
                    Pane::Parting => parting::show(ui, seat),
                    Pane::Links => links::show(ui, model, commands),
                    Pane::Link => link::show(ui, model, commands),
                    Pane::Notes => {
                        let spot = notes::show(ui, model, &mut looks.notes, commands);
                        bar.asked.extend(spot.map(top::Asked::Bookmark));
                    }
                    Pane::Ledger => ledger::show(ui, model, &mut looks.ledger, commands),
                }
            });
        });
    }
}

/// What was typed is a key, not the first letter of what is typed next.
fn is_key(ui: &Ui, typed: &str) {
    ui.input_mut(|input| {
        let is_it = |event: &egui::Event| matches!(event, egui::Event::Text(it) if it == typed);
        input.events.retain(|event| !is_it(event));
    });
}

fn bar_frame() -> Frame {
    Frame::NONE
        .fill(theme::head())
        .inner_margin(Margin::symmetric(10, 5))
}

fn plain() -> Frame {
    Frame::NONE.fill(theme::panel())
}

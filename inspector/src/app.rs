//! The whole window: which view lies where, who has the keyboard, what is asked of whoever runs it.

mod hands;
mod hears;
mod panels;
mod photo;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::{Context, EventFilter, Id, StrokeKind, Ui};
use netreel_inspector_model::{
    Bookmark, Command, Commands, LanePlan, LedgerBy, Model, OwnColumns, Plotted, RowsOf, Sorting,
};
use netreel_protocol::session::SessionTime;

use crate::ask::Request;
use crate::layout::{Edge, Move, Pane, Workspace};
use crate::panes::{Arrangement, Lie, Moves};
use crate::settings::{KeptPlot, KeptSorting, SCALE_MAX, SCALE_MIN, Settings};
use crate::theme;
use crate::views::candidates::Candidates;
use crate::views::compare::{self, Other};
use crate::views::dialogs::{NoteBox, PathBox};
use crate::views::finder::Finder;
use crate::views::replay::Seat;
use crate::views::run::RunList;
use crate::views::{axis, bar, control, head, lane_hands, map, notes};
use photo::Photo;

/// How soon there is a next frame while the filter looks at packets.
const FILTERING: Duration = Duration::from_millis(16);

/// How soon there is a next frame while something is opened.
const WORKING: Duration = Duration::from_millis(250);

/// How many seconds a notice that something was done stays.
const DONE_S: f64 = 8.0;

/// The cursor crosses the visible time in this many seconds.
const PLAY_S: f64 = 12.0;

/// Who has chosen the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Chosen {
    /// Nobody yet: what there is to show is not known.
    #[default]
    NotYet,
    /// It follows from what there is to show.
    ByWhatIsThere,
    ByHand,
}

/// What somebody has chosen in panes: how things are shown there.
#[derive(Default)]
struct Looks {
    ledger: LedgerBy,
    values: RowsOf,
    map: map::Look,
    notes: notes::Search,
}

/// The inspector's window without its window: a model and how it is laid out.
#[derive(Default)]
pub struct Inspector {
    model: Model,
    workspace: Workspace,
    chosen: Chosen,
    arrangement: Arrangement,
    /// How panes lay before each move.
    moves: Moves,
    settings: Settings,
    /// The scale that the frames are drawn at; `None` before the first.
    scale: Option<f32>,
    /// What is shown, as its title has it.
    named: String,
    /// As the settings were kept last.
    kept: Settings,
    /// As the bookmarks were kept last.
    kept_bookmarks: Arc<[Bookmark]>,
    /// Where what is shown is recorded; empty where nobody said so.
    paths: Vec<PathBuf>,
    /// As its lanes were kept last.
    kept_lanes: Arc<LanePlan>,
    /// As the order of its table and the field over time were kept last.
    kept_order: (Option<Sorting>, Option<Plotted>),
    bar: bar::Bar,
    /// Whether text was being typed when the last frame ended, and whether a control had the focus or
    /// something lay over the window. Whatever Escape ends there is gone when a frame begins.
    before: Before,
    keys_shown: bool,
    path_box: Option<PathBox>,
    note_box: Option<NoteBox>,
    finder: Option<Finder>,
    candidates: Option<Candidates>,
    /// The run whose matches can be chosen from.
    run: Option<RunList>,
    photo: Photo,
    looks: Looks,
    seat: Seat,
    other: Other,
    /// When the cursor was moved on last, in the time of the frames.
    played_at: Option<f64>,
    /// When it was first said that something was done.
    done_at: Option<f64>,
    /// The pane that the pointer was over last.
    pointed: Option<Pane>,
    requests: Vec<Request>,
    title: Option<String>,
    /// Whether nothing was asked for so far.
    welcomes: bool,
    /// Of what only the beginning is shown so far.
    begun: Option<Vec<PathBuf>>,
    /// The latest look at what is followed, while the filter still looks at the packets that are shown;
    /// and whether more may come.
    further: Option<(Box<Model>, bool)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    types: bool,
    focus: bool,
    popup: bool,
}

impl Inspector {
    /// Shows a model in a workspace; `None`: in the one that there is most to see in.
    pub fn new(model: Model, workspace: impl Into<Option<Workspace>>) -> Inspector {
        let workspace = workspace.into();
        Inspector {
            bar: bar::Bar {
                filter: model.filter().text.clone(),
                ..bar::Bar::default()
            },
            kept_bookmarks: Arc::clone(model.bookmarks()),
            kept_lanes: Arc::clone(model.lane_plan()),
            kept_order: (model.sorting(), model.plotted().cloned()),
            model,
            chosen: workspace.map_or(Chosen::NotYet, |_| Chosen::ByHand),
            workspace: workspace.unwrap_or_default(),
            ..Inspector::default()
        }
    }

    /// Lays it out so.
    pub fn set_settings(&mut self, settings: Settings) {
        self.kept = settings.clone();
        self.arrangement.trees.clone_from(&settings.layouts);
        self.moves = Moves::from(Lie {
            trees: settings.layouts.clone(),
            lanes: Arc::clone(self.model.lane_plan()),
        });
        self.scale = None;
        self.model.set_own_columns(settings.own_columns());
        self.settings = settings;
        self.order_as_kept();
        self.mute();
    }

    /// Leaves the findings of muted rules out of what is shown.
    fn mute(&mut self) {
        let rules = Arc::clone(&self.settings.muted);
        for model in self.models_mut() {
            model.set_muted(Arc::clone(&rules));
        }
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
        std::iter::once(&mut self.model).chain(self.other.model.as_deref_mut())
    }

    /// Says what can be opened, until something is.
    pub fn welcome(&mut self) {
        self.welcomes = true;
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

    /// Shows a pane below the others, where it is not there.
    fn bring(&mut self, pane: Pane) {
        let panes = self.arrangement.tree(self.workspace).panes();
        if !panes.contains(&pane) {
            self.arrangement
                .perform(self.workspace, Move::Edge(pane, Edge::Bottom));
        }
        if self.arrangement.alone.is_some_and(|alone| alone != pane) {
            self.arrangement.alone = None;
        }
    }

    fn go_to(&mut self, workspace: Workspace) {
        self.chosen = Chosen::ByHand;
        self.workspace = workspace;
        self.arrangement.alone = None;
    }

    /// Chooses the first screen by what is there: a story in *Why*; where there is none, the packets,
    /// with the first of them open. What goes on is seen best in time.
    fn choose(&mut self) {
        let model = &self.model;
        let is_known = !model.lacks_history() && model.row_count() > 0 && !self.bar.live;
        if self.chosen != Chosen::NotYet || !is_known {
            return;
        }
        self.chosen = Chosen::ByWhatIsThere;
        let is_story = model.selection().finding.is_some() || model.is_looked_at();
        self.workspace = if is_story {
            Workspace::Why
        } else {
            Workspace::Packets
        };
        if !is_story {
            self.model.open_first();
        }
    }

    /// What is shown is called so.
    pub fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.named);
    }

    /// What was asked for since, in order.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// What the window is called from now on, if that is something new.
    pub fn take_title(&mut self) -> Option<String> {
        self.title.take()
    }

    /// One frame: draws, then does what was asked for.
    pub fn show(&mut self, ui: &mut Ui) {
        theme::apply_theme(ui.ctx(), self.settings.theme());
        self.scaled(ui);
        for said in self.photo.said() {
            self.hear(said);
        }
        let comes = self.other.model.as_mut().is_some_and(|it| it.advance());
        let more = self.model.advance();
        if more || comes {
            ui.ctx().request_repaint_after(FILTERING);
        }
        if !more && let Some((further, live)) = self.further.take() {
            self.grows(*further, live);
            ui.ctx().request_repaint();
        }
        self.choose();
        self.works(ui);
        let mut commands = Vec::new();
        self.keys(ui, &mut commands);
        self.dropped(ui);
        head::begin(ui.ctx());
        lane_hands::begin(ui.ctx());
        self.panels(ui, &mut commands);
        self.dialogs(ui);
        self.note(ui, &mut commands);
        self.find(ui, &mut commands);
        self.try_wires(ui);
        self.choose_match(ui);
        self.photo.take(ui.ctx());
        self.focus(ui.ctx());
        self.play(ui, &mut commands);
        for command in std::mem::take(&mut self.bar.asked) {
            self.asked(ui, command);
        }
        self.perform(ui, commands);
        self.keep(ui);
    }

    /// Does what views and keys asked for, in order.
    fn perform(&mut self, ui: &Ui, mut commands: Commands) {
        let hovers = |command: &Command| matches!(command, Command::Hover(_));
        if !commands.iter().any(hovers) {
            commands.push(Command::Hover(None));
        }
        for command in commands {
            // Who goes on has read it.
            if !hovers(&command) {
                self.bar.done = None;
            }
            // Drawing again what is drawn already would never end.
            if command != Command::Hover(self.model.hover()) {
                self.apply(ui, command);
            }
        }
    }

    /// Does one thing; in the session below too, where it is about both.
    fn apply(&mut self, ui: &Ui, command: Command) {
        let moves = matches!(
            command,
            Command::Back | Command::Forward | Command::SetFilter(_) | Command::TypeFilter(_)
        );
        // What is picked out in the session below ends with the same key, and one filter is
        // for both. Each has a way back of its own. What takes long is given up in both.
        let ends = matches!(
            command,
            Command::LetGo
                | Command::EndStory
                | Command::Deselect
                | Command::SetFilter(_)
                | Command::TypeFilter(_)
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
            return;
        }
        if matches!(command, Command::Plot(Some(_))) {
            self.bring(Pane::Course);
        }
        self.other.is_focus &= !compare::selects(&command);
        self.model.apply(command);
        if moves {
            self.bar.filter.clone_from(&self.model.filter().text);
        }
        ui.ctx().request_repaint();
    }

    /// Has kept what was changed by hand.
    fn keep(&mut self, ui: &Ui) {
        if *self.model.bookmarks() != self.kept_bookmarks {
            self.kept_bookmarks = Arc::clone(self.model.bookmarks());
            self.requests
                .push(Request::KeepBookmarks(Arc::clone(&self.kept_bookmarks)));
        }
        if *self.model.muted() != self.settings.muted {
            self.settings.muted = Arc::clone(self.model.muted());
            self.mute();
        }
        if self.settings.layouts != self.arrangement.trees {
            self.settings.layouts.clone_from(&self.arrangement.trees);
        }
        self.keep_columns();
        self.keep_lanes();
        self.keep_order();
        let is_held = ui.input(|input| input.pointer.any_down());
        if !is_held {
            self.moves.settle(&self.arrangement.trees, &self.kept_lanes);
        }
        if self.settings != self.kept && !is_held {
            self.kept = self.settings.clone();
            self.requests.push(Request::Keep(self.kept.clone()));
        }
    }

    /// Both sessions have the same columns: those of the table that a hand has changed.
    fn keep_columns(&mut self) {
        let kept = self.settings.own_columns();
        let other = self.other.model.as_deref_mut();
        let own = match &other {
            Some(other) if **self.model.own_columns() == kept => other.own_columns(),
            _ => self.model.own_columns(),
        };
        if **own == kept {
            return;
        }
        let own = OwnColumns::clone(own);
        if let Some(other) = other {
            other.set_own_columns(own.clone());
        }
        self.model.set_own_columns(own.clone());
        self.settings.clock = own.clock;
        self.settings.since = own.since;
        self.settings.since_on_link = own.on_link;
        self.settings.since_selected = own.selected;
        self.settings.columns = own.fields;
    }

    /// Both sessions have the same lanes: those of the timeline that a hand has changed.
    fn keep_lanes(&mut self) {
        let other = self.other.model.as_deref_mut();
        let own = match &other {
            Some(other) if *self.model.lane_plan() == self.kept_lanes => other.lane_plan(),
            _ => self.model.lane_plan(),
        };
        if *own == self.kept_lanes {
            return;
        }
        let own = Arc::clone(own);
        for model in self.models_mut() {
            model.set_lanes(Arc::clone(&own));
        }
        self.kept_lanes = own;
        self.settings.keep_lanes(&self.paths, &self.kept_lanes);
    }

    /// Sorts the table and draws the field over time as a hand left them last, in whatever was shown
    /// then. Where the session has no such column or field, others may have.
    fn order_as_kept(&mut self) {
        let columns = Arc::clone(self.model.own_columns());
        self.model.sort(
            self.settings
                .sorted
                .as_ref()
                .and_then(|it| it.sorting(&columns)),
        );
        self.plot_as_kept();
    }

    fn plot_as_kept(&mut self) {
        self.model
            .set_plotted(self.settings.plotted.as_ref().map(KeptPlot::plotted));
        self.kept_order = self.order();
    }

    fn order(&self) -> (Option<Sorting>, Option<Plotted>) {
        (self.model.sorting(), self.model.plotted().cloned())
    }

    /// Keeps what a hand has changed about that.
    fn keep_order(&mut self) {
        let order = self.order();
        if order.0 != self.kept_order.0 {
            let columns = self.model.own_columns();
            self.settings.sorted = order.0.and_then(|it| KeptSorting::new(it, columns));
        }
        if order.1 != self.kept_order.1 {
            self.settings.plotted = order.1.as_ref().map(KeptPlot::new);
        }
        self.kept_order = order;
    }

    /// That something was done is said for a while.
    fn done(&mut self, ui: &Ui) {
        let now = ui.input(|input| input.time);
        if self.bar.done.is_none() {
            self.done_at = None;
            return;
        }
        let since = now - *self.done_at.get_or_insert(now);
        if since < DONE_S {
            ui.ctx().request_repaint_after(Duration::from_secs(1))
        } else {
            self.bar.done = None
        }
    }

    /// How large everything is: as it was kept, and as a hand changes it.
    fn scaled(&mut self, ui: &Ui) {
        let ctx = ui.ctx();
        let Some(drawn) = self.scale else {
            self.scale = Some(self.settings.scale);
            ctx.set_zoom_factor(self.settings.scale);
            return;
        };
        let turned = axis::wheel_with_command(ui);
        if turned != 0.0 {
            let scale = (ctx.zoom_factor() * 1.1_f32.powf(turned)).clamp(SCALE_MIN, SCALE_MAX);
            ctx.set_zoom_factor(scale);
        }
        // Keys change it as well; what was asked for in this frame is there in the next.
        let now = ctx.zoom_factor();
        if now != drawn {
            self.scale = Some(now);
            self.settings.scale = now.clamp(SCALE_MIN, SCALE_MAX);
        }
    }

    /// Looks what is being worked on, and how long.
    fn works(&mut self, ui: &Ui) {
        let both = || std::iter::once(&self.model).chain(self.other.model.as_deref());
        let given_up = both().find_map(Model::given_up);
        (self.bar.beside, self.bar.given_up) = (both().find_map(Model::works_on), given_up);
        self.done(ui);
        if self.bar.working.is_none() && self.bar.beside.is_none() {
            self.bar.since = None;
            return;
        }
        ui.ctx().request_repaint_after(WORKING);
        self.bar.since.get_or_insert(ui.input(|input| input.time));
    }

    /// Shows which control has the keyboard, and leaves the arrow keys to the window.
    fn focus(&mut self, ctx: &Context) {
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
            let ring = (2.0, theme::accent());
            control::on_layer(ctx, egui::Order::Foreground, "focus ring").rect_stroke(
                rect.shrink(1.0),
                3.0,
                ring,
                StrokeKind::Inside,
            );
        }
    }

    /// Moves the cursor on, as far as it goes in a frame: through what is visible in [`PLAY_S`], and
    /// the visible time along with it.
    fn play(&mut self, ui: &Ui, commands: &mut Commands) {
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
        let from = model
            .cursor()
            .unwrap_or(visible.start)
            .clamp(visible.start, visible.end);
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
    fn toggle_alone(&mut self, ctx: &Context) {
        let pane = self
            .arrangement
            .alone
            .or_else(|| head::focused(ctx))
            .or(self.pointed);
        if let Some(pane) = pane {
            self.arrangement.perform(self.workspace, Move::Alone(pane));
        }
    }
}

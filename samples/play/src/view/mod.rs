//! The panes of a game that is played by hand: they draw what is [`Seen`] and emit [`Command`]s.

mod floor;
mod keys;
mod links;
mod pane;

use std::collections::BTreeMap;

use egui::{
    Align, CentralPanel, Frame, Layout, Margin, Panel, Rect, RichText, Ui, UiBuilder, WidgetInfo,
    pos2, vec2,
};
use netreel_inspector::theme;
use netreel_sample_engine::{ObjectId, Peer};

use crate::ghosts::Ghosts;
use crate::link_setting::LinkSetting;
use crate::node::Order;
use crate::script::TICKS_A_SECOND;
use crate::seen::Seen;

/// What a hand asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A node is to be told this.
    Order(Peer, Order),
    /// The recording is to be shown beside the game: all of it, or what became of one object.
    Inspect(Option<ObjectId>),
}

/// All panes, and what is chosen in them.
pub struct Board {
    names: Vec<String>,
    /// Whose links can be set here: nodes that this process plays.
    here: Vec<Peer>,
    /// About the game, for the bar.
    about: String,
    /// Whose player the keys move.
    active: Peer,
    links: BTreeMap<(Peer, Peer), LinkSetting>,
    /// The same as the nodes said last: what they say anew was set by somebody else.
    heard: BTreeMap<(Peer, Peer), LinkSetting>,
    ghosts: Ghosts,
    walks: [f64; 2],
    said: Option<String>,
    commands: Vec<Command>,
}

impl Board {
    /// Panes for the nodes that are played `here`, out of all `names`. `about` stands in the bar.
    pub fn new(names: Vec<String>, here: Vec<Peer>, about: String) -> Board {
        let active = here.get(1).or(here.first()).copied().unwrap_or(Peer::HOST);
        Board {
            names,
            here,
            about,
            active,
            links: BTreeMap::new(),
            heard: BTreeMap::new(),
            ghosts: Ghosts::default(),
            walks: [0.0; 2],
            said: None,
            commands: Vec::new(),
        }
    }

    /// Whose player the keys move.
    pub fn active(&self) -> Peer {
        self.active
    }

    /// What a link is set to.
    pub fn link(&self, from: Peer, to: Peer) -> LinkSetting {
        self.links.get(&(from, to)).copied().unwrap_or_default()
    }

    /// Takes in what the nodes believe, without drawing it.
    pub fn look(&mut self, seen: &[Seen]) {
        self.ghosts.look(seen, self.names.len());
        for node in seen {
            for (from, setting) in &node.links {
                let link = (*from, node.peer);
                if self.heard.insert(link, *setting) != Some(*setting) {
                    self.links.insert(link, *setting);
                }
            }
        }
    }

    /// Says a sentence in the bar.
    pub fn say(&mut self, sentence: String) {
        self.said = Some(sentence);
    }

    /// What was asked for since, in order.
    pub fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// One frame.
    pub fn show(&mut self, ui: &mut Ui, seen: &[Seen]) {
        self.look(seen);
        keys::read(self, ui, seen);
        Panel::top("bar")
            .frame(bar_frame())
            .show(ui, |ui| self.bar(ui, seen));
        Panel::bottom("keys")
            .frame(bar_frame())
            .show(ui, keys::show);
        let width = links::width(ui.ctx().content_rect().width());
        Panel::right("links")
            .frame(
                Frame::NONE
                    .fill(theme::panel())
                    .inner_margin(Margin::same(10)),
            )
            .exact_size(width)
            .show(ui, |ui| links::show(self, ui, seen));
        CentralPanel::default()
            .frame(Frame::NONE.fill(theme::background()))
            .show(ui, |ui| self.panes(ui, seen));
    }

    fn bar(&mut self, ui: &mut Ui, seen: &[Seen]) {
        ui.horizontal(|ui| {
            ui.label(RichText::new("boxes").font(theme::body()).strong());
            ui.label(RichText::new(&self.about).color(theme::weak()));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Inspector").clicked() {
                    self.commands.push(Command::Inspect(None));
                }
                let time = seen
                    .first()
                    .map_or(0.0, |node| node.tick as f64 / TICKS_A_SECOND);
                let clock = format!("● {time:.1} s recorded");
                ui.label(
                    RichText::new(clock)
                        .font(theme::mono())
                        .color(theme::error()),
                );
                if let Some(said) = &self.said {
                    ui.label(RichText::new(said).color(theme::warning()));
                }
            });
        });
    }

    fn panes(&mut self, ui: &mut Ui, seen: &[Seen]) {
        let whole = ui.available_rect_before_wrap();
        let columns = match seen.len() {
            0 | 1 => 1,
            2..=4 => 2,
            _ => 3,
        };
        let rows = seen.len().div_ceil(columns).max(1);
        let size = vec2(whole.width() / columns as f32, whole.height() / rows as f32);
        for (place, node) in seen.iter().enumerate() {
            let (column, row) = (place % columns, place / columns);
            let corner = pos2(
                whole.left() + column as f32 * size.x,
                whole.top() + row as f32 * size.y,
            );
            let rect = Rect::from_min_size(corner, size).shrink(3.0);
            let builder = UiBuilder::new()
                .id_salt(("pane", node.peer.0))
                .max_rect(rect)
                .layout(Layout::top_down(Align::Min));
            ui.scope_builder(builder, |ui| {
                ui.set_clip_rect(rect.intersect(ui.clip_rect()));
                pane::show(self, ui, node);
            });
        }
        ui.advance_cursor_after_rect(whole);
    }

    fn name(&self, peer: Peer) -> &str {
        let name = self.names.get(usize::from(peer.0));
        name.map_or("?", String::as_str)
    }

    fn order(&mut self, to: Peer, order: Order) {
        self.commands.push(Command::Order(to, order));
    }
}

/// A button with a name of its own for whoever cannot see in which pane it is.
fn button(ui: &mut Ui, text: &str, name: &str, can: bool) -> bool {
    let response = ui.add_enabled(can, egui::Button::new(text));
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, can, name));
    response.clicked()
}

fn bar_frame() -> Frame {
    Frame::NONE
        .fill(theme::head())
        .inner_margin(Margin::symmetric(10, 5))
}

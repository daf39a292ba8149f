//! What is chosen in the panes, and what was asked for in them.

use std::collections::BTreeMap;

use netreel_sample_engine::{ObjectId, Peer};

use crate::ghosts::Ghosts;
use crate::link_setting::LinkSetting;
use crate::node::Order;
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
    pub(super) names: Vec<String>,
    /// Whose links can be set here: nodes that this process plays.
    pub(super) here: Vec<Peer>,
    /// About the game, for the bar.
    pub(super) about: String,
    /// Whose player the keys move.
    pub(super) active: Peer,
    pub(super) links: BTreeMap<(Peer, Peer), LinkSetting>,
    /// The same as the nodes said last: what they say anew was set by somebody else.
    pub(super) heard: BTreeMap<(Peer, Peer), LinkSetting>,
    pub(super) ghosts: Ghosts,
    pub(super) walks: [f64; 2],
    pub(super) said: Option<String>,
    pub(super) commands: Vec<Command>,
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

    pub(super) fn name(&self, peer: Peer) -> &str {
        let name = self.names.get(usize::from(peer.0));
        name.map_or("?", String::as_str)
    }

    pub(super) fn order(&mut self, to: Peer, order: Order) {
        self.commands.push(Command::Order(to, order));
    }
}

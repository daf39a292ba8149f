//! A node that is driven by its console.

use std::net::SocketAddr;
use std::time::Duration;

use netreel_console::{Asked, Call, Commands, Console, Kind, ListenError, Request, Value};
use netreel_sample_engine::{Mode, Peer, node_name};
use netreel_transport::Transport;
use serde_json::json;

use crate::node::{Node, Order};
use crate::script::{awaited, deed, setting};
use crate::seen::{Seen, What};

/// Between two looks at a console before the game begins.
const LOOK: Duration = Duration::from_millis(5);

/// A console and what its node makes of it.
pub struct Commanded {
    console: Console,
    /// The names of nodes, by peer number.
    names: Vec<String>,
}

/// What is chosen in the menu, before there is a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// To host a game.
    Host {
        /// Where the others join.
        address: SocketAddr,
        /// How many play.
        nodes: u8,
        /// How objects change owner.
        mode: Mode,
    },
    /// To join one.
    Join {
        /// Where HOST waits.
        address: SocketAddr,
        /// As which node; the next that is free where it does not matter.
        seat: Option<Peer>,
    },
    /// To go home.
    Quit,
}

impl Commanded {
    /// Listens at `address`; see [`Console::listen`].
    ///
    /// # Errors
    /// As there.
    pub fn listen(address: SocketAddr, token: Option<String>) -> Result<Commanded, ListenError> {
        Ok(Commanded {
            console: Console::listen(address, token, commands())?,
            names: (0..16).map(Peer).map(node_name).collect(),
        })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.console.local()
    }

    /// Waits until something is chosen in the menu.
    pub fn choose(&self) -> Choice {
        loop {
            match self.console.take() {
                None => std::thread::sleep(LOOK),
                Some(request) => match self.choice(&request) {
                    Ok(choice) => {
                        request.done("");
                        return choice;
                    }
                    Err(why) => request.refuse(why),
                },
            }
        }
    }

    fn choice(&self, request: &Request) -> Result<Choice, String> {
        let Asked::Command { call, .. } = &request.asked else {
            return Err(NO_SCRIPTS.to_owned());
        };
        match call.name.as_str() {
            "quit" => Ok(Choice::Quit),
            "choose host" => Ok(Choice::Host {
                address: address(text(call, 0))?,
                nodes: match call.arguments.get(1) {
                    Some(Value::Integer(nodes @ 2..=9)) => *nodes as u8,
                    _ => return Err("from 2 to 9 nodes play".to_owned()),
                },
                mode: Mode::named(text(call, 2)).unwrap_or(Mode::Host),
            }),
            "choose join" => Ok(Choice::Join {
                address: address(text(call, 0))?,
                seat: match text(call, 1) {
                    "" => None,
                    name => Some(self.peer(name)?),
                },
            }),
            _ => Err("there is no game yet: `choose host` or `choose join` first".to_owned()),
        }
    }

    /// Does what was asked of the node; whether it is to end.
    pub(crate) fn serve<T: Transport>(&self, node: &mut Node<T>) -> bool {
        while let Some(request) = self.console.take() {
            let (call, line) = match &request.asked {
                Asked::Command { call, line } => (call.clone(), line.clone()),
                Asked::Script(_) => {
                    request.refuse(NO_SCRIPTS);
                    continue;
                }
            };
            if call.name == "quit" {
                node.note("console: quit");
                request.done("");
                return true;
            }
            match self.answer(&call, &line, node) {
                Ok(answer) => request.done(answer),
                Err(why) => request.refuse(why),
            }
        }
        false
    }

    fn answer<T: Transport>(
        &self,
        call: &Call,
        line: &str,
        node: &mut Node<T>,
    ) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match call.name.as_str() {
            "boxes" => Ok(boxes(&node.seen())),
            "all" => Ok(said(node.seen().has_all())),
            "has" | "lacks" | "holds" | "owns" | "hears destroy" => {
                Ok(said(awaited(&words)?.is_so(&node.seen())))
            }
            "choose host" | "choose join" => Err("the game is under way".to_owned()),
            "link" => {
                let from = self.peer(text(call, 0))?;
                // As a script has it, or as `netreel record --faults` does: `delay=1s,loss=5%`.
                let between = |letter: char| letter.is_whitespace() || ",=".contains(letter);
                let words: Vec<&str> = text(call, 1)
                    .split(between)
                    .filter(|it| !it.is_empty())
                    .filter(|word| *word != "none")
                    .collect();
                node.order(Order::Link {
                    from,
                    setting: setting(&words)?,
                });
                Ok(String::new())
            }
            _ => {
                node.order(Order::Deed(deed(&words)?));
                // Whoever reads the recording is to know who wanted it.
                node.note(&format!("console: {line}"));
                Ok(String::new())
            }
        }
    }

    fn peer(&self, name: &str) -> Result<Peer, String> {
        let at = self.names.iter().position(|known| known == name);
        let peer = at.and_then(|at| u8::try_from(at).ok()).map(Peer);
        peer.ok_or_else(|| format!("there is no node {name:?}"))
    }
}

const NO_SCRIPTS: &str = "this game has no language for scripts: say a command";

fn commands() -> Commands {
    let which = [("BOX", Kind::Integer)];
    let of = |name, about| (name, (&which[..], &[][..]), about);
    let perhaps = |name, about| (name, (&[][..], &which[..]), about);
    let none = |name, about| (name, (&[][..], &[][..]), about);
    let place = [("RIGHT", Kind::Number), ("UP", Kind::Number)];
    let hosts = [("ADDR:PORT", Kind::Text), ("NODES", Kind::Integer)];
    let mode = Kind::OneOf(Mode::ALL.map(|mode| mode.name().to_owned()).to_vec());
    let all = [
        none("spawn", "A new box, before the player"),
        perhaps("pick up", "Go to a box, ask for it, carry it"),
        none("put down", "Let go of what is carried"),
        perhaps("push", "Go to a box, ask for it, let it slide"),
        perhaps("throw away", "Go to a box, ask for it, end it for ever"),
        ("go", (&place[..], &[][..]), "Walk there"),
        none("leave", "Leave the session"),
        (
            "link",
            (&[("FROM", Kind::Text)][..], &[("SETTING", Kind::Rest)][..]),
            "What becomes of packets from a node: [delay TIME] [jitter TIME] [loss PERCENT%] [burst PERCENT%] [corrupt PERCENT%] [held]",
        ),
        none("boxes", "The objects that live here, as JSON"),
        none("all", "Whether everybody is here: yes or no"),
        of("has", "Whether a box lives here: yes or no"),
        of("lacks", "Whether it does not"),
        of("holds", "Whether the player carries it"),
        of("owns", "Whether it belongs to this node"),
        of("hears destroy", "Whether its end was heard of"),
        (
            "choose host",
            (&hosts[..], &[("MODE", mode)][..]),
            "In the menu: host a game",
        ),
        (
            "choose join",
            (&hosts[..1], &[("NODE", Kind::Text)][..]),
            "In the menu: join one, as a node",
        ),
        none("quit", "End this node, and its recording"),
    ];
    let with = |commands: Commands, (name, parameters, about): (_, _, _)| {
        commands.with(name, parameters, about)
    };
    all.into_iter().fold(Commands::new(), with)
}

fn said(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

fn boxes(seen: &Seen) -> String {
    let things = seen.things.iter().map(|thing| {
        let (what, held) = match &thing.what {
            What::Box { held, .. } => ("box", *held),
            What::Player { .. } => ("player", false),
        };
        json!({
            "object": thing.id.0,
            "what": what,
            "owner": node_name(thing.owner),
            "held": held,
            "at": thing.at,
        })
    });
    json!(things.collect::<Vec<_>>()).to_string()
}

fn text(call: &Call, at: usize) -> &str {
    match call.arguments.get(at) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse();
    address.map_err(|_| format!("{text:?} is no address: write 127.0.0.1:7000"))
}

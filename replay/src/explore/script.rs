//! A session as a list of what is to be done, for who plays it without this library.

use netreel_reel::{Endpoint, SocketId, Time};

use super::ground::{Begins, Ground, Natural};

/// A session, ready to be played: all turns in their order, and where each packet goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The nodes, in their order.
    pub nodes: Vec<ScriptNode>,
    /// The turns in the order in which they are played.
    pub turns: Vec<ScriptTurn>,
    /// The packets of the recording.
    pub sends: Vec<ScriptSend>,
    /// What brings all other packets.
    pub links: Vec<ScriptLink>,
}

/// What a layer is made from, and what it draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptNode {
    /// Its name.
    pub name: String,
    /// The start conditions.
    pub start: Vec<u8>,
    /// Where each of its sockets is bound.
    pub sockets: Vec<(SocketId, Endpoint)>,
    /// The random numbers of the recording.
    pub randoms: Vec<u64>,
}

/// One turn of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptTurn {
    /// The node, by its place.
    pub node: usize,
    /// The number of the turn among those of its node, from 0.
    pub turn: u32,
    /// On the session's clock, in nanoseconds.
    pub at_ns: i64,
    /// What the node does.
    pub does: Begins,
    /// What its clock says, read by read; behind them it says the last one again.
    pub clocks: Vec<Time>,
}

/// A packet of the recording: by whom and when it was sent, its number on this way in that turn, and where it
/// comes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptSend {
    /// The sender, by its place.
    pub node: usize,
    /// Its turn.
    pub turn: u32,
    /// The socket.
    pub socket: SocketId,
    /// Where to.
    pub to: Endpoint,
    /// From 0.
    pub nth: u32,
    /// Nothing: it is lost.
    pub comes: Vec<Natural>,
}

/// What a way does to packets that the recording does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptLink {
    /// The sender, by its place.
    pub node: usize,
    /// Its socket.
    pub socket: SocketId,
    /// Where to.
    pub to: Endpoint,
    /// From when on it brings something. On the session's clock, in nanoseconds.
    pub from_ns: i64,
    /// How long that takes. ns.
    pub delay_ns: i64,
    /// Where it comes.
    pub receiver: usize,
    /// By which socket.
    pub socket_there: SocketId,
    /// From where.
    pub source: Endpoint,
}

impl Ground {
    /// The session as a list. A packet that is not in the recording takes as long on its way as one at the
    /// end does.
    pub fn script(&self) -> Script {
        let nodes = self.nodes.iter().map(|node| ScriptNode {
            name: node.name.clone(),
            start: node
                .reel
                .as_ref()
                .map_or(Vec::new(), |it| it.header().start.clone()),
            sockets: node.sockets().to_vec(),
            randoms: node.randoms.clone(),
        });
        let turns = self.order.iter().map(|&(node, turn)| {
            let of = &self.nodes[node];
            let it = &of.turns[turn as usize];
            let clocks = if it.clocks.is_empty() {
                vec![it.clock]
            } else {
                of.clocks[it.clocks.clone()].to_vec()
            };
            ScriptTurn {
                node,
                turn,
                at_ns: it.at_ns,
                does: it.begins.clone(),
                clocks,
            }
        });
        Script {
            nodes: nodes.collect(),
            turns: turns.collect(),
            sends: self.script_sends(),
            links: self.script_links(),
        }
    }

    fn script_sends(&self) -> Vec<ScriptSend> {
        let ways = self.plan.link_of.iter();
        let mut ways: Vec<_> = ways.map(|(way, link)| (*link, *way)).collect();
        ways.sort_unstable_by_key(|it| it.0);
        let mut sends: Vec<ScriptSend> = Vec::new();
        for (place, send) in self.plan.sends.iter().enumerate() {
            let Some(&(_, (node, socket, to))) = ways.get(send.link) else {
                continue;
            };
            let turn = u32::try_from(send.turn).unwrap_or(u32::MAX);
            let way = (node, turn, socket, to);
            let before = sends
                .iter()
                .filter(|it| (it.node, it.turn, it.socket, it.to) == way);
            let nth = u32::try_from(before.count()).unwrap_or(u32::MAX);
            let mut comes = Vec::new();
            self.as_recorded(place, &mut comes);
            sends.push(ScriptSend {
                node,
                turn,
                socket,
                to,
                nth,
                comes,
            });
        }
        sends
    }

    /// Each way by what it does to a packet that is sent when the recording ends; a way that is dead until
    /// then heals.
    fn script_links(&self) -> Vec<ScriptLink> {
        let end_ns = self.end_ns();
        let mut links = Vec::new();
        for (node, of) in self.nodes.iter().enumerate() {
            for &(socket, _) in of.sockets() {
                for &to in self.plan.node_at.keys() {
                    let mut comes = Vec::new();
                    // In no turn of the recording.
                    self.natural((node, u32::MAX), (socket, to), (0, end_ns), &mut comes);
                    let Some(it) = comes.first() else { continue };
                    let link = self.plan.link_of.get(&(node, socket, to));
                    let is_dead = link.is_some_and(|&link| {
                        let link = &self.plan.links[link];
                        self.plan.arrivals_on(link, end_ns).is_empty()
                    });
                    links.push(ScriptLink {
                        node,
                        socket,
                        to,
                        from_ns: if is_dead { end_ns } else { i64::MIN },
                        delay_ns: it.at.ns.saturating_sub(end_ns).max(0),
                        receiver: it.node,
                        socket_there: it.socket,
                        source: it.source,
                    });
                }
            }
        }
        links
    }
}

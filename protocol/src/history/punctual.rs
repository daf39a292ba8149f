//! Whether inputs came in time for their ticks, at every node and of every other player.
//!
//! A node is past a tick once it has told a later one as its own: the `@tick` of its packets, or else the
//! newest tick of which it told its own input, less the delay that the rules of the wire name. What comes
//! for a tick that the node was past is late: the node drops it, or rolls back to that tick and plays
//! all ticks since again. Several late inputs that come before its next tick are one rollback.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::EventNumber;
use netreel_table::Column;
use netreel_wire::LateInput;
use serde::{Deserialize, Serialize};

use super::nodes::rules_of;
use super::streams::Streams;
use super::ticks::{self, Inputs, Player, Ticks};
use crate::session::facts::bytes::{unzigzag, zigzag};
use crate::session::{NodeId, PacketId, Session, SessionTime};

/// Ticks that fall by this many are those of another game.
const ANEW: i64 = 600;

/// How many ticks that were passed over are kept as open.
const OPEN_MAX: usize = 4096;

/// The inputs of one player as they came to one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Where they came to.
    pub node: NodeId,
    /// Who plays there; `None` for a player that is at no known node.
    pub player: Option<NodeId>,
    /// That player's number in the protocol, where it is at no known node.
    pub peer: Option<u64>,
    /// Whether it is known how far the node had come.
    pub is_judged: bool,
    /// The inputs of how many ticks came.
    pub ticks: u64,
    /// How many of them came when the node was past their tick.
    pub late: u64,
    /// Between how many of the node's ticks some of them did: each time may be a rollback.
    pub rollbacks: u64,
    /// Over how many ticks all of these go together.
    pub played_again: u64,
    /// The one that came latest, and the first one.
    pub worst: Option<Late>,
    /// See [`Punctuality::worst`].
    pub first: Option<Late>,
}

/// An input that came late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// Of which tick.
    pub tick: i64,
    /// The newest tick that the node was past.
    pub past: i64,
    /// The packet that carried it.
    pub packet: PacketId,
    /// When it came.
    pub at: SessionTime,
}

impl Late {
    /// How many ticks the node had played without it: 1 at least.
    pub fn depth(self) -> u64 {
        self.past.saturating_sub(self.tick).saturating_add(1).max(1) as u64
    }
}

/// How far a node has come: the numbers of its events, and from each on the newest tick that it is past.
#[derive(Default)]
pub(super) struct Past {
    events: Column,
    /// Above the first one.
    ticks: Column,
    first: i64,
    newest: Option<i64>,
}

impl Past {
    fn take(&mut self, event: u64, tick: i64) {
        let newest = *self.newest.get_or_insert_with(|| {
            self.first = tick.saturating_sub(ANEW);
            tick - 1
        });
        let is_anew = tick < newest.saturating_sub(ANEW);
        if tick <= newest && !is_anew {
            return;
        }
        self.newest = Some(tick);
        self.events.push(event);
        self.ticks.push(zigzag(tick.saturating_sub(self.first)));
    }

    /// The newest tick that the node was past before an event, and its turn: how often it had gone on.
    pub fn at(&self, event: u64) -> Option<(usize, i64)> {
        let turn = self.events.lower_bound(event);
        let place = turn.checked_sub(1)?;
        let tick = unzigzag(self.ticks.get(place)).saturating_add(self.first);
        Some((turn, tick))
    }
}

/// The ticks of one player's inputs that have come to a node.
#[derive(Default)]
struct Came {
    newest: Option<i64>,
    /// Those before the newest that have not.
    open: BTreeSet<i64>,
    /// The turn of the last late one, and how deep its rollback goes.
    turn: Option<(usize, u64)>,
}

impl Came {
    /// The ticks of these that had not come before.
    fn take(&mut self, it: &Inputs) -> Vec<i64> {
        let (first, last) = (*it.ticks.start(), *it.ticks.end());
        if self
            .newest
            .is_some_and(|newest| last < newest.saturating_sub(ANEW))
        {
            *self = Came::default();
        }
        let newest = *self.newest.get_or_insert(first.saturating_sub(1));
        let mut new: Vec<i64> = self.open.range(first..=last).copied().collect();
        new.iter().for_each(|tick| {
            self.open.remove(tick);
        });
        if last > newest {
            let from = first.max(newest.saturating_add(1));
            let passed = newest.saturating_add(1)..from;
            self.open.extend(passed.rev().take(OPEN_MAX));
            while self.open.len() > OPEN_MAX {
                self.open.pop_first();
            }
            new.extend(from..=last);
            self.newest = Some(last);
        }
        new
    }
}

/// Of every node that was recorded and of every other player, in order. Empty where the wire tells no inputs.
pub(super) fn punctuality(session: &Session, streams: &Streams) -> Vec<Punctuality> {
    if streams.inputs.is_empty() {
        return Vec::new();
    }
    let past = past(session, streams);
    // Per node what came, in the order of its receipts.
    let mut came: BTreeMap<NodeId, Vec<(EventNumber, PacketId)>> = BTreeMap::new();
    for packet in ticks::packets_of(&streams.inputs) {
        let receipt = session
            .packet(packet)
            .and_then(|it| Some((it.to, it.received?)));
        if let Some((to, at)) = receipt {
            came.entry(to).or_default().push((at.number, packet));
        }
    }
    let told = came.into_iter().map(|(node, mut all)| {
        all.sort_unstable();
        of_node(session, (node, past.get(&node)), &all)
    });
    told.flatten().collect()
}

fn of_node(
    session: &Session,
    (node, past): (NodeId, Option<&Past>),
    came: &[(EventNumber, PacketId)],
) -> Vec<Punctuality> {
    let mut players: BTreeMap<Player, (Came, Punctuality)> = BTreeMap::new();
    let mut ticks = Ticks::default();
    for &(number, packet) in came {
        let receipt = session.packet(packet).and_then(|it| it.received);
        let Some(at) = receipt.map(|at| at.time) else {
            continue;
        };
        let now = past.and_then(|past| past.at(number.0));
        ticks::inputs(session, &mut ticks, [packet].into_iter(), |it| {
            if it.player != Player::Node(node) {
                let (came, told) = players.entry(it.player).or_insert_with(|| {
                    let told = Punctuality::new(node, it.player, past.is_some());
                    (Came::default(), told)
                });
                told.take(came, &it, at, now);
            }
            std::ops::ControlFlow::Continue(())
        });
    }
    players.into_values().map(|(_, told)| told).collect()
}

impl Punctuality {
    fn new(node: NodeId, player: Player, is_judged: bool) -> Punctuality {
        let (player, peer) = match player {
            Player::Node(player) => (Some(player), None),
            Player::Peer(peer) => (None, Some(peer)),
        };
        Punctuality {
            node,
            player,
            peer,
            is_judged,
            ticks: 0,
            late: 0,
            rollbacks: 0,
            played_again: 0,
            worst: None,
            first: None,
        }
    }

    /// What people call the player.
    pub fn player_name(&self, session: &Session) -> String {
        match (self.player, self.peer) {
            (Some(node), _) => session.name(node),
            (None, peer) => session.peer_name(peer.unwrap_or_default()),
        }
    }

    fn take(&mut self, came: &mut Came, it: &Inputs, at: SessionTime, now: Option<(usize, i64)>) {
        let new = came.take(it);
        self.ticks += new.len() as u64;
        let Some((turn, past)) = now else {
            return;
        };
        // What is much older is of another game, or of before the node came.
        let is_late = |tick: &&i64| **tick <= past && **tick > past.saturating_sub(ANEW);
        let late: Vec<i64> = new.iter().filter(is_late).copied().collect();
        let Some(&oldest) = late.iter().min() else {
            return;
        };
        self.late += late.len() as u64;
        let late = Late {
            tick: oldest,
            past,
            packet: it.packet,
            at,
        };
        self.first.get_or_insert(late);
        if self.worst.is_none_or(|worst| worst.depth() < late.depth()) {
            self.worst = Some(late);
        }
        let again = match came.turn {
            Some((known, depth)) if known == turn => late.depth().saturating_sub(depth),
            _ => {
                self.rollbacks += 1;
                late.depth()
            }
        };
        let before = came.turn.filter(|&(known, _)| known == turn);
        let depth = before.map_or(0, |(_, depth)| depth).max(late.depth());
        came.turn = Some((turn, depth));
        self.played_again += again;
    }
}

/// How far each recorded node had come, where that is known: by the tick that its packets tell, or else by
/// its own inputs, where the wire says what becomes of late ones.
pub(super) fn past(session: &Session, streams: &Streams) -> BTreeMap<NodeId, Past> {
    let mut past: BTreeMap<NodeId, Past> = BTreeMap::new();
    let left = |packet: PacketId| match session.departed(packet)? {
        (true, at) => Some(at.number.0),
        (false, _) => None,
    };
    for (node, packet, tick) in ticks::own(session, streams) {
        if let Some(event) = left(packet) {
            past.entry(node).or_default().take(event, tick);
        }
    }
    let nodes = (0u16..).map(NodeId).zip(&session.nodes);
    let delays: BTreeMap<NodeId, i64> = nodes
        .filter(|(id, _)| !past.contains_key(id))
        .filter_map(|(id, node)| {
            let rules = rules_of(session, node)?;
            let is_told = !matches!(rules.late_input?, LateInput::Wait);
            is_told.then_some((id, i64::from(rules.input_delay)))
        })
        .collect();
    let packets = ticks::packets_of(&streams.inputs);
    ticks::inputs(session, &mut Ticks::default(), packets, |it| {
        if let (Some(delay), Some(event)) = (delays.get(&it.from), left(it.packet))
            && it.player == Player::Node(it.from)
        {
            let known = past.entry(it.from).or_default();
            known.take(event, it.ticks.end().saturating_sub(*delay));
        }
        std::ops::ControlFlow::Continue(())
    });
    past
}

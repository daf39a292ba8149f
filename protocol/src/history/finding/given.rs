//! What two nodes had been given when they told different checksums of a tick.

use std::ops::ControlFlow;

use netreel_wire::LateInput;

use super::input_late::late_input;
use super::prelude::*;
use crate::history::punctual::{self, Past};
use crate::history::ticks::{self, Checksum, Inputs, Player, Ticks};

/// Two nodes that part.
pub(super) struct Part {
    /// What the one told that is like fewer others.
    pub odd: Checksum,
    /// What the other told.
    pub rest: Checksum,
    /// The last word of both that was the same.
    pub before: Option<Checksum>,
}

/// What they had been given until then.
pub(super) struct Given {
    /// Goes on behind a sentence's end.
    pub words: String,
    pub evidence: Vec<Evidence>,
}

impl Given {
    fn new(words: String, pieces: impl IntoIterator<Item = Option<Evidence>>) -> Given {
        Given {
            words,
            evidence: pieces.into_iter().flatten().collect(),
        }
    }
}

/// An input as a node has it.
#[derive(Clone, Copy)]
struct Had {
    value: Option<u64>,
    packet: PacketId,
}

/// Inputs by player and tick.
type Known = BTreeMap<(Player, i64), Had>;

/// What was sent to a node, and whether it came in time.
#[derive(Default)]
struct Node {
    had: Known,
    /// What was sent to it and had not come, by the packet that carried it first.
    lacked: BTreeMap<(Player, i64), PacketId>,
    /// How far it had come, where it drops what comes after its tick.
    past: Option<Past>,
}

pub(super) fn until(case: &Case<'_>, part: &Part) -> Given {
    let session = case.session;
    let nodes = [part.odd.by, part.rest.by];
    let of = |node: NodeId| session.node(node);
    let is_whole = |node: NodeId| of(node).is_some_and(|it| it.recorded && it.holes.is_empty());
    if let Some(node) = nodes.into_iter().find(|&node| !is_whole(node)) {
        let name = session.name(node);
        return Given::new(
            format!("what {name} had been given until then is not known"),
            None,
        );
    }
    let mut given = if case.streams.inputs.is_empty() {
        packets(session, part)
    } else {
        inputs(case, part)
    };
    let is_outside = |node: NodeId| of(node).is_some_and(|it| it.captured || it.proxied);
    if nodes.into_iter().any(is_outside) {
        given.words.push_str(", as far as what came by shows");
    }
    given
}

/// Which inputs of the ticks in question each of the two had.
fn inputs(case: &Case<'_>, part: &Part) -> Given {
    let session = case.session;
    let since = part.before.map_or(i64::MIN, |word| word.tick + 1);
    let last = part.odd.tick;
    let words = [part.odd, part.rest];
    let mut past = punctual::past(session, case.streams);
    let mut nodes = words.map(|word| Node {
        past: match late_input(case, word.by) {
            Some(LateInput::Drop) => past.remove(&word.by),
            _ => None,
        },
        ..Node::default()
    });
    let until = part.odd.at.max(part.rest.at);
    let packets = ticks::packets_of(&case.streams.inputs);
    ticks::inputs(session, &mut Ticks::default(), packets, |it: Inputs| {
        if it.at > until {
            return ControlFlow::Break(());
        }
        let (from, to) = (*it.ticks.start().max(&since), *it.ticks.end().min(&last));
        for tick in from..=to {
            for (node, word) in nodes.iter_mut().zip(&words) {
                node.take(session, &it, tick, word);
            }
        }
        ControlFlow::Continue(())
    });
    let [odd, rest] = nodes;
    differing(session, part, (&odd, &rest))
        .or_else(|| lacking(session, (part.odd.by, &odd), (part.rest.by, &rest)))
        .or_else(|| lacking(session, (part.rest.by, &rest), (part.odd.by, &odd)))
        .unwrap_or_else(|| the_same(&odd.had, part))
}

impl Node {
    fn take(&mut self, session: &Session, it: &Inputs, tick: i64, word: &Checksum) {
        let key = (it.player, tick);
        let had = Had {
            value: it.value,
            packet: it.packet,
        };
        // Its own inputs it has when it tells them.
        if it.player == Player::Node(word.by) && it.from == word.by && it.at <= word.at {
            self.had.entry(key).or_insert(had);
        }
        if it.to != word.by {
            return;
        }
        let packet = session.packet(it.packet);
        let received = packet.and_then(|packet| packet.received);
        let is_dropped = |at: &Stamp| {
            let past = self.past.as_ref().and_then(|past| past.at(at.number.0));
            past.is_some_and(|(_, past)| tick <= past)
        };
        if received.is_some_and(|at| at.time <= word.at && !is_dropped(&at)) {
            self.had.entry(key).or_insert(had);
        } else {
            self.lacked.entry(key).or_insert(it.packet);
        }
    }
}

/// An input that is not the same at both.
fn differing(session: &Session, part: &Part, (odd, rest): (&Node, &Node)) -> Option<Given> {
    let both = odd.had.iter().filter_map(|(key, own)| {
        let other = rest.had.get(key)?;
        let (mine, theirs) = (own.value?, other.value?);
        (mine != theirs).then_some((*key, *own, *other, mine, theirs))
    });
    let all: Vec<_> = both.collect();
    let &((player, tick), own, other, mine, theirs) = all.iter().min_by_key(|it| it.0.1)?;
    let what = "an input that is not the same at both";
    let words = format!(
        "they had been given different inputs: that of {} of tick {tick} is {mine:#x} at {} \
         (packet {}) and {theirs:#x} at {} (packet {}){}",
        name(session, player),
        session.name(part.odd.by),
        own.packet,
        session.name(part.rest.by),
        other.packet,
        and_more(all.len() as u64)
    );
    let pieces = [own.packet, other.packet].map(|packet| sent(session, packet, what));
    Some(Given::new(words, pieces))
}

/// An input that one of them had not been given, and the other one had.
fn lacking(
    session: &Session,
    (by, node): (NodeId, &Node),
    (by_other, other): (NodeId, &Node),
) -> Option<Given> {
    let lacks = |key: &&(Player, i64)| !node.had.contains_key(key) && key.0 != Player::Node(by);
    let all: Vec<_> = other.had.keys().filter(lacks).collect();
    let &&(player, tick) = all.iter().min_by_key(|key| key.1)?;
    let carried = node.lacked.get(&(player, tick)).copied();
    let fate = carried.and_then(|packet| Some((packet, session.packet(packet)?)));
    let (why, pieces) = match fate {
        None => ("nobody had sent it".to_owned(), [None, None]),
        Some((id, packet)) => {
            let became = match (packet.received, packet.fate) {
                (Some(_), _) => "came too late for it",
                (None, Fate::Lost) => "was lost",
                (None, _) => "had not come",
            };
            let what = "an input that was lacking";
            let pieces = [sent(session, id, what), came(session, id, what)];
            (format!("packet {id} {became}"), pieces)
        }
    };
    let words = format!(
        "{} had not been given the input of {} of tick {tick}, which {} had: {why}{}",
        session.name(by),
        name(session, player),
        session.name(by_other),
        and_more(all.len() as u64),
    );
    Some(Given::new(words, pieces))
}

fn the_same(had: &Known, part: &Part) -> Given {
    let since = match part.before {
        Some(word) if word.tick + 1 < part.odd.tick => {
            format!("of ticks {} to {}", word.tick + 1, part.odd.tick)
        }
        Some(_) => format!("of tick {}", part.odd.tick),
        None => format!("up to tick {}", part.odd.tick),
    };
    let words = match had.len() {
        0 => format!("neither had been given an input {since}"),
        count => format!(
            "both had been given the same {count} inputs {since}: what parts them is not in any packet"
        ),
    };
    Given::new(words, None)
}

/// Which packets to one of the two were lost meanwhile: where the wire does not tell inputs.
fn packets(session: &Session, part: &Part) -> Given {
    let since = part.before.map_or(PacketId(0), |word| word.packet);
    let nodes = [part.odd, part.rest];
    let until = part.odd.packet.max(part.rest.packet);
    let all = session.packets_from(since).zip(since.0..=until.0);
    let lost = all.filter(|(packet, _)| {
        let sent = packet.first().map(|at| at.time);
        let is_before = |at: SessionTime| sent.is_some_and(|sent| sent <= at);
        let mut to = nodes.iter().filter(|word| word.by == packet.to);
        packet.fate == Fate::Lost && to.any(|word| is_before(word.at))
    });
    let lost: Vec<(PacketId, NodeId)> = lost.map(|(it, id)| (PacketId(id), it.to)).collect();
    let since = match part.before {
        Some(word) => format!("since tick {}", word.tick),
        None => "until then".to_owned(),
    };
    match lost.first() {
        None => Given::new(format!("no packet to either was lost {since}"), None),
        Some(&(packet, to)) => {
            let words = format!(
                "{since} {} lacked packet {packet}, which was lost{}",
                session.name(to),
                and_more(lost.len() as u64)
            );
            Given::new(words, [sent(session, packet, "a packet that was lost")])
        }
    }
}

/// What people call a player.
pub(super) fn name(session: &Session, player: Player) -> String {
    match player {
        Player::Node(node) => session.name(node),
        Player::Peer(peer) => session.peer_name(peer),
    }
}

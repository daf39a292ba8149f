//! What nodes said to each other, aligned.

use std::collections::BTreeMap;

use netreel_system::Cancel;

use super::content::{self, FieldChange};
use super::sides::{CommonNodes, ComparedSession, earlier};
use crate::history::Effect;
use crate::session::{MessageId, PacketId, SessionTime};

/// What two messages have in common that are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spoken {
    /// Who said it: a place in [`super::Diff::nodes`].
    pub from: u16,
    /// To whom.
    pub to: u16,
    /// The kind, as the wire spells it.
    pub kind: String,
    /// The RPC, where the wire names it.
    pub rpc: Option<String>,
    /// The object.
    pub object: Option<u64>,
    /// The migration counter.
    pub counter: Option<u64>,
    /// The owner, or the new owner: the protocol's number.
    pub owner: Option<u64>,
    /// Who said it first: the protocol's number.
    pub origin: Option<u64>,
    /// The tick.
    pub tick: Option<u64>,
}

/// A message that one session alone has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// What it is.
    pub spoken: Spoken,
    /// Which it is there.
    pub message: MessageId,
    /// The packet that carried it first.
    pub packet: PacketId,
    /// When that is first known of.
    pub time: SessionTime,
}

/// A message that both sessions have, with other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// What it is.
    pub spoken: Spoken,
    /// Which it is in either.
    pub messages: [MessageId; 2],
    /// The packets that carried it first.
    pub packets: [PacketId; 2],
    /// When that was in the session that had it earlier.
    pub time: SessionTime,
    /// The fields; none where that cannot be told.
    pub fields: Vec<FieldChange>,
}

/// A message with which a node did something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differently {
    /// What it is.
    pub spoken: Spoken,
    /// Which it is in either.
    pub messages: [MessageId; 2],
    /// The packets that carried it first.
    pub packets: [PacketId; 2],
    /// Where: a place in [`super::Diff::nodes`].
    pub node: u16,
    /// What the node did with it; `None`: its engine was never handed it.
    pub effects: [Option<Effect>; 2],
    /// When, in the session where that was earlier.
    pub time: SessionTime,
}

/// What was said in two sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How many messages both have.
    pub both: u64,
    /// What the first alone has, and what the second alone, in order of time.
    pub only: [Vec<Only>; 2],
    /// What both have with other fields, in order of time.
    pub changed: Vec<Changed>,
    /// With what a node did something else, in order of time.
    pub differently: Vec<Differently>,
}

/// What a node did with a message, and when.
type Done = (Effect, SessionTime);

impl Said {
    pub(super) fn new(
        sides: [ComparedSession<'_>; 2],
        common: &CommonNodes,
        cancel: &Cancel,
    ) -> Said {
        let all = [0, 1].map(|side| gather(sides[side], (common, side), cancel));
        let hashes = [0, 1].map(|side| {
            let asked = all[side].values().flatten().map(|&id| (id, ())).collect();
            content::hashes(sides[side], &asked, common.counts, cancel)
        });
        let done = [0, 1].map(|side| done(sides[side], common, side));
        let mut said = Said::default();
        let nothing = Vec::new();
        let [one, other] = &all;
        let new = other
            .iter()
            .filter(|(spoken, _)| !one.contains_key(*spoken))
            .map(|(spoken, there)| (spoken, &nothing, there));
        let known = one.iter().map(|(spoken, here)| {
            let there = other.get(spoken).unwrap_or(&nothing);
            (spoken, here, there)
        });
        for (spoken, here, there) in known.chain(new) {
            let lists = [here, there];
            let told = [0, 1].map(|side| {
                let told = |id: &MessageId| hashes[side].get(id).copied();
                lists[side].iter().map(told).collect::<Vec<_>>()
            });
            for pair in pair(&told) {
                said.note(sides, spoken, (pair, lists), &told, &done);
            }
        }
        for side in &mut said.only {
            side.sort_by_key(|it| (it.time, it.message));
        }
        said.changed.sort_by_key(|it| (it.time, it.messages));
        let order = |it: &Differently| (it.time, it.messages, it.node);
        said.differently.sort_by_key(order);
        for changed in said.changed.iter_mut().take_while(|_| cancel.goes_on()) {
            changed.fields = content::changes(sides, changed.messages, common.counts);
        }
        said
    }

    fn note(
        &mut self,
        sides: [ComparedSession<'_>; 2],
        spoken: &Spoken,
        (pair, lists): ([Option<usize>; 2], [&Vec<MessageId>; 2]),
        told: &[Vec<Option<u64>>; 2],
        done: &[BTreeMap<MessageId, BTreeMap<u16, Done>>; 2],
    ) {
        let at = [0, 1].map(|side| lists[side].get(pair[side]?).copied());
        let places = [0, 1].map(|side| place(sides[side], at[side]?));
        let [Some(one), Some(other)] = at else {
            for (side, at) in at.into_iter().enumerate() {
                if let (Some(message), Some((packet, time))) = (at, places[side]) {
                    self.only[side].push(Only {
                        spoken: spoken.clone(),
                        message,
                        packet,
                        time,
                    });
                }
            }
            return;
        };
        self.both += 1;
        let [Some((packet, first)), Some((other_packet, second))] = places else {
            return;
        };
        let (messages, packets) = ([one, other], [packet, other_packet]);
        let [here, there] = [0, 1].map(|side| told[side].get(pair[side]?).copied().flatten());
        if here != there {
            self.changed.push(Changed {
                spoken: spoken.clone(),
                messages,
                packets,
                time: first.min(second),
                fields: Vec::new(),
            });
        }
        let none = BTreeMap::new();
        let done = [0, 1].map(|side| done[side].get(&messages[side]).unwrap_or(&none));
        let nodes: std::collections::BTreeSet<u16> =
            done[0].keys().chain(done[1].keys()).copied().collect();
        for node in nodes {
            let did = done.map(|done| done.get(&node).copied());
            let effects = did.map(|did| did.map(|(effect, _)| effect));
            if effects[0] != effects[1] {
                let [one, other] = did.map(|did| did.map(|(_, at)| at));
                self.differently.push(Differently {
                    spoken: spoken.clone(),
                    messages,
                    packets,
                    node,
                    effects,
                    time: earlier(one, other),
                });
            }
        }
    }

    /// Whether the same was said, and the same was done with it.
    pub fn is_same(&self) -> bool {
        self.only.iter().all(Vec::is_empty)
            && self.changed.is_empty()
            && self.differently.is_empty()
    }
}

/// The messages of a session that both sides of its links have in common with the other session, by
/// what they are, in order; without what repeats another.
fn gather(
    side: ComparedSession<'_>,
    (common, which): (&CommonNodes, usize),
    cancel: &Cancel,
) -> BTreeMap<Spoken, Vec<MessageId>> {
    let ComparedSession { session, history } = side;
    let nodes = &common.sides[which];
    let mut all: BTreeMap<Spoken, Vec<MessageId>> = BTreeMap::new();
    let packets = session.packet_ids();
    for packet in packets.take_while(|_| cancel.goes_on()) {
        let Some((from, to)) = session.link(packet) else {
            continue;
        };
        let (Some(&from), Some(&to)) = (nodes.get(&from), nodes.get(&to)) else {
            continue;
        };
        for (id, facts) in session.messages_of(packet) {
            if canonical(side, id) != id {
                continue;
            }
            let whole = history
                .joined_of
                .get(&id)
                .and_then(|_| history.facts(session, id));
            let facts = whole.unwrap_or(facts);
            let Some(kind) = session.kind_of(&facts).map(|kind| kind.name.clone()) else {
                continue;
            };
            let spoken = Spoken {
                from,
                to,
                kind,
                rpc: facts.rpc_name.as_ref().map(|name| name.text.to_string()),
                object: facts.object,
                counter: facts.migration_counter.filter(|_| common.counts),
                owner: facts.owner.or(facts.new_owner),
                origin: facts.origin,
                tick: facts.tick.map(|tick| tick.value),
            };
            all.entry(spoken).or_default().push(id);
        }
    }
    all
}

/// The message that stands for all its copies, and for all its fragments.
fn canonical(side: ComparedSession<'_>, message: MessageId) -> MessageId {
    let history = side.history;
    let first = history.resend_of(message).unwrap_or(message);
    let whole = history.joined_of.get(&first);
    let joined = whole.and_then(|&whole| history.joined.get(whole as usize));
    let fragment = joined.and_then(|joined| joined.fragments.first());
    fragment.copied().unwrap_or(first)
}

/// What nodes did with messages first, by the messages that stand for them.
fn done(
    side: ComparedSession<'_>,
    common: &CommonNodes,
    which: usize,
) -> BTreeMap<MessageId, BTreeMap<u16, Done>> {
    let mut done: BTreeMap<MessageId, BTreeMap<u16, Done>> = BTreeMap::new();
    for delivery in side.history.deliveries.iter() {
        let Some(&node) = common.sides[which].get(&delivery.node) else {
            continue;
        };
        let message = canonical(side, delivery.message);
        let nodes = done.entry(message).or_default();
        nodes
            .entry(node)
            .or_insert((delivery.effect, delivery.at.time));
    }
    done
}

/// The packet that carried a message, and when that is first known of.
fn place(side: ComparedSession<'_>, message: MessageId) -> Option<(PacketId, SessionTime)> {
    let packet = side.session.carrier(message)?;
    let first = side.session.packet(packet)?.first()?;
    Some((packet, first.time))
}

/// Pairs what is the same: from the front, from the back, between them what says the same in order,
/// and then in order what is left. What finds no other is alone.
fn pair(told: &[Vec<Option<u64>>; 2]) -> Vec<[Option<usize>; 2]> {
    let [one, other] = told;
    let front = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let rest = one.len().min(other.len()) - front;
    let back = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    let mut pairs: Vec<[Option<usize>; 2]> = (0..front).map(|at| [Some(at); 2]).collect();
    let middle = [front..one.len() - back, front..other.len() - back];
    let mut by_content: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
    for at in middle[1].clone().rev() {
        by_content.entry(other[at]).or_default().push(at);
    }
    let mut left = Vec::new();
    for at in middle[0].clone() {
        match by_content.get_mut(&one[at]).and_then(Vec::pop) {
            Some(same) => pairs.push([Some(at), Some(same)]),
            None => left.push(at),
        }
    }
    let mut others: Vec<usize> = by_content.into_values().flatten().collect();
    others.sort_unstable();
    for place in 0..left.len().max(others.len()) {
        pairs.push([left.get(place).copied(), others.get(place).copied()]);
    }
    let ends = [one.len(), other.len()];
    pairs.extend((1..=back).map(|at| ends.map(|end| Some(end - at))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs as texts, `a=b`, in order.
    fn pairs(one: &[u64], other: &[u64]) -> String {
        let told = [one, other].map(|told| told.iter().copied().map(Some).collect());
        let mut pairs: Vec<String> = pair(&told)
            .into_iter()
            .map(|[one, other]| {
                let shown = |at: Option<usize>| at.map_or("-".to_owned(), |at| at.to_string());
                format!("{}={}", shown(one), shown(other))
            })
            .collect();
        pairs.sort();
        pairs.join(" ")
    }

    #[test]
    fn one_more_in_the_middle_is_alone() {
        assert_eq!(pairs(&[1, 2, 3], &[1, 9, 2, 3]), "-=1 0=0 1=2 2=3");
        assert_eq!(pairs(&[1, 9, 2, 3], &[1, 2, 3]), "0=0 1=- 2=1 3=2");
    }

    #[test]
    fn what_says_something_else_is_the_same_message_changed() {
        assert_eq!(pairs(&[1, 2, 3], &[1, 9, 3]), "0=0 1=1 2=2");
    }

    #[test]
    fn what_changed_its_order_is_the_same() {
        assert_eq!(pairs(&[1, 2, 3, 4], &[1, 3, 2, 4]), "0=0 1=2 2=1 3=3");
    }

    #[test]
    fn nothing_is_lost_of_either() {
        assert_eq!(pairs(&[], &[5, 6]), "-=0 -=1");
        assert_eq!(pairs(&[5, 5, 5], &[5]), "0=0 1=- 2=-");
    }
}

//! What nodes say of objects themselves, and when: their place among what they receive.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::change::{Change, Moment};
use super::ground::{Begins, Ground};
use super::marks::Marks;
use super::net::Delivery;

/// A message that a node sends, at the moment from which on it is sent, for the node itself: what the node is
/// given before this moment came before, what it is given behind it came later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deed {
    pub node: usize,
    pub at: Moment,
    pub object: u64,
    pub id: u64,
}

/// The deeds of a run: of each node, object and message the turn in which the message was first sent.
#[derive(Debug)]
pub(super) struct Deeds {
    ground: Arc<Ground>,
    sent: BTreeMap<(usize, u64, u64), (u32, Moment)>,
}

impl Deeds {
    /// What the senders of these deliveries did. UPDATEs are no deeds, nor is what nobody was given.
    pub fn of(trace: &[Delivery], marks: &mut Marks<'_>, ground: &Arc<Ground>) -> Deeds {
        let mut sent: BTreeMap<(usize, u64, u64), u32> = BTreeMap::new();
        for delivery in trace {
            let Some(packet) = delivery.sent else {
                continue;
            };
            for mark in marks.of(&delivery.payload).iter() {
                let Some(id) = mark.id else { continue };
                let key = (packet.from, mark.object, id);
                let turn = sent.entry(key).or_insert(packet.turn);
                *turn = (*turn).min(packet.turn);
            }
        }
        let sent = sent.into_iter().filter_map(|(key, turn)| {
            let at = done(ground, key.0, turn)?;
            Some((key, (turn, at)))
        });
        Deeds {
            sent: sent.collect(),
            ground: Arc::clone(ground),
        }
    }

    /// Those of a run with these changes, where this is the recording: all that was done before the first
    /// change was done as it is known here, and of that only what was sent once more may have been delivered.
    pub fn of_run(&self, trace: &[Delivery], changes: &[Change], marks: &mut Marks<'_>) -> Deeds {
        let mut deeds = Deeds::of(trace, marks, &self.ground);
        let ground = &self.ground;
        let first = changes.iter().map(|it| ground.rank(it.first_turn())).min();
        for (key, deed) in &mut deeds.sent {
            let known = self
                .sent
                .get(key)
                .filter(|it| Some(ground.rank((key.0, it.0))) < first);
            if let Some(known) = known {
                *deed = *known;
            }
        }
        deeds
    }

    /// All of them, node by node, the first first.
    pub fn in_order(&self) -> Vec<Deed> {
        let mut deeds: Vec<Deed> = self
            .sent
            .iter()
            .map(|(&(node, object, id), &(_, at))| Deed {
                node,
                at,
                object,
                id,
            })
            .collect();
        deeds.sort_unstable();
        deeds
    }
}

/// Where what is first sent in a turn was done: in a call of the game behind the tick before it, or in the
/// turn itself where there was no call. Behind what is read in that tick, before what is read next.
fn done(ground: &Ground, node: usize, turn: u32) -> Option<Moment> {
    let turns = &ground.nodes.get(node)?.turns;
    let before = turns.get(..turn as usize)?.iter().rev();
    let calls = before.take_while(|it| matches!(it.begins, Begins::Call(_)));
    let tick = match u32::try_from(calls.count()).ok()? {
        0 => turn,
        calls => turn.checked_sub(calls + 1)?,
    };
    Some(Moment {
        turn: tick + 1,
        ns: turns.get(tick as usize)?.at_ns,
    })
}

//! The history as a fold over a session: it goes on from wherever it was left.
//!
//! All of it is worked out in the order of packets, or of each node's events. What was worked out up to
//! a [`Reach`] follows from the session before it alone, unless what comes later *disturbs* it: a
//! number that was passed over and is used after all, a call of the game that shows late. Then the
//! fold says so, and whoever runs it begins anew.

use std::ops::Range;
use std::sync::OnceLock;

use netreel_reel::EventNumber;
use netreel_system::Cancel;

use super::acks::{Acks, Heard};
use super::acts::Disturbed;
use super::claims::{Claiming, Claims};
use super::facts::Facts;
use super::found::proofs;
use super::lanes::{self, Merged};
use super::model::Straggler;
use super::punctual::punctuality;
use super::streams::{MessageStream, Streams};
use super::walked::{NodeHistory, Walked};
use super::wholes::Wholes;
use super::{History, ambiguous, finding, game};
use crate::session::{MessageId, Node, NodeId, PacketId, Session, SessionTime, parallel};

/// How many packets before its end a fold may still lack acks of: acks come in later packets.
const ACKED_LATER: u32 = 4096;

/// How far a fold goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// The packets before this one.
    pub packets: u32,
    /// Of each node the events before this one.
    pub events: Vec<EventNumber>,
    /// What nodes were handed and did before this moment.
    pub time: SessionTime,
}

impl Reach {
    /// All that there is.
    fn whole(session: &Session) -> Reach {
        Reach {
            packets: session.packet_count() as u32,
            events: vec![EventNumber(u64::MAX); session.nodes.len()],
            time: SessionTime(i64::MAX),
        }
    }
}

/// What one pass over all messages of a session tells.
pub(super) struct Known {
    streams: Streams,
    wholes: Wholes,
}

impl Known {
    /// Goes on with a pass that has come somewhere.
    pub fn new(session: &Session, streams: Streams) -> Known {
        let streams = through(session, streams);
        let wholes = Wholes::new(session, &streams);
        Known::of(session, streams, wholes)
    }

    fn of(session: &Session, mut streams: Streams, wholes: Wholes) -> Known {
        for joined in &wholes.joined {
            let first = joined.fragments.first();
            let packet = first.and_then(|&first| session.carrier(first));
            let stamp = packet.and_then(|packet| session.packet(packet)?.first());
            if let (Some(object), Some(stamp)) = (joined.facts.object, stamp) {
                streams.was_born(object, stamp.time);
            }
        }
        Known { streams, wholes }
    }

    /// The messages that are put together.
    pub fn wholes(session: &Session, streams: &Streams) -> Wholes {
        match session.fragments().next() {
            None => Wholes::default(),
            Some(_) => Wholes::new(session, &through(session, streams.clone())),
        }
    }

    /// The same as [`Known::new`] where they were put together already; `None` where what comes
    /// behind the place where the pass last stopped disturbs what was worked out before it.
    pub fn with(session: &Session, streams: Streams, wholes: Wholes) -> Option<Known> {
        let streams = through(session, streams);
        (!streams.is_disturbed()).then(|| Known::of(session, streams, wholes))
    }
}

fn through(session: &Session, mut streams: Streams) -> Streams {
    streams.go_on(session, session.packet_count() as u32);
    streams.conclude();
    streams
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Fold {
    /// By the nodes' places.
    nodes: Vec<OfNode>,
    merged: Merged,
    acks: Acks,
    reach: Reach,
}

/// What was worked out for one node.
#[derive(Clone, Default)]
struct OfNode {
    heard: Heard,
    walked: Walked,
    claiming: Claiming,
}

impl OfNode {
    /// Goes on with these of the node's events.
    fn walk(
        &mut self,
        facts: &Facts<'_>,
        id: NodeId,
        events: Range<EventNumber>,
    ) -> Result<(), Disturbed> {
        let Some(node) = recorded(facts.session, id) else {
            return Ok(());
        };
        let known = (facts.session, facts.streams);
        if facts.cancel.goes_on() {
            self.claiming.go_on(known, id, events.clone());
        }
        facts.go_on((id, node), &mut self.walked, events)
    }
}

/// A node that was recorded.
fn recorded(session: &Session, id: NodeId) -> Option<&Node> {
    let node = session.node(id);
    node.filter(|node| node.recorded)
}

impl Fold {
    /// How far it has come.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Goes on up to there.
    ///
    /// # Errors
    /// What was worked out before does not hold any more.
    pub fn go_on(
        &mut self,
        session: &Session,
        known: (&Streams, &Wholes),
        reach: &Reach,
    ) -> Result<(), Disturbed> {
        let (streams, wholes) = known;
        let facts = Facts {
            session,
            streams,
            wholes,
            cancel: &Cancel::default(),
        };
        let nodes = self.each(session, reach, |id, events, mut own| {
            own.heard.go_on((session, streams), id, events.clone());
            own.walk(&facts, id, events)?;
            Ok(own)
        });
        self.nodes = nodes.into_iter().collect::<Result<_, Disturbed>>()?;
        // Of what was sent last it is heard later that it arrived.
        let heard = self.nodes.iter_mut().map(|own| &mut own.heard);
        let until = reach.packets.saturating_sub(ACKED_LATER);
        self.acks.go_on(heard, until);
        let nodes = session.nodes.iter().zip(&mut self.nodes);
        let walked: Vec<&mut Walked> = nodes
            .filter(|(node, _)| node.recorded)
            .map(|(_, own)| &mut own.walked)
            .collect();
        // What a node did may wait for what arrives before it.
        let waiting = walked.iter().filter_map(|walked| walked.waiting_since());
        let until = waiting.fold(reach.time, SessionTime::min);
        let handed = walked.into_iter().map(|walked| &mut walked.history);
        self.merged.go_on(handed.collect(), until)?;
        self.reach = reach.clone();
        Ok(())
    }

    /// Does the same with each node, several at once, and its events from where it has come to up to
    /// there.
    fn each<R: Send>(
        &mut self,
        session: &Session,
        reach: &Reach,
        work: impl Fn(NodeId, Range<EventNumber>, OfNode) -> R + Sync,
    ) -> Vec<R> {
        self.nodes.resize_with(session.nodes.len(), OfNode::default);
        let nodes = (0u16..).map(NodeId).zip(std::mem::take(&mut self.nodes));
        let from = &self.reach;
        parallel::map(nodes.collect(), session.workers(), |(id, own)| {
            let known = |reach: &Reach| reach.events.get(usize::from(id.0)).copied();
            let events = known(from).unwrap_or_default()..known(reach).unwrap_or_default();
            work(id, events, own)
        })
    }

    /// Forgets what was heard, which takes much memory. The packets whose ack may mean an earlier copy, in
    /// order.
    fn forget_heard(&mut self) -> Vec<PacketId> {
        let heard = self
            .nodes
            .iter_mut()
            .map(|own| std::mem::take(&mut own.heard));
        let mut ambiguous: Vec<PacketId> =
            heard.flat_map(|heard| heard.ambiguous().to_vec()).collect();
        ambiguous.sort_unstable();
        ambiguous
    }

    /// The history, with all that is still to come: what comes of it where it is cancelled is none.
    ///
    /// # Errors
    /// As for [`Fold::go_on`].
    pub fn conclude(
        mut self,
        session: &Session,
        known: Known,
        cancel: &Cancel,
    ) -> Result<History, Disturbed> {
        let Known {
            mut streams,
            mut wholes,
        } = known;
        let whole = Reach::whole(session);
        self.nodes = self.each(session, &whole, |id, events, mut own| {
            if cancel.goes_on() {
                own.heard.go_on((session, &streams), id, events);
            }
            own
        });
        let heard = self.nodes.iter_mut().map(|own| &mut own.heard);
        self.acks.go_on(heard, whole.packets);
        self.acks.acked.shrink();
        self.acks.named.sort_unstable();
        let ambiguous = self.forget_heard();
        let facts = Facts {
            session,
            streams: &streams,
            wholes: &wholes,
            cancel,
        };
        let walked = self
            .each(session, &whole, |id, events, mut own| {
                own.walk(&facts, id, events)?;
                let node = recorded(session, id);
                Ok(node.map(|node| {
                    let history = facts.conclude((id, node), own.walked);
                    ((id, history), (id, own.claiming))
                }))
            })
            .into_iter()
            .collect::<Result<Vec<_>, Disturbed>>()?;
        let (mut nodes, claiming): (Vec<_>, Vec<_>) = walked.into_iter().flatten().unzip();
        let handed = nodes.iter_mut().map(|(_, node)| node);
        self.merged.go_on(handed.collect(), SessionTime(i64::MAX))?;
        let undelivered = undelivered(session, &streams, &nodes);
        let stragglers = stragglers(&nodes);
        let mixed = std::mem::take(&mut wholes.mixed);
        let mut history = History {
            stragglers,
            acked: self.acks.acked,
            named: self.acks.named,
            ambiguous,
            joined: wholes.joined,
            joined_of: wholes.parts,
            undelivered,
            reused: wholes.reused,
            again: streams.meetings.again_all(),
            of_before: std::mem::take(&mut streams.of_before),
            // What an owner says again is no new word of it.
            resends: streams.resends(),
            parting_messages: std::mem::take(&mut streams.partings),
            inputs: punctuality(session, &streams),
            ..History::default()
        };
        let half_apart = ambiguous::half_apart(session, &streams, &history);
        history.ambiguous_messages = ambiguous::all(session, &streams, &half_apart, &mixed);
        self.merged.conclude(nodes, &mut history);
        game::overlay(session, &mut history);
        lanes::orphan(session, &mut history);
        let claims = Claims::of(claiming.into_iter());
        let judged = finding::all(
            &finding::Case {
                session,
                history: &history,
                streams: &streams,
                claims: &claims,
                half_apart: &half_apart,
                states: &OnceLock::new(),
            },
            cancel,
        );
        history.take_findings(judged);
        (history.resends, history.copies) = streams.into_resends();
        Ok(history)
    }
}

/// See [`History::undelivered`]. What is of a connection that is over is not under way. Nor is what was
/// sent to or by a node that left, unless the receiver's reel ended before either of them knew: then it was
/// when the reel ended.
fn undelivered(
    session: &Session,
    streams: &Streams,
    nodes: &[(NodeId, NodeHistory)],
) -> Vec<MessageId> {
    let history = |node: NodeId| {
        nodes
            .iter()
            .find(|(id, _)| *id == node)
            .map(|(_, each)| each)
    };
    let knew = |node: NodeId, (from, to): (NodeId, NodeId)| {
        let gone = history(node).map(|each| &each.gone);
        let end = session
            .nodes
            .get(usize::from(to.0))
            .map(|node| node.span.end);
        let mut peers = [from, to]
            .map(|id| session.nodes.get(usize::from(id.0)))
            .into_iter()
            .flatten()
            .filter_map(|node| node.peer);
        peers.any(|peer| {
            let since = gone.and_then(|gone| gone.get(&peer));
            since.is_some_and(|&since| end.is_none_or(|end| since <= end))
        })
    };
    let mut undelivered = Vec::new();
    for (&key, line) in &streams.links {
        let MessageStream { from, to, .. } = key;
        let from_place = |floor| line.from(floor).map(|(place, id)| (place, MessageId(id)));
        let Some(receiver) = history(to) else {
            continue;
        };
        if streams.is_over(session, key) {
            continue;
        }
        if knew(from, (from, to)) || knew(to, (from, to)) {
            continue;
        }
        if streams.unordered.contains(&key) {
            if !receiver.is_blind {
                let all = from_place(i64::MIN).map(|(_, id)| id);
                undelivered.extend(all.filter(|id| !receiver.seen.contains(id.0)));
            }
            continue;
        }
        let floor = match receiver.waits_for.get(&key) {
            Some(&next) => next,
            None if receiver.is_blind => continue,
            None => i64::MIN,
        };
        undelivered.extend(from_place(floor).map(|(_, message)| message));
    }
    undelivered.sort_unstable();
    undelivered
}

/// What came to nodes of connections that were over.
fn stragglers(nodes: &[(NodeId, NodeHistory)]) -> Vec<(NodeId, Straggler)> {
    let stragglers = nodes.iter().flat_map(|(id, node)| {
        let own = node.stragglers.iter();
        own.map(move |&straggler| (*id, straggler))
    });
    stragglers.collect()
}

impl History {
    /// Takes what all rules found.
    fn take_findings(&mut self, judged: finding::All) {
        let found = judged.found.into_iter();
        (self.findings, self.fixed) = found.map(|it| (it.finding, it.fixed)).unzip();
        self.proofs = proofs(&self.findings);
        self.standing = judged.standing;
        self.unknown_values = judged.unknown_values;
    }
}

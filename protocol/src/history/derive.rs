//! What follows from the streams of a session: what senders learnt, what each node was handed and did, and
//! what went wrong.

use std::sync::OnceLock;

use netreel_system::Cancel;

use super::acks::{Acks, Learning, Receipts};
use super::claims::{Claiming, Claims};
use super::facts::Facts;
use super::found::proofs;
use super::lanes;
use super::model::Straggler;
use super::node_end::NodeEnd;
use super::punctual::punctuality;
use super::streams::{MessageStream, Streams};
use super::walked::NodeHistory;
use super::wholes::Wholes;
use super::{History, ambiguous, finding, game};
use crate::session::{MessageId, NodeId, Session, parallel};

/// After this many ends a walk asks whether the history is still wanted.
const STEP: usize = 4096;

/// The history of a session from its streams, which have taken all packets; `None` where it is cancelled.
pub(super) fn derive(session: &Session, mut streams: Streams, cancel: &Cancel) -> Option<History> {
    let mut wholes = Wholes::new(session, &streams);
    for joined in &wholes.joined {
        let first = joined.fragments.first();
        let packet = first.and_then(|&first| session.carrier(first));
        let stamp = packet.and_then(|packet| session.packet(packet)?.first());
        if let (Some(object), Some(stamp)) = (joined.facts.object, stamp) {
            streams.was_born(object, stamp.time);
        }
    }
    let facts = Facts::new(session, &streams, &wholes);
    // Where processors would be idle, one follows what a node learns and another one what it believes.
    let apart = session.recorded_nodes().count() < session.workers();
    let both: &[[bool; 2]] = match apart {
        true => &[[true, false], [false, true]],
        false => &[[true; 2]],
    };
    let nodes = (0u16..).map(NodeId).zip(&session.nodes);
    let jobs = nodes.flat_map(|node| both.iter().map(move |&parts| (node, parts)));
    let jobs = jobs.filter(|((_, node), [learns, _])| *learns || node.recorded);
    let receipts = Receipts::new(session);
    let walked = parallel::map(jobs.collect(), session.workers(), |(node, parts)| {
        let (id, [learns, believes]) = (node.0, parts);
        let mut learning = learns.then(|| {
            let learning = Learning::new((session, &streams), id, &receipts);
            (learning, Claiming::new((session, &streams), id))
        });
        let is_walked = believes && node.1.recorded && cancel.goes_on();
        let mut walk = is_walked.then(|| facts.follow(node));
        let ends = session.ends(id);
        let ends = ends.filter_map(|end| NodeEnd::new((session, &streams), end));
        for (nth, end) in ends.enumerate() {
            if nth % STEP == 0 && !cancel.goes_on() {
                break;
            }
            if let Some((learning, claiming)) = &mut learning {
                learning.take(&end);
                claiming.take(&end);
            }
            if let Some(walk) = &mut walk {
                walk.take(&end);
            }
        }
        let walk = walk.filter(|_| cancel.goes_on());
        let history = walk.map(|walk| (id, walk.finish()));
        let learnt = learning.map(|(learning, claiming)| (learning.heard, claiming));
        (history, learnt)
    });
    if !cancel.goes_on() {
        return None;
    }
    let (mut nodes, mut heard, mut claiming) = (Vec::new(), Vec::new(), Vec::new());
    for (history, learnt) in walked {
        nodes.extend(history);
        if let Some((of_acks, of_claims)) = learnt {
            heard.push(of_acks);
            claiming.push(of_claims);
        }
    }
    let claims = Claims::of(claiming.into_iter());
    let Acks {
        acked,
        named,
        ambiguous,
    } = Acks::new(heard, &receipts);
    drop(receipts);
    let undelivered = undelivered(session, &streams, &nodes);
    let stragglers = stragglers(&nodes);
    let mixed = std::mem::take(&mut wholes.mixed);
    let mut history = History {
        stragglers,
        acked,
        named,
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
    lanes::merge(nodes, &mut history);
    game::overlay(session, &mut history);
    lanes::orphan(session, &mut history);
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
    cancel.goes_on().then_some(history)
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
    for (key, line) in streams.lines() {
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
        if streams.is_unordered(key) {
            if !receiver.is_blind {
                let all = from_place(i64::MIN).map(|(_, id)| id);
                undelivered.extend(all.filter(|id| !receiver.seen.contains(id.0)));
            }
            continue;
        }
        let number = streams.number_of(key);
        let floor = match number.and_then(|it| receiver.waits_for.get(&it)) {
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

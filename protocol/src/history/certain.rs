//! Which findings of a session that goes on are certain: nothing that is still to come changes them.
//!
//! A finding rests on what a node was handed and did itself, in order. All of that is known up to a
//! moment once every reel is read up to there and every packet that was under way then has arrived
//! or never will. Where what was read may be told otherwise later on, nothing is certain before the
//! end: with several clocks, whose distance is measured better with every packet; where a node
//! that took part has no reel, or one that does not begin with the node or has holes; where
//! somebody knows nodes from a proxy or from a capture; and until all nodes have said by which rules
//! they go.

use std::collections::BTreeMap;

use netreel_reel::{EventNumber, Reel};

use super::{Finding, History, took_part_unrecorded};
use crate::session::{Node, NodeId, Session, SessionTime};

/// What was called certain of a session that is looked at again and again.
#[derive(Default)]
pub struct Certain {
    /// Up to when all reels were read at the look before, in nanoseconds since 1970. A reel that
    /// nobody had found then begins later.
    read_utc_ns: Option<i128>,
    /// How many findings were told of each kind: one event may prove several.
    told: BTreeMap<Key, usize>,
}

/// What tells a finding from others, also in a later look: its rule, its node, its objects, and the
/// events that prove it.
type Key = (&'static str, String, Vec<u64>, Vec<(String, EventNumber)>);

impl Certain {
    /// The findings that are certain now and were not before; of a reel that `is_over` no more will
    /// come.
    pub fn fresh<'a>(
        &mut self,
        session: &Session,
        history: &'a History,
        is_over: impl Fn(&Reel) -> bool,
    ) -> Vec<&'a Finding> {
        let zero_utc_ns = i128::from(session.start_utc_ns);
        let read = session.read_until(&is_over);
        let now = read.map(|read| zero_utc_ns + i128::from(read.0));
        let Some(before) = std::mem::replace(&mut self.read_utc_ns, now) else {
            return Vec::new();
        };
        let until = i64::try_from(before - zero_utc_ns).unwrap_or(i64::MIN);
        let until = SessionTime(until).min(read.unwrap_or(SessionTime::MAX));
        self.untold(session, history.certain(session, until, is_over))
    }

    /// The findings that were not called certain before: all of them are, once all reels are over.
    pub fn rest<'a>(&mut self, session: &Session, history: &'a History) -> Vec<&'a Finding> {
        self.untold(session, history.findings.iter())
    }

    fn untold<'a>(
        &mut self,
        session: &Session,
        findings: impl Iterator<Item = &'a Finding>,
    ) -> Vec<&'a Finding> {
        let mut met: BTreeMap<Key, usize> = BTreeMap::new();
        let untold = findings.filter(|finding| {
            let key = key(session, finding);
            let told = self.told.entry(key.clone()).or_default();
            let met = met.entry(key).or_default();
            *met += 1;
            let is_new = *met > *told;
            *told = (*told).max(*met);
            is_new
        });
        untold.collect()
    }
}

fn key(session: &Session, finding: &Finding) -> Key {
    let events = finding.proof();
    (
        finding.rule,
        session.name(finding.node),
        finding.objects.clone(),
        events
            .map(|it| (session.name(it.node), it.number))
            .collect(),
    )
}

impl History {
    /// The findings that stay as they are whatever comes after `until`, the moment up to which all
    /// reels of the session were read, those included that nobody had found before that moment.
    /// Of a reel that `is_over` no more will come.
    pub fn certain(
        &self,
        session: &Session,
        until: SessionTime,
        is_over: impl Fn(&Reel) -> bool,
    ) -> impl Iterator<Item = &Finding> {
        let settled = self.settled(session, until, &is_over);
        let findings = self.findings.iter().zip(&self.fixed);
        findings.filter_map(move |(finding, fixed)| {
            let is_certain = (*fixed)? < settled?;
            is_certain.then_some(finding)
        })
    }

    /// Before when all that nodes were handed and did is known for good.
    fn settled(
        &self,
        session: &Session,
        until: SessionTime,
        is_over: &dyn Fn(&Reel) -> bool,
    ) -> Option<SessionTime> {
        let wait_ns = session.wait_ns()?;
        let nodes = (0u16..).map(NodeId).zip(&session.nodes);
        let recorded = || nodes.clone().filter(|(_, node)| node.recorded);
        let is_known = |(_, node): (NodeId, &Node)| {
            let numbered = session.nodes.iter().any(|other| other.peer.is_some());
            let speaks = node.rules.is_some() && (node.peer.is_some() || !numbered);
            speaks && node.holes.is_empty() && !node.proxied && !node.captured
        };
        if !recorded().all(is_known) || !took_part_unrecorded(session).is_empty() {
            return None;
        }
        // What a call of the game led to is told when it is sent, and what travels in fragments
        // when the last of them is.
        let going_on = recorded().filter(|(node, _)| {
            let reel = session
                .reels
                .get(usize::from(node.0))
                .and_then(Option::as_ref);
            !reel.is_some_and(|reel| is_over(reel))
        });
        let asked = going_on.filter_map(|(node, _)| session.last_asked(node));
        let begun = session
            .fragments()
            .filter(|it| !self.joined_of.contains_key(it))
            .filter_map(|message| {
                let (_, stamp) = session.departed(session.carrier(message)?)?;
                Some(stamp.time)
            });
        let arrived = SessionTime(until.0.saturating_sub(wait_ns));
        Some(asked.chain(begun).fold(arrived, SessionTime::min))
    }
}

//! The history of a session that goes on: a look begins where what is settled ends.

use std::sync::Arc;

use netreel_reel::{Endpoint, EventNumber, Reel};
use netreel_system::Cancel;
use netreel_wire::{RulesId, Wire};

use super::History;
use super::fold::{Fold, Known, Reach};
use super::meetings;
use super::streams::Streams;
use super::wholes::Wholes;
use crate::session::{Firm, Node, NodeId, Session, SessionTime};

/// Packets that came within this time may still be told to be another one's.
const DOUBT_NS: i64 = 1_000_000_000;

/// A fragment waits no longer for the others of its message. Where they come later all the same, the
/// look begins anew.
const FRAGMENTS_NS: i64 = 10_000_000_000;

/// The history of reels that grow, looked at again and again ([`Growing`](crate::session::Growing)).
///
/// What was worked out up to a moment that is settled is kept, and the next look goes on from there,
/// where it finds the same packets before it. Else it begins anew; so it does in sessions with
/// several clocks, proxies, observers, holes, and of nodes that may have met between several ports.
/// The answer is always that of [`History::build`].
#[derive(Default)]
pub struct Ongoing {
    kept: Option<Kept>,
    /// See [`Ongoing::known`].
    known: u32,
}

/// What was settled at a look.
struct Kept {
    streams: Streams,
    fold: Fold,
    settled: Settled,
}

impl Ongoing {
    /// The history of the session as it is now; of a reel that `is_over` no more will come.
    pub fn look(&mut self, session: &Session, is_over: impl Fn(&Reel) -> bool) -> History {
        if !can_go_on(session) {
            *self = Ongoing::default();
            return History::build(session);
        }
        let kept = self.kept.take().filter(|kept| kept.settled.holds(session));
        self.known = kept.as_ref().map_or(0, |kept| kept.settled.packets);
        let gone_on = kept.and_then(|kept| self.go_on(session, &is_over, kept.streams, kept.fold));
        let anew = || {
            self.known = 0;
            self.go_on(session, &is_over, Streams::begin(session), Fold::default())
        };
        let history = gone_on.or_else(anew);
        history.unwrap_or_else(|| History::build(session))
    }

    /// How many packets the last look did not follow again, because they were settled before it.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// Goes on to what is settled now, and keeps it; then to the end. `None` where nothing is settled,
    /// or not what was before.
    fn go_on(
        &mut self,
        session: &Session,
        is_over: &dyn Fn(&Reel) -> bool,
        mut streams: Streams,
        mut fold: Fold,
    ) -> Option<History> {
        let firm = session.firm()?;
        let wholes = Known::wholes(session, &streams);
        if wholes.straddle(session, fold.reach().packets) {
            return None;
        }
        let reach = reach(session, &wholes, fold.reach(), is_over)?;
        streams.go_on(session, reach.packets);
        if streams.is_disturbed() {
            return None;
        }
        streams.stop();
        fold.go_on(session, (&streams, &wholes), &reach).ok()?;
        let known = Known::with(session, streams.clone(), wholes)?;
        let history = fold
            .clone()
            .conclude(session, known, &Cancel::default())
            .ok()?;
        let settled = Settled::new(session, firm, reach.packets);
        self.kept = Some(Kept {
            streams,
            fold,
            settled,
        });
        Some(history)
    }
}

/// Whether what is told of packets may be settled before the end.
fn can_go_on(session: &Session) -> bool {
    let is_plain =
        |node: &Node| !node.recorded || node.holes.is_empty() && !node.proxied && !node.captured;
    session.firm().is_some()
        && session.wait_ns().is_some()
        && !meetings::may_be_told(session)
        && session.nodes.iter().all(is_plain)
}

/// Up to where all is settled, from where it was before on.
fn reach(
    session: &Session,
    wholes: &Wholes,
    before: &Reach,
    is_over: &dyn Fn(&Reel) -> bool,
) -> Option<Reach> {
    let nodes = || (0u16..).map(NodeId).zip(&session.nodes);
    let arrived = session.firm_time(is_over).0;
    let arrived = arrived.saturating_sub(session.wait_ns()?.saturating_add(DOUBT_NS));
    // What a call of the game led to is told when it is sent.
    let going_on = nodes().filter(|&(id, node)| {
        let reel = session
            .reels
            .get(usize::from(id.0))
            .and_then(Option::as_ref);
        node.recorded && !reel.is_some_and(|reel| is_over(reel))
    });
    let asked = going_on.filter_map(|(node, _)| session.last_asked(node));
    let time = asked.fold(SessionTime(arrived), SessionTime::min);
    // What travels in fragments is told when the last of them is.
    let since = SessionTime(time.0.saturating_sub(FRAGMENTS_NS));
    let begun = wholes.begun(session, since);
    let time = begun.map_or(time, |begun| begun.min(time));
    let packets = session.packets_before(time).max(before.packets);
    if packets == 0 {
        return None;
    }
    let mut reach = Reach {
        packets,
        events: Vec::new(),
        time,
    };
    for (id, _) in nodes() {
        let start = before
            .events
            .get(usize::from(id.0))
            .copied()
            .unwrap_or_default();
        let until = session.firm_until(id).unwrap_or_default();
        let mut ends = session.ends_in(id, start..Session::EVENTS.end);
        let first_after = ends.find(|(_, crossing, at)| {
            crossing.number >= until || crossing.packet.0 >= packets || at.time >= time
        });
        let mut event = first_after.map_or(until, |(_, crossing, _)| crossing.number);
        let next = first_after.map_or(time, |(.., at)| at.time);
        reach.time = reach.time.min(next);
        // What is sent from there on may be what the game asked for earlier.
        let asked_before = |event: EventNumber| {
            let mut ends = session.ends_in(id, event..Session::EVENTS.end);
            let (_, crossing, _) = ends.next()?;
            let asked = session.turn_at(id, crossing.number)?.asked;
            asked.filter(|asked| asked.number < event)
        };
        while let Some(asked) = asked_before(event) {
            event = asked.number;
            reach.time = reach.time.min(asked.time);
        }
        reach.events.push(event.max(start));
    }
    reach.time = reach.time.max(before.time);
    Some(reach)
}

/// What of a session that rests on which was settled.
struct Settled {
    wire: Option<Arc<Wire>>,
    start_utc_ns: i64,
    nodes: Vec<Kind>,
    since: Vec<Arc<()>>,
    packets: u32,
    first: First,
}

/// What tells the first packets from others.
enum First {
    /// Whoever put them in order knows that they are the same ones.
    Same(Arc<()>),
    /// Their ends.
    Ends(u64),
}

impl First {
    fn new(session: &Session, packets: u32) -> First {
        match session.same().filter(|same| packets <= same.packets) {
            Some(same) => First::Same(same.since.clone()),
            None => First::Ends(session.told_by(packets)),
        }
    }

    /// Whether it is they.
    fn holds(&self, session: &Session, packets: u32) -> bool {
        match self {
            First::Same(since) => {
                let same = session.same();
                same.is_some_and(|same| Arc::ptr_eq(since, &same.since))
            }
            First::Ends(ends) => *ends == session.told_by(packets),
        }
    }
}

/// What of a node decides how its packets are followed.
type Kind = (
    String,
    Option<u64>,
    [bool; 3],
    Option<RulesId>,
    Vec<Endpoint>,
);

impl Settled {
    fn new(session: &Session, firm: &[Firm], packets: u32) -> Settled {
        Settled {
            wire: session.wire.clone(),
            start_utc_ns: session.start_utc_ns,
            nodes: session.nodes.iter().map(kind).collect(),
            since: firm.iter().map(|it| it.since.clone()).collect(),
            packets,
            first: First::new(session, packets),
        }
    }

    /// Whether that is still so.
    fn holds(&self, session: &Session) -> bool {
        let Some(firm) = session.firm() else {
            return false;
        };
        let is_same_wire = match (&self.wire, &session.wire) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let mut since = self.since.iter().zip(firm);
        is_same_wire
            && self.start_utc_ns == session.start_utc_ns
            && self
                .nodes
                .iter()
                .cloned()
                .eq(session.nodes.iter().map(kind))
            && self.since.len() == firm.len()
            && since.all(|(one, other)| Arc::ptr_eq(one, &other.since))
            && self.first.holds(session, self.packets)
    }
}

fn kind(node: &Node) -> Kind {
    let flags = [node.recorded, node.window, node.group];
    let name = node.name.clone();
    (name, node.peer, flags, node.rules, node.endpoints.clone())
}

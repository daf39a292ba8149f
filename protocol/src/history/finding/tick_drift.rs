//! `tick-drift`: the ticks of two nodes that play one game do not run at one speed.
//!
//! A warning: a node whose ticks run faster or slower than those of the others, or than the game means to,
//! is ahead or behind by more and more, until inputs come too late or the game stands still. It must be so
//! in each quarter of the time that both tell their ticks, so that a pause, a start that took long or ticks
//! that were made up for are not meant. Ticks whose speeds differ by more than a quarter are not of
//! one kind.

use super::prelude::*;
use crate::history::ticks::{self, Player, Ticks};

/// The time is looked at in this many parts.
const PARTS: usize = 4;

/// Speeds that differ by one in this many are of ticks of another kind.
const KIND: f64 = 4.0;

/// What is told within this many ns of the last is passed over.
const STEP_NS: i64 = 50_000_000;

/// The ticks of a node, as it told them.
#[derive(Default)]
struct Line {
    told: Vec<(Stamp, i64)>,
}

/// Two speeds, in ticks a second.
#[derive(Clone, Copy)]
struct Drift {
    own: f64,
    other: f64,
    from: SessionTime,
    until: SessionTime,
}

impl Drift {
    /// Of the slower one's ticks, one in this many.
    fn one_in(self) -> f64 {
        self.own.min(self.other) / (self.own - self.other).abs()
    }

    /// That a node drifts, against another one or what the game means.
    fn found(self, case: &Case<'_>, (odd, line): (NodeId, &Line), rest: Option<NodeId>) -> Found {
        let session = case.session;
        let told = |told: Option<&(Stamp, i64)>, what| at_event(session, odd, told?.0, what);
        let pieces = [
            told(line.told.first(), "the first tick told"),
            told(line.told.last(), "the last tick told"),
        ];
        let against = match rest {
            Some(rest) => format!("those of {} {:.2}", session.name(rest), self.other),
            None => format!("the game means to make {:.2}", self.other),
        };
        let lasted_ns = self.until.since(self.from);
        let sentence = format!(
            "the ticks of {} drift: it made {:.2} a second, {against}, 1 in {:.0} too {}, over {}: {:.0} \
             ticks apart",
            session.name(odd),
            self.own,
            self.one_in(),
            if self.own > self.other { "many" } else { "few" },
            duration(lasted_ns),
            (self.own - self.other).abs() * lasted_ns as f64 / 1e9,
        );
        Found::new(Level::Warning, odd, self.until, pieces, sentence)
    }
}

impl Line {
    fn take(&mut self, at: Stamp, tick: i64) {
        let last = self.told.last();
        let is_news = last
            .is_none_or(|&(before, known)| tick > known && at.time.since(before.time) >= STEP_NS);
        // Where ticks begin anew, what was before is another game.
        if last.is_some_and(|&(_, known)| tick < known.saturating_sub(600)) {
            self.told.clear();
        }
        if is_news || self.told.is_empty() {
            self.told.push((at, tick));
        }
    }

    /// The tick at a moment between the first and the last.
    fn at(&self, time: SessionTime) -> Option<f64> {
        let after = self.told.partition_point(|(at, _)| at.time <= time);
        let (before, from) = self.told.get(after.checked_sub(1)?)?;
        let Some((next, to)) = self.told.get(after) else {
            return (before.time == time).then_some(*from as f64);
        };
        let passed = (time.0 - before.time.0) as f64 / (next.time.0 - before.time.0) as f64;
        Some(*from as f64 + passed * (to - from) as f64)
    }

    /// Ticks a second between two moments.
    fn speed(&self, from: SessionTime, until: SessionTime) -> Option<f64> {
        let seconds = until.since(from) as f64 / 1e9;
        Some((self.at(until)? - self.at(from)?) / seconds)
    }

    fn span(&self) -> Option<(SessionTime, SessionTime)> {
        Some((self.told.first()?.0.time, self.told.last()?.0.time))
    }
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let bounds = &session.bounds.tick_drift;
    let lines = lines(case);
    let mut drifts: Vec<(NodeId, Option<NodeId>, Drift)> = Vec::new();
    for (&node, line) in &lines {
        if let Some(rate) = bounds.rate {
            let span = line.span();
            let drift = span.and_then(|span| between(case, span, line, |_, _| Some(rate as f64)));
            drifts.extend(drift.map(|drift| (node, None, drift)));
        }
        for (&other, of_other) in lines.range(node..).skip(1) {
            let speak = [(node, other), (other, node)];
            if bounds.rate.is_some() || !speak.iter().any(|link| session.links().contains(link)) {
                continue;
            }
            let (Some(own), Some(span)) = (line.span(), of_other.span()) else {
                continue;
            };
            let both = (own.0.max(span.0), own.1.min(span.1));
            let drift = between(case, both, line, |from, until| of_other.speed(from, until));
            drifts.extend(drift.map(|drift| (node, Some(other), drift)));
        }
    }
    let mut count: BTreeMap<NodeId, usize> = BTreeMap::new();
    for (node, other, _) in &drifts {
        for node in [Some(*node), *other].into_iter().flatten() {
            *count.entry(node).or_default() += 1;
        }
    }
    let mut named: Vec<NodeId> = Vec::new();
    let mut found = Vec::new();
    for (node, other, drift) in drifts {
        // Who drifts against most others is the one that does.
        let (odd, rest, drift) = match other {
            Some(other) if count.get(&other) >= count.get(&node) => {
                let back = Drift {
                    own: drift.other,
                    other: drift.own,
                    ..drift
                };
                (other, Some(node), back)
            }
            other => (node, other, drift),
        };
        if named.contains(&odd) || rest.is_some_and(|rest| named.contains(&rest)) {
            continue;
        }
        named.push(odd);
        if let Some(line) = lines.get(&odd) {
            found.push(drift.found(case, (odd, line), rest));
        }
    }
    found
}

/// Whether a node's ticks run at another speed than others, in each part of a time.
fn between(
    case: &Case<'_>,
    (from, until): (SessionTime, SessionTime),
    line: &Line,
    other: impl Fn(SessionTime, SessionTime) -> Option<f64>,
) -> Option<Drift> {
    let bounds = &case.session.bounds.tick_drift;
    let span = until.since(from);
    if span < bounds.longest.0.max(1) {
        return None;
    }
    let moment = |part: usize| SessionTime(from.0 + span / PARTS as i64 * part as i64);
    let off = |from: SessionTime, until: SessionTime| {
        let (own, other) = (line.speed(from, until)?, other(from, until)?);
        let slower = own.min(other).max(f64::MIN_POSITIVE);
        Some((own, other, (own - other) / slower))
    };
    let (own, other_speed, whole) = off(from, moment(PARTS))?;
    let least = 1.0 / bounds.one_in.max(1) as f64;
    let is_off = whole.abs() >= least && whole.abs() < 1.0 / KIND;
    let is_steady = (0..PARTS).all(|part| {
        let off = off(moment(part), moment(part + 1));
        off.is_some_and(|(_, _, off)| off * whole > 0.0 && off.abs() >= least / 2.0)
    });
    (is_off && is_steady).then_some(Drift {
        own,
        other: other_speed,
        from,
        until: moment(PARTS),
    })
}

/// The ticks of each node: those that its packets tell, or else those of its inputs.
fn lines(case: &Case<'_>) -> BTreeMap<NodeId, Line> {
    let &Case {
        session, streams, ..
    } = case;
    let mut lines: BTreeMap<NodeId, Line> = BTreeMap::new();
    for (node, packet, tick) in ticks::own(session, streams) {
        if let Some(at) = session.send_of(packet) {
            lines.entry(node).or_default().take(at, tick);
        }
    }
    let known: Vec<NodeId> = lines.keys().copied().collect();
    let packets = ticks::packets_of(&streams.inputs);
    ticks::inputs(session, &mut Ticks::default(), packets, |it| {
        let is_own = it.player == Player::Node(it.from) && !known.contains(&it.from);
        if let (true, Some(at)) = (is_own, session.send_of(it.packet)) {
            lines.entry(it.from).or_default().take(at, *it.ticks.end());
        }
        std::ops::ControlFlow::Continue(())
    });
    lines
}

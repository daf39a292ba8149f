//! `two-owners`: two nodes each believe that they own an object at the same time.
//!
//! While the newer MIGRATE is on its way to the older owner this must happen: info. It is an error where both
//! hold the same counter, and where it outlasts everything that is on its way. A MIGRATE is on its way for as
//! long as its sender sends it again, also to a third node that is to pass it on. Once the sender has dropped
//! the older owner, nothing is on its way. So it goes with a node that HOST alone cannot hear and that plays
//! on: HOST tells the others that the node left and gives its objects away, and nobody tells the node,
//! neither HOST nor, in a protocol where the new owner speaks for itself, the heir, which was told of the
//! leaving before it was told of the object. That others say that a node left does not end what it claims;
//! its own leaving does, being told that it is out, and falling silent.

use super::prelude::*;
use crate::history::Span;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let &Case {
        session, history, ..
    } = case;
    let departed = crate::history::lanes::departures_of_nodes(session, history);
    let settlement = Settlement::new(session, history);
    let mut findings = Vec::new();
    for (&id, object) in &history.objects {
        let claims = claims(case, object, &departed);
        for (place, one) in claims.iter().enumerate() {
            for other in claims.iter().skip(place + 1) {
                // Sorted by start: whatever starts after this one's end overlaps it no more.
                if other.start >= one.end {
                    break;
                }
                if one.node != other.node {
                    findings.extend(found_of(case, &settlement, (id, object), (one, other)));
                }
            }
        }
    }
    findings
}

/// A stretch in which a node believes that it owns the object itself.
struct Claim<'a> {
    node: NodeId,
    start: SessionTime,
    end: SessionTime,
    /// The span that follows it at the same node.
    next: Option<&'a Span>,
    span: &'a Span,
}

fn claims<'a>(
    case: &Case<'_>,
    object: &'a Object,
    departed: &BTreeMap<NodeId, SessionTime>,
) -> Vec<Claim<'a>> {
    let mut claims = Vec::new();
    for (&node, lane) in &object.lanes {
        let peer = case.peer(node);
        let left = departed.get(&node).copied();
        let left = left.unwrap_or(SessionTime(i64::MAX));
        for (place, span) in lane.iter().enumerate() {
            if peer.is_none_or(|peer| span.belief != Belief::Owned(peer)) {
                continue;
            }
            let (start, end) = (span.time.start, span.time.end.min(left));
            if end <= start {
                continue;
            }
            claims.push(Claim {
                node,
                start,
                end,
                next: lane.get(place + 1),
                span,
            });
        }
    }
    claims.sort_by_key(|claim| (claim.start, claim.node));
    claims
}

fn found_of(
    case: &Case<'_>,
    settlement: &Settlement<'_>,
    (id, object): (u64, &Object),
    (one, other): (&Claim<'_>, &Claim<'_>),
) -> Option<Found> {
    let session = case.session;
    let (older, newer) = match (one.span.counter, other.span.counter) {
        (Some(first), Some(second)) if second < first => (other, one),
        _ => (one, other),
    };
    let (start, end) = (newer.start.max(older.start), newer.end.min(older.end));
    let told = |span: &Span| case.told(span.because);
    let (because, before) = (told(newer.span)?, told(older.span)?);
    let (old, new) = (session.name(older.node), session.name(newer.node));
    let same_counter = older.span.counter.is_some() && older.span.counter == newer.span.counter;
    // Who left or fell silent does not believe it to the end.
    let lasts = |claim: &Claim<'_>| claim.next.is_none() && claim.end == claim.span.time.end;
    let both_last = lasts(older) && lasts(newer);
    let (level, why) = if same_counter {
        let counter = older.span.counter.unwrap_or_default();
        (Level::Error, format!("both at counter {counter}"))
    } else if both_last {
        match settlement.at_rest(id, object, &[older.node, newer.node]) {
            Settled::Yes => (Level::Error, "still so when all is delivered".to_owned()),
            Settled::Unknown(why) => (Level::Info, format!("until the reels end; {why}")),
        }
    } else {
        (Level::Info, words_of_end(case, older, newer))
    };
    let sentence = format!(
        "{old} and {new} both believed that they own object {id} for {}: {new} since {} \
         (packet {}); {why}",
        duration(end.since(start)),
        because.words(session),
        because.packet
    );
    let mut evidence = vec![before.done(), because.done()];
    evidence.extend(older.next.and_then(told).map(|ended| ended.done()));
    let time = evidence.iter().map(|each| each.time).max()?;
    let found = Found::new(level, older.node, time, evidence, sentence).about([id]);
    let because = format!("had two owners, {old} and {new}; {why}");
    let fixed = fixed(session, (older, newer), end.max(time));
    Some(found.fixed(fixed).because(because))
}

/// From when on an overlap stays as it was: the older claim is over, and so is the overlap, and
/// later on both nodes sent something, so that they have not fallen silent before.
fn fixed(
    session: &Session,
    (older, newer): (&Claim<'_>, &Claim<'_>),
    end: SessionTime,
) -> Option<SessionTime> {
    let first = if older.end <= newer.end { older } else { newer };
    older.next.and(first.next)?;
    let speaks = |claim: &Claim<'_>| session.sends_after(claim.node, end);
    Some(speaks(older)?.max(speaks(newer)?))
}

/// Why an overlap ended.
fn words_of_end(case: &Case<'_>, older: &Claim<'_>, newer: &Claim<'_>) -> String {
    let first = if older.end <= newer.end { older } else { newer };
    let name = case.session.name(first.node);
    match first.next.and_then(|span| case.told(span.because)) {
        Some(ended) => format!(
            "until {name} got {} (packet {})",
            ended.words(case.session),
            ended.packet
        ),
        None => format!("until {name} left or fell silent"),
    }
}

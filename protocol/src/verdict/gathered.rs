//! The reasons why not all of a session could be judged, gathered.

use super::reason::{CUT, LIMIT, NO_PACKETS, NO_RULES, Reason, SUSPECTED, UNREAD, names};
use super::{fit, gaps, rest, who};
use crate::history::{ExistenceAtRest, History, Level, Rule, Unjudged, took_part_unrecorded};
use crate::session::{NodeId, Session};

/// All reasons, in the order of [`REASONS`](super::REASONS).
pub(super) fn all(
    session: &Session,
    history: &History,
    unread: &[String],
    (at_rest, unjudged): (&ExistenceAtRest, Option<&Unjudged>),
) -> Vec<Reason> {
    let missing = took_part_unrecorded(session);
    let mut reasons: Vec<Reason> = Vec::new();
    reasons.extend(unread_reels(unread));
    reasons.extend(fit::packets_and_wire(session, missing));
    if history.games_said_all(session) {
        reasons.retain(|reason| reason.id != NO_RULES);
    }
    reasons.extend(who::without_reel(session, missing));
    let observers = who::needed_observers(session, missing);
    reasons.extend(who::observed(&observers));
    reasons.extend(who::captured(session));
    reasons.extend(who::proxied(session));
    reasons.extend(gaps::of_reels(session, &observers));
    reasons.extend(gaps::lacking_packets(session, &reasons));
    reasons.extend(gaps::cut_packets(&observers));
    reasons.extend(who::clocks(session));
    // What reels lack, or the wire does not say, tells why beliefs are not known.
    if reasons.is_empty() {
        reasons.extend(rest::unknown_beliefs(session, history));
    }
    // Of a reel that was cut it is said already that its end lacks.
    let ends = [NO_PACKETS, CUT, LIMIT];
    if !reasons.iter().any(|reason| ends.contains(&reason.id)) {
        reasons.extend(unjudged.and_then(|it| rest::unsettled(session, it)));
    }
    reasons.extend(rest::differences(session, history, (at_rest, unjudged)));
    reasons.extend(suspected(session, history));
    reasons
}

fn unread_reels(unread: &[String]) -> Option<Reason> {
    let first = unread.first()?;
    let sentence = match unread.len() {
        1 => format!("a reel could not be read: {first}"),
        count => format!("{count} reels could not be read; the first: {first}"),
    };
    Some(Reason::new(UNREAD, sentence))
}

/// Findings about objects are warnings only where something that is missing could clear them up.
fn suspected(session: &Session, history: &History) -> Option<Reason> {
    let findings = history.findings.iter();
    // A team's own rules say what they mean: nothing is suspected by them. What went wrong and came right is
    // known.
    let ours = findings
        .filter(|finding| Rule::named(finding.rule).is_some_and(|it| it != Rule::DifferenceLasts));
    let suspected =
        ours.filter(|finding| finding.level == Level::Warning && !finding.objects.is_empty());
    let suspected: Vec<_> = suspected.collect();
    let first = suspected.first()?;
    let object = first.object().unwrap_or_default();
    let more = match first.objects.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let what = format!(
        "{} of object {object}{more} at {}",
        first.rule,
        session.name(first.node)
    );
    let sentence = match suspected.len() {
        1 => format!("a finding is suspected and not proven: {what}"),
        count => format!("{count} findings are suspected and not proven; the first: {what}"),
    };
    let mut nodes: Vec<NodeId> = suspected.iter().map(|finding| finding.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Some(Reason::about(SUSPECTED, names(session, nodes), sentence))
}

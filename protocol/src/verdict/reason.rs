//! The reasons why not all of a session could be judged.

use serde::Serialize;

use super::{fit, gaps, rest, who};
use crate::history::{ExistenceAtRest, History, Level, Rule, Unjudged, took_part_unrecorded};
use crate::session::{NodeId, Session};

/// Why something could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// One of [`REASONS`]. A session has each once at most.
    pub id: &'static str,
    /// For people.
    pub sentence: String,
    /// The nodes and observers that it is about, by name, each once; none where it is about the
    /// whole session.
    pub nodes: Vec<String>,
}

/// The ids of all reasons, in the order in which they are told.
pub const REASONS: [&str; 25] = [
    UNREAD,
    NO_PACKETS,
    NO_WIRE,
    WIRE_ERROR,
    MISFIT,
    UNJUDGED_LINK,
    NO_RULES,
    NO_REEL,
    OBSERVED,
    CAPTURED,
    PROXIED,
    CUT,
    LIMIT,
    WINDOW,
    LATE,
    HOLES,
    NEWER,
    LACKS_PACKETS,
    CUT_PACKETS,
    CLOCK,
    BELIEFS,
    UNSETTLED,
    NEVER_TOLD,
    DIFFER,
    SUSPECTED,
];

pub(super) const UNREAD: &str = "unread-reel";
pub(super) const NO_PACKETS: &str = "no-packets";
pub(super) const NO_WIRE: &str = "no-wire";
pub(super) const WIRE_ERROR: &str = "wire-error";
pub(super) const MISFIT: &str = "misfit";
pub(super) const UNJUDGED_LINK: &str = "unjudged-link";
pub(super) const NO_RULES: &str = "no-rules";
pub(super) const NO_REEL: &str = "no-reel";
pub(super) const OBSERVED: &str = "observed";
pub(super) const CAPTURED: &str = "captured";
pub(super) const PROXIED: &str = "proxied";
pub(super) const CUT: &str = "cut-reel";
pub(super) const LIMIT: &str = "limit";
pub(super) const WINDOW: &str = "window";
pub(super) const LATE: &str = "late-reel";
pub(super) const HOLES: &str = "holes";
pub(super) const NEWER: &str = "newer-recorder";
pub(super) const LACKS_PACKETS: &str = "lacks-packets";
pub(super) const CUT_PACKETS: &str = "cut-packets";
pub(super) const CLOCK: &str = "clock";
pub(super) const BELIEFS: &str = "unknown-beliefs";
pub(super) const UNSETTLED: &str = "unsettled";
pub(super) const NEVER_TOLD: &str = "never-told";
pub(super) const DIFFER: &str = "differ";
pub(super) const SUSPECTED: &str = "suspected";

/// What every recording has that goes on: it has no end yet, and its messages are on their way.
pub(super) const UNDER_WAY: [&str; 10] = [
    UNREAD, NO_PACKETS, CUT, LIMIT, WINDOW, LATE, UNSETTLED, NEVER_TOLD, DIFFER, SUSPECTED,
];

/// All reasons, in the order of [`REASONS`].
pub(super) fn all(
    session: &Session,
    history: &History,
    unread: &[String],
    (at_rest, unjudged): (&ExistenceAtRest, Option<&Unjudged>),
) -> Vec<Reason> {
    let missing = took_part_unrecorded(session);
    let mut reasons: Vec<Reason> = Vec::new();
    reasons.extend(unread_reels(unread));
    reasons.extend(fit::packets_and_wire(session, &missing));
    if history.games_said_all(session) {
        reasons.retain(|reason| reason.id != NO_RULES);
    }
    reasons.extend(who::without_reel(session, &missing));
    let observers = who::needed_observers(session, &missing);
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

impl Reason {
    pub(super) fn new(id: &'static str, sentence: impl Into<String>) -> Reason {
        Reason {
            id,
            sentence: sentence.into(),
            nodes: Vec::new(),
        }
    }

    pub(super) fn about(id: &'static str, nodes: Vec<String>, sentence: String) -> Reason {
        Reason {
            id,
            sentence,
            nodes,
        }
    }
}

/// More names are counted, not listed.
const NAMED_MAX: usize = 4;

/// `A, B and X`; of many the first ones: `A, B, C, D and 12 more`.
pub(super) fn list(names: &[String]) -> String {
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 | 1 => None,
        more => Some(format!("{more} more")),
    };
    let named = names.len() - more.as_ref().map_or(0, |_| names.len() - NAMED_MAX);
    let mut names: Vec<&str> = names.iter().take(named).map(String::as_str).collect();
    names.extend(more.as_deref());
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => (*only).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// The names of nodes, in the session's order.
pub(super) fn names(session: &Session, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    nodes.into_iter().map(|node| session.name(node)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: usize, expected: &str) {
        let names: Vec<String> = (0..count).map(|it| format!("n{it}")).collect();
        assert_eq!(list(&names), expected);
    }

    #[test]
    fn a_list_of_names_reads_as_one() {
        check(1, "n0");
        check(2, "n0 and n1");
        check(3, "n0, n1 and n2");
        check(5, "n0, n1, n2, n3 and n4");
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        check(6, "n0, n1, n2, n3 and 2 more");
    }
}

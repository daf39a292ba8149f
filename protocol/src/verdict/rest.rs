//! Reasons about what did not come to rest.

use std::collections::{BTreeMap, BTreeSet};

use super::reason::{BELIEFS, DIFFER, NEVER_TOLD, Reason, UNSETTLED, names};
use crate::figures::{and_more, duration};
use crate::history::{
    Belief, ExistenceAtRest, ExistenceDifference, Exists, History, Level, Standing, Unjudged,
};
use crate::session::{NodeId, Session, SessionTime};

/// What did not come to rest for half of a recording is a large part of it, whatever it was,
const MUCH_PERCENT: i64 = 50;
/// and so is a quarter of it, where what is said comes to rest in less time.
const LONG_PERCENT: i64 = 25;

/// What was said in a large part of the recording could not be judged. That what was said just before the
/// end could not is no reason: it is so in every recording.
pub(super) fn unsettled(session: &Session, unjudged: &Unjudged) -> Option<Reason> {
    let starts = session.nodes.iter().filter(|node| node.recorded);
    let start = starts.map(|node| node.span.start).min()?;
    let all_ns = unjudged.end.since(start);
    let unjudged_ns = unjudged.length_ns();
    let is_part = |percent: i64| {
        let part = i128::from(unjudged_ns) * 100;
        part > i128::from(all_ns) * i128::from(percent)
    };
    let is_long = unjudged_ns > unjudged.answer_ns && is_part(LONG_PERCENT);
    (is_long || is_part(MUCH_PERCENT)).then(|| {
        let sentence = format!(
            "what was said in the last {} of {} did not come to rest: {}",
            duration(unjudged_ns),
            duration(all_ns),
            unjudged.why
        );
        Reason::new(UNSETTLED, sentence)
    })
}

/// A node that knows less than this many in a hundred of the objects is told of what is near alone: what it
/// lacks, the game keeps from it.
const KNOWN_PERCENT: u64 = 50;

/// What nodes differ in at the end, where no finding says so: objects that exist at some nodes alone when all
/// is delivered, and values that are behind their owners' for a while.
pub(super) fn differences(
    session: &Session,
    history: &History,
    (rest, unjudged): (&ExistenceAtRest, Option<&Unjudged>),
) -> Vec<Reason> {
    let old_before = unjudged.map_or(SessionTime::MAX, |it| it.old_before());
    let telling = history
        .findings
        .iter()
        .filter(|it| it.level > Level::Info && !it.objects.is_empty());
    let told: BTreeSet<NodeId> = telling.map(|it| it.node).collect();
    let mut untold: BTreeMap<NodeId, Vec<&ExistenceDifference>> = BTreeMap::new();
    let mut others: Vec<&ExistenceDifference> = Vec::new();
    for differs in rest.differ.iter().filter(|it| !told.contains(&it.node)) {
        match differs.how {
            Exists::Untold => untold.entry(differs.node).or_default().push(differs),
            Exists::Destroyed | Exists::LivesOn => others.push(differs),
        }
    }
    untold.retain(|node, lacks| {
        let lives = |object: &&u64| history.lives_at_end(**object, *node);
        let known = history.objects.keys().filter(lives).count() as u64;
        known * 100 >= (known + lacks.len() as u64) * KNOWN_PERCENT
    });
    // What is behind for less time may come right in the time that news takes.
    let old: Vec<&Standing> = history
        .standing
        .iter()
        .filter(|it| it.since < old_before)
        .collect();
    let standing = old.first().filter(|_| others.is_empty());
    let untold: Vec<&ExistenceDifference> = untold.into_values().flatten().collect();
    let reason = |id, all: &[&ExistenceDifference]| {
        let words = all.first()?.words(session);
        let more = and_more(all.len() as u64, "");
        let sentence = format!("{words}, when all is delivered{more}");
        let nodes = names(session, all.iter().map(|it| it.node));
        Some(Reason::about(id, nodes, sentence))
    };
    let standing = standing.map(|first| {
        let more = and_more(old.len() as u64, "");
        let sentence = format!("{}: whether that lasts nobody can say{more}", first.words);
        let nodes = names(session, old.iter().map(|it| it.node));
        Reason::about(DIFFER, nodes, sentence)
    });
    let reasons = [
        reason(NEVER_TOLD, &untold),
        reason(DIFFER, &others),
        standing,
    ];
    reasons.into_iter().flatten().collect()
}

/// Beliefs of recorded nodes that nobody can tell when the reels end, though no reel lacks anything.
pub(super) fn unknown_beliefs(session: &Session, history: &History) -> Option<Reason> {
    let mut first: Option<(u64, NodeId)> = None;
    let (mut objects, mut nodes) = (0u64, BTreeSet::new());
    for (&id, object) in &history.objects {
        let unknown = object.lanes.iter().filter(|(_, lane)| {
            let last = lane.last();
            last.is_some_and(|span| span.belief == Belief::Unknown)
        });
        let unknown: Vec<NodeId> = unknown.map(|(&node, _)| node).collect();
        if let Some(&node) = unknown.first() {
            objects += 1;
            first.get_or_insert((id, node));
            nodes.extend(unknown);
        }
    }
    if let Some((object, node)) = first {
        let more = and_more(objects, " objects");
        let name = session.name(node);
        let sentence = format!("what {name} believes of object {object} nobody can say{more}");
        return Some(Reason::about(BELIEFS, names(session, nodes), sentence));
    }
    let values = history.unknown_values.as_ref()?;
    let nodes = names(session, [values.node]);
    Some(Reason::about(BELIEFS, nodes, values.words.clone()))
}

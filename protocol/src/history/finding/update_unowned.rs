//! `update-unowned`: a node sent UPDATE of an object that another one owned, as the node itself believed.
//!
//! Where the rules of the wire say that only the owner's UPDATEs count, the receiver drops it: a warning.
//! Who was told of a new owner a moment ago may have said it before it read that, and is not meant; nor
//! is a relay that passes on what the owner said.

use std::collections::BTreeMap;

use netreel_wire::Role;

use super::words::{Told, and_more, sent, told};
use super::{Case, Found};
use crate::history::{Belief, Effect, Finding, Level};
use crate::session::NodeId;

pub(super) const RULE: &str = "update-unowned";

/// What a node has believed for this long it knew when it sent something.
const KNOWN_NS: i64 = 250_000_000;

/// What one node told another of an object that it did not own.
struct Unowned {
    count: u64,
    owner: u64,
    because: Option<Told>,
    update: Told,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = unowned(case).into_iter();
    found.map(|(key, it)| finding(case, key, &it)).collect()
}

/// What nodes told each other of objects that they did not own, by link and object.
fn unowned(case: &Case<'_>) -> BTreeMap<((NodeId, NodeId), u64), Unowned> {
    let Case {
        session,
        history,
        streams,
        ..
    } = *case;
    let mut links = BTreeMap::new();
    for &object in history.objects.keys() {
        for &place in history.telling(object) {
            let (_, effect) = history.deliveries.effect(place);
            if effect != Effect::IgnoredNotOwner {
                continue;
            }
            let update = told(session, history, place).filter(|it| it.role == Role::Update);
            let Some(update) = update.filter(|it| !it.delivery.local) else {
                continue;
            };
            let Some(link) = session.link(update.packet) else {
                continue;
            };
            let own = session.node(link.0).and_then(|node| node.peer);
            let first = session.carrier(streams.first_copy(update.delivery.message));
            let left = first.and_then(|packet| session.departed(packet));
            let Some((true, left)) = left.filter(|_| own.is_some() && update.speaker == own) else {
                continue;
            };
            let Some(span) = history.belief_at(object, link.0, left.time) else {
                continue;
            };
            let is_known = left.time.0.saturating_sub(span.time.start.0) >= KNOWN_NS;
            let Belief::Owned(owner) = span.belief else {
                continue;
            };
            if Some(owner) == own || !is_known {
                continue;
            }
            let because = told(session, history, span.because);
            let known = links.entry((link, object)).or_insert(Unowned {
                count: 0,
                owner,
                because,
                update,
            });
            known.count += 1;
        }
    }
    links
}

/// What is found of one of them.
fn finding(case: &Case<'_>, ((from, to), object): ((NodeId, NodeId), u64), it: &Unowned) -> Found {
    let session = case.session;
    let because = it.because.filter(|because| because.delivery.node == from);
    let told = because.map(|because| format!(" ({})", because.packet_words()));
    let pieces = [
        because.map(|because| because.evidence("told")),
        sent(session, it.update.packet, "UPDATE sent"),
        Some(it.update.evidence("dropped")),
    ];
    let finding = Finding {
        rule: RULE,
        level: Level::Warning,
        node: from,
        objects: vec![object],
        each: Vec::new(),
        time: it.update.delivery.at.time,
        sentence: format!(
            "{} sent {} UPDATE of object {} ({}), and knew that {} owns it{}; {} dropped it{}",
            session.name(from),
            session.name(to),
            object,
            it.update.packet_words(),
            session.peer_name(it.owner),
            told.unwrap_or_default(),
            session.name(to),
            and_more(it.count),
        ),
        evidence: pieces.into_iter().flatten().collect(),
    };
    let because = format!(
        "were updated by {}, which knew that {} owns them; {} dropped that",
        session.name(from),
        session.peer_name(it.owner),
        session.name(to),
    );
    // More may come, and they are counted.
    Found::from(finding).because(because)
}

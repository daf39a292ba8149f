//! `migrate-before-create`: a MIGRATE reached a node that did not know the object yet.

use super::Found;
use super::words::{Told, told_of};
use crate::figures::duration;
use crate::history::{Effect, Finding, History, Level};
use crate::session::{NodeId, Session};
use netreel_wire::Role;

pub(super) const RULE: &str = "migrate-before-create";

pub(super) fn find(session: &Session, history: &History) -> Vec<Found> {
    let mut findings = Vec::new();
    for &id in history.objects.keys() {
        let telling = history.telling(id).iter();
        let nodes: std::collections::BTreeSet<NodeId> = telling
            .map(|&place| history.deliveries.effect(place).0)
            .collect();
        for node in nodes {
            findings.extend(at_node(session, history, id, node));
        }
    }
    findings
}

fn at_node(session: &Session, history: &History, id: u64, node: NodeId) -> Option<Found> {
    let mut early: Vec<Told> = Vec::new();
    let mut create = None;
    let mut ended = false;
    for told in told_of(session, history, id, node) {
        match (told.role, told.delivery.effect) {
            (Role::Create, _) => {
                create = Some(told);
                break;
            }
            (_, Effect::Unknown) => break,
            (Role::Destroy, _) => ended = true,
            (Role::Migrate | Role::MigrateOrder, effect) if !told.delivery.local && !ended => {
                if matches!(effect, Effect::IgnoredUnknown | Effect::CreatedByMigrate) {
                    early.push(told);
                }
            }
            _ => {}
        }
    }
    let first = early.first()?;
    let dropped = first.delivery.effect == Effect::IgnoredUnknown;
    let name = session.name(node);
    let what_came = match &create {
        Some(create) => format!(
            "CREATE ({}) came {} later",
            create.packet_words(),
            duration(create.delivery.at.time.0 - first.delivery.at.time.0)
        ),
        None if session.lacks(node, None, session.span.end) => {
            "CREATE had not come as far as its reel tells".to_owned()
        }
        None => "CREATE had not come when its reel ended".to_owned(),
    };
    let (level, what_it_did) = if dropped {
        (
            Level::Error,
            "dropped it, because it did not know the object",
        )
    } else {
        (Level::Info, "created the object by it")
    };
    let sentence = format!(
        "{name} got {} of object {id} ({}) before CREATE and {what_it_did}; {what_came}",
        first.words(session),
        first.packet_words(),
    );
    let what = if dropped {
        "dropped"
    } else {
        "created the object"
    };
    let mut evidence: Vec<_> = early.iter().map(|told| told.evidence(what)).collect();
    evidence.extend(create.map(|told| told.evidence("delivered")));
    let time = evidence.last()?.time;
    let finding = Finding {
        rule: RULE,
        level,
        node,
        objects: vec![id],
        each: Vec::new(),
        time,
        sentence,
        evidence,
    };
    let from = |told: &Told| Some(session.name(session.link(told.packet)?.0));
    let because = format!(
        "were not known to {name} when MIGRATE of them from {} came; it {}; CREATE {}",
        from(first)?,
        what_it_did.replace("the object", "them"),
        match &create {
            Some(create) => format!("came later, from {}", from(create)?),
            None => "has not come".to_owned(),
        },
    );
    // Until CREATE comes, it may still come.
    let fixed = create.map(|create| create.delivery.at.time);
    Some(Found::from(finding).fixed(fixed).because(because))
}

//! `migrate-before-create`: a MIGRATE reached a node that did not know the object yet.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let history = case.history;
    let found = history.objects.keys().flat_map(|&id| {
        let telling = history.telling(id).iter();
        let nodes = telling.map(|&place| history.deliveries.effect(place).0);
        let nodes: BTreeSet<NodeId> = nodes.collect();
        nodes
            .into_iter()
            .filter_map(move |node| at_node(case, id, node))
    });
    found.collect()
}

fn at_node(case: &Case<'_>, id: u64, node: NodeId) -> Option<Found> {
    let session = case.session;
    let mut early: Vec<Told> = Vec::new();
    let mut create = None;
    let mut ended = false;
    for told in told_of(session, case.history, id, node) {
        match (told.role, told.delivery.effect) {
            (Role::Create, _) => {
                create = Some(told);
                break;
            }
            (_, Effect::Unknown) => break,
            (Role::Destroy, _) => ended = true,
            (
                Role::Migrate | Role::MigrateOrder,
                Effect::IgnoredUnknown | Effect::CreatedByMigrate,
            ) if !told.delivery.local && !ended => early.push(told),
            _ => {}
        }
    }
    let first = early.first()?;
    let name = session.name(node);
    let from = |told: &Told| Some(session.name(session.link(told.packet)?.0));
    let (what_came, all_came) = match &create {
        Some(create) => (
            format!(
                "CREATE (packet {}) came {} later",
                create.packet,
                duration(create.delivery.at.time.0 - first.delivery.at.time.0)
            ),
            format!("came later, from {}", from(create)?),
        ),
        None => (
            if session.lacks(node, None, session.span.end) {
                "CREATE had not come as far as its reel tells".to_owned()
            } else {
                "CREATE had not come when its reel ended".to_owned()
            },
            "has not come".to_owned(),
        ),
    };
    let (level, what_it_did, what) = match first.delivery.effect {
        Effect::IgnoredUnknown => (
            Level::Error,
            "dropped it, because it did not know the object",
            "dropped",
        ),
        _ => (
            Level::Info,
            "created the object by it",
            "created the object",
        ),
    };
    let pieces = early.iter().map(|told| told.evidence(what));
    let pieces = pieces.chain(create.map(|told| told.evidence("delivered")));
    let sentence = format!(
        "{name} got {} of object {id} (packet {}) before CREATE and {what_it_did}; {what_came}",
        first.words(session),
        first.packet
    );
    let because = format!(
        "were not known to {name} when MIGRATE of them from {} came; it {}; CREATE {all_came}",
        from(first)?,
        what_it_did.replace("the object", "them"),
    );
    // Until CREATE comes, it may still come.
    let fixed = create.map(|create| create.delivery.at.time);
    let found = Found::proven(level, node, pieces, sentence)?;
    Some(found.about([id]).fixed(fixed).because(because))
}

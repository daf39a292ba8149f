//! `undecodable-packet`: the wire does not explain all bits of a packet.

use netreel_wire::KindId;

use super::derived_field_wrong;
use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    // How many packets there are of each node and kind, and the first of them.
    let mut groups: Firsts<(NodeId, Option<KindId>), Vec<PacketId>> = Firsts::new();
    for id in derived_field_wrong::others(session) {
        let Some((from, _)) = session.link(id) else {
            continue;
        };
        // A decode stops in the last message that it began.
        let last = session.messages_of(id).last();
        let kind = last.and_then(|(_, facts)| facts.kind);
        let examples = note(&mut groups, (from, kind), Vec::new());
        if examples.len() < EVIDENCE_MAX {
            examples.push(id);
        }
    }
    let found = groups
        .into_iter()
        .filter_map(|((node, kind), (count, examples))| {
            let kind = kind.and_then(|kind| session.kinds().get(usize::from(kind.0)));
            let place = match kind {
                Some(kind) => format!("in or after a message of kind {}", kind.name),
                None => "before their first message".to_owned(),
            };
            let what = "not explained by the wire";
            let pieces = examples.iter().map(|&id| sent_or_came(session, id, what));
            let sentence = format!(
                "the wire does not explain {} from {}, {place}; the first is packet {}",
                packets(count),
                session.name(node),
                examples.first()?
            );
            Found::proven(Level::Warning, node, pieces, sentence)
        });
    found.collect()
}

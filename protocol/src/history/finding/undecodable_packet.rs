//! `undecodable-packet`: the wire does not explain all bits of a packet.

use std::collections::BTreeMap;

use netreel_wire::KindId;

use super::words::{EVIDENCE_MAX, evidence};
use super::{Found, derived_field_wrong};
use crate::history::{Finding, History, Level};
use crate::session::{NodeId, PacketId, Session, packets};

pub(super) const RULE: &str = "undecodable-packet";

/// How many packets there are, and the first of them.
type Group = (u64, Vec<PacketId>);

pub(super) fn find(session: &Session, _: &History) -> Vec<Found> {
    let mut groups: BTreeMap<(NodeId, Option<KindId>), Group> = BTreeMap::new();
    for id in derived_field_wrong::others(session) {
        let Some((from, _)) = session.link(id) else {
            continue;
        };
        // A decode stops in the last message that it began.
        let last = session.messages_of(id).last();
        let kind = last.and_then(|(_, facts)| facts.kind);
        let (count, examples) = groups.entry((from, kind)).or_default();
        *count += 1;
        if examples.len() < EVIDENCE_MAX {
            examples.push(id);
        }
    }
    groups
        .into_iter()
        .filter_map(|((node, kind), (count, examples))| {
            finding(session, node, kind, count, &examples).map(Found::from)
        })
        .collect()
}

fn finding(
    session: &Session,
    node: NodeId,
    kind: Option<KindId>,
    count: u64,
    examples: &[PacketId],
) -> Option<Finding> {
    let kinds = session.kinds();
    let kind = kind.and_then(|kind| kinds.get(usize::from(kind.0)));
    let place = match kind {
        Some(kind) => format!("in or after a message of kind {}", kind.name),
        None => "before their first message".to_owned(),
    };
    let first = examples.first()?;
    let packets = packets(count);
    let sentence = format!(
        "the wire does not explain {packets} from {}, {place}; the first is packet {}",
        session.name(node),
        first.0,
    );
    let evidence = evidence(session, examples, "not explained by the wire");
    let time = evidence.last()?.time;
    Some(Finding {
        rule: RULE,
        level: Level::Warning,
        node,
        objects: Vec::new(),
        each: Vec::new(),
        time,
        sentence,
        evidence,
    })
}

//! `derived-field-wrong`: a field that follows from others, such as a length or a checksum, has
//! another value in packets that fit the wire otherwise.

use super::prelude::*;

/// How many packets that do not fit are decoded to their last field to see why; of those beyond it is
/// said that they do not fit.
const LOOKED_AT: usize = 4096;

/// The field, and what is wrong with its value, where this is all that is wrong with a packet.
fn wrong_field(session: &Session, packet: PacketId) -> Option<(String, String)> {
    let decoded = session.decode(packet)?;
    let first = decoded.diagnostics.first()?;
    let is_all = decoded.diagnostics.iter().all(|it| it.is_derived);
    is_all.then(|| (without_places(&first.path), first.message.clone()))
}

/// `messages[].length` of `messages[2].length`.
fn without_places(path: &str) -> String {
    let mut is_within = false;
    let kept = path.chars().filter(|&it| {
        is_within = (is_within || it == '[') && it != ']';
        !is_within || it == '['
    });
    kept.collect()
}

/// The packets that do not fit the wire for another reason than a derived field.
pub(super) fn others(session: &Session) -> impl Iterator<Item = PacketId> + '_ {
    let unfit = session.unfit_packets().enumerate();
    let others =
        unfit.filter(|&(place, id)| place >= LOOKED_AT || wrong_field(session, id).is_none());
    others.map(|(_, id)| id)
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut groups: Firsts<(NodeId, String), (String, Vec<PacketId>)> = Firsts::new();
    for id in session.unfit_packets().take(LOOKED_AT) {
        let (Some((from, _)), Some((field, why))) = (session.link(id), wrong_field(session, id))
        else {
            continue;
        };
        let (_, examples) = note(&mut groups, (from, field), (why, Vec::new()));
        if examples.len() < EVIDENCE_MAX {
            examples.push(id);
        }
    }
    let found = groups
        .into_iter()
        .filter_map(|((node, field), (count, (why, examples)))| {
            let what = "with another value than others say";
            let pieces = examples.iter().map(|&id| sent_or_came(session, id, what));
            let sentence = format!(
                "`{field}` is wrong in {} from {}; in packet {} {why}",
                packets(count),
                session.name(node),
                examples.first()?
            );
            Found::proven(Level::Warning, node, pieces, sentence)
        });
    found.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_of_all_elements_are_one() {
        let check = |path, expected| assert_eq!(super::without_places(path), expected);
        check("messages[2].length", "messages[].length");
        check("checksum", "checksum");
        check("a[0].b[17]", "a[].b[]");
    }
}

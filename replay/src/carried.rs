//! What a packet carries and where it goes, in a few words.

use netreel_reel::Endpoint;
use netreel_wire::{PacketFacts, Wire};

/// What a packet carries, in a few words: `: create, update`.
pub fn carries(packet: &[u8], wire: Option<&Wire>) -> String {
    let Some(wire) = wire else {
        return String::new();
    };
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    let kinds = facts
        .messages
        .iter()
        .map(|message| {
            let kind = message
                .kind
                .and_then(|kind| wire.kinds().get(usize::from(kind.0)));
            kind.map_or("?", |kind| kind.name.as_str())
        })
        .collect::<Vec<_>>();
    if kinds.is_empty() {
        ", no messages".to_owned()
    } else {
        format!(": {}", kinds.join(", "))
    }
}

pub(crate) fn named(endpoint: Endpoint, name: &dyn Fn(Endpoint) -> Option<String>) -> String {
    name(endpoint).unwrap_or_else(|| endpoint.to_string())
}

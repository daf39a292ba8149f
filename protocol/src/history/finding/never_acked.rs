//! `never-acked`: a node received a packet, and its acks passed over it until none could name it any
//! more.
//!
//! The sender says again what had arrived, and goes on to do so where no other copy is acked: an
//! error where the packet carried a reliable message, else a warning. What counts is what the
//! receiver's acks say, not what of them arrived. Protocols whose acks name one packet alone are not
//! judged; nor are packets that do not fit the wire or say nothing.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let all = case.claims.denied.iter();
    let found = all.filter_map(|(&(node, sender), wrong)| {
        let first = wrong.first.first()?;
        let mut carried = wrong.first.iter();
        let is_reliable = carried.any(|claim| {
            let mut messages = session.messages_of(claim.packet);
            messages.any(|(_, facts)| facts.reliable)
        });
        let level = if is_reliable {
            Level::Error
        } else {
            Level::Warning
        };
        let pieces = wrong.first.iter().flat_map(|claim| {
            [
                came(session, claim.packet, "a packet received"),
                sent(session, claim.ack, "an ack that is past it sent"),
            ]
        });
        let sentence = format!(
            "{} received packet {} of {} and acked others, never this one, until its acks no \
             longer reached back to it (packet {}){}",
            session.name(node),
            first.packet,
            session.name(sender),
            first.ack,
            and_more(wrong.count)
        );
        // More may come, and they are counted.
        Some(Found::new(level, node, first.at.time, pieces, sentence))
    });
    found.collect()
}

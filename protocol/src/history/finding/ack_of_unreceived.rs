//! `ack-of-unreceived`: a node acked a packet that, as its own reel shows, it had not received.
//!
//! The sender takes what the packet carried for delivered and never says it again: an error. A node
//! is judged where its reel and the sender's are whole, and only of packets that the sender's reel
//! holds: a number that stands for nothing that was sent is no claim.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let all = case.claims.unreceived.iter();
    let found = all.filter_map(|(&(node, sender), wrong)| {
        let first = wrong.first.first()?;
        let later = match came(session, first.packet, "") {
            Some(_) => "it came later",
            None => "it never came",
        };
        let pieces = wrong.first.iter().flat_map(|claim| {
            [
                sent(session, claim.packet, "a packet sent"),
                sent(session, claim.ack, "its ack sent"),
                came(session, claim.packet, "the packet received"),
            ]
        });
        let sentence = format!(
            "{} acked packet {} of {} (packet {}) and had not received it: {later}{}",
            session.name(node),
            first.packet,
            session.name(sender),
            first.ack,
            and_more(wrong.count)
        );
        // More may come, and they are counted.
        Some(Found::new(
            Level::Error,
            node,
            first.at.time,
            pieces,
            sentence,
        ))
    });
    found.collect()
}

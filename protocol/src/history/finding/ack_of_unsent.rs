//! `ack-of-unsent`: a node acked a number under which the other one had sent nothing.
//!
//! The sender may take it for the newest that arrived, and from then on all real acks for old ones:
//! an error. A node is judged where its reel and the sender's are whole, and once it has received a
//! packet: before that the number stands for nothing. Nor is a number meant that is before all that
//! the sender sent.

use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let all = case.claims.unsent.iter();
    let found = all.filter_map(|(&(node, sender), wrong)| {
        let first = wrong.first.first()?;
        let acks = wrong.first.iter();
        let pieces = acks.map(|it| sent(session, it.ack, "an ack of nothing sent"));
        let sentence = format!(
            "{} acked number {} of {} (packet {}), under which nothing had been sent{}",
            session.name(node),
            first.number,
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

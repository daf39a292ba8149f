//! `ack-of-unsent`: a node acked a number under which the other one had sent nothing.
//!
//! The sender may take it for the newest that arrived, and from then on all real acks for old ones:
//! an error. A node is judged where its reel and the sender's are whole, and once it has received a
//! packet: before that the number stands for nothing. Nor is a number meant that is before all that
//! the sender sent.

use super::words::{and_more, sent};
use super::{Case, Found};
use crate::history::{Finding, Level};

pub(super) const RULE: &str = "ack-of-unsent";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, claims, ..
    } = *case;
    let found = claims.unsent.iter().filter_map(|(&(node, sender), wrong)| {
        let first = wrong.first.first()?;
        let sentence = format!(
            "{} acked number {} of {} (packet {}), under which nothing had been sent{}",
            session.name(node),
            first.number,
            session.name(sender),
            first.ack.0,
            and_more(wrong.count),
        );
        let pieces = wrong
            .first
            .iter()
            .filter_map(|it| sent(session, it.ack, "an ack of nothing sent"));
        let finding = Finding {
            rule: RULE,
            level: Level::Error,
            node,
            objects: Vec::new(),
            each: Vec::new(),
            time: first.at.time,
            sentence,
            evidence: pieces.collect(),
        };
        // More may come, and they are counted.
        Some(Found::from(finding))
    });
    found.collect()
}

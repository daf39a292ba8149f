//! `connection-restarted`: a node began anew with one that it had not parted from.
//!
//! Its packets count from the first number again, and it says a handshake, or in the places of the
//! reliable stream something else than before. Nothing is wrong with that by itself: a program was
//! started again, or gave up waiting. What it sends from there on is a connection of its own, in which
//! no number means what it meant before.

use super::words::sent;
use super::{Case, Found};
use crate::history::{Finding, Level};

pub(super) const RULE: &str = "connection-restarted";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let Case {
        session, streams, ..
    } = *case;
    let found = streams.restarts.iter().filter_map(|&(packet, last)| {
        let (from, to) = session.link(packet)?;
        let number = |packet| Some(session.said(packet)?.sequence?.value);
        let evidence: Vec<_> = [
            sent(session, last, "its newest packet before sent"),
            sent(session, packet, "the one with which it begins anew sent"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let finding = Finding {
            rule: RULE,
            level: Level::Info,
            node: from,
            objects: Vec::new(),
            each: Vec::new(),
            time: evidence.last()?.time,
            sentence: format!(
                "{} begins anew with {} in packet {} and had not said that it leaves: its packets \
                 count from {} again, after {} in packet {}",
                session.name(from),
                session.name(to),
                packet.0,
                number(packet)?,
                number(last)?,
                last.0,
            ),
            evidence,
        };
        Some(finding.into())
    });
    found.collect()
}

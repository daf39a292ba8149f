//! `connection-restarted`: a node began anew with one that it had not parted from.
//!
//! Its packets count from the first number again, and it says a handshake, or in the places of the
//! reliable stream something else than before, or takes back its acks. Where packets have no numbers, its
//! messages count from the first place again long after it was acked, or its acks alone fall to the first.
//! Nothing is wrong with that by itself: a program was
//! started again, or gave up waiting. What it sends from there on is a connection of its own, in which
//! no number means what it meant before.

use super::prelude::*;
use crate::history::streams::Sign;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let found = case.streams.restarts.iter().filter_map(|restart| {
        let (packet, last) = (restart.packet, restart.last);
        let (from, to) = session.link(packet)?;
        let (before, now) = restart.numbers;
        let sign = match restart.sign {
            Sign::Packets => {
                format!("its packets count from {now} again, after {before} in packet {last}")
            }
            Sign::Messages => format!(
                "its reliable messages count from {now} again and say something else, after \
                 {before} in packet {last}"
            ),
            Sign::Acks => format!(
                "it acks number {now} after {before} in packet {last}: it has forgotten what came"
            ),
        };
        // Of a sender that was not recorded its receipts tell.
        let piece = |packet, what: &str| {
            let sent = sent(session, packet, &format!("{what} sent"));
            sent.or_else(|| came(session, packet, &format!("{what} received")))
        };
        let pieces = [
            piece(last, "the packet with its newest number before"),
            piece(packet, "the one with which it begins anew"),
        ];
        let sentence = format!(
            "{} begins anew with {} in packet {packet} and had not said that it leaves: {sign}",
            session.name(from),
            session.name(to)
        );
        Found::proven(Level::Info, from, pieces, sentence)
    });
    found.collect()
}

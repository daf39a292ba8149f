//! `old-connection`: a packet of a connection comes when that is over and a new one has begun at the same
//! place.
//!
//! Whoever started again, or heard that the other one did, cannot tell it by its address: what keeps it out
//! is a number of the connection in each packet. It may have been long on its way, or whoever sent it had
//! yet to hear of the new connection. Nobody can say what becomes of it, so no belief rests on it. A
//! warning where the receiver acks it in the new connection: it took it for one of that.

use super::prelude::*;
use crate::history::model::{Over, Straggler};

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut all: BTreeMap<(NodeId, Over), Vec<&Straggler>> = BTreeMap::new();
    for (node, straggler) in &case.history.stragglers {
        // What was meant for others is one finding for each sender.
        let connection = match straggler.over {
            Over::OfAnother(send) => {
                let meant = session.link(send).unwrap_or_default();
                let mut others = all.keys().filter(|it| it.0 == *node);
                let known = others.find_map(|it| match it.1 {
                    Over::OfAnother(first) if session.link(first) == Some(meant) => Some(it.1),
                    _ => None,
                });
                known.unwrap_or(straggler.over)
            }
            since => since,
        };
        all.entry((*node, connection)).or_default().push(straggler);
    }
    // More may come, and they are counted.
    let found = all
        .into_iter()
        .filter_map(|((node, over), all)| match over {
            Over::Since(began, at) => since(case, (node, began, at), &all),
            Over::OfAnother(_) => of_another(session, node, &all),
        });
    found.collect()
}

/// What came to a node since a packet began a new connection.
fn since(
    case: &Case<'_>,
    (node, began, since): (NodeId, PacketId, SessionTime),
    all: &[&Straggler],
) -> Option<Found> {
    let session = case.session;
    let acked = all
        .iter()
        .find_map(|it| Some((*it, acked(case, node, it)?)));
    let told = acked.map(|it| it.0).or(all.first().copied())?;
    let (from, _) = session.link(told.packet)?;
    // The packet with which the connection begins at the node, which sent or received it.
    let begins = if session.link(began).is_some_and(|(from, _)| from == node) {
        sent
    } else {
        came
    };
    let new = "the first packet of the new connection there";
    let pieces = [
        sent(
            session,
            told.packet,
            "a packet of the connection before sent",
        ),
        begins(session, began, new),
        came(
            session,
            told.packet,
            "the packet of the connection before received",
        ),
        acked.and_then(|(_, ack)| sent(session, ack, "its number acked in the new connection")),
    ];
    let (level, taken) = match acked {
        Some((_, ack)) => (
            Level::Warning,
            format!(", and takes it for one of that: it acks its number in packet {ack}"),
        ),
        None => (Level::Info, String::new()),
    };
    let sentence = format!(
        "{} gets packet {} of its connection before with {} {} after a new one began there \
         with packet {began}{taken}{}",
        session.name(node),
        told.packet,
        session.name(from),
        duration(told.at.time.since(since)),
        and_more(all.len() as u64)
    );
    Some(Found::new(level, node, told.at.time, pieces, sentence))
}

/// What came to a node that was sent to others, who had its endpoint before.
fn of_another(session: &Session, node: NodeId, all: &[&Straggler]) -> Option<Found> {
    let told = all.first()?;
    let Over::OfAnother(send) = told.over else {
        return None;
    };
    let (from, meant) = session.link(send)?;
    let pieces = [
        sent(session, send, "a packet sent to whoever had the port"),
        came(
            session,
            told.packet,
            "the packet received by who has it now",
        ),
    ];
    let sentence = format!(
        "{} gets packet {}, which {} had sent to {} as packet {send}: that one had its port \
         before{}",
        session.name(node),
        told.packet,
        session.name(from),
        session.name(meant),
        and_more(all.len() as u64)
    );
    Some(Found::new(
        Level::Info,
        node,
        told.at.time,
        pieces,
        sentence,
    ))
}

/// The packet of the new connection in which a node acks the number of one of the old, under which nothing
/// was sent in the new one.
fn acked(case: &Case<'_>, node: NodeId, straggler: &Straggler) -> Option<PacketId> {
    let session = case.session;
    let (from, _) = session.link(straggler.packet)?;
    let number = session.said(straggler.packet)?.sequence?.value;
    let unsent = case.claims.unsent.get(&(node, from))?;
    let mut acks = unsent.first.iter();
    let ack = acks.find(|it| it.number == number && it.at.number > straggler.at.number)?;
    Some(ack.ack)
}

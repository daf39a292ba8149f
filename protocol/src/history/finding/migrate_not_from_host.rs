//! `migrate-not-from-host`: a node gave an object away, or took it, and was not the host.
//!
//! Where packets or messages say who is host (`@host`), the host alone decides who owns what; two that decide
//! make two owners: an error. A new owner that announces itself because the host told it to
//! (`@migrate_order`) is not meant. Who is host is what the node itself had said or been told by
//! then.

use std::collections::BTreeMap;

use netreel_reel::EventNumber;
use netreel_wire::Role;

use super::words::{Told, and_more, at_event, told};
use super::{Case, Found};
use crate::history::{Effect, Finding, Level};
use crate::session::{NodeId, Session, Stamp};

pub(super) const RULE: &str = "migrate-not-from-host";

/// What a node did that only the host may do.
struct Usurped {
    count: u64,
    migrate: Told,
    host: u64,
    known: Stamp,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = usurped(case).into_iter();
    found.map(|(key, it)| finding(case, key, &it)).collect()
}

/// What nodes gave away that were not host, by node and object.
fn usurped(case: &Case<'_>) -> BTreeMap<(NodeId, u64), Usurped> {
    let Case {
        session,
        history,
        streams,
        ..
    } = *case;
    if streams.hosts.is_empty() {
        return BTreeMap::new();
    }
    let mut usurped = BTreeMap::new();
    for (&object, known) in &history.objects {
        // To whom the host gave the object, and at which counter, as each node was told.
        let mut orders: Vec<(NodeId, Option<u64>)> = Vec::new();
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            if effect == Effect::Updated {
                continue;
            }
            let Some(it) = told(session, history, place) else {
                continue;
            };
            match (it.role, it.delivery.local) {
                (Role::MigrateOrder, false) => orders.push((node, it.counter)),
                (Role::Migrate | Role::MigrateOrder, true) => {}
                _ => continue,
            }
            if !it.delivery.local || orders.contains(&(node, it.counter)) {
                continue;
            }
            let peer = session.node(node).and_then(|it| it.peer);
            let Some((host, known)) = host_of(case, node, it.delivery.at.number) else {
                continue;
            };
            if peer.is_none_or(|peer| peer == host) {
                continue;
            }
            let first = usurped.entry((node, object)).or_insert(Usurped {
                count: 0,
                migrate: it,
                host,
                known,
            });
            first.count += 1;
        }
    }
    usurped
}

/// What is found of one of them.
fn finding(case: &Case<'_>, (node, object): (NodeId, u64), it: &Usurped) -> Found {
    let session = case.session;
    let name = session.name(node);
    let evidence = [
        at_event(session, node, it.known, "the host named"),
        Some(it.migrate.evidence("sent")),
    ];
    let finding = Finding {
        rule: RULE,
        level: Level::Error,
        node,
        objects: vec![object],
        each: Vec::new(),
        time: it.migrate.delivery.at.time,
        sentence: format!(
            "{name} said {} of object {} ({}), and {} is host{}",
            it.migrate.words(session),
            object,
            it.migrate.packet_words(),
            session.peer_name(it.host),
            and_more(it.count),
        ),
        evidence: evidence.into_iter().flatten().collect(),
    };
    let because = format!(
        "were given away by {name}, and {} is host",
        session.peer_name(it.host)
    );
    // More may come, and they are counted.
    Found::from(finding).because(because)
}

/// Who was host when a node did something, as the node itself had said or been told, and when that
/// was.
fn host_of(case: &Case<'_>, node: NodeId, until: EventNumber) -> Option<(u64, Stamp)> {
    let session: &Session = case.session;
    let hosts = case.streams.hosts.iter();
    let known = hosts.filter_map(|&(packet, host)| {
        let (from, to) = session.link(packet)?;
        let at = match node {
            node if node == from => session.departed(packet)?.1,
            node if node == to => session.packet(packet)?.received?,
            _ => return None,
        };
        (at.number <= until).then_some((at.number, host, at))
    });
    let (_, host, at) = known.max_by_key(|&(number, ..)| number)?;
    Some((host, at))
}

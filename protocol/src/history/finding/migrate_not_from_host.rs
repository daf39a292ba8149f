//! `migrate-not-from-host`: a node gave an object away, or took it, and was not the host.
//!
//! Where packets or messages say who is host (`@host`), the host alone decides who owns what; two that decide
//! make two owners: an error. A new owner that announces itself because the host told it to
//! (`@migrate_order`) is not meant. Who is host is what the node itself had said or been told by
//! then.

use netreel_reel::EventNumber;

use super::prelude::*;

/// What a node did that only the host may do.
struct Usurped {
    migrate: Told,
    host: u64,
    known: Stamp,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    of_each(usurped(case), |key, it| Some(finding(case, key, it)))
}

/// What nodes gave away that were not host, by node and object.
fn usurped(case: &Case<'_>) -> Firsts<(NodeId, u64), Usurped> {
    let history = case.history;
    let mut usurped = Firsts::new();
    if case.streams.hosts.is_empty() {
        return usurped;
    }
    for (&object, known) in &history.objects {
        // To whom the host gave the object, and at which counter, as each node was told.
        let mut orders: Vec<(NodeId, Option<u64>)> = Vec::new();
        for &place in &known.deliveries {
            let (node, effect) = history.deliveries.effect(place);
            if effect == Effect::Updated {
                continue;
            }
            let Some(migrate) = case.told(place) else {
                continue;
            };
            match (migrate.role, migrate.delivery.local) {
                (Role::MigrateOrder, false) => orders.push((node, migrate.counter)),
                (Role::Migrate | Role::MigrateOrder, true)
                    if !orders.contains(&(node, migrate.counter)) =>
                {
                    let host = host_of(case, node, migrate.delivery.at.number);
                    if let Some((host, known)) = host
                        && case.peer(node).is_some_and(|peer| peer != host)
                    {
                        let first = Usurped {
                            migrate,
                            host,
                            known,
                        };
                        note(&mut usurped, (node, object), first);
                    }
                }
                _ => {}
            }
        }
    }
    usurped
}

/// What is found of one of them.
fn finding(case: &Case<'_>, (node, object): (NodeId, u64), it: Usurped) -> Found {
    let session = case.session;
    let (name, host) = (session.name(node), session.peer_name(it.host));
    let pieces = [
        at_event(session, node, it.known, "the host named"),
        Some(it.migrate.evidence("sent")),
    ];
    let sentence = format!(
        "{name} said {} of object {object} (packet {}), and {host} is host",
        it.migrate.words(session),
        it.migrate.packet
    );
    // More may come, and they are counted.
    let found = Found::new(
        Level::Error,
        node,
        it.migrate.delivery.at.time,
        pieces,
        sentence,
    );
    let because = format!("were given away by {name}, and {host} is host");
    found.about([object]).because(because)
}

/// Who was host when a node did something, as the node itself had said or been told, and when that
/// was.
fn host_of(case: &Case<'_>, node: NodeId, until: EventNumber) -> Option<(u64, Stamp)> {
    let hosts = case.streams.hosts.iter();
    let known = hosts.filter_map(|&(packet, host)| {
        let at = seen_at(case.session, packet, node)?;
        (at.number <= until).then_some((host, at))
    });
    known.max_by_key(|(_, at)| at.number)
}

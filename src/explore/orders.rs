//! Every order in which a few packets can reach a node, and what it believes after each.

use std::collections::BTreeMap;
use std::io::Write;

use netreel_protocol::session::{PacketId, Session};
use netreel_replay::explore::{Change, Cut, Ground, Moment, Runner, Table};
use serde_json::{Value, json};

use crate::arguments::Explore;
use crate::outcome::{Answer, Failure};
use crate::packets;

/// More packets have too many orders for a table.
const PACKETS_MAX: usize = 6;

/// A packet that is put into other places.
struct Moved {
    number: usize,
    from: usize,
    at: Moment,
    words: String,
}

/// An order, and what came of it.
struct Row {
    /// Places in the packets that were asked for.
    order: Vec<usize>,
    table: Table,
}

pub fn run(
    arguments: &Explore,
    (ground, session): (&Ground, &Session),
    runner: &mut Runner<'_, Failure>,
    out: &mut dyn Write,
) -> Result<Answer, Failure> {
    let name = arguments.node.as_deref().unwrap_or_default();
    let node = ground.names().position(|it| it == name).unwrap_or_default();
    let mut moved = Vec::new();
    for &number in &arguments.orders {
        moved.push(packet(number, node, (ground, session))?);
    }
    moved.sort_by_key(|it| it.at);
    moved.dedup_by_key(|it| it.number);
    if moved.len() > PACKETS_MAX {
        return Err(Failure::new(format!(
            "--orders: at most {PACKETS_MAX} packets, not {}",
            moved.len()
        )));
    }
    let mut rows = Vec::new();
    for order in permutations(moved.len()) {
        if !is_legal(&order, &moved) {
            continue;
        }
        let changes = changes(&order, &moved, node);
        runner.write(&changes, &Cut::nothing(ground), Box::new(()))?;
        let table = runner.beliefs(&[]).into_iter().nth(node).flatten();
        let table = table.ok_or_else(|| {
            Failure::new(format!(
                "the layer of {name} does not say what it believes (docs/explore.md)"
            ))
        })?;
        rows.push(Row { order, table });
    }
    match arguments.read.json {
        true => writeln!(out, "{}", as_json(&rows, &moved, name))?,
        false => print(&rows, &moved, name, session, out)?,
    }
    Ok(match rows.iter().all(|row| row.table == rows[0].table) {
        true => Answer::Clean,
        false => Answer::Wrong,
    })
}

fn packet(
    number: usize,
    node: usize,
    (ground, session): (&Ground, &Session),
) -> Result<Moved, Failure> {
    let told = |why: &str| Failure::new(format!("--orders: packet {number} {why}"));
    let found = session.packets().nth(number);
    let found =
        found.ok_or_else(|| told("is not in the session; `netreel packets` has their numbers"))?;
    let receipt = found.received.filter(|_| usize::from(found.to.0) == node);
    let receipt = receipt.ok_or_else(|| told(&format!("did not come to {}", ground.name(node))))?;
    let at = ground.came(node, receipt.number);
    Ok(Moved {
        number,
        from: found.from.0.into(),
        at: at.ok_or_else(|| told("is none that a layer was given"))?,
        words: packets::messages(session, PacketId(u32::try_from(number).unwrap_or(u32::MAX))),
    })
}

/// Every order of so many things, that of the recording first.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|order: &Vec<usize>| {
            let left = (0..count).filter(|it| !order.contains(it));
            left.map(|it| [order.as_slice(), &[it]].concat())
        });
        all = longer.collect();
    }
    all
}

/// Packets of one sender stay in their order.
fn is_legal(order: &[usize], moved: &[Moved]) -> bool {
    let pairs = order.iter().enumerate();
    let mut pairs =
        pairs.flat_map(|(at, &first)| order[at + 1..].iter().map(move |&second| (first, second)));
    pairs.all(|(first, second)| moved[first].from != moved[second].from || first < second)
}

/// Holds each link at its packets, until all of them would have been there.
fn changes(order: &[usize], moved: &[Moved], node: usize) -> Vec<Change> {
    if order.is_sorted() {
        return Vec::new();
    }
    let last = moved.iter().map(|it| it.at).max().unwrap_or_default();
    let mut changes: Vec<Change> = order
        .iter()
        .zip(1..)
        .map(|(&place, behind)| Change::Hold {
            from: moved[place].from,
            to: node,
            since: moved[place].at,
            until: Moment {
                turn: last.turn,
                ns: last.ns.saturating_add(behind),
            },
        })
        .collect();
    // Of one link the later packets are held first: a packet is moved once.
    changes.reverse();
    changes
}

fn believes(table: &Table, object: u64) -> String {
    match table.get(&object) {
        None => "does not live".to_owned(),
        Some((None, _)) => "lives".to_owned(),
        Some((Some(owner), _)) => format!("owner {owner}"),
    }
}

/// The objects of which the node does not believe the same after all orders.
fn parted(rows: &[Row]) -> Vec<u64> {
    let mut objects: BTreeMap<u64, ()> = BTreeMap::new();
    for row in rows {
        objects.extend(row.table.keys().map(|object| (*object, ())));
    }
    let differs = |object: &u64| {
        rows.iter()
            .any(|row| row.table.get(object) != rows[0].table.get(object))
    };
    objects.into_keys().filter(differs).collect()
}

fn print(
    rows: &[Row],
    moved: &[Moved],
    name: &str,
    session: &Session,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for it in moved {
        let from = &session.nodes[it.from].name;
        writeln!(
            out,
            "packet {:<6} {from} -> {name}  {}",
            it.number, it.words
        )?;
    }
    let parted = parted(rows);
    writeln!(out)?;
    for (place, row) in rows.iter().enumerate() {
        let order = row.order.iter().map(|&it| moved[it].number.to_string());
        let order = order.collect::<Vec<_>>().join("  ");
        let beliefs = parted.iter().map(|&object| {
            let differs = row.table.get(&object) != rows[0].table.get(&object);
            let mark = if differs { ", otherwise" } else { "" };
            format!("object {object}: {}{mark}", believes(&row.table, object))
        });
        let beliefs = beliefs.collect::<Vec<_>>().join("; ");
        let recorded = if place == 0 { "  (as recorded)" } else { "" };
        writeln!(out, "{order}  {beliefs}{recorded}")?;
    }
    let count = rows.len();
    match parted.is_empty() {
        true => writeln!(out, "after all {count} orders {name} believes the same")?,
        false => writeln!(
            out,
            "{name} does not believe the same after all {count} orders"
        )?,
    }
    Ok(())
}

fn as_json(rows: &[Row], moved: &[Moved], name: &str) -> Value {
    let parted = parted(rows);
    let rows = rows.iter().map(|row| {
        let objects = row
            .table
            .iter()
            .filter(|(object, _)| parted.contains(object));
        let objects = objects.map(|(object, (owner, values))| {
            json!({ "object": object, "owner": owner, "values": format!("{values:016x}") })
        });
        json!({
            "order": row.order.iter().map(|&it| moved[it].number).collect::<Vec<_>>(),
            "believes": objects.collect::<Vec<_>>(),
        })
    });
    json!({ "node": name, "orders": rows.collect::<Vec<_>>(), "parted": parted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(from: usize, turn: u32) -> Moved {
        Moved {
            number: turn as usize,
            from,
            at: Moment {
                turn,
                ns: turn.into(),
            },
            words: String::new(),
        }
    }

    #[test]
    fn packets_of_one_sender_stay_in_their_order() {
        let three = [moved(1, 1), moved(2, 2), moved(2, 3)];
        let legal = permutations(3)
            .into_iter()
            .filter(|order| is_legal(order, &three));
        let legal: Vec<_> = legal.collect();
        assert_eq!(legal, [vec![0, 1, 2], vec![1, 0, 2], vec![1, 2, 0]]);
    }
}

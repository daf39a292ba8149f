//! Every order in which a few packets can reach a node, and what it believes after each.

use std::collections::BTreeSet;
use std::io::Write;

use netreel_protocol::session::{PacketId, Session};
use netreel_replay::explore::{Cut, Ground, Moment, Runner, Table, in_order, legal_orders};
use serde_json::{Value, json};

use crate::arguments::Explore;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{packets, text};

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
) -> Result<Answer> {
    let name = arguments.node.as_deref().unwrap_or_default();
    let node = ground.names().position(|it| it == name).unwrap_or_default();
    let mut moved = Vec::new();
    for &number in &arguments.orders {
        moved.push(packet(number, node, (ground, session))?);
    }
    moved.sort_by_key(|it| it.at);
    moved.dedup_by_key(|it| it.number);
    if moved.len() > PACKETS_MAX {
        return fail(format!(
            "--orders: at most {PACKETS_MAX} packets, not {}",
            moved.len()
        ));
    }
    let mut rows = Vec::new();
    let arrivals: Vec<_> = moved.iter().map(|it| (it.from, it.at)).collect();
    for order in legal_orders(&arrivals) {
        let changes = in_order(&order, &arrivals, node);
        runner.write(&changes, &Cut::nothing(ground), Box::new(()))?;
        let table = runner
            .beliefs(&[])
            .into_iter()
            .nth(node)
            .flatten()
            .ok_or_else(|| {
                format!("the layer of {name} does not say what it believes (docs/explore.md)")
            })?;
        rows.push(Row { order, table });
    }
    if arguments.read.json {
        writeln!(out, "{}", as_json(&rows, &moved, name))?
    } else {
        print(&rows, &moved, name, session, out)?
    }
    Ok(Answer::clean_if(
        rows.iter().all(|row| row.table == rows[0].table),
    ))
}

fn packet(number: usize, node: usize, (ground, session): (&Ground, &Session)) -> Result<Moved> {
    let told = |why: &str| Failure::new(format!("--orders: packet {number} {why}"));
    let found = session.packets().nth(number);
    let found =
        found.ok_or_else(|| told("is not in the session; `netreel packets` has their numbers"))?;
    let receipt = found
        .received
        .filter(|_| usize::from(found.to.0) == node)
        .ok_or_else(|| told(&format!("did not come to {}", ground.name(node))))?;
    let at = ground.came(node, receipt.number);
    Ok(Moved {
        number,
        from: found.from.0.into(),
        at: at.ok_or_else(|| told("is none that a layer was given"))?,
        words: packets::messages(session, PacketId(u32::try_from(number).unwrap_or(u32::MAX))),
    })
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
    let objects: BTreeSet<u64> = rows
        .iter()
        .flat_map(|row| row.table.keys().copied())
        .collect();
    let differs = |object: &u64| {
        rows.iter()
            .any(|row| row.table.get(object) != rows[0].table.get(object))
    };
    objects.into_iter().filter(differs).collect()
}

fn print(
    rows: &[Row],
    moved: &[Moved],
    name: &str,
    session: &Session,
    out: &mut dyn Write,
) -> Result {
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
        let order = text::joined(order, "  ");
        let beliefs = parted.iter().map(|&object| {
            let differs = row.table.get(&object) != rows[0].table.get(&object);
            let mark = if differs { ", otherwise" } else { "" };
            format!("object {object}: {}{mark}", believes(&row.table, object))
        });
        let beliefs = text::joined(beliefs, "; ");
        let recorded = if place == 0 { "  (as recorded)" } else { "" };
        writeln!(out, "{order}  {beliefs}{recorded}")?;
    }
    let count = rows.len();
    if parted.is_empty() {
        writeln!(out, "after all {count} orders {name} believes the same")?
    } else {
        writeln!(
            out,
            "{name} does not believe the same after all {count} orders"
        )?
    }
    Ok(())
}

fn as_json(rows: &[Row], moved: &[Moved], name: &str) -> Value {
    let parted = parted(rows);
    let rows = rows.iter().map(|row| {
        let objects = row
            .table
            .iter()
            .filter(|(object, _)| parted.contains(object)).map(|(object, (owner, values))| {
            json!({ "object": object, "owner": owner, "values": format!("{values:016x}") })
        });
        json!({
            "order": row.order.iter().map(|&it| moved[it].number).collect::<Vec<_>>(),
            "believes": objects.collect::<Vec<_>>(),
        })
    });
    json!({ "node": name, "orders": rows.collect::<Vec<_>>(), "parted": parted })
}

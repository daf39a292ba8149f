//! The tables of a dataset. Each has its columns beside the rows that fill them.

mod findings;
mod objects;
mod packets;
mod sessions;
mod states;

use crate::column::Column;
use crate::recording::moment;
use crate::rows::Rows;
use crate::{FleetError, Name, Output, Recording, Table};

impl Table {
    /// Its columns, in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Packets => &packets::PACKETS,
            Table::Messages => packets::MESSAGES,
            Table::Acks => packets::ACKS,
            Table::Deliveries => packets::DELIVERIES,
            Table::Objects => objects::COLUMNS,
            Table::States => states::COLUMNS,
            Table::Findings => findings::FINDINGS,
            Table::Evidence => findings::EVIDENCE,
            Table::Nodes => sessions::NODES,
            Table::Sessions => sessions::SESSIONS,
        }
    }
}

/// Writes all tables of a session, each to what `open` gives for it. How many rows each has.
///
/// # Errors
/// What `open` or an output says.
pub fn write(
    recording: &Recording<'_>,
    name: &Name,
    open: &mut dyn FnMut(Table) -> std::io::Result<Output>,
) -> Result<Vec<(Table, u64)>, FleetError> {
    let mut written = packets::write(recording, &mut |table| begin(table, name, open))?;
    for (table, write) in OTHERS {
        let mut rows = begin(table, name, open)?;
        write(recording, &mut rows)?;
        written.push((table, rows.finish()?));
    }
    Ok(written)
}

/// The same of a session that is not kept: the tables of nodes, findings and the session itself have
/// their rows, all others are there without any.
///
/// # Errors
/// As [`write`].
pub fn write_sums(
    recording: &Recording<'_>,
    name: &Name,
    open: &mut dyn FnMut(Table) -> std::io::Result<Output>,
) -> Result<Vec<(Table, u64)>, FleetError> {
    let mut written = Vec::new();
    for table in Table::ALL {
        let mut rows = begin(table, name, open)?;
        let of_table = OTHERS.iter().find(|(other, _)| *other == table);
        if let Some((_, write)) = of_table.filter(|_| SUMS.contains(&table)) {
            write(recording, &mut rows)?;
        }
        written.push((table, rows.finish()?));
    }
    Ok(written)
}

type Write = fn(&Recording<'_>, &mut Rows) -> Result<(), FleetError>;

/// The tables but for those that are filled with the packets.
const OTHERS: [(Table, Write); 6] = [
    (Table::Objects, objects::write),
    (Table::States, states::write),
    (Table::Findings, findings::findings),
    (Table::Evidence, findings::evidence),
    (Table::Nodes, sessions::nodes),
    (Table::Sessions, sessions::session),
];

/// What stays of a session that is not kept.
const SUMS: [Table; 3] = [Table::Findings, Table::Nodes, Table::Sessions];

/// Begins the file of a table.
fn begin(
    table: Table,
    name: &Name,
    open: &mut dyn FnMut(Table) -> std::io::Result<Output>,
) -> Result<Rows, FleetError> {
    Rows::new((table, table.columns()), name, open(table)?)
}

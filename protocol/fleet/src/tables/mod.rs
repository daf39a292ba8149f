//! The tables of a dataset. Each has its columns beside the rows that fill them.

mod findings;
mod objects;
mod packets;
mod sessions;
mod states;

use crate::column::{Cell, Column};
use crate::rows::Rows;
use crate::{FleetError, Name, Output, Recording};

/// A table of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // `Table::says`
pub enum Table {
    Packets,
    Messages,
    Acks,
    Deliveries,
    Objects,
    States,
    Findings,
    Evidence,
    Nodes,
    Sessions,
}

impl Table {
    /// All of them, in the order in which their files are finished: a session that stands in
    /// [`Table::Sessions`] stands in all others.
    pub const ALL: [Table; 10] = [
        Table::Packets,
        Table::Messages,
        Table::Acks,
        Table::Deliveries,
        Table::Objects,
        Table::States,
        Table::Findings,
        Table::Evidence,
        Table::Nodes,
        Table::Sessions,
    ];

    /// The name of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Table::Packets => "packets",
            Table::Messages => "messages",
            Table::Acks => "acks",
            Table::Deliveries => "deliveries",
            Table::Objects => "objects",
            Table::States => "states",
            Table::Findings => "findings",
            Table::Evidence => "evidence",
            Table::Nodes => "nodes",
            Table::Sessions => "sessions",
        }
    }

    /// What a row of it is.
    pub fn says(self) -> &'static str {
        match self {
            Table::Packets => "a packet",
            Table::Messages => "a message of a packet",
            Table::Acks => "a packet of which its sender learnt that it had arrived",
            Table::Deliveries => {
                "a message that a node's engine was handed, or that it said itself"
            }
            Table::Objects => {
                "a stretch of time in which what a node believed of an object was the same"
            }
            Table::States => {
                "a stretch of time in which a node held one value of a property of an object"
            }
            Table::Findings => "a finding",
            Table::Evidence => "a piece of a finding's proof",
            Table::Nodes => "a node of a session",
            Table::Sessions => "a session",
        }
    }

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

    /// Its file for a session, below the dataset's folder. DuckDB and Spark read the parts with `=`
    /// as columns (`hive_partitioning`).
    pub fn file(self, name: &Name) -> String {
        let Name { date, session } = name;
        let table = self.name();
        format!("{table}/date={date}/session={session}/part-0.parquet")
    }
}

/// See [`crate::write`].
pub(crate) fn write(
    recording: &Recording<'_>,
    name: &Name,
    open: &mut dyn FnMut(Table) -> std::io::Result<Output>,
) -> Result<Vec<(Table, u64)>, FleetError> {
    let mut written = packets::write(recording, &mut |table| Rows::new(table, name, open(table)?))?;
    for (table, write) in OTHERS {
        let mut rows = Rows::new(table, name, open(table)?)?;
        write(recording, &mut rows)?;
        written.push((table, rows.finish()?));
    }
    Ok(written)
}

/// See [`crate::write_sums`].
pub(crate) fn write_sums(
    recording: &Recording<'_>,
    name: &Name,
    open: &mut dyn FnMut(Table) -> std::io::Result<Output>,
) -> Result<Vec<(Table, u64)>, FleetError> {
    let mut written = Vec::new();
    for table in Table::ALL {
        let mut rows = Rows::new(table, name, open(table)?)?;
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

/// The moment of the calendar at which a time of the session was.
fn moment(recording: &Recording<'_>, time_ns: i64) -> Cell<'static> {
    let utc = recording.session.start_utc_ns.saturating_add(time_ns);
    Cell::Moment(utc.div_euclid(1_000))
}

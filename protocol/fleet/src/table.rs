//! The tables of a dataset.

use crate::Name;

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

    /// Its file for a session, below the dataset's folder. DuckDB and Spark read the parts with `=`
    /// as columns (`hive_partitioning`).
    pub fn file(self, name: &Name) -> String {
        let Name { date, session } = name;
        let table = self.name();
        format!("{table}/date={date}/session={session}/part-0.parquet")
    }
}

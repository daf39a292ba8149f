//! The tables of a dataset.

use crate::Name;

macro_rules! tables {
    ($($table:ident $name:literal $says:literal;)*) => {
        /// A table of the dataset.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)] // `Table::says`
        pub enum Table {
            $($table,)*
        }

        impl Table {
            /// All of them, in the order in which their files are finished: a session that stands in
            /// [`Table::Sessions`] stands in all others.
            pub const ALL: [Table; [$($name),*].len()] = [$(Table::$table),*];

            /// The name of its folder.
            pub fn name(self) -> &'static str {
                match self {
                    $(Table::$table => $name,)*
                }
            }

            /// What a row of it is.
            pub fn says(self) -> &'static str {
                match self {
                    $(Table::$table => $says,)*
                }
            }
        }
    };
}

tables! {
    Packets "packets" "a packet";
    Messages "messages" "a message of a packet";
    Acks "acks" "a packet of which its sender learnt that it had arrived";
    Deliveries "deliveries" "a message that a node's engine was handed, or that it said itself";
    Objects "objects" "a stretch of time in which what a node believed of an object was the same";
    States "states" "a stretch of time in which a node held one value of a property of an object";
    Findings "findings" "a finding";
    Evidence "evidence" "a piece of a finding's proof";
    Nodes "nodes" "a node of a session";
    Sessions "sessions" "a session";
}

impl Table {
    /// Its file for a session, below the dataset's folder. DuckDB and Spark read the parts with `=`
    /// as columns (`hive_partitioning`).
    pub fn file(self, name: &Name) -> String {
        let Name { date, session } = name;
        let table = self.name();
        format!("{table}/date={date}/session={session}/part-0.parquet")
    }
}

//! Many recordings as one dataset: a session as rows of Parquet tables, for whoever asks thousands of
//! them at once with DuckDB, Spark or anything else that reads Parquet.
//!
//! Each [`Table`] of a session is one file. Its place in the dataset ([`Table::file`]) says which
//! session it is of and when that was, so that a folder of such files is one table. Rows are written
//! as they are made: no more of a table is in memory than one row group ([`ROWS_MAX`]).
//!
//! What columns there are and what they mean stands beside the rows that fill them, in `tables/`, and
//! is printed in `docs/fleet.md`. [`SCHEMA`] changes where one is taken away or means something else.
//!
//! Why it is so: `docs/decisions/leaving.md`.

mod column;
mod error;
mod name;
mod recording;
mod rows;
mod table;
mod tables;

pub use column::{Column, Kind};
pub use error::FleetError;
pub use name::Name;
pub use recording::{Played, Recording};
pub use rows::{BYTES_MAX, Output, ROWS_MAX, SCHEMA};
pub use table::Table;
pub use tables::{write, write_sums};

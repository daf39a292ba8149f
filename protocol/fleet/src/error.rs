//! What can go wrong.

/// Why a session is not in the dataset.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
    /// Parquet's writer refused rows, or could not write them.
    #[error("Parquet's writer: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A row is not what its table declares: a mistake of this program.
    #[error("table {table}: a row does not fit column {column} (a mistake of netreel: report it)")]
    Misfit {
        /// Whose.
        table: &'static str,
        /// Which.
        column: &'static str,
    },
    /// A row has more cells than its table has columns: a mistake of this program.
    #[error("table {table}: a row has more cells than columns (a mistake of netreel: report it)")]
    Surplus {
        /// Whose.
        table: &'static str,
    },
}

//! Rows on their way into a Parquet file.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::column::{Cell, Column, Kind};
use crate::table::Table;
use crate::{FleetError, Name};

/// The version of the schema. A column more is none: readers take columns by their names.
pub const SCHEMA: u32 = 1;

/// Where the bytes of a table go.
pub type Output = Box<dyn Write + Send>;

/// How many rows are in memory, and one behind the other in a file: a row group.
pub const ROWS_MAX: usize = 1 << 16;

/// A row group ends before its rows where they hold this many bytes of text.
pub const BYTES_MAX: usize = 16 << 20;

/// Texts up to this length are kept once in memory, this many of them.
const SHARED_LENGTH_MAX: usize = 64;
const SHARED_MAX: usize = 4096;

/// The rows of one table.
pub(crate) struct Rows {
    table: Table,
    writer: SerializedFileWriter<Output>,
    columns: Vec<Gathered>,
    shared: HashMap<String, ByteArray>,
    /// Of the row group.
    rows: usize,
    bytes: usize,
    written: u64,
}

/// What stands in a column of the row group.
struct Gathered {
    column: &'static Column,
    values: Values,
    /// For each row 1 where it has a value; of a column that may be null.
    present: Vec<i16>,
}

enum Values {
    Numbers(Vec<i64>),
    Reals(Vec<f64>),
    Truths(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Rows {
    /// Begins the file of a table with these columns.
    pub fn new(
        (table, columns): (Table, &'static [Column]),
        name: &Name,
        out: Output,
    ) -> Result<Rows, FleetError> {
        let fields: Result<Vec<_>, ParquetError> = columns.iter().map(Column::parquet).collect();
        let schema = Type::group_type_builder(table.name()).with_fields(fields?);
        let told = [
            ("netreel.schema", SCHEMA.to_string()),
            ("netreel.table", table.name().to_owned()),
            ("netreel.date", name.date.clone()),
            ("netreel.session", name.session.clone()),
        ]
        .map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let properties = WriterProperties::builder()
            .set_created_by(format!("netreel {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(Some(told.to_vec()));
        let (schema, properties) = (Arc::new(schema.build()?), Arc::new(properties.build()));
        Ok(Rows {
            table,
            writer: SerializedFileWriter::new(out, schema, properties)?,
            columns: columns.iter().map(Gathered::new).collect(),
            shared: HashMap::new(),
            rows: 0,
            bytes: 0,
            written: 0,
        })
    }

    /// Adds a row: a cell for each column, in their order.
    ///
    /// # Errors
    /// A cell does not fit its column, or there are fewer or more cells than columns. Some columns have
    /// the row by then, and the table cannot be used any more.
    pub fn row<'c>(&mut self, cells: impl IntoIterator<Item = Cell<'c>>) -> Result<(), FleetError> {
        let table = self.table.name();
        let misfit = |column: &Column| FleetError::Misfit {
            table,
            column: column.name,
        };
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            let cell = cells.next().ok_or_else(|| misfit(column.column))?;
            if let Cell::Text(text) = cell {
                self.bytes += text.len();
            }
            if !column.push(cell, &mut self.shared) {
                return Err(misfit(column.column));
            }
        }
        if cells.next().is_some() {
            return Err(FleetError::Surplus { table });
        }
        self.rows += 1;
        if self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX {
            self.end_group()?;
        }
        Ok(())
    }

    /// Ends the file. How many rows it has.
    pub fn finish(mut self) -> Result<u64, FleetError> {
        self.end_group()?;
        self.writer.finish()?;
        self.writer.inner_mut().flush()?;
        Ok(self.written)
    }

    fn end_group(&mut self) -> Result<(), FleetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(writer) = group.next_column()? {
                column.write(writer)?;
            }
        }
        group.close()?;
        self.written += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Gathered {
    fn new(column: &'static Column) -> Gathered {
        Gathered {
            column,
            values: match column.kind {
                Kind::Whole | Kind::Unsigned | Kind::Moment => Values::Numbers(vec![]),
                Kind::Real => Values::Reals(vec![]),
                Kind::Truth => Values::Truths(vec![]),
                Kind::Text => Values::Texts(vec![]),
            },
            present: Vec::new(),
        }
    }

    /// Whether the cell fits the column.
    fn push(&mut self, cell: Cell<'_>, shared: &mut HashMap<String, ByteArray>) -> bool {
        let is_null = matches!(cell, Cell::Null);
        if self.column.is_optional {
            self.present.push(i16::from(!is_null));
        }
        match (cell, self.column.kind, &mut self.values) {
            (Cell::Null, ..) => return self.column.is_optional,
            (Cell::Whole(number), Kind::Whole, Values::Numbers(to))
            | (Cell::Moment(number), Kind::Moment, Values::Numbers(to)) => to.push(number),
            // Parquet keeps a number without sign as the bits of one with it.
            (Cell::Unsigned(number), Kind::Unsigned, Values::Numbers(to)) => {
                to.push(number.cast_signed());
            }
            (Cell::Real(number), Kind::Real, Values::Reals(to)) => to.push(number),
            (Cell::Truth(truth), Kind::Truth, Values::Truths(to)) => to.push(truth),
            (Cell::Text(text), Kind::Text, Values::Texts(to)) => {
                // Most often it is the text of the row before.
                let last = to.last().filter(|last| last.data() == text.as_bytes());
                let text = last.cloned().unwrap_or_else(|| share(text, shared));
                to.push(text);
            }
            _ => return false,
        }
        true
    }

    fn write(&mut self, mut writer: SerializedColumnWriter<'_>) -> Result<(), FleetError> {
        let present = self.column.is_optional.then_some(&self.present[..]);
        match &mut self.values {
            Values::Numbers(values) => put::<Int64Type>(&mut writer, values, present)?,
            Values::Reals(values) => put::<DoubleType>(&mut writer, values, present)?,
            Values::Truths(values) => put::<BoolType>(&mut writer, values, present)?,
            Values::Texts(values) => put::<ByteArrayType>(&mut writer, values, present)?,
        }
        self.present.clear();
        Ok(writer.close()?)
    }
}

/// Writes values, and forgets them.
fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(values, present, None)?;
    values.clear();
    Ok(())
}

/// Names come again and again: they share their bytes.
fn share(text: &str, shared: &mut HashMap<String, ByteArray>) -> ByteArray {
    if let Some(known) = shared.get(text) {
        return known.clone();
    }
    let bytes = ByteArray::from(text);
    if text.len() <= SHARED_LENGTH_MAX && shared.len() < SHARED_MAX {
        shared.insert(text.to_owned(), bytes.clone());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    /// What was written, once it is.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The file that `write` makes of the table of evidence.
    fn evidence(write: impl FnOnce(&mut Rows)) -> SerializedFileReader<Bytes> {
        let shared = Shared::default();
        let name = Name {
            date: "2026-11-23".to_owned(),
            session: "s0".to_owned(),
        };
        let table = (Table::Evidence, Table::Evidence.columns());
        let mut rows = Rows::new(table, &name, Box::new(shared.clone())).expect("a file begins");
        write(&mut rows);
        rows.finish().expect("the file ends");
        let bytes = std::mem::take(&mut *shared.0.lock().expect("no panic"));
        SerializedFileReader::new(Bytes::from(bytes)).expect("a Parquet file")
    }

    fn piece<'a>(what: &'a str, event: u64, time_ns: i64) -> [Cell<'a>; 10] {
        let (number, node) = (Cell::Whole(1), Cell::Text("A"));
        [
            number,
            number,
            what.into(),
            number,
            number,
            node,
            event.into(),
            Cell::Moment(-1),
            time_ns.into(),
            Cell::Null,
        ]
    }

    #[test]
    fn the_largest_and_smallest_numbers_are_kept_as_they_are() {
        let file = evidence(|rows| {
            rows.row(piece("é", u64::MAX, i64::MIN)).expect("it fits");
        });
        let mut rows = file.get_row_iter(None).expect("rows");
        let row = rows.next().expect("a row").expect("it can be read");
        let fields: Vec<(&String, &Field)> = row.get_column_iter().collect();
        let found = |name: &str| {
            let field = fields.iter().find(|(field, _)| *field == name);
            field.expect("a column").1.clone()
        };
        assert_eq!(found("event"), Field::ULong(u64::MAX));
        assert_eq!(found("time_ns"), Field::Long(i64::MIN));
        assert_eq!(found("what"), Field::Str("é".to_owned()));
        assert_eq!(found("utc"), Field::TimestampMicros(-1));
    }

    fn groups(file: &SerializedFileReader<Bytes>) -> Vec<i64> {
        let groups = file.metadata().row_groups().iter();
        groups.map(|group| group.num_rows()).collect()
    }

    #[test]
    fn a_row_group_ends_at_its_rows_and_at_its_text() {
        let file = evidence(|rows| {
            for event in 0..=ROWS_MAX {
                rows.row(piece("sent", event as u64, 0)).expect("it fits");
            }
        });
        assert_eq!(groups(&file), [ROWS_MAX as i64, 1]);
        let long = "x".repeat(BYTES_MAX / 2);
        let file = evidence(|rows| {
            for event in 0..3 {
                rows.row(piece(&long, event, 0)).expect("it fits");
            }
        });
        assert_eq!(groups(&file), [2, 1]);
    }

    #[test]
    fn a_cell_that_is_not_what_its_column_declares_is_refused() {
        evidence(|rows| {
            let mut cells = piece("sent", 0, 0);
            cells[2] = Cell::Null;
            let refused = rows.row(cells);
            assert!(
                matches!(refused, Err(FleetError::Misfit { column: "what", .. })),
                "{refused:?}"
            );
        });
    }

    #[test]
    fn a_row_of_too_few_or_too_many_cells_is_refused() {
        let cells = piece("sent", 0, 0);
        evidence(|rows| {
            let refused = rows.row(cells[..9].iter().copied());
            let last = Table::Evidence.columns()[9].name;
            assert!(
                matches!(refused, Err(FleetError::Misfit { column, .. }) if column == last),
                "{refused:?}"
            );
        });
        evidence(|rows| {
            let refused = rows.row(cells.into_iter().chain([Cell::Null]));
            assert!(
                matches!(refused, Err(FleetError::Surplus { table: "evidence" })),
                "{refused:?}"
            );
        });
    }
}

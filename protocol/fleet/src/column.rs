//! What a column is, and what can stand in it.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What queries call it.
    pub name: &'static str,
    /// What stands in it.
    pub kind: Kind,
    /// Whether it may be null.
    pub is_optional: bool,
    /// What it means, for people.
    pub says: &'static str,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of 64 bits: counts, numbers of packets, nanoseconds.
    Whole,
    /// The same without sign: what protocols choose themselves, objects and sequence numbers.
    Unsigned,
    /// A double.
    Real,
    /// Yes or no.
    Truth,
    /// Text in UTF-8.
    Text,
    /// A moment of the calendar, in UTC, to the microsecond.
    Moment,
}

impl Kind {
    /// The word for it in `docs/fleet.md`, which is Parquet's.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Whole => "int64",
            Kind::Unsigned => "uint64",
            Kind::Real => "double",
            Kind::Truth => "boolean",
            Kind::Text => "string",
            Kind::Moment => "timestamp",
        }
    }
}

/// Columns that are never null, by what stands in them.
macro_rules! columns {
    ($($name:ident $kind:ident;)*) => {$(
        pub(crate) const fn $name(name: &'static str, says: &'static str) -> Column {
            Column {
                name,
                kind: Kind::$kind,
                is_optional: false,
                says,
            }
        }
    )*};
}

columns! {
    whole Whole;
    unsigned Unsigned;
    real Real;
    truth Truth;
    text Text;
    utc Moment;
}

impl Column {
    /// The same, and it may be null.
    pub(crate) const fn or_null(self) -> Column {
        Column {
            is_optional: true,
            ..self
        }
    }

    /// As Parquet's schema has it.
    pub(crate) fn parquet(&self) -> Result<Arc<Type>, ParquetError> {
        let (physical, logical) = match self.kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Truth => (Physical::BOOLEAN, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            // Spark reads no nanoseconds: they stand in columns of their own, on the session's clock.
            Kind::Moment => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
            ),
        };
        let repetition = match self.is_optional {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let built = Type::primitive_type_builder(self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(built))
    }
}

/// What stands in a column of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Null,
    Whole(i64),
    Unsigned(u64),
    Real(f64),
    Truth(bool),
    Text(&'a str),
    /// Microseconds since 1970.
    Moment(i64),
}

/// A row: things that each become a cell.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => {
        [$($crate::column::Cell::from($cell)),*]
    };
}

pub(crate) use cells;

macro_rules! cell_of {
    ($($value:ident: $type:ty => $cell:expr;)*) => {$(
        impl From<$type> for Cell<'_> {
            fn from($value: $type) -> Self {
                $cell
            }
        }
    )*};
}

cell_of! {
    number: i64 => Cell::Whole(number);
    number: u32 => Cell::Whole(number.into());
    count: usize => Cell::Whole(i64::try_from(count).unwrap_or(i64::MAX));
    number: u64 => Cell::Unsigned(number);
    number: f64 => Cell::Real(number);
    truth: bool => Cell::Truth(truth);
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Cell::Text(text)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Null, Into::into)
    }
}

impl<'a> From<&'a Option<String>> for Cell<'a> {
    fn from(text: &'a Option<String>) -> Self {
        text.as_ref().into()
    }
}

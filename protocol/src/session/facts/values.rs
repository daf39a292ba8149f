//! Values of properties as they are kept: bytes, each value once.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use hashbrown::HashTable;
use netreel_table::Blobs;
use netreel_wire::Value;

use crate::session::index::plain::indexed;

/// One number, truth, name or row of bytes of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Real(f64),
    /// Yes or no.
    Truth(bool),
    /// A text, a member of an enum.
    Name(String),
    /// Bytes that the wire does not explain.
    Bytes(Vec<u8>),
    /// A difference from something that no packet has said.
    Unknown,
}

/// Values come from the network: nobody there can know which have one hash.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// So many values stand together, so that what is full can be set aside.
const TOGETHER: usize = 1 << 15;

/// Values, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    rows: Vec<Blobs>,
    /// The number of each.
    known: HashTable<u32>,
}

impl Values {
    /// The number of a value that is written as these bytes.
    pub fn number(&mut self, bytes: &[u8]) -> u32 {
        let number = self.len() as u32;
        let Values { rows, known } = self;
        let hash = HASHES.hash_one(bytes);
        if let Some(&number) = known.find(hash, |&it| row(rows, it) == bytes) {
            return number;
        }
        known.insert_unique(hash, number, |&it| HASHES.hash_one(row(rows, it)));
        match rows.last_mut().filter(|last| last.len() < TOGETHER) {
            Some(last) => last.push(bytes),
            None => {
                rows.iter_mut().for_each(Blobs::shrink);
                let mut next = Blobs::new();
                next.push(bytes);
                rows.push(next);
            }
        }
        number
    }

    /// No more come.
    pub fn shrink(&mut self) {
        self.known = HashTable::new();
        self.rows.iter_mut().for_each(Blobs::shrink);
    }

    pub fn get(&self, number: u32) -> Vec<Scalar> {
        read(self.bytes(number))
    }

    /// A value as it was written.
    pub fn bytes(&self, number: u32) -> &[u8] {
        row(&self.rows, number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        let full = self.rows.len().saturating_sub(1) * TOGETHER;
        full + self.rows.last().map_or(0, Blobs::len)
    }

    pub fn memory(&self) -> usize {
        self.rows.iter().map(Blobs::memory).sum()
    }
}

fn row(rows: &[Blobs], number: u32) -> &[u8] {
    let together = rows.get(number as usize / TOGETHER);
    together.map_or(&[], |together| together.get(number as usize % TOGETHER))
}

indexed!(Values: rows but known);

/// Appends a value, as [`Values::number`] takes it.
pub(crate) fn write(values: &[Value], to: &mut Vec<u8>) {
    for value in values {
        match value {
            Value::Unsigned(number) => integer(i128::from(*number), to),
            Value::Signed(number) => integer(i128::from(*number), to),
            Value::Delta {
                value: Some(sum), ..
            } => integer(*sum, to),
            Value::Delta { value: None, .. } | Value::None => to.push(TAG_UNKNOWN),
            Value::Bool(truth) => to.push(TAG_FALSE + u8::from(*truth)),
            Value::Float(number) | Value::Quantized { value: number, .. } => real(*number, to),
            Value::Rotation { quaternion, .. } => quaternion.iter().for_each(|it| real(*it, to)),
            Value::Enum {
                name: Some(name), ..
            } => text(TAG_NAME, name.as_bytes(), to),
            Value::Enum { raw, name: None } => integer(i128::from(*raw), to),
            Value::Flags { raw, .. } => integer(i128::from(*raw), to),
            Value::Text(name) | Value::Uuid(name) => text(TAG_NAME, name.as_bytes(), to),
            // Of one sort, whether it fits a part that is an integer or not.
            Value::Wide(number) => text(TAG_NAME, number.to_string().as_bytes(), to),
            Value::Bytes(bytes) | Value::Hash(bytes) => text(TAG_BYTES, bytes, to),
        }
    }
}

/// The same of parts.
pub(crate) fn write_scalars(parts: &[Scalar], to: &mut Vec<u8>) {
    for part in parts {
        match part {
            Scalar::Integer(number) => integer(*number, to),
            Scalar::Real(number) => real(*number, to),
            Scalar::Truth(truth) => to.push(TAG_FALSE + u8::from(*truth)),
            Scalar::Name(name) => text(TAG_NAME, name.as_bytes(), to),
            Scalar::Bytes(bytes) => text(TAG_BYTES, bytes, to),
            Scalar::Unknown => to.push(TAG_UNKNOWN),
        }
    }
}

const TAG_UNKNOWN: u8 = 0;
const TAG_FALSE: u8 = 1;
const TAG_TRUE: u8 = 2;
const TAG_NAME: u8 = 3;
const TAG_BYTES: u8 = 4;
const TAG_SINGLE: u8 = 5;
const TAG_DOUBLE: u8 = 6;
/// And how many bytes of the number follow: 0 to 16.
const TAG_INTEGER: u8 = 16;

fn integer(number: i128, to: &mut Vec<u8>) {
    let zigzag = (number << 1 ^ number >> 127) as u128;
    let length = (128 - zigzag.leading_zeros()).div_ceil(8) as u8;
    to.push(TAG_INTEGER + length);
    to.extend(zigzag.to_le_bytes().iter().take(usize::from(length)));
}

fn real(number: f64, to: &mut Vec<u8>) {
    let single = number as f32;
    if f64::from(single).to_bits() == number.to_bits() {
        to.push(TAG_SINGLE);
        to.extend_from_slice(&single.to_le_bytes());
    } else {
        to.push(TAG_DOUBLE);
        to.extend_from_slice(&number.to_le_bytes());
    }
}

fn text(tag: u8, bytes: &[u8], to: &mut Vec<u8>) {
    to.push(tag);
    to.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}

/// What [`write`] wrote.
fn read(mut bytes: &[u8]) -> Vec<Scalar> {
    let mut parts = Vec::new();
    while let Some((&tag, rest)) = bytes.split_first() {
        bytes = rest;
        parts.push(match tag {
            TAG_FALSE | TAG_TRUE => Scalar::Truth(tag == TAG_TRUE),
            TAG_NAME | TAG_BYTES => {
                let length = u32::from_le_bytes(take(&mut bytes, 4)) as usize;
                let (content, rest) = bytes.split_at(length.min(bytes.len()));
                bytes = rest;
                match tag {
                    TAG_NAME => Scalar::Name(String::from_utf8_lossy(content).into_owned()),
                    _ => Scalar::Bytes(content.to_vec()),
                }
            }
            TAG_SINGLE => Scalar::Real(f32::from_le_bytes(take(&mut bytes, 4)).into()),
            TAG_DOUBLE => Scalar::Real(f64::from_le_bytes(take(&mut bytes, 8))),
            tag if tag >= TAG_INTEGER => {
                let length = usize::from(tag - TAG_INTEGER);
                let zigzag = u128::from_le_bytes(take(&mut bytes, length));
                Scalar::Integer((zigzag >> 1) as i128 ^ -((zigzag & 1) as i128))
            }
            _ => Scalar::Unknown,
        });
    }
    parts
}

/// How many bytes from the front, filled up with zeros.
fn take<const N: usize>(bytes: &mut &[u8], count: usize) -> [u8; N] {
    let (front, rest) = bytes.split_at(count.min(N).min(bytes.len()));
    *bytes = rest;
    let mut taken = [0; N];
    for (to, from) in taken.iter_mut().zip(front) {
        *to = *from;
    }
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = (Value, Scalar)> {
        prop_oneof![
            any::<u64>().prop_map(|it| (Value::Unsigned(it), Scalar::Integer(it.into()))),
            any::<i64>().prop_map(|it| (Value::Signed(it), Scalar::Integer(it.into()))),
            (-1e9..1e9f64).prop_map(|it| (Value::Float(it), Scalar::Real(it))),
            any::<f32>()
                .prop_filter("a number", |it| !it.is_nan())
                .prop_map(|it| (Value::Float(it.into()), Scalar::Real(it.into()))),
            any::<bool>().prop_map(|it| (Value::Bool(it), Scalar::Truth(it))),
            ".*".prop_map(|it| (Value::Text(it.clone()), Scalar::Name(it))),
            any::<Vec<u8>>().prop_map(|it| (Value::Bytes(it.clone()), Scalar::Bytes(it))),
            any::<i64>().prop_map(|it| {
                let sum = Some(i128::from(it) * 3);
                (
                    Value::Delta {
                        change: 1,
                        value: sum,
                    },
                    Scalar::Integer(i128::from(it) * 3),
                )
            }),
        ]
    }

    #[test]
    fn of_many_values_each_comes_back_and_has_one_number() {
        let many = 2 * TOGETHER as u32 + 5;
        let mut all = Values::default();
        for round in 0..2 {
            for value in 0..many {
                let number = all.number(&value.to_le_bytes());
                assert_eq!(number, value, "round {round}");
            }
        }
        all.shrink();
        assert_eq!((all.len(), all.rows.len()), (many as usize, 3));
        assert!((0..many).all(|value| all.bytes(value) == value.to_le_bytes()));
        assert!(all.bytes(many).is_empty());
    }

    proptest! {
        #[test]
        fn a_value_comes_back(parts in proptest::collection::vec(part(), 0..6)) {
            let (values, parts): (Vec<Value>, Vec<Scalar>) = parts.into_iter().unzip();
            let mut bytes = Vec::new();
            write(&values, &mut bytes);
            let mut all = Values::default();
            let number = all.number(&bytes);
            prop_assert_eq!(all.number(&bytes), number);
            all.shrink();
            prop_assert_eq!(all.get(number), parts);
        }
    }
}

//! Values of properties: kept as bytes, compared within their tolerance, and in words.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use netreel_table::Blobs;
use netreel_wire::{Property, PropertyKind, Value};

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

/// How far two values are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Apart {
    /// No farther than the property allows.
    Same,
    /// So far, in the property's unit.
    By(f64),
    /// They are other ones, and no number says how far.
    Other,
}

/// All values of a session, each once.
#[derive(Debug, Default)]
pub(super) struct Values {
    rows: Blobs,
    /// By hash, the first with it; others with the same hash are kept twice.
    known: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
}

impl Values {
    /// The number of a value that is written as these bytes.
    pub fn number(&mut self, bytes: &[u8]) -> u32 {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes);
        if let Some(&known) = self.known.get(&hash)
            && self.rows.get(known as usize) == bytes
        {
            return known;
        }
        let number = self.rows.len() as u32;
        self.rows.push(bytes);
        self.known.entry(hash).or_insert(number);
        number
    }

    /// No more come.
    pub fn shrink(&mut self) {
        self.known = HashMap::default();
        self.rows.shrink();
    }

    pub fn get(&self, number: u32) -> Vec<Scalar> {
        read(self.rows.get(number as usize))
    }

    pub fn memory(&self) -> usize {
        self.rows.memory()
    }
}

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
pub(super) fn write_scalars(parts: &[Scalar], to: &mut Vec<u8>) {
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

impl Scalar {
    /// Whether both were written with the same bits, or are equal.
    fn is_same(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Real(one), Scalar::Real(other)) => {
                one == other || one.to_bits() == other.to_bits()
            }
            _ => self == other,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Scalar::Integer(number) => Some(*number as f64),
            Scalar::Real(number) => Some(*number),
            _ => None,
        }
    }
}

/// How far two values of a property are apart. What is not known is not another value.
pub fn apart(property: &Property, one: &[Scalar], other: &[Scalar]) -> Apart {
    let is_same = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same(b));
    if is_same || one.contains(&Scalar::Unknown) || other.contains(&Scalar::Unknown) {
        return Apart::Same;
    }
    // Whole numbers are subtracted as such: as reals, large ones would be equal that are not.
    let whole = one.iter().zip(other).map(|parts| match parts {
        (Scalar::Integer(one), Scalar::Integer(other)) => Some(one.saturating_sub(*other) as f64),
        _ => None,
    });
    let whole = whole.collect::<Option<Vec<f64>>>();
    let numbers = |parts: &[Scalar]| {
        parts
            .iter()
            .map(Scalar::number)
            .collect::<Option<Vec<f64>>>()
    };
    let (Some(one), Some(other)) = (numbers(one), numbers(other)) else {
        return Apart::Other;
    };
    if !property.kind.is_measured() || one.len() != other.len() {
        return Apart::Other;
    }
    // One that is no number is apart from all others.
    if one.iter().chain(&other).any(|number| number.is_nan()) {
        return Apart::Other;
    }
    let reals = one.iter().zip(&other).map(|(one, other)| one - other);
    let differences = whole.unwrap_or_else(|| reals.collect());
    let pairs = || differences.iter().copied();
    let by = match property.kind {
        PropertyKind::Position => pairs().map(|it| it * it).sum::<f64>().sqrt(),
        PropertyKind::Angle if one.len() == 4 => between_rotations(property, &one, &other),
        PropertyKind::Angle => pairs().fold(0.0, |most, it| f64::max(most, way(property, it))),
        _ => pairs().fold(0.0, |most, it| f64::max(most, it.abs())),
    };
    if by.is_nan() {
        return Apart::Other;
    }
    match by <= property.tolerance {
        true => Apart::Same,
        false => Apart::By(by),
    }
}

/// A full turn, in the property's unit.
fn turn(property: &Property) -> f64 {
    match property.unit.as_str() {
        "rad" => std::f64::consts::TAU,
        _ => 360.0,
    }
}

/// The shorter way around.
fn way(property: &Property, difference: f64) -> f64 {
    let turn = turn(property);
    let rest = difference.rem_euclid(turn);
    rest.min(turn - rest)
}

/// The angle between two unit quaternions.
fn between_rotations(property: &Property, one: &[f64], other: &[f64]) -> f64 {
    let dot: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
    let angle = 2.0 * dot.abs().min(1.0).acos();
    angle / std::f64::consts::TAU * turn(property)
}

/// A value for people: `(1.00, -2.50, 0.00) m`.
pub fn words(property: &Property, parts: &[Scalar]) -> String {
    let mut shown: Vec<String> = parts
        .iter()
        .map(|part| part_words(property, part))
        .collect();
    let value = match (shown.len(), shown.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            shown.push(last);
            format!("({})", shown.join(", "))
        }
        (_, None) => "nothing".to_owned(),
    };
    match property.unit.as_str() {
        "" => value,
        unit => format!("{value} {unit}"),
    }
}

/// How far two values are apart, for people: `0.34 m apart`.
pub fn apart_words(property: &Property, apart: Apart) -> String {
    match apart {
        Apart::Same => "the same".to_owned(),
        Apart::Other => "another value".to_owned(),
        Apart::By(by) => {
            let amount = match by.fract() == 0.0 && property.tolerance == 0.0 {
                true => decimal(by, 0),
                false => decimal(by, decimals(property).max(2)),
            };
            match property.unit.as_str() {
                "" => format!("{amount} apart"),
                unit => format!("{amount} {unit} apart"),
            }
        }
    }
}

fn part_words(property: &Property, part: &Scalar) -> String {
    match part {
        Scalar::Integer(0) if property.kind == PropertyKind::Flag => "no".to_owned(),
        Scalar::Integer(1) if property.kind == PropertyKind::Flag => "yes".to_owned(),
        Scalar::Integer(number) => number.to_string(),
        Scalar::Real(number) => decimal(*number, decimals(property)),
        Scalar::Truth(true) => "yes".to_owned(),
        Scalar::Truth(false) => "no".to_owned(),
        Scalar::Name(name) => format!("\"{}\"", name.escape_debug()),
        Scalar::Bytes(bytes) => {
            let digits: Vec<String> = bytes
                .iter()
                .take(16)
                .map(|it| format!("{it:02x}"))
                .collect();
            let more = if bytes.len() > 16 { " ..." } else { "" };
            format!("{}{more}", digits.join(" "))
        }
        Scalar::Unknown => "unknown".to_owned(),
    }
}

/// How many digits after the point tell values apart that differ.
fn decimals(property: &Property) -> usize {
    match property.tolerance {
        tolerance if tolerance > 0.0 => (-tolerance.log10()).ceil().clamp(0.0, 9.0) as usize,
        _ => 3,
    }
}

fn decimal(number: f64, decimals: usize) -> String {
    let shown = format!("{number:.decimals$}");
    // A little less than nothing is nothing.
    match shown.strip_prefix('-') {
        Some(rest) if rest.chars().all(|it| it == '0' || it == '.') => rest.to_owned(),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn property(kind: PropertyKind, unit: &str, tolerance: f64) -> Property {
        Property {
            name: "p".to_owned(),
            kind,
            unit: unit.to_owned(),
            tolerance,
        }
    }

    fn reals(numbers: &[f64]) -> Vec<Scalar> {
        numbers.iter().map(|&it| Scalar::Real(it)).collect()
    }

    #[test]
    fn positions_are_as_far_apart_as_the_way_between_them() {
        let property = property(PropertyKind::Position, "m", 1.0);
        let (one, other) = (reals(&[0.0, 0.0]), reals(&[3.0, 4.0]));
        assert_eq!(apart(&property, &one, &other), Apart::By(5.0));
        assert_eq!(apart(&property, &one, &reals(&[0.6, 0.8])), Apart::Same);
    }

    #[test]
    fn angles_go_the_shorter_way_around() {
        let degrees = property(PropertyKind::Angle, "deg", 0.5);
        let (one, other) = (reals(&[-179.9]), reals(&[179.9]));
        assert_eq!(apart(&degrees, &one, &other), Apart::Same);
        let radians = property(PropertyKind::Angle, "rad", 0.5);
        assert!(
            matches!(apart(&radians, &reals(&[0.0]), &reals(&[7.0])), Apart::By(by) if by < 0.72)
        );
    }

    #[test]
    fn what_is_no_number_is_the_same_as_itself_alone() {
        for kind in [PropertyKind::Number, PropertyKind::Position] {
            let property = property(kind, "m", 1.0);
            let (none, one) = (reals(&[f64::NAN, 2.0]), reals(&[1.0, 2.0]));
            assert_eq!(apart(&property, &none, &none), Apart::Same);
            assert_eq!(apart(&property, &none, &one), Apart::Other);
        }
    }

    #[test]
    fn large_whole_numbers_differ_in_their_last_bit() {
        let property = property(PropertyKind::Count, "", 0.0);
        let (one, other) = ([Scalar::Integer(1 << 60)], [Scalar::Integer((1 << 60) + 1)]);
        assert_eq!(apart(&property, &one, &other), Apart::By(1.0));
    }

    #[test]
    fn a_flag_is_the_same_or_not() {
        let property = property(PropertyKind::Flag, "", 0.0);
        let (yes, no) = ([Scalar::Integer(1)], [Scalar::Integer(0)]);
        assert_eq!(apart(&property, &yes, &no), Apart::Other);
        assert_eq!(words(&property, &yes), "yes");
    }

    #[test]
    fn a_value_in_words_has_the_digits_that_count() {
        let place = property(PropertyKind::Position, "m", 0.01);
        assert_eq!(
            words(&place, &reals(&[1.0, -2.504, -0.001])),
            "(1.00, -2.50, 0.00) m"
        );
        let name = property(PropertyKind::Name, "", 0.0);
        assert_eq!(
            words(&name, &[Scalar::Name("a \"b\"".to_owned())]),
            "\"a \\\"b\\\"\""
        );
        assert_eq!(apart_words(&place, Apart::By(0.3401)), "0.34 m apart");
        let count = property(PropertyKind::Count, "", 0.0);
        assert_eq!(apart_words(&count, Apart::By(67.0)), "67 apart");
    }

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

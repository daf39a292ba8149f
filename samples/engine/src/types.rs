//! Object types, declared in a file; how their fields travel follows from the declaration.

use std::fmt;

use netreel_transport::mix;
use serde::Deserialize;

use crate::bits::{BitReader, BitWriter, Malformed};

/// The declaration that the game "boxes" uses, as text.
pub const BOXES: &str = include_str!("../types/boxes.toml");

/// All object types of a session, ordered by number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    #[serde(rename = "type")]
    types: Vec<ObjectType>,
}

/// Of those who speak of no objects.
pub(crate) static NO_TYPES: Types = Types { types: Vec::new() };

/// A type of object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectType {
    /// The name, for people.
    pub name: String,
    /// The number that travels, 0 to 15.
    pub number: u8,
    /// In the order in which they travel.
    #[serde(rename = "field", default)]
    pub fields: Vec<FieldType>,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FieldType {
    /// The name, for people.
    pub name: String,
    /// How it travels.
    #[serde(flatten)]
    pub kind: FieldKind,
}

/// How a field travels.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FieldKind {
    /// A number in equal steps between two ends.
    Quantized(Quantized),
    /// Several such numbers.
    Vector {
        /// Each with its own ends and steps.
        parts: Vec<Quantized>,
    },
    /// A whole number of this many bits.
    Unsigned {
        /// 1 to 32.
        bits: u32,
    },
    /// A whole number from `min` to `max`, in as few bits as those take.
    Range {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A 32-bit float.
    Float,
    /// UTF-8 text of at most 255 bytes.
    Text,
}

/// A number that travels as one of `2^bits` equal steps from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Quantized {
    /// The value of step 0.
    pub min: f64,
    /// The value of the last step.
    pub max: f64,
    /// 1 to 32.
    pub bits: u32,
}

/// The value of a field or of an RPC's argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a quantized or float field.
    Number(f64),
    /// Of a vector field.
    Vector(Vec<f64>),
    /// Of an unsigned or range field.
    Integer(i64),
    /// Of a text field.
    Text(String),
}

impl Value {
    /// A number for what came before and this value: numbers count by their bits.
    pub(crate) fn mixed_into(&self, before: u64) -> u64 {
        let add = |before: u64, word: u64| mix(&[before, word]);
        match self {
            Value::Number(number) => add(before, number.to_bits()),
            Value::Vector(numbers) => numbers.iter().map(|it| it.to_bits()).fold(before, add),
            Value::Integer(number) => add(before, *number as u64),
            Value::Text(text) => {
                let before = add(before, text.len() as u64);
                text.bytes().map(u64::from).fold(before, add)
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Vector(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
                write!(f, "({})", numbers.join(", "))
            }
        }
    }
}

/// A declaration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object types: {0}")]
pub struct TypesError(String);

impl Types {
    /// Reads a declaration.
    pub fn parse(text: &str) -> Result<Types, TypesError> {
        let mut types: Types =
            toml::from_str(text).map_err(|error| TypesError(error.to_string()))?;
        types.types.sort_by_key(|object_type| object_type.number);
        for pair in types.types.windows(2) {
            if let [one, two] = pair
                && one.number == two.number
            {
                let (one, two) = (&one.name, &two.name);
                return Err(TypesError(format!("{one} and {two} have the same number")));
            }
        }
        for object_type in &types.types {
            object_type.check()?;
        }
        Ok(types)
    }

    /// The type with this number.
    pub fn get(&self, number: u8) -> Option<&ObjectType> {
        let place = self
            .types
            .binary_search_by_key(&number, |object_type| object_type.number);
        place.ok().and_then(|place| self.types.get(place))
    }

    /// The type with this name.
    pub fn named(&self, name: &str) -> Option<&ObjectType> {
        self.types
            .iter()
            .find(|object_type| object_type.name == name)
    }
}

impl ObjectType {
    /// The place of the field with this name.
    pub fn field(&self, name: &str) -> Option<u8> {
        let place = self.fields.iter().position(|field| field.name == name)?;
        u8::try_from(place).ok()
    }

    /// The values that travel in place of these; `None` where one does not fit its field.
    pub fn settle(&self, values: &[Value]) -> Option<Vec<Value>> {
        if values.len() != self.fields.len() {
            return None;
        }
        self.fields
            .iter()
            .zip(values)
            .map(|(field, value)| field.kind.settle(value))
            .collect()
    }

    /// Writes all fields. The values must have been settled.
    pub fn write(&self, values: &[Value], out: &mut BitWriter) {
        for (field, value) in self.fields.iter().zip(values) {
            field.kind.write(value, out);
        }
    }

    /// Reads all fields.
    pub fn read(&self, bits: &mut BitReader<'_>) -> Result<Vec<Value>, Malformed> {
        self.fields
            .iter()
            .map(|field| field.kind.read(bits))
            .collect()
    }

    /// Writes a bit for each field and the fields that there are.
    pub fn write_changes(&self, changes: &[Option<Value>], out: &mut BitWriter) {
        for (field, change) in self.fields.iter().zip(changes) {
            out.flag(change.is_some());
            if let Some(value) = change {
                field.kind.write(value, out);
            }
        }
    }

    /// Reads what [`write_changes`](ObjectType::write_changes) wrote.
    pub fn read_changes(&self, bits: &mut BitReader<'_>) -> Result<Vec<Option<Value>>, Malformed> {
        let read = |field: &FieldType| {
            if bits.flag()? {
                field.kind.read(bits).map(Some)
            } else {
                Ok(None)
            }
        };
        self.fields.iter().map(read).collect()
    }

    /// Raises quantized numbers below 0 by two steps, as a fault does.
    pub(crate) fn raise_negatives(&self, changes: Vec<Option<Value>>) -> Vec<Option<Value>> {
        let fields = self.fields.iter().zip(changes);
        let raise = |(field, change): (&FieldType, Option<Value>)| match (&field.kind, change) {
            (FieldKind::Quantized(quantized), Some(Value::Number(number))) => {
                Some(Value::Number(quantized.raise_negative(number)))
            }
            (FieldKind::Vector { parts }, Some(Value::Vector(numbers))) => {
                let parts = parts.iter().zip(numbers);
                let raised = parts.map(|(part, number)| part.raise_negative(number));
                Some(Value::Vector(raised.collect()))
            }
            (_, change) => change,
        };
        fields.map(raise).collect()
    }

    fn check(&self) -> Result<(), TypesError> {
        let wrong = |why: &str| Err(TypesError(format!("type {}: {why}", self.name)));
        if self.number > 15 {
            return wrong("the number is above 15");
        }
        if self.fields.len() > 64 {
            return wrong("more than 64 fields");
        }
        for field in &self.fields {
            let good = match &field.kind {
                FieldKind::Quantized(quantized) => quantized.is_good(),
                FieldKind::Vector { parts } => {
                    (1..=4).contains(&parts.len()) && parts.iter().all(Quantized::is_good)
                }
                FieldKind::Unsigned { bits } => (1..=32).contains(bits),
                FieldKind::Range { min, max } => {
                    min < max && max.checked_sub(*min).is_some_and(|span| span < 1 << 32)
                }
                FieldKind::Float | FieldKind::Text => true,
            };
            if !good {
                return wrong(&format!("field {}: the limits make no sense", field.name));
            }
        }
        Ok(())
    }
}

impl FieldKind {
    /// The nearest value that can travel; `None` where the value is of another kind, not a number,
    /// or text of more than 255 bytes.
    pub fn settle(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (FieldKind::Quantized(quantized), Value::Number(number)) => {
                quantized.settle(*number).map(Value::Number)
            }
            (FieldKind::Vector { parts }, Value::Vector(numbers)) => {
                if parts.len() != numbers.len() {
                    return None;
                }
                let settled = parts
                    .iter()
                    .zip(numbers)
                    .map(|(part, number)| part.settle(*number));
                settled.collect::<Option<_>>().map(Value::Vector)
            }
            (FieldKind::Unsigned { bits }, Value::Integer(number)) => {
                Some(Value::Integer(*number.clamp(&0, &((1i64 << bits) - 1))))
            }
            (FieldKind::Range { min, max }, Value::Integer(number)) => {
                Some(Value::Integer(*number.clamp(min, max)))
            }
            (FieldKind::Float, Value::Number(number)) => {
                let single = *number as f32;
                single.is_finite().then(|| Value::Number(f64::from(single)))
            }
            (FieldKind::Text, Value::Text(text)) => {
                (text.len() <= 255).then(|| Value::Text(text.clone()))
            }
            _ => None,
        }
    }

    /// Writes a settled value; one of another kind is written as zeros.
    fn write(&self, value: &Value, out: &mut BitWriter) {
        match (self, value) {
            (FieldKind::Quantized(quantized), Value::Number(number)) => {
                out.bits(quantized.step(*number), quantized.bits);
            }
            (FieldKind::Vector { parts }, Value::Vector(numbers)) => {
                for (part, number) in parts.iter().zip(numbers) {
                    out.bits(part.step(*number), part.bits);
                }
            }
            (FieldKind::Unsigned { bits }, Value::Integer(number)) => {
                out.bits(*number as u64, *bits);
            }
            (FieldKind::Range { min, max }, Value::Integer(number)) => {
                out.bits(number.wrapping_sub(*min) as u64, range_bits(*min, *max));
            }
            (FieldKind::Float, Value::Number(number)) => {
                out.bits(u64::from((*number as f32).to_bits()), 32);
            }
            (FieldKind::Text, Value::Text(text)) => {
                out.bits(text.len() as u64, 8);
                out.bytes(text.as_bytes());
            }
            _ => out.bits(0, 8),
        }
    }

    fn read(&self, bits: &mut BitReader<'_>) -> Result<Value, Malformed> {
        Ok(match self {
            FieldKind::Quantized(quantized) => {
                Value::Number(quantized.value(bits.bits(quantized.bits)?))
            }
            FieldKind::Vector { parts } => Value::Vector(
                parts
                    .iter()
                    .map(|part| bits.bits(part.bits).map(|step| part.value(step)))
                    .collect::<Result<_, _>>()?,
            ),
            FieldKind::Unsigned { bits: count } => Value::Integer(bits.bits(*count)? as i64),
            FieldKind::Range { min, max } => {
                let number = min + bits.bits(range_bits(*min, *max))? as i64;
                if number > *max {
                    return Err(bits.malformed("a number above its range"));
                }
                Value::Integer(number)
            }
            FieldKind::Float => {
                let single = f32::from_bits(bits.bits(32)? as u32);
                if !single.is_finite() {
                    return Err(bits.malformed("a float that is not a number"));
                }
                Value::Number(f64::from(single))
            }
            FieldKind::Text => {
                let length = bits.byte()?;
                Value::Text(bits.text(usize::from(length))?)
            }
        })
    }
}

impl Quantized {
    fn is_good(&self) -> bool {
        self.min.is_finite() && self.max.is_finite() && self.min < self.max && {
            (1..=32).contains(&self.bits)
        }
    }

    fn settle(&self, value: f64) -> Option<f64> {
        (!value.is_nan()).then(|| self.value(self.step(value)))
    }

    fn steps(&self) -> f64 {
        ((1u64 << self.bits) - 1) as f64
    }

    fn step(&self, value: f64) -> u64 {
        let share = (value.clamp(self.min, self.max) - self.min) / (self.max - self.min);
        (share * self.steps()).round() as u64
    }

    fn raise_negative(&self, number: f64) -> f64 {
        if number < 0.0 {
            self.value(self.step(number) + 2)
        } else {
            number
        }
    }

    fn value(&self, step: u64) -> f64 {
        self.min + step as f64 / self.steps() * (self.max - self.min)
    }
}

/// How many bits the numbers from `min` to `max` take.
fn range_bits(min: i64, max: i64) -> u32 {
    64 - (max.wrapping_sub(min) as u64).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes() -> Types {
        Types::parse(BOXES).expect("the declaration of the game")
    }

    fn error(text: &str) -> String {
        Types::parse(text).expect_err("a mistake").to_string()
    }

    #[test]
    fn the_game_has_boxes_and_players() {
        let types = boxes();
        assert_eq!(types.named("box").map(|t| t.number), Some(0));
        assert_eq!(types.get(1).map(|t| t.name.as_str()), Some("player"));
        assert_eq!(types.get(0).and_then(|t| t.field("held")), Some(3));
        assert_eq!(types.get(2), None);
    }

    #[test]
    fn a_box_takes_so_many_bits() {
        let types = boxes();
        let mut out = BitWriter::new();
        let numbers = vec![
            Value::Vector(vec![0.0; 3]),
            Value::Number(0.0),
            Value::Integer(0),
            Value::Integer(0),
            Value::Number(0.0),
        ];
        types.get(0).expect("box").write(&numbers, &mut out);
        assert_eq!(out.len(), 20 + 20 + 16 + 12 + 8 + 1 + 32);
    }

    #[test]
    fn a_range_takes_the_bits_that_it_needs() {
        let check = |min, max, bits| assert_eq!(range_bits(min, max), bits, "{min} to {max}");
        check(0, 100, 7);
        check(0, 127, 7);
        check(0, 128, 8);
        check(-5, 5, 4);
        check(0, 1, 1);
    }

    #[test]
    fn the_ends_of_a_quantized_number_are_exact() {
        let quantized = Quantized {
            min: -180.0,
            max: 180.0,
            bits: 12,
        };
        assert_eq!(quantized.settle(-180.0), Some(-180.0));
        assert_eq!(quantized.settle(180.0), Some(180.0));
        assert_eq!(quantized.settle(1e9), Some(180.0));
        assert_eq!(quantized.settle(f64::NAN), None);
    }

    #[test]
    fn settling_twice_is_settling_once() {
        let kind = FieldKind::Quantized(Quantized {
            min: -512.0,
            max: 512.0,
            bits: 20,
        });
        for step in -100..100 {
            let once = kind
                .settle(&Value::Number(f64::from(step) * 5.123))
                .expect("a number");
            assert_eq!(kind.settle(&once), Some(once.clone()));
        }
    }

    #[test]
    fn a_value_of_another_kind_does_not_fit() {
        assert_eq!(FieldKind::Text.settle(&Value::Integer(1)), None);
        assert_eq!(FieldKind::Float.settle(&Value::Number(f64::INFINITY)), None);
        assert_eq!(FieldKind::Text.settle(&Value::Text("x".repeat(256))), None);
        let vector = FieldKind::Vector {
            parts: vec![Quantized {
                min: 0.0,
                max: 1.0,
                bits: 8,
            }],
        };
        assert_eq!(vector.settle(&Value::Vector(vec![0.0, 1.0])), None);
    }

    #[test]
    fn a_mistake_in_a_declaration_is_named() {
        let range = "[[type]]\nname = \"t\"\nnumber = 0\n[[type.field]]\nname = \"f\"\n\
                     kind = \"range\"\nmin = 5\nmax = 5\n";
        assert!(error(range).contains("type t: field f"), "{}", error(range));
        let twice = "[[type]]\nname = \"t\"\nnumber = 1\n[[type]]\nname = \"u\"\nnumber = 1\n";
        assert!(
            error(twice).contains("t and u have the same number"),
            "{}",
            error(twice)
        );
        let number = "[[type]]\nname = \"t\"\nnumber = 16\n";
        assert!(error(number).contains("above 15"), "{}", error(number));
        assert!(
            error("type = 3").contains("line 1"),
            "{}",
            error("type = 3")
        );
    }
}

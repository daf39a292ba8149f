//! Values of properties: compared within their tolerance, and in words.

use netreel_wire::{Property, PropertyKind};

pub use crate::session::facts::values::Scalar;

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
    let whole = one
        .iter()
        .zip(other)
        .map(|parts| match parts {
            (Scalar::Integer(one), Scalar::Integer(other)) => {
                Some(one.saturating_sub(*other) as f64)
            }
            _ => None,
        })
        .collect::<Option<Vec<f64>>>();
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
    if by <= property.tolerance {
        Apart::Same
    } else {
        Apart::By(by)
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
    let shown = parts.iter().map(|part| part_words(property, part));
    let shown: Vec<String> = shown.collect();
    let value = match shown.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        all => format!("({})", all.join(", ")),
    };
    match property.unit.as_str() {
        "" => value,
        unit => format!("{value} {unit}"),
    }
}

/// What a node knows of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// A value, by its parts.
    Value(Vec<Scalar>),
    /// Nobody can say.
    Unknown,
    /// The object lives no more, or came to life anew and nobody has told the property.
    Nothing,
}

impl Known {
    /// For people, in the words of [`words`].
    pub fn words(&self, property: &Property) -> String {
        match self {
            Known::Value(parts) => words(property, parts),
            Known::Unknown => "unknown".to_owned(),
            Known::Nothing => "not told".to_owned(),
        }
    }
}

/// How far two values are apart, for people: `0.34 m apart`.
pub fn apart_words(property: &Property, apart: Apart) -> String {
    match apart {
        Apart::Same => "the same".to_owned(),
        Apart::Other => "another value".to_owned(),
        Apart::By(by) => {
            let amount = if by.fract() == 0.0 && property.tolerance == 0.0 {
                decimal(by, 0)
            } else {
                decimal(by, decimals(property).max(2))
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
}

//! How times and numbers are written for people: one way in the command, in the window, and in the
//! sentences of JSON and of exports.

use std::borrow::Borrow;
use std::fmt::Write as _;

use crate::session::SessionTime;

/// Seconds on the session's clock, to the microsecond that a moment is in: `12.300451`.
pub fn seconds(time: SessionTime) -> String {
    let micros = time.0.div_euclid(1_000);
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// The same with the unit: `12.300451 s`.
pub fn moment(time: SessionTime) -> String {
    format!("{} s", seconds(time))
}

/// In ns.
const MINUTE: u64 = 60_000_000_000;
const DAY: u64 = 24 * 60 * MINUTE;

/// Units of time, each with what it takes in ns, and from how many of it on it is used: of times that
/// are no more than two minutes, two hours, two days or two years people know the smaller unit.
const UNITS: [(&str, u64, u64); 7] = [
    ("years", DAY * 1461 / 4, 2),
    ("days", DAY, 2),
    ("h", 60 * MINUTE, 2),
    ("min", MINUTE, 2),
    ("s", 1_000_000_000, 1),
    ("ms", 1_000_000, 1),
    ("µs", 1_000, 1),
];

/// `; so with 3 more links`, where there are more than the one that is told; `what` follows the number.
pub fn and_more(count: u64, what: &str) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!("; so with {} more{what}", count - 1),
    }
}

/// `once`, `3 times`.
pub fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// A length of time, given in ns, in the unit that suits it, with one decimal: `205.4 ms`, `950 ns`,
/// `2.8 days`.
pub fn duration(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let size = ns.unsigned_abs();
    for (place, (unit, long, least)) in UNITS.into_iter().enumerate() {
        // What the smaller unit would be rounded up to this one.
        let smaller = UNITS.get(place + 1).map_or(1, |it| it.1);
        if size.saturating_add(smaller / 20) >= long * least {
            let tenths = tenths(size, long);
            return format!("{sign}{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{sign}{size} ns")
}

/// The same of a length that has no sign.
pub(crate) fn length(ns: u64) -> String {
    duration(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// How many tenths of a unit this much is, rounded.
fn tenths(size: u64, unit: u64) -> u64 {
    let (size, unit) = (u128::from(size), u128::from(unit));
    ((size * 10 + unit / 2) / unit) as u64
}

/// How many bytes: exactly where that takes at most four digits, else with one decimal: `812 B`,
/// `12.3 kB`.
pub fn bytes(bytes: u64) -> String {
    if bytes < 10_000 {
        return format!("{bytes} B");
    }
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let is_reached = |(_, of): &(&str, u64)| bytes.saturating_add(of / 20_000) >= *of;
    let (unit, of) = units.into_iter().find(is_reached).unwrap_or(("B", 1));
    let tenths = tenths(bytes, of);
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// `1 packet`, `2 packets`: a number and what there is this many of.
pub fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// `A, B and C`.
pub fn listed<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [] => String::new(),
        [one] => one.borrow().to_owned(),
        [before @ .., last] => format!("{} and {}", before.join(", "), last.borrow()),
    }
}

/// The first of some names, so many, and how many more there are: `A, B and 3 more`.
pub(crate) fn listed_first<S: Borrow<str>>(names: &[S], named: usize) -> String {
    let mut all: Vec<&str> = names.iter().take(named).map(S::borrow).collect();
    let more = format!("{} more", names.len().saturating_sub(named));
    all.extend((named < names.len()).then_some(more.as_str()));
    listed(&all)
}

/// The same of many names: `A, B, C, D and 12 more`.
pub(crate) fn listed_few<S: Borrow<str>>(names: &[S]) -> String {
    const FEW: usize = 4;
    // One more takes no more room than to say so.
    listed_first(
        names,
        if names.len() > FEW + 1 {
            FEW
        } else {
            names.len()
        },
    )
}

/// `2nd`, `64th`.
pub(crate) fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Bytes in hexadecimal digits, two each.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let text = String::with_capacity(2 * bytes.len());
    bytes.iter().fold(text, |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A part of one, in percent with one decimal: `96.8 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_microsecond_that_it_is_in() {
        for (ns, expected) in [
            (12_345_678_999, "12.345678"),
            (0, "0.000000"),
            (-1_500_000, "-0.001500"),
            (-1, "-0.000001"),
            (i64::MIN, "-9223372036.854776"),
        ] {
            assert_eq!(seconds(SessionTime(ns)), expected);
        }
        assert_eq!(moment(SessionTime(1)), "0.000000 s");
    }

    #[test]
    fn a_duration_has_one_decimal_and_the_unit_that_suits_it() {
        const S: i64 = 1_000_000_000;
        for (ns, expected) in [
            (0, "0 ns"),
            (949, "949 ns"),
            (1_500, "1.5 µs"),
            (999_949, "999.9 µs"),
            (999_950, "1.0 ms"),
            (-1_500_000, "-1.5 ms"),
            (205_400_000, "205.4 ms"),
            (999_999_999, "1.0 s"),
            (60 * S, "60.0 s"),
            (600 * S, "10.0 min"),
            (9_000 * S, "2.5 h"),
            (241_920 * S, "2.8 days"),
            (725_850_000 * S, "23.0 years"),
            (i64::MIN, "-292.3 years"),
        ] {
            assert_eq!(duration(ns), expected);
        }
    }

    #[test]
    fn bytes_are_exact_up_to_four_digits() {
        for (number, expected) in [
            (0, "0 B"),
            (9_999, "9999 B"),
            (12_345, "12.3 kB"),
            (999_999, "1.0 MB"),
            (10_000_000, "10.0 MB"),
            (u64::MAX, "18446744073.7 GB"),
        ] {
            assert_eq!(bytes(number), expected);
        }
    }

    #[test]
    fn one_is_not_a_plural() {
        let told = [0, 1, 2].map(|number| counted(number, "packet"));
        assert_eq!(told, ["0 packets", "1 packet", "2 packets"]);
    }
}

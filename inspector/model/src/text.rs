//! How numbers and names are written for people: one way everywhere.

pub use netreel_protocol::figures::{bytes, counted, duration, moment, percent, seconds};
use netreel_wire::{Name, Tree, TreeNode, Value};

/// How many packets: `1 packet`, `2 500 packets`.
pub fn packets(number: u64) -> String {
    many(number, "packet")
}

/// A number in groups of three digits, and what there is this many of.
pub fn many(number: u64, one: &str) -> String {
    let noun = counted(number, one);
    match number {
        0..1_000 => noun,
        _ => noun.replacen(&number.to_string(), &count(number), 1),
    }
}

/// A number with a thin gap between groups of three digits: `12 481`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A moment as the calendar and the clock have it, UTC: `2026-11-28` and `14:03:22.123456`. Given in ns
/// since 1970.
pub fn clock(utc_ns: i64) -> (String, String) {
    const DAY: i64 = 86_400_000_000;
    let micros = utc_ns.div_euclid(1_000);
    let (day, within) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let seconds = within / 1_000_000;
    let time = format!(
        "{:02}:{:02}:{:02}.{:06}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        within % 1_000_000
    );
    // Years that begin in March, in eras of 400: Howard Hinnant, "chrono-compatible low-level date
    // algorithms", civil_from_days.
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (format!("{year}-{month:02}-{of_month:02}"), time)
}

/// A field's name, or `[3]` for an element.
pub fn name(name: Name<'_>) -> String {
    match name {
        Name::Field(name) => name.to_string(),
        Name::Index(index) => format!("[{index}]"),
    }
}

/// Of more bytes of a field these are written.
const BYTES_MAX: usize = 16;

/// What a field says, on one line of at most about 80 characters.
pub fn value(value: &Value) -> String {
    match value {
        Value::Float(number) => float(*number),
        Value::Quantized { raw, value } => format!("{}  ({raw} raw)", float(*value)),
        Value::Enum { raw, name } => match name {
            Some(name) => format!("{name}  ({raw})"),
            None => format!("{raw}  (no name)"),
        },
        Value::Delta { change, value } => match value {
            Some(value) => format!("{value}  ({change:+})"),
            None => format!("unknown {change:+}"),
        },
        Value::Bytes(bytes) => {
            match bytes
                .get(..BYTES_MAX)
                .filter(|first| first.len() < bytes.len())
            {
                Some(first) => format!("{} … {} bytes", hex(first), bytes.len()),
                None => hex(bytes),
            }
        }
        value => short(&value.to_string()),
    }
}

/// Bytes as they are looked at: `04 84 ff`.
pub fn hex(bytes: &[u8]) -> String {
    let each: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    each.join(" ")
}

/// The names of a field and of those around it, the innermost first, without the places in repeats.
pub fn names<'t>(tree: &'t Tree, node: TreeNode<'t>) -> impl Iterator<Item = &'t str> {
    let mut at = Some(node);
    std::iter::from_fn(move || {
        while let Some(it) = at {
            // The root has no name.
            at = tree.get(it.parent()?);
            if let Name::Field(name) = it.name() {
                return Some(name);
            }
        }
        None
    })
}

/// The path of a field: `messages.create.object`; `None` for the root.
pub fn path_of(tree: &Tree, node: TreeNode<'_>) -> Option<String> {
    let mut names: Vec<&str> = names(tree, node).collect();
    names.reverse();
    (!names.is_empty()).then(|| names.join("."))
}

/// The last names of a field's path, so many of them.
pub fn last_names(path: &str, count: usize) -> String {
    let names: Vec<&str> = path.split('.').collect();
    names[names.len().saturating_sub(count)..].join(".")
}

fn float(number: f64) -> String {
    if number != 0.0 && (number.abs() < 1e-4 || number.abs() >= 1e9) {
        format!("{number:.4e}")
    } else {
        let text = format!("{number:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" {
            "0".to_owned()
        } else {
            text.to_owned()
        }
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= 80 {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(79).collect();
    cut.push('…');
    cut
}

/// A value in as many characters as there is room for: without its unit, without blanks, then with
/// fewer decimals. What is still too long is left as it is.
pub fn narrow(value: &str, characters: usize) -> String {
    let fits = |text: &str| text.chars().count() <= characters;
    if fits(value) {
        return value.to_owned();
    }
    let bare = match value.rfind(')') {
        Some(end) => value.get(..=end).unwrap_or(value),
        None => value,
    };
    if fits(bare) {
        return bare.to_owned();
    }
    let close = bare.replace(", ", ",");
    if fits(&close) {
        return close;
    }
    let rounded = [2, 1, 0].map(|decimals| rounded(&close, decimals));
    rounded
        .into_iter()
        .find(|text| fits(text))
        .unwrap_or_else(|| value.to_owned())
}

/// With at most this many digits behind each point.
fn rounded(text: &str, decimals: usize) -> String {
    let mut out = String::new();
    let mut number = String::new();
    let flush = |number: &mut String, out: &mut String| {
        let behind = number.split_once('.').map_or(0, |(_, behind)| behind.len());
        match number.parse::<f64>() {
            Ok(value) if behind > decimals => {
                let text = format!("{value:.decimals$}");
                // Nothing is less than nothing.
                out.push_str(if text.chars().all(|c| matches!(c, '-' | '0' | '.')) {
                    text.trim_start_matches('-')
                } else {
                    &text
                });
            }
            _ => out.push_str(number),
        }
        number.clear();
    };
    for letter in text.chars() {
        if letter.is_ascii_digit() || matches!(letter, '.' | '-') {
            number.push(letter);
        } else {
            flush(&mut number, &mut out);
            out.push(letter);
        }
    }
    flush(&mut number, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (12_481, "12 481"),
            (1_000_000, "1 000 000"),
        ] {
            assert_eq!(count(number), expected);
        }
    }

    #[test]
    fn a_moment_is_what_the_calendar_says() {
        for (seconds, date, time) in [
            (0, "1970-01-01", "00:00:00.000000"),
            (951_782_399, "2000-02-28", "23:59:59.000000"),
            (951_782_400, "2000-02-29", "00:00:00.000000"),
            (1_795_860_299, "2026-11-28", "10:04:59.000000"),
            (-1, "1969-12-31", "23:59:59.000000"),
        ] {
            let expected = (date.to_owned(), time.to_owned());
            assert_eq!(clock(seconds * 1_000_000_000), expected);
        }
    }

    #[test]
    fn a_value_without_a_name_says_so() {
        assert_eq!(value(&Value::Enum { raw: 9, name: None }), "9  (no name)");
        assert_eq!(value(&Value::Float(1.5)), "1.5");
        assert!(value(&Value::Bytes(vec![0; 20])).ends_with("… 20 bytes"));
    }

    #[test]
    fn a_value_loses_what_tells_least_first() {
        let position = "(24.40, 35.96, -0.01) m";
        for (characters, expected) in [
            (30, position),
            (21, "(24.40, 35.96, -0.01)"),
            (19, "(24.40,35.96,-0.01)"),
            (15, "(24.4,36.0,0.0)"),
            (12, "(24,36,0)"),
            (4, position),
        ] {
            assert_eq!(narrow(position, characters), expected, "{characters}");
        }
        assert_eq!(narrow("player 127.0.0.1", 8), "player 127.0.0.1");
    }
}

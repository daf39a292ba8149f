//! What a filter says that its writer may not have meant.

/// The fields that are lengths of time, and short ones nearly always.
const LENGTHS: [&str; 2] = ["late", "rtt"];

/// A length of time without a unit is in seconds, which few mean who write `late > 100`.
pub(crate) fn seconds(filter: &str) -> Option<String> {
    let words = words(filter);
    let bare = words.windows(3).find_map(|three| match three {
        [field, comparison, number]
            if LENGTHS.contains(field) && comparison.starts_with(['<', '>', '=', '!']) =>
        {
            let value: f64 = number.parse().ok()?;
            (value >= 2.0).then_some((*field, *comparison, *number))
        }
        _ => None,
    });
    let (field, comparison, number) = bare?;
    Some(format!(
        "{field} {comparison} {number} means {number} seconds; write {number}ms for milliseconds"
    ))
}

/// Names, numbers with their units, and signs.
fn words(filter: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '.' || c == '_' => 0,
        c if c.is_whitespace() => 1,
        '<' | '>' | '=' | '!' => 2,
        _ => 3,
    };
    let mut words = Vec::new();
    let mut rest = filter;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|c| class(c) != class(first))
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if !first.is_whitespace() {
            words.push(word);
        }
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(filter: &str, expected: Option<&str>) {
        assert_eq!(seconds(filter).as_deref(), expected);
    }

    #[test]
    fn a_length_without_a_unit_is_pointed_out() {
        let said = "late > 100 means 100 seconds; write 100ms for milliseconds";
        check("late > 100", Some(said));
        check("from == A && (late>100)", Some(said));
    }

    #[test]
    fn units_short_lengths_and_times_of_day_are_left_alone() {
        for filter in [
            "late > 100ms",
            "late > 0.1",
            "time > 100",
            "sequence == 100",
            "late",
        ] {
            check(filter, None);
        }
    }
}

//! Texts with places to be filled: `{port}`, `{seed}`, `{reels}`.

use std::collections::BTreeMap;

/// What the runner fills itself for a node of a match; `{port.NAME}` besides, a free port that all nodes of
/// a match know, and `{address.NODE}`, where a node is.
pub(crate) const OWN: [&str; 10] = [
    "address", "console", "match", "netreel", "node", "port", "reels", "role", "run", "seed",
];

/// What it fills for a run: before there is a match.
pub(crate) const OF_A_RUN: [&str; 2] = ["netreel", "run"];

/// Whether all places of a text can be filled by what is `own` and by `values`; else what is wrong.
pub(crate) fn check(
    text: &str,
    own: &[&str],
    values: &BTreeMap<String, String>,
) -> Result<(), String> {
    let named: Vec<&str> = [("port", "port.NAME"), ("address", "address.NODE")]
        .into_iter()
        .filter_map(|(it, of)| own.contains(&it).then_some(of))
        .collect();
    let known = |name: &str| {
        let (of, which) = name.split_once('.').unwrap_or((name, ""));
        let is_named = !which.is_empty() && ["port", "address"].contains(&of) && own.contains(&of);
        (is_named || own.contains(&name) || values.contains_key(name)).then(String::new)
    };
    match fill(text, &mut |name| known(name).ok_or(())) {
        Ok(_) => Ok(()),
        Err(Unfilled::Open) => Err("a { is not closed: write {{ for the letter".to_owned()),
        Err(Unfilled::Name(name, ())) => {
            let values = values.keys().map(String::as_str);
            let known: Vec<&str> = own.iter().copied().chain(named).chain(values).collect();
            Err(format!(
                "nobody fills {{{name}}}; there are {}",
                known.join(", ")
            ))
        }
    }
}

/// Why a text cannot be filled.
pub(crate) enum Unfilled<E> {
    /// A brace that is not closed.
    Open,
    /// A place that nobody fills, or whose value cannot be had.
    Name(String, E),
}

/// Fills each `{NAME}`; `{{` and `}}` are braces.
pub(crate) fn fill<E>(
    text: &str,
    value: &mut dyn FnMut(&str) -> Result<String, E>,
) -> Result<String, Unfilled<E>> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let (brace, behind) = rest[at..].split_at(1);
        if let Some(behind) = behind.strip_prefix(brace) {
            filled.push_str(brace);
            rest = behind;
            continue;
        }
        if brace == "}" {
            filled.push('}');
            rest = behind;
            continue;
        }
        let (name, behind) = behind.split_once('}').ok_or(Unfilled::Open)?;
        filled.push_str(&value(name).map_err(|why| Unfilled::Name(name.to_owned(), why))?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// A word as a shell reads it, whatever is in it.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_braces_are_kept() {
        let mut value = |name: &str| match name {
            "node" => Ok("A".to_owned()),
            _ => Err(()),
        };
        let filled = fill("{node}.{{x}} }", &mut value).ok();
        assert_eq!(filled.as_deref(), Some("A.{x} }"));
        assert!(matches!(fill("{node", &mut value), Err(Unfilled::Open)));
        assert!(matches!(fill("{x}", &mut value), Err(Unfilled::Name(name, ())) if name == "x"));
    }

    #[test]
    fn a_shell_reads_a_word_back() {
        for word in ["plain", "", "with blank", "it's", "$(rm)", "a;b"] {
            let printed = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(printed.stdout).unwrap(), word);
        }
    }
}

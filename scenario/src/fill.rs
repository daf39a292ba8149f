//! Texts with places to be filled: `{port}`, `{seed}`, `{reels}`; the values of a scenario, and the files of
//! its secrets.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::mistake::{Wrong, wrong};
use crate::secrets::Source;

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

/// Where a secret comes from, as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretAs {
    file: Option<String>,
    environment: Option<String>,
}

/// The values of the file, with those of the command line in their place.
pub(super) fn values(
    own: &BTreeMap<String, Spanned<toml::Value>>,
    set: &[(String, String)],
) -> Result<BTreeMap<String, String>, Wrong> {
    let mut values = BTreeMap::new();
    for (name, value) in own {
        let text = match value.as_ref() {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(is_so) => is_so.to_string(),
            _ => {
                let why = format!("the value {name} is a text, a number, true or false");
                return wrong(value.span(), why);
            }
        };
        if OWN.contains(&name.as_str()) {
            let why = format!("{{{name}}} is filled by the runner: call the value otherwise");
            return wrong(value.span(), why);
        }
        values.insert(name.clone(), text);
    }
    for (name, value) in set {
        let known: Vec<&str> = own.keys().map(String::as_str).collect();
        let why = if known.is_empty() {
            format!("--set {name}: the file has no [values]")
        } else {
            format!("--set {name}: [values] has {}", known.join(", "))
        };
        let own = values.get_mut(name).ok_or(Wrong::new(0..0, why))?;
        own.clone_from(value);
    }
    Ok(values)
}

/// Where the secrets of the file come from.
pub(super) fn secrets(
    own: &BTreeMap<String, Spanned<SecretAs>>,
    folder: &Path,
) -> Result<BTreeMap<String, Source>, Wrong> {
    let each = own.iter().map(|(name, secret)| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
        let source = match secret.as_ref() {
            _ if !name.chars().all(is_plain) => {
                let why = "a secret's name is of letters, digits, - and _";
                return wrong(secret.span(), why);
            }
            SecretAs {
                file: Some(file),
                environment: None,
            } => Source::File(folder.join(file)),
            SecretAs {
                file: None,
                environment: Some(variable),
            } => Source::Environment(variable.clone()),
            _ => {
                let why = format!(
                    "the secret {name} comes from {{ file = \"FILE\" }} or {{ environment = \"VARIABLE\" }}"
                );
                return wrong(secret.span(), why);
            }
        };
        Ok((name.clone(), source))
    });
    each.collect()
}

/// What a text of a node can be filled with.
pub(super) type Fillers<'a> = (&'a BTreeMap<String, String>, &'a BTreeMap<String, Source>);

/// A text whose places can be filled.
pub(super) fn checked(
    text: &Spanned<String>,
    own: &[&str],
    values: &BTreeMap<String, String>,
) -> Result<String, Wrong> {
    match check(text.as_ref(), own, values) {
        Ok(()) => Ok(text.as_ref().clone()),
        Err(why) => wrong(text.span(), why),
    }
}

/// A text of a node whose places can be filled, those of secrets as well.
pub(super) fn checked_with_secrets(
    text: &Spanned<String>,
    (values, secrets): Fillers<'_>,
    is_here: bool,
) -> Result<String, Wrong> {
    let mut known = values.clone();
    let names = secrets.keys().map(|name| format!("secret.{name}"));
    known.extend(names.map(|name| (name, String::new())));
    let checked = checked(text, &OWN, &known)?;
    if checked.contains("{secret.") && !is_here {
        wrong(
            text.span(),
            "a secret is in a file of this machine: another one is brought the file",
        )
    } else {
        Ok(checked)
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

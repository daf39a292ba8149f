//! What texts of a scenario are filled with: its values, and the files of its secrets.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::fill;
use crate::mistake::Wrong;
use crate::secrets::Source;

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
                return Err(Wrong::new(value.span(), why));
            }
        };
        if fill::OWN.contains(&name.as_str()) {
            let why = format!("{{{name}}} is filled by the runner: call the value otherwise");
            return Err(Wrong::new(value.span(), why));
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
                return Err(Wrong::new(secret.span(), why));
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
                return Err(Wrong::new(secret.span(), why));
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
    match fill::check(text.as_ref(), own, values) {
        Ok(()) => Ok(text.as_ref().clone()),
        Err(why) => Err(Wrong::new(text.span(), why)),
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
    let checked = checked(text, &fill::OWN, &known)?;
    if checked.contains("{secret.") && !is_here {
        Err(Wrong::new(
            text.span(),
            "a secret is in a file of this machine: another one is brought the file",
        ))
    } else {
        Ok(checked)
    }
}

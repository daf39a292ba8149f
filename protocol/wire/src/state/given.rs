//! What a connection keeps, as a test says it.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{ConnectionState, RowValue, RowsShape, StateField, StateKind};
use crate::json::{Leaf, bytes_of_hex};
use crate::suggest;

impl ConnectionState {
    /// Sets fields by their names: integers and truth values, texts and bytes (as `{"raw": HEX}`),
    /// structs as objects, tables as lists of `{key, value}`. What there is for each direction is set
    /// for both.
    ///
    /// # Errors
    /// The field, and why it cannot be set so.
    pub(crate) fn give(
        &mut self,
        fields: &[StateField],
        given: &Map<String, Json>,
    ) -> Result<(), (String, String)> {
        for (name, json) in given {
            let refused = |why: String| (format!("state.{name}"), why);
            let Some(field) = fields.iter().find(|field| *field.name == **name) else {
                let names = fields.iter().map(|field| &*field.name);
                let hint = suggest::hint(name, names);
                return Err(refused(format!("there is no such field{hint}")));
            };
            for place in field.place..=field.place + u16::from(field.each) {
                let given = match field.kind {
                    StateKind::Rows(shape) => self.give_rows(field, place, shape, json),
                    kind => self.give_one(kind, place, json),
                };
                given.map_err(refused)?;
            }
        }
        Ok(())
    }

    fn give_one(&mut self, kind: StateKind, place: u16, json: &Json) -> Result<(), String> {
        match (kind, json) {
            (StateKind::Integer { .. }, _) => {
                self.set_integer(place, None, Some(integer(json)?));
                Ok(())
            }
            (StateKind::Content, _) => self.give_content(place, None, json),
            (StateKind::Integers { .. } | StateKind::Contents { .. }, Json::Array(entries)) => {
                for entry in entries {
                    let (key, value) = key_and_value(entry)?;
                    if let StateKind::Integers { .. } = kind {
                        self.set_integer(place, Some(key), Some(integer(value)?));
                    } else {
                        self.give_content(place, Some(key), value)?;
                    }
                }
                Ok(())
            }
            (StateKind::Parts { .. } | StateKind::Stream, _) => {
                Err("a test cannot begin in the middle of a message".to_owned())
            }
            (_, other) => Err(expected(other)),
        }
    }

    /// Structs, and tables in tables.
    fn give_rows(
        &mut self,
        field: &StateField,
        place: u16,
        shape: RowsShape,
        json: &Json,
    ) -> Result<(), String> {
        let mut entries = vec![(Vec::new(), json)];
        for _ in 0..shape.keys() {
            let mut inside = Vec::new();
            for (keys, table) in entries {
                for entry in table.as_array().ok_or_else(|| expected(table))? {
                    let (key, value) = key_and_value(entry)?;
                    let mut keys: Vec<i128> = keys.clone();
                    keys.push(key);
                    inside.push((keys, value));
                }
            }
            entries = inside;
        }
        for (keys, row) in entries {
            for (value, json) in values_of(row, String::new()) {
                let named = || field.values.iter().map(|(name, _)| name.as_str());
                let Some(at) = named().position(|name| name == value) else {
                    let hint = suggest::hint(&value, named());
                    return Err(format!("nothing called `{value}` is kept{hint}"));
                };
                let is_content = field.values.get(at).is_some_and(|(_, content)| *content);
                let kept = if is_content {
                    RowValue::Content(Arc::new(content(json)?))
                } else {
                    RowValue::of(integer(json)?)
                };
                if let Some(rows) = self.rows_mut(place) {
                    rows.set(&keys, at as u16, kept);
                }
            }
        }
        Ok(())
    }

    fn give_content(&mut self, place: u16, key: Option<i128>, json: &Json) -> Result<(), String> {
        let bytes = content(json)?;
        self.set_content(place, key, bytes.len(), |to| to.extend_from_slice(&bytes))
            .map_err(|_| format!("{} bytes are more than a field keeps", bytes.len()))
    }
}

/// The values in an object with objects in it, each with its whole name; what is no object is one
/// without a name.
fn values_of(json: &Json, name: String) -> Vec<(String, &Json)> {
    let is_struct = |fields: &Map<String, Json>| !fields.contains_key("raw");
    match json.as_object().filter(|fields| is_struct(fields)) {
        None => vec![(name, json)],
        Some(fields) => fields
            .iter()
            .flat_map(|(inner, json)| {
                let whole = if name.is_empty() {
                    inner.clone()
                } else {
                    format!("{name}.{inner}")
                };
                values_of(json, whole)
            })
            .collect(),
    }
}

fn content(json: &Json) -> Result<Vec<u8>, String> {
    let leaf = Leaf::of(json)?;
    match (leaf.raw, leaf.value) {
        (Some(raw), _) => bytes_of_hex(raw),
        (None, Some(Json::String(text))) => Ok(text.as_bytes().to_vec()),
        _ => Err(format!("{json} is neither a text nor bytes")),
    }
}

/// An entry of a table.
fn key_and_value(entry: &Json) -> Result<(i128, &Json), String> {
    let part = |name| entry.get(name).ok_or_else(|| expected(entry));
    Ok((integer(part("key")?)?, part("value")?))
}

fn expected(found: &Json) -> String {
    format!("expected [{{ key: ..., value: ... }}], found {found}")
}

fn integer(json: &Json) -> Result<i128, String> {
    let number = json
        .as_i64()
        .map(i128::from)
        .or_else(|| json.as_u64().map(i128::from))
        .or_else(|| json.as_bool().map(i128::from));
    number.ok_or_else(|| format!("{json} is not an integer"))
}

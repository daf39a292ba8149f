//! What a connection keeps, as a test says it.

use serde_json::{Map, Value as Json};

use super::{ConnectionState, StateField, StateKind};
use crate::json::{Leaf, bytes_of_hex};
use crate::suggest::did_you_mean;

impl ConnectionState {
    /// Sets fields by their names: integers and truth values, texts and bytes (as `{"raw": HEX}`),
    /// tables as lists of `{key, value}`. What there is for each direction is set for both.
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
                let hint = did_you_mean(name, names);
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                return Err(refused(format!("there is no such field{hint}")));
            };
            for place in field.place..=field.place + u16::from(field.each) {
                self.give_one(field.kind, place, json).map_err(refused)?;
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
                    let part = |name| entry.get(name).ok_or_else(|| expected(entry));
                    let (key, value) = (integer(part("key")?)?, part("value")?);
                    if let StateKind::Integers { .. } = kind {
                        self.set_integer(place, Some(key), Some(integer(value)?));
                    } else {
                        self.give_content(place, Some(key), value)?;
                    }
                }
                Ok(())
            }
            (StateKind::Integers { .. } | StateKind::Contents { .. }, other) => {
                Err(expected(other))
            }
            (StateKind::Parts { .. } | StateKind::Stream, _) => {
                Err("a test cannot begin in the middle of a message".to_owned())
            }
        }
    }

    fn give_content(&mut self, place: u16, key: Option<i128>, json: &Json) -> Result<(), String> {
        let leaf = Leaf::of(json)?;
        let bytes = match (leaf.raw, leaf.value) {
            (Some(raw), _) => bytes_of_hex(raw)?,
            (None, Some(Json::String(text))) => text.as_bytes().to_vec(),
            _ => return Err(format!("{json} is neither a text nor bytes")),
        };
        self.set_content(place, key, bytes.len(), |to| to.extend_from_slice(&bytes))
            .map_err(|_| format!("{} bytes are more than a field keeps", bytes.len()))
    }
}

fn expected(found: &Json) -> String {
    format!("expected [{{ key: ..., value: ... }}], found {found}")
}

fn integer(json: &Json) -> Result<i128, String> {
    let number = json.as_i64().map(i128::from);
    let number = number.or_else(|| json.as_u64().map(i128::from));
    let number = number.or_else(|| json.as_bool().map(i128::from));
    number.ok_or_else(|| format!("{json} is not an integer"))
}

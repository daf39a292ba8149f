//! What the wire calls the types of objects.

use std::collections::BTreeMap;
use std::sync::Mutex;

use netreel_protocol::history::{History, Object};
use netreel_protocol::session::Session;
use netreel_wire::Value;

/// A broken packet shall not hide a name, nor cost a frame: this many packets are decoded for a name.
const TRIES_MAX: u32 = 4;

/// How many deliveries of an object are looked at for one that says its type.
const DELIVERIES_MAX: usize = 64;

/// Names of object types, looked for when an object of the type is drawn.
#[derive(Debug, Default)]
pub struct TypeNames {
    found: Mutex<BTreeMap<u64, Name>>,
}

#[derive(Clone, Debug, Default)]
struct Name {
    name: Option<String>,
    tries: u32,
}

impl TypeNames {
    /// The name of a type, from messages about an object that has it.
    pub fn name(&self, session: &Session, history: &History, object: &Object) -> Option<String> {
        let kind = object.object_type?;
        let mut found = self.found.lock().ok()?;
        let known = found.entry(kind).or_default();
        if known.name.is_none() && known.tries < TRIES_MAX {
            known.look(session, history, object, kind);
        }
        known.name.clone()
    }
}

impl Name {
    /// Decodes packets that say the type until one of them names it.
    fn look(&mut self, session: &Session, history: &History, object: &Object, kind: u64) {
        let telling = object
            .deliveries
            .iter()
            .take(DELIVERIES_MAX)
            .filter_map(|&place| history.deliveries.get(place as usize))
            .filter_map(|delivery| session.message(delivery.message))
            .filter(|message| message.facts.object_type == Some(kind));
        for message in telling {
            if self.name.is_some() || self.tries == TRIES_MAX {
                return;
            }
            self.tries += 1;
            let Some(decoded) = session.decode(message.packet) else {
                continue;
            };
            self.name = decoded
                .tree
                .iter()
                .filter(|field| field.annotation() == Some("object_type"))
                .into_iter()
                .find_map(|field| match field.value() {
                    Value::Enum {
                        raw,
                        name: Some(name),
                    } if raw == kind => Some(name.to_string()),
                    _ => None,
                });
        }
    }
}

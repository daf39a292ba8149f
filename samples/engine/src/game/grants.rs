//! HOST's answers to whoever asks for an object: it is theirs.

use std::collections::BTreeSet;

use super::Hands;
use crate::call::Call;
use crate::event::Event;
use crate::message::{ObjectId, Peer};

/// The most requests that wait.
const WANTED_MAX: usize = 64;

/// Gives everybody the object that they ask for, at once or as soon as HOST hears of it. At other
/// nodes it never has anything to do.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// Who asked for objects that HOST has not heard of yet.
    wanted: BTreeSet<(ObjectId, Peer)>,
}

impl Grants {
    /// Something happened.
    pub fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        match *event {
            Event::Requested { object, by } => {
                if hands.layer().object(object).is_some() {
                    hands.call(&Call::Migrate { object, to: by });
                } else if self.wanted.len() < WANTED_MAX {
                    self.wanted.insert((object, by));
                }
            }
            Event::Created { object, .. } => {
                let waiting: Vec<_> = self
                    .wanted
                    .iter()
                    .copied()
                    .filter(|&(id, _)| id == object)
                    .collect();
                for (object, by) in waiting {
                    self.wanted.remove(&(object, by));
                    hands.call(&Call::Migrate { object, to: by });
                }
            }
            _ => {}
        }
    }
}

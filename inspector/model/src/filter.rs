//! The filter: an expression of the query language and the packets that it takes.

use netreel_protocol::history::History;
use netreel_protocol::query::Query;
use netreel_protocol::session::{PacketId, Session};

use crate::index::Crowd;

/// The filter in force and the text that is being typed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// As it was typed.
    pub text: String,
    /// What is wrong with the text. Where it cannot be read, the last good expression stays in
    /// force.
    pub error: Option<String>,
    pub(crate) rows: Vec<PacketId>,
    crowd: Option<Crowd>,
}

impl Filter {
    /// Whether it leaves packets out.
    pub fn is_narrow(&self) -> bool {
        self.crowd.is_some()
    }

    /// The packets that it takes, ready to be drawn; `None` where it takes all.
    pub(crate) fn crowd(&self) -> Option<&Crowd> {
        self.crowd.as_ref()
    }

    /// Takes a new text.
    pub(crate) fn set(&mut self, text: String, session: &Session, history: &History) {
        self.text = text;
        self.error = None;
        if self.text.trim().is_empty() {
            self.crowd = None;
            self.rows.clear();
            return;
        }
        match Query::parse(&self.text) {
            Ok(query) => {
                self.rows = (0..session.packets.len())
                    .map(|place| PacketId(place as u32))
                    .filter(|&packet| query.packet(session, history, packet))
                    .collect();
                self.crowd = Some(Crowd::new(session, history, self.rows.iter().copied()));
                // A name that nothing has is a slip more often than a question.
                let unknown = query.unknown_names(session);
                self.error = (!unknown.is_empty()).then(|| unknown.join("; "));
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }
}

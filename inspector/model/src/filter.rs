//! The filter: an expression of the query language and the packets that it takes.

use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, Session};

/// The filter in force and the text that is being typed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// As it was typed.
    pub text: String,
    /// What is wrong with the text; the last good expression stays in force.
    pub error: Option<String>,
    pub(crate) rows: Vec<PacketId>,
    narrow: bool,
}

impl Filter {
    /// Whether it leaves packets out.
    pub fn is_narrow(&self) -> bool {
        self.narrow
    }

    /// Takes a new text.
    pub(crate) fn set(&mut self, text: String, session: &Session, history: &History) {
        self.text = text;
        self.error = None;
        if self.text.trim().is_empty() {
            self.narrow = false;
            self.rows.clear();
            return;
        }
        match crate::contract::filtered(&self.text, session, history) {
            Ok(rows) => {
                self.rows = rows;
                self.narrow = true;
            }
            Err(error) => self.error = Some(error),
        }
    }
}

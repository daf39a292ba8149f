//! The filter language on the plain fields of packets and messages.
//!
//! `from == A && kind == create && object == 42 && time > 1.2s && lost`
//!
//! | field | value | true of |
//! |---|---|---|
//! | `from`, `to` | a node's name | the packet's ends |
//! | `node` | a node's name | either end |
//! | `link` | `A->X` | the directed link |
//! | `packet` | a number | the packet's number |
//! | `kind` | a kind's name, as the wire spells it | the message |
//! | `channel` | `reliable`, `unreliable` | the message |
//! | `object`, `owner`, `counter`, `origin` | a number; `owner` and `origin` also a node's name | the message |
//! | `sequence`, `ack`, `length` | a number | the packet |
//! | `time`, `received` | a length of time | when it was sent (or first seen), when received |
//! | `late`, `rtt` | a length of time | from send to receipt, from send to learning of it |
//! | `rule` | a finding's rule | the packet is a finding's evidence |
//! | `level` | `error`, `warning`, `info`, in this order | the packet is a finding's evidence |
//! | `effect` | `created`, `stale`, ... | the message did that somewhere |
//! | `create.color`, `any(color)`, `all(color)` | a number, a text | fields of the wire, see [`path`] |
//!
//! Alone, a field is true where it has a value; `lost`, `received`, `unknown`, `failed`, `unread`,
//! `duplicated`, `doubtful`, `acked`, `reliable`, `unreliable`, `resent`, `undecodable` and `finding` are
//! words of their own. A comparison with a field that has no value is false, whatever it compares. A packet
//! passes where one of its messages does, or where it has none and passes without; a finding where a piece of
//! its evidence does, or where it has none and passes without.

mod believed;
mod candidates;
mod error;
mod eval;
mod expr;
mod many;
mod parse;
mod path;
mod token;

pub use believed::AtANode;
pub use error::QueryError;
pub use expr::Query;

use crate::history::{Evidence, Finding, History};
use crate::session::{MessageId, PacketId, Session};

impl Query {
    /// Reads a filter. An empty text lets everything pass.
    ///
    /// # Errors
    /// The first thing that does not fit, with its column and what was expected there.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        parse::parse(text, false).map(|root| Query { root })
    }

    /// Reads a condition at a node: a filter that may speak of what the node believes as well, as in
    /// `objects[42].owner == X` ([`Query::at_a_node`]).
    ///
    /// # Errors
    /// As for [`Query::parse`].
    pub fn parse_at_a_node(text: &str) -> Result<Query, QueryError> {
        parse::parse(text, true).map(|root| Query { root })
    }

    /// What may stand where a filter ends in a `?`, in a sentence; what stands right before the `?`
    /// begins it. `None` where it does not end so. `own_rules`: as for
    /// [`Query::unknown_names_beside`].
    pub fn asked(text: &str, session: &Session, own_rules: &[&str]) -> Option<String> {
        let words = candidates::candidates(text, session, own_rules)?;
        Some(match words.as_slice() {
            [] => "nothing that can be listed may stand here".to_owned(),
            words => format!("here may stand {}", words.join(", ")),
        })
    }

    /// What may stand at the end of a filter that is being typed, each with all of the text up to there:
    /// names, signs and values that are known. Nothing where nothing can be listed, or what stands there
    /// is whole.
    pub fn completions(before: &str, session: &Session) -> Vec<(String, String)> {
        let Some((length, all)) = candidates::begun(before, session, &[]) else {
            return Vec::new();
        };
        let kept = before.get(..before.len() - length).unwrap_or(before);
        let typed = all.into_iter().map(|word| (format!("{kept}{word}"), word));
        typed.filter(|(text, _)| text != before).collect()
    }

    /// Whether a filter that is being typed ends amid a word: in what some known words begin with and none
    /// is.
    pub fn ends_amid_a_word(before: &str, session: &Session) -> bool {
        let Some((length, all)) = candidates::begun(before, session, &[]) else {
            return false;
        };
        let typed = before.get(before.len() - length..).unwrap_or("");
        !typed.is_empty() && !all.is_empty() && all.iter().all(|word| word != typed)
    }

    /// Whether a packet passes: one of its messages does, or it has none and passes without.
    pub fn packet(&self, session: &Session, history: &History, packet: PacketId) -> bool {
        let passes = Query::of_packet(session, history, packet, |subject| {
            if !self.root.is_about_messages() {
                return subject.passes(&self.root);
            }
            let mut messages = session.messages_of(packet).peekable();
            if messages.peek().is_none() {
                return subject.passes(&self.root);
            }
            messages.any(|(message, facts)| {
                let message = Some((message, &facts));
                eval::Subject { message, ..subject }.passes(&self.root)
            })
        });
        passes.unwrap_or(false)
    }

    /// Asks of a packet, which is read once; `None` where there is none.
    fn of_packet<T>(
        session: &Session,
        history: &History,
        packet: PacketId,
        ask: impl FnOnce(eval::Subject<'_, '_>) -> T,
    ) -> Option<T> {
        let found = session.packet(packet)?;
        let (history, asked) = (|| history, eval::Asked::default());
        let subject = eval::Subject::of(session, &history, (packet, &found), &asked);
        Some(ask(subject))
    }

    /// Whether a message passes.
    pub fn message(&self, session: &Session, history: &History, message: MessageId) -> bool {
        let Some(known) = session.message(message) else {
            return false;
        };
        let passes = Query::of_packet(session, history, known.packet, |subject| {
            let message = Some((message, &known.facts));
            eval::Subject { message, ..subject }.passes(&self.root)
        });
        passes.unwrap_or(false)
    }

    /// The messages of a packet that pass, in its order. The packet is read once for all of them.
    pub(crate) fn messages(
        &self,
        session: &Session,
        history: &History,
        packet: PacketId,
    ) -> Vec<MessageId> {
        let passing = Query::of_packet(session, history, packet, |subject| {
            let messages = session.messages_of(packet);
            let passing = messages.filter(|(message, facts)| {
                let message = Some((*message, facts));
                eval::Subject { message, ..subject }.passes(&self.root)
            });
            passing.map(|(message, _)| message).collect()
        });
        passing.unwrap_or_default()
    }

    /// Whether a finding passes: with one of the messages of its evidence, or without any where it has none;
    /// where it tells of several objects, with one of them and its evidence. `rule`, `level`, `node`,
    /// `object` and `time` are its own; every other field and word is about the message of the evidence and
    /// its packet.
    pub fn finding(&self, session: &Session, history: &History, finding: &Finding) -> bool {
        let alone = eval::Subject {
            session,
            history: &|| history,
            id: PacketId::default(),
            packet: None,
            message: None,
            finding: Some(finding),
            object: None,
            asked: &eval::Asked::default(),
        };
        let passes = |object: Option<u64>, piece: &Evidence| {
            let packet = session.packet(piece.packet);
            let message = session.message(piece.message);
            let message = message.filter(|message| message.packet == piece.packet);
            let subject = eval::Subject {
                asked: &eval::Asked::default(),
                id: piece.packet,
                packet: packet.as_ref(),
                message: message.as_ref().map(|known| (piece.message, &known.facts)),
                object,
                ..alone
            };
            subject.passes(&self.root)
        };
        finding.told().any(|(_, object, evidence)| match evidence {
            [] => eval::Subject { object, ..alone }.passes(&self.root),
            pieces => pieces.iter().any(|piece| passes(object, piece)),
        })
    }

    /// Whether it speaks of what followed from the packets: acks, resends, deliveries, findings.
    pub fn is_about_history(&self) -> bool {
        self.root.is_about_history()
    }

    /// Whether the history decides what it takes: it speaks of that, or of how a message is sent,
    /// which of one in fragments the whole says.
    pub fn needs_history(&self) -> bool {
        self.is_about_history() || self.root.is_about_channels()
    }

    /// The names in the filter that nothing in the session has: a sentence each.
    pub fn unknown_names(&self, session: &Session) -> Vec<String> {
        self.unknown_names_beside(session, &[])
    }

    /// The same where these rules were asked beside those that are built in, by their ids.
    pub fn unknown_names_beside(&self, session: &Session, own_rules: &[&str]) -> Vec<String> {
        let mut sentences = Vec::new();
        eval::unknown_names(&self.root, session, own_rules, &mut sentences);
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::expr::{Field, Word};
    use crate::history::Effect;

    #[test]
    fn the_page_about_filters_has_every_field_word_and_effect() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/filter.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let fields = Field::all().map(|(name, _)| name);
        let words = Word::ALL.map(Word::name);
        for name in fields.chain(words).chain(Effect::ALL.map(Effect::name)) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}

//! `copies-differ`: a reliable message was sent again with another content.
//!
//! The receiver keeps the copy that comes first, and drops the others by their number: what nodes believe
//! depends on which packet was lost. So it goes where a sender keeps what to say by reference and writes it
//! anew for each copy. Fields that are another thing in each copy are no content: acks that travel with it,
//! when the copy was sent, and what the wire says is so. A field that differs in nearly all copies of
//! messages of one kind may be such a one that the wire does not name: an info. A number that is used again
//! after its message was acked is another message, and is not meant; nor is a number that starts anew.

use super::content::{content, have_same_bits};
use super::copies::{Copy, heard_of, resent};
use super::prelude::*;

/// How many pairs of copies of one sender and kind are compared: the first.
const COMPARED_MAX: u64 = 2048;

/// Where this many copies or more were compared,
const COMMON_MIN: u64 = 8;

/// a field that differs in this many in a hundred of them is of the copy.
const COMMON_PERCENT: u64 = 90;

/// A copy that says another thing than the first.
struct Other {
    to: NodeId,
    first: Copy,
    copy: Copy,
    /// The fields that differ: which, what the first said, and what this one says.
    fields: Vec<(String, String, String)>,
}

/// What the copies of a sender's messages of one kind are like.
#[derive(Default)]
struct Compared {
    count: u64,
    /// How often each field differed.
    fields: BTreeMap<String, u64>,
    others: Vec<Other>,
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let mut senders: BTreeMap<(NodeId, &'static str), Compared> = BTreeMap::new();
    for ((from, to), copies) in resent(session, case.streams) {
        let Some((first, again)) = copies.split_first() else {
            continue;
        };
        let Some(message) = session.message(first.message) else {
            continue;
        };
        let kind = word(session.role(&message.facts));
        let compared = senders.entry((from, kind)).or_default();
        // What was acked is not sent again: its number is another message's.
        let heard = heard_of(case, &copies).map(|at| at.time);
        let is_again = |copy: &&Copy| heard.is_none_or(|heard| copy.at <= heard);
        for &copy in again.iter().filter(is_again) {
            if compared.count == COMPARED_MAX {
                break;
            }
            compared.count += 1;
            compared.take(case, to, (*first, copy));
        }
    }
    let found = senders.into_iter().flat_map(|(sender, compared)| {
        let levels = [Level::Warning, Level::Info];
        levels.map(|level| compared.finding(case, sender, level))
    });
    // More may come, and they are counted.
    found.flatten().collect()
}

impl Compared {
    fn take(&mut self, case: &Case<'_>, to: NodeId, (first, copy): (Copy, Copy)) {
        if have_same_bits(case.session, first.message, copy.message) {
            return;
        }
        let said = |message: MessageId| content(case.session, message, &[]);
        let Some((one, other)) = said(first.message).zip(said(copy.message)) else {
            return;
        };
        let fields = differing(one, other);
        for (field, ..) in &fields {
            *self.fields.entry(field.clone()).or_default() += 1;
        }
        if !fields.is_empty() {
            self.others.push(Other {
                to,
                first,
                copy,
                fields,
            });
        }
    }

    /// Whether a field is of the copy rather than of the message.
    fn is_of_copy(&self, field: &str) -> bool {
        let differed = self.fields.get(field).copied().unwrap_or(0);
        self.count >= COMMON_MIN && differed * 100 >= self.count * COMMON_PERCENT
    }

    /// Of the fields that differ in some copies, a warning; of those that do in nearly all, an info.
    fn finding(&self, case: &Case<'_>, sender: (NodeId, &str), level: Level) -> Option<Found> {
        let (session, (from, kind)) = (case.session, sender);
        let is_common = level == Level::Info;
        let mut others = self.others.iter().filter_map(|it| {
            let mut fields = it.fields.iter();
            let field = fields.find(|(field, ..)| self.is_of_copy(field) == is_common)?;
            Some((it, field))
        });
        let (told, (field, one, other)) = others.next()?;
        let count = 1 + others.count() as u64;
        let facts = case.history.facts(session, told.first.message)?;
        let about = match facts.object {
            Some(object) => format!(" of object {object}"),
            None => String::new(),
        };
        let pieces = [
            sent(session, told.first.packet, "a reliable message sent first"),
            sent(
                session,
                told.copy.packet,
                "the same sent with another content",
            ),
        ];
        let what = if is_common {
            ", as in nearly all copies: perhaps it is another thing in each of them"
        } else {
            ", and the receiver keeps the one that comes first"
        };
        let sentence = format!(
            "{} sent {} {kind}{about} again with another content: {field} is {one} in packet \
             {} and {other} in packet {}{what}{}",
            session.name(from),
            session.name(told.to),
            told.first.packet,
            told.copy.packet,
            and_more(count)
        );
        Some(Found::proven(level, from, pieces, sentence)?.about(facts.object))
    }
}

/// What two messages differ in, field by field. Where one has other fields than the other, the first of
/// these.
fn differing(
    one: Vec<(String, String)>,
    other: Vec<(String, String)>,
) -> Vec<(String, String, String)> {
    let lengths = (one.len(), other.len());
    let mut fields = Vec::new();
    for ((field, one), (also, other)) in one.into_iter().zip(other) {
        if field != also {
            fields.push((field, one, format!("not there ({also} is)")));
            return fields;
        }
        if one != other {
            fields.push((field, one, other));
        }
    }
    if lengths.0 != lengths.1 && fields.is_empty() {
        let (one, other) = (lengths.0.to_string(), lengths.1.to_string());
        fields.push(("the number of fields".to_owned(), one, other));
    }
    fields
}

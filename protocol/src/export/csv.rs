//! Packets as comma-separated values (RFC 4180): one line a packet, no lists but the kinds.

use crate::history::History;
use crate::packet_fields::{PacketAt, PacketField};
use crate::session::{PacketId, Session};

/// The names of the columns, with commas between.
pub fn csv_columns() -> String {
    let names: Vec<&str> = PacketField::on(|it| it.csv).map(|(name, _)| name).collect();
    names.join(",")
}

/// A packet as one line, without its end. What is unknown is empty, of a list there is its length.
/// `None` where there is no such packet.
pub fn csv_row(session: &Session, history: &History, id: PacketId) -> Option<String> {
    PacketAt::with(session, &|| history, (id, None), |it| {
        let cells = PacketField::on(|it| it.csv).map(|(_, field)| quoted(&it.named(field).plain()));
        cells.collect::<Vec<String>>().join(",")
    })
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_comma_or_quotes_is_quoted() {
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(quoted("a b"), "a b");
    }
}

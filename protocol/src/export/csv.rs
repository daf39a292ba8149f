//! Packets as comma-separated values (RFC 4180): one line a packet, no lists but the kinds.

use crate::export::PacketJson;

/// The names of the columns, in the words of `packets --json`.
pub const CSV_COLUMNS: &str = "packet,from,to,sent_ns,received_ns,late_ns,duplicates,acked_ns,fate,\
                               length,sequence,ack,diagnostics,kinds,seen_ns";

/// A packet as one line, without its end. What is unknown is empty. `kinds` are the kinds of its
/// messages, in wire order, with blanks between them; `seen_ns` is when an observer saw it first.
pub fn csv_row(packet: &PacketJson) -> String {
    let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
    let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
    let kinds: Vec<&str> = packet
        .messages
        .iter()
        .map(|message| message.kind.as_deref().unwrap_or("?"))
        .collect();
    [
        packet.packet.to_string(),
        quoted(&packet.from),
        quoted(&packet.to),
        number(packet.sent_ns),
        number(packet.received_ns),
        number(packet.late_ns),
        packet.duplicates_ns.len().to_string(),
        number(packet.acked_ns),
        packet.fate.to_owned(),
        packet.length.to_string(),
        count(packet.sequence),
        count(packet.ack),
        packet.diagnostics.to_string(),
        quoted(&kinds.join(" ")),
        number(packet.seen.first().map(|seen| seen.time_ns)),
    ]
    .join(",")
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
    fn a_row_has_a_value_for_each_column() {
        let packet = PacketJson {
            from: "a, \"b\"".to_owned(),
            ..PacketJson::default()
        };
        let row = csv_row(&packet);
        assert!(
            row.starts_with("0,\"a, \"\"b\"\"\",,,,,0,,,0,,,0,"),
            "{row}"
        );
        let columns = CSV_COLUMNS.split(',').count();
        assert_eq!(row.replace("a, ", "").split(',').count(), columns);
    }
}

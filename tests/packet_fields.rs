//! JSON, comma-separated values, the printed table and a dataset have the fields of packets that
//! `protocol/src/packet_fields.rs` declares for them, and no others; a filter and the pages have all of
//! theirs. `inspector/model/tests/columns.rs` has the window's.

mod support;

use std::collections::BTreeSet;

use netreel_protocol::packet_fields::{Declaration, PacketField, SHOWN};
use netreel_protocol::query::Query;
use netreel_reel::{Event, EventNumber, Header, Record, ReelWriter, SocketId, ThreadId, Time};
use support::netreel;

/// A recorded session.
const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions/host");

/// What is said of packets beside their fields.
const MESSAGES: &str = "messages";

/// A wire of two protocols, the second of which takes any packet.
const TWO_PROTOCOLS: &str = "\
wire one { byte_order = little; bit_order = lsb; root = All; magic = x\"ffff\"; }
wire two { byte_order = little; bit_order = lsb; root = All; }
struct All { all: u8[until end]; }
";

/// What a line that is followed says of the event beside the packet's fields.
const OF_FOLLOW: [&str; 7] = ["node", "event", "time_ns", "what", "kinds", "of", "why"];

/// The keys that a line which is followed does not have: what a reel does not tell without the others, and
/// how many things a full decode has to say.
const LEFT_OUT_WHERE_FOLLOWED: [&str; 14] = [
    "packet",
    "sent_ns",
    "sent_event",
    "received_ns",
    "received_event",
    "late_ns",
    "duplicates_ns",
    "duplicates_events",
    "seen",
    "acked_ns",
    "fate",
    "faults",
    "cut",
    "diagnostics",
];

fn declared(surface: fn(&Declaration) -> &'static str) -> Vec<&'static str> {
    PacketField::on(surface).map(|(name, _)| name).collect()
}

fn out(arguments: &[&str]) -> String {
    netreel(arguments).expect(0).out
}

/// Where a surface lacks what is declared for it, or has more, a sentence says what to do.
#[track_caller]
fn check(surface: &str, found: &[String], declared: &[&str]) {
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let declared: BTreeSet<&str> = declared.iter().copied().collect();
    let lacking: Vec<&&str> = declared.difference(&found).collect();
    assert!(
        lacking.is_empty(),
        "{surface} lacks {lacking:?}, which packet_fields.rs declares for it: make it of the declaration"
    );
    let more: Vec<&&str> = found.difference(&declared).collect();
    assert!(
        more.is_empty(),
        "{surface} has {more:?}, which packet_fields.rs does not declare for it: declare it"
    );
}

/// The keys of the first line.
fn keys(lines: &str) -> Vec<String> {
    let line = lines.lines().next().expect("a packet");
    let keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).expect("an object");
    keys.keys().cloned().collect()
}

/// The keys of a packet of which nothing has to be said that few packets alone have.
fn plain_keys() -> Vec<&'static str> {
    let keys = PacketField::on(|it| it.json);
    let plain = keys.filter(|(_, field)| !field.declared().json_if_true);
    plain.map(|(key, _)| key).collect()
}

#[test]
fn a_line_of_json_has_the_declared_keys() {
    let found = keys(&out(&["packets", SESSION, "--json", "--no-index"]));
    let mut declared = plain_keys();
    // A wire of one protocol has no key for it.
    declared.retain(|it| *it != "protocol");
    declared.push(MESSAGES);
    check("packets --json", &found, &declared);
}

#[test]
fn a_line_of_json_has_the_protocol_where_the_wire_has_several() {
    let folder = tempfile::tempdir().expect("a folder");
    let wire = folder.path().join("two.wire");
    std::fs::write(&wire, TWO_PROTOCOLS).expect("a file");
    let wire = wire.to_str().expect("UTF-8");
    let found = keys(&out(&[
        "packets",
        SESSION,
        "--wire",
        wire,
        "--json",
        "--no-index",
    ]));
    let mut declared = plain_keys();
    declared.push(MESSAGES);
    check("packets --json", &found, &declared);
}

#[test]
fn a_line_that_is_followed_has_the_declared_keys_but_those_that_are_left_out() {
    let found = keys(&out(&["packets", SESSION, "--follow", "--json"]));
    let mut declared = plain_keys();
    declared.retain(|it| !LEFT_OUT_WHERE_FOLLOWED.contains(it) && *it != "protocol");
    declared.extend(OF_FOLLOW);
    check("packets --follow --json", &found, &declared);
}

/// What `export --format csv` writes of a session.
fn csv(session: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("packets.csv");
    let file = file.to_str().expect("UTF-8");
    let arguments = ["export", session, "--format", "csv", "--out", file];
    netreel(&[&arguments[..], &["--no-index"]].concat()).expect(0);
    std::fs::read_to_string(file).expect("a file")
}

/// The cells of a row, by RFC 4180: a comma between quotes ends none.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in row.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().expect("a cell").push(letter),
        }
    }
    cells
}

/// A reel of a node that sent one packet.
fn one_send(node: &str) -> Vec<u8> {
    let header = Header {
        node: node.to_owned(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let socket = SocketId(0);
    let (local, to) = (([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into());
    let payload = b"x";
    let events = [
        Event::SocketOpened { socket, local },
        Event::Sent {
            socket,
            to,
            payload,
        },
    ];
    for (number, event) in (0..).zip(events) {
        let record = Record {
            number: EventNumber(number),
            time: Time(number),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("a record");
    }
    writer.finish().expect("an end")
}

#[test]
fn comma_separated_values_have_the_declared_columns() {
    let text = csv(SESSION);
    let found: Vec<&str> = text.lines().next().expect("a head").split(',').collect();
    assert_eq!(found, declared(|it| it.csv));
}

#[test]
fn a_row_of_comma_separated_values_has_a_cell_for_each_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let reel = folder.path().join("A.reel");
    std::fs::write(&reel, one_send("A, the first")).expect("a file");
    let text = csv(reel.to_str().expect("UTF-8"));
    let (head, row) = text
        .split_once("\r\n")
        .or_else(|| text.split_once('\n'))
        .expect("a head");
    let columns: Vec<&str> = head.split(',').collect();
    let cells = cells(row.lines().next().expect("a row"));
    assert_eq!(cells.len(), columns.len(), "{row}");
    let from = columns
        .iter()
        .position(|it| *it == "from")
        .expect("a column");
    assert_eq!(cells[from], "A, the first");
}

#[test]
fn the_table_that_is_printed_has_the_declared_heads() {
    let text = out(&["packets", SESSION, "--no-index"]);
    let head = text.lines().next().expect("a head");
    let found: Vec<&str> = head
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let printed = SHOWN.iter().map(|it| it.declared()).filter(|it| it.printed);
    // A wire of one protocol has no column for it.
    let printed = printed.map(|it| it.head).filter(|it| *it != "protocol");
    assert_eq!(found, printed.collect::<Vec<_>>());
}

#[cfg(feature = "parquet")]
#[test]
fn a_dataset_has_the_declared_columns() {
    let columns = netreel_fleet::Table::Packets.columns().iter();
    let found: Vec<&str> = columns.map(|column| column.name).collect();
    assert_eq!(found, declared(|it| it.parquet));
}

#[test]
fn a_filter_knows_the_declared_names() {
    for name in declared(|it| it.filter) {
        let read = Query::parse(name);
        assert!(read.is_ok(), "a filter does not know `{name}`: {read:?}");
    }
}

#[test]
fn the_pages_have_the_declared_names() {
    let pages = [
        ("docs/json.md", declared(|it| it.json)),
        ("docs/filter.md", declared(|it| it.filter)),
        ("docs/fleet.md", declared(|it| it.parquet)),
    ];
    for (page, names) in pages {
        let text = std::fs::read_to_string(page).expect("a page");
        for name in names {
            assert!(text.contains(&format!("`{name}`")), "{page} lacks `{name}`");
        }
    }
}

#[test]
fn each_field_is_somewhere_and_what_people_see_has_a_head_and_a_place() {
    for field in PacketField::ALL {
        let it = field.declared();
        let names = [it.json, it.csv, it.parquet, it.filter, it.window];
        let is_seen = it.printed || !it.window.is_empty();
        let is_somewhere = is_seen || names.iter().any(|name| !name.is_empty());
        assert!(is_somewhere, "{field:?} is declared and on no surface");
        assert!(!it.says.is_empty(), "{field:?} does not say what it means");
        assert_eq!(
            is_seen,
            !it.head.is_empty(),
            "{field:?}: a head, and where it stands"
        );
        assert_eq!(
            is_seen,
            SHOWN.contains(field),
            "{field:?} and its place in SHOWN"
        );
    }
}

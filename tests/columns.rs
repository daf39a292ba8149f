//! Tables whose columns hold, however long names, kinds and numbers are.

mod support;

use std::path::Path;

use netreel_reel::{
    Event, EventNumber, Header, Record, ReelWriter, SocketId, ThreadId, Time, WireText,
};
use support::netreel;

const WIRE: &str = "
wire long { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { a_kind_with_a_rather_long_name_of_its_own = 0, short = 1 }
struct Packet @message { kind: Kind @message_kind; sequence: u32; object: u32 @object; }
";

const NAMES: [&str; 2] = [
    "the-dedicated-server-in-frankfurt-7",
    "a-client-with-a-long-name",
];

/// Two nodes with long names that send each other packets, some of them hours after the start.
fn record(folder: &Path) {
    let ends = ["[::ffff:192.168.100.100]:65000", "127.0.0.1:7001"];
    let ends = ends.map(|end| end.parse().unwrap());
    for (place, name) in NAMES.into_iter().enumerate() {
        let header = Header {
            node: name.to_owned(),
            session: [1; 16],
            wires: vec![WireText {
                name: "long.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
        let socket = SocketId(0);
        let mut push = |number: u64, event: Event<'_>| {
            let record = Record {
                number: EventNumber(number),
                time: Time(number * number * number * 40_000_000_000_000),
                thread: ThreadId(0),
                event,
            };
            writer.push(&record).unwrap();
        };
        let local = ends[place];
        push(0, Event::SocketOpened { socket, local });
        for number in 1..6u64 {
            let object = 10u32.pow(number as u32);
            let mut payload = vec![u8::from(number % 2 == 0)];
            payload.extend([1, 0, 0, 0]);
            payload.extend(object.to_le_bytes());
            let payload = payload.as_slice();
            let sends = (number % 2 == 0) == (place == 0);
            let peer = ends[1 - place];
            push(
                number,
                match sends {
                    true => Event::Sent {
                        socket,
                        to: peer,
                        payload,
                    },
                    false => Event::Received {
                        socket,
                        from: peer,
                        payload,
                    },
                },
            );
        }
        let path = folder.join(format!("{place}.reel"));
        std::fs::write(path, writer.finish().unwrap()).unwrap();
    }
}

/// Of lines under a head: where the head's words of the given columns begin, a cell begins too.
fn check_begins(lines: &[&str], columns: &[&str]) {
    let cells = |line: &str| line.chars().collect::<Vec<char>>();
    for column in columns {
        let head = lines[0];
        let at = head[..head.find(column).unwrap()].chars().count();
        for line in lines {
            let cells = cells(line);
            let around = (cells[at - 2], cells[at - 1], cells[at]);
            assert!(
                around.0 == ' ' && around.1 == ' ' && around.2 != ' ',
                "{column} in {line:?} of {lines:#?}"
            );
        }
    }
}

/// Where the head's words of the given columns end, a cell ends too.
fn check_ends(lines: &[&str], columns: &[&str]) {
    for column in columns {
        let head = lines[0];
        let end = head[..head.find(column).unwrap() + column.len()]
            .chars()
            .count();
        for line in lines {
            let cells: Vec<char> = line.chars().collect();
            let is_end = cells.get(end).is_none_or(|cell| *cell == ' ');
            assert!(
                is_end && cells[end - 1] != ' ',
                "{column} in {line:?} of {lines:#?}"
            );
        }
    }
}

#[test]
fn columns_hold_long_names_kinds_and_times() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let path = folder.path().to_str().unwrap();

    let packets = netreel(&["packets", path]).expect(0).out;
    let lines: Vec<&str> = packets.lines().collect();
    assert_eq!(lines.len(), 6, "{packets}");
    assert!(
        packets.contains("a_kind_with_a_rather_long_name_of_its_own 100000"),
        "{packets}"
    );
    check_begins(&lines, &["link", "messages", "fate"]);
    check_ends(&lines, &["time s", "seq", "bytes"][..1]);
    check_ends(&lines, &["bytes"]);

    let info = netreel(&["info", path]).expect(0).out;
    let lines: Vec<&str> = info.lines().collect();
    let nodes = lines
        .iter()
        .position(|line| line.starts_with("node "))
        .unwrap();
    check_begins(&lines[nodes..nodes + 3], &["endpoints", "reel"]);
    check_ends(&lines[nodes..nodes + 3], &["from s", "to s"]);
    let links = lines
        .iter()
        .position(|line| line.starts_with("link "))
        .unwrap();
    check_ends(
        &lines[links..links + 3],
        &["packets", "bytes", "lost", "latency", "rtt"],
    );
}

//! Captures that become reels: what of them is in the events.

mod captures;

use captures::*;
use netreel_capture::import::{NamedNode, Origin, Target, import, observe};
use netreel_capture::pcap::UdpPayloads;
use netreel_reel::{Event, Reel};

fn origin() -> Origin {
    Origin {
        name: "match.pcapng".to_owned(),
        identity: "capture 1".to_owned(),
        ..Origin::default()
    }
}

/// The events of a reel, a line each, with calendar times in nanoseconds.
fn lines(reel: &Reel) -> Vec<String> {
    let anchor = &reel.header().clock;
    let mut lines = Vec::new();
    let walk = reel.for_each(|record| {
        let utc =
            i128::from(record.time.0) - i128::from(anchor.monotonic.0) + i128::from(anchor.utc_ns);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = match record.event {
            Event::Seen { from, to, payload } => {
                format!(
                    "seen {from} > {to} {} at {}",
                    text(payload),
                    record.thread.0
                )
            }
            Event::Note { text: note } => format!("note {}", text(note)),
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                format!("sent {} > {to} {}", socket.0, text(payload))
            }
            Event::Received {
                socket,
                from,
                payload,
            } => format!("received {} < {from} {}", socket.0, text(payload)),
            Event::SocketOpened { socket, local } => format!("socket {} {local}", socket.0),
            Event::SendResult { of, .. } => format!("taken {of}"),
            Event::Cut { of, length } => format!("cut {of} of {length}"),
            Event::CaptureDrops { count } => format!("missed {count}"),
            Event::Interface { link_type, name } => {
                let thread = record.thread.0;
                format!("interface {thread} {} of link type {link_type}", text(name))
            }
            other => format!("{other:?}"),
        };
        lines.push(format!("{utc} {event}"));
    });
    assert_eq!(walk.damaged, []);
    lines
}

#[track_caller]
fn check(file: &[u8], expected: &[&str]) {
    let (reel, _) = observe(file, &origin()).expect("a capture");
    assert_eq!(lines(&reel), expected);
}

/// The reels of the named nodes.
fn split(file: &[u8], nodes: &[&str]) -> Vec<Reel> {
    let mut outs: Vec<Vec<u8>> = nodes.iter().map(|_| Vec::new()).collect();
    let targets = outs.iter_mut().zip(nodes).map(|(out, node)| Target {
        out: Out(out),
        node: Some(node.parse::<NamedNode>().expect("a node")),
    });
    import(file, &origin(), targets.collect()).expect("a capture");
    let open = |bytes| Reel::from_bytes(bytes).expect("the reel opens");
    outs.into_iter().map(open).collect()
}

struct Out<'a>(&'a mut Vec<u8>);

impl netreel_reel::Append for Out<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), netreel_reel::AppendError> {
        netreel_reel::Append::append(self.0, bytes)
    }
}

#[test]
fn every_resolution_comes_through_to_the_nanosecond() {
    let order = Order::Little;
    let raw = ipv4(17, 0, &udp(DATA));
    let million = 1_000_000i64.to_le_bytes();
    // Resolution, ticks, and the nanoseconds that they are.
    let cases: [(&[u8], u64, u64); 9] = [
        (&[0], 1_700_000_001, 1_700_000_001_000_000_000),
        (&[3], 1_700_000_001_002, 1_700_000_001_002_000_000),
        (&[6], 1_700_000_001_002_003, 1_700_000_001_002_003_000),
        (&[7], 17_000_000_010_020_031, 1_700_000_001_002_003_100),
        (&[9], 1_700_000_001_002_003_004, 1_700_000_001_002_003_004),
        // Finer than a nanosecond: what is below it is cut off.
        (&[12], 1_002_003_004_999, 1_002_003_004),
        (&[0x80], 1_700_000_001, 1_700_000_001_000_000_000),
        (
            &[0x8a],
            1_700_000_001 * 1024 + 512,
            1_700_000_001_500_000_000,
        ),
        (&[0xa0], (3 << 32) + (1 << 31), 3_500_000_000),
    ];
    for (resolution, ticks, nanos) in cases {
        let file = [
            section(order),
            interface(order, 101, &[(9, resolution)]),
            interface(order, 101, &[(9, resolution), (14, &million)]),
            enhanced(order, 0, ticks, &raw),
            enhanced(order, 1, ticks, &raw),
        ]
        .concat();
        let (reel, _) = observe(file.as_slice(), &origin()).expect("a capture");
        let found: Vec<String> = lines(&reel)
            .into_iter()
            .filter(|line| line.contains("seen"))
            .collect();
        let later = nanos + 1_000_000_000_000_000;
        let ends = "seen 10.0.0.1:5000 > 10.0.0.2:6000 payload at";
        let expected = [format!("{nanos} {ends} 0"), format!("{later} {ends} 1")];
        assert_eq!(found, expected, "resolution {resolution:x?}");
    }
}

#[test]
fn an_observer_says_at_which_interface_it_saw_a_packet() {
    let order = Order::Little;
    let file = [
        section(order),
        interface(order, 1, &[(2, b"eth0")]),
        interface(order, 101, &[(2, b"tun0")]),
        enhanced(order, 0, 1, &datagram()),
        enhanced(order, 1, 2, &ipv4(17, 0, &udp(DATA))),
        // A section that describes the same interface again.
        section(order),
        interface(order, 1, &[(2, b"eth0")]),
        enhanced(order, 0, 3, &datagram()),
    ];
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
    check(
        &file.concat(),
        &[
            "1000 note imported from match.pcapng",
            "1000 interface 0 eth0 of link type 1",
            &format!("1000 seen {ends} at 0"),
            "2000 interface 1 tun0 of link type 101",
            &format!("2000 seen {ends} at 1"),
            &format!("3000 seen {ends} at 0"),
        ],
    );
}

#[test]
fn two_interfaces_of_one_section_are_two_even_with_one_name() {
    let order = Order::Little;
    let file = [
        section(order),
        interface(order, 1, &[(2, b"eth0")]),
        interface(order, 1, &[(2, b"eth0")]),
        enhanced(order, 0, 1, &datagram()),
        enhanced(order, 1, 2, &datagram()),
        enhanced(order, 0, 3, &datagram()),
    ];
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
    check(
        &file.concat(),
        &[
            "1000 note imported from match.pcapng",
            "1000 interface 0 eth0 of link type 1",
            &format!("1000 seen {ends} at 0"),
            "2000 interface 1 eth0 of link type 1",
            &format!("2000 seen {ends} at 1"),
            &format!("3000 seen {ends} at 0"),
        ],
    );
}

#[test]
fn frames_of_several_linux_interfaces_at_once_are_told_apart() {
    let frame = |interface: u8| {
        let head = [0x08, 0x00, 0, 0, 0, 0, 0, interface];
        [&head[..], &[0; 12], &ipv4(17, 0, &udp(DATA))].concat()
    };
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
    check(
        &pcap(276, &[frame(3), frame(7), frame(3)]),
        &[
            "3000005000 note imported from match.pcapng",
            "3000005000 interface 0 3 of link type 276",
            &format!("3000005000 seen {ends} at 0"),
            "3000005000 interface 1 7 of link type 276",
            &format!("3000005000 seen {ends} at 1"),
            &format!("3000005000 seen {ends} at 0"),
        ],
    );
}

#[test]
fn what_was_cut_or_missed_is_in_the_reel() {
    let order = Order::Little;
    let frame = datagram();
    let mut file = pcap_header(order, 0xa1b2_c3d4, ETHERNET);
    file.extend(pcap_frame(order, 5, &frame, frame.len() - 3));
    file.extend(pcap_frame(order, 6, &frame, 20));
    file.extend([1, 2, 3]);
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000";
    check(
        &file,
        &[
            "3000005000 note imported from match.pcapng",
            "3000005000 interface 0  of link type 1",
            &format!("3000005000 seen {ends} payl at 0"),
            "3000005000 cut 2 of 7",
            "3000005000 note 1 packet was cut by the capture's snap length: its first bytes alone \
             are here",
            "3000005000 note 1 frame could not be read: its headers are cut or broken",
            "3000005000 note the capture ends inside the frame that starts at byte 122",
        ],
    );
}

#[test]
fn drops_that_a_capture_counted_are_in_the_reel() {
    let order = Order::Big;
    let option = |code: u16, value: u64| {
        [&order.u16(code)[..], &order.u16(8), &value.to_be_bytes()].concat()
    };
    let statistics = |dropped: u64| {
        let head = [0, 0, 0].map(|value| order.u32(value)).concat();
        let options = [option(4, 99), option(5, dropped), option(7, 1), vec![0; 4]];
        block(order, 5, &[&head[..], &options.concat()].concat())
    };
    let file = [
        section(order),
        interface(order, 1, &[]),
        statistics(2),
        enhanced(order, 0, 1, &datagram()),
        statistics(5),
    ];
    let (reel, left_out) = observe(file.concat().as_slice(), &origin()).expect("a capture");
    let found = lines(&reel);
    assert!(found.contains(&"1000 missed 6".to_owned()), "{found:?}");
    assert!(
        left_out
            .iter()
            .any(|it| it.starts_with("6 packets were dropped"))
    );
}

#[test]
fn drops_that_obsolete_packet_blocks_tell_are_counted() {
    for order in [Order::Little, Order::Big] {
        let frame = datagram();
        let length = frame.len() as u32;
        let packet = |interface: u16, dropped: u16| {
            let times = [0, 1, length, length].map(|value| order.u32(value));
            let head = [order.u16(interface), order.u16(dropped)].concat();
            block(order, 2, &[&head[..], &times.concat(), &frame].concat())
        };
        // The last but one does not know.
        let packets = [
            packet(0, 2),
            packet(1, 3),
            packet(0, u16::MAX),
            packet(0, 4),
        ];
        let interfaces = [interface(order, 1, &[]), interface(order, 1, &[])];
        let file = [section(order), interfaces.concat(), packets.concat()].concat();
        let (reel, left_out) = observe(file.as_slice(), &origin()).expect("a capture");
        let missed = |line: &String| line.ends_with(" missed 9");
        assert!(lines(&reel).iter().any(missed), "{:?}", lines(&reel));
        let told = |it: &String| it.starts_with("9 packets were dropped");
        assert!(left_out.iter().any(told), "{left_out:?}");
    }
}

#[test]
fn drops_that_packets_tell_are_counted_and_not_once_more_by_statistics() {
    for order in [Order::Little, Order::Big] {
        let eight = |value: u64| match order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        };
        let option =
            |code: u16, value: u64| [&order.u16(code)[..], &order.u16(8), &eight(value)].concat();
        // Of a length that needs padding before the options.
        let frame = datagram();
        assert_ne!(frame.len() % 4, 0);
        let packet = |interface: u32, dropped: u64| {
            let length = frame.len() as u32;
            let head = [interface, 0, 1, length, length].map(|value| order.u32(value));
            let mut body = [&head.concat()[..], &frame].concat();
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend(option(4, dropped));
            body.extend([0; 4]);
            block(order, 6, &body)
        };
        let statistics = |interface: u32, dropped: u64| {
            let head = [interface, 0, 0].map(|value| order.u32(value)).concat();
            block(order, 5, &[head, option(5, dropped), vec![0; 4]].concat())
        };
        let start = || {
            [
                section(order),
                interface(order, 1, &[]),
                interface(order, 1, &[]),
            ]
        };
        let count = |blocks: Vec<Vec<u8>>| {
            let file = [start().concat(), blocks.concat()].concat();
            let mut payloads = UdpPayloads::new(file.as_slice()).expect("a capture");
            payloads.by_ref().for_each(drop);
            payloads.counts().dropped
        };
        assert_eq!(count(vec![packet(0, 5), packet(0, 3)]), 8);
        assert_eq!(count(vec![packet(0, 5), packet(1, 3)]), 8);
        assert_eq!(count(vec![packet(0, 5), packet(0, 3), statistics(0, 8)]), 8);
        assert_eq!(
            count(vec![packet(0, 5), packet(0, 3), statistics(0, 10)]),
            10
        );
        assert_eq!(count(vec![packet(0, 5), statistics(0, 2), packet(0, 3)]), 8);
        assert_eq!(count(vec![packet(0, 5), statistics(1, 2)]), 7);
        assert_eq!(count(vec![packet(0, u64::MAX), packet(0, 3)]), u64::MAX);
    }
}

#[test]
fn each_named_node_gets_what_it_sent_and_received() {
    let frames = [datagram(), answer(), datagram()];
    let [a, b] = &split(&pcap(ETHERNET, &frames), &["A=10.0.0.1", "B=10.0.0.2:6000"])[..] else {
        panic!("two reels")
    };
    assert_eq!(
        (a.header().node.as_str(), b.header().node.as_str()),
        ("A", "B")
    );
    assert_eq!(a.header().clock, b.header().clock);
    let tail = |reel: &Reel| lines(reel).split_off(2);
    assert_eq!(
        tail(a),
        [
            "3000005000 socket 0 10.0.0.1:5000",
            "3000005000 sent 0 > 10.0.0.2:6000 payload",
            "3000005000 taken 3",
            "3000005000 received 0 < 10.0.0.2:6000 answer",
            "3000005000 sent 0 > 10.0.0.2:6000 payload",
            "3000005000 taken 6",
        ]
    );
    assert_eq!(
        tail(b),
        [
            "3000005000 socket 0 10.0.0.2:6000",
            "3000005000 received 0 < 10.0.0.1:5000 payload",
            "3000005000 sent 0 > 10.0.0.1:5000 answer",
            "3000005000 taken 4",
            "3000005000 received 0 < 10.0.0.1:5000 payload",
        ]
    );
}

#[test]
fn a_node_s_packets_stand_at_the_interface_where_they_were_captured() {
    let order = Order::Little;
    let file = [
        section(order),
        interface(order, 1, &[(2, b"eth0")]),
        interface(order, 1, &[(2, b"wlan0")]),
        enhanced(order, 1, 1, &datagram()),
        enhanced(order, 0, 2, &answer()),
        enhanced(order, 1, 3, &datagram()),
    ];
    let [a, c] = &split(&file.concat(), &["A=10.0.0.1", "C=10.0.0.3"])[..] else {
        panic!("two reels")
    };
    let mut threads = Vec::new();
    a.for_each(|record| match record.event {
        Event::Sent { .. } | Event::Received { .. } | Event::SendResult { .. } => {
            threads.push(record.thread.0);
        }
        _ => {}
    });
    assert_eq!(threads, [0, 0, 1, 0, 0]);
    let told = |reel: &Reel| {
        let lines = lines(reel).into_iter();
        lines
            .filter(|line| line.contains(" interface "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(a),
        [
            "1000 interface 0 wlan0 of link type 1",
            "2000 interface 1 eth0 of link type 1",
        ]
    );
    assert_eq!(told(c), [""; 0], "nothing of it passed anywhere");
}

#[test]
fn a_port_that_is_not_named_is_nobodys() {
    let [other] = &split(&pcap(ETHERNET, &[datagram()]), &["C=10.0.0.1:1"])[..] else {
        panic!("one reel")
    };
    assert_eq!(lines(other), ["3000005000 note imported from match.pcapng"]);
}

#[test]
fn a_capture_without_udp_is_an_observer_who_saw_nothing() {
    let (reel, left_out) = observe(pcap(ETHERNET, &[]).as_slice(), &origin()).expect("a capture");
    assert_eq!((reel.len(), left_out), (0, Vec::new()));
    assert_eq!(reel.header().engine, netreel_reel::Header::OBSERVER);
}

#[test]
fn a_compressed_file_is_refused_as_one_wherever_a_reel_is_read() {
    let folder = std::env::temp_dir().join(format!("netreel-compressed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (start, format) in [
        (&b"\x1f\x8b\x08\0"[..], "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ] {
        let path = folder.join("match.pcap.gz");
        std::fs::write(&path, start).expect("a file");
        let why = netreel_capture::open(&path).err().map(|error| error.why);
        let why = why.map(|why| why.to_string()).unwrap_or_default();
        let expected = format!("the file is compressed ({format}); unpack it first");
        assert_eq!(why, expected);
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}

#[test]
fn a_capture_that_nobody_wants_any_more_is_not_imported_to_its_end() {
    use netreel_system::Cancel;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("match.pcap");
    let frame = ethernet(0x0800, &ipv4(17, 0, &udp(&[7; 1_000])));
    std::fs::write(&path, pcap(ETHERNET, &vec![frame; 2_000])).expect("a file");
    // Wanted this many times, and then no more.
    let open = |times: i64| {
        let cancel = Cancel::after(times);
        let opened = netreel_capture::open_session_while(&[&path], &cancel);
        (
            opened.map(|it| it.reels[0].reel.len()),
            times - cancel.left(),
        )
    };
    let (whole, asked) = open(i64::MAX);
    assert!(whole.expect("a capture") >= 2_000);
    // Two megabytes are more than a piece.
    assert!(asked > 10, "{asked}");
    for times in [0, 1, 5, asked - 1] {
        let (given_up, then) = open(times);
        let why = given_up.expect_err("nobody wanted it").to_string();
        assert!(why.ends_with("match.pcap: it was given up"), "{why}");
        assert!(
            then <= times + 3,
            "asked {then} times, wanted {times} times"
        );
    }
}

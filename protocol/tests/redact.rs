//! Redacted copies: what was to go is gone, and nothing else changed.

use std::sync::Arc;

use netreel_protocol::export::redact::{
    Bytes, Checker, FileScan, Redaction, ReelReport, Removed, Survey, Texts,
};
use netreel_reel::{
    CallId, Ending, Endpoint, Event, EventNumber, Header, Part, ReadAt, Record, Reel, ReelWriter,
    SocketId, ThreadId, Time, Trigger, TriggerCause,
};
use proptest::prelude::*;

/// What is found nowhere in a copy.
const MARKER: &str = "Grandmother's recipe";

fn rules() -> Redaction {
    Redaction {
        key: [7; 16],
        addresses: true,
        args: Texts::Drop,
        payloads: Bytes::Keep,
        ..Redaction::default()
    }
}

fn reel(header: &Header, events: &[Event<'_>]) -> Arc<Reel> {
    let mut writer = ReelWriter::create(Vec::new(), header).unwrap();
    for (number, &event) in events.iter().enumerate() {
        let number = number as u64;
        let record = Record {
            // One number in seven is a hole.
            number: EventNumber(number + number / 6),
            time: Time(1_000_000 + 10_000 * number),
            thread: ThreadId((number % 3) as u16),
            event,
        };
        writer.push(&record).unwrap();
    }
    Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap())
}

/// Puts one event into a reel, at so many ns.
fn push(writer: &mut ReelWriter<Vec<u8>>, number: u64, event: Event<'_>) {
    let record = Record {
        number: EventNumber(number),
        time: Time(number),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record).unwrap();
}

/// The copy's bytes.
fn copy(survey: &Survey, reel: &Reel) -> (Vec<u8>, ReelReport) {
    let report = survey.report(0, reel);
    let files = files(survey, reel, &report);
    let [bytes] = <[_; 1]>::try_from(files).unwrap();
    (bytes, report)
}

/// The bytes of the copy's files, as many as the reel has.
fn files(survey: &Survey, reel: &Reel, report: &ReelReport) -> Vec<Vec<u8>> {
    let file = |part| {
        let mut bytes = Written::default();
        survey.copy(0, (reel, report), part, &mut bytes).unwrap();
        bytes.0
    };
    reel.parts().iter().map(file).collect()
}

#[derive(Default)]
struct Written(Vec<u8>);

impl netreel_reel::Append for &mut Written {
    fn append(&mut self, bytes: &[u8]) -> Result<(), netreel_reel::AppendError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

fn complaints(survey: &Survey, old: &Reel, bytes: &[u8], report: &ReelReport) -> Vec<String> {
    let new = Reel::from_bytes(bytes.to_vec()).unwrap();
    let broken = Checker::new(survey).compare(0, (old, &new), report);
    let mut told: Vec<String> = broken.into_iter().map(|each| each.why).collect();
    let mut scan = FileScan::new(survey);
    // In pieces, so that one may be cut.
    let (first, rest) = bytes.split_at(bytes.len().min(2000));
    scan.feed(first);
    rest.chunks(777).for_each(|piece| scan.feed(piece));
    told.extend(scan.found().map(|(_, what)| format!("{what} in the file")));
    told
}

fn at(text: &str) -> Endpoint {
    text.parse().unwrap()
}

const SOCKET: SocketId = SocketId(0);

/// One of each event in which something may stand.
fn events(payload: &[u8]) -> Vec<Event<'_>> {
    let trigger = Trigger {
        cause: TriggerCause::KEY,
        id: 1,
        utc_ns: 2,
        before_ms: 3,
        after_ms: 4,
        from_peer: false,
    };
    vec![
        Event::SocketOpened {
            socket: SOCKET,
            local: at("192.168.1.20:7000"),
        },
        Event::Sent {
            socket: SOCKET,
            to: at("[2a02:8100::77]:7001"),
            payload,
        },
        Event::Received {
            socket: SOCKET,
            from: at("[::ffff:85.14.2.9]:7002"),
            payload: b"plain",
        },
        Event::Note {
            text: b"joined 85.14.2.9:7002 as Grandmother's recipe",
        },
        Event::Triggered {
            trigger,
            text: b"from box.studio.com, /home/ann/game",
        },
        Event::Called {
            call: CallId::CONNECT,
            result: 0,
            details: &[0, 0, 4, 0x58, 0x1b, 85, 14, 2, 9],
        },
        Event::Called {
            call: CallId::EXEC,
            result: 0,
            details: b"\0/home/ann/Grandmother's recipe/tool",
        },
        Event::Called {
            call: CallId::RANDOM,
            result: 20,
            details: b"\0Grandmother's recipe",
        },
        Event::Called {
            call: CallId::PEEK,
            result: 20,
            details: b"\0\0Grandmother's recipe",
        },
        Event::Input {
            call: MARKER.as_bytes(),
        },
        Event::Snapshot {
            state: MARKER.as_bytes(),
        },
        Event::Random { value: 0x1234 },
        Event::Seen {
            from: at("85.14.2.9:7002"),
            to: at("192.168.1.20:7000"),
            payload,
        },
        Event::Relay {
            socket: SOCKET,
            listener: SOCKET,
            client: at("85.14.2.10:9"),
        },
    ]
}

fn header() -> Header {
    Header {
        node: "HOST".to_owned(),
        session: [9; 16],
        engine: "boxes".to_owned(),
        build: MARKER.to_owned(),
        args: vec![format!("--name={MARKER}"), "85.14.2.9".to_owned()],
        start: MARKER.as_bytes().to_vec(),
        seeds: vec![("demo".to_owned(), 5)],
        hashes: vec![("/home/ann/game/server".to_owned(), "00".to_owned())],
        ..Header::default()
    }
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[test]
fn a_planted_secret_is_found_nowhere_in_the_copy() {
    let payload = [b"to ", MARKER.as_bytes(), &[85, 14, 2, 9]].concat();
    let old = reel(&header(), &events(&payload));
    let rules = Redaction {
        remove: vec![MARKER.to_owned()],
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    for secret in [
        MARKER.as_bytes(),
        b"Grandmother",
        b"85.14.2.9",
        &[85, 14, 2, 9],
        &[192, 168, 1, 20],
        &[0x2a, 0x02, 0x81, 0x00],
        b"studio.com",
        b"/home/ann",
    ] {
        assert!(!contains(&bytes, secret), "{secret:?}");
    }
    let held: Vec<u64> = report.held_back.iter().map(|each| each.event).collect();
    assert_eq!(held, [1, 14], "both packets with it, and no other");
}

#[test]
fn one_address_becomes_the_same_everywhere_in_all_reels() {
    let old = [
        reel(&header(), &events(b"a")),
        reel(&header(), &events(b"b")),
    ];
    let survey = Survey::new(rules(), &old).unwrap();
    let mut seen = Vec::new();
    for old in &old {
        let (bytes, _) = copy(&survey, old);
        let new = Reel::from_bytes(bytes).unwrap();
        new.for_each(|record| match record.event {
            Event::Received { from, .. } => seen.push(from.ip().to_canonical().to_string()),
            Event::Seen { from, .. } => seen.push(from.ip().to_string()),
            Event::Note { text } => {
                let text = String::from_utf8_lossy(text);
                let word = text.split([' ', ':']).nth(1).unwrap_or_default();
                seen.push(word.to_owned());
            }
            Event::Called {
                call: CallId::CONNECT,
                details,
                ..
            } => {
                let ip: [u8; 4] = details[5..9].try_into().unwrap();
                seen.push(std::net::Ipv4Addr::from(ip).to_string());
            }
            _ => {}
        });
    }
    seen.sort();
    seen.dedup();
    let [one] = &seen[..] else { panic!("{seen:?}") };
    assert!(
        one.starts_with("198.18.") || one.starts_with("198.19."),
        "{one}"
    );
}

#[test]
fn the_same_key_gives_the_same_copy_and_another_key_another() {
    let old = reel(&header(), &events(b"a"));
    let with = |key| {
        let rules = Redaction { key, ..rules() };
        copy(
            &Survey::new(rules, std::slice::from_ref(&old)).unwrap(),
            &old,
        )
        .0
    };
    assert_eq!(with([1; 16]), with([1; 16]));
    assert_ne!(with([1; 16]), with([2; 16]));
}

#[test]
fn loopback_and_ports_stay_unless_asked() {
    let local = at("127.0.0.1:7000");
    let old = reel(
        &Header::default(),
        &[Event::SocketOpened {
            socket: SOCKET,
            local,
        }],
    );
    let opened = |rules: Redaction| {
        let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
        let (bytes, report) = copy(&survey, &old);
        assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
        Reel::from_bytes(bytes).unwrap().endpoints()[0].1
    };
    assert_eq!(opened(rules()), local);
    let mapped = opened(Redaction {
        loopback: true,
        ports: true,
        ..rules()
    });
    assert_ne!(mapped.ip(), local.ip());
    assert_ne!(mapped.port(), local.port());
}

#[test]
fn nearly_all_zeros_in_a_file_are_no_address_and_in_a_packet_they_are() {
    let mut zeros = [0; 64];
    zeros[40] = 1;
    let telling = at("[2001:db8:1:2::3]:7000");
    let sent = |to, payload| Event::Sent {
        socket: SOCKET,
        to,
        payload,
    };
    let events = [sent(at("[::1]:7000"), b"a packet"), sent(telling, &zeros)];
    let old = reel(&Header::default(), &events);
    let rules = Redaction {
        loopback: true,
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let held: Vec<u64> = report.held_back.iter().map(|each| each.event).collect();
    assert_eq!(held, [1]);
    let found = |bytes: &[u8]| {
        let mut scan = FileScan::new(&survey);
        scan.feed(bytes);
        scan.found().is_some()
    };
    assert!(!found(&zeros));
    let std::net::IpAddr::V6(ip) = telling.ip() else {
        panic!("{telling}")
    };
    assert!(found(&[&zeros[..], &ip.octets()].concat()));
}

#[test]
fn a_copy_of_a_cut_reel_is_cut() {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let text = b"last words";
    push(&mut writer, 0, Event::Note { text });
    let whole = writer.finish().unwrap();
    let old = Arc::new(Reel::from_bytes(whole[..whole.len() - 3].to_vec()).unwrap());
    assert_ne!(*old.ending(), Ending::Clean);
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, _) = copy(&survey, &old);
    let new = Reel::from_bytes(bytes).unwrap();
    assert_ne!(*new.ending(), Ending::Clean);
    assert_eq!(new.len(), 1);
}

/// A recording in five files of three events, each with a hole in it.
fn recorded_in_files() -> Vec<Vec<u8>> {
    let sockets = vec![(SOCKET, at("192.168.1.20:7000"))];
    let file = |number: u32| {
        let first = 5 * u64::from(number);
        let part = Part {
            number,
            first: EventNumber(first),
            sockets: sockets.clone(),
            on: number != 3,
        };
        let mut writer = ReelWriter::create_part(Vec::new(), &header(), 77, &part).unwrap();
        for number in [first, first + 1, first + 4] {
            let event = Event::Sent {
                socket: SOCKET,
                to: at("85.14.2.9:7002"),
                payload: b"hello",
            };
            push(&mut writer, number, event);
        }
        writer.finish_part().unwrap()
    };
    (0..5).map(file).collect()
}

fn joined(files: &[Vec<u8>]) -> Arc<Reel> {
    let source = |bytes: &Vec<u8>| Arc::new(bytes.clone()) as Arc<dyn ReadAt>;
    Arc::new(Reel::open_parts(files.iter().map(source).collect(), None).unwrap())
}

#[test]
fn what_a_recording_in_files_lacks_its_copy_lacks_in_the_same_way() {
    let all = recorded_in_files();
    let mut cut = all.clone();
    cut[4].truncate(all[4].len() - 3);
    let lacking: [Vec<Vec<u8>>; 4] = [
        all[2..].to_vec(),
        vec![all[3].clone()],
        vec![all[1].clone(), all[4].clone()],
        vec![cut[0].clone(), cut[4].clone()],
    ];
    for files_left in lacking {
        let old = joined(&files_left);
        let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
        let report = survey.report(0, &old);
        let copies = files(&survey, &old, &report);
        let new = joined(&copies);
        let broken = Checker::new(&survey).compare(0, (&old, &new), &report);
        assert_eq!(broken, []);
        assert_eq!(old.missing_parts(), new.missing_parts());
        assert_eq!(old.gaps(), new.gaps());
        assert_eq!(old.first_number(), new.first_number());
        assert_eq!(
            *old.ending() == Ending::Clean,
            *new.ending() == Ending::Clean
        );
        let on = |reel: &Reel| reel.parts().iter().map(|it| it.part.on).collect::<Vec<_>>();
        assert_eq!(on(&old), on(&new));
        for (_, local) in new.endpoints() {
            assert_ne!(local.ip(), at("192.168.1.20:7000").ip());
        }
        for copy in &copies {
            assert!(!contains(copy, &[192, 168, 1, 20]));
        }
    }
}

#[test]
fn a_copy_that_lacks_more_or_less_is_caught() {
    let all = recorded_in_files();
    let old = joined(&all[1..]);
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let report = survey.report(0, &old);
    let copies = files(&survey, &old, &report);
    let why = |new: &Reel| {
        let mut broken = Checker::new(&survey).compare(0, (&old, new), &report);
        broken.truncate(1);
        broken.pop().map(|broken| broken.why).unwrap_or_default()
    };
    assert_eq!(why(&joined(&copies)), "");
    assert!(why(&joined(&copies[1..])).contains("parts of the recording are missing"));
    // The same events, in one file from the first number on.
    let mut writer = ReelWriter::create(Vec::new(), joined(&copies).header()).unwrap();
    joined(&copies).for_each(|record| writer.push(record).unwrap());
    let new = Reel::from_bytes(writer.finish().unwrap()).unwrap();
    assert!(why(&new).contains("parts of the recording are missing"));
    // The last file says that the recording ended there.
    let last = joined(&copies[3..]);
    let part = &last.parts()[0].part;
    let mut writer = ReelWriter::create_part(Vec::new(), last.header(), last.identity(), part);
    let writer_made = writer.as_mut().unwrap();
    last.for_each(|record| writer_made.push(record).unwrap());
    let mut others = copies.clone();
    others[3] = writer.unwrap().finish().unwrap();
    assert_eq!(why(&joined(&others)), "it ends in another way");
}

/// A copy with one event another one is refused.
#[track_caller]
fn check_broken(place: usize, event: Event<'_>, expected: &str) {
    let old = reel(&header(), &events(b"a payload"));
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    let good = Reel::from_bytes(bytes).unwrap();
    let mut writer = ReelWriter::create(Vec::new(), good.header()).unwrap();
    let mut at = 0;
    good.for_each(|record| {
        let mut record = *record;
        if at == place {
            record.event = event;
        }
        writer.push(&record).unwrap();
        at += 1;
    });
    let told = complaints(&survey, &old, &writer.finish().unwrap(), &report);
    assert!(told.iter().any(|why| why.contains(expected)), "{told:?}");
}

#[test]
fn an_address_that_was_left_is_caught() {
    let event = Event::SocketOpened {
        socket: SOCKET,
        local: at("192.168.1.20:7000"),
    };
    check_broken(0, event, "an address that was to be removed stands in it");
    check_broken(0, event, "in the index, an address that was to be removed");
}

#[test]
fn a_packet_that_changed_is_caught() {
    let event = Event::Received {
        socket: SOCKET,
        from: at("[::ffff:198.18.0.1]:7002"),
        payload: b"plaim",
    };
    check_broken(2, event, "an address became another one than elsewhere");
    let event = Event::Input {
        call: MARKER.as_bytes(),
    };
    check_broken(9, event, "bytes of it changed that were to stay, or stayed");
}

#[test]
fn a_note_that_says_something_else_is_caught() {
    check_broken(
        3,
        Event::Note {
            text: b"joined later",
        },
        "its text changed elsewhere",
    );
}

#[test]
fn a_random_number_that_was_left_is_caught() {
    check_broken(11, Event::Random { value: 0x1234 }, "not what it has to be");
}

/// The texts of the copy's notes, triggers and interfaces, which nobody complains of.
fn texts(rules: Redaction, events: &[Event<'_>]) -> Vec<String> {
    let old = reel(&header(), events);
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let mut texts = Vec::new();
    Reel::from_bytes(bytes)
        .unwrap()
        .for_each(|record| match record.event {
            Event::Note { text }
            | Event::Triggered { text, .. }
            | Event::Interface { name: text, .. } => {
                texts.push(String::from_utf8(text.to_vec()).unwrap());
            }
            _ => {}
        });
    texts
}

#[test]
fn an_address_in_another_spelling_is_mapped_and_the_copy_is_right() {
    for address in ["FD77::ABCD", "fd77:0:0::abcd", "FD77::abcd/64"] {
        let note = format!("captured at lo with the filter `udp and not host {address}`");
        let (text, name) = (note.as_bytes(), format!("wlan-{address}"));
        let name = name.as_bytes();
        let events = [
            Event::Note { text },
            Event::Interface { link_type: 1, name },
        ];
        for text in texts(rules(), &events) {
            assert!(!text.to_lowercase().contains("fd77"), "{text}");
            assert!(text.contains("2001:db8::"), "{text}");
        }
    }
}

#[test]
fn names_and_ports_in_what_netreel_itself_wrote_are_mapped() {
    let proxied = "127.0.0.1:7975 stands for game-host:7901, which is 127.0.0.1:7901; its receive \
                   buffer has 425984 bytes";
    let filtered = "captured at lo with the filter `udp portrange 7800-7801 and not (host db1 or \
                    ether host AA:BB:CC:DD:EE:FF)`";
    let from_peer = true;
    let trigger = Trigger {
        cause: TriggerCause::KEY,
        id: 1,
        utc_ns: 2,
        before_ms: 3,
        after_ms: 4,
        from_peer,
    };
    let events = [
        Event::Note {
            text: proxied.as_bytes(),
        },
        Event::Note {
            text: filtered.as_bytes(),
        },
        Event::Triggered {
            trigger,
            text: b"vm: SIGUSR1",
        },
        // What is known by its place alone is no secret elsewhere.
        Event::Received {
            socket: SOCKET,
            from: at("127.0.0.1:7901"),
            payload: b"vm at game-host",
        },
    ];
    let rules = Redaction {
        loopback: true,
        ports: true,
        ..rules()
    };
    let texts = texts(rules, &events);
    let said = texts.join("; ");
    for gone in [
        "127.0.0.1",
        "7975",
        "7901",
        "game-host",
        "7800",
        "7801",
        "db1",
        "AA:BB",
        "vm",
    ] {
        assert!(!said.contains(gone), "{gone} in {said}");
    }
    assert!(texts[0].contains("receive buffer has 425984"), "{said}");
    assert!(texts[1].contains("udp portrange "), "{said}");
    assert!(texts[2].ends_with(".example: SIGUSR1"), "{said}");
}

#[test]
fn an_argument_s_target_is_the_same_machine_as_the_proxy_s() {
    let header = Header {
        args: vec!["127.0.0.1:7975=game-host:7901".to_owned()],
        ..header()
    };
    let text = b"127.0.0.1:7975 stands for game-host:7901, which is 127.0.0.1:7901; its receive \
                 buffer has 425984 bytes";
    let old = reel(&header, &[Event::Note { text }]);
    let rules = Redaction {
        args: Texts::Scrub,
        ..rules()
    };
    let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let new = Reel::from_bytes(bytes.clone()).unwrap();
    assert_eq!(new.header().args, ["127.0.0.1:7975=host-1.example:7901"]);
    assert!(contains(&bytes, b"stands for host-1.example:7901"));
}

#[test]
fn the_name_of_a_node_stays_where_a_peer_says_it() {
    let trigger = Trigger {
        cause: TriggerCause::KEY,
        id: 1,
        utc_ns: 2,
        before_ms: 3,
        after_ms: 4,
        from_peer: true,
    };
    let text = b"HOST: key";
    let events = [Event::Triggered { trigger, text }];
    assert_eq!(texts(rules(), &events), ["HOST: key"]);
}

#[test]
fn a_copy_of_what_was_mapped_before_is_mapped_anew() {
    let old = reel(&header(), &events(b"a"));
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, _) = copy(&survey, &old);
    let once = Arc::new(Reel::from_bytes(bytes).unwrap());
    let survey = Survey::new(rules(), std::slice::from_ref(&once)).unwrap();
    let (bytes, report) = copy(&survey, &once);
    assert_eq!(complaints(&survey, &once, &bytes, &report), [""; 0]);
    assert!(report.removed.contains_key(&Removed::Addresses));
}

fn any_endpoint() -> impl Strategy<Value = Endpoint> {
    let v4 = any::<u32>().prop_map(|bits| std::net::IpAddr::from(bits.to_be_bytes()));
    let v6 = any::<u128>().prop_map(|bits| std::net::IpAddr::from(bits.to_be_bytes()));
    let few = (0u8..4).prop_map(|last| std::net::IpAddr::from([10, 0, 0, last]));
    let ip = prop_oneof![v4, v6, few.clone(), few];
    (ip, any::<u16>()).prop_map(|(ip, port)| Endpoint::new(ip, port))
}

/// An event of any kind that carries something, as its parts.
#[derive(Clone, Debug)]
struct Made {
    kind: u8,
    endpoint: Endpoint,
    bytes: Vec<u8>,
    number: u64,
}

impl Made {
    fn event(&self) -> Event<'_> {
        let Made {
            kind,
            endpoint,
            bytes,
            number,
        } = self;
        let (socket, payload) = (SocketId(*number as u16 % 3), bytes.as_slice());
        match kind {
            0 => Event::SocketOpened {
                socket,
                local: *endpoint,
            },
            1 => Event::Sent {
                socket,
                to: *endpoint,
                payload,
            },
            2 => Event::Received {
                socket,
                from: *endpoint,
                payload,
            },
            3 => Event::Input { call: payload },
            4 => Event::Note { text: payload },
            5 => Event::Snapshot { state: payload },
            6 => Event::Random { value: *number },
            7 => Event::Tick {
                tick: *number,
                time: Time(*number),
            },
            8 => Event::Called {
                call: CallId(*number as u8 % 26),
                result: *number as i32,
                details: payload,
            },
            9 => Event::Seen {
                from: *endpoint,
                to: *endpoint,
                payload,
            },
            10 => Event::PollEmpty { socket },
            _ => Event::Clock {
                value: Time(*number),
            },
        }
    }
}

fn any_made() -> impl Strategy<Value = Made> {
    let text = prop_oneof![
        Just(b"from 10.0.0.1:70 and [2a00::1]".to_vec()),
        Just(b"ann@home.org at /Users/ann/x".to_vec()),
        Just(vec![1, 0, 4, 1, 2, 10, 0, 0, 2]),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    (0u8..12, any_endpoint(), text, any::<u64>()).prop_map(|(kind, endpoint, bytes, number)| Made {
        kind,
        endpoint,
        bytes,
        number,
    })
}

fn any_bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(Bytes::Keep), Just(Bytes::Lengths), Just(Bytes::Drop)]
}

fn any_texts() -> impl Strategy<Value = Texts> {
    prop_oneof![Just(Texts::Keep), Just(Texts::Scrub), Just(Texts::Drop)]
}

prop_compose! {
    fn any_rules()(
        key in any::<[u8; 16]>(),
        switches in any::<[bool; 4]>(),
        bytes in [any_bytes(), any_bytes(), any_bytes(), any_bytes(), any_bytes()],
        texts in [any_texts(), any_texts()],
    ) -> Redaction {
        let [addresses, loopback, ports, nodes] = switches;
        let [payloads, inputs, snapshots, random, start] = bytes;
        let [args, notes] = texts;
        Redaction {
            key, addresses, loopback, ports, nodes, payloads, inputs, snapshots, random, start, args,
            notes,
            // What is kept against the rules is told, not hidden.
            doubtful: Bytes::Lengths,
            remove: vec![MARKER.to_owned()],
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn only_what_is_listed_differs(
        rules in any_rules(),
        made in prop::collection::vec(any_made(), 0..40),
    ) {
        let events: Vec<Event<'_>> = made.iter().map(Made::event).collect();
        let old = reel(&header(), &events);
        let survey = Survey::new(rules, std::slice::from_ref(&old)).unwrap();
        let (bytes, report) = copy(&survey, &old);
        prop_assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
        prop_assert!(!contains(&bytes, MARKER.as_bytes()));
        let new = Reel::from_bytes(bytes).unwrap();
        prop_assert_eq!(new.counts(), old.counts());
        prop_assert_eq!(new.gaps(), old.gaps());
        prop_assert_eq!(new.span(), old.span());
    }
}

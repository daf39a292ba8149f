//! A reel with one of each event, its copy, and what the check says of it.

use std::sync::Arc;

use netreel_redact::{Bytes, Checker, Redaction, ReelReport, Survey, Texts, scan};
use netreel_reel::{
    CallId, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId,
    Time, Trigger, TriggerCause,
};

/// What is found nowhere in a copy.
pub const MARKER: &str = "Grandmother's recipe";

pub fn rules() -> Redaction {
    Redaction {
        key: [7; 16],
        addresses: true,
        args: Texts::Drop,
        files: Texts::Drop,
        payloads: Bytes::Keep,
        ..Redaction::default()
    }
}

pub fn reel(header: &Header, events: &[Event<'_>]) -> Arc<Reel> {
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

/// Puts one event into a reel, at this many ns.
pub fn push(writer: &mut ReelWriter<Vec<u8>>, number: u64, event: Event<'_>) {
    let record = Record {
        number: EventNumber(number),
        time: Time(number),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record).unwrap();
}

/// The copy's bytes.
pub fn copy(survey: &Survey, reel: &Reel) -> (Vec<u8>, ReelReport) {
    let report = survey.report(0, reel);
    let files = files(survey, reel, &report);
    let [bytes] = <[_; 1]>::try_from(files).unwrap();
    (bytes, report)
}

/// The bytes of the copy's files, as many as the reel has.
pub fn files(survey: &Survey, reel: &Reel, report: &ReelReport) -> Vec<Vec<u8>> {
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

pub fn complaints(survey: &Survey, old: &Reel, bytes: &[u8], report: &ReelReport) -> Vec<String> {
    let new = Reel::from_bytes(bytes.to_vec()).unwrap();
    let broken = Checker::new(survey).compare(0, (old, &new), report);
    let mut told: Vec<String> = broken.into_iter().map(|each| each.why).collect();
    // In pieces, so that one may be cut.
    let found = scan(survey, &bytes.to_vec(), 777).unwrap();
    told.extend(found.map(|(_, what)| format!("{what} in the file")));
    told
}

pub fn at(text: &str) -> Endpoint {
    text.parse().unwrap()
}

pub const SOCKET: SocketId = SocketId(0);

pub fn trigger(from_peer: bool) -> Trigger {
    Trigger {
        cause: TriggerCause::KEY,
        id: 1,
        utc_ns: 2,
        before_ms: 3,
        after_ms: 4,
        from_peer,
    }
}

/// One of each event in which something may stand.
pub fn events(payload: &[u8]) -> Vec<Event<'_>> {
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
            trigger: trigger(false),
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
        Event::Called {
            call: CallId::FILE,
            result: 3,
            details: b"1234567812345678123456781/home/ann/secret-plans/level.json",
        },
        Event::Called {
            call: CallId::START,
            result: 0,
            details: b"\x03USER=annelise",
        },
        Event::Called {
            call: CallId::PRINTED,
            result: 9,
            details: b"\x01annelise joins from /home/ann/secret-plans\n",
        },
        Event::Triggered {
            trigger: trigger(false),
            text: b"annelise was here",
        },
    ]
}

pub fn header() -> Header {
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

pub fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

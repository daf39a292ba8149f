//! Fields that are blanked in what runs over several packets.

use std::sync::Arc;

use netreel_protocol::session::ReelInput;
use netreel_redact::{Bytes, Field, Redaction, ReelReport, Story, Survey, Texts};
use netreel_reel::{Event, Header, Reel, ReelWriter, SocketId, WireText};
use netreel_wire::Keys;

use crate::copied::{at, complaints, copy, push};

const STREAM: &str = "
wire records {
    version = 1; byte_order = little; bit_order = lsb; root = Packet; state = Connection;
}
state Connection { each tail: stream; }
struct Packet {
    mark: u8;
    position: u32;  length: u16;
    data: bytes(length);
    follow records: Record[until end] from state.tail (position, data);
}
struct Record { id: u8; name: string(u8, utf8); }
";

const PARTS: &str = "
wire parts {
    version = 1; byte_order = little; bit_order = lsb; root = Packet; state = Connection;
}
state Connection { splits: parts[8]; }
struct Packet {
    mark: u8;
    id: u8;  index: u8;  count: u8;  length: u16;
    data: bytes(length);
    join whole: Record from state.splits[id] (index, count, data);
}
struct Record { id: u8; name: string(u8, utf8); }
";

fn reel(wire: &str, packets: &[Vec<u8>]) -> Arc<Reel> {
    let header = Header {
        node: "A".to_owned(),
        wires: vec![WireText {
            name: "test.wire".to_owned(),
            text: wire.to_owned(),
        }],
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    for (number, payload) in (0..).zip(packets) {
        let event = Event::Sent {
            socket: SocketId(0),
            to: at("127.0.0.1:9"),
            payload,
        };
        push(&mut writer, number, event);
    }
    Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap())
}

fn story(reel: &Arc<Reel>) -> Story {
    let input = ReelInput {
        name: "A.reel".to_owned(),
        reel: reel.clone(),
    };
    Story::read(vec![input], None, Keys::default()).unwrap()
}

/// The copy's packets without a field, and what was held back.
fn blanked(wire: &str, packets: &[Vec<u8>], field: &str) -> (Vec<Vec<u8>>, ReelReport) {
    let old = reel(wire, packets);
    let rules = Redaction {
        payloads: Bytes::Keep,
        args: Texts::Keep,
        ..Redaction::default()
    };
    let reels = std::slice::from_ref(&old);
    let mut survey = Survey::new(rules, reels).unwrap();
    let story = story(&old);
    let fields = vec![Field::parse(field, story.wire()).unwrap()];
    survey.blank(&story, reels, fields);
    let (bytes, report) = copy(&survey, &old);
    assert_eq!(complaints(&survey, &old, &bytes, &report), [""; 0]);
    let new = Reel::from_bytes(bytes).unwrap();
    let mut packets = Vec::new();
    new.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            packets.push(payload.to_vec());
        }
    });
    (packets, report)
}

fn held(report: &ReelReport) -> Vec<u64> {
    report.held_back.iter().map(|held| held.event).collect()
}

/// No four letters of the name are left.
fn check_gone(packets: &[Vec<u8>], name: &str) {
    for piece in name.as_bytes().windows(4) {
        let stands = |packet: &Vec<u8>| packet.windows(4).any(|window| window == piece);
        assert!(!packets.iter().any(stands), "{piece:?} in {packets:?}");
    }
}

const NAME: &str = "Grandmother";

fn record(id: u8, name: &str) -> Vec<u8> {
    [&[id, name.len() as u8], name.as_bytes()].concat()
}

fn stream_packets(stream: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let starts = [&[0], cuts].concat();
    let ends = [cuts, &[stream.len()]].concat();
    let packet = |(start, end): (usize, usize)| {
        let data = &stream[start..end];
        let (position, length) = (
            (start as u32).to_le_bytes(),
            (data.len() as u16).to_le_bytes(),
        );
        [&[7][..], &position, &length, data].concat()
    };
    starts.into_iter().zip(ends).map(packet).collect()
}

#[test]
fn a_name_that_the_end_of_a_packet_cuts_is_blanked_in_both() {
    let stream = [record(1, "me"), record(2, NAME), record(3, "you")].concat();
    let packets = stream_packets(&stream, &[4, 9, 17]);
    let (copy, report) = blanked(STREAM, &packets, "name");
    check_gone(&copy, NAME);
    assert_eq!(held(&report), [0; 0]);
    let (copy, report) = blanked(STREAM, &packets, "mark");
    let marked = |packet: &Vec<u8>| [&[0], &packet[1..]].concat();
    assert_eq!(copy, packets.iter().map(marked).collect::<Vec<_>>());
    assert_eq!(held(&report), [0; 0]);
}

#[test]
fn a_record_whose_end_never_comes_is_held_back() {
    let stream = [record(1, "me"), record(2, NAME)].concat();
    let mut packets = stream_packets(&stream, &[4, 9, 12]);
    packets.pop();
    let (copy, report) = blanked(STREAM, &packets, "name");
    check_gone(&copy, NAME);
    assert_eq!(held(&report), [1, 2]);
    assert!(
        report.held_back[0]
            .why
            .contains("not read to the end of a record")
    );
}

fn part(id: u8, (index, count): (u8, u8), data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u16).to_le_bytes();
    [&[7, id, index, count][..], &length, data].concat()
}

#[test]
fn parts_of_a_message_are_blanked_and_those_of_none_are_held_back() {
    let message = record(1, NAME);
    let (first, second) = message.split_at(6);
    let other = record(1, "somebody else");
    let packets = [
        part(1, (0, 2), first),
        part(1, (1, 2), second),
        // The first comes again.
        part(1, (0, 2), first),
        // Of this one the rest never comes.
        part(2, (0, 2), &other[..7]),
    ];
    let (copy, report) = blanked(PARTS, &packets, "name");
    check_gone(&copy, NAME);
    check_gone(&copy, "somebody else");
    assert_eq!(held(&report), [3]);
    let (copy, report) = blanked(PARTS, &packets, "mark");
    assert_eq!(copy[0][1..], packets[0][1..]);
    assert_eq!(held(&report), [3]);
}

//! The wire that packets suggest, beside what their protocols say. How good the guess is stands here as it
//! is: no more sequences and acks may be wrong, and no fewer right.

use std::path::Path;

use netreel_protocol::guess::{Guess, Packets, Role};
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_wire::Wire;
use proptest::prelude::*;

use Role::{Ack, AckBits, Kind, Length, Sequence, Time};

/// A field of a header: of which kind of packet (`None`: of all), at which byte, and what it is.
type Truth = (Option<u8>, usize, Role);

/// What header fields were named as they are, which sequences and acks are none, and which
/// fields were not named.
#[derive(Debug, PartialEq, Eq)]
struct Judged {
    right: usize,
    wrong: usize,
    missed: usize,
}

fn session(path: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let opened = netreel_capture::open_session(&[path]).expect("it opens");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    Session::builder()
        .build(reels.collect())
        .expect("a session")
}

/// A wire that reads all packets without a diagnostic.
fn takes_all(wire: &str, packets: impl Iterator<Item = Vec<u8>>) {
    let compiled = Wire::compile("guessed.wire", wire);
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}\n{wire}"));
    for bytes in packets {
        let decoded = compiled.decode(&bytes);
        assert!(
            decoded.diagnostics.is_empty(),
            "{:?} of {bytes:02x?}\n{wire}",
            decoded.diagnostics
        );
    }
}

fn judged(guess: &Guess, truth: &[Truth]) -> Judged {
    let mut judged = Judged {
        right: 0,
        wrong: 0,
        missed: truth.len(),
    };
    for layout in guess.layouts() {
        for field in &layout.fields {
            if truth.contains(&(layout.kind, field.place, field.role)) {
                judged.right += 1;
                judged.missed -= 1;
            } else if matches!(field.role, Sequence | Ack | AckBits) {
                judged.wrong += 1;
            }
        }
    }
    judged
}

#[track_caller]
fn check(path: &str, truth: &[Truth], right: usize, wrong: usize) {
    let session = session(path);
    let guess = Packets::of(&session).guess();
    let wire = guess.wire();
    let all = (0..session.packet_count()).map(|number| PacketId(number as u32));
    takes_all(
        &wire,
        all.map(|packet| session.payload(packet).expect("its bytes")),
    );
    assert_eq!(
        wire,
        Packets::of(&session).guess().wire(),
        "it is the same again"
    );
    let missed = truth.len() - right;
    assert_eq!(
        judged(&guess, truth),
        Judged {
            right,
            wrong,
            missed
        },
        "{path}\n{wire}"
    );
}

const BOXES: &[Truth] = &[(None, 2, Sequence), (None, 4, Ack), (None, 6, AckBits)];
const RAKNET: &[Truth] = &[
    (None, 0, Kind),
    (Some(0x84), 1, Sequence),
    (Some(0x84), 5, Length),
    (Some(0xc0), 4, Ack),
];
const RENET: &[Truth] = &[
    (None, 0, Kind),
    (Some(0), 1, Sequence),
    (Some(1), 1, Sequence),
    (Some(4), 1, Sequence),
    (Some(4), 2, Ack),
];

#[test]
fn boxes() {
    check("samples/sessions/host", BOXES, 3, 0);
    check("samples/sessions/owner", BOXES, 3, 0);
}

#[test]
fn boxes_where_packets_come_late() {
    check("tests/recordings/resends-every-20ms", BOXES, 3, 0);
    check("tests/recordings/fragments-never-join", BOXES, 3, 0);
}

#[test]
fn engines_of_whole_bytes() {
    let skirmish = [(None, 3, Sequence), (None, 6, Ack), (None, 8, AckBits)];
    check("tests/recordings/reliable-unordered", &skirmish, 3, 0);
    check("tests/recordings/stale-update-applied", BOXES, 3, 0);
    check("tests/recordings/checksums-part-at-60", BOXES, 3, 0);
}

#[test]
fn raknet() {
    check("protocol/wire/tests/recordings/raknet.pcap", RAKNET, 1, 0);
}

#[test]
fn enet() {
    let enet = [(None, 4, Kind), (None, 2, Time)];
    check("protocol/wire/tests/recordings/enet.pcap", &enet, 0, 0);
}

#[test]
fn quake3() {
    let quake = [(None, 0, Sequence)];
    check("protocol/wire/tests/recordings/quake3.pcap", &quake, 0, 0);
}

#[test]
fn renet() {
    check("protocol/wire/tests/recordings/renet.pcap", RENET, 3, 0);
}

#[test]
fn minetest() {
    check(
        "protocol/wire/tests/recordings/minetest.pcap",
        &[(None, 7, Kind)],
        1,
        0,
    );
}

#[test]
fn teeworlds() {
    check(
        "protocol/wire/tests/recordings/teeworlds07.pcap",
        &[(None, 0, Ack)],
        0,
        0,
    );
}

// A tick that goes on with each packet looks like a number of packets.
#[test]
fn lockstep() {
    check("tests/recordings/tick-drift", &[(None, 6, Ack)], 0, 1);
    check("tests/recordings/input-late", &[(None, 6, Ack)], 0, 1);
}

#[test]
fn ggrs() {
    let ggrs = [(None, 2, Kind), (Some(2), 29, Ack), (Some(3), 6, Ack)];
    check("tests/recordings/rollback-deep", &ggrs, 1, 3);
}

#[test]
fn noise_is_called_noise() {
    let mut packets = Packets::default();
    let mut state = 1_u64;
    for number in 0..400 {
        let byte = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        let mut bytes = vec![0x47, 0x53];
        bytes.extend((0..30).map(byte));
        packets.push(0, 1, number * 16_000_000, &bytes);
    }
    let guess = packets.guess();
    assert!(
        guess.remarks().contains(
            &"high entropy from byte 2 on: compressed, encrypted or bit-packed".to_owned()
        )
    );
    assert_eq!(
        judged(&guess, &[]),
        Judged {
            right: 0,
            wrong: 0,
            missed: 0
        }
    );
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        prop::collection::vec(0_u8..3, 0..30),
        prop::collection::vec(prop::sample::select(vec![0_u8, 0xff]), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_packets_have_a_wire_that_reads_them(
        packets in prop::collection::vec((0_u32..3, 0_u32..3, any::<i64>(), bytes()), 0..120),
        repeat in 1_usize..4,
    ) {
        let mut all = Packets::default();
        for _ in 0..repeat {
            for (from, to, time, bytes) in &packets {
                all.push(*from, *to, *time, bytes);
            }
        }
        takes_all(&all.guess().wire(), packets.into_iter().map(|(_, _, _, bytes)| bytes));
    }
}

//! What QUIC sent and received is in the reels, is read with the keys, and is played back to the byte.

#[path = "../../../../tests/support/skipped.rs"]
mod skipped;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use netreel_protocol::export::{Frames, PcapngOptions, pcapng};
use netreel_protocol::session::{MessageId, ReelInput, Session};
use netreel_reel::{EventKind, Reel};
use netreel_replay::{Driver, Outcome, Report};
use netreel_wire::{Keys, Wire};
use proof::Proof;
use quinn_recorded::example::{Game, record, record_with};
use rustls::{CipherSuite, NoKeyLog};

/// One session for all tests.
fn session() -> &'static (tempfile::TempDir, Proof) {
    static SESSION: OnceLock<(tempfile::TempDir, Proof)> = OnceLock::new();
    SESSION.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        record(folder.path()).expect("a session");
        let proof = proof::open(folder.path());
        (folder, proof)
    })
}

fn replay(reel: Arc<Reel>) -> Report {
    let conditions = reel.header().start.clone();
    let driver = Driver::new(reel).expect("a reel that can be replayed");
    let mut game = Game::new(driver.transport(), &conditions, Arc::new(NoKeyLog)).expect("start");
    driver.run(&mut game)
}

#[test]
fn every_packet_was_received_or_lost_and_some_were_lost() {
    let (sent, lost) = session().1.sent_and_lost();
    assert!(sent > 50 && lost > 0, "{sent} sent, {lost} lost");
}

#[test]
fn the_wire_and_the_keys_read_every_packet() {
    session().1.decodes();
}

#[test]
fn nothing_is_wrong_with_the_session() {
    assert_eq!(session().1.faults(), Vec::<&_>::new());
}

#[test]
fn every_node_is_replayed_exactly() {
    for node in ["server", "a", "b"] {
        let report = replay(session().1.reel(node));
        assert_eq!(report.outcome, Outcome::Exact, "{node}");
        let sent = session().1.reel(node).counts()[&EventKind::Sent];
        assert_eq!(report.sends, sent, "{node}");
    }
}

/// The frames of all packets that were sent, padding and acks left out: how many there are of each kind.
fn frames_of_tshark(folder: &Path, proof: &Proof) -> Option<BTreeMap<u64, usize>> {
    let capture = folder.join("race.pcapng");
    let mut file = std::fs::File::create(&capture).expect("a file");
    let options = PcapngOptions {
        frames: Frames::Sent,
        ..PcapngOptions::default()
    };
    let keep = &mut |_| true;
    pcapng(&proof.session, &proof.history, options, keep, &mut file).expect("it is written");
    let keys = format!("tls.keylog_file:{}", folder.join("keys.log").display());
    let read = Command::new("tshark")
        .arg("-r")
        .arg(&capture)
        .args([
            "-o",
            &keys,
            "-Y",
            "quic",
            "-T",
            "fields",
            "-e",
            "quic.frame_type",
        ])
        .output();
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            skipped::skipped(format_args!("tshark: {error}"));
            return None;
        }
    };
    let said = String::from_utf8_lossy(&read.stdout).into_owned();
    let mut frames = BTreeMap::new();
    for kind in said.split([',', '\n']).filter(|it| !it.is_empty()) {
        let kind: u64 = kind.parse().unwrap_or_else(|_| panic!("{kind}"));
        if ![0, 2, 3].contains(&kind) {
            *frames.entry(kind).or_insert(0) += 1;
        }
    }
    Some(frames)
}

/// RFC 9000, 12.4, RFC 9221, 4, and draft-ietf-quic-ack-frequency. Which of them there are follows from what
/// was lost, and from the machine's haste.
fn frame_type(name: &str) -> u64 {
    match name {
        "ping" => 0x01,
        "reset_stream" => 0x04,
        "stop_sending" => 0x05,
        "crypto" => 0x06,
        "new_token" => 0x07,
        "stream" => 0x08,
        "stream_end" => 0x09,
        "stream_length" => 0x0a,
        "stream_length_end" => 0x0b,
        "stream_offset" => 0x0c,
        "stream_offset_end" => 0x0d,
        "stream_offset_length" => 0x0e,
        "stream_offset_length_end" => 0x0f,
        "max_data" => 0x10,
        "max_stream_data" => 0x11,
        "max_streams_both_ways" => 0x12,
        "max_streams_one_way" => 0x13,
        "data_blocked" => 0x14,
        "stream_data_blocked" => 0x15,
        "streams_blocked_both_ways" => 0x16,
        "streams_blocked_one_way" => 0x17,
        "new_connection_id" => 0x18,
        "retire_connection_id" => 0x19,
        "path_challenge" => 0x1a,
        "path_response" => 0x1b,
        "close" => 0x1c,
        "close_of_application" => 0x1d,
        "handshake_done" => 0x1e,
        "immediate_ack" => 0x1f,
        "datagram" => 0x30,
        "datagram_length" => 0x31,
        other => panic!("a frame of no QUIC: {other}"),
    }
}

/// tshark and the wire read the same frames of a session, and how many of each kind; `None` where there is no
/// tshark.
fn frames_of_both(folder: &Path, proof: &Proof) -> Option<BTreeMap<u64, usize>> {
    let expected = frames_of_tshark(folder, proof)?;
    let wire = proof.session.wire.as_deref().expect("a wire");
    let mut frames = BTreeMap::new();
    for number in 0..proof.session.message_count() {
        let message = proof
            .session
            .message(MessageId(number as u32))
            .expect("a message");
        let kind = message.kind().expect("a kind");
        let name = &wire.kinds()[usize::from(kind.0)].name;
        *frames.entry(frame_type(name)).or_insert(0) += 1;
    }
    assert_eq!(frames, expected);
    Some(expected)
}

#[test]
fn tshark_reads_the_same_frames_with_the_same_keys() {
    let (folder, proof) = session();
    let Some(expected) = frames_of_both(folder.path(), proof) else {
        return;
    };
    // Streams with and without an end or an offset, and datagrams of 15 bytes.
    assert!(
        expected.keys().any(|kind| (8..16).contains(kind)),
        "{expected:?}"
    );
    assert!(expected.contains_key(&0x31), "{expected:?}");
}

/// The session of a proof, read with another wire.
fn read_by(proof: &Proof, keys: &Path, wire: &str) -> Session {
    let inputs = proof.reels.iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: Arc::clone(&opened.reel),
    });
    let keys = std::fs::read_to_string(keys).expect("the keys");
    let keys = Keys::parse(&keys).expect("a key log");
    let wire = Wire::compile("quic.wire", wire).expect("a wire");
    let session = Session::builder().keys(keys).wire(Arc::new(wire));
    session.build(inputs.collect()).expect("a session")
}

/// Both clients prefer a cipher, and renew their keys three times.
fn check_cipher(cipher: CipherSuite) {
    let folder = tempfile::tempdir().expect("a folder");
    record_with(folder.path(), cipher, &[60, 75, 88]).expect("a session");
    let proof = proof::open(folder.path());
    proof.decodes();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    for node in ["server", "a", "b"] {
        assert_eq!(replay(proof.reel(node)).outcome, Outcome::Exact, "{node}");
    }
    frames_of_both(folder.path(), &proof);
    // A reader that knows no other cipher, or none of the renewed keys, opens less.
    let reel = proof.reel("a");
    let wire = &reel.header().wires[0].text;
    let others = [
        ("set state.suite = suite;", "set state.suite = 0x1304;"),
        ("~= updates & 1 then", "~= updates & 1 and false then"),
    ];
    for (of, other) in others {
        assert_eq!(wire.matches(of).count(), 1);
        let read = read_by(
            &proof,
            &folder.path().join("keys.log"),
            &wire.replace(of, other),
        );
        let [read, all] = [&read, &proof.session].map(Session::message_count);
        assert!(read < all, "{other}: {read} of {all}");
    }
}

#[test]
fn packets_under_aes_128_and_their_renewed_keys_are_read_and_replayed() {
    check_cipher(CipherSuite::TLS13_AES_128_GCM_SHA256);
}

#[test]
fn packets_under_aes_256_and_their_renewed_keys_are_read_and_replayed() {
    check_cipher(CipherSuite::TLS13_AES_256_GCM_SHA384);
}

#[test]
fn packets_under_chacha20_and_their_renewed_keys_are_read_and_replayed() {
    check_cipher(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
}

#[test]
fn without_the_keys_the_headers_are_read_and_no_frames_of_the_data() {
    let proof = &session().1;
    let inputs = proof.reels.iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: Arc::clone(&opened.reel),
    });
    let sealed = Session::builder()
        .build(inputs.collect())
        .expect("a session");
    let (read, all) = (sealed.message_count(), proof.session.message_count());
    assert!(read > 0 && read < all / 10, "{read} of {all}");
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_quinn-quic"));
    let out = folder.path().join("session");
    let status = Command::new(program).arg("--out").arg(&out).status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}

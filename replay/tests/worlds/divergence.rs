//! A changed engine: the first difference is found, and named to the field.

use netreel_reel::{Event, EventNumber, Reel};
use netreel_replay::{Explanation, Outcome, Report, explain};
use netreel_sample_engine::{Mode, Topology, Tuning};
use netreel_transport::{Divergence, Step};

use crate::recorded::{boxes, record, replay, wire};

fn reel() -> Vec<u8> {
    record(&boxes(3, Mode::Owner, Topology::PeerToPeer), 150).swap_remove(1)
}

fn diverged(report: Report) -> Divergence {
    match report.outcome {
        Outcome::Diverged(divergence) => divergence,
        other => panic!("not a divergence: {other:?}"),
    }
}

/// Replays with one constant changed.
fn changed(tune: impl FnOnce(&mut Tuning)) -> (Divergence, Explanation) {
    let divergence = diverged(replay(reel(), tune));
    let explanation = explain(&divergence, (Some(&wire()), None), &|_| None);
    (divergence, explanation)
}

#[test]
fn it_is_at_the_event_that_the_recording_has_there() {
    let (divergence, _) = changed(|tuning| tuning.resend_delay_ns /= 4);
    let recorded = Reel::from_bytes(reel())
        .unwrap()
        .record(divergence.number)
        .unwrap();
    assert_eq!(
        Step::of(&recorded.as_record().event),
        Some(divergence.expected)
    );
}

#[test]
fn everything_before_it_was_equal() {
    let whole = Reel::from_bytes(reel()).unwrap();
    let report = replay(reel(), |tuning| tuning.resend_delay_ns /= 4);
    let mut sent_before = 0;
    let number = diverged(report.clone()).number;
    whole.for_each(|record| {
        let is_send = matches!(record.event, Event::Sent { .. });
        sent_before += u64::from(is_send && record.number < number);
    });
    assert_eq!(report.sends, sent_before);
}

#[test]
fn a_message_that_is_resent_sooner_shows_in_the_message_count() {
    let (_, explanation) = changed(|tuning| tuning.resend_delay_ns /= 4);
    let field = explanation
        .field
        .expect("both are packets to the same peer");
    assert_eq!(field.path, "count", "{field:?}");
}

#[test]
fn a_packet_that_comes_unasked_is_a_divergence_from_what_comes_next() {
    let (divergence, explanation) = changed(|tuning| tuning.keep_alive_ns = 1);
    assert!(
        matches!(divergence.came, Step::Send { .. }),
        "{divergence:?}"
    );
    assert!(explanation.came.starts_with("a packet of"), "{explanation}");
}

#[test]
fn the_same_constants_do_not_diverge() {
    let report = replay(reel(), |tuning| tuning.keep_alive_ns *= 1);
    assert_eq!(report.outcome, Outcome::Exact);
}

#[test]
fn a_flipped_payload_bit_is_named_by_its_field() {
    let divergence = Divergence {
        number: EventNumber(0),
        time: netreel_reel::Time(0),
        expected: packet(&[0xb0, 0x10, 0x34, 0x12, 0x00]),
        came: packet(&[0xb0, 0x10, 0x35, 0x12, 0x00]),
        sockets: None,
    };
    let field = explain(&divergence, (Some(&wire()), None), &|_| None)
        .field
        .expect("a field");
    assert_eq!(
        (
            field.path.as_str(),
            field.bits,
            field.expected.as_str(),
            field.came.as_str()
        ),
        ("sequence", 16..32, "4660", "4661")
    );
}

#[test]
fn without_a_wire_the_byte_is_named() {
    let divergence = Divergence {
        number: EventNumber(0),
        time: netreel_reel::Time(0),
        expected: packet(b"abc"),
        came: packet(b"abd"),
        sockets: None,
    };
    let field = explain(&divergence, (None, None), &|_| None)
        .field
        .expect("a byte");
    assert_eq!(
        (field.path.as_str(), field.expected.as_str()),
        ("byte 2", "0x63")
    );
}

#[test]
fn another_destination_is_named() {
    let to = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let divergence = Divergence {
        number: EventNumber(0),
        time: netreel_reel::Time(0),
        expected: Step::Send {
            to: to(1),
            packet: b"abc".to_vec(),
        },
        came: Step::Send {
            to: to(2),
            packet: b"abc".to_vec(),
        },
        sockets: None,
    };
    let name = |endpoint: std::net::SocketAddr| (endpoint.port() == 1).then(|| "A".to_owned());
    let field = explain(&divergence, (None, None), &name)
        .field
        .expect("a difference");
    assert_eq!(
        (
            field.path.as_str(),
            field.expected.as_str(),
            field.came.as_str()
        ),
        ("destination", "A", "127.0.0.1:2")
    );
}

fn packet(bytes: &[u8]) -> Step {
    Step::Send {
        to: std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
        packet: bytes.to_vec(),
    }
}

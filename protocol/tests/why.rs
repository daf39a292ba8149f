//! Why: sessions of a tiny protocol, made by hand, in which it is known what led to what.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_protocol::why::{Certainty, Fact, Why};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time, WireText,
};
use netreel_wire::Wire;

/// A number, an ack that reaches eight back, perhaps what is lacked, and perhaps a reliable message.
const WIRE: &str = "
wire acked { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { rpc = 0 @rpc, }
struct Packet {
    sender: u8 @sender;
    sequence: u8 @sequence;
    ack: u8 @ack;
    ack_bits: u8 @ack_bits;
    lacks: u8;
    if (lacks == 1) { nack: u8 @nack; }
    count: u8;
    messages: Message[count];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    place: u8 @reliable_sequence;
}
";

/// A packet from A (0) or B (1) to the other. Times in ms.
#[derive(Clone, Copy, Default)]
struct Packet {
    from: u8,
    at: u64,
    received: Option<u64>,
    sequence: u8,
    ack: (u8, u8),
    nack: Option<u8>,
    place: Option<u8>,
}

/// A's packet with a reliable message; it takes 10 ms.
fn says(at: u64, sequence: u8, place: u8) -> Packet {
    Packet {
        at,
        received: Some(at + 10),
        sequence,
        place: Some(place),
        ..Packet::default()
    }
}

/// B's packet with an ack; it takes 10 ms.
fn acks(at: u64, sequence: u8, ack: u8, bits: u8) -> Packet {
    Packet {
        from: 1,
        at,
        received: Some(at + 10),
        sequence,
        ack: (ack, bits),
        ..Packet::default()
    }
}

fn lost(packet: Packet) -> Packet {
    Packet {
        received: None,
        ..packet
    }
}

/// When, whether it was sent, and the bytes; `None` where there was no packet.
type Crossed = (u64, bool, Option<Vec<u8>>);

/// Packets get their numbers in the order of the story, which is that of time.
fn play(story: &[Packet]) -> (Session, History) {
    play_with(story, &[])
}

/// The same, and at these times, in ms, B asks for a packet and there is none.
fn play_with(story: &[Packet], empty: &[u64]) -> (Session, History) {
    let endpoint = |peer: u8| -> Endpoint { ([127, 0, 0, 1], 1 + u16::from(peer)).into() };
    let mut events: [Vec<Crossed>; 2] = Default::default();
    events[1].extend(empty.iter().map(|&at| (at, false, None)));
    for each in story {
        let (ack, bits) = each.ack;
        let mut bytes = vec![each.from, each.sequence, ack, bits, 0];
        if let Some(nack) = each.nack {
            bytes[4] = 1;
            bytes.push(nack);
        }
        bytes.push(u8::from(each.place.is_some()));
        bytes.extend(each.place.into_iter().flat_map(|place| [0, 1, place]));
        events[usize::from(each.from)].push((each.at, true, Some(bytes.clone())));
        if let Some(at) = each.received {
            events[usize::from(1 - each.from)].push((at, false, Some(bytes)));
        }
    }
    let reels = (0u8..).zip(events).map(|(peer, mut events)| {
        let header = Header {
            node: ["A", "B"][usize::from(peer)].to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "boot".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "acked.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
        let socket = SocketId(0);
        let mut number = 0;
        let mut push = |at_ms: u64, event: Event<'_>| {
            let record = Record {
                number: EventNumber(number),
                time: Time(at_ms * 1_000_000),
                thread: ThreadId(0),
                event,
            };
            writer.push(&record).unwrap();
            number += 1;
        };
        let local = endpoint(peer);
        push(0, Event::SocketOpened { socket, local });
        events.sort_by_key(|&(at, ..)| at);
        for (at, is_out, bytes) in &events {
            let Some(payload) = bytes.as_deref() else {
                push(*at, Event::PollEmpty { socket });
                continue;
            };
            let other = endpoint(1 - peer);
            push(
                *at,
                match is_out {
                    true => Event::Sent {
                        socket,
                        to: other,
                        payload,
                    },
                    false => Event::Received {
                        socket,
                        from: other,
                        payload,
                    },
                },
            );
        }
        push(10_000, Event::SocketClosed { socket });
        let bytes = writer.finish().unwrap();
        ReelInput {
            name: format!("{peer}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes).unwrap()),
        }
    });
    let wire = Wire::compile("acked.wire", WIRE).unwrap();
    let session = Session::builder()
        .wire(Arc::new(wire))
        .build(reels.collect())
        .unwrap();
    let history = History::build(&session);
    (session, history)
}

/// What led to a packet's story, a step a line: how sure it is, and the sentence.
fn why(story: &[Packet], packet: u32) -> Vec<String> {
    why_with(story, &[], packet)
}

/// The same, where B asks for packets and there is none at these times, in ms.
fn why_with(story: &[Packet], empty: &[u64], packet: u32) -> Vec<String> {
    let (session, history) = play_with(story, empty);
    let why = Why::of_packet(&session, &history, PacketId(packet)).expect("a packet");
    let steps = why.steps.iter().map(|step| {
        let sentence = step.fact.sentence(&session, &history);
        match step.certainty {
            Certainty::Certain => sentence,
            certainty => format!("{}: {sentence}", certainty.name()),
        }
    });
    steps.collect()
}

fn check(story: &[Packet], packet: u32, expected: &[&str]) {
    let found = why(story, packet);
    assert_eq!(found, expected, "{found:#?}");
}

/// The first of three messages is lost, and comes 300 ms later.
fn blocked() -> Vec<Packet> {
    vec![
        says(0, 9, 0),
        acks(15, 50, 9, 0),
        lost(says(100, 10, 1)),
        says(110, 11, 2),
        says(120, 12, 3),
        says(400, 13, 1),
    ]
}

#[test]
fn a_message_waits_behind_one_that_was_lost_and_sent_again_after_a_time_out() {
    check(
        &blocked(),
        3,
        &[
            "doubtful: `rpc` was handed to B 300.0 ms after A first sent it, because it waited for \
             `rpc`: packet 2 was lost and its resend in packet 5 waited 300.0 ms for a time-out",
            "`rpc` was at B at 0.120000 s (packet 3) and waited 290.0 ms for `rpc`, which stands \
             before it in the stream and came in packet 5",
            "`rpc` arrived at B at 0.410000 s in packet 5, the 2nd time that it was sent, 310.0 ms \
             after A first sent it",
            "packet 2 was lost: B recorded on and has no receipt of it; packet 3, sent 10.0 ms \
             later, arrived",
            "unknown: what A -> B did to it no reel shows: nothing further is known",
            "A sent it again 300.0 ms after packet 2, in packet 5",
            "doubtful: A had not been told of the arrival of packet 2 for 300.0 ms, nor of any that \
             it sent B later: a time-out, as far as the packets tell",
            "packet 5 took 10.0 ms from A to B, which is nothing unusual there",
            "A sent packet 3 to B at 0.110000 s with `rpc`",
            "packet 3 took 10.0 ms from A to B, which is nothing unusual there",
        ],
    );
}

#[test]
fn what_waited_says_for_how_long_and_behind_which_packet() {
    let (session, history) = play(&blocked());
    for (packet, waited_ms) in [(3, 290), (4, 280)] {
        let why = Why::of_packet(&session, &history, PacketId(packet)).unwrap();
        let waited = why.steps.iter().find_map(|step| match step.fact {
            Fact::Waited {
                closed_by,
                waited_ns,
                ..
            } => Some((closed_by, waited_ns / 1_000_000)),
            _ => None,
        });
        assert_eq!(waited, Some((PacketId(5), waited_ms)), "packet {packet}");
    }
}

#[test]
fn what_came_in_its_turn_waited_for_nothing() {
    let story = [says(0, 9, 0), says(100, 10, 1), says(110, 11, 2)];
    let found = why(&story, 2).join("\n");
    assert!(!found.contains("waited"), "{found}");
}

#[test]
fn sent_again_when_later_packets_were_acked_is_a_gap_or_a_time_out() {
    let mut story = blocked();
    // B acks packets 11 and 12, and not 10.
    story.insert(5, acks(135, 51, 12, 0b001));
    check(
        &story,
        6,
        &[
            "doubtful: `rpc` was handed to B 310.0 ms after A first sent it, because packet 2 was lost \
             and its resend in packet 6 waited 300.0 ms, for acks to pass over it or for a time-out",
            "`rpc` arrived at B at 0.410000 s in packet 6, the 2nd time that it was sent, 310.0 ms after A \
             first sent it",
            "packet 2 was lost: B recorded on and has no receipt of it; packet 3, sent 10.0 ms later, \
             arrived",
            "unknown: what A -> B did to it no reel shows: nothing further is known",
            "A sent it again 300.0 ms after packet 2, in packet 6",
            "doubtful: A had been told at 0.145000 s that packet 3, sent later, had arrived, and \
             nothing of packet 2; it sent again 255.0 ms after that, for this gap or after a time-out",
            "packet 6 took 10.0 ms from A to B, which is nothing unusual there",
            "A sent packet 6 to B at 0.400000 s with `rpc`",
        ],
    );
}

#[test]
fn sent_again_when_the_receiver_said_that_it_lacks_it() {
    let mut story = blocked();
    let nack = Packet {
        nack: Some(10),
        ..acks(135, 51, 9, 0)
    };
    story.insert(5, nack);
    let found = why(&story, 6);
    assert!(
        found.contains(
            &"B had said that it lacked packet 2 (packet 5): A received that at 0.145000 s"
                .to_owned()
        ),
        "{found:#?}"
    );
    assert!(!found.join("\n").contains("time-out"), "{found:#?}");
    assert_eq!(
        found[0],
        "`rpc` was handed to B 310.0 ms after A first sent it, because packet 2 was lost and its resend \
         in packet 6 waited 300.0 ms for the word that it was lacking"
    );
}

#[test]
fn what_was_lost_twice_says_so() {
    let mut story = blocked();
    story.insert(5, lost(says(200, 20, 1)));
    let found = why(&story, 6);
    assert_eq!(
        found[0],
        "doubtful: `rpc` was handed to B 310.0 ms after A first sent it, because packet 2 was lost, and a \
         copy after it and the next in packet 6 waited 200.0 ms for a time-out"
    );
    // Of the packet that was lost it is told as well.
    assert_eq!(why(&story, 2)[0], found[0]);
}

#[test]
fn what_was_in_time_or_late_for_another_reason_says_nothing_of_a_loss() {
    let told = |story: &[Packet], packet| why(story, packet).join("\n").contains("was handed to B");
    assert!(!told(&blocked(), 0));
    // Sent twice, and the first one arrives, late.
    let late = Packet {
        received: Some(900),
        ..says(100, 10, 1)
    };
    let story = [
        says(0, 9, 0),
        acks(15, 50, 9, 0),
        late,
        lost(says(400, 11, 1)),
    ];
    assert!(!told(&story, 2) && !told(&story, 3));
}

#[test]
fn sent_again_after_its_ack_says_that_its_sender_knew() {
    let story = [says(0, 9, 0), acks(15, 50, 9, 0), says(300, 10, 0)];
    let found = why(&story, 2);
    let knew = "A was told at 0.025000 s that packet 0 had arrived".to_owned();
    assert!(found.contains(&knew), "{found:#?}");
}

#[test]
fn sent_again_because_the_acks_were_lost() {
    let story = [
        says(0, 9, 0),
        acks(15, 50, 9, 0),
        says(100, 10, 1),
        lost(acks(115, 51, 10, 0)),
        lost(acks(130, 52, 10, 0)),
        says(400, 11, 1),
        acks(415, 53, 11, 0b1),
    ];
    let found = why(&story, 5);
    let away = "packet 2 had arrived at 0.110000 s; B had sent A 2 packets since, 2 of them lost, \
                and no ack of it had come";
    assert!(found.contains(&away.to_owned()), "{found:#?}");
}

#[test]
fn sent_again_before_an_answer_could_come_waited_for_nothing() {
    let story = [
        says(0, 9, 0),
        acks(15, 50, 9, 0),
        says(100, 10, 1),
        says(105, 11, 1),
    ];
    let found = why(&story, 3).join("\n");
    assert!(
        found.contains("no answer to packet 2 could have come within 5.0 ms"),
        "{found}"
    );
}

#[test]
fn a_packet_that_was_held_with_others_names_them() {
    let found = why(&together(), 6);
    let held = "A -> B held everything that was sent from 0.300000 to 0.570000 s: 10 packets (4 to \
                13) arrived together at 0.900000 s; B received nothing from anybody else in that \
                time";
    assert!(found.contains(&held.to_owned()), "{found:#?}");
}

#[test]
fn where_one_overtook_nobody_says_that_everything_was_held() {
    let mut story: Vec<Packet> = (0..4).map(|it| says(it * 10, it as u8, it as u8)).collect();
    let held = (10..20).map(|it| Packet {
        received: Some(if it == 15 { it * 30 + 10 } else { 900 }),
        ..says(it * 30, it as u8, it as u8)
    });
    story.extend(held);
    let found = why(&story, 6).join("\n");
    assert!(
        found.contains("of 10 packets that A sent to B from 0.300000 to 0.570000 s, 9"),
        "{found}"
    );
    assert!(!found.contains("everything"), "{found}");
}

/// Packets that arrive together after most of a second.
fn together() -> Vec<Packet> {
    let mut story: Vec<Packet> = (0..4).map(|it| says(it * 10, it as u8, it as u8)).collect();
    let held = (10..20).map(|it| Packet {
        received: Some(900),
        ..says(it * 30, it as u8, it as u8)
    });
    story.extend(held);
    story
}

#[test]
fn what_its_receiver_did_not_ask_for_no_link_has_held() {
    let late = |found: &[String]| {
        let told = found
            .iter()
            .find(|it| it.contains("could not read") || it.contains("held"));
        told.cloned().unwrap_or_default()
    };
    // When B asked and was told that there is none, its reel says by what it did before.
    let found = why_with(&together(), &[100], 6);
    let asked = "B asked for no packet from 0.100000 to 0.900000 s, for 800.0 ms: before that it could \
                 not read packet 6";
    assert_eq!(late(&found), format!("doubtful: {asked}"), "{found:#?}");
    // It sent something after that.
    let mut story = together();
    story.insert(4, acks(100, 50, 3, 0b111));
    let found = why_with(&story, &[100], 7);
    let asked = asked.replace("packet 6", "packet 7");
    assert_eq!(late(&found), asked, "{found:#?}");
    // It asked all the time.
    let all: Vec<u64> = (5..90).map(|it| it * 10).collect();
    let found = why_with(&together(), &all, 6);
    assert!(
        late(&found).contains("A -> B held everything"),
        "{found:#?}"
    );
}

#[test]
fn a_single_packet_that_was_not_asked_for_was_not_late_on_its_way() {
    let mut story: Vec<Packet> = (0..4).map(|it| says(it * 10, it as u8, it as u8)).collect();
    story.push(Packet {
        received: Some(900),
        ..says(300, 10, 4)
    });
    let found = why_with(&story, &[100], 4).join("\n");
    assert!(
        found.contains("B asked for no packet from 0.100000"),
        "{found}"
    );
    let found = why_with(&story, &[100, 890], 4).join("\n");
    assert!(found.contains("no reel shows"), "{found}");
}

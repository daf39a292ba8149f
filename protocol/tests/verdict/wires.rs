//! What packets that the wire does not read leave open.

use super::*;

#[test]
fn without_a_wire_packets_are_only_bytes() {
    let reels = |text: Option<&str>| {
        let reel = |node: &str, port: u16, other: u16| {
            let mut header = header(node);
            header.wires = text.map_or(Vec::new(), |text| {
                vec![WireText {
                    name: "tiny.wire".to_owned(),
                    text: text.to_owned(),
                }]
            });
            let tape = Tape::with(header).event(
                0,
                Event::SocketOpened {
                    socket: SOCKET,
                    local: at(port),
                },
            );
            let (mine, theirs) = (ack(port as u8, 0), ack(other as u8, 0));
            let tape = tape.sent(10, other, &mine);
            tape.received(20, other, &theirs).closed()
        };
        vec![reel("A", 1, 2), reel("B", 2, 1)]
    };
    check(
        reels(None),
        &[(
            "no-wire",
            "no reel holds a wire and none was given (--wire FILE): packets are only bytes",
        )],
    );
    check(
        reels(Some("wire ?")),
        &[(
            "wire-error",
            "the wire inside the reels does not compile: packets are only bytes",
        )],
    );
    let mut one_wrong = reels(Some(WIRE));
    one_wrong[1] = reels(Some("wire ?")).remove(1);
    check(
        one_wrong,
        &[(
            "wire-error",
            "the wire tiny.wire inside a reel does not compile: its packets are read by the wire of \
             another reel",
        )],
    );
    let no_rules = "wire bare { version = 1; byte_order = little; bit_order = lsb; root = P; }
        struct P { magic: u8 = 0xA7; sender: u8; rest: bytes(rest); }";
    check(
        reels(Some(no_rules)),
        &[(
            "no-rules",
            "the wire bare declares no rules: what nodes made of their messages is not judged",
        )],
    );
}

#[test]
fn rules_that_no_packet_names_judge_nothing() {
    let with = |mut payload: Vec<u8>| {
        payload[1] = SILENT;
        payload
    };
    let (told, answered) = (with(says(1, 0, (CREATE, 0))), with(ack(2, 0)));
    let a = Tape::of("A", 1)
        .sent(10, 2, &told)
        .received(40, 2, &answered);
    let b = Tape::of("B", 2)
        .received(20, 1, &told)
        .sent(30, 1, &answered);
    check(
        vec![a.closed(), b.closed()],
        &[(
            "no-rules",
            "no packet says by which rules of the wire a node goes: what nodes made of their \
             messages is not judged",
        )],
    );
}

/// B sends `all` packets to A, of which the first `unfit` do not fit the wire.
fn unfit(unfit: u8, all: u8) -> Vec<ReelInput> {
    let (mut a, mut b) = pair();
    for number in 0..all {
        let time = 100 + u64::from(number);
        let mut payload = ack(2, number + 1);
        if number < unfit {
            payload.push(0);
        }
        b = b.sent(time, 1, &payload);
        a = a.received(time + 10, 2, &payload);
    }
    vec![a.closed(), b.closed()]
}

#[test]
fn many_packets_that_do_not_fit_the_wire_are_not_judged() {
    check(
        unfit(3, 100),
        &[(
            "misfit",
            "3 of 101 packets from B do not fit the wire tiny: what they say is not judged",
        )],
    );
    check(unfit(1, 120), &[]);
}

#[test]
fn a_wire_of_another_protocol_judges_nothing() {
    let a = Tape::of("A", 1)
        .sent(10, 2, b"hello")
        .received(40, 2, b"welcome");
    let b = Tape::of("B", 2)
        .received(20, 1, b"hello")
        .sent(30, 1, b"welcome");
    let judged = judge(vec![a.closed(), b.closed()]);
    assert_eq!(judged.verdict, Verdict::Unknown);
    assert_eq!(
        judged.reasons[0].sentence,
        "none of 2 packets fits the wire tiny"
    );
}

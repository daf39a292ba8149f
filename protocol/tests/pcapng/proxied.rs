//! What a proxy did, in frames.

use super::*;

/// A proxy at 127.0.0.1:70 before a server at 127.0.0.1:90. Two clients send a packet each and get
/// an answer; a third packet is dropped. Its events begin with number `first`.
pub fn proxy(first: u64) -> Reel {
    let header = Header {
        node: "middle".to_owned(),
        engine: Header::PROXY.to_owned(),
        args: vec!["127.0.0.1:70=game:90".to_owned()],
        clock: ClockAnchor {
            monotonic: Time(0),
            utc_ns: UTC_NS,
            boot_id: "boot".to_owned(),
        },
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let mut number = first;
    let mut push = |time: u64, event: Event<'_>| {
        let record = Record {
            number: EventNumber(number),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("an event");
        number += 1;
        record.number
    };
    let (listener, server) = (SocketId(0), at("127.0.0.1:90"));
    let local = at("127.0.0.1:70");
    push(
        0,
        Event::SocketOpened {
            socket: listener,
            local,
        },
    );
    for place in 1..3u16 {
        let (socket, client) = (SocketId(place), ([127, 0, 0, 1], 10 + place).into());
        let local = ([127, 0, 0, 1], 40 + place).into();
        push(0, Event::SocketOpened { socket, local });
        push(
            0,
            Event::Relay {
                socket,
                listener,
                client,
            },
        );
        let time = u64::from(place) * 100;
        let (up, down) = (format!("a packet of {place}"), format!("answer to {place}"));
        for (time, socket, peer, payload, out) in [
            (time, listener, client, &up, false),
            (time + 10, socket, server, &up, true),
            (time + 20, socket, server, &down, false),
            (time + 30, listener, client, &down, true),
        ] {
            let payload = payload.as_bytes();
            let (to, from) = (peer, peer);
            let of = match out {
                true => push(
                    time,
                    Event::Sent {
                        socket,
                        to,
                        payload,
                    },
                ),
                false => push(
                    time,
                    Event::Received {
                        socket,
                        from,
                        payload,
                    },
                ),
            };
            if out {
                let outcome = SendOutcome::Sent;
                push(time, Event::SendResult { of, outcome });
            }
        }
    }
    let (socket, from) = (listener, at("127.0.0.1:11"));
    let payload = b"one that is dropped";
    let of = push(
        300,
        Event::Received {
            socket,
            from,
            payload,
        },
    );
    let verdict = FaultVerdict::Lost;
    push(300, Event::Fault { of, verdict });
    Reel::from_bytes(writer.finish().expect("its bytes")).expect("the reel opens")
}

/// Time after the start, source port, destination port.
fn ports(bytes: &[u8]) -> Vec<(u64, u16, u16)> {
    let frame = |each: UdpPayload| {
        let ends = (each.source.port(), each.destination.port());
        (each.time - UTC_NS as u64, ends.0, ends.1)
    };
    read(bytes).into_iter().map(frame).collect()
}

#[test]
fn a_proxy_has_each_packet_as_it_came_and_as_it_went_on() {
    let (bytes, summary) = export(vec![proxy(0)], PcapngOptions::default());
    let expected = [
        (100, 11, 70),
        (110, 41, 90),
        (120, 90, 41),
        (130, 70, 11),
        (200, 12, 70),
        (210, 42, 90),
        (220, 90, 42),
        (230, 70, 12),
        (300, 11, 70),
    ];
    assert_eq!(ports(&bytes), expected);
    assert_eq!(summary.frames, 9);
    let said = comments(&bytes);
    assert_eq!(said.matches("[fault] the proxy dropped it").count(), 1);
    says(&bytes, "middle is a proxy: inbound is what came to it");
    says(
        &bytes,
        "a proxy; it tells of 127.0.0.1:11, 127.0.0.1:12 and game:90",
    );
}

#[test]
fn a_packet_through_a_proxy_can_have_one_frame() {
    let times = |frames| -> Vec<u64> {
        let (bytes, _) = export(vec![proxy(0)], options(frames));
        ports(&bytes).iter().map(|frame| frame.0).collect()
    };
    assert_eq!(times(Frames::Once), [100, 120, 200, 220, 300]);
    assert_eq!(times(Frames::Received), [110, 130, 210, 230]);
}

#[test]
fn an_end_of_a_proxy_with_a_reel_of_its_own_has_its_own_frames() {
    let server = reel(
        "server",
        at("127.0.0.1:90"),
        &[
            (111, received("127.0.0.1:41", b"a packet of 1")),
            (119, sent("127.0.0.1:41", b"answer to 1")),
            (211, received("127.0.0.1:42", b"a packet of 2")),
            (219, sent("127.0.0.1:42", b"answer to 2")),
        ],
    );
    let (bytes, _) = export(vec![proxy(0), server], PcapngOptions::default());
    assert_eq!(read(&bytes).len(), 9);
}

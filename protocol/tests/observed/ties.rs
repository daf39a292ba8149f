//! What ties packets that observers saw to those of others.

use super::*;

#[test]
fn observers_who_saw_nothing_in_common_are_not_one_session() {
    let far = Maker {
        name: "far",
        ..OBSERVER
    };
    let reels = vec![
        reel(&OBSERVER, &[(1, Seen(0, 1000, 2000, b"here"))]),
        reel(&far, &[(1, Seen(0, 3000, 4000, b"there"))]),
    ];
    let error = Session::builder().build(reels).err();
    assert!(matches!(error, Some(SessionError::NeverMet { .. })));
}

#[test]
fn nodes_of_one_capture_that_talked_to_the_same_server_are_one_session() {
    let node = |name, port| Maker {
        name,
        port: Some(port),
        boot: "capture 1",
        ..OBSERVER
    };
    let session = session(vec![
        reel(&node("A", 1000), &[(10, Sent(9000, b"from A"))]),
        reel(&node("B", 2000), &[(20, Sent(9000, b"from B"))]),
    ]);
    assert_eq!(session.packet_count(), 2);
}

#[test]
fn a_packet_that_one_observer_cut_is_the_same_packet() {
    let far = Maker {
        name: "far",
        ..OBSERVER
    };
    let whole = [
        (10, Seen(0, 1000, 2000, &[1, 0, 7, 7][..])),
        (20, Seen(0, 2000, 1000, &[1, 1, 8, 8])),
        // It begins like the next one, and is longer.
        (30, Seen(0, 1000, 2000, &[2, 1, 7, 7, 7])),
    ];
    let cut = [
        (11, Seen(0, 1000, 2000, &[1, 0, 7][..])),
        (11, Cut(0, 4)),
        (19, Seen(0, 2000, 1000, &[1, 1, 8])),
        (19, Cut(2, 4)),
        (29, Seen(0, 1000, 2000, &[2, 1, 7])),
        (29, Cut(4, 4)),
    ];
    check(
        vec![reel(&OBSERVER, &whole), reel(&far, &cut)],
        &[
            "10.0.0.1:1000 > 10.0.0.2:2000: - [0@tap 1@far] - Unknown",
            "10.0.0.2:2000 > 10.0.0.1:1000: - [9@far 10@tap] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [19@far] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [20@tap] - Unknown",
        ],
    );
}

#[test]
fn captures_that_were_cut_at_different_lengths_find_each_other() {
    let far = Maker {
        name: "far",
        ..OBSERVER
    };
    let tap = [
        (10, Seen(0, 1000, 2000, &[1, 0, 7][..])),
        (10, Cut(0, 9)),
        (20, Seen(0, 1000, 2000, &[2, 0, 7])),
        (20, Cut(2, 9)),
    ];
    let shorter = [
        (20, Seen(0, 1000, 2000, &[2, 0][..])),
        (20, Cut(0, 9)),
        (21, Seen(0, 1000, 2000, &[1, 0])),
        (21, Cut(2, 9)),
    ];
    let session = session(vec![reel(&OBSERVER, &tap), reel(&far, &shorter)]);
    let seen: Vec<usize> = session.packets().map(|each| each.seen.len()).collect();
    assert_eq!(seen, [2, 2]);
}

#[test]
fn an_observer_who_cut_packets_does_not_mix_up_what_nodes_recorded() {
    let node = |name, port| Maker {
        name,
        port: Some(port),
        boot: "one machine",
        ..OBSERVER
    };
    let tap = Maker {
        boot: "one machine",
        ..OBSERVER
    };
    let (one, other) = (&[1, 0, 1][..], &[1, 0, 2][..]);
    let reels = vec![
        reel(
            &node("A", 1000),
            &[(10, Sent(2000, one)), (20, Sent(2000, other))],
        ),
        // The second overtook the first.
        reel(
            &node("B", 2000),
            &[
                (50, Received(1000, other)),
                (60, Received(1000, one)),
                (900_000_000, Received(1000, b"end")),
            ],
        ),
        reel(&tap, &[(15, Seen(0, 1000, 2000, &[1, 0])), (15, Cut(0, 3))]),
    ];
    let session = session(reels);
    let told = story(&session);
    assert!(told[0].starts_with("A > B: 10 [] 60 Received"), "{told:?}");
    assert!(told[1].ends_with("- [15@tap] - Unknown"), "{told:?}");
    assert!(told[2].starts_with("A > B: 20 [] 50 Received"), "{told:?}");
}

#[test]
fn what_was_seen_on_its_way_to_a_group_is_matched_with_who_heard_it() {
    // A at 1000 says the same twice; B hears both, C once.
    let group = |port: u16| Endpoint::from(([239, 1, 2, 3], port));
    let node = |name, port| Maker {
        name,
        port: Some(port),
        boot: "one",
        ..OBSERVER
    };
    let tap = Maker {
        boot: "one",
        ..OBSERVER
    };
    let say = b"\x01\x00announce";
    let sent = |maker: &Maker<'_>, times: [u64; 2]| {
        let mut writer = ReelWriter::create(Vec::new(), &header(maker)).expect("a reel");
        for (place, time) in times.into_iter().enumerate() {
            let (from, to, payload) = (at(1000), group(2000), &say[..]);
            let socket = SocketId(0);
            let event = match maker.port {
                Some(_) if place == 0 => Event::SocketOpened {
                    socket,
                    local: from,
                },
                Some(_) => break,
                None => Event::Seen { from, to, payload },
            };
            put(&mut writer, time, event);
        }
        if maker.port.is_some() {
            for time in times {
                let (socket, to, payload) = (SocketId(0), group(2000), &say[..]);
                let event = Event::Sent {
                    socket,
                    to,
                    payload,
                };
                put(&mut writer, time, event);
            }
        }
        input(maker, writer)
    };
    let a = sent(&node("A", 1000), [10, 100]);
    let tap = sent(&tap, [12, 102]);
    let b = reel(
        &node("B", 2000),
        &[(20, Received(1000, say)), (120, Received(1000, say))],
    );
    let mut at_any = ReelWriter::create(Vec::new(), &header(&node("C", 3000))).expect("a reel");
    let socket = SocketId(0);
    let local = "0.0.0.0:2000".parse().expect("an address");
    put(&mut at_any, 0, Event::SocketOpened { socket, local });
    let (from, payload) = (at(1000), &say[..]);
    let event = Event::Received {
        socket,
        from,
        payload,
    };
    put(&mut at_any, 121, event);
    let c = input(&node("C", 3000), at_any);
    let session = Session::builder()
        .build(vec![a, b, c, tap])
        .expect("a session");
    let mut told: Vec<(String, usize, bool)> = session
        .packets()
        .map(|packet| {
            let to = session.name(packet.to);
            (to, packet.seen.len(), packet.received.is_some())
        })
        .collect();
    told.sort();
    let row = |name: &str| (name.to_owned(), 1, true);
    assert_eq!(told, [row("B"), row("B"), row("C")]);
    let info = netreel_protocol::export::info(&session, &History::build(&session));
    let a = info.nodes.iter().find(|node| node.name == "A");
    assert_eq!(a.and_then(|node| node.sent), Some(2));
}

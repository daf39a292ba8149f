//! Any events under any rules.

use netreel_redact::{Bytes, Redaction, Survey, Texts};
use netreel_reel::{Believed, CallId, Endpoint, Event, Reel, SocketId, Time};
use proptest::prelude::*;

use crate::copied::{MARKER, complaints, contains, copy, header, reel};

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
                call: CallId(*number as u8 % 60),
                result: *number as i32,
                details: payload,
            },
            9 => Event::Seen {
                from: *endpoint,
                to: *endpoint,
                payload,
            },
            10 => Event::PollEmpty { socket },
            11 => Event::Believed {
                object: *number,
                believed: Believed::Value { said: payload },
            },
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
        Just(b"\x03USER=annelise".to_vec()),
        Just(b"as annelise at 7, 25 bytes before /home/bob/x/y.cfg".to_vec()),
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
        switches in any::<[bool; 5]>(),
        bytes in [any_bytes(), any_bytes(), any_bytes(), any_bytes(), any_bytes()],
        more in [any_bytes(), any_bytes(), any_bytes(), any_bytes(), any_bytes()],
        texts in [any_texts(), any_texts(), any_texts()],
    ) -> Redaction {
        let [addresses, loopback, ports, nodes, keep_names] = switches;
        let [payloads, inputs, snapshots, random, start] = bytes;
        let [environment, typed, printed, lookups, beliefs] = more;
        let [args, notes, files] = texts;
        Redaction {
            key, addresses, loopback, ports, nodes, payloads, inputs, snapshots, random, start, args,
            notes, files, keep_names, environment, typed, printed, lookups, beliefs,
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

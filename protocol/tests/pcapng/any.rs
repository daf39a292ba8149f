//! Any events at all.

use super::*;

fn endpoint() -> impl Strategy<Value = Endpoint> {
    prop_oneof![
        (1u8..5, 1u16..9).prop_map(|(host, port)| SocketAddr::from(([10, 0, 0, host], port))),
        (1u16..5, 1u16..9)
            .prop_map(|(host, port)| SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, host], port))),
    ]
}

fn happened() -> impl Strategy<Value = Happened> {
    let payload = prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 0..64),
        1 => (0usize..65_507).prop_map(|length| vec![7; length]),
    ];
    let outcome = prop_oneof![
        6 => Just(SendOutcome::Sent),
        1 => any::<u32>().prop_map(SendOutcome::Short),
        1 => (1i32..133).prop_map(SendOutcome::Failed),
    ];
    prop_oneof![
        4 => (endpoint(), payload.clone(), outcome)
            .prop_map(|(to, payload, outcome)| Happened::Sent(to, payload, outcome)),
        4 => (endpoint(), payload).prop_map(|(from, payload)| Happened::Received(from, payload)),
        1 => (1u64..9).prop_map(Happened::Dropped),
        1 => Just(Happened::Tick),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a session holds, every packet is in the file, each with its bytes and its
    /// nanosecond, those of one node in its order.
    #[test]
    fn every_packet_comes_back(
        mut nodes in proptest::collection::vec(
            (endpoint(), proptest::collection::vec((0u64..3_000_000_000, happened()), 0..40)),
            1..4,
        ),
    ) {
        let mut expected: Vec<(u64, Vec<u8>, u16)> = Vec::new();
        let mut reels = Vec::new();
        for (place, (local, events)) in nodes.iter_mut().enumerate() {
            events.sort_by_key(|(time, _)| *time);
            for (time, event) in events.iter() {
                let utc = UTC_NS as u64 + time;
                match event {
                    Happened::Sent(to, payload, _) => {
                        expected.push((utc, payload.clone(), to.port()));
                    }
                    Happened::Received(from, payload) => {
                        expected.push((utc, payload.clone(), from.port()));
                    }
                    _ => {}
                }
            }
            local.set_port(100 + place as u16);
            reels.push(reel(&format!("N{place}"), *local, events));
        }
        let inputs = reels.into_iter().map(|reel| ReelInput {
            name: reel.header().node.clone(),
            reel: Arc::new(reel),
        });
        let session = Session::builder().build(inputs.collect()).expect("one session id");
        let history = History::build(&session);
        let mut bytes = Vec::new();
        pcapng(&session, &history, PcapngOptions::default(), &mut |_| true, &mut bytes)
            .expect("memory takes all");
        let found = read(&bytes);
        prop_assert!(found.is_sorted_by_key(|each| each.time));
        let mut told: Vec<(u64, Vec<u8>, u16)> = found
            .into_iter()
            .map(|each| {
                let ports = [each.source.port(), each.destination.port()];
                let peer = ports.into_iter().find(|port| *port < 100).unwrap_or(0);
                (each.time, each.payload, peer)
            })
            .collect();
        told.sort();
        expected.sort();
        prop_assert_eq!(told, expected);
    }
}

//! Faults, gates and the simulated world, seen through `Transport`.

use std::time::Duration;

use netreel_reel::Endpoint;
use netreel_transport::{Faults, LinkEnd, LinkFaults, SimNet, SimTransport, Transport};

const MS: Duration = Duration::from_millis(1);
const A: LinkEnd = LinkEnd(1);
const X: LinkEnd = LinkEnd(3);

fn endpoint(end: LinkEnd) -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 4000 + end.0))
}

fn node(net: &SimNet, own: LinkEnd, seed: u64) -> Faults<SimTransport> {
    let ends = [A, X].map(|end| (endpoint(end), end));
    Faults::new(net.join(endpoint(own)), seed, own, ends)
}

/// Takes all that has arrived.
fn drain(transport: &mut impl Transport) -> Vec<u8> {
    let mut buffer = [0; 64];
    let mut all = Vec::new();
    while let Ok(Some(datagram)) = transport.receive(&mut buffer) {
        all.extend_from_slice(&buffer[..datagram.length]);
    }
    all
}

/// Sends packets 0 to `count - 1` from A to X, 1 ms apart, and says when (ms) each arrived.
fn arrivals(seed: u64, count: u8, egress: LinkFaults, ingress: LinkFaults) -> Vec<(u32, u8)> {
    let net = SimNet::new(1, Duration::ZERO);
    let (mut a, mut x) = (node(&net, A, seed), node(&net, X, seed));
    a.set_egress(X, egress);
    x.set_ingress(A, ingress);
    let mut seen = Vec::new();
    for ms in 0..400 {
        a.tick(u64::from(ms), net.now());
        if let Ok(n) = u8::try_from(ms)
            && n < count
        {
            a.send(endpoint(X), &[n]).expect("sent");
        }
        seen.extend(drain(&mut x).into_iter().map(|n| (ms, n)));
        net.advance(MS);
    }
    assert_eq!(
        a.waiting() + x.waiting() + net.flying(),
        0,
        "everything was let go"
    );
    seen
}

fn order(seen: &[(u32, u8)]) -> Vec<u8> {
    seen.iter().map(|&(_, n)| n).collect()
}

#[test]
fn no_faults_change_nothing() {
    let seen = arrivals(7, 20, LinkFaults::default(), LinkFaults::default());
    assert_eq!(seen, (0..20).map(|n| (u32::from(n), n)).collect::<Vec<_>>());
}

#[test]
fn a_delay_moves_every_packet_by_as_much() {
    let delay = LinkFaults::delayed(30 * MS);
    let late: Vec<_> = (0..20).map(|n| (u32::from(n) + 30, n)).collect();
    assert_eq!(arrivals(7, 20, delay, LinkFaults::default()), late);
    assert_eq!(arrivals(7, 20, LinkFaults::default(), delay), late);
}

#[test]
fn jitter_keeps_the_order() {
    let jitter = LinkFaults {
        jitter: 50 * MS,
        ..LinkFaults::default()
    };
    let seen = arrivals(7, 50, jitter, LinkFaults::default());
    assert_eq!(order(&seen), (0..50).collect::<Vec<u8>>());
    assert!(
        seen.iter().any(|&(ms, n)| ms > u32::from(n) + 10),
        "some were late: {seen:?}"
    );
}

#[test]
fn reordering_lets_packets_overtake_and_loses_none() {
    let reorder = LinkFaults {
        reorder: 0.3,
        ..LinkFaults::default()
    };
    let mut seen = order(&arrivals(7, 50, reorder, LinkFaults::default()));
    assert!(!seen.is_sorted());
    seen.sort_unstable();
    assert_eq!(seen, (0..50).collect::<Vec<u8>>());
}

#[test]
fn loss_takes_about_its_share() {
    let loss = LinkFaults {
        loss: 0.25,
        ..LinkFaults::default()
    };
    let count = arrivals(7, 200, loss, LinkFaults::default()).len();
    assert!((130..170).contains(&count), "{count} of 200 came through");
}

#[test]
fn duplication_delivers_some_packets_twice() {
    let twice = LinkFaults {
        duplicate: 0.25,
        ..LinkFaults::default()
    };
    let seen = order(&arrivals(7, 200, LinkFaults::default(), twice));
    assert!(
        (230..270).contains(&seen.len()),
        "{} arrivals of 200",
        seen.len()
    );
    assert!((0..200).all(|n| matches!(seen.iter().filter(|&&s| s == n).count(), 1 | 2)));
}

#[test]
fn a_verdict_is_a_function_of_seed_link_and_number() {
    let faults = LinkFaults {
        delay: 5 * MS,
        jitter: 20 * MS,
        loss: 0.5,
        duplicate: 0.5,
        reorder: 0.5,
        ..LinkFaults::default()
    };
    let all = |seed, from, to| {
        (0..64)
            .map(|n| faults.verdict(seed, (from, to), (n, 100)))
            .collect::<Vec<_>>()
    };
    assert_eq!(all(7, A, X), all(7, A, X));
    assert_ne!(all(7, A, X), all(8, A, X), "seed");
    assert_ne!(all(7, A, X), all(7, X, A), "link");
    assert_eq!(
        arrivals(7, 50, faults, faults),
        arrivals(7, 50, faults, faults)
    );
}

/// Which of 64 packets from A to X arrive where the faults of A's or X's side are set only after
/// the first `clean`, and all pass before.
fn arrived_with_late_faults(clean: u8, set: fn(&mut Pair, LinkFaults)) -> Vec<u8> {
    let loss = LinkFaults {
        loss: 0.5,
        ..LinkFaults::default()
    };
    let net = SimNet::new(1, Duration::ZERO);
    let mut pair = (node(&net, A, 7), node(&net, X, 7));
    let mut seen = Vec::new();
    for n in 0..64 {
        if n == clean {
            set(&mut pair, loss);
        }
        pair.0.send(endpoint(X), &[n]).expect("sent");
        seen.extend(drain(&mut pair.1));
    }
    seen
}

type Pair = (Faults<SimTransport>, Faults<SimTransport>);

#[test]
fn faults_set_late_begin_at_the_packet_where_the_link_is() {
    let sides: [fn(&mut Pair, LinkFaults); 2] = [
        |pair, loss| pair.0.set_egress(X, loss),
        |pair, loss| pair.1.set_ingress(A, loss),
    ];
    for set in sides {
        let from_the_start = arrived_with_late_faults(0, set);
        let mut expected: Vec<u8> = (0..5).collect();
        expected.extend(from_the_start.iter().filter(|&&n| n >= 5));
        assert_eq!(arrived_with_late_faults(5, set), expected);
    }
}

#[test]
fn a_gate_at_ingress_holds_packets_and_gives_them_back_in_order() {
    let net = SimNet::new(1, MS);
    let (mut a, mut x) = (node(&net, A, 7), node(&net, X, 7));
    let gates = x.gates();
    let mut send = |n: u8| {
        a.send(endpoint(X), &[n]).expect("sent");
        net.advance(2 * MS);
    };
    send(0);
    assert_eq!(drain(&mut x), [0]);
    gates.shut(A, X);
    send(1);
    send(2);
    assert_eq!((drain(&mut x), x.waiting()), (vec![], 2));
    gates.open(A, X);
    send(3);
    assert_eq!(drain(&mut x), [1, 2, 3]);
}

#[test]
fn a_gate_at_egress_holds_packets_and_gives_them_back_in_order() {
    let net = SimNet::new(1, MS);
    let (mut a, mut x) = (node(&net, A, 7), node(&net, X, 7));
    a.gates().shut(A, X);
    a.send(endpoint(X), &[1]).expect("sent");
    a.send(endpoint(X), &[2]).expect("sent");
    net.advance(2 * MS);
    assert_eq!(drain(&mut x), []);
    a.gates().open(A, X);
    a.send(endpoint(X), &[3]).expect("sent");
    net.advance(2 * MS);
    assert_eq!(drain(&mut x), [1, 2, 3]);
}

#[test]
fn a_gate_holds_one_direction_of_one_link_only() {
    let net = SimNet::new(1, Duration::ZERO);
    let (mut a, mut x) = (node(&net, A, 7), node(&net, X, 7));
    x.gates().shut(A, X);
    x.send(endpoint(A), &[9]).expect("sent");
    assert_eq!(drain(&mut a), [9]);
}

#[test]
fn an_endpoint_without_a_number_passes_untouched() {
    let net = SimNet::new(1, Duration::ZERO);
    let stranger = Endpoint::from(([127, 0, 0, 1], 9));
    let mut other = net.join(stranger);
    let mut x = node(&net, X, 7);
    other.send(endpoint(X), &[5]).expect("sent");
    assert_eq!(drain(&mut x), [5]);
    x.send(stranger, &[6]).expect("sent");
    assert_eq!(drain(&mut other), [6]);
}

#[test]
fn a_simulated_world_is_the_same_for_the_same_seed() {
    let run = |seed| {
        let net = SimNet::new(seed, MS);
        let (mut a, mut x) = (net.join(endpoint(A)), net.join(endpoint(X)));
        let bad = LinkFaults {
            loss: 0.3,
            reorder: 0.3,
            duplicate: 0.3,
            ..LinkFaults::default()
        };
        net.set_link(endpoint(A), endpoint(X), bad);
        let mut seen = vec![];
        for n in 0..100 {
            a.send(endpoint(X), &[n]).expect("sent");
            net.advance(5 * MS);
            seen.extend(drain(&mut x));
        }
        (seen, a.random())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).0, run(4).0);
    assert_ne!(run(3).1, run(4).1);
}

#[test]
fn a_packet_does_not_arrive_before_its_latency_has_passed() {
    let net = SimNet::new(1, 10 * MS);
    let (mut a, mut x) = (net.join(endpoint(A)), net.join(endpoint(X)));
    a.send(endpoint(X), &[1]).expect("sent");
    net.advance(9 * MS);
    assert_eq!(drain(&mut x), []);
    net.advance(MS);
    assert_eq!(drain(&mut x), [1]);
}

#[test]
fn a_clock_can_be_ahead_of_the_world() {
    let net = SimNet::new(1, MS);
    let mut ahead = net.join_offset(endpoint(A), 500 * MS);
    net.advance(MS);
    assert_eq!(ahead.now(), net.now() + 500 * MS);
    assert_eq!(ahead.clock().now(), ahead.now());
}

//! The two channels under faults: reliable calls come once and in order, whatever the network
//! does; unreliable ones come at most once each, and their sender learns which.

use std::collections::BTreeMap;
use std::time::Duration;

use netreel_sample_engine::{
    Argument, Call, Event, Mode, Peer, Refusal, Script, SimWorld, SimWorldStart, Topology,
};
use netreel_transport::LinkFaults;

const A: Peer = Peer(1);
const B: Peer = Peer(2);

fn world(faults: LinkFaults, topology: Topology) -> SimWorld {
    let mut start = SimWorldStart::new(11, Mode::Owner, topology, Script::Idle);
    start.nodes = 3;
    start.faults = faults;
    SimWorld::new(&start).expect("good conditions")
}

fn call(world: &mut SimWorld, reliable: bool, to: Option<Peer>, number: i64, padding: usize) {
    let arguments = vec![Argument::Int(number), Argument::Text("x".repeat(padding))];
    world.call(
        A,
        &Call::Rpc {
            to,
            reliable,
            name: "count".into(),
            arguments,
        },
    );
}

/// The numbers of the calls that reached a node, in order.
fn counted(world: &SimWorld, peer: Peer) -> Vec<i64> {
    let number = |event: &Event| match event {
        Event::Called {
            from: A, arguments, ..
        } => match arguments.first() {
            Some(Argument::Int(number)) => Some(*number),
            _ => None,
        },
        _ => None,
    };
    world.events(peer).iter().filter_map(number).collect()
}

/// Loss, duplication and reordering of 0, 20 and 40 percent each, in every combination.
fn fault_table() -> impl Iterator<Item = LinkFaults> {
    (0..27).map(|row| LinkFaults {
        jitter: Duration::from_millis(row),
        loss: (row % 3) as f64 * 0.2,
        duplicate: (row / 3 % 3) as f64 * 0.2,
        reorder: (row / 9) as f64 * 0.2,
        ..LinkFaults::default()
    })
}

#[test]
fn reliable_calls_come_once_and_in_order_under_all_faults() {
    for topology in [Topology::PeerToPeer, Topology::ClientServer] {
        for faults in fault_table() {
            let mut world = world(faults, topology);
            for number in 0..150 {
                // Every tenth is so large that it is split.
                let padding = if number % 10 == 9 { 4000 } else { 5 };
                call(&mut world, true, None, number, padding);
                world.step();
            }
            assert!(world.run_until_idle(60 * 120), "{faults:?} comes to rest");
            for peer in [Peer::HOST, B] {
                let expected: Vec<i64> = (0..150).collect();
                assert_eq!(
                    counted(&world, peer),
                    expected,
                    "{topology:?} {faults:?} {peer:?}"
                );
            }
        }
    }
}

#[test]
fn a_client_speaks_through_the_server_in_its_own_name() {
    let mut world = world(LinkFaults::default(), Topology::ClientServer);
    call(&mut world, true, None, 5, 0);
    world.run(60);
    assert_eq!(counted(&world, B), [5], "from A, not from HOST");
    assert_eq!(counted(&world, Peer::HOST), [5]);
    assert_eq!(counted(&world, A), [], "the server sends nothing back");
}

/// What comes of A's call to one peer in client-server: refused or not, and who hears it.
fn of_call_to(to: Peer, reliable: bool) -> (bool, Vec<Peer>) {
    let mut world = world(LinkFaults::default(), Topology::ClientServer);
    world.run(60);
    call(&mut world, reliable, Some(to), 1, 5);
    world.run(60);
    let refused = Event::Refused {
        because: Refusal::OnlyToAll,
    };
    let heard = [Peer::HOST, A, B].into_iter();
    let heard = heard.filter(|&peer| !counted(&world, peer).is_empty());
    (world.events(A).contains(&refused), heard.collect())
}

#[test]
fn a_clients_call_to_one_peer_is_refused_where_the_server_would_tell_all_or_none() {
    assert_eq!(of_call_to(B, true), (true, vec![]));
    assert_eq!(of_call_to(B, false), (true, vec![]));
    assert_eq!(of_call_to(Peer::HOST, true), (true, vec![]));
    assert_eq!(of_call_to(Peer::HOST, false), (false, vec![Peer::HOST]));
}

#[test]
fn unreliable_calls_come_at_most_once_and_their_sender_learns_which() {
    for faults in fault_table() {
        let mut world = world(faults, Topology::PeerToPeer);
        for number in 0..150 {
            call(&mut world, false, Some(B), number, 5);
            world.step();
        }
        world.run(120);
        let came = counted(&world, B);
        let mut fates: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
        for event in world.events(A) {
            match *event {
                Event::Arrived { to: B, ticket } => fates.entry(ticket).or_default().push(true),
                Event::Lost { to: B, ticket } => fates.entry(ticket).or_default().push(false),
                _ => {}
            }
        }
        assert_eq!(fates.len(), 150, "{faults:?}: every call has a fate");
        for (ticket, fate) in fates {
            let times = came
                .iter()
                .filter(|&&number| number == ticket as i64)
                .count();
            assert!(times <= 1, "{faults:?}: call {ticket} came {times} times");
            assert_eq!(fate.len(), 1, "{faults:?}: call {ticket} has one fate");
            assert!(
                times == 1 || !fate[0],
                "{faults:?}: call {ticket} was said to have arrived"
            );
        }
        if faults.loss == 0.0 && faults.reorder == 0.0 {
            assert_eq!(came, (0..150).collect::<Vec<i64>>());
        }
    }
}

/// All packets that are sent in a session of this many ticks.
fn packets(start: &SimWorldStart, ticks: u64) -> Vec<Vec<u8>> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut world = SimWorld::wrapped(start, |_, faults| {
        Box::new(Watched {
            inner: faults,
            seen: seen.clone(),
        })
    })
    .expect("good conditions");
    world.run(ticks);
    let seen = seen.lock().expect("one thread");
    seen.clone()
}

#[test]
fn the_first_packet_of_a_link_has_a_random_number() {
    let first = |seed| {
        let start = SimWorldStart::new(seed, Mode::Owner, Topology::PeerToPeer, Script::Idle);
        packets(&start, 1)
            .iter()
            .map(|packet| packet[2..4].to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(first(1).len(), 12);
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

#[test]
fn no_packet_is_longer_than_1200_bytes() {
    for seed in 0..5 {
        let script = Script::Boxes { ticks: 300 };
        let start = SimWorldStart::new(seed, Mode::Owner, Topology::ClientServer, script);
        let longest = packets(&start, 300).iter().map(Vec::len).max();
        assert!(
            longest.is_some_and(|bytes| (1000..=1200).contains(&bytes)),
            "{longest:?}"
        );
    }
}

/// A transport that keeps a copy of every packet sent.
struct Watched<T> {
    inner: T,
    seen: std::sync::Arc<std::sync::Mutex<Vec<Vec<u8>>>>,
}

impl<T: netreel_transport::Transport> netreel_transport::Transport for Watched<T> {
    fn now(&mut self) -> netreel_transport::Time {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }

    fn send(
        &mut self,
        to: std::net::SocketAddr,
        packet: &[u8],
    ) -> Result<(), netreel_transport::SendError> {
        self.seen.lock().expect("one thread").push(packet.to_vec());
        self.inner.send(to, packet)
    }

    fn receive(
        &mut self,
        buffer: &mut [u8],
    ) -> Result<Option<netreel_transport::Datagram>, netreel_transport::ReceiveError> {
        self.inner.receive(buffer)
    }

    fn tick(&mut self, tick: u64, time: netreel_transport::Time) {
        self.inner.tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }
}

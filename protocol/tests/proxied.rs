//! Sessions in which a proxy stood between clients and a server.

use std::sync::Arc;

use netreel_protocol::session::{Fate, Packet, PacketId, ProxyFault, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, FaultVerdict, Header, Record, Reel, ReelWriter,
    SendOutcome, SocketId, ThreadId, Time, WireText,
};

/// Each sequence number is told by its distance from the one before on its connection.
const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
state S { each last: u32 = 0; }
struct P { step: delta(u8, state.last) @sequence; set state.last = step; text: u8[until end]; }";

const LISTENER: SocketId = SocketId(0);
const MS: u64 = 1_000_000;

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

fn server() -> Endpoint {
    at(90)
}

/// A reel under way.
struct Tape {
    writer: ReelWriter<Vec<u8>>,
    number: u64,
}

impl Tape {
    fn new(header: Header) -> Tape {
        let writer = ReelWriter::create(Vec::new(), &header).unwrap();
        Tape { writer, number: 0 }
    }

    /// The reel of a program whose one socket is bound to `local`.
    fn of(node: &str, local: Endpoint) -> Tape {
        let mut tape = Tape::new(header(node, ""));
        let socket = LISTENER;
        tape.push(0, Event::SocketOpened { socket, local });
        tape
    }

    fn push(&mut self, time: u64, event: Event<'_>) -> EventNumber {
        let number = EventNumber(self.number);
        let (time, thread) = (Time(time), ThreadId(0));
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        self.writer.push(&record).unwrap();
        self.number += 1;
        number
    }

    fn sent(&mut self, time: u64, socket: SocketId, to: Endpoint, payload: &[u8]) {
        let sent = Event::Sent {
            socket,
            to,
            payload,
        };
        let of = self.push(time, sent);
        let outcome = SendOutcome::Sent;
        self.push(time, Event::SendResult { of, outcome });
    }

    fn seen(&mut self, time: u64, (from, to): (Endpoint, Endpoint), payload: &[u8]) {
        let seen = Event::Seen { from, to, payload };
        self.push(time, seen);
    }

    fn received(
        &mut self,
        time: u64,
        socket: SocketId,
        from: Endpoint,
        payload: &[u8],
    ) -> EventNumber {
        self.push(
            time,
            Event::Received {
                socket,
                from,
                payload,
            },
        )
    }
}

fn header(node: &str, engine: &str) -> Header {
    Header {
        node: node.to_owned(),
        engine: engine.to_owned(),
        clock: ClockAnchor {
            boot_id: "one machine".to_owned(),
            ..ClockAnchor::default()
        },
        wires: vec![WireText {
            name: "w.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    }
}

/// Clients, a proxy and a server, each with its reel, and somebody who watches both sides of the
/// proxy.
struct World {
    clients: Vec<(Endpoint, Tape)>,
    proxy: Tape,
    server: Tape,
    watcher: Tape,
    now: u64,
}

impl World {
    /// `clients`: as the proxy sees them, and where they are bound.
    fn new(clients: &[(Endpoint, Endpoint)]) -> World {
        let mut proxy = Tape::new(Header {
            args: vec!["127.0.0.1:70=game:90".to_owned()],
            ..header("proxy", Header::PROXY)
        });
        let (socket, local) = (LISTENER, at(70));
        proxy.push(0, Event::SocketOpened { socket, local });
        let tapes = clients.iter().enumerate().map(|(place, &(seen, bound))| {
            let socket = SocketId(place as u16 + 1);
            let local = at(40 + place as u16);
            proxy.push(0, Event::SocketOpened { socket, local });
            let client = seen;
            let listener = LISTENER;
            proxy.push(
                0,
                Event::Relay {
                    socket,
                    listener,
                    client,
                },
            );
            (seen, Tape::of(&format!("client {place}"), bound))
        });
        World {
            clients: tapes.collect(),
            proxy,
            server: Tape::of("server", server()),
            watcher: Tape::new(header("watcher", Header::OBSERVER)),
            now: 0,
        }
    }

    /// A packet from a client to the server, and what the proxy does to it.
    fn up(&mut self, client: usize, payload: &[u8], verdict: Option<FaultVerdict>) {
        self.now += 10 * MS;
        let now = self.now;
        let socket = SocketId(client as u16 + 1);
        let (seen, tape) = &mut self.clients[client];
        tape.sent(now, LISTENER, at(70), payload);
        self.watcher.seen(now + MS / 2, (*seen, at(70)), payload);
        let of = self.proxy.received(now + MS, LISTENER, *seen, payload);
        if let Some(verdict) = verdict {
            self.proxy.push(now + MS, Event::Fault { of, verdict });
        }
        if !matches!(
            verdict,
            Some(FaultVerdict::Lost | FaultVerdict::QueueFull { .. })
        ) {
            self.proxy.sent(now + 3 * MS, socket, server(), payload);
            let from = at(40 + client as u16);
            let way = (from, server());
            self.watcher.seen(now + 3 * MS + MS / 2, way, payload);
            self.server.received(now + 4 * MS, LISTENER, from, payload);
            if let Some(FaultVerdict::Duplicated { .. }) = verdict {
                self.proxy.sent(now + 5 * MS, socket, server(), payload);
                self.watcher.seen(now + 5 * MS + MS / 2, way, payload);
                self.server.received(now + 6 * MS, LISTENER, from, payload);
            }
        }
    }

    /// A packet from the server to a client.
    fn down(&mut self, client: usize, payload: &[u8]) {
        self.now += 10 * MS;
        let now = self.now;
        let socket = SocketId(client as u16 + 1);
        let (seen, tape) = &mut self.clients[client];
        let local = at(40 + client as u16);
        self.server.sent(now, LISTENER, local, payload);
        self.watcher.seen(now + MS / 2, (server(), local), payload);
        self.proxy.received(now + MS, socket, server(), payload);
        self.proxy.sent(now + 2 * MS, LISTENER, *seen, payload);
        self.watcher
            .seen(now + 2 * MS + MS / 2, (at(70), *seen), payload);
        tape.received(now + 3 * MS, LISTENER, at(70), payload);
    }

    /// Both clients and the server talk for a while; the third packet of the first is lost.
    fn play(mut self) -> World {
        for n in 0..6u8 {
            let verdict = (n == 2).then_some(FaultVerdict::Lost);
            self.up(
                0,
                &[1, b'f', b'i', b'r', b's', b't', b' ', b'0' + n],
                verdict,
            );
            let nanos = 2 * MS;
            let late = Some(FaultVerdict::Delayed { nanos });
            self.up(1, &[1, b's', b'e', b'c', b'o', b'n', b'd', b'0' + n], late);
            for client in 0..2 {
                self.down(
                    client,
                    &[
                        1,
                        b'r',
                        b'e',
                        b'p',
                        b'l',
                        b'y',
                        b'0' + client as u8,
                        b'0' + n,
                    ],
                );
            }
        }
        self.now += 1000 * MS;
        let text = b"the end";
        for tape in [&mut self.proxy, &mut self.server] {
            tape.push(self.now, Event::Note { text });
        }
        self
    }

    fn session(self, reels: &[&str]) -> Session {
        let clients = self.clients.into_iter().enumerate();
        let clients = clients.map(|(place, (_, tape))| (format!("client {place}"), tape));
        let others = [
            ("proxy".to_owned(), self.proxy),
            ("server".to_owned(), self.server),
            ("watcher".to_owned(), self.watcher),
        ];
        let inputs = clients
            .chain(others)
            .filter(|(name, _)| reels.contains(&name.as_str()))
            .map(|(name, tape)| ReelInput {
                name: format!("{name}.reel"),
                reel: Arc::new(Reel::from_bytes(tape.writer.finish().unwrap()).unwrap()),
            });
        Session::builder().build(inputs.collect()).unwrap()
    }
}

fn two_clients() -> World {
    World::new(&[(at(10), at(10)), (at(11), at(11))]).play()
}

/// What was done to a packet, whoever did it.
fn verdicts(packet: &Packet) -> Vec<FaultVerdict> {
    packet.faults.iter().map(|fault| fault.verdict).collect()
}

fn names(session: &Session) -> Vec<&str> {
    let mut names: Vec<&str> = session
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

/// Whoever brings a reel: who sent what to whom, what became of it, and what the wire reads of it.
fn check(session: &Session, expected: [&str; 3]) {
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(names(session), sorted);
    assert!(session.wire.is_some(), "{:?}", session.warnings());
    assert_eq!(session.packet_count(), 24);
    let [first, second, server] = expected;
    for (place, packet) in session.packets().enumerate() {
        let link = (session.name(packet.from), session.name(packet.to));
        let (from, to, n) = match place % 4 {
            0 => (first, server, place / 4),
            1 => (second, server, place / 4),
            2 => (server, first, place / 4),
            _ => (server, second, place / 4),
        };
        assert_eq!(link, (from.to_owned(), to.to_owned()), "packet {place}");
        let lost = place == 8;
        assert_eq!(packet.fate == Fate::Lost, lost, "packet {place}");
        assert_eq!(packet.received.is_some(), !lost, "packet {place}");
        assert!(packet.sent.is_some() && packet.duplicates.is_empty());
        let expected: &[FaultVerdict] = match place % 4 {
            0 if lost => &[FaultVerdict::Lost],
            1 => &[FaultVerdict::Delayed { nanos: 2 * MS }],
            _ => &[],
        };
        assert_eq!(verdicts(&packet), expected, "packet {place}");
        let id = PacketId(place as u32);
        let payload = session.payload(id).expect("the packet's bytes");
        assert_eq!(payload.last(), Some(&(b'0' + n as u8)));
        // What the wire keeps is that of one connection, seen from the end that counts.
        let decoded = session.decode(id).expect("the packet's fields");
        let said = session.said(id).expect("what the wire says of it");
        let told = |sequence: Option<netreel_wire::Sequence>| sequence.map(|each| each.value);
        assert_eq!(told(said.sequence), Some(n as u64 + 1), "packet {place}");
        assert_eq!(told(decoded.facts.sequence), told(said.sequence));
    }
}

const SEEN: [&str; 3] = ["127.0.0.1:10", "127.0.0.1:11", "game:90"];

#[test]
fn a_proxy_alone_tells_of_clients_and_server() {
    let session = two_clients().session(&["proxy"]);
    check(&session, SEEN);
    assert!(
        session
            .nodes
            .iter()
            .all(|node| node.recorded && node.complete)
    );
    let told = "proxy.reel is of a proxy: what 127.0.0.1:10, 127.0.0.1:11, game:90 sent and \
                received, and when, is told from there";
    assert_eq!(session.warnings(), [told]);
    let first = session.packet(PacketId(1)).expect("the packet");
    let (sent, received) = (first.sent.unwrap(), first.received.unwrap());
    assert_eq!(received.time.0 - sent.time.0, 2 * MS as i64);
}

#[test]
fn an_end_with_a_reel_of_its_own_tells_for_itself() {
    let session = two_clients().session(&["proxy", "server"]);
    check(&session, [SEEN[0], SEEN[1], "server"]);
    let session = two_clients().session(&["proxy", "client 0"]);
    check(&session, ["client 0", SEEN[1], SEEN[2]]);
}

#[test]
fn the_proxy_says_who_is_who_where_all_have_reels() {
    let session = two_clients().session(&["client 0", "client 1", "proxy", "server"]);
    check(&session, ["client 0", "client 1", "server"]);
    assert!(session.warnings().is_empty(), "{:?}", session.warnings());
}

#[test]
fn what_was_seen_on_both_sides_of_a_proxy_is_the_packet_that_it_passed_on() {
    for ends in [&[][..], &["server"], &["client 0"], &["client 0", "server"]] {
        let session = two_clients().session(&[&["proxy", "watcher"], ends].concat());
        assert_eq!(session.packet_count(), 24, "{ends:?}");
        for (place, packet) in session.packets().enumerate() {
            let lost = place == 8;
            assert_eq!(
                packet.seen.len(),
                if lost { 1 } else { 2 },
                "packet {place}"
            );
            assert_eq!(packet.fate == Fate::Lost, lost, "{ends:?} packet {place}");
        }
    }
}

#[test]
fn what_a_proxy_duplicates_is_seen_once_before_it_and_twice_behind_it() {
    for ends in [&[][..], &["server"], &["client 0", "server"]] {
        let mut world = two_clients();
        let nanos = 2 * MS;
        world.up(
            0,
            b"\x01once more",
            Some(FaultVerdict::Duplicated { nanos }),
        );
        let session = world.session(&[&["proxy", "watcher"], ends].concat());
        assert_eq!(session.packet_count(), 25, "{ends:?}");
        let packet = session.packets().last().expect("a packet");
        assert_eq!(
            (packet.seen.len(), packet.duplicates.len()),
            (3, 1),
            "{ends:?}"
        );
    }
}

#[test]
fn a_client_behind_an_address_translation_is_known_by_its_packets() {
    let far: Endpoint = "203.0.113.9:61000".parse().unwrap();
    let world = World::new(&[(far, "0.0.0.0:10".parse().unwrap()), (at(11), at(11))]);
    let session = world.play().session(&["client 0", "proxy", "server"]);
    check(&session, ["client 0", SEEN[1], "server"]);
}

#[test]
fn a_client_that_was_refused_never_reached_the_server() {
    let mut world = World::new(&[(at(10), at(10))]);
    world.up(0, b"\x01served", None);
    let of = world
        .proxy
        .received(20 * MS, LISTENER, at(12), b"\x01refused");
    let verdict = FaultVerdict::Refused;
    world.proxy.push(20 * MS, Event::Fault { of, verdict });
    let text = b"the end";
    world.proxy.push(1000 * MS, Event::Note { text });
    let session = world.session(&["proxy"]);
    assert_eq!(names(&session), ["127.0.0.1:10", "127.0.0.1:12", "game:90"]);
    let refused = session.packet(PacketId(1)).expect("the packet");
    assert_eq!(
        (refused.fate, verdicts(&refused)),
        (Fate::Lost, vec![verdict])
    );
}

#[test]
fn a_socket_of_which_nothing_says_whose_it_was_is_nobody() {
    let mut world = two_clients();
    let socket = SocketId(7);
    let local = at(50);
    world
        .proxy
        .push(world.now, Event::SocketOpened { socket, local });
    world
        .proxy
        .received(world.now, socket, server(), b"to somebody who went");
    let session = world.session(&["proxy"]);
    let names = names(&session);
    assert_eq!(names, ["127.0.0.1:10", "127.0.0.1:11", "game:90"]);
    assert_eq!(session.packet_count(), 24);
}

/// The reel of a proxy at `listen` that passes on to `target`, as from `local`, what `client` sends.
fn relay(name: &str, listen: u16, local: u16, client: u16, target: u16) -> Tape {
    let mut tape = Tape::new(Header {
        args: vec![format!("127.0.0.1:{listen}=127.0.0.1:{target}")],
        ..header(name, Header::PROXY)
    });
    let (socket, listener, client) = (SocketId(1), LISTENER, at(client));
    for (socket, port) in [(LISTENER, listen), (socket, local)] {
        let local = at(port);
        tape.push(0, Event::SocketOpened { socket, local });
    }
    tape.push(
        0,
        Event::Relay {
            socket,
            listener,
            client,
        },
    );
    tape
}

#[test]
fn of_two_proxies_on_the_way_each_says_what_it_did() {
    // The client at 10 knows the near proxy at 70, which is 40 to the far one at 80, which is 50 to
    // the server.
    let mut client = Tape::of("client", at(10));
    let mut near = relay("near", 70, 40, 10, 80);
    let mut far = relay("far", 80, 50, 40, 90);
    let mut server = Tape::of("server", server());
    let onward = SocketId(1);
    let nanos = 2 * MS;
    let delayed = FaultVerdict::Delayed { nanos };
    for n in 0..4u8 {
        let (now, payload) = (
            u64::from(n) * 10 * MS,
            [1, b'p', b'a', b'c', b'k', b'e', b't', n],
        );
        let payload = payload.as_slice();
        client.sent(now, LISTENER, at(70), payload);
        let of = near.received(now + MS, LISTENER, at(10), payload);
        let verdict = delayed;
        near.push(now + MS, Event::Fault { of, verdict });
        near.sent(now + 3 * MS, onward, at(80), payload);
        let of = far.received(now + 4 * MS, LISTENER, at(40), payload);
        if n == 1 {
            let verdict = FaultVerdict::Lost;
            far.push(now + 4 * MS, Event::Fault { of, verdict });
            continue;
        }
        far.sent(now + 5 * MS, onward, at(90), payload);
        server.received(now + 6 * MS, LISTENER, at(50), payload);
    }
    let text = b"the end";
    server.push(1000 * MS, Event::Note { text });
    let tapes = [
        ("client", client),
        ("far", far),
        ("near", near),
        ("server", server),
    ];
    let inputs = tapes.map(|(name, tape)| ReelInput {
        name: format!("{name}.reel"),
        reel: Arc::new(Reel::from_bytes(tape.writer.finish().unwrap()).unwrap()),
    });
    let session = Session::builder().build(inputs.into()).unwrap();
    assert_eq!(names(&session), ["client", "server"]);
    assert_eq!(session.packet_count(), 4);
    for (place, packet) in session.packets().enumerate() {
        let (fate, expected) = match place {
            1 => (
                Fate::Lost,
                &[("near", delayed), ("far", FaultVerdict::Lost)][..],
            ),
            _ => (Fate::Received, &[("near", delayed)][..]),
        };
        let by = |fault: &ProxyFault| &session.proxies[usize::from(fault.proxy.0)][..];
        let faults = packet.faults.iter().map(|fault| (by(fault), fault.verdict));
        let faults: Vec<(&str, FaultVerdict)> = faults.collect();
        assert_eq!((packet.fate, &faults[..]), (fate, expected), "{place}");
    }
}

#[test]
fn proxies_of_one_name_are_told_apart_by_where_they_listen() {
    let mut near = relay("proxy", 70, 40, 10, 80);
    let mut far = relay("proxy", 80, 50, 40, 90);
    near.received(MS, LISTENER, at(10), b"\x01a packet");
    near.sent(MS, SocketId(1), at(80), b"\x01a packet");
    far.received(2 * MS, LISTENER, at(40), b"\x01a packet");
    far.sent(2 * MS, SocketId(1), at(90), b"\x01a packet");
    let inputs = [near, far].map(|tape| ReelInput {
        name: "proxy.reel".to_owned(),
        reel: Arc::new(Reel::from_bytes(tape.writer.finish().unwrap()).unwrap()),
    });
    let session = Session::builder().build(inputs.into()).unwrap();
    assert_eq!(
        session.proxies,
        ["proxy at 127.0.0.1:70", "proxy at 127.0.0.1:80"]
    );
}

#[test]
fn two_ways_to_one_server_are_not_one_session() {
    let way = |listen: u16, client: u16, payload: &[u8]| {
        let mut tape = relay("proxy", listen, listen + 1, client, 90);
        tape.received(MS, LISTENER, at(client), payload);
        tape.sent(MS, SocketId(1), at(90), payload);
        ReelInput {
            name: format!("{listen}.reel"),
            reel: Arc::new(Reel::from_bytes(tape.writer.finish().unwrap()).unwrap()),
        }
    };
    let ways = vec![way(70, 10, b"\x01a packet"), way(80, 11, b"\x01another")];
    let error = Session::builder().build(ways).err().unwrap().to_string();
    assert!(
        error.contains("70.reel and 80.reel are of proxies that had other packets of 127.0.0.1:90"),
        "{error}"
    );
}

#[test]
fn what_the_proxy_dropped_takes_no_receipt_of_an_equal_packet() {
    let mut world = World::new(&[(at(10), at(10))]);
    let equal = b"\x01the same";
    for n in 0..6u8 {
        let verdict = (n % 3 == 0).then_some(FaultVerdict::Lost);
        world.up(0, equal, verdict);
    }
    world.up(
        0,
        b"\x01the last",
        Some(FaultVerdict::QueueFull { nanos: 1 }),
    );
    // The server's reel has no end, and would leave what came last in doubt.
    let session = world.session(&["client 0", "proxy", "server"]);
    let fates: Vec<Fate> = session.packets().map(|packet| packet.fate).collect();
    let (lost, received) = (Fate::Lost, Fate::Received);
    assert_eq!(
        fates,
        [lost, received, received, lost, received, received, lost]
    );
    for packet in session.packets().filter(|each| each.fate == received) {
        let times = packet.sent.zip(packet.received).unwrap();
        assert_eq!(times.1.time.0 - times.0.time.0, 4 * MS as i64);
        assert!(packet.duplicates.is_empty() && packet.faults.is_empty());
    }
    assert!(session.warnings().is_empty(), "{:?}", session.warnings());
}

#[test]
fn what_a_network_between_nodes_did_is_told_of_what_was_sent_and_by_whom() {
    // Both are bound to all addresses and the same port: the network alone knows where who is.
    let any = Endpoint::from(([0, 0, 0, 0], 7000));
    let on = |host: u8| Endpoint::from(([10, 77, 0, host], 7000));
    let mut one = Tape::of("A", any);
    let mut other = Tape::of("B", any);
    let mut network = Tape::new(Header {
        seeds: vec![("faults".to_owned(), 7)],
        ..header("network", Header::OBSERVER)
    });
    let verdicts_of = [
        None,
        Some(FaultVerdict::Lost),
        Some(FaultVerdict::Delayed { nanos: MS }),
    ];
    for (number, verdict) in (1..).zip(verdicts_of) {
        let (now, payload) = (10 * MS * number, &[1, b'a' + number as u8][..]);
        one.sent(now, LISTENER, on(2), payload);
        let (from, to) = (on(1), on(2));
        let of = network.push(now + MS, Event::Seen { from, to, payload });
        if let Some(verdict) = verdict {
            network.push(now + MS, Event::Fault { of, verdict });
        }
        if verdict != Some(FaultVerdict::Lost) {
            other.received(now + 3 * MS, LISTENER, on(1), payload);
        }
    }
    let inputs = [("A", one), ("B", other), ("network", network)].map(|(name, tape)| ReelInput {
        name: format!("{name}.reel"),
        reel: Arc::new(Reel::from_bytes(tape.writer.finish().unwrap()).unwrap()),
    });
    let session = Session::builder().build(inputs.into()).unwrap();
    let packets: Vec<Packet> = session.packets().collect();
    assert_eq!(packets.len(), 3);
    for (packet, verdict) in packets.iter().zip(verdicts_of) {
        let link = (session.name(packet.from), session.name(packet.to));
        assert_eq!(link, ("A".to_owned(), "B".to_owned()));
        assert_eq!(verdicts(packet), Vec::from_iter(verdict));
        let is_lost = verdict == Some(FaultVerdict::Lost);
        assert_eq!(packet.fate == Fate::Lost, is_lost);
        assert!(packet.sent.is_some());
    }
    let said = session.verdict(packets[1].faults[0], |nanos| nanos.to_string());
    assert_eq!(said, "network: dropped");
}

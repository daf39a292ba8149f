//! The proxy: what it passes on, what it says, what is in its reel.

#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_capture::Options;
use netreel_capture::proxy::{FaultSpec, Outcome, Proxy, Report, Route, Wanted};
use netreel_reel::SocketId;
use netreel_reel::{Ending, Endpoint, Event, EventNumber, FaultVerdict, OwnedRecord, SendOutcome};
use skipped::{no_namespace, skipped};

/// Nothing in these tests takes so long on a machine that works.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy that runs on a thread of its own.
struct Running {
    folder: tempfile::TempDir,
    listening: Vec<Endpoint>,
    stop: Arc<AtomicBool>,
    reports: Arc<Mutex<Vec<Report>>>,
    thread: JoinHandle<Outcome>,
}

/// What it came to.
struct Done {
    outcome: Outcome,
    reports: Vec<Report>,
    records: Vec<OwnedRecord>,
    ending: Ending,
}

fn wanted(routes: &[String], folder: &tempfile::TempDir) -> Wanted {
    Wanted {
        routes: routes.iter().map(|each| each.parse().unwrap()).collect(),
        faults: FaultSpec::default(),
        seed: 7,
        clients_max: 16,
        idle: PATIENCE,
        reel: folder.path().join("proxy.reel"),
        options: Options::default(),
    }
}

fn route(server: &UdpSocket) -> String {
    let target = server.local_addr().unwrap();
    let listen = if target.is_ipv4() {
        "127.0.0.1:0"
    } else {
        "[::1]:0"
    };
    format!("{listen}={target}")
}

impl Running {
    /// A proxy for servers, changed from the usual.
    fn start(routes: &[String], change: impl FnOnce(&mut Wanted)) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let mut wanted = wanted(routes, &folder);
        change(&mut wanted);
        let proxy = Proxy::open(wanted).unwrap();
        Running::run(proxy, folder)
    }

    fn run(proxy: Proxy, folder: tempfile::TempDir) -> Running {
        let listening = proxy.listening();
        let stop = Arc::new(AtomicBool::new(false));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let (stops, told) = (stop.clone(), reports.clone());
        let thread = std::thread::spawn(move || {
            let mut tell = |report| told.lock().unwrap().push(report);
            let outcome = proxy.run(|| stops.load(Ordering::Relaxed), &mut tell);
            outcome.unwrap()
        });
        Running {
            folder,
            listening,
            stop,
            reports,
            thread,
        }
    }

    /// A client of its first listener.
    fn client(&self) -> UdpSocket {
        client_of(self.listening[0])
    }

    fn wait_for(&self, what: &str, there: impl Fn(&Report) -> bool) {
        wait_until(what, || self.reports.lock().unwrap().iter().any(&there));
    }

    /// Waits until this many packets have come, from either side.
    fn wait_for_packets(&self, count: u64) {
        self.wait_for(
            &format!("{count} packets"),
            |report| matches!(report, Report::Live { progress, .. } if progress.packets >= count),
        );
    }

    fn finish(self) -> Done {
        self.stop.store(true, Ordering::Relaxed);
        let outcome = self.thread.join().unwrap();
        let (records, ending) = read(&self.folder);
        let reports = self.reports.lock().unwrap().clone();
        Done {
            outcome,
            reports,
            records,
            ending,
        }
    }
}

fn read(folder: &tempfile::TempDir) -> (Vec<OwnedRecord>, Ending) {
    let opened = netreel_capture::open(folder.path().join("proxy.reel")).unwrap();
    let mut records = Vec::new();
    let walk = opened.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert!(walk.damaged.is_empty() && walk.gaps.is_empty());
    (records, opened.ending().clone())
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn client_of(listener: Endpoint) -> UdpSocket {
    let client = socket(if listener.is_ipv4() {
        "127.0.0.1:0"
    } else {
        "[::1]:0"
    });
    client.connect(listener).unwrap();
    client
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 70_000];
    let (length, from) = socket.recv_from(&mut buffer).expect("a packet arrives");
    buffer.truncate(length);
    (buffer, from)
}

/// A packet goes from the client to the server, and another one back; who the server saw.
fn there_and_back(client: &UdpSocket, server: &UdpSocket, packet: &[u8]) -> SocketAddr {
    client.send(packet).unwrap();
    let (came, from) = receive(server);
    assert_eq!(came, packet);
    let answer: Vec<u8> = packet.iter().rev().copied().collect();
    server.send_to(&answer, from).unwrap();
    assert_eq!(receive(client).0, answer);
    from
}

/// Skips a test that needs a network of its own where there is none; else enters one, with this
/// thread alone.
fn network_of_its_own() -> bool {
    // SAFETY: a call without memory; what it changes is this thread's own.
    let entered = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    if !entered || !ip("link set lo up") {
        no_namespace();
        return false;
    }
    true
}

fn ip(arguments: &str) -> bool {
    let arguments = arguments.split(' ');
    let done = std::process::Command::new("ip").args(arguments).status();
    done.is_ok_and(|status| status.success())
}

/// Received, and sent.
type Packets<'a> = (Vec<&'a [u8]>, Vec<&'a [u8]>);

impl Done {
    fn events(&self) -> impl Iterator<Item = (EventNumber, Event<'_>)> {
        let records = self.records.iter().map(OwnedRecord::as_record);
        records.map(|record| (record.number, record.event))
    }

    /// For each socket what it received and what it sent, in order.
    fn packets(&self) -> BTreeMap<SocketId, Packets<'_>> {
        let mut packets: BTreeMap<SocketId, Packets<'_>> = BTreeMap::new();
        for (_, event) in self.events() {
            match event {
                Event::Received {
                    socket, payload, ..
                } => {
                    packets.entry(socket).or_default().0.push(payload);
                }
                Event::Sent {
                    socket, payload, ..
                } => {
                    packets.entry(socket).or_default().1.push(payload);
                }
                _ => {}
            }
        }
        packets
    }

    fn faults(&self) -> Vec<(EventNumber, FaultVerdict)> {
        let faults = self.events().filter_map(|(_, event)| match event {
            Event::Fault { of, verdict } => Some((of, verdict)),
            _ => None,
        });
        faults.collect()
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.events().filter_map(|(_, event)| match event {
            Event::Note { text } => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        });
        notes.collect()
    }
}

#[test]
fn what_comes_goes_on_in_both_directions_and_is_in_the_reel() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let server = socket(address);
        let proxy = Running::start(&[route(&server)], |_| {});
        let clients: Vec<UdpSocket> = (0..3).map(|_| proxy.client()).collect();
        let mut seen = BTreeMap::new();
        for round in 0..10 {
            for (place, client) in clients.iter().enumerate() {
                let packet = format!("packet {round} of client {place}");
                let from = there_and_back(client, &server, packet.as_bytes());
                assert_eq!(*seen.entry(place).or_insert(from), from);
            }
        }
        let done = proxy.finish();
        assert_eq!(done.ending, Ending::Clean);
        assert_eq!(done.outcome.progress.packets, 60);
        assert_eq!(done.outcome.clients, 3);
        let packets = done.packets();
        assert_eq!(
            packets.len(),
            4,
            "one that listens, and one for each client"
        );
        let relays: Vec<_> = done
            .events()
            .filter_map(|(_, event)| match event {
                Event::Relay { socket, client, .. } => Some((socket, client)),
                _ => None,
            })
            .collect();
        for (place, client) in clients.iter().enumerate() {
            let (socket, address) = relays[place];
            assert_eq!(address, client.local_addr().unwrap());
            let (received, sent) = &packets[&socket];
            assert_eq!(sent[9], format!("packet 9 of client {place}").as_bytes());
            assert_eq!((received.len(), sent.len()), (10, 10));
        }
        assert!(done.faults().is_empty());
    }
}

#[test]
fn the_largest_datagrams_pass_whole() {
    let server = socket("127.0.0.1:0");
    let proxy = Running::start(&[route(&server)], |_| {});
    let client = proxy.client();
    for length in [0, 1, 1472, 1473, 65_507] {
        let packet: Vec<u8> = (0..length).map(|at| at as u8).collect();
        there_and_back(&client, &server, &packet);
    }
    proxy.finish();
}

#[test]
fn clients_over_ipv4_reach_a_server_over_ipv6() {
    let server = socket("[::1]:0");
    let target = server.local_addr().unwrap();
    let proxy = Running::start(&[format!("127.0.0.1:0={target}")], |_| {});
    there_and_back(&proxy.client(), &server, b"from one to the other");
    proxy.finish();
}

#[test]
fn two_servers_have_their_own_clients() {
    let servers = [socket("127.0.0.1:0"), socket("127.0.0.1:0")];
    let proxy = Running::start(&servers.each_ref().map(route), |_| {});
    let client = socket("127.0.0.1:0");
    for (listener, server) in proxy.listening.iter().zip(&servers) {
        client.connect(listener).unwrap();
        there_and_back(&client, server, b"the same client at both");
    }
    assert_eq!(proxy.finish().outcome.clients, 2);
}

#[test]
fn a_server_that_is_not_there_ends_nothing() {
    let server = socket("127.0.0.1:0");
    let (address, route) = (server.local_addr().unwrap(), route(&server));
    drop(server);
    let proxy = Running::start(&[route], |_| {});
    let client = proxy.client();
    for n in 0..20 {
        client.send(&[n; 10]).unwrap();
        proxy.wait_for_packets(u64::from(n) + 1);
    }
    proxy.wait_for("a word on the refusal", |report| {
        matches!(report, Report::Trouble(_))
    });
    let server = UdpSocket::bind(address).unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    there_and_back(&client, &server, b"it is there now");
    let done = proxy.finish();
    let refused = |event: &Event<'_>| {
        let code = libc::ECONNREFUSED;
        matches!(event, Event::ReceiveFailed { code: it, .. } if *it == code)
    };
    let refusals = done.events().filter(|(_, event)| refused(event)).count();
    let answers = &done.outcome.answers;
    assert_eq!(answers.len(), 1);
    let counted = answers.get(&(address, libc::ECONNREFUSED));
    assert!(refusals > 0 && counted == Some(&(refusals as u64)));
    assert_eq!(
        done.outcome.failed, 0,
        "what a refusal displaced was sent again"
    );
}

#[test]
fn a_silent_client_is_named_and_may_come_back() {
    let server = socket("127.0.0.1:0");
    let idle = |wanted: &mut Wanted| wanted.idle = Duration::from_millis(300);
    let proxy = Running::start(&[route(&server)], idle);
    let client = proxy.client();
    let address = client.local_addr().unwrap();
    there_and_back(&client, &server, b"here I am");
    proxy.wait_for(
        "the client to be forgotten",
        |report| matches!(report, Report::Went { client, .. } if *client == address),
    );
    there_and_back(&client, &server, b"here I am again");
    let done = proxy.finish();
    assert_eq!(done.outcome.clients, 2);
    assert!(
        done.notes()
            .iter()
            .any(|note| note.starts_with(&format!("{address} was silent")))
    );
    let closed = done
        .events()
        .filter(|(_, event)| matches!(event, Event::SocketClosed { .. }));
    assert_eq!(closed.count(), 3);
}

#[test]
fn one_client_too_many_is_told_of_and_not_served() {
    let server = socket("127.0.0.1:0");
    let proxy = Running::start(&[route(&server)], |wanted| wanted.clients_max = 1);
    let served = proxy.client();
    there_and_back(&served, &server, b"first");
    let refused = proxy.client();
    refused.send(b"second").unwrap();
    refused.send(b"second").unwrap();
    proxy.wait_for_packets(4);
    there_and_back(&served, &server, b"still first");
    let done = proxy.finish();
    assert_eq!(done.outcome.refused, 2);
    let verdicts: Vec<_> = done
        .faults()
        .into_iter()
        .map(|(_, verdict)| verdict)
        .collect();
    assert_eq!(verdicts, [FaultVerdict::Refused; 2]);
    let refusals: Vec<_> = done
        .reports
        .iter()
        .filter_map(|report| match report {
            Report::Refused(sentence) => Some(sentence.clone()),
            _ => None,
        })
        .collect();
    let address = refused.local_addr().unwrap();
    let sentence =
        format!("{address} is not served: there are 1 clients already, and no more were allowed");
    assert_eq!(refusals, [sentence]);
}

/// Sends numbered packets from two clients, one after the other, through a proxy with faults; for
/// each link its packets and what was done to each.
fn faulted(spec: &str, seed: u64) -> (Vec<Vec<Vec<FaultVerdict>>>, Done) {
    const PACKETS: u64 = 150;
    let server = socket("127.0.0.1:0");
    let proxy = Running::start(&[route(&server)], |wanted| {
        wanted.faults = spec.parse().unwrap();
        wanted.seed = seed;
    });
    for place in 0..2 {
        let client = proxy.client();
        for n in 0..PACKETS {
            client.send(&n.to_le_bytes()).unwrap();
        }
        proxy.wait_for_packets(PACKETS * (place + 1));
    }
    proxy.wait_for("everything to go on", |report| {
        matches!(report, Report::Live { progress, held: 0, .. } if progress.packets == 2 * PACKETS)
    });
    let done = proxy.finish();
    let mut links: Vec<(Endpoint, BTreeMap<EventNumber, Vec<FaultVerdict>>)> = Vec::new();
    for (number, event) in done.events() {
        match event {
            Event::Received { from, .. } => {
                if links.last().is_none_or(|(client, _)| *client != from) {
                    links.push((from, BTreeMap::new()));
                }
                links.last_mut().unwrap().1.insert(number, Vec::new());
            }
            Event::Fault { of, verdict } => {
                links
                    .last_mut()
                    .unwrap()
                    .1
                    .get_mut(&of)
                    .unwrap()
                    .push(verdict);
            }
            _ => {}
        }
    }
    let links = links
        .into_iter()
        .map(|(_, packets)| packets.into_values().collect());
    (links.collect(), done)
}

const ALL_FAULTS: &str = "delay=5ms,jitter=2ms,loss=10%,dup=10%,reorder=10%,reorder-by=8ms";

#[test]
fn the_same_seed_gives_the_nth_packet_of_each_link_the_same_verdicts() {
    let (first, _) = faulted(ALL_FAULTS, 7);
    let (second, _) = faulted(ALL_FAULTS, 7);
    let (other, _) = faulted(ALL_FAULTS, 8);
    assert_eq!(first.len(), 2);
    assert_eq!(first, second);
    assert_ne!(first, other);
    assert_ne!(first[0], first[1], "links draw for themselves");
    for kind in ["lost", "delayed", "reordered", "duplicated"] {
        let mut verdicts = first.iter().flatten().flatten();
        assert!(verdicts.any(|verdict| verdict.name() == kind), "{kind}");
    }
}

#[test]
fn every_packet_that_was_not_passed_on_once_has_its_verdict_in_the_reel() {
    let (_, done) = faulted(&format!("{ALL_FAULTS},burst=2%,corrupt=10%"), 3);
    let mut sent: BTreeMap<(SocketId, Vec<u8>), usize> = BTreeMap::new();
    for (socket, (_, packets)) in done.packets() {
        for packet in packets {
            *sent.entry((socket, packet.to_vec())).or_default() += 1;
        }
    }
    let mut expected: BTreeMap<(SocketId, Vec<u8>), usize> = BTreeMap::new();
    let mut by_client = BTreeMap::new();
    let mut received = BTreeMap::new();
    for (number, event) in done.events() {
        match event {
            Event::Relay { socket, client, .. } => {
                by_client.insert(client, socket);
            }
            Event::Received { from, payload, .. } => {
                received.insert(number, (from, payload.to_vec()));
            }
            _ => {}
        }
    }
    let faults = done.faults();
    let mut corrupted = 0;
    for (number, (from, mut payload)) in received {
        let verdicts = faults.iter().filter(|(of, _)| *of == number);
        let copies = verdicts.fold(1, |copies, (_, verdict)| match verdict {
            FaultVerdict::Lost => 0,
            FaultVerdict::Duplicated { .. } => copies + 1,
            _ => copies,
        });
        for (_, verdict) in faults.iter().filter(|(of, _)| *of == number) {
            if let FaultVerdict::Corrupted { bit } = verdict {
                payload[*bit as usize / 8] ^= 0x80 >> (bit % 8);
                corrupted += 1;
            }
        }
        if copies > 0 {
            expected.insert((by_client[&from], payload), copies);
        }
    }
    assert_eq!(sent, expected);
    assert!(done.outcome.lost > 0 && corrupted > 0);
}

#[test]
fn a_link_of_little_bandwidth_drops_what_would_wait_too_long_and_says_so() {
    let (links, done) = faulted("rate=100kbit,queue=30ms", 1);
    for packets in &links {
        let full = |verdicts: &&Vec<FaultVerdict>| matches!(verdicts[..], [FaultVerdict::QueueFull { nanos }] if nanos > 30_000_000);
        let queued = |verdicts: &&Vec<FaultVerdict>| matches!(verdicts[..], [FaultVerdict::Queued { nanos }] if nanos <= 33_000_000);
        let (full, queued) = (
            packets.iter().filter(full).count(),
            packets.iter().filter(queued).count(),
        );
        assert_eq!(full + queued, packets.len());
        assert!(full > 0 && queued > 0, "{full} dropped, {queued} queued");
    }
    let dropped = links.iter().flatten().flatten();
    let dropped = dropped.filter(|verdict| matches!(verdict, FaultVerdict::QueueFull { .. }));
    assert_eq!(done.outcome.lost, dropped.count() as u64);
}

#[test]
fn what_the_kernel_drops_before_the_proxy_reads_it_is_counted() {
    let server = socket("127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::open(wanted(&[route(&server)], &folder)).unwrap();
    let client = client_of(proxy.listening()[0]);
    // More than the buffer of a socket holds, while nobody reads.
    const PACKETS: u64 = 800;
    for n in 0..PACKETS {
        let mut packet = vec![0; 60_000];
        packet[..8].copy_from_slice(&n.to_le_bytes());
        client.send(&packet).unwrap();
    }
    let proxy = Running::run(proxy, folder);
    proxy.wait_for("drops", |report| {
        matches!(report, Report::Live { progress, .. }
            if progress.kernel_drops > 0 && progress.kernel_drops + progress.packets >= PACKETS)
    });
    let done = proxy.finish();
    let drops = done.events().filter_map(|(_, event)| match event {
        Event::CaptureDrops { count } => Some(count),
        _ => None,
    });
    let dropped: u64 = drops.sum();
    assert_eq!(dropped, done.outcome.progress.kernel_drops);
    assert_eq!(dropped + done.outcome.progress.packets, PACKETS);
}

#[test]
fn an_interface_that_is_removed_is_in_the_reel_and_ends_nothing() {
    // A thread for it alone: the others keep their network.
    let test = || {
        if !network_of_its_own() {
            return;
        }
        let kinds = ["link add there type bridge", "link add there type dummy"];
        if !kinds.into_iter().any(ip) {
            skipped("no interface can be made here");
            return;
        }
        assert!(ip("addr add 10.9.8.1/24 dev there"));
        assert!(ip("link set there up"));
        let server = socket("10.9.8.1:0");
        let target = server.local_addr().unwrap();
        let proxy = Running::start(&[format!("127.0.0.1:0={target}")], |_| {});
        let client = proxy.client();
        there_and_back(&client, &server, b"while it is there");
        assert!(ip("link del there"));
        client.send(b"when it is gone").unwrap();
        proxy.wait_for("a word on the failure", |report| {
            matches!(report, Report::Trouble(_))
        });
        client.send(b"and again").unwrap();
        proxy.wait_for_packets(4);
        let done = proxy.finish();
        assert_eq!(done.ending, Ending::Clean);
        assert_eq!(done.outcome.failed, 2);
        let failures = done.events().filter(|(_, event)| {
            let Event::SendResult { outcome, .. } = event else {
                return false;
            };
            *outcome == SendOutcome::Failed(libc::ENETUNREACH)
        });
        assert_eq!(failures.count(), 2);
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn what_cannot_be_started_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = |route: &str| match Proxy::open(wanted(&[route.to_owned()], &folder)) {
        Ok(_) => panic!("{route} was taken"),
        Err(error) => error.to_string(),
    };
    let holder = socket("127.0.0.1:0");
    let taken = holder.local_addr().unwrap().port();
    let said = error(&format!("127.0.0.1:{taken}=127.0.0.1:9"));
    assert!(
        said.contains("another program listens there; choose another port"),
        "{said}"
    );
    drop(holder);
    let said = error(&format!("0.0.0.0:{taken}=127.0.0.1:{taken}"));
    assert!(
        said.contains("would send to itself; give the address of the server"),
        "{said}"
    );
    let said = error("192.0.2.1:7000=127.0.0.1:9");
    assert!(said.contains("this machine has no such address"), "{said}");
    let said = error("127.0.0.1:0=no-such-host.invalid:9");
    assert!(
        said.starts_with("no-such-host.invalid:9: no address for this server"),
        "{said}"
    );
    std::fs::write(folder.path().join("proxy.reel"), "").unwrap();
    let said = error("127.0.0.1:0=127.0.0.1:9");
    assert!(said.contains("choose another name or remove it"), "{said}");
    let route: Result<Route, _> = "7000".parse();
    assert!(route.is_err());
}

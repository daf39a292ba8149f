//! What the proxy adds to a packet's way at 100 000 packets a second, and what it loses: a thread
//! that sends and receives on loopback, in turns without anything between, through the least that
//! a relay can do, and through the proxy; both run before other programs where they may, as
//! `netreel record --proxy` does.
//!
//! `cargo bench -p netreel-benches --bench proxy`; with `-- --check` it fails where a target is
//! missed. It wants two processors that have nothing else to do: one for that thread, the others
//! for the proxy and its recorder.

use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netreel_capture::Options;
use netreel_capture::proxy::{FaultSpec, Outcome, Proxy, Wanted, run_before_others};
use netreel_transport::monotonic_now;
use rustix::net::sockopt;
use rustix::thread::{CpuSet, sched_setaffinity};

const RATE: u64 = 100_000;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(2);
/// What is still on its way after a turn arrives within this time.
const LAST: Duration = Duration::from_millis(300);
/// Percentiles are taken of this long a time too: another program that takes a processor for some
/// milliseconds once a second is then in few of them.
const STRETCH: Duration = Duration::from_millis(100);
const PAYLOAD: usize = 100;
const BUFFER: usize = 8 << 20;
/// When the sending thread was kept from its processor for longer than this many packets take, it
/// skips what it should have sent meanwhile: a burst to catch up is another load than the rate.
const BEHIND_MAX: u64 = 20;
/// Added to the 99th percentile.
const TARGET_NS: u64 = 100_000;

/// What a turn, or all turns of a kind, came to.
#[derive(Default)]
struct Turn {
    sent: u64,
    skipped: u64,
    /// By the time of sending, in stretches of [`STRETCH`].
    stretches: Vec<Vec<u64>>,
}

impl Turn {
    fn arrived(&self) -> u64 {
        self.stretches.iter().map(|each| each.len() as u64).sum()
    }

    fn lost(&self) -> u64 {
        self.sent - self.arrived()
    }

    fn add(&mut self, turn: Turn) {
        self.sent += turn.sent;
        self.skipped += turn.skipped;
        self.stretches.extend(turn.stretches);
    }

    fn figures(&self) -> Figures {
        let all = self.stretches.iter().flatten().copied().collect();
        let p99s = self.stretches.iter().filter(|each| !each.is_empty());
        Figures {
            p99_typical: percentile(p99s.map(|each| percentile(each.clone(), 99)).collect(), 50),
            p50: percentile(Vec::clone(&all), 50),
            p99: percentile(all, 99),
        }
    }
}

/// Nanoseconds.
#[derive(Clone, Copy)]
struct Figures {
    p50: u64,
    p99: u64,
    /// The median of the stretches' 99th percentiles.
    p99_typical: u64,
}

fn percentile(mut values: Vec<u64>, percent: usize) -> u64 {
    values.sort_unstable();
    let place = (values.len() * percent / 100).min(values.len().saturating_sub(1));
    values.get(place).copied().unwrap_or(0)
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket on loopback");
    if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
    }
    socket
}

/// Keeps this thread, and the threads that it starts, to the first of `cores` processors, or to
/// all but the first where there are more.
fn keep_to(first: bool, cores: usize) {
    let mut set = CpuSet::new();
    let places = if first || cores < 2 { 0..1 } else { 1..cores };
    places.for_each(|place| set.set(place));
    // Where it is forbidden, the figures are worse and no less true.
    let _ = sched_setaffinity(None, &set);
}

/// Sends at the rate to `to` and takes what comes at `receiver`, in one thread that polls: a
/// second one would compete with the proxy for processors, or be woken late.
fn turn(to: SocketAddr, receiver: &UdpSocket, cores: usize) -> Turn {
    keep_to(true, cores);
    let sender = socket();
    sender.connect(to).expect("loopback");
    receiver.set_nonblocking(true).expect("a mode of sockets");
    let stretch = Vec::with_capacity((RATE as u128 * STRETCH.as_nanos() / 1_000_000_000) as usize);
    let stretches = TURN.as_nanos().div_ceil(STRETCH.as_nanos()) as usize;
    let mut turn = Turn {
        stretches: vec![stretch; stretches],
        ..Turn::default()
    };
    let mut buffer = [0; 2048];
    let mut packet = [0x5a; PAYLOAD];
    let (start, begun) = (Instant::now(), monotonic_now().0);
    loop {
        let elapsed = start.elapsed();
        let due = (elapsed.as_nanos() * u128::from(RATE) / 1_000_000_000) as u64 - turn.skipped;
        if elapsed < TURN && due > turn.sent + BEHIND_MAX {
            turn.skipped += due - turn.sent - 1;
        } else if elapsed < TURN && turn.sent < due {
            packet[..8].copy_from_slice(&monotonic_now().0.to_le_bytes());
            sender.send(&packet).expect("loopback takes it");
            turn.sent += 1;
        }
        match receiver.recv(&mut buffer) {
            Ok(_) => {
                let now = monotonic_now().0;
                let sent = buffer.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                let sent = sent.unwrap_or(now);
                let place = u128::from(sent.saturating_sub(begun)) / STRETCH.as_nanos();
                let place = (place as usize).min(stretches - 1);
                turn.stretches[place].push(now.saturating_sub(sent));
            }
            Err(_) if elapsed >= TURN + LAST => return turn,
            Err(_) => std::hint::spin_loop(),
        }
    }
}

/// A turn through the least that a relay can do: a thread that receives and sends.
fn relayed(receiver: &UdpSocket, cores: usize) -> Turn {
    keep_to(false, cores);
    let listening = socket();
    let (to, at) = (receiver.local_addr(), listening.local_addr());
    let onward = socket();
    onward.connect(to.expect("its address")).expect("loopback");
    let patience = Some(Duration::from_millis(20));
    listening.set_read_timeout(patience).expect("a time");
    let stop = Arc::new(AtomicBool::new(false));
    let stops = stop.clone();
    let running = std::thread::spawn(move || {
        // Where it is forbidden, the figures are worse and no less true.
        let _ = run_before_others();
        let mut buffer = [0; 2048];
        while !stops.load(Ordering::Relaxed) {
            if let Ok(taken) = listening.recv(&mut buffer) {
                onward.send(&buffer[..taken]).expect("loopback takes it");
            }
        }
    });
    let turn = turn(at.expect("its address"), receiver, cores);
    stop.store(true, Ordering::Relaxed);
    running.join().expect("the relay");
    turn
}

/// A turn through a proxy of its own.
fn proxied(receiver: &UdpSocket, cores: usize) -> (Turn, Outcome) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = receiver.local_addr().expect("its address");
    let wanted = Wanted {
        routes: vec![format!("127.0.0.1:0={target}").parse().expect("a route")],
        faults: FaultSpec::default(),
        seed: 1,
        clients_max: 16,
        idle: Duration::from_secs(60),
        reel: folder.path().join("proxy.reel"),
        options: Options {
            ring_capacity: 32 << 20,
            ..Options::default()
        },
    };
    keep_to(false, cores);
    let proxy = Proxy::open(wanted).expect("it listens");
    let listening = proxy.listening()[0];
    let stop = Arc::new(AtomicBool::new(false));
    let stops = stop.clone();
    let running = std::thread::spawn(move || {
        // Where it is forbidden, the figures are worse and no less true.
        let _ = run_before_others();
        let outcome = proxy.run(|| stops.load(Ordering::Relaxed), &mut |_| {});
        outcome.expect("it runs")
    });
    let turn = turn(listening, receiver, cores);
    stop.store(true, Ordering::Relaxed);
    (turn, running.join().expect("the proxy"))
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let receiver = socket();
    let direct_to = receiver.local_addr().expect("its address");
    let (mut direct, mut relay, mut through) = (Turn::default(), Turn::default(), Turn::default());
    let (mut kernel_drops, mut dropped, mut unrecorded) = (0, 0, 0);
    for _ in 0..TURNS {
        direct.add(turn(direct_to, &receiver, cores));
        relay.add(relayed(&receiver, cores));
        let (turn, outcome) = proxied(&receiver, cores);
        kernel_drops += outcome.progress.kernel_drops;
        dropped += outcome.progress.dropped;
        let taken = outcome.progress.packets + outcome.progress.kernel_drops;
        unrecorded += turn.sent.abs_diff(taken);
        through.add(turn);
    }
    println!(
        "{PAYLOAD} bytes at {RATE} packets/s, {TURNS} turns of {} s each, {cores} cores, µs",
        TURN.as_secs()
    );
    let row = |name: &str, cells: [String; 6]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>9}")).collect();
        println!("{name:<12}{}", cells.concat());
    };
    let heads = ["sent", "skipped", "lost", "p50", "p99", "typical"];
    row("", heads.map(str::to_owned));
    let micros = |ns: i64| format!("{:.1}", ns as f64 / 1e3);
    for (name, turn) in [
        ("direct", &direct),
        ("bare relay", &relay),
        ("proxy", &through),
    ] {
        if turn.arrived() == 0 {
            println!("{name}: nothing arrived");
            return ExitCode::FAILURE;
        }
        let counts = [turn.sent, turn.skipped, turn.lost()].map(|count| count.to_string());
        let [sent, skipped, lost] = counts;
        let Figures {
            p50,
            p99,
            p99_typical,
        } = turn.figures();
        let [p50, p99, typical] = [p50, p99, p99_typical].map(|ns| micros(ns as i64));
        row(name, [sent, skipped, lost, p50, p99, typical]);
    }
    let (base, bare, proxy) = (direct.figures(), relay.figures(), through.figures());
    for (name, turn) in [("relay adds", bare), ("proxy adds", proxy)] {
        let over = |of: fn(&Figures) -> u64| micros(of(&turn) as i64 - of(&base) as i64);
        let none = String::new;
        let p99s = [over(|it| it.p99), over(|it| it.p99_typical)];
        let [p99, typical] = p99s;
        row(
            name,
            [none(), none(), none(), over(|it| it.p50), p99, typical],
        );
    }
    println!(
        "target: adds at most {} µs at p99, 0 lost; typical is the median of the p99s of {} ms each",
        TARGET_NS / 1000,
        STRETCH.as_millis()
    );
    println!(
        "at the proxy: {kernel_drops} dropped by the kernel, {dropped} events dropped from reels, \
         {unrecorded} packets untold of"
    );
    let missed = proxy.p99.saturating_sub(base.p99) > TARGET_NS || through.lost() > 0;
    ExitCode::from(u8::from(check && missed))
}

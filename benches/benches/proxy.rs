//! What the proxy adds to a packet's way at 100 000 packets a second, and what it loses: a thread
//! that sends and receives on loopback, in turns through the proxy and without it.
//!
//! `cargo bench -p netreel-benches --bench proxy`; with `-- --check` it fails where a target is
//! missed. It wants two processors that have nothing else to do: one for that thread, the others
//! for the proxy and its recorder.

use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use netreel_capture::Options;
use netreel_capture::proxy::{FaultSpec, Outcome, Proxy, Wanted};
use netreel_transport::monotonic_now;
use rustix::net::sockopt;
use rustix::thread::{CpuSet, sched_setaffinity};

const RATE: u64 = 100_000;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_secs(2);
/// What is still on its way after a turn arrives within this time.
const LAST: Duration = Duration::from_millis(300);
const PAYLOAD: usize = 100;
const BUFFER: usize = 8 << 20;
/// Added to the 99th percentile.
const TARGET_NS: i64 = 100_000;

/// What a turn, or all turns of a kind, came to.
#[derive(Default)]
struct Turn {
    sent: u64,
    latencies_ns: Vec<u64>,
}

impl Turn {
    fn percentile(&self, percent: usize) -> i64 {
        let place = (self.latencies_ns.len() * percent / 100).min(self.latencies_ns.len() - 1);
        self.latencies_ns.get(place).copied().unwrap_or(0) as i64
    }

    fn lost(&self) -> u64 {
        self.sent - self.latencies_ns.len() as u64
    }
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
    let mut latencies_ns = Vec::with_capacity((RATE * TURN.as_secs()) as usize + 1000);
    let mut buffer = [0; 2048];
    let mut packet = [0x5a; PAYLOAD];
    let start = Instant::now();
    let mut sent = 0;
    loop {
        let elapsed = start.elapsed();
        let due = (elapsed.as_nanos() * u128::from(RATE) / 1_000_000_000) as u64;
        if elapsed < TURN && sent < due {
            packet[..8].copy_from_slice(&monotonic_now().0.to_le_bytes());
            sender.send(&packet).expect("loopback takes it");
            sent += 1;
        }
        match receiver.recv(&mut buffer) {
            Ok(_) => {
                let now = monotonic_now().0;
                let stamp = buffer.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                latencies_ns.push(now.saturating_sub(stamp.unwrap_or(now)));
            }
            Err(_) if elapsed >= TURN + LAST => return Turn { sent, latencies_ns },
            Err(_) => std::hint::spin_loop(),
        }
    }
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
    let (mut direct, mut through) = (Turn::default(), Turn::default());
    let (kernel_drops, dropped, unrecorded) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let add = |all: &mut Turn, turn: Turn| {
        all.sent += turn.sent;
        all.latencies_ns.extend(turn.latencies_ns);
    };
    for _ in 0..TURNS {
        add(&mut direct, turn(direct_to, &receiver, cores));
        let (turn, outcome) = proxied(&receiver, cores);
        kernel_drops.fetch_add(outcome.progress.kernel_drops, Ordering::Relaxed);
        dropped.fetch_add(outcome.progress.dropped, Ordering::Relaxed);
        let taken = outcome.progress.packets + outcome.progress.kernel_drops;
        unrecorded.fetch_add(turn.sent.abs_diff(taken), Ordering::Relaxed);
        add(&mut through, turn);
    }
    for turn in [&mut direct, &mut through] {
        turn.latencies_ns.sort_unstable();
        if turn.latencies_ns.is_empty() {
            println!("nothing arrived");
            return ExitCode::FAILURE;
        }
    }
    println!(
        "{PAYLOAD} bytes at {RATE} packets/s, {TURNS} turns of {} s each, {cores} cores",
        TURN.as_secs()
    );
    println!(
        "{:<10} {:>10} {:>8} {:>10} {:>10}",
        "", "sent", "lost", "p50 µs", "p99 µs"
    );
    for (name, turn) in [("direct", &direct), ("proxied", &through)] {
        println!(
            "{name:<10} {:>10} {:>8} {:>10.1} {:>10.1}",
            turn.sent,
            turn.lost(),
            turn.percentile(50) as f64 / 1e3,
            turn.percentile(99) as f64 / 1e3
        );
    }
    let added = |percent| through.percentile(percent) - direct.percentile(percent);
    println!(
        "{:<10} {:>10} {:>8} {:>10.1} {:>10.1}   target p99 {} µs, 0 lost",
        "added",
        "",
        "",
        added(50) as f64 / 1e3,
        added(99) as f64 / 1e3,
        TARGET_NS / 1000
    );
    println!(
        "at the proxy: {} dropped by the kernel, {} events dropped from reels, {} packets untold of",
        kernel_drops.into_inner(),
        dropped.into_inner(),
        unrecorded.into_inner()
    );
    let missed = added(99) > TARGET_NS || through.lost() > 0;
    ExitCode::from(u8::from(check && missed))
}

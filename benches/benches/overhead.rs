//! What recording in process costs a thread that sends and receives: the distribution of single
//! pushes and of single sends, and the throughput on loopback, bare and recorded in turns, next to
//! tcpdump capturing the same packets where it may.
//!
//! `cargo bench -p netreel-benches --bench overhead`; with `-- --check` it fails where a target is
//! missed.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use netreel_capture::ring_mode::Ring;
use netreel_capture::{Options, Recorded, Recorder, open};
use netreel_reel::{Event, Header, SocketId};
use netreel_transport::{Transport, UdpTransport, monotonic_now};

const PACKET: [u8; 128] = [0x5a; 128];
/// In turns, so that what else the machine does falls on all alike.
const TURNS: usize = 21;
/// Rounds of send and receive in a turn, in bursts as a game sends them once a tick.
const BURSTS: usize = 100;
const ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_micros(1500);

const PUSH_P99_TARGET_NS: u64 = 1000;
const OVERHEAD_TARGET_PERCENT: f64 = 5.0;

/// One way of doing the rounds, over all turns.
#[derive(Default)]
struct Way {
    /// Nanoseconds of each send, as the thread sees it; the clock reads around it included.
    sends: Vec<u64>,
    /// Nanoseconds of a round of send and receive, a figure for each turn.
    rounds: Vec<f64>,
    /// The same in processor time of the thread.
    processor: Vec<f64>,
}

fn transport() -> UdpTransport {
    UdpTransport::bind(([127, 0, 0, 1], 0).into()).expect("a port on 127.0.0.1")
}

/// Processor time of this thread in nanoseconds.
fn processor_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Way {
    /// A turn: `io` sends to itself and takes what came.
    fn turn(&mut self, io: &mut impl Transport, to: std::net::SocketAddr) {
        let mut buffer = [0; 2048];
        let mut round = |io: &mut dyn FnMut(&mut [u8])| {
            for _ in 0..BURSTS {
                std::thread::sleep(PAUSE);
                for _ in 0..ROUNDS {
                    io(&mut buffer);
                }
            }
        };
        let (mut wall, mut processor) = (0u64, 0u64);
        let mut sends = Vec::with_capacity(BURSTS * ROUNDS);
        // The throughput without a clock read around each call.
        for _ in 0..BURSTS {
            std::thread::sleep(PAUSE);
            let (begun, worked) = (Instant::now(), processor_ns());
            for _ in 0..ROUNDS {
                io.send(to, &PACKET).expect("loopback takes it");
                let got = io.receive(&mut [0; 2048]).expect("loopback gives it");
                assert!(got.is_some(), "loopback delivers at once");
            }
            processor += processor_ns() - worked;
            wall += begun.elapsed().as_nanos() as u64;
        }
        // The distribution of the sends.
        round(&mut |buffer| {
            let before = monotonic_now();
            io.send(to, &PACKET).expect("loopback takes it");
            sends.push(monotonic_now().0 - before.0);
            let got = io.receive(buffer).expect("loopback gives it");
            assert!(got.is_some(), "loopback delivers at once");
        });
        let count = (BURSTS * ROUNDS) as f64;
        self.rounds.push(wall as f64 / count);
        self.processor.push(processor as f64 / count);
        self.sends.append(&mut sends);
    }

    fn bare(&mut self, io: &mut UdpTransport) {
        let to = io.local();
        self.turn(io, to);
    }

    fn recorded(&mut self, io: &mut UdpTransport, folder: &Path, ring: Option<Ring>) {
        let path = folder.join("recorded.reel");
        let options = Options {
            ring,
            ..Options::default()
        };
        let recorder = Recorder::create(&path, &Header::default(), options).expect("a reel");
        let to = io.local();
        let pusher = recorder.pusher().expect("the first ring");
        let mut io = Recorded::new(io, pusher, to);
        self.turn(&mut io, to);
        drop(io);
        let summary = recorder.finish().expect("the reel was written");
        assert_eq!(summary.dropped, 0, "nothing was lost");
        if ring.is_none() {
            let packets = open(&path).expect("the reel opens").totals().packets();
            assert_eq!(packets, 4 * (BURSTS * ROUNDS) as u64, "nothing was lost");
        }
        for file in std::fs::read_dir(folder).expect("the folder").flatten() {
            std::fs::remove_file(file.path()).expect("the reel goes");
        }
    }

    /// While tcpdump writes all of loopback into a file; `false` where it may not.
    fn captured(&mut self, io: &mut UdpTransport, folder: &Path) -> bool {
        let Some(tcpdump) = Tcpdump::start(folder) else {
            return false;
        };
        self.bare(io);
        drop(tcpdump);
        true
    }
}

struct Tcpdump(Child);

impl Tcpdump {
    fn start(folder: &Path) -> Option<Tcpdump> {
        let mut child = Command::new("tcpdump")
            .args(["-i", "lo", "-Z", "root", "-w"])
            .arg(folder.join("capture.pcap"))
            .arg("udp")
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        std::thread::sleep(Duration::from_millis(400));
        child.try_wait().ok()?.is_none().then_some(Tcpdump(child))
    }
}

impl Drop for Tcpdump {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The times of single pushes among real packets, the clock reads around them included.
fn pushes(folder: &Path) -> Vec<u64> {
    let path = folder.join("pushes.reel");
    let recorder = Recorder::create(&path, &Header::default(), Options::default());
    let recorder = recorder.expect("a reel");
    let mut pusher = recorder.pusher().expect("the first ring");
    let mut io = transport();
    let to = io.local();
    let mut times = Vec::with_capacity(BURSTS * ROUNDS);
    for _ in 0..BURSTS {
        std::thread::sleep(PAUSE);
        for _ in 0..ROUNDS {
            let event = Event::Sent {
                socket: SocketId(0),
                to,
                payload: &PACKET,
            };
            let before = monotonic_now();
            std::hint::black_box(pusher.push(before, event));
            times.push(monotonic_now().0 - before.0);
            io.send(to, &PACKET).expect("loopback takes it");
            io.receive(&mut [0; 2048]).expect("loopback gives it");
        }
    }
    drop(pusher);
    recorder.finish().expect("the reel was written");
    std::fs::remove_file(path).expect("the reel goes");
    times
}

fn quantiles(values: &mut [u64]) -> [u64; 4] {
    values.sort_unstable();
    [0.5, 0.99, 0.999, 1.0].map(|part| values[((values.len() - 1) as f64 * part).round() as usize])
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(1).collect()
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let folder = tempfile::tempdir().expect("a folder for the reels");
    let folder = folder.path();
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "{threads} processors, load {} before the first turn",
        load()
    );
    println!("128-byte packets on loopback, {TURNS} turns of {BURSTS} bursts of {ROUNDS} rounds");
    // A game has threads, and the C library sends and receives faster in a program that has one: a
    // second one for the bare turns too.
    std::thread::spawn(std::thread::park);
    let mut ways: [Way; 4] = Default::default();
    let (mut quiet_pushes, mut captured_pushes) = (Vec::new(), Vec::new());
    let mut captures = true;
    for turn in 0..TURNS {
        let [bare, recorded, ring, beside] = &mut ways;
        // One socket a turn: what the kernel takes for a packet differs by more from socket to
        // socket than what is measured here. Who comes first changes from turn to turn.
        let io = &mut transport();
        if turn % 2 == 0 {
            bare.bare(io);
        }
        recorded.recorded(io, folder, None);
        ring.recorded(io, folder, Some(Ring::new(Duration::from_secs(10))));
        if turn % 2 == 1 {
            bare.bare(io);
        }
        quiet_pushes.extend(pushes(folder));
        captures = captures && beside.captured(io, folder);
        if let Some(_tcpdump) = captures.then(|| Tcpdump::start(folder)).flatten() {
            captured_pushes.extend(pushes(folder));
        }
    }
    println!("load {} after the last\n", load());
    println!(
        "{:<44} {:>8} {:>8} {:>8} {:>9}",
        "nanoseconds", "p50", "p99", "p99.9", "max"
    );
    let row = |what: &str, values: &mut Vec<u64>| {
        let [p50, p99, p999, max] = quantiles(values);
        println!("{what:<44} {p50:>8} {p99:>8} {p999:>8} {max:>9}");
        p99
    };
    let p99 = row("a push, with a clock read", &mut quiet_pushes);
    if captures {
        row("the same while tcpdump captures", &mut captured_pushes);
    }
    let names = [
        "bare",
        "recorded",
        "recorded, ring mode",
        "bare beside tcpdump",
    ];
    let shown = if captures {
        names.len()
    } else {
        names.len() - 1
    };
    for (name, way) in names.into_iter().zip(&mut ways).take(shown) {
        row(&format!("a send, {name}"), &mut way.sends);
    }
    println!(
        "\n{:<44} {:>8} {:>8} {:>8}",
        "a round of send and receive", "ns", "more", "processor"
    );
    let [bare, recorded, ..] = &ways;
    // Each turn beside the bare one on its own socket.
    let more = |way: &Way, of: fn(&Way) -> &[f64]| {
        let turns = of(way).iter().zip(of(bare));
        median(turns.map(|(way, bare)| (way / bare - 1.0) * 100.0))
    };
    for (name, way) in names.into_iter().zip(&ways).take(shown) {
        println!(
            "{name:<44} {:>8.0} {:>+7.1}% {:>+7.1}%",
            median(way.rounds.iter().copied()),
            more(way, |way| &way.rounds),
            more(way, |way| &way.processor)
        );
    }
    if !captures {
        println!("tcpdump may not capture here");
    }
    let percent = more(recorded, |way| &way.processor);
    let missed = p99 > PUSH_P99_TARGET_NS || percent > OVERHEAD_TARGET_PERCENT;
    println!(
        "\np99 of a push {p99} ns (target {PUSH_P99_TARGET_NS}); recorded {percent:+.1} % processor \
         time (target {OVERHEAD_TARGET_PERCENT} %): {}",
        if missed { "MISSED" } else { "met" }
    );
    ExitCode::from(u8::from(check && missed))
}

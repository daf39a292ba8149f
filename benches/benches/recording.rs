//! What recording costs the recorded thread: 128-byte packets in batches of 1000, with the writer
//! running, over the clock read; next to what a packet costs anyway.
//!
//! `cargo bench -p netreel-benches --bench recording`; with `-- --check` it fails where a target
//! of the design is missed.

use std::net::UdpSocket;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use netreel_benches::claim;
use netreel_capture::{Options, Recorder, open};
use netreel_reel::{Endpoint, Event, EventKind, Header, SocketId};
use netreel_transport::{Pusher, monotonic_now};

const PACKET: [u8; 128] = [0x5a; 128];
const BATCH: u32 = 1000;
const BATCHES: usize = 400;
/// Between batches, so that the writer is at work during some and idle during others, as in a
/// game that sends its packets once a tick.
const PAUSE: Duration = Duration::from_micros(1500);

const ONE_THREAD_TARGET_NS: f64 = 30.0;
const TWO_THREADS_TARGET_NS: f64 = 150.0;

/// Nanoseconds an item in each batch, sorted.
struct Samples(Vec<f64>);

impl Samples {
    fn new(mut batches: Vec<f64>) -> Samples {
        batches.sort_by(f64::total_cmp);
        Samples(batches)
    }

    fn quantile(&self, part: f64) -> f64 {
        let at = ((self.0.len() - 1) as f64 * part).round() as usize;
        self.0[at]
    }

    fn print(&self, what: &str, over: f64, target: Option<f64>) -> bool {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|part| self.quantile(part) - over);
        let missed = target.is_some_and(|target| p50 > target);
        let target = target.map_or(String::new(), |target| {
            format!("{target:>6.0}  {}", if missed { "MISSED" } else { "met" })
        });
        println!("{what:<44} {p50:>8.1} {p90:>8.1} {p99:>8.1} {target}");
        missed
    }
}

fn batches(mut batch: impl FnMut()) -> Samples {
    let per_batch = (0..BATCHES).map(|_| {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        batch();
        start.elapsed().as_nanos() as f64 / f64::from(BATCH)
    });
    Samples::new(per_batch.collect())
}

fn clock_read() -> Samples {
    batches(|| {
        for _ in 0..BATCH {
            std::hint::black_box(monotonic_now());
        }
    })
}

fn loopback() -> Samples {
    let a = UdpSocket::bind("127.0.0.1:0").expect("a port on 127.0.0.1");
    let b = UdpSocket::bind("127.0.0.1:0").expect("a port on 127.0.0.1");
    let to = b.local_addr().expect("it is bound");
    let mut buffer = [0; 2048];
    batches(|| {
        for _ in 0..BATCH {
            a.send_to(&PACKET, to).expect("loopback takes it");
            b.recv_from(&mut buffer).expect("loopback gives it");
        }
    })
}

fn push_batch(pusher: &mut Pusher, to: Endpoint) {
    for _ in 0..BATCH {
        let event = Event::Sent {
            socket: SocketId(0),
            to,
            payload: &PACKET,
        };
        std::hint::black_box(pusher.push(monotonic_now(), event));
    }
}

fn endpoint() -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 7001))
}

fn recorder(path: &Path) -> Recorder {
    Recorder::create(path, &Header::default(), Options::default()).expect("room for a reel")
}

fn finish(recorder: Recorder, threads: u64) {
    let path = recorder.path().to_owned();
    recorder.finish().expect("the reel was written");
    let reel = open(path).expect("the reel opens");
    let expected = threads * BATCHES as u64 * u64::from(BATCH);
    assert_eq!(
        reel.counts().get(&EventKind::Sent),
        Some(&expected),
        "nothing was lost"
    );
}

fn one_thread(folder: &Path) -> Samples {
    let recorder = recorder(&folder.join("one.reel"));
    let mut pusher = recorder.pusher().expect("the first ring");
    let samples = batches(|| push_batch(&mut pusher, endpoint()));
    finish(recorder, 1);
    samples
}

/// Both threads push at the same time; a batch counts for each of them.
fn two_threads(folder: &Path) -> Samples {
    let recorder = recorder(&folder.join("two.reel"));
    let arrived = AtomicUsize::new(0);
    let lane = |mut pusher: Pusher| {
        let arrived = &arrived;
        move || {
            let per_batch = (1..=BATCHES).map(|round| {
                std::thread::sleep(PAUSE);
                // Spins, because a batch is over before a sleeping thread is awake.
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < 2 * round {
                    std::hint::spin_loop();
                }
                let start = Instant::now();
                push_batch(&mut pusher, endpoint());
                start.elapsed().as_nanos() as f64 / f64::from(BATCH)
            });
            per_batch.collect::<Vec<_>>()
        }
    };
    let both = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            let pusher = recorder.pusher().expect("a ring for each");
            scope.spawn(lane(pusher))
        });
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no push panics"))
            .collect()
    });
    finish(recorder, 2);
    Samples::new(both)
}

/// How many events a second the writer takes when the recorded thread does nothing but push.
fn sustained(folder: &Path) -> f64 {
    let recorder = recorder(&folder.join("sustained.reel"));
    let mut pusher = recorder.pusher().expect("the first ring");
    let start = Instant::now();
    for _ in 0..BATCHES {
        push_batch(&mut pusher, endpoint());
    }
    finish(recorder, 1);
    (BATCHES as f64 * f64::from(BATCH)) / start.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let folder = tempfile::tempdir().expect("a folder for the reels");
    println!("128-byte packets, {BATCHES} batches of {BATCH}, nanoseconds each");
    println!(
        "{:<44} {:>8} {:>8} {:>8} {:>6}",
        "", "p50", "p90", "p99", "target"
    );
    let clock = clock_read();
    clock.print("clock read", 0.0, None);
    let loopback = loopback();
    loopback.print("sendto + recvfrom on loopback", 0.0, None);
    let clock_ns = clock.quantile(0.5);
    let one = one_thread(folder.path());
    let missed_one = one.print(
        "an event, one thread, over the clock read",
        clock_ns,
        Some(ONE_THREAD_TARGET_NS),
    );
    let two = two_threads(folder.path());
    let missed_two = two.print(
        "an event, two threads, over the clock read",
        clock_ns,
        Some(TWO_THREADS_TARGET_NS),
    );
    let sustained = sustained(folder.path());
    println!("without pauses the writer takes {sustained:.0} events/s");
    let over = |samples: &Samples| format!("{:.1} ns (p50)", samples.quantile(0.5) - clock_ns);
    let peer = format!(
        "a clock read {clock_ns:.0} ns; sendto and recvfrom on loopback {:.0} ns",
        loopback.quantile(0.5)
    );
    claim(
        "recording an event of 128 bytes, one thread, over the clock read",
        ("30 ns", Some(missed_one)),
        over(&one),
        peer,
    );
    claim(
        "the same, two threads at once",
        ("150 ns", Some(missed_two)),
        over(&two),
        "never",
    );
    claim(
        "what the writing thread takes without pauses",
        ("none", None),
        format_args!("{:.1} million events a second", sustained / 1e6),
        "never",
    );
    ExitCode::from(u8::from(check && (missed_one || missed_two)))
}

//! What snapshots cost: their share of the processor time of a recorded session, in which packets
//! cross memory and not the operating system, and how much they add to the reels.
//!
//! `cargo bench -p netreel-benches --bench snapshots`; with `-- --check` it fails where a target is
//! missed.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netreel_reel::Header;
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{
    Datagram, Endpoint, LinkFaults, MemoryRecorder, ReceiveError, Recorded, SendError,
    SnapshotPlan, Time, Transport,
};

/// Ticks of a session: half a minute.
const TICKS: u64 = 1800;
/// Snapshots may take this much of the processor time.
const SHARE: f64 = 0.01;

/// Times what is done when a state is offered.
struct Timed<T> {
    inner: T,
    nanos: Arc<AtomicU64>,
}

impl<T: Transport> Transport for Timed<T> {
    fn now(&mut self) -> Time {
        self.inner.now()
    }
    fn random(&mut self) -> u64 {
        self.inner.random()
    }
    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.inner.send(to, packet)
    }
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.inner.receive(buffer)
    }
    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
    }
    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
    }
    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }
    fn offer_state(&mut self, save: &mut dyn FnMut() -> Option<Vec<u8>>) {
        let mut begun = None;
        self.inner.offer_state(&mut || {
            begun = Some(processor_ns());
            save()
        });
        if let Some(begun) = begun {
            self.nanos
                .fetch_add(processor_ns() - begun, Ordering::Relaxed);
        }
    }
}

/// Processor time of this thread.
fn processor_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Plays half a minute: seconds in all, seconds in snapshots, bytes of the reels.
fn play(nodes: u8, every: Option<Duration>) -> (f64, f64, usize) {
    let script = Script::Boxes { ticks: TICKS };
    let mut start = SimWorldStart::new(7, Mode::Owner, Topology::PeerToPeer, script);
    start.nodes = nodes;
    start.faults = LinkFaults {
        loss: 0.02,
        ..LinkFaults::default()
    };
    let nanos = Arc::new(AtomicU64::new(0));
    let mut recorders = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            start: node.start.clone(),
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push(recorder.clone());
        let mut inner = Recorded::new(faults, recorder.pusher(), node.local);
        if let Some(every) = every {
            inner.snapshots(SnapshotPlan {
                every,
                ..SnapshotPlan::default()
            });
        }
        Box::new(Timed {
            inner,
            nanos: Arc::clone(&nanos),
        })
    })
    .expect("good conditions");
    let begin = processor_ns();
    world.run(TICKS);
    let all = (processor_ns() - begin) as f64 / 1e9;
    let bytes = recorders
        .iter()
        .map(|recorder| recorder.finish().len())
        .sum();
    (all, nanos.load(Ordering::Relaxed) as f64 / 1e9, bytes)
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let mut good = true;
    for nodes in [4, 8] {
        let (_, _, bare) = play(nodes, None);
        for millis in [500, 1000] {
            let every = Duration::from_millis(millis);
            let mut shares: Vec<f64> = Vec::new();
            let mut bytes = 0;
            for _ in 0..3 {
                let (all, snapshots, reels) = play(nodes, Some(every));
                shares.push(snapshots / all);
                bytes = reels;
            }
            shares.sort_by(f64::total_cmp);
            let share = shares[1];
            good &= share <= SHARE;
            println!(
                "{nodes} nodes, a snapshot every {millis} ms: {:.2} % of the processor time, \
                 reels {:.1} % larger",
                share * 100.0,
                (bytes as f64 / bare as f64 - 1.0) * 100.0,
            );
        }
    }
    ExitCode::from(u8::from(check && !good))
}

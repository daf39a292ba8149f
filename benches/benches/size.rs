//! What a packet costs in the file beyond its payload: four nodes of boxes over UDP on loopback,
//! 60 ticks a second, `CLOCK_MONOTONIC` to the nanosecond; ticks, clock reads, empty polls, block
//! frames and index included, the reel's own header (start conditions and wire text) not.
//!
//! `cargo bench -p netreel-benches --bench size`; with `-- --check` the exit code is 1 where the
//! target is missed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use netreel_capture::{Options, Recorded, Recorder, clock_anchor, open};
use netreel_reel::Header;
use netreel_sample_engine::{
    Boxes, Demonstration, Game, Mode, NetLayer, Peer, PeerStart, Start, Topology, node_name,
    play_tick,
};
use netreel_transport::{Gates, UdpTransport};

const NODES: u8 = 4;
const PLAYED: Duration = Duration::from_secs(10);
const TARGET: f64 = 6.0;
/// The target is for sessions with at least as many packets a second and node.
const RATE: f64 = 200.0;

fn main() -> ExitCode {
    println!(
        "{:<22} {:>9} {:>12} {:>22}",
        "game, node", "packets", "packets/s", "bytes over payload"
    );
    let mut missed = false;
    for game in ["boxes", "demonstration"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let reels = play(game, folder.path());
        for reel in reels {
            let reel = open(&reel).expect("the reel");
            let (packets, over) = (reel.totals().packets(), reel.overhead_per_packet());
            let over = over.expect("packets were recorded");
            let (first, last) = reel.span().expect("events were recorded");
            let rate = packets as f64 / last.since(first).as_secs_f64();
            let node = format!("{game}, {}", reel.header().node);
            println!("{node:<22} {packets:>9} {rate:>12.0} {over:>22.2}");
            missed |= rate >= RATE && over > TARGET;
        }
    }
    println!(
        "target: {TARGET} above {RATE} packets/s: {}",
        if missed { "MISSED" } else { "met" }
    );
    let check = std::env::args().any(|argument| argument == "--check");
    if check && missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn play(game: &str, folder: &Path) -> Vec<std::path::PathBuf> {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let sockets = (0..NODES).map(|_| UdpTransport::bind(any_port).expect("a socket"));
    let sockets = sockets.collect::<Vec<_>>();
    let peers = sockets.iter().zip(0..).map(|(socket, peer)| PeerStart {
        name: node_name(Peer(peer)),
        endpoint: socket.local(),
    });
    let peers = peers.collect::<Vec<_>>();
    let nodes = sockets
        .into_iter()
        .zip((0..).map(Peer))
        .map(|(socket, peer)| {
            let path = folder.join(format!("{}.reel", node_name(peer)));
            let start = Start::new(peer, peers.clone(), Topology::PeerToPeer, Mode::Owner);
            let game: Box<dyn Game + Send> = match game {
                "boxes" => Box::new(Boxes::new(1, &node_name(peer), u64::MAX)),
                _ => Box::new(Demonstration::new()),
            };
            (
                path.clone(),
                std::thread::spawn(move || node(socket, start, game, &path)),
            )
        });
    let nodes = nodes.collect::<Vec<_>>();
    nodes
        .into_iter()
        .map(|(path, thread)| {
            thread.join().expect("the node plays to its end");
            path
        })
        .collect()
}

fn node(socket: UdpTransport, start: Start, mut game: Box<dyn Game + Send>, path: &Path) {
    let header = Header {
        node: node_name(start.own),
        clock: clock_anchor(),
        start: start.encode(),
        ..Header::default()
    };
    let recorder = Recorder::create(path, &header, Options::default()).expect("a recorder");
    let local = socket.local();
    let mut io = Recorded::new(socket, recorder.pusher().expect("a pusher"), local);
    let tick_length = Duration::from_nanos(start.tick_ns);
    let mut layer = NetLayer::new(start).expect("good conditions");
    let begin = Instant::now();
    for tick in 0.. {
        if begin.elapsed() > PLAYED {
            break;
        }
        play_tick(tick, &mut layer, game.as_mut(), &mut io, &Gates::default());
        let next = begin + tick_length * (tick as u32 + 1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    drop(io);
    recorder.finish().expect("a finished reel");
}

//! What a packet costs in the file beyond its payload: four nodes over UDP on loopback, 60 ticks a
//! second, `CLOCK_MONOTONIC` to the nanosecond.
//!
//! The target counts everything in the file but the payloads of packets, the bytes of the game's
//! calls, and the reel's own header: packet heads, ticks, clock reads, empty polls, the heads of
//! calls, block frames, index and footer. The last column counts the reel's header too, which is
//! written once and holds the start conditions and the wire's whole text.
//!
//! `cargo bench -p netreel-benches --bench size`; with `-- --check` the exit code is 1 where the
//! target is missed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use netreel_capture::{Options, Recorded, Recorder, clock_anchor, open};
use netreel_reel::{Header, WireText};
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
        "{:<22} {:>9} {:>10} {:>20} {:>12}",
        "game, node", "packets", "packets/s", "bytes over payload", "with header"
    );
    let mut missed = false;
    for game in ["boxes", "demonstration"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut whole = Row::default();
        for path in play(game, folder.path()) {
            let row = Row::of(&path);
            row.print(&format!(
                "{game}, {}",
                path.file_stem().unwrap_or_default().display()
            ));
            whole.add(&row);
        }
        whole.print(&format!("{game}, all"));
        missed |= whole.rate() >= RATE && whole.over() > TARGET;
    }
    let verdict = if missed { "MISSED" } else { "met" };
    println!("target: {TARGET} on average, above {RATE} packets/s and node: {verdict}");
    let check = std::env::args().any(|argument| argument == "--check");
    if check && missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// One node's reel, or the sum of several.
#[derive(Default)]
struct Row {
    packets: u64,
    seconds: f64,
    over_bytes: f64,
    header_bytes: u64,
}

impl Row {
    fn of(path: &Path) -> Row {
        let reel = open(path).expect("the reel");
        let packets = reel.totals().packets();
        let (first, last) = reel.span().expect("events were recorded");
        let header_bytes = reel.block_infos().first().map_or(0, |block| block.offset);
        let mut recorded = 0;
        reel.for_each(|record| recorded += record.event.bytes().map_or(0, <[u8]>::len) as u64);
        let bytes = reel.length().expect("the file is there");
        Row {
            packets,
            seconds: last.since(first).as_secs_f64(),
            over_bytes: bytes as f64 - (header_bytes + recorded) as f64,
            header_bytes,
        }
    }

    fn add(&mut self, other: &Row) {
        self.packets += other.packets;
        self.seconds += other.seconds;
        self.over_bytes += other.over_bytes;
        self.header_bytes += other.header_bytes;
    }

    fn rate(&self) -> f64 {
        self.packets as f64 / self.seconds
    }

    fn over(&self) -> f64 {
        self.over_bytes / self.packets as f64
    }

    fn print(&self, what: &str) {
        let with_header = (self.over_bytes + self.header_bytes as f64) / self.packets as f64;
        println!(
            "{what:<22} {:>9} {:>10.0} {:>20.2} {with_header:>12.2}",
            self.packets,
            self.rate(),
            self.over()
        );
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
                _ => Box::new(Demonstration::new(1, &node_name(peer))),
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
        wires: vec![WireText {
            name: "boxes.wire".to_owned(),
            text: include_str!("../../samples/wires/boxes.wire").to_owned(),
        }],
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

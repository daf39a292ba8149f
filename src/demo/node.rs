//! One node of the demonstration: a process that plays, and records itself.

use std::io::{BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netreel_capture::{Options, Recorded, Recorder, clock_anchor};
use netreel_reel::{Header, WireText};
use netreel_sample_engine::{
    BOXES, Demonstration, Game, Mode, NetLayer, Peer, PeerStart, Start, Topology, play_tick,
};
use netreel_transport::{Faults, LinkEnd, UdpTransport, mix};

use super::processes::Assignment;
use crate::arguments::DemoNode;
use crate::outcome::{Answer, Failure};
use crate::replay::ENGINE;

/// The wire of the sample engine, which goes into every reel.
const WIRE: &str = include_str!("../../samples/wires/boxes.wire");

pub fn run(arguments: &DemoNode) -> Result<Answer, Failure> {
    // The parent shows what went wrong; a node's own error output would only repeat it.
    if let Err(failure) = play(arguments) {
        say(&format!("failed {failure}"))?;
    }
    Ok(Answer::Clean)
}

fn play(arguments: &DemoNode) -> Result<(), Failure> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let udp = UdpTransport::bind_seeded(local, mix(&[arguments.seed, u64::from(arguments.peer)]))
        .map_err(Failure::new)?;
    let local = udp.local();
    say(&format!("bound {local}"))?;

    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(Failure::new)?;
    let assignment: Assignment = serde_json::from_str(&line).map_err(Failure::new)?;
    let quit = quit_when_told();

    let start = start(arguments.peer, &assignment);
    let header = header(arguments.peer, &assignment, &start);
    let recorder =
        Recorder::create(&arguments.out, &header, Options::default()).map_err(Failure::new)?;
    let ends = assignment.endpoints.iter().enumerate();
    let ends = ends.map(|(peer, endpoint)| (*endpoint, LinkEnd(peer as u16)));
    let own = LinkEnd(u16::from(arguments.peer));
    let faults = Faults::new(udp, assignment.seed, own, ends);
    let gates = faults.gates();
    let pusher = recorder.pusher().map_err(Failure::new)?;
    let mut io = Recorded::new(faults, pusher, local);

    let tick_length = Duration::from_nanos(start.tick_ns);
    let mut layer = NetLayer::new(start).map_err(Failure::new)?;
    let mut game = Demonstration::new(assignment.seed, &header.node);
    let begin = Instant::now();
    let mut idle = false;
    for tick in 0.. {
        if quit.load(Ordering::Relaxed) {
            break;
        }
        play_tick(tick, &mut layer, &mut game, &mut io, &gates);
        if game.is_idle(&layer) != idle {
            idle = !idle;
            say(if idle { "idle" } else { "busy" })?;
        }
        // Ticks keep to a grid; a tick that comes late does not move the ones behind it.
        let next = begin + tick_length * (tick as u32 + 1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    drop(io);
    let summary = recorder.finish().map_err(Failure::new)?;
    say(&format!("done {}", summary.events))
}

fn start(peer: u8, assignment: &Assignment) -> Start {
    let peers = assignment.names.iter().zip(&assignment.endpoints);
    let peers = peers.map(|(name, endpoint)| PeerStart {
        name: name.clone(),
        endpoint: *endpoint,
    });
    let topology = if assignment.relayed {
        Topology::ClientServer
    } else {
        Topology::PeerToPeer
    };
    let mode = if assignment.counted {
        Mode::Owner
    } else {
        Mode::Host
    };
    let mut start = Start::new(Peer(peer), peers.collect(), topology, mode);
    // A machine that is busy elsewhere may stop a node for seconds; that is not what is shown.
    start.time_outs = false;
    start
}

fn header(peer: u8, assignment: &Assignment, start: &Start) -> Header {
    Header {
        node: assignment
            .names
            .get(usize::from(peer))
            .cloned()
            .unwrap_or_default(),
        session: assignment.session,
        clock: clock_anchor(),
        engine: ENGINE.to_owned(),
        build: format!("netreel {}", env!("CARGO_PKG_VERSION")),
        args: std::env::args().skip(1).collect(),
        start: start.encode(),
        seeds: vec![("demo".to_owned(), assignment.seed)],
        hashes: vec![(
            "boxes.toml".to_owned(),
            format!("{:08x}", crc32fast::hash(BOXES.as_bytes())),
        )],
        wires: vec![WireText {
            name: "boxes.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
    }
}

/// Becomes true when the parent says so, or is gone.
fn quit_when_told() -> Arc<AtomicBool> {
    let quit = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&quit);
    std::thread::spawn(move || {
        let _ = std::io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .find(|line| line == "quit");
        told.store(true, Ordering::Relaxed);
    });
    quit
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

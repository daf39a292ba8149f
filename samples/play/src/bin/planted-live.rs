//! Records a session of real processes in which one node's layer has a fault: what the example `planted` of
//! the engine does in virtual time, over UDP.
//!
//! `cargo run -p netreel-play --bin planted-live -- FAULT DIR [SEED]`, with a fault by its name in
//! [`Fault`](netreel_sample_engine::Fault); `without-FAULT` plays the same way without it. Four processes
//! play for two seconds and are quiet for six. Packets are lost where games lose them: each process stands
//! still for some ticks now and then, and the small buffer of its socket runs over. Each packet waits for 90
//! ms before its layer has it.

#[path = "../../../engine/examples/planted/fault.rs"]
mod fault;
#[path = "../../../engine/examples/planted/reported.rs"]
mod reported;
#[path = "../../../engine/examples/planted/table.rs"]
mod table;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use netreel_record::{Options, Recorder, clock_anchor};
use netreel_reel::{Header, WireText};
use netreel_sample_engine::{
    Beliefs, Believing, Boxes, Game, NetLayer, Peer, PeerStart, Start, link_end, node_name,
    play_tick,
};
use netreel_transport::{Draw, Faults, LinkFaults, Recorded, UdpTransport};

const NODES: u8 = 4;
const ACTIVE_TICKS: u64 = 120;
const TICKS: u64 = 480;

/// What a socket keeps until its program reads it, in bytes, with what the kernel needs for each packet: some
/// three packets.
const BUFFER: usize = 2304;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match &arguments[..] {
        [list] if list == "list" => {
            for it in all() {
                println!("{:?} {}", it.fault, it.rule.unwrap_or("-"));
            }
            Ok(())
        }
        [fault, folder] => record(fault, folder, "1"),
        [fault, folder, seed] => record(fault, folder, seed),
        [fault, folder, seed, own] => play(fault, folder, seed, own),
        _ => Err("usage: planted-live FAULT DIR [SEED], or planted-live list".into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The faults that can be planted, each with the rule that is meant.
fn all() -> impl Iterator<Item = fault::Planted> {
    let reported = reported::REPORTED.into_iter().map(|it| it.0);
    let own = table::TABLE.into_iter().chain(table::SAID);
    own.chain(reported)
}

/// Who has this fault, how they play, and whether they play without it.
fn meant(fault: &str) -> Result<(fault::Planted, bool), Box<dyn Error>> {
    let name = fault.strip_prefix("without-").unwrap_or(fault);
    match all().find(|it| format!("{:?}", it.fault) == name) {
        Some(planted) => Ok((planted, name != fault)),
        None => Err(format!("no fault {name}").into()),
    }
}

/// Starts a process for each node and waits for all.
fn record(fault: &str, folder: &str, seed: &str) -> Result<(), Box<dyn Error>> {
    meant(fault)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(Path::new(folder).join("bounds.toml"), table::BOUNDS)?;
    let program = std::env::current_exe()?;
    let mut nodes = Vec::new();
    for own in 0..NODES {
        let mut node = Command::new(&program);
        node.args([fault, folder, seed, &own.to_string()]);
        node.stdin(Stdio::piped()).stdout(Stdio::piped());
        nodes.push(node.spawn()?);
    }
    // Each says where it is, and is told where all are.
    let mut addresses = String::new();
    for node in &mut nodes {
        BufReader::new(node.stdout.as_mut().ok_or("a pipe")?).read_line(&mut addresses)?;
    }
    for node in &mut nodes {
        let mut told = node.stdin.take().ok_or("a pipe")?;
        told.write_all(addresses.as_bytes())?;
    }
    let mut failed = 0;
    for mut node in nodes {
        failed += u64::from(!node.wait()?.success());
    }
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} of {NODES} nodes failed").into()),
    }
}

/// One node.
fn play(fault: &str, folder: &str, seed: &str, own: &str) -> Result<(), Box<dyn Error>> {
    let (planted, is_without) = meant(fault)?;
    let (seed, own): (u64, Peer) = (seed.parse()?, Peer(own.parse()?));
    let socket = UdpTransport::bind_seeded((Ipv4Addr::LOCALHOST, 0).into(), seed)?;
    let local = socket.local();
    println!("{local}");
    let addresses = std::io::read_to_string(std::io::stdin())?;
    let addresses = addresses.lines().map(str::parse);
    let addresses: Vec<SocketAddr> = addresses.collect::<Result<_, _>>()?;
    if addresses.len() != usize::from(NODES) {
        return Err("another node has not started".into());
    }
    let peers = (0..)
        .map(Peer)
        .zip(&addresses)
        .map(|(peer, &endpoint)| PeerStart {
            name: node_name(peer),
            endpoint,
        });
    let mut start = Start::new(own, peers.collect(), planted.topology, planted.mode);
    start.fault = (planted.at == own && !is_without).then_some(planted.fault);

    let name = node_name(own);
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER)?;
    let ends: Vec<_> = (0..)
        .map(Peer)
        .zip(&addresses)
        .map(|(it, &address)| (address, link_end(it)))
        .collect();
    let mut faults = Faults::new(socket, seed, link_end(own), ends.clone());
    for (_, end) in ends {
        let slow = LinkFaults::delayed(Duration::from_millis(90));
        faults.set_ingress(end, slow);
    }
    let gates = faults.gates();
    let header = Header {
        node: name.clone(),
        session: [7; 16],
        engine: "boxes".to_owned(),
        start: start.encode(),
        clock: clock_anchor(),
        wires: vec![WireText {
            name: "boxes.wire".to_owned(),
            text: table::wire(),
        }],
        ..Header::default()
    };
    let path = Path::new(folder).join(format!("{name}.reel"));
    let recorder = Recorder::create(path, &header, Options::default())?;
    let mut io = Recorded::new(faults, recorder.pusher()?, local);
    let length = Duration::from_nanos(start.tick_ns);
    let mut layer = NetLayer::new(start)?;
    let mut game = Boxes::new(seed, &name, ACTIVE_TICKS);
    let mut beliefs = Beliefs::default();
    let mut hitches = Draw::named(seed ^ u64::from(own.0), "hitches");
    let begun = Instant::now();
    for tick in 0..TICKS {
        let mut believing = Believing::new(&mut beliefs, &mut game);
        let game: &mut dyn Game = &mut believing;
        play_tick(tick, &mut layer, game, &mut io, &gates);
        let due = length * (tick + 1) as u32;
        let hitch = if hitches.chance(0.05) {
            Duration::from_millis(30)
        } else {
            Duration::ZERO
        };
        std::thread::sleep((due + hitch).saturating_sub(begun.elapsed()));
    }
    drop(io);
    recorder.finish()?;
    Ok(())
}

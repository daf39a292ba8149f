//! One node of the demonstration: a process that plays, and records itself.

use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netreel_capture::ring_mode::{PeerOptions, Peers, Ring, TriggerNews, Triggers};
use netreel_capture::{Options, Recorded, Recorder};
use netreel_reel::TriggerCause;
use netreel_sample_engine::{
    Beliefs, Believing, Boxes, Call, Demonstration, Game, Hands, NetLayer, Peer, PeerStart, Start,
    Topology, free_link, link_end, play_tick,
};
use netreel_transport::{Faults, LinkEnd, SnapshotPlan, UdpTransport, mix};

use super::processes::Assignment;
use crate::arguments::DemoNode;
use crate::boxes;
use crate::outcome::{Answer, Failure, Result};

pub fn run(arguments: &DemoNode) -> Result<Answer> {
    // The parent shows what went wrong; a node's own error output would only repeat it.
    if let Err(failure) = play(arguments) {
        say(&format!("failed {failure}"))?;
    }
    Ok(Answer::Clean)
}

fn play(arguments: &DemoNode) -> Result {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let udp = UdpTransport::bind_seeded(local, mix(&[arguments.seed, u64::from(arguments.peer)]))?;
    let local = udp.local();
    let triggers = Triggers::new();
    // Bound now, so that the others can be told; the recorder joins later.
    let asked = arguments
        .ring
        .map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    let asked = asked.transpose().map_err(Failure::new)?;
    let assignment = assigned(local, asked.as_ref())?;
    let (thrown, throws) = channel();
    let quit = quit_when_told(triggers.clone(), thrown);

    let start = start(arguments.peer, &assignment);
    let name = assignment.names.get(usize::from(arguments.peer));
    let name = name.map_or("", String::as_str);
    let seed = ("demo", assignment.seed);
    let header = boxes::header(name, assignment.session, seed, &start);
    let options = Options {
        ring: arguments
            .ring
            .map(|seconds| Ring::new(Duration::from_secs_f64(seconds))),
        triggers: triggers.clone(),
        ..Options::default()
    };
    let peers = asked.map(|socket| ask_peers(socket, arguments.peer, &assignment, &triggers));
    let peers = peers.transpose()?;
    let telling = arguments.ring.map(|_| tell(&triggers));
    let recorder = Recorder::create(&arguments.out, &header, options)?;
    let faults = faults(udp, arguments.peer, &assignment);
    let gates = faults.gates();
    let pusher = recorder.pusher()?;
    let mut io = Recorded::new(faults, pusher, local);
    if arguments.snapshots > 0.0 {
        io.snapshots(snapshots(arguments));
    }

    let tick_length = Duration::from_nanos(start.tick_ns);
    let mut layer = NetLayer::new(start)?;
    let freely = |ticks| Box::new(Boxes::new(assignment.seed, &header.node, ticks));
    let mut game: Box<dyn Game> = match (arguments.ring, assignment.free) {
        // Ring mode is for what goes on for long.
        (Some(_), _) => freely(u64::MAX),
        (None, Some(seconds)) => freely((seconds / tick_length.as_secs_f64()) as u64),
        (None, None) => Box::new(Demonstration::new(assignment.seed, &header.node)),
    };
    let mut beliefs = Beliefs::default();
    let begin = Instant::now();
    let mut idle = false;
    for tick in 0.. {
        let ends = quit.load(Ordering::Acquire);
        for on in throws.try_iter() {
            // A call like those of the game: it is recorded, and a replay makes it too.
            Hands::new(&mut layer, &mut io, &gates).call(&Call::TimeOuts { on });
        }
        if ends {
            break;
        }
        let mut believing = Believing::new(&mut beliefs, game.as_mut());
        play_tick(tick, &mut layer, &mut believing, &mut io, &gates);
        if game.is_idle(&layer) != idle {
            idle = !idle;
            say(if idle { "idle" } else { "busy" })?;
        }
        // Ticks keep to a grid; a tick that comes late does not move the ones behind it.
        let next = begin + tick_length * (tick as u32 + 1);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    drop(io);
    let summary = recorder.finish()?;
    drop((peers, triggers));
    if let Some(telling) = telling {
        // All that was kept is told before the end is.
        let _ = telling.join();
    }
    say(&format!("done {}", summary.events))
}

/// Says where the node can be reached, and hears what it is to do.
fn assigned(local: SocketAddr, asked: Option<&UdpSocket>) -> Result<Assignment> {
    match asked {
        Some(socket) => {
            let asked = socket.local_addr().map_err(Failure::new)?;
            say(&format!("bound {local} {asked}"))?;
        }
        None => say(&format!("bound {local}"))?,
    }

    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(Failure::new)?;
    Ok(serde_json::from_str(&line)?)
}

/// The links from this node, with what they do to packets.
fn faults(udp: UdpTransport, peer: u8, assignment: &Assignment) -> Faults<UdpTransport> {
    let ends = assignment.endpoints.iter().enumerate();
    let ends = ends.map(|(peer, endpoint)| (*endpoint, LinkEnd(peer as u16)));
    let own = LinkEnd(u16::from(peer));
    let mut faults = Faults::new(udp, assignment.seed, own, ends);
    if assignment.free.is_some() {
        for to in (0..assignment.names.len() as u8).map(Peer) {
            let of_link = free_link(assignment.seed, Peer(peer), to);
            faults.set_egress(link_end(to), of_link);
        }
    }
    faults
}

fn snapshots(arguments: &DemoNode) -> SnapshotPlan {
    let every = Duration::from_secs_f64(arguments.snapshots);
    let mut plan = SnapshotPlan {
        every,
        ..SnapshotPlan::default()
    };
    // A window can be replayed from its first snapshot on.
    if arguments.ring.is_some() {
        plan.others = 2;
    }
    plan
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
    let mut start = Start::new(Peer(peer), peers.collect(), topology, assignment.mode);
    start.time_outs = assignment.time_outs;
    start
}

/// Asks the other nodes for the same windows, and is asked.
fn ask_peers(
    socket: UdpSocket,
    peer: u8,
    assignment: &Assignment,
    triggers: &Triggers,
) -> Result<Peers> {
    let others = assignment.triggers.iter().enumerate();
    let others = others.filter(|(other, _)| *other != usize::from(peer));
    let options = PeerOptions {
        listen: socket.local_addr().ok(),
        peers: others.map(|(_, endpoint)| *endpoint).collect(),
        key: assignment.trigger_key.clone(),
        node: assignment
            .names
            .get(usize::from(peer))
            .cloned()
            .unwrap_or_default(),
    };
    Ok(Peers::start_on(socket, options, triggers)?)
}

/// Tells the parent of windows until the triggers are gone.
fn tell(triggers: &Triggers) -> thread::JoinHandle<()> {
    let news = triggers.news();
    thread::spawn(move || {
        for news in news {
            let line = match news {
                TriggerNews::Kept(window) => format!("kept {}", window.folder.display()),
                TriggerNews::Pulled { text, .. } => format!("told triggered: {text}"),
                TriggerNews::Refused(why) | TriggerNews::Failed(why) => format!("told {why}"),
                TriggerNews::Renamed { from, to } => {
                    let to = to.file_name().unwrap_or_default().display();
                    format!("told {} is {to} now", from.display())
                }
                TriggerNews::Joined { folder, .. } => format!("told joined {}", folder.display()),
                TriggerNews::Closed { .. } => continue,
            };
            let _ = say(&line);
        }
    })
}

/// Becomes true when the parent says so, or is gone. A key pulls the triggers; what the parent says
/// of time-outs goes to `thrown`.
fn quit_when_told(triggers: Triggers, thrown: Sender<bool>) -> Arc<AtomicBool> {
    let quit = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&quit);
    thread::spawn(move || {
        let _ = io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .inspect(|line| {
                if let Some(key) = line.strip_prefix("key ") {
                    triggers.pull(TriggerCause::KEY, &format!("{key} was pressed"));
                }
                if let Some(on) = line.strip_prefix("time-outs ") {
                    let _ = thrown.send(on == "on");
                }
            })
            .find(|line| line == "quit");
        drop(triggers);
        told.store(true, Ordering::Release);
    });
    quit
}

fn say(line: &str) -> Result {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

//! `netreel play`: the sample game, played by hand, or by a script in place of one.

mod commanded;
#[cfg(feature = "gui")]
mod window;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use netreel_play::{LiveStage, Progress, Script, Seats, Setup, ZOMBIE};
use netreel_reel::Header;
use netreel_sample_engine::{Mode, Peer, Start, Topology as Links, node_name};
use netreel_transport::{UdpTransport, mix};

use crate::arguments::{Play, Topology};
use crate::outcome::{Answer, Failure};
use crate::{boxes, demo, text};

/// A script that is not over by then has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// Between two looks of a script at what it waits for.
const LOOK: Duration = Duration::from_millis(5);

pub fn run(arguments: &Play, out: &mut dyn Write) -> Result<Answer, Failure> {
    let names: Vec<String> = (0..arguments.nodes).map(Peer).map(node_name).collect();
    let script = script(arguments, &names)?;
    #[cfg(feature = "gui")]
    if let Some(file) = &arguments.screenshot {
        let zombie = || Script::parse(ZOMBIE, &names).map_err(Failure::new);
        let script = script.map_or_else(zombie, Ok)?;
        window::draw(arguments, script, file)?;
        writeln!(out, "{}", file.display())?;
        return Ok(Answer::Clean);
    }
    if let Some(address) = arguments.console {
        return commanded::run(arguments, address, out);
    }
    let folder = demo::prepare(arguments.out.as_deref(), "play")?;
    let played = play(arguments, script, &folder, out);
    let events = played.map_err(|failure| match std::fs::remove_dir(&folder) {
        Ok(()) => failure,
        Err(_) => Failure::new(format!(
            "{failure}; what was recorded is in {}",
            folder.display()
        )),
    })?;
    let (events, folder) = (text::counted(events, "event"), folder.display());
    writeln!(out, "recorded {events} in {folder}")?;
    writeln!(out, "  netreel check {folder}      what went wrong")?;
    writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
    Ok(Answer::Clean)
}

fn script(arguments: &Play, names: &[String]) -> Result<Option<Script>, Failure> {
    if let Some(seconds) = arguments.free {
        let text = netreel_play::free(arguments.seed, names, seconds.into());
        let script = Script::parse(&text, names).map_err(Failure::new)?;
        return Ok(Some(script));
    }
    let Some(file) = &arguments.script else {
        return Ok(None);
    };
    let text = match file.as_os_str() == "-" {
        true => ZOMBIE.to_owned(),
        false => std::fs::read_to_string(file).map_err(|error| {
            Failure::new(format!(
                "cannot read the script {}: {error}",
                file.display()
            ))
        })?,
    };
    let script = Script::parse(&text, names);
    let script = script.map_err(|why| Failure::new(format!("{}, {why}", file.display())))?;
    Ok(Some(script))
}

/// Plays until the window is closed or the script is over; how many events were recorded.
fn play(
    arguments: &Play,
    script: Option<Script>,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<u64, Failure> {
    let (setup, sockets) = gather(arguments, out)?;
    let seed = ("play", setup.seed);
    let header =
        |name: &str, start: &Start| -> Header { boxes::header(name, setup.session, seed, start) };
    #[cfg(feature = "gui")]
    let here = sockets.iter().map(|(peer, _)| *peer).collect();
    let mut stage = LiveStage::start(&setup, sockets, folder, &header).map_err(Failure::new)?;
    let Some(script) = script else {
        #[cfg(feature = "gui")]
        return window::play(stage, (&setup, here), folder, arguments.inspect);
        #[cfg(not(feature = "gui"))]
        return Err(Failure::new(
            "this netreel was built without its window: give it a --script",
        ));
    };
    let mut reader = script.play();
    let until = Instant::now() + LIMIT;
    while let Progress::Waits(line) = reader.go_on(&mut stage) {
        if Instant::now() > until {
            return Err(Failure::new(format!(
                "the script has waited in line {line} for too long; it may take {} s",
                LIMIT.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
    stage.finish().map_err(Failure::new)
}

/// All nodes here, or this machine's node once the others are there.
fn gather(
    arguments: &Play,
    out: &mut dyn Write,
) -> Result<(Setup, Vec<(Peer, UdpTransport)>), Failure> {
    if let Some(address) = arguments.join {
        writeln!(out, "joining {address}; the game begins when all are there")?;
        out.flush()?;
        let seat = seat(arguments)?;
        let (setup, own, socket) = netreel_play::join(address, seat).map_err(Failure::new)?;
        return Ok((setup, vec![(own, socket)]));
    }
    let (mode, topology) = how(arguments);
    let session = boxes::session_id(arguments.seed);
    if let Some(address) = arguments.host {
        let seats = Seats {
            session,
            mode,
            topology,
            seed: arguments.seed,
            players: arguments.nodes,
        };
        let mut told = |line: String| {
            // Who cannot be told still plays.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        };
        let (setup, socket) =
            netreel_play::host(address, seats, &mut told).map_err(Failure::new)?;
        return Ok((setup, vec![(Peer::HOST, socket)]));
    }
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bind = |peer: u8| {
        let seed = mix(&[arguments.seed, u64::from(peer)]);
        let socket = UdpTransport::bind_seeded(local, seed);
        socket.map(|socket| (Peer(peer), socket))
    };
    let sockets: Result<Vec<_>, _> = (0..arguments.nodes).map(bind).collect();
    let sockets = sockets.map_err(Failure::new)?;
    let setup = Setup {
        session,
        mode,
        topology,
        seed: arguments.seed,
        endpoints: sockets.iter().map(|(_, socket)| socket.local()).collect(),
    };
    Ok((setup, sockets))
}

/// Which node it wants to be, where it joins.
fn seat(arguments: &Play) -> Result<Option<Peer>, Failure> {
    let Some(name) = &arguments.seat else {
        return Ok(None);
    };
    let mut peers = (1..16).map(Peer);
    let seat = peers.find(|peer| node_name(*peer) == *name);
    let names: Vec<String> = (1..9).map(Peer).map(node_name).collect();
    let known = || {
        format!(
            "--as {name}: there is no such node; there are {}",
            names.join(", ")
        )
    };
    seat.ok_or_else(|| Failure::new(known())).map(Some)
}

fn how(arguments: &Play) -> (Mode, Links) {
    let mode = boxes::mode(arguments.migration);
    let topology = match arguments.topology {
        Topology::P2p => Links::PeerToPeer,
        Topology::ClientServer => Links::ClientServer,
    };
    (mode, topology)
}

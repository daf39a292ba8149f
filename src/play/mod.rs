//! `netreel play`: the sample game, played by hand, by a script in place of one, or by a console; all nodes
//! here, or those of several machines.

#[cfg(feature = "gui")]
mod window;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use netreel_console::read_token;
use netreel_play::{Choice, Commanded, LiveStage, Progress, Script, Seats, Setup, ZOMBIE};
use netreel_reel::Header;
use netreel_sample_engine::{Mode, Peer, Start, Topology as Links, node_name};
use netreel_transport::{UdpTransport, mix};

use crate::arguments::{Play, Topology};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{boxes, demo, text};

/// A script that is not over by then has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// Between two looks of a script at what it waits for.
const LOOK: Duration = Duration::from_millis(5);

pub fn run(arguments: &Play, out: &mut dyn Write) -> Result<Answer> {
    let names: Vec<String> = (0..arguments.nodes).map(Peer).map(node_name).collect();
    let script = script(arguments, &names)?;
    #[cfg(feature = "gui")]
    if let Some(file) = &arguments.screenshot {
        let script = match script {
            Some(script) => script,
            None => Script::parse(ZOMBIE, &names)?,
        };
        window::draw(arguments, how(arguments), script, file)?;
        writeln!(out, "{}", file.display())?;
        return Ok(Answer::Clean);
    }
    if let Some(address) = arguments.console {
        return commanded(arguments, address, out);
    }
    let folder = demo::prepare(arguments.out.as_deref(), "play")?;
    let played = play(arguments, script, &folder, out);
    let events = played.map_err(|why| demo::left(&folder, why))?;
    let (events, folder) = (text::counted(events, "event"), folder.display());
    writeln!(out, "recorded {events} in {folder}")?;
    writeln!(out, "  netreel check {folder}      what went wrong")?;
    writeln!(out, "  netreel inspect {folder}    all of it in a window")?;
    Ok(Answer::Clean)
}

fn script(arguments: &Play, names: &[String]) -> Result<Option<Script>> {
    if let Some(seconds) = arguments.free {
        let text = netreel_play::free(arguments.seed, names, seconds.into());
        let script = Script::parse(&text, names)?;
        return Ok(Some(script));
    }
    let Some(file) = &arguments.script else {
        return Ok(None);
    };
    let text = if file.as_os_str() == "-" {
        ZOMBIE.to_owned()
    } else {
        std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read the script {}: {error}", file.display()))?
    };
    let script = Script::parse(&text, names).map_err(|why| format!("{}, {why}", file.display()))?;
    Ok(Some(script))
}

/// Plays until the window is closed or the script is over; how many events were recorded.
fn play(
    arguments: &Play,
    script: Option<Script>,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<u64> {
    let (setup, sockets) = gather(arguments, out)?;
    #[cfg(feature = "gui")]
    let here = sockets.iter().map(|(peer, _)| *peer).collect();
    let mut stage = LiveStage::start(&setup, sockets, folder, &headers(&setup))?;
    let Some(script) = script else {
        #[cfg(feature = "gui")]
        return window::play(stage, (&setup, here), folder, arguments.inspect);
        #[cfg(not(feature = "gui"))]
        return fail("this netreel was built without its window: give it a --script");
    };
    let mut reader = script.play();
    let until = Instant::now() + LIMIT;
    while let Progress::Waits(line) = reader.go_on(&mut stage) {
        if Instant::now() > until {
            return fail(format!(
                "the script has waited in line {line} for too long; it may take {} s",
                LIMIT.as_secs()
            ));
        }
        std::thread::sleep(LOOK);
    }
    Ok(stage.finish()?)
}

/// Between two looks at whether the console has ended the game.
const OVER_LOOK: Duration = Duration::from_millis(20);

/// Plays until the console says `quit`.
pub fn commanded(arguments: &Play, address: SocketAddr, out: &mut dyn Write) -> Result<Answer> {
    let token = read_token(arguments.console_token.as_deref())?;
    let commanded = Commanded::listen(address, token)?;
    let folder = demo::folder_for(arguments.out.as_deref(), "play");
    std::fs::create_dir_all(&folder).map_err(|error| {
        format!(
            "cannot make the folder {} for the reel: {error}; name another with --out",
            folder.display()
        )
    })?;
    writeln!(out, "console {}", commanded.local())?;
    out.flush()?;
    let Some((setup, socket)) = seated(arguments, &commanded, out)? else {
        return Ok(Answer::Clean);
    };
    writeln!(out, "playing {}", setup.name(socket.0))?;
    out.flush()?;
    let stage = LiveStage::commanded(&setup, (socket, commanded), &folder, &headers(&setup))?;
    while !stage.is_over() {
        std::thread::sleep(OVER_LOOK);
    }
    let events = stage.finish()?;
    let events = text::counted(events, "event");
    writeln!(out, "recorded {events} in {}", folder.display())?;
    Ok(Answer::Clean)
}

fn headers(setup: &Setup) -> impl Fn(&str, &Start) -> Header {
    let (session, seed) = (setup.session, ("play", setup.seed));
    move |name, start| boxes::header(name, session, seed, start)
}

/// What is played, and the node that is played here.
type Seat = (Setup, (Peer, UdpTransport));

/// The node that is played here, once all are there; `None` where the console goes home instead.
fn seated(arguments: &Play, commanded: &Commanded, out: &mut dyn Write) -> Result<Option<Seat>> {
    if arguments.host.is_some() || arguments.join.is_some() {
        let (setup, sockets) = gather(arguments, out)?;
        return Ok(sockets.into_iter().next().map(|socket| (setup, socket)));
    }
    Ok(match commanded.choose() {
        Choice::Quit => None,
        Choice::Join { address, seat } => {
            let (setup, own, socket) = netreel_play::join(address, seat)?;
            Some((setup, (own, socket)))
        }
        Choice::Host {
            address,
            nodes,
            mode,
        } => Some(hosted(arguments, address, (mode, nodes), out)?),
    })
}

/// All nodes here, or this machine's node once the others are there.
pub fn gather(arguments: &Play, out: &mut dyn Write) -> Result<(Setup, Vec<(Peer, UdpTransport)>)> {
    if let Some(address) = arguments.join {
        writeln!(out, "joining {address}; the game begins when all are there")?;
        out.flush()?;
        let seat = seat(arguments)?;
        let (setup, own, socket) = netreel_play::join(address, seat)?;
        return Ok((setup, vec![(own, socket)]));
    }
    let (mode, topology) = how(arguments);
    if let Some(address) = arguments.host {
        let (setup, own) = hosted(arguments, address, (mode, arguments.nodes), out)?;
        return Ok((setup, vec![own]));
    }
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bind = |peer: u8| {
        let seed = mix(&[arguments.seed, u64::from(peer)]);
        let socket = UdpTransport::bind_seeded(local, seed);
        socket.map(|socket| (Peer(peer), socket))
    };
    let sockets: Result<Vec<_>, _> = (0..arguments.nodes).map(bind).collect();
    let sockets = sockets?;
    let setup = Setup {
        session: boxes::session_id(arguments.seed),
        mode,
        topology,
        seed: arguments.seed,
        endpoints: sockets.iter().map(|(_, socket)| socket.local()).collect(),
    };
    Ok((setup, sockets))
}

/// HOST's seat, when all others are there.
fn hosted(
    arguments: &Play,
    address: SocketAddr,
    (mode, players): (Mode, u8),
    out: &mut dyn Write,
) -> Result<Seat> {
    let seats = Seats {
        session: boxes::session_id(arguments.seed),
        mode,
        topology: how(arguments).1,
        seed: arguments.seed,
        players,
    };
    let mut told = |line: String| {
        // Who cannot be told still plays.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let (setup, socket) = netreel_play::host(address, seats, &mut told)?;
    Ok((setup, (Peer::HOST, socket)))
}

/// Which node it wants to be, where it joins.
fn seat(arguments: &Play) -> Result<Option<Peer>> {
    let Some(name) = &arguments.seat else {
        return Ok(None);
    };
    let mut peers = (1..16).map(Peer);
    let seat = peers.find(|peer| node_name(*peer) == *name);
    let names = text::joined((1..9).map(Peer).map(node_name), ", ");
    let known = || format!("--as {name}: there is no such node; there are {names}");
    seat.ok_or_else(|| Failure::new(known())).map(Some)
}

fn how(arguments: &Play) -> (Mode, Links) {
    let topology = match arguments.rules.topology {
        Topology::P2p => Links::PeerToPeer,
        Topology::ClientServer => Links::ClientServer,
    };
    (arguments.rules.migration.into(), topology)
}

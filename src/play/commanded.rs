//! One node without a window, driven by its console.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use netreel_console::read_token;
use netreel_play::{Choice, Commanded, LiveStage, Seats, Setup};
use netreel_reel::Header;
use netreel_sample_engine::{Peer, Start};
use netreel_transport::UdpTransport;

use super::gather::{gather, how};
use crate::arguments::Play;
use crate::outcome::{Answer, Failure, Result};
use crate::{boxes, text};

/// Between two looks at whether the console has ended the game.
const LOOK: Duration = Duration::from_millis(20);

/// Plays until the console says `quit`.
pub fn run(arguments: &Play, address: SocketAddr, out: &mut dyn Write) -> Result<Answer> {
    let token = arguments
        .console_token
        .as_deref()
        .map(read_token)
        .transpose()
        .map_err(Failure::new)?;
    let commanded = Commanded::listen(address, token).map_err(Failure::new)?;
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None => std::env::temp_dir().join(format!("netreel-play-{}", std::process::id())),
    };
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::new(format!(
            "cannot make the folder {} for the reel: {error}; name another with --out",
            folder.display()
        ))
    })?;
    writeln!(out, "console {}", commanded.local())?;
    out.flush()?;
    let Some((setup, socket)) = seated(arguments, &commanded, out)? else {
        return Ok(Answer::Clean);
    };
    let seed = ("play", setup.seed);
    let header =
        |name: &str, start: &Start| -> Header { boxes::header(name, setup.session, seed, start) };
    writeln!(out, "playing {}", setup.name(socket.0))?;
    out.flush()?;
    let stage = LiveStage::commanded(&setup, (socket, commanded), &folder, &header)
        .map_err(Failure::new)?;
    while !stage.is_over() {
        std::thread::sleep(LOOK);
    }
    let events = stage.finish().map_err(Failure::new)?;
    let events = text::counted(events, "event");
    writeln!(out, "recorded {events} in {}", folder.display())?;
    Ok(Answer::Clean)
}

/// What is played, and the node that is played here.
type Seat = (Setup, (Peer, UdpTransport));

/// The node that is played here, once all are there; `None` where the console goes home instead.
fn seated(arguments: &Play, commanded: &Commanded, out: &mut dyn Write) -> Result<Option<Seat>> {
    if arguments.host.is_some() || arguments.join.is_some() {
        let (setup, sockets) = gather(arguments, out)?;
        return Ok(sockets.into_iter().next().map(|socket| (setup, socket)));
    }
    let (_, topology) = how(arguments);
    Ok(match commanded.choose() {
        Choice::Quit => None,
        Choice::Join { address, seat } => {
            let joined = netreel_play::join(address, seat).map_err(Failure::new)?;
            let (setup, own, socket) = joined;
            Some((setup, (own, socket)))
        }
        Choice::Host {
            address,
            nodes,
            mode,
        } => {
            let seats = Seats {
                session: boxes::session_id(arguments.seed),
                mode,
                topology,
                seed: arguments.seed,
                players: nodes,
            };
            let mut told = |line: String| {
                // Who cannot be told still plays.
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            };
            let hosted = netreel_play::host(address, seats, &mut told);
            let (setup, socket) = hosted.map_err(Failure::new)?;
            Some((setup, (Peer::HOST, socket)))
        }
    })
}

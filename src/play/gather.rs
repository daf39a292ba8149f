//! Who plays: all nodes here, or those of several machines.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use netreel_play::{Seats, Setup};
use netreel_sample_engine::{Mode, Peer, Topology as Links, node_name};
use netreel_transport::{UdpTransport, mix};

use crate::arguments::{Play, Topology};
use crate::boxes;
use crate::outcome::{Failure, Result};
use crate::text;

/// All nodes here, or this machine's node once the others are there.
pub fn gather(arguments: &Play, out: &mut dyn Write) -> Result<(Setup, Vec<(Peer, UdpTransport)>)> {
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

pub fn how(arguments: &Play) -> (Mode, Links) {
    let mode = boxes::mode(arguments.migration);
    let topology = match arguments.topology {
        Topology::P2p => Links::PeerToPeer,
        Topology::ClientServer => Links::ClientServer,
    };
    (mode, topology)
}

//! The demonstration over real sockets on loopback, through the same stack as in the command.

use std::time::Duration;

use netreel_sample_engine::{
    Demonstration, Game, Mode, NetLayer, Peer, PeerStart, Start, Topology, node_name, play_tick,
};
use netreel_transport::{Faults, Gates, LinkEnd, UdpTransport};

struct Node {
    layer: NetLayer,
    game: Demonstration,
    io: Faults<UdpTransport>,
    gates: Gates,
}

/// Plays until everybody is idle; whether X keeps the object at the end.
fn has_zombie(mode: Mode, topology: Topology) -> bool {
    let loopback = "127.0.0.1:0".parse().expect("an address");
    let sockets: Vec<UdpTransport> = (0..4)
        .map(|_| UdpTransport::bind(loopback).expect("a socket"))
        .collect();
    let peers: Vec<PeerStart> = (0..)
        .map(Peer)
        .zip(&sockets)
        .map(|(peer, socket)| PeerStart {
            name: node_name(peer),
            endpoint: socket.local(),
        })
        .collect();
    let ends: Vec<_> = (0..)
        .map(LinkEnd)
        .zip(&peers)
        .map(|(end, p)| (p.endpoint, end))
        .collect();
    let node = |(own, socket)| {
        let start = Start::new(Peer(own), peers.clone(), topology, mode);
        let io = Faults::new(socket, 7, LinkEnd(own.into()), ends.clone());
        let gates = io.gates();
        let layer = NetLayer::new(start).expect("good conditions");
        Node {
            layer,
            game: Demonstration::new(7, &node_name(Peer(own))),
            io,
            gates,
        }
    };
    let mut nodes: Vec<Node> = (0u8..).zip(sockets).map(node).collect();
    // More ticks than any machine needs, so that a mistake fails and does not hang.
    for tick in 0..60_000 {
        for node in &mut nodes {
            play_tick(
                tick,
                &mut node.layer,
                &mut node.game,
                &mut node.io,
                &node.gates,
            );
        }
        if nodes.iter().all(|node| node.game.is_idle(&node.layer)) {
            return nodes[3].layer.object(Demonstration::OBJECT).is_some();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it does not end")
}

#[test]
fn in_mode_host_the_race_leaves_a_zombie() {
    assert!(has_zombie(Mode::Host, Topology::PeerToPeer));
}

#[test]
fn in_mode_owner_it_leaves_nothing() {
    assert!(!has_zombie(Mode::Owner, Topology::PeerToPeer));
}

#[test]
fn through_a_server_it_leaves_nothing() {
    assert!(!has_zombie(Mode::Host, Topology::ClientServer));
    assert!(!has_zombie(Mode::Owner, Topology::ClientServer));
}

//! The game over real UDP: in one process, and among players who join.

mod support;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use netreel_play::{LiveStage, Progress, Script, Seats, Setup, Stage, ZOMBIE, host, join};
use netreel_replay::Outcome;
use netreel_sample_engine::{Mode, Peer, Topology};
use netreel_transport::UdpTransport;
use support::{errors, header, replayed};

fn reels(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let read = |name: &&str| std::fs::read(folder.join(format!("{name}.reel"))).expect("a reel");
    names.iter().map(read).collect()
}

fn play(stage: &mut dyn Stage, script: &str) {
    let script = Script::parse(script, stage.names()).expect("a script");
    let mut reader = script.play();
    while let Progress::Waits(_) = reader.go_on(stage) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_zombie_over_udp_is_found_and_every_node_replays_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let bind = |peer: u8| {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = UdpTransport::bind_seeded(local, u64::from(peer)).expect("a port");
        (Peer(peer), socket)
    };
    let sockets: Vec<_> = (0..4).map(bind).collect();
    let setup = Setup {
        session: [1; 16],
        mode: Mode::Host,
        topology: Topology::PeerToPeer,
        seed: 1,
        endpoints: sockets.iter().map(|(_, socket)| socket.local()).collect(),
    };
    let stage = LiveStage::start(&setup, sockets, folder.path(), &header);
    let mut stage = stage.expect("a game");
    play(&mut stage, ZOMBIE);
    assert!(stage.finish().expect("all of it is written") > 500);
    let reels = reels(folder.path(), &["HOST", "A", "B", "X"]);
    let found = errors(&reels);
    assert!(found.contains(&"zombie-object X".to_owned()), "{found:?}");
    for reel in &reels {
        assert_eq!(replayed(reel), Outcome::Exact);
    }
}

/// A port that nobody has, as far as one can know.
fn free() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("its address")
}

fn seats(players: u8) -> Seats {
    Seats {
        session: [3; 16],
        mode: Mode::Host,
        topology: Topology::PeerToPeer,
        seed: 1,
        players,
    }
}

/// Joins as soon as somebody listens.
fn join_patiently(address: SocketAddr) -> (Setup, Peer, UdpTransport) {
    loop {
        match join(address, None) {
            Ok(joined) => return joined,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn players_who_join_see_each_others_boxes() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free();
    let here = folder.path().to_owned();
    let other = std::thread::spawn(move || {
        let (setup, own, socket) = join_patiently(address);
        let stage = LiveStage::start(&setup, vec![(own, socket)], &here, &header);
        let mut stage = stage.expect("a game");
        play(&mut stage, "A spawn\nwait A has 41\nrest 1s\nwait A has 1");
        stage.finish().expect("all of it is written");
    });
    let (setup, socket) = host(address, seats(2), &mut |_| {}).expect("somebody joins");
    let own = vec![(Peer::HOST, socket)];
    let stage = LiveStage::start(&setup, own, folder.path(), &header);
    let mut stage = stage.expect("a game");
    play(
        &mut stage,
        "wait HOST has 41\nHOST spawn\nwait HOST has 1\nrest 2s",
    );
    other.join().expect("the other has played");
    stage.finish().expect("all of it is written");
    let reels = reels(folder.path(), &["HOST", "A"]);
    assert_eq!(errors(&reels), Vec::<String>::new());
    for reel in &reels {
        assert_eq!(replayed(reel), Outcome::Exact);
    }
}

/// Connects as soon as somebody listens.
fn connected(address: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn a_stranger_at_the_door_does_not_end_the_game() {
    let address = free();
    let guests = std::thread::spawn(move || {
        let mut stranger = connected(address);
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
        join_patiently(address).1
    });
    let mut told = Vec::new();
    host(address, seats(2), &mut |line| told.push(line)).expect("somebody joins");
    assert_eq!(guests.join().expect("a guest"), Peer(1));
    assert!(
        told.iter().any(|line| line.starts_with("not a player")),
        "{told:?}"
    );
}

#[test]
fn nobody_hosts_where_nobody_can_reach_them() {
    let anywhere = SocketAddr::from(([0, 0, 0, 0], 4242));
    let refused = host(anywhere, seats(2), &mut |_| {}).expect_err("refused");
    assert!(
        refused.to_string().contains("name the address"),
        "{refused}"
    );
}

#[test]
fn who_joins_where_nobody_waits_is_told() {
    let address = free();
    let refused = join(address, None).expect_err("nobody is there");
    assert!(
        refused.to_string().contains(&address.to_string()),
        "{refused}"
    );
}

#[test]
fn a_stranger_who_speaks_slowly_is_let_go() {
    let address = free();
    let (tell, told) = std::sync::mpsc::channel();
    let game = std::thread::spawn(move || {
        host(address, seats(2), &mut |line| {
            tell.send(line).unwrap_or_default()
        })
    });
    let mut stranger = connected(address);
    let slow = std::thread::spawn(move || {
        // A byte now and then would begin each wait anew.
        while stranger.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let mut lines = told.iter();
    assert!(lines.any(|line| line.starts_with("not a player")));
    slow.join().expect("the stranger was let go");
    assert!(join(address, None).is_ok());
    assert!(game.join().expect("a host").is_ok());
}

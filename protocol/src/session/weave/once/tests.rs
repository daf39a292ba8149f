//! What is matched beforehand comes to the packets that the matching of all ends together makes.

use std::cell::Cell;
use std::sync::Arc;

use netreel_reel::{
    ClockAnchor, Endpoint, Event, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
};

use crate::session::{ReelInput, Session};

thread_local! {
    /// Whether all packets are matched together, on this thread.
    pub(super) static IS_LEFT_OUT: Cell<bool> = const { Cell::new(false) };
}

/// How many packets are sent.
const COUNT: u64 = 4000;
/// From one to the next, in ns.
const PERIOD: u64 = 1000;

/// Numbers that look as if they were drawn.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// A packet as one of its nodes has it: when, whether it was sent, the other node, and its payload.
type Crossed = (u64, bool, u64, Vec<u8>);

/// Who sends to whom.
#[derive(Clone, Copy)]
struct Game {
    /// How many nodes there are, and of how many of them there are reels.
    nodes: u64,
    recorded: usize,
    /// Whether they send to themselves as well.
    to_itself: bool,
    /// How long the slowest packets take, in packets.
    slowest: u64,
}

fn at(node: u64) -> Endpoint {
    ([127, 0, 0, 1], 1 + node as u16).into()
}

/// The reels of a game. Some payloads are sent once, others again and again; packets are lost, overtaken and
/// doubled.
fn played(game: Game, draw: &mut Draw) -> Vec<ReelInput> {
    let mut events: Vec<Vec<Crossed>> = vec![Vec::new(); game.recorded];
    for nth in 0..COUNT {
        let (from, to) = (draw.below(game.nodes), draw.below(game.nodes));
        if from == to && !game.to_itself {
            continue;
        }
        let payload = match draw.below(8) {
            0 => vec![draw.below(5) as u8; 12],
            1 => vec![draw.below(200) as u8; 9],
            _ => nth.to_le_bytes().to_vec(),
        };
        let sent = 1 + nth * PERIOD;
        if let Some(own) = events.get_mut(from as usize) {
            own.push((sent, true, to, payload.clone()));
        }
        let copies = [1, 1, 1, 1, 1, 2, 0, 0][draw.below(8) as usize];
        for _ in 0..copies {
            let took = [300, 400, 5 * PERIOD, game.slowest * PERIOD][draw.below(4) as usize];
            if let Some(own) = events.get_mut(to as usize) {
                let received = sent + took + draw.below(99);
                own.push((received, false, from, payload.clone()));
            }
        }
    }
    (0..).zip(events).map(|(node, of)| reel(node, of)).collect()
}

fn reel(node: u64, mut events: Vec<Crossed>) -> ReelInput {
    let name = format!("n{node}");
    let clock = ClockAnchor {
        boot_id: "one machine".to_owned(),
        ..ClockAnchor::default()
    };
    let header = Header {
        node: name.clone(),
        session: [7; 16],
        clock,
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let mut push = |time: u64, event: Event<'_>| {
        let record = Record {
            number: writer.next_number(),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("an event");
    };
    let (socket, local) = (SocketId(0), at(node));
    push(0, Event::SocketOpened { socket, local });
    events.sort();
    for (time, is_sent, other, payload) in &events {
        let (other, payload) = (at(*other), payload.as_slice());
        let sent = Event::Sent {
            socket,
            to: other,
            payload,
        };
        let received = Event::Received {
            socket,
            from: other,
            payload,
        };
        push(*time, if *is_sent { sent } else { received });
    }
    push(COUNT * PERIOD * 10, Event::Note { text: b"it ends" });
    let bytes = writer.finish().expect("its bytes");
    ReelInput {
        name,
        reel: Arc::new(Reel::from_bytes(bytes).expect("it opens")),
    }
}

#[track_caller]
fn check(game: Game) {
    for seed in 1..5 {
        let told = |is_left_out: bool| {
            IS_LEFT_OUT.set(is_left_out);
            let session = Session::builder().build(played(game, &mut Draw(seed)));
            IS_LEFT_OUT.set(false);
            let session = session.expect("a session");
            let packets = session.packets().map(|packet| format!("{packet:?}"));
            packets.collect::<Vec<String>>()
        };
        assert_eq!(told(false), told(true), "seed {seed}");
    }
}

const GAME: Game = Game {
    nodes: 3,
    recorded: 3,
    to_itself: false,
    slowest: 40,
};

#[test]
fn packets_of_nodes_that_were_all_recorded() {
    check(GAME);
}

#[test]
fn packets_that_more_overtook_than_are_remembered() {
    let slowest = 2000;
    check(Game { slowest, ..GAME });
}

#[test]
fn packets_of_a_link_that_is_taken_in_parts() {
    let (nodes, recorded) = (2, 2);
    check(Game {
        nodes,
        recorded,
        ..GAME
    });
}

#[test]
fn packets_of_a_server_whose_players_were_not_recorded() {
    let (nodes, recorded) = (6, 1);
    check(Game {
        nodes,
        recorded,
        ..GAME
    });
}

#[test]
fn packets_of_nodes_of_which_some_were_recorded() {
    let (nodes, recorded) = (6, 2);
    check(Game {
        nodes,
        recorded,
        ..GAME
    });
}

#[test]
fn packets_that_a_node_sends_to_itself() {
    for recorded in 1..=3 {
        check(Game {
            recorded,
            to_itself: true,
            ..GAME
        });
    }
}

#[test]
fn a_walk_finds_its_way_again_where_many_sends_came_in_another_order() {
    // Each hundred comes after the hundred behind it, which is further ahead than anybody looks.
    let swapped = |nth: u64| ((nth / 100) ^ 1) * 100 + nth % 100;
    let sent = |nth: u64| (nth * PERIOD + 1, true, 1, nth.to_le_bytes().to_vec());
    let received = |nth: u64| {
        let payload = swapped(nth).to_le_bytes().to_vec();
        (nth * PERIOD + 200 * PERIOD, false, 0, payload)
    };
    let reels = || {
        let sends = reel(0, (0..COUNT).map(sent).collect());
        vec![sends, reel(1, (0..COUNT).map(received).collect())]
    };
    let session = Session::builder().build(reels()).expect("a session");
    assert!(session.packets().all(|packet| packet.received.is_some()));
    assert_eq!(session.packet_count() as u64, COUNT);
}

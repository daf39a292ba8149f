//! What ENet guarantees holds in whatever order packets come, and a fault that is planted beside it is found.

#[path = "../../../../replay/tests/worlds/story.rs"]
mod story;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use netreel_record::{Recorded, Shared};
use netreel_reel::{ClockAnchor, Header, Time};
use netreel_replay::explore::{
    Explored, Ground, GroundOptions, Limits, MakeNode, Told, Tries, Wrong, explore,
};
use netreel_transport::{InputError, Layer, MemoryRecorder, ObjectBelief, SimNet, Transport, mix};
use netreel_wire::Wire;
use rusty_enet::{EventNoRef, Host, Packet};
use rusty_enet_recorded::{EnetSocket, settings};

const WIRE: &str = include_str!("../../../wires/enet.wire");

/// A server and two clients.
const NODES: u8 = 3;

const TICK: Duration = Duration::from_millis(5);

/// What is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Short reliable messages are sent as ones that may overtake each other.
    Unordered,
    /// Short reliable messages are sent as ones that may be lost.
    Unreliable,
    /// Long messages are sent in fragments that nobody sends again.
    LostFragments,
}

/// A node that says numbered messages, and minds the numbers of those that it hears: of each client's
/// reliable ones, every one, once, in order and whole; of its unreliable ones, none behind a later one.
struct Chat<T: Transport> {
    host: Host<EnetSocket<T>>,
    own: u8,
    planted: Planted,
    /// By client, how many reliable messages were heard, or said.
    reliable: BTreeMap<u8, u16>,
    /// By client, the newest unreliable one.
    newest: BTreeMap<u8, u16>,
}

fn endpoint(node: u8) -> SocketAddr {
    ([10, 0, 0, node + 1], 7777).into()
}

/// The bytes of a message: its channel, who says it, its number, and bytes that follow from it.
fn message(channel: u8, from: u8, number: u16) -> Vec<u8> {
    let length = match (channel, number % 4) {
        (0, 3) => 4000,
        _ => 24,
    };
    let mut bytes = vec![channel, from];
    bytes.extend_from_slice(&number.to_le_bytes());
    let seed = u64::from(number) << 8 | u64::from(from);
    bytes.extend((0..length).map(|at: u64| mix(&[seed, at]) as u8));
    bytes
}

impl<T: Transport + 'static> Chat<T> {
    fn new(io: Shared<T>, own: u8, planted: Planted) -> Chat<T> {
        let settings = settings(&io);
        let mut host = Host::new(EnetSocket(io), settings).expect("a host");
        if own > 0 {
            host.connect(endpoint(0), 2, 0).expect("a peer");
        }
        Chat {
            host,
            own,
            planted,
            reliable: BTreeMap::new(),
            newest: BTreeMap::new(),
        }
    }
}

impl<T: Transport> Chat<T> {
    fn say(&mut self, message: &[u8]) {
        let is_short = message.len() < 1000;
        let packet = match (message[0], self.planted) {
            (1, _) => Packet::unreliable(message),
            (_, Planted::Unordered) if is_short => Packet::unreliable_unsequenced(message),
            (_, Planted::Unreliable) if is_short => Packet::unreliable(message),
            (_, Planted::LostFragments) if !is_short => Packet::always_unreliable(message),
            _ => Packet::reliable(message),
        };
        self.host.broadcast(message[0], &packet);
    }

    /// What is wrong with a message that was heard.
    fn hear(&mut self, heard: &[u8]) -> Option<String> {
        let [channel, from, low, high, ..] = *heard else {
            return Some("a message without a number".to_owned());
        };
        let number = u16::from_le_bytes([low, high]);
        if heard != message(channel, from, number) {
            return Some(format!("message {number} of {from} is not what was said"));
        }
        if channel == 1 {
            let newest = self.newest.insert(from, number);
            let newest = newest.filter(|it| *it >= number);
            return newest.map(|it| format!("{number} of {from} came behind {it}"));
        }
        let due = self.reliable.entry(from).or_default();
        let wrong = (*due != number).then(|| format!("{number} of {from} came, and {due} was due"));
        *due = number + 1;
        wrong
    }
}

impl<T: Transport> Layer for Chat<T> {
    fn tick(&mut self, io: &mut dyn Transport) {
        while let Ok(Some(event)) = self.host.service() {
            let EventNoRef::Receive { packet, .. } = event.no_ref() else {
                continue;
            };
            let heard = packet.data();
            // The server says all of it once more, to whoever said it as well.
            if self.own == 0 {
                self.say(heard);
            } else if heard.get(1) == Some(&self.own) {
                continue;
            }
            if let Some(wrong) = self.hear(heard) {
                io.note(&format!("broken: {wrong}"));
            }
        }
    }

    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        if call[0] == 0 {
            *self.reliable.entry(self.own).or_default() += 1;
        }
        self.say(call);
        Ok(())
    }

    fn beliefs(&self, say: &mut dyn FnMut(ObjectBelief)) -> bool {
        for (client, said) in &self.reliable {
            say(ObjectBelief {
                object: u64::from(*client),
                owner: None,
                values: u64::from(*said),
            });
        }
        true
    }
}

/// A match in which nothing goes wrong, in virtual time.
fn recorded() -> Vec<Vec<u8>> {
    let net = SimNet::new(7, Duration::from_millis(20));
    let mut nodes = Vec::new();
    for node in 0..NODES {
        let header = Header {
            node: node.to_string(),
            engine: "chat".to_owned(),
            start: vec![node],
            clock: ClockAnchor {
                boot_id: "world".to_owned(),
                ..ClockAnchor::default()
            },
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        let socket = net.join(endpoint(node));
        let io = Recorded::new(socket, recorder.pusher(), endpoint(node));
        let io = Shared::new(io);
        let chat = Chat::new(io.clone(), node, Planted::Nothing);
        nodes.push((recorder, io, chat));
    }
    for tick in 0..160_u16 {
        for (node, (_, io, chat)) in (0..).zip(&mut nodes) {
            io.tick(tick.into(), Time::ZERO + TICK * tick.into());
            chat.tick(io);
            let said = tick.checked_sub(40).filter(|it| node > 0 && *it < 48);
            let Some(said) = said.filter(|it| it % 3 == 0) else {
                continue;
            };
            let call = message((said / 3 % 2) as u8, node, said / 6);
            io.input(&call);
            chat.input(&call, io).expect("it says it");
        }
        net.advance(TICK);
    }
    let reels = nodes.into_iter().map(|(recorder, io, chat)| {
        drop((io, chat));
        recorder.finish()
    });
    reels.collect()
}

fn ground() -> Arc<Ground> {
    let session = story::session(&recorded());
    let options = GroundOptions {
        rest: Duration::from_secs(3),
        alone: None,
    };
    Arc::new(Ground::new(story::plan(&session), options))
}

fn maker(ground: &Arc<Ground>, planted: Planted) -> Box<MakeNode<'static, Infallible>> {
    let ground = Arc::clone(ground);
    Box::new(move |node, io| {
        let reel = ground.reel(node).expect("all are recorded");
        let own = reel.header().start[0];
        Ok(Box::new(Chat::new(io, own, planted)) as Box<dyn Layer>)
    })
}

/// What is wrong first of so many runs, with packets that are held, lost, come twice and overtake each other.
fn explored(ground: &Arc<Ground>, planted: Planted, runs_max: u64) -> (Explored, Option<Wrong>) {
    let limits = Limits {
        tries: Tries {
            hold_max_ns: 300_000_000,
            losses: 1,
            repeats: true,
            overtakes: true,
            ..Tries::default()
        },
        changes_max: 2,
        runs_max,
        jobs: 2,
        by_chance: None,
    };
    let wire = Wire::compile("enet.wire", WIRE).expect("a good wire");
    let mut found = None;
    let makers = || maker(ground, planted);
    let explored = explore(ground, &makers, Some(&wire), &limits, &mut |told| {
        if let Told::Wrong(wrong, heals) = told {
            // Who is not connected yet is not spoken to: ENet promises nothing of what is said then.
            let speaks_ns = i64::try_from((TICK * 40).as_nanos()).unwrap_or(i64::MAX);
            if wrong.changes.iter().any(|it| it.since.ns < speaks_ns) {
                *heals = true;
                return ControlFlow::Continue(());
            }
            found = Some(wrong.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    (explored.unwrap_or_else(|never| match never {}), found)
}

/// `NETREEL_ENET_RUNS` says how many runs are made, 300 if it says nothing.
#[test]
fn every_message_is_heard_once_in_order_and_whole_in_whatever_order_packets_come() {
    let asked = std::env::var("NETREEL_ENET_RUNS").ok();
    let runs = asked.map_or(300, |it| it.parse().expect("a number of runs"));
    let ground = ground();
    let (explored, wrong) = explored(&ground, Planted::Nothing, runs);
    println!("{:?}", explored.counts);
    assert_eq!(wrong, None);
    assert!(explored.counts.orders > runs / 4, "{explored:?}");
}

#[test]
fn what_is_planted_beside_enet_is_found() {
    let ground = ground();
    for (planted, words) in [
        (Planted::Unordered, "was due"),
        (Planted::Unreliable, "was due"),
        (Planted::LostFragments, "was due"),
    ] {
        let (explored, wrong) = explored(&ground, planted, 2000);
        let wrong = wrong.unwrap_or_else(|| panic!("{planted:?}: {explored:?}"));
        let broken = wrong.ran.broken.first().map(|it| it.words.as_str());
        let changes = wrong.changes.iter();
        let name = |node: usize| node.to_string();
        let changes: Vec<String> = changes.map(|it| it.words(&name).to_string()).collect();
        println!("{planted:?}: run {}, {changes:?}: {broken:?}", wrong.run);
        assert!(broken.is_some_and(|it| it.contains(words)), "{wrong:?}");
        assert!(wrong.run > 0 && !changes.is_empty());
    }
}

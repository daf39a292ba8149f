//! A small network of machines whose clocks drift, and what really happened in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::{NodeId, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
};

use crate::clock::Clock;

pub const SECOND: u64 = 1_000_000_000;

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `from` to before `until`.
    pub fn within(&mut self, from: u64, until: u64) -> u64 {
        from + self.next() % (until - from)
    }

    pub fn hits(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// How a world is made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub nodes: usize,
    pub seconds: u64,
    /// Of all links together.
    pub packets: u64,
    /// Whether all talk to all, or to the first alone.
    pub mesh: bool,
    pub loss: u64,
    pub duplicates: u64,
    /// How many times clocks are set.
    pub steps: usize,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub from: usize,
    pub to: usize,
    pub sent: u64,
    /// As often as it arrived.
    pub received: [Option<u64>; 2],
}

/// What really happened.
pub struct World {
    pub clocks: Vec<Clock>,
    pub packets: Vec<Sent>,
    /// For each node when its events were, by their numbers.
    pub events: Vec<Vec<u64>>,
    pub session: Session,
}

enum Happened {
    Sent(usize, u64),
    Received(usize, u64),
}

impl World {
    pub fn new(seed: u64, plan: &Plan) -> World {
        let mut random = Random(seed);
        let clocks: Vec<Clock> = (0..plan.nodes)
            .map(|_| Clock {
                at_zero: i128::from(random.within(100 * SECOND, 100_000 * SECOND)),
                drift: i128::from(random.within(0, 200_001)) - 100_000,
                steps: Vec::new(),
            })
            .collect();
        World::with_clocks(random, plan, clocks)
    }

    pub fn with_clocks(mut random: Random, plan: &Plan, mut clocks: Vec<Clock>) -> World {
        let length = plan.seconds * SECOND;
        for _ in 0..plan.steps {
            // Not the first clock, which is the session's.
            let node = random.within(1, plan.nodes as u64) as usize;
            let by = i128::from(random.within(SECOND / 2, 5 * SECOND));
            let by = if random.hits(50) { by } else { -by };
            // Steps of one clock leave time for packets between them.
            let steps = &mut clocks[node].steps;
            let from = length / 5 * (1 + steps.len() as u64);
            if from < length / 5 * 4 {
                let at = random.within(from + length / 20, from + length / 10);
                steps.push((at, by));
            }
        }
        let mut links = Vec::new();
        for from in 0..plan.nodes {
            for to in (0..plan.nodes).filter(|&to| to != from) {
                if plan.mesh || from == 0 || to == 0 {
                    let way = random.within(50_000, 60_000_000);
                    let jitter = random.within(1_000, 40_000_000);
                    links.push((from, to, way, jitter));
                }
            }
        }
        let mut packets = Vec::new();
        for number in 0..plan.packets {
            let (from, to, way, jitter) = links[(number % links.len() as u64) as usize];
            let sent = random.within(0, length);
            let mut received = [None; 2];
            let copies = 1 + usize::from(random.hits(plan.duplicates));
            for slot in received.iter_mut().take(copies) {
                // Some take much longer: they come out of order.
                let late = random.within(0, jitter) + random.within(0, jitter) / 4 * 3;
                let late = late + if random.hits(5) { 3 * jitter } else { 0 };
                let arrives = sent + way + late;
                *slot = (!random.hits(plan.loss)).then_some(arrives);
            }
            received.sort_by_key(|at| at.unwrap_or(u64::MAX));
            packets.push(Sent {
                from,
                to,
                sent,
                received,
            });
        }
        let mut happened: Vec<Vec<(u64, Happened)>> = Vec::new();
        happened.resize_with(plan.nodes, Vec::new);
        for (number, packet) in (0..).zip(&packets) {
            happened[packet.from].push((packet.sent, Happened::Sent(packet.to, number)));
            for at in packet.received.into_iter().flatten() {
                happened[packet.to].push((at, Happened::Received(packet.from, number)));
            }
        }
        let mut events = Vec::new();
        let mut reels = Vec::new();
        for (node, mut own) in happened.into_iter().enumerate() {
            own.sort_by_key(|(at, _)| *at);
            let first = own.first().map_or(0, |(at, _)| *at);
            let times = own.iter().map(|(at, _)| *at);
            events.push([first].into_iter().chain(times).collect());
            reels.push(reel(node, &clocks[node], &own));
        }
        let session = Session::builder().workers(2).build(reels);
        World {
            clocks,
            packets,
            events,
            session: session.expect("a session"),
        }
    }

    /// The true time of an event.
    pub fn happened(&self, node: usize, number: u64) -> u64 {
        self.events[node][number as usize]
    }

    /// For each node its place in the session.
    pub fn nodes(&self) -> BTreeMap<NodeId, usize> {
        let nodes = (0..).map(NodeId).zip(&self.session.nodes);
        let nodes = nodes.map(|(id, node)| (id, node.name[1..].parse().expect("its number")));
        nodes.collect()
    }

    /// What the session's clock shows at a true time, if it begins at `zero`.
    pub fn session_time(&self, zero: i128, at: u64) -> i128 {
        self.clocks[0].even(at) - zero
    }

    /// The session's zero on the first clock.
    pub fn zero(&self) -> i128 {
        let nodes = self.nodes();
        let found = self.session.packets().find_map(|packet| {
            let stamp = packet.sent.filter(|_| nodes[&packet.from] == 0)?;
            let at = self.happened(0, stamp.number.0);
            Some(i128::from(self.clocks[0].shows(at)) - i128::from(stamp.time.0))
        });
        found.expect("the first node sent")
    }
}

fn at(node: usize) -> Endpoint {
    ([10, 0, 0, 1 + node as u8], 7000).into()
}

fn reel(node: usize, clock: &Clock, events: &[(u64, Happened)]) -> ReelInput {
    let header = Header {
        node: format!("n{node:02}"),
        session: [3; 16],
        clock: ClockAnchor {
            boot_id: format!("machine {node}"),
            ..ClockAnchor::default()
        },
        ..Header::default()
    };
    let socket = SocketId(0);
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
    let first = events.first().map_or(0, |(at, _)| *at);
    let local = at(node);
    push(clock.shows(first), Event::SocketOpened { socket, local });
    for (when, happened) in events {
        let time = clock.shows(*when);
        match happened {
            Happened::Sent(to, number) => {
                let (to, payload) = (at(*to), &number.to_le_bytes());
                let event = Event::Sent {
                    socket,
                    to,
                    payload,
                };
                push(time, event);
            }
            Happened::Received(from, number) => {
                let (from, payload) = (at(*from), &number.to_le_bytes());
                let event = Event::Received {
                    socket,
                    from,
                    payload,
                };
                push(time, event);
            }
        }
    }
    let bytes = writer.finish().expect("its bytes");
    ReelInput {
        name: format!("n{node:02}.reel"),
        reel: Arc::new(Reel::from_bytes(bytes).expect("it opens")),
    }
}

//! Worlds of one clock and whole reels, in which packets are lost, come twice, overtake each other and
//! look alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::{Fate, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
};

use crate::draws::Draws;
use crate::network::MS;
use crate::seeds;
use crate::traffic::{Kind, Link, Sent, carry, distinct};

/// A world that was played.
struct World {
    nodes: usize,
    sends: Vec<Sent>,
    end: u64,
}

impl World {
    fn play(seed: u64) -> World {
        let mut draws = Draws(seed);
        let nodes = 2 + draws.below(5) as usize;
        let mut sends = Vec::new();
        for from in 0..nodes {
            for to in 0..nodes {
                if from == to || (from > 0 && to > 0 && draws.per_mille(500)) {
                    continue;
                }
                let latency_ns = [200_000, 5 * MS, 40 * MS, 150 * MS][draws.below(4) as usize];
                let overtakes = draws.per_mille(300);
                let link = Link {
                    from,
                    to,
                    latency_ns,
                    jitter_ns: latency_ns / [100, 20, 5][draws.below(3) as usize],
                    overtakes,
                    loss: [0, 10, 50, 200][draws.below(4) as usize],
                    twice: [0, 0, 20][draws.below(3) as usize],
                };
                let mut on_link = traffic(&mut draws, link);
                carry(&mut draws, link, &mut on_link);
                sends.append(&mut on_link);
            }
        }
        distinct(&mut sends);
        let last = sends
            .iter()
            .flat_map(|each| each.arrived.iter().chain([&each.at]));
        let end = last.max().copied().unwrap_or(0) + 2000 * MS;
        World { nodes, sends, end }
    }

    fn reels(&self) -> Vec<ReelInput> {
        (0..self.nodes).map(|node| self.reel(node)).collect()
    }

    fn reel(&self, node: usize) -> ReelInput {
        let header = Header {
            node: format!("n{node}"),
            session: [3; 16],
            clock: ClockAnchor {
                boot_id: "one machine".to_owned(),
                ..ClockAnchor::default()
            },
            ..Header::default()
        };
        let socket = SocketId(0);
        let mut events: Vec<(u64, bool, &Sent)> = Vec::new();
        for sent in &self.sends {
            if sent.from == node {
                events.push((sent.at, true, sent));
            }
            if sent.to == node {
                events.extend(sent.arrived.iter().map(|&at| (at, false, sent)));
            }
        }
        events.sort_by_key(|&(at, ..)| at);
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
        let local = at(node);
        push(0, Event::SocketOpened { socket, local });
        for (time, out, sent) in events {
            let payload = sent.payload.as_slice();
            push(
                time,
                match out {
                    true => Event::Sent {
                        socket,
                        to: at(sent.to),
                        payload,
                    },
                    false => Event::Received {
                        socket,
                        from: at(sent.from),
                        payload,
                    },
                },
            );
        }
        push(self.end, Event::Note { text: b"it ends" });
        let bytes = writer.finish().expect("its bytes");
        ReelInput {
            name: format!("n{node}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes).expect("it opens")),
        }
    }
}

fn at(node: usize) -> Endpoint {
    ([127, 0, 0, 1], 4000 + node as u16).into()
}

/// What one node has to say to another: rows of packets of several kinds.
fn traffic(draws: &mut Draws, link: Link) -> Vec<Sent> {
    let mut sends = Vec::new();
    let kinds = match draws.below(6) {
        0 => vec![Kind::Keepalive],
        1 => vec![Kind::Byte],
        2 => vec![Kind::Numbered, Kind::Keepalive],
        3 => vec![Kind::Resent],
        _ => vec![Kind::Numbered, Kind::Resent],
    };
    for kind in kinds {
        let period_ns = match kind {
            Kind::Keepalive => [10 * MS, 100 * MS, 1000 * MS][draws.below(3) as usize],
            Kind::Byte | Kind::Numbered => [2 * MS, 16 * MS][draws.below(2) as usize],
            Kind::Resent => 30 * MS,
        };
        let mut now = draws.below(1000 * MS) + 1;
        for n in 0..300u64 {
            now += period_ns + draws.below(period_ns / 10 + 1);
            let number = match kind {
                Kind::Keepalive => 0,
                Kind::Byte => n % 256,
                Kind::Numbered | Kind::Resent => n,
            };
            let payload = [&[kind as u8], number.to_le_bytes().as_slice()].concat();
            let sent = Sent {
                from: link.from,
                to: link.to,
                at: now,
                payload,
                kind,
                arrived: Vec::new(),
            };
            if kind == Kind::Resent {
                // The timer of a sender that waits for an ack.
                let wait_ns = link.latency_ns * 2 + 20 * MS + draws.below(30 * MS);
                sends.push(sent.clone());
                let mut again = sent;
                while draws.per_mille(link.loss + 30) {
                    again.at += wait_ns;
                    sends.push(again.clone());
                }
            } else {
                sends.push(sent);
            }
        }
    }
    sends.sort_by_key(|sent| sent.at);
    sends
}

/// How many packets of a kind were put together rightly.
#[derive(Default, Debug)]
struct Score {
    packets: u64,
    wrong: u64,
    /// Wrong, and not marked as doubtful.
    silent: u64,
    doubtful: u64,
}

fn judge(seed: u64, scores: &mut BTreeMap<Kind, Score>) {
    let world = World::play(seed);
    let session = Session::builder()
        .build(world.reels())
        .unwrap_or_else(|error| panic!("{error}"));
    let truth: BTreeMap<(usize, u64), &Sent> = world
        .sends
        .iter()
        .map(|sent| ((sent.from, sent.at), sent))
        .collect();
    let start = session.packets().filter_map(|packet| packet.sent).next();
    assert!(start.is_some(), "seed {seed}: packets");
    for packet in session.packets() {
        let from: usize = session.name(packet.from)[1..].parse().expect("a number");
        let Some(sent) = packet.sent else {
            panic!("seed {seed}: a packet without a send: {packet:?}");
        };
        let sent = truth[&(from, sent.time.0 as u64)];
        let again = packet.duplicates.iter();
        let mut found: Vec<u64> = packet
            .received
            .iter()
            .chain(again)
            .map(|stamp| stamp.time.0 as u64)
            .collect();
        found.sort_unstable();
        let score = scores.entry(sent.kind).or_default();
        score.packets += 1;
        score.doubtful += u64::from(packet.doubtful);
        let right = found == sent.arrived && (packet.fate == Fate::Lost) == sent.arrived.is_empty();
        if !right {
            score.wrong += 1;
            score.silent += u64::from(!packet.doubtful);
        }
    }
}

#[test]
fn receipts_are_put_to_their_sends_or_marked_as_doubtful() {
    let mut scores = BTreeMap::new();
    let seeds = seeds(40);
    (0..seeds).for_each(|seed| judge(seed, &mut scores));
    for (kind, score) in &scores {
        println!("{kind:?}: {score:?}");
        assert_eq!(score.silent, 0, "{kind:?} of {seeds} worlds: {score:?}");
        let most_wrong = match kind {
            Kind::Keepalive => score.packets / 20,
            _ => score.packets / 10_000,
        };
        assert!(
            score.wrong <= most_wrong,
            "{kind:?} of {seeds} worlds: {score:?}"
        );
        if *kind == Kind::Numbered {
            assert_eq!((score.wrong, score.doubtful), (0, 0));
        }
    }
}

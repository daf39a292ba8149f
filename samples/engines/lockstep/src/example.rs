//! The example: three players over loopback UDP, 60 ticks a second, with a delay on the way and one packet in
//! twenty lost. `cargo run -p lockstep -- --out DIR [--go-on] [--slow MS] [--wrong TICK] [--fast ONE_IN]`

use std::path::Path;
use std::time::{Duration, Instant};

use netreel_record::{Options, Recorded, Recorder, Shared, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, Layer, LinkEnd, LinkFaults, Transport, UdpTransport};

use crate::{Lacking, Node, Start};

type Failure = Box<dyn std::error::Error>;

/// A tick, in ns.
pub const TICK_NS: u64 = 16_666_667;

/// What is played, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many ticks.
    pub ticks: u32,
    /// What nodes do where an input lacks.
    pub lacking: Lacking,
    /// How long the packets of c take; those of the others take 30 to 50 ms.
    pub slow: Option<Duration>,
    /// From this tick on the draws of b are wrong.
    pub wrong_from: Option<u32>,
    /// The ticks of c are shorter by one in this many.
    pub fast: Option<u64>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            ticks: 240,
            lacking: Lacking::Wait,
            slow: None,
            wrong_from: None,
            fast: None,
        }
    }
}

/// What a player holds in a turn of the loop: something else every eight.
fn held(player: usize, turn: u64) -> u8 {
    let since = (turn / 8) as u8;
    (since.wrapping_mul(37) ^ since.wrapping_add(5 * player as u8)) & 0x0f
}

/// Plays and records a session: `out/a.reel`, `out/b.reel`, `out/c.reel`. Says of each how many inputs it had
/// not been given when it went on.
pub fn record(out: &Path, plan: &Plan) -> Result<Vec<u64>, Failure> {
    let names = ["a", "b", "c"];
    let sockets = names.map(|_| UdpTransport::bind(([127, 0, 0, 1], 0).into()));
    let sockets: Vec<UdpTransport> = sockets.into_iter().collect::<Result<_, _>>()?;
    let ends: Vec<_> = (0..)
        .zip(&sockets)
        .map(|(end, socket)| (socket.local(), LinkEnd(end)))
        .collect();
    let mut nodes = Vec::new();
    for (player, (name, socket)) in names.into_iter().zip(sockets).enumerate() {
        let is_last = player == names.len() - 1;
        let start = Start {
            player: player as u8,
            lacking: plan.lacking,
            tick_ns: match plan.fast.filter(|_| is_last) {
                Some(one_in) => TICK_NS - TICK_NS / (one_in + 1),
                None => TICK_NS,
            },
            wrong_from: plan.wrong_from.filter(|_| player == 1).unwrap_or(0),
            players: ends.iter().map(|&(local, _)| local).collect(),
        };
        let header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "lockstep example".to_owned(),
            start: start.to_bytes(),
            wires: vec![WireText {
                name: "lockstep.wire".to_owned(),
                text: include_str!("../../../wires/lockstep.wire").to_owned(),
            }],
            ..Header::default()
        };
        let path = out.join(format!("{name}.reel"));
        let recorder = Recorder::create(path, &header, Options::default())?;
        let (local, end) = ends[player];
        let mut io = Faults::new(socket, 7, end, ends.iter().copied());
        let link = LinkFaults {
            delay: plan
                .slow
                .filter(|_| is_last)
                .unwrap_or(Duration::from_millis(30)),
            jitter: Duration::from_millis(20),
            loss: 0.05,
            ..LinkFaults::default()
        };
        ends.iter()
            .for_each(|(_, other)| io.set_egress(*other, link));
        let io = Shared::new(Recorded::new(io, recorder.pusher()?, local));
        let node = Node::new(io.clone(), start);
        nodes.push((recorder, io, node));
    }
    let begin = Instant::now();
    let turn_ns = 4_000_000;
    for turn in 0..u64::from(plan.ticks) * 40 {
        for (player, (_, io, node)) in nodes.iter_mut().enumerate() {
            if turn % 8 == 0 {
                let call = [held(player, turn)];
                io.input(&call);
                node.input(&call, io)?;
            }
            io.tick(turn, Time(turn * turn_ns));
            node.tick(io);
        }
        if nodes.iter().all(|(_, _, node)| node.tick >= plan.ticks) {
            break;
        }
        let next = Duration::from_nanos((turn + 1) * turn_ns);
        std::thread::sleep(next.saturating_sub(begin.elapsed()));
    }
    // What nobody has read by then is known to be lost.
    std::thread::sleep(Duration::from_millis(300));
    let mut missed = Vec::new();
    for (recorder, io, node) in nodes {
        missed.push(node.missed);
        drop((node, io));
        recorder.finish()?;
    }
    Ok(missed)
}

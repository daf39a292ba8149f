//! The example: a server and two clients over loopback UDP, with one packet in twelve lost on
//! purpose, so that renet has something to send again. `cargo run -p renet-core -- --out DIR`

use std::path::Path;
use std::time::Duration;

use netreel_record::{Options, Recorded, Recorder, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, InputError, Layer, LinkEnd, LinkFaults, Transport, UdpTransport};
use renet::{ConnectionConfig, RenetClient, RenetServer};

use crate::{ClientPump, ServerPump};

type Failure = Box<dyn std::error::Error>;

const ORDERED: u8 = 2; // renet comes with this channel, and with 0, which is unreliable

/// A node of the example: a server that passes every message on, or a client.
pub struct Game {
    side: Side,
    /// The bytes of the messages on the ordered channel that arrived.
    pub heard: usize,
}

enum Side {
    Server(RenetServer, ServerPump),
    Client(Box<RenetClient>, ClientPump),
}

impl Game {
    /// The start conditions that stand in the reel: how many bytes renet may send a tick, and whom
    /// to connect to (nobody: a server).
    pub fn new(start: &[u8]) -> Result<Game, Failure> {
        let (bytes, server) = start
            .split_at_checked(8)
            .ok_or("too few start conditions")?;
        let config = ConnectionConfig {
            available_bytes_per_tick: u64::from_le_bytes(bytes.try_into()?),
            ..ConnectionConfig::default()
        };
        let side = if server.is_empty() {
            Side::Server(RenetServer::new(config), ServerPump::default())
        } else {
            let mut client = Box::new(RenetClient::new(config));
            client.set_connected();
            Side::Client(
                client,
                ClientPump::new(std::str::from_utf8(server)?.parse()?),
            )
        };
        Ok(Game { side, heard: 0 })
    }
}

impl Layer for Game {
    fn tick(&mut self, io: &mut dyn Transport) {
        match &mut self.side {
            Side::Server(server, pump) => {
                pump.receive(server, io);
                for client in pump.clients() {
                    while let Some(message) = server.receive_message(client, ORDERED) {
                        self.heard += message.len();
                        server.broadcast_message(ORDERED, message);
                    }
                }
                pump.send(server, io);
            }
            Side::Client(client, pump) => {
                pump.receive(client, io);
                while let Some(message) = client.receive_message(ORDERED) {
                    self.heard += message.len();
                }
                pump.send(client, io);
            }
        }
    }

    /// A call of the game: what to say. renet cuts the longest into slices.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        if let Side::Client(client, _) = &mut self.side {
            let channel = if call.len() < 16 { 0 } else { ORDERED };
            client.send_message(channel, call.to_vec());
        }
        Ok(())
    }
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`.
pub fn record(out: &Path) -> Result<(), Failure> {
    let [server, a, b] = [(); 3].map(|()| UdpTransport::bind(([127, 0, 0, 1], 0).into()));
    let sockets = [("server", server?), ("a", a?), ("b", b?)];
    let ends = [0, 1, 2].map(|end| (sockets[usize::from(end)].1.local(), LinkEnd(end)));
    let server = ends[0].0.to_string();
    let lossy = LinkFaults {
        loss: 1.0 / 12.0,
        ..LinkFaults::default()
    };
    let wire = WireText {
        name: "renet.wire".to_owned(),
        text: include_str!("../../../wires/renet.wire").to_owned(),
    };
    let mut nodes = Vec::new();
    for ((name, socket), (local, end)) in sockets.into_iter().zip(ends) {
        let mut header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "renet example".to_owned(),
            start: 60_000_u64.to_le_bytes().to_vec(),
            wires: vec![wire.clone()],
            ..Header::default()
        };
        if name != "server" {
            header.start.extend_from_slice(server.as_bytes());
        }
        let path = out.join(format!("{name}.reel"));
        let recorder = Recorder::create(path, &header, Options::default())?;
        let mut io = Faults::new(socket, 7, end, ends);
        ends.iter()
            .for_each(|(_, other)| io.set_egress(*other, lossy));
        let io = Recorded::new(io, recorder.pusher()?, local);
        let game = Game::new(&header.start)?;
        nodes.push((recorder, io, game));
    }
    // Each client says 20 short things reliably and one that takes five packets.
    let all = 2 * (20 * 16 + 5000);
    for tick in 0..10_000 {
        for (place, (_, io, game)) in nodes.iter_mut().enumerate() {
            io.tick(tick, Time(tick * 2_000_000));
            game.tick(io);
            if place > 0 && (10..50).contains(&tick) {
                let length = 15 + tick as usize % 2 + 4985 * usize::from(tick == 30);
                let call = vec![b'a' + tick as u8 % 26; length];
                io.input(&call);
                game.input(&call, io)?;
            }
        }
        if nodes.iter().all(|(_, _, game)| game.heard >= all) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // What nobody has read by then is known to be lost.
    std::thread::sleep(Duration::from_millis(300));
    for (recorder, io, _) in nodes {
        drop(io);
        recorder.finish()?;
    }
    Ok(())
}

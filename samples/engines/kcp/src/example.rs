//! The example: a server and two clients over loopback UDP, with one packet in twelve lost on
//! purpose, so that KCP has something to send again. `cargo run -p kcp-links -- --out DIR`

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use netreel_record::{Options, Recorded, Recorder, Shared, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, InputError, Layer, LinkEnd, LinkFaults, Transport, UdpTransport};

use crate::host::KcpHost;

type Failure = Box<dyn std::error::Error>;

/// A node of the example: a server that sends every message back, or a client.
pub struct Game<T: Transport> {
    host: KcpHost<T>,
    /// Of a client.
    server: Option<SocketAddr>,
    /// The bytes of the messages that arrived.
    pub heard: usize,
}

impl<T: Transport> Game<T> {
    /// The start conditions that stand in the reel: the longest packet, and whom to connect to
    /// (nobody: a server).
    pub fn new(mut io: Shared<T>, start: &[u8]) -> Result<Game<T>, Failure> {
        let (mtu, server) = start
            .split_at_checked(2)
            .ok_or("too few start conditions")?;
        let mtu = usize::from(u16::from_le_bytes(mtu.try_into()?));
        let conversation = io.random() as u32;
        let mut host = KcpHost::new(io, mtu);
        let server = match std::str::from_utf8(server)? {
            "" => None,
            address => Some(address.parse()?),
        };
        match server {
            Some(server) => host.connect(server, conversation)?,
            None => host.listen(),
        }
        Ok(Game {
            host,
            server,
            heard: 0,
        })
    }
}

impl<T: Transport> Layer for Game<T> {
    // The host has a transport of its own: what is handed over here is the same one.
    fn tick(&mut self, io: &mut dyn Transport) {
        if let Err(why) = self.host.service() {
            io.note(&why.to_string());
        }
        while let Some((from, message)) = self.host.receive() {
            self.heard += message.len();
            if self.server.is_none()
                && let Err(why) = self.host.send(from, &message)
            {
                io.note(&why.to_string());
            }
        }
    }

    /// A call of the game: what to say. KCP cuts the longest into fragments.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        let refused = |why: kcp::Error| InputError {
            length: call.len(),
            why: why.to_string(),
        };
        match self.server {
            Some(server) => self.host.send(server, call).map_err(refused),
            None => Ok(()),
        }
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
        name: "kcp.wire".to_owned(),
        text: include_str!("../../../wires/kcp.wire").to_owned(),
    };
    let mut nodes = Vec::new();
    for ((name, socket), (local, end)) in sockets.into_iter().zip(ends) {
        let mut header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "KCP example".to_owned(),
            start: 1200_u16.to_le_bytes().to_vec(),
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
        let io = Shared::new(Recorded::new(io, recorder.pusher()?, local));
        let game = Game::new(io.clone(), &header.start)?;
        nodes.push((recorder, io, game));
    }
    // Each client says 39 short things and one that takes five packets.
    let all = 19 * 15 + 20 * 16 + 5000;
    let mut tick = 0;
    while nodes[1..].iter().any(|(_, _, game)| game.heard < all) {
        if tick == 10_000 {
            return Err("not all was heard".into());
        }
        for (place, (_, io, game)) in nodes.iter_mut().enumerate() {
            io.tick(tick, Time(tick * 2_000_000));
            game.tick(io);
            if place > 0 && (50..90).contains(&tick) {
                let length = if tick == 70 {
                    5000
                } else {
                    15 + tick as usize % 2
                };
                let call = vec![b'a' + tick as u8 % 26; length];
                io.input(&call);
                game.input(&call, io)?;
            }
        }
        tick += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    // What nobody has read by then is known to be lost.
    std::thread::sleep(Duration::from_millis(300));
    for (recorder, io, game) in nodes {
        drop((game, io));
        recorder.finish()?;
    }
    Ok(())
}

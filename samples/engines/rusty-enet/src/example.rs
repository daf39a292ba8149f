//! The example: a server and two clients over loopback UDP, with one packet in twelve lost on
//! purpose, so that ENet has something to send again. `cargo run -p rusty-enet -- --out DIR`

use std::path::Path;
use std::time::Duration;

use netreel_record::{Options, Recorded, Recorder, Shared, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, InputError, Layer, LinkEnd, LinkFaults, Transport, UdpTransport};
use rusty_enet::{EventNoRef, Host, Packet};

use crate::{EnetSocket, settings};

type Failure = Box<dyn std::error::Error>;

/// A node of the example: a server that passes every reliable message on, or a client.
pub struct Game<T: Transport> {
    host: Host<EnetSocket<T>>,
    is_server: bool,
    /// The bytes of the reliable messages that arrived.
    pub heard: usize,
}

impl<T: Transport + 'static> Game<T> {
    /// The start conditions that stand in the reel: the largest packet, and whom to connect to
    /// (nobody: a server).
    pub fn new(io: Shared<T>, start: &[u8]) -> Result<Game<T>, Failure> {
        let (mtu, server) = start
            .split_at_checked(2)
            .ok_or("too few start conditions")?;
        let (is_server, mtu) = (server.is_empty(), u16::from_le_bytes(mtu.try_into()?));
        let settings = settings(&io);
        let mut host = Host::new(EnetSocket(io), settings).map_err(|why| why.to_string())?;
        host.set_mtu(mtu)?;
        if !is_server {
            host.connect(std::str::from_utf8(server)?.parse()?, 2, 0)?;
        }
        let heard = 0;
        Ok(Game {
            host,
            is_server,
            heard,
        })
    }
}

impl<T: Transport> Layer for Game<T> {
    // ENet has a transport of its own: what is handed over here is the same one.
    fn tick(&mut self, _: &mut dyn Transport) {
        while let Ok(Some(event)) = self.host.service() {
            if let EventNoRef::Receive {
                channel_id: 0,
                packet,
                ..
            } = event.no_ref()
            {
                self.heard += packet.data().len();
                if self.is_server {
                    self.host.broadcast(0, &Packet::reliable(packet.data()));
                }
            }
        }
    }

    /// A call of the game: what to send. ENet cuts the longest into fragments.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        match call.len() {
            0..16 => self.host.broadcast(1, &Packet::unreliable(call)),
            _ => self.host.broadcast(0, &Packet::reliable(call)),
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
        name: "enet.wire".to_owned(),
        text: include_str!("../../../wires/enet.wire").to_owned(),
    };
    let mut nodes = Vec::new();
    for ((name, socket), (local, end)) in sockets.into_iter().zip(ends) {
        let mut header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "rusty_enet example".to_owned(),
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
    // Each client says 20 short things reliably and one that takes five packets.
    let all = 2 * (20 * 16 + 5000);
    for tick in 0..10_000 {
        for (place, (_, io, game)) in nodes.iter_mut().enumerate() {
            io.tick(tick, Time(tick * 2_000_000));
            game.tick(io);
            if place > 0 && (50..90).contains(&tick) {
                let length = 15 + tick as usize % 2 + 4985 * usize::from(tick == 70);
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
    for (recorder, io, game) in nodes {
        drop((game, io));
        recorder.finish()?;
    }
    Ok(())
}

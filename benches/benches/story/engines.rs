//! A server and its clients, who send each other what engines sent in captures.
//!
//! Every client plays the capture's connections one after the other, again and again, each time from
//! a new port, so that each is a connection of its own. The payloads are the capture's; only the
//! datagram numbers of RakNet, and the acks that name them, start elsewhere in each play. Quake 3
//! scrambles its payloads with the sequence number, so its packets are the same in each play; so are
//! Minetest's.
//!
//! The packets of a connection are sent in the order of the capture, with its pauses between them.
//! The capture was made where packets take no time, and here they do: so a pause is made longer
//! where a packet would be sent before one arrives that its sender had received by then.
//!
//! A packet that is lost on its way is in the reel of its sender alone. What the engines said later
//! is what they said in the capture, where it was not lost; so nothing is lost at the start of a
//! play, where all that comes later is agreed on. The same packets of a connection are lost in each
//! play: netreel tells packets between two nodes apart by their bytes, and takes a receipt for that
//! of the oldest equal packet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use netreel_capture::pcap::UdpPayloads;
use netreel_reel::{Event, SocketId, Time};
use netreel_transport::Draw;

use crate::Made;
use crate::capture::Frames;
use crate::reels::{self, NodeReel};

/// An engine, and where its packets come from.
pub struct Engine {
    /// Its name, and that of its wire in `samples/wires`.
    pub name: &'static str,
    /// A capture beside the repository, and the small one in it.
    pub captures: [&'static str; 2],
    /// The server's port there.
    pub port: u16,
    /// Changes the packets of one play.
    pub renumber: fn(&mut [u8], play: u64),
    /// What tshark is asked for.
    pub fields: [&'static str; 4],
    /// What people call it.
    pub title: &'static str,
    /// How many times as fast as tshark `check` of its reels has to be.
    pub times: f64,
}

pub const ENGINES: [Engine; 3] = [
    Engine {
        name: "raknet",
        captures: [
            "raknet_c.pcap",
            "protocol/wire/tests/recordings/raknet.pcap",
        ],
        port: 19132,
        renumber: renumber_raknet,
        fields: [
            "raknet.packet_number",
            "raknet.range.packet_number.min",
            "raknet.message.reliability",
            "raknet.reliable.number",
        ],
        title: "RakNet",
        times: 25.0,
    },
    Engine {
        name: "quake3",
        captures: [
            "openarena_q3.pcap",
            "protocol/wire/tests/recordings/quake3.pcap",
        ],
        port: 27960,
        renumber: |_, _| (),
        fields: [
            "quake3.game.seq1",
            "quake3.game.rel1",
            "quake3.game.seq2",
            "quake3.game.qport",
        ],
        title: "Quake 3",
        times: 8.0,
    },
    Engine {
        name: "minetest",
        captures: [
            "minetest.pcap",
            "protocol/wire/tests/recordings/minetest.pcap",
        ],
        port: 30000,
        renumber: |_, _| (),
        // Wireshark 4.0 does not know the protocol.
        fields: ["udp.srcport", "udp.dstport", "udp.length", "data.data"],
        title: "Minetest",
        times: 25.0,
    },
];

const LOSS: f64 = 0.01;
/// How many packets of a play are not lost, or a quarter of a short one.
const SAFE: usize = 100;
const LATENCY_NS: u64 = 20_000_000;
/// What a packet takes longer by chance; it keeps its place behind those before it.
const JITTER_NS: u64 = 5_000_000;
/// Between two plays, so that nothing of the first is under way any more.
const PAUSE_NS: u64 = 200_000_000;
/// Between the first packets of two clients.
const STAGGER_NS: u64 = 37_000_000;
const SERVER: SocketId = SocketId(0);
/// Ports of a client: 20000 up to 49999, over and over.
const FIRST_PORT: u16 = 20_000;
const PORTS: u64 = 30_000;

/// What a client and the server say in a connection.
struct Connection {
    packets: Vec<Packet>,
    length_ns: u64,
}

struct Packet {
    /// Since the first one.
    after_ns: u64,
    to_server: bool,
    is_lost: bool,
    payload: Vec<u8>,
}

struct Client {
    reel: NodeReel,
    address: [u8; 4],
    play: u64,
    /// The next packet.
    at: usize,
    /// When the play began; later by what its pauses became longer.
    begin_ns: u64,
    /// When the latest packet to the client, and to the server, arrives.
    arrives_ns: [u64; 2],
}

/// A packet that is under way, in order of arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    arrives_ns: u64,
    number: u64,
    client: usize,
    play: u64,
    at: usize,
}

impl Engine {
    /// The wire's text, and its file.
    pub fn wire(&self) -> (String, PathBuf) {
        let path = repository().join(format!("samples/wires/{}.wire", self.name));
        let text = std::fs::read_to_string(&path).expect("a wire of the repository");
        (text, path)
    }

    /// The first of its captures that is there.
    pub fn capture(&self) -> PathBuf {
        let repository = repository();
        let beside = std::env::var_os("NETREEL_CAPTURES")
            .map_or_else(|| repository.join("../shared/captures"), PathBuf::from);
        let [large, small] = self.captures;
        let large = beside.join(large);
        if large.is_file() {
            large
        } else {
            repository.join(small)
        }
    }

    /// The connections of the capture, in order of the clients' ports.
    fn connections(&self) -> Vec<Connection> {
        let file = File::open(self.capture()).expect("the capture");
        let mut found: BTreeMap<SocketAddr, Vec<(u64, Packet)>> = BTreeMap::new();
        for packet in UdpPayloads::new(file).expect("a capture") {
            let ends = (packet.source.port(), packet.destination.port());
            let (client, to_server) = match (ends.0 == self.port, ends.1 == self.port) {
                (true, false) => (packet.destination, false),
                (false, true) => (packet.source, true),
                _ => continue,
            };
            let part = Packet {
                after_ns: 0,
                to_server,
                is_lost: false,
                payload: packet.payload,
            };
            found.entry(client).or_default().push((packet.time, part));
        }
        let mut draw = Draw::named(1, self.name);
        let connections = found.into_values().map(|packets| {
            let first = packets.first().map_or(0, |(time, _)| *time);
            let last = packets.last().map_or(0, |(time, _)| *time);
            let safe = SAFE.min(packets.len() / 4);
            let placed = packets.into_iter().enumerate();
            let placed = placed.map(|(at, (time, packet))| Packet {
                after_ns: time.saturating_sub(first),
                is_lost: draw.chance(LOSS) && at >= safe,
                ..packet
            });
            Connection {
                packets: placed.collect(),
                length_ns: last.saturating_sub(first),
            }
        });
        connections.collect()
    }

    /// Plays until `packets` are sent; writes a reel a node, and all packets as they are sent into
    /// one capture. Without a capture the server's reel is all that is written.
    pub fn make(&self, nodes: u8, packets: u64, folder: &Path, capture: Option<&Path>) -> Made {
        let connections = self.connections();
        assert!(!connections.is_empty(), "the capture has connections");
        let mut play = Play::new(self, &connections, nodes, folder, capture);
        while play.sent < packets {
            play.step();
        }
        play.finish()
    }
}

/// A session as it is made.
struct Play<'a> {
    engine: &'a Engine,
    connections: &'a [Connection],
    server: NodeReel,
    server_end: SocketAddr,
    clients: Vec<Client>,
    /// When each client's next packet is due.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    flying: BinaryHeap<Reverse<Flying>>,
    frames: Option<Frames>,
    draw: Draw,
    sent: u64,
    payload: Vec<u8>,
}

impl<'a> Play<'a> {
    fn new(
        engine: &'a Engine,
        connections: &'a [Connection],
        nodes: u8,
        folder: &Path,
        capture: Option<&Path>,
    ) -> Play<'a> {
        let (wire, _) = engine.wire();
        let reel = |name: &str| {
            let header = reels::header(name, engine.name, engine.name, &wire);
            NodeReel::create(folder, &header)
        };
        let mut server = reel("SERVER");
        let server_end = SocketAddr::from(([10, 0, 0, 1], engine.port));
        let opened = Event::SocketOpened {
            socket: SERVER,
            local: server_end,
        };
        server.push(Time(0), opened);
        let clients = (1..nodes).map(|number| Client {
            reel: match capture {
                Some(_) => reel(&format!("C{number:02}")),
                None => NodeReel::none(),
            },
            address: [10, 0, 0, 1 + number],
            play: 0,
            at: 0,
            begin_ns: u64::from(number) * STAGGER_NS,
            arrives_ns: [0; 2],
        });
        let clients: Vec<Client> = clients.collect();
        let due = clients.iter().enumerate();
        let due = due.map(|(client, it)| Reverse((it.begin_ns, client)));
        Play {
            engine,
            connections,
            server,
            server_end,
            due: due.collect(),
            clients,
            flying: BinaryHeap::new(),
            frames: capture.map(|path| Frames::create(path, reels::START_UTC_NS)),
            draw: Draw::named(2, engine.name),
            sent: 0,
            payload: Vec::new(),
        }
    }

    /// The connection that a client plays.
    fn connection(&self, client: usize, play: u64) -> &'a Connection {
        let count = self.connections.len() as u64;
        let place = (play + client as u64) % count;
        &self.connections[place as usize]
    }

    /// Sends the next packet of all, after what arrives before it.
    fn step(&mut self) {
        let Reverse((now, number)) = self.due.pop().expect("every client has a next packet");
        self.arrive(now);
        let (play, at) = (self.clients[number].play, self.clients[number].at);
        let connection = self.connection(number, play);
        let packet = &connection.packets[at];
        self.payload.clear();
        self.payload.extend_from_slice(&packet.payload);
        (self.engine.renumber)(&mut self.payload, play);

        let client = &mut self.clients[number];
        let (socket, local) = client.socket(play);
        if at == 0 {
            // All that was sent to the socket before has arrived.
            if let Some(before) = play.checked_sub(1) {
                let (socket, _) = client.socket(before);
                client.reel.push(Time(now), Event::SocketClosed { socket });
            }
            let opened = Event::SocketOpened { socket, local };
            client.reel.push(Time(now), opened);
        }
        let (from, to) = if packet.to_server {
            (local, self.server_end)
        } else {
            (self.server_end, local)
        };
        if let Some(frames) = &mut self.frames {
            frames.push(now, from, to, &self.payload);
        }
        let (sender, socket) = if packet.to_server {
            (&mut client.reel, socket)
        } else {
            (&mut self.server, SERVER)
        };
        let payload = self.payload.as_slice();
        let sent = Event::Sent {
            socket,
            to,
            payload,
        };
        sender.sent(Time(now), sent);
        self.sent += 1;
        let jitter = self.draw.below(JITTER_NS);
        let arrives = &mut client.arrives_ns[usize::from(packet.to_server)];
        *arrives = (now + LATENCY_NS + jitter).max(*arrives);
        if !packet.is_lost {
            self.flying.push(Reverse(Flying {
                arrives_ns: *arrives,
                number: self.sent,
                client: number,
                play,
                at,
            }));
        }

        client.at += 1;
        if client.at == connection.packets.len() {
            client.at = 0;
            client.play += 1;
            client.begin_ns += connection.length_ns + PAUSE_NS;
        }
        let (play, at) = (client.play, client.at);
        let next = &self.connection(number, play).packets[at];
        let client = &mut self.clients[number];
        // What its sender had received in the capture, and a capture's times may go back a little.
        let answers = client.arrives_ns[usize::from(!next.to_server)].max(now);
        client.begin_ns = client.begin_ns.max(answers.saturating_sub(next.after_ns));
        let due = client.begin_ns + next.after_ns;
        self.due.push(Reverse((due, number)));
    }

    /// Lets all arrive that is there at `now`.
    fn arrive(&mut self, now: u64) {
        while let Some(Reverse(next)) = self.flying.peek() {
            if next.arrives_ns > now {
                break;
            }
            let Some(Reverse(flying)) = self.flying.pop() else {
                break;
            };
            let connection = self.connection(flying.client, flying.play);
            let packet = &connection.packets[flying.at];
            self.payload.clear();
            self.payload.extend_from_slice(&packet.payload);
            (self.engine.renumber)(&mut self.payload, flying.play);
            let client = &mut self.clients[flying.client];
            let (socket, local) = client.socket(flying.play);
            let payload = self.payload.as_slice();
            let (reel, socket, from) = if packet.to_server {
                (&mut self.server, SERVER, local)
            } else {
                (&mut client.reel, socket, self.server_end)
            };
            let received = Event::Received {
                socket,
                from,
                payload,
            };
            reel.push(Time(flying.arrives_ns), received);
        }
    }

    fn finish(mut self) -> Made {
        self.arrive(u64::MAX);
        if let Some(frames) = self.frames {
            frames.finish();
        }
        let clients = self.clients.into_iter().map(|client| client.reel.finish());
        Made {
            packets: self.sent,
            events: clients.sum::<u64>() + self.server.finish(),
        }
    }
}

impl Client {
    /// The socket of a play.
    fn socket(&self, play: u64) -> (SocketId, SocketAddr) {
        let place = (play % PORTS) as u16;
        let local = SocketAddr::from((self.address, FIRST_PORT + place));
        (SocketId(place), local)
    }
}

/// Adds to the datagram numbers of a packet, and to those that it acks or misses.
fn renumber_raknet(packet: &mut [u8], play: u64) {
    let add = |bytes: &mut [u8]| {
        let number = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let moved = (u64::from(number) + play * 4099) as u32;
        bytes.copy_from_slice(&moved.to_le_bytes()[..3]);
    };
    let Some((flags, rest)) = packet.split_first_mut() else {
        return;
    };
    let flags = *flags;
    let (is_datagram, is_ack, third) = (flags & 0x80 != 0, flags & 0x40 != 0, flags & 0x20 != 0);
    if !is_datagram {
        return;
    }
    if !is_ack && !third {
        rest.get_mut(..3).into_iter().for_each(add);
        return;
    }
    // An ack may have a rate in front of its ranges.
    let mut at = if is_ack && third { 4 + 2 } else { 2 };
    while let Some(&single) = rest.get(at) {
        let numbers = if single == 0 { 2 } else { 1 };
        let Some(range) = rest.get_mut(at + 1..at + 1 + 3 * numbers) else {
            return;
        };
        range.chunks_exact_mut(3).for_each(add);
        at += 1 + 3 * numbers;
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

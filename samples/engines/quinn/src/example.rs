//! The example: a server and two clients over loopback UDP, with one packet in twelve lost on
//! purpose, so that QUIC has something to send again. `cargo run -p quinn-quic -- --out DIR`

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use netreel_record::{Options, Recorded, Recorder, Shared, clock_anchor};
use netreel_reel::{Header, Time, WireText};
use netreel_transport::{Faults, InputError, Layer, LinkEnd, LinkFaults, Transport, UdpTransport};
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event, StreamEvent, StreamId, TransportConfig,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{CipherSuite, KeyLog, RootCertStore};

use crate::drawn::Drawn;
use crate::host::QuicHost;
use crate::keys::KeyFile;

type Failure = Box<dyn std::error::Error>;

/// Of the server's certificate.
const NAME: &str = "netreel.test";

/// What stands in the reel, and what a node is made from.
struct Start<'a> {
    /// Seconds since 1970: certificates have to be valid then.
    today: u64,
    /// The longest packet until a longer one was found to arrive.
    mtu: u16,
    /// Which cipher clients prefer, by its number in TLS.
    cipher: u16,
    /// The server's, by which clients know it.
    certificate: &'a [u8],
    /// A client: the server's address. The server: its key.
    rest: &'a [u8],
}

impl Start<'_> {
    fn write(&self) -> Vec<u8> {
        let length = self.certificate.len() as u16;
        let head = [
            &self.today.to_le_bytes()[..],
            &self.mtu.to_le_bytes(),
            &self.cipher.to_le_bytes(),
            &length.to_le_bytes(),
        ];
        [&head.concat(), self.certificate, self.rest].concat()
    }

    fn read(bytes: &[u8]) -> Option<Start<'_>> {
        let (today, bytes) = bytes.split_first_chunk()?;
        let (mtu, bytes) = bytes.split_first_chunk()?;
        let (cipher, bytes) = bytes.split_first_chunk()?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (certificate, rest) = bytes.split_at_checked(length)?;
        let (today, mtu) = (u64::from_le_bytes(*today), u16::from_le_bytes(*mtu));
        Some(Start {
            today,
            mtu,
            cipher: u16::from_le_bytes(*cipher),
            certificate,
            rest,
        })
    }
}

/// A node of the example: a server that sends every message of a stream back, or a client.
pub struct Game<T> {
    host: QuicHost<T>,
    is_server: bool,
    peers: BTreeMap<ConnectionHandle, Peer>,
    /// The bytes of the messages that arrived in streams.
    pub heard: usize,
}

/// What is under way with the other end of a connection.
#[derive(Default)]
struct Peer {
    stream: Option<StreamId>,
    to_write: VecDeque<u8>,
    read: Vec<u8>,
}

impl<T: Transport> Game<T> {
    /// `start` is [what stands in the reel](Header::start); the keys of connections go to `keys`.
    pub fn new(mut io: Shared<T>, start: &[u8], keys: Arc<dyn KeyLog>) -> Result<Game<T>, Failure> {
        let start = Start::read(start).ok_or("too few start conditions")?;
        let drawn = Drawn::from(&mut io, start.today);
        let mut transport = TransportConfig::default();
        transport.initial_mtu(start.mtu);
        let certificate = CertificateDer::from(start.certificate.to_vec());
        let address = std::str::from_utf8(start.rest)
            .ok()
            .and_then(|it| it.parse().ok());
        let host = if let Some(address) = address {
            let mut roots = RootCertStore::empty();
            roots.add(certificate)?;
            let mut provider = Arc::unwrap_or_clone(drawn.provider());
            let preferred = CipherSuite::from(start.cipher);
            let ciphers = &mut provider.cipher_suites;
            ciphers.sort_by_key(|it| it.suite() != preferred);
            let tls = rustls::ClientConfig::builder_with_details(provider.into(), drawn.time());
            let tls = tls
                .with_protocol_versions(&[&TLS13])?
                .with_root_certificates(roots);
            let mut tls = tls.with_no_client_auth();
            tls.key_log = keys;
            let mut client = drawn.client(tls)?;
            client.transport_config(Arc::new(transport));
            let mut host = QuicHost::new(io, &drawn, None);
            host.connect(client, address, NAME)?;
            host
        } else {
            let tls = rustls::ServerConfig::builder_with_details(drawn.provider(), drawn.time());
            let tls = tls.with_protocol_versions(&[&TLS13])?.with_no_client_auth();
            let key = PrivatePkcs8KeyDer::from(start.rest.to_vec());
            let mut tls = tls.with_single_cert(vec![certificate], key.into())?;
            tls.key_log = keys;
            let mut server = drawn.server(tls)?;
            server.transport_config(Arc::new(transport));
            QuicHost::new(io, &drawn, Some(server))
        };
        Ok(Game {
            host,
            is_server: address.is_none(),
            peers: BTreeMap::new(),
            heard: 0,
        })
    }
}

impl Peer {
    /// Takes what a connection tells.
    fn listen(&mut self, connection: &mut Connection) {
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.read(connection, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
                Event::DatagramReceived => while connection.datagrams().recv().is_some() {},
                _ => {}
            }
        }
    }

    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.read.extend_from_slice(&chunk.bytes);
            }
            // What it says is to be sent is sent at the tick's end.
            let _ = chunks.finalize();
        }
    }

    /// The next message that is there as a whole.
    fn message(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.read.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let message = rest.get(..length)?.to_vec();
        self.read.drain(..2 + length);
        Some(message)
    }

    /// Puts a message into the stream, which is opened when there is a connection.
    fn say(&mut self, message: &[u8]) {
        self.to_write.extend((message.len() as u16).to_le_bytes());
        self.to_write.extend(message);
    }

    fn write(&mut self, connection: &mut Connection) {
        let Some(stream) = self.stream else { return };
        while let (waiting, _) = self.to_write.as_slices()
            && !waiting.is_empty()
            && let Ok(taken) = connection.send_stream(stream).write(waiting)
        {
            self.to_write.drain(..taken);
        }
    }
}

impl<T: Transport> Layer for Game<T> {
    // The host has a transport of its own: what is handed over here is the same one.
    fn tick(&mut self, _: &mut dyn Transport) {
        self.host.receive();
        for (handle, connection) in self.host.connections() {
            let peer = self.peers.entry(handle).or_default();
            peer.listen(connection);
            while let Some(message) = peer.message() {
                self.heard += message.len();
                if self.is_server {
                    peer.say(&message);
                }
            }
            peer.write(connection);
        }
        self.host.transmit();
        let open: BTreeSet<_> = self.host.connections().map(|(it, _)| it).collect();
        self.peers.retain(|handle, _| open.contains(handle));
    }

    /// A call of the game: what to say. The short are datagrams, the others go into the stream. Nothing to
    /// say renews the keys.
    fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        if call.is_empty() {
            let all = self.host.connections();
            all.for_each(|(_, connection)| connection.force_key_update());
            return Ok(());
        }
        if call.len() >= 16 {
            self.peers.values_mut().for_each(|peer| peer.say(call));
            return Ok(());
        }
        for (_, connection) in self.host.connections() {
            // Before there is a connection nothing is sent.
            let _ = connection
                .datagrams()
                .send(Bytes::copy_from_slice(call), true);
        }
        Ok(())
    }
}

/// Plays and records a session: `out/server.reel`, `out/a.reel`, `out/b.reel`, and the keys:
/// `out/keys.log`.
pub fn record(out: &Path) -> Result<(), Failure> {
    record_with(out, CipherSuite::TLS13_AES_128_GCM_SHA256, &[])
}

/// The same with the cipher that clients prefer, and the ticks in which they renew their keys.
pub fn record_with(out: &Path, cipher: CipherSuite, renewed: &[u64]) -> Result<(), Failure> {
    let [server, a, b] = [(); 3].map(|()| UdpTransport::bind(([127, 0, 0, 1], 0).into()));
    let sockets = [("server", server?), ("a", a?), ("b", b?)];
    let ends = [0, 1, 2].map(|end| (sockets[usize::from(end)].1.local(), LinkEnd(end)));
    let server = ends[0].0.to_string();
    let lossy = LinkFaults {
        loss: 1.0 / 12.0,
        ..LinkFaults::default()
    };
    let wire = WireText {
        name: "quic.wire".to_owned(),
        text: include_str!("../../../wires/quic.wire").to_owned(),
    };
    // Ed25519: signatures of the other kinds have random bytes in them that no seed leads to.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let certificate = rcgen::CertificateParams::new(vec![NAME.to_owned()])?.self_signed(&key)?;
    let key_der = key.serialize_der();
    let today = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
    let keys = Arc::new(KeyFile::open(&out.join("keys.log"))?);
    let mut nodes = Vec::new();
    for ((name, socket), (local, end)) in sockets.into_iter().zip(ends) {
        let start = Start {
            today,
            mtu: 1200,
            cipher: cipher.into(),
            certificate: certificate.der(),
            rest: match name {
                "server" => &key_der,
                _ => server.as_bytes(),
            },
        };
        let header = Header {
            node: name.to_owned(),
            clock: clock_anchor(),
            engine: "quinn example".to_owned(),
            start: start.write(),
            wires: vec![wire.clone()],
            ..Header::default()
        };
        let path = out.join(format!("{name}.reel"));
        let recorder = Recorder::create(path, &header, Options::default())?;
        let mut io = Faults::new(socket, 7, end, ends);
        ends.iter()
            .for_each(|(_, other)| io.set_egress(*other, lossy));
        let io = Shared::new(Recorded::new(io, recorder.pusher()?, local));
        let game = Game::new(io.clone(), &header.start, keys.clone())?;
        nodes.push((recorder, io, game));
    }
    // Each client says 20 short things reliably, 19 in datagrams, and one that takes five packets.
    let all = 20 * 16 + 5000;
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
            if place > 0 && renewed.contains(&tick) {
                io.input(&[]);
                game.input(&[], io)?;
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

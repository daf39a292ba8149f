//! Nodes on several machines find each other: HOST listens, the others join over TCP, say on which UDP
//! port they play, and are told who plays where once all are there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use netreel_sample_engine::{Mode, Peer, Topology};
use netreel_transport::{BindError, UdpTransport, mix};
use serde::{Deserialize, Serialize};

use crate::setup::Setup;

/// The longest line that either side reads.
const LINE_MAX: u64 = 65_536;
/// How long a stranger may take to say who it is.
const WORD: Duration = Duration::from_secs(5);
/// How long HOST takes at most until all are there.
const PATIENCE: Duration = Duration::from_secs(600);

/// Players who did not come together.
#[derive(Debug, thiserror::Error)]
pub enum LobbyError {
    /// The address cannot be listened on or reached.
    #[error("{address}: {error}")]
    Address {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
    /// The others would not know where to send.
    #[error("{0}: name the address by which the others reach this machine")]
    Anywhere(SocketAddr),
    /// No UDP port.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Whoever is there speaks otherwise.
    #[error("{address}: {why}")]
    Words {
        /// Who.
        address: SocketAddr,
        /// What is wrong.
        why: String,
    },
    /// Not all came.
    #[error("{missing} of {players} players have not joined in ten minutes")]
    Missing {
        /// How many did not come.
        missing: usize,
        /// How many were to play.
        players: usize,
    },
}

/// How HOST plays.
#[derive(Clone, Copy, Debug)]
pub struct Seats {
    /// The same in all reels of the session.
    pub session: [u8; 16],
    /// How objects change owner.
    pub mode: Mode,
    /// Who talks to whom.
    pub topology: Topology,
    /// Of what is lost and how much packets jitter.
    pub seed: u64,
    /// How many nodes play, HOST with them.
    pub players: u8,
}

/// What a joining node says.
#[derive(Serialize, Deserialize)]
struct Hello {
    netreel: u8,
    udp: u16,
    /// Which node it wants to be; the next that is free where it does not matter.
    seat: Option<u8>,
}

/// What HOST answers.
#[derive(Serialize, Deserialize)]
struct Welcome {
    own: u8,
    setup: Setup,
}

/// The version of these words.
const VERSION: u8 = 2;

/// Listens on `address` until all have joined. `told` hears of each.
///
/// # Errors
/// An address that cannot be used; players who do not come.
pub fn host(
    address: SocketAddr,
    seats: Seats,
    told: &mut dyn FnMut(String),
) -> Result<(Setup, UdpTransport), LobbyError> {
    if address.ip().is_unspecified() {
        return Err(LobbyError::Anywhere(address));
    }
    let failed = |error| LobbyError::Address { address, error };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listens = listener.local_addr().map_err(failed)?;
    let udp = socket(address.ip(), seats.seed, 0)?;
    told(format!(
        "waiting for {} more: netreel play --join {listens}",
        seats.players - 1
    ));
    let mut joined: BTreeMap<u8, (TcpStream, SocketAddr)> = BTreeMap::new();
    let until = Instant::now() + PATIENCE;
    while joined.len() + 1 < usize::from(seats.players) {
        if Instant::now() > until {
            return Err(LobbyError::Missing {
                missing: usize::from(seats.players) - 1 - joined.len(),
                players: usize::from(seats.players),
            });
        }
        match listener.accept() {
            Ok((stream, from)) => match greet(&stream, from) {
                Ok((endpoint, seat)) => {
                    let is_free =
                        |it: &u8| !joined.contains_key(it) && seat.is_none_or(|seat| seat == *it);
                    let Some(seat) = (1..seats.players).find(is_free) else {
                        told(format!("{from} asks for a place that is taken"));
                        continue;
                    };
                    told(format!("{from} is here"));
                    joined.insert(seat, (stream, endpoint));
                }
                // A stranger does not end the game.
                Err(error) => told(format!("not a player: {error}")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let setup = Setup {
        session: seats.session,
        mode: seats.mode,
        topology: seats.topology,
        seed: seats.seed,
        endpoints: std::iter::once(udp.local())
            .chain(joined.values().map(|(_, endpoint)| *endpoint))
            .collect(),
    };
    for (own, (stream, _)) in joined {
        let welcome = Welcome {
            own,
            setup: setup.clone(),
        };
        let address = stream.peer_addr().unwrap_or(address);
        say(&stream, &welcome).map_err(|error| LobbyError::Address { address, error })?;
    }
    Ok((setup, udp))
}

/// Joins the HOST that listens on `address`, as the node `seat` or as the next that is free, and waits
/// until all are there.
///
/// # Errors
/// Nobody listens there, or somebody who knows nothing of the game.
pub fn join(
    address: SocketAddr,
    seat: Option<Peer>,
) -> Result<(Setup, Peer, UdpTransport), LobbyError> {
    let failed = |error| LobbyError::Address { address, error };
    let stream = TcpStream::connect(address).map_err(failed)?;
    let own = stream.local_addr().map_err(failed)?;
    let udp = socket(own.ip(), 0, u64::from(own.port()))?;
    let hello = Hello {
        netreel: VERSION,
        udp: udp.local().port(),
        seat: seat.map(|peer| peer.0),
    };
    say(&stream, &hello).map_err(failed)?;
    let welcome: Welcome = hear(&stream, address, PATIENCE)?;
    let is_whole = usize::from(welcome.own) < welcome.setup.endpoints.len();
    if !is_whole || welcome.setup.endpoints.len() > 16 {
        let why = "it gives no place in the game".to_owned();
        return Err(LobbyError::Words { address, why });
    }
    Ok((welcome.setup, Peer(welcome.own), udp))
}

fn socket(ip: IpAddr, seed: u64, own: u64) -> Result<UdpTransport, BindError> {
    UdpTransport::bind_seeded(SocketAddr::new(ip, 0), mix(&[seed, own]))
}

/// Hears who joins: where it plays, and as which node it wants to.
fn greet(stream: &TcpStream, from: SocketAddr) -> Result<(SocketAddr, Option<u8>), LobbyError> {
    let failed = |error| LobbyError::Address {
        address: from,
        error,
    };
    stream.set_nonblocking(false).map_err(failed)?;
    let hello: Hello = hear(stream, from, WORD)?;
    if hello.netreel != VERSION {
        let why = format!("it speaks version {}, this is {VERSION}", hello.netreel);
        return Err(LobbyError::Words { address: from, why });
    }
    Ok((SocketAddr::new(from.ip(), hello.udp), hello.seat))
}

fn say(mut stream: &TcpStream, what: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(what).map_err(std::io::Error::from)?;
    line.push('\n');
    stream.write_all(line.as_bytes())
}

/// A stream that is read until then, however little comes at a time.
struct Until<'a>(&'a TcpStream, Instant);

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.1.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.0.set_read_timeout(Some(left))?;
        self.0.read(buffer)
    }
}

/// Hears a line that is whole within this time.
fn hear<T: for<'a> Deserialize<'a>>(
    stream: &TcpStream,
    address: SocketAddr,
    most: Duration,
) -> Result<T, LobbyError> {
    let mut line = String::new();
    let until = Until(stream, Instant::now() + most);
    let read = BufReader::new(until.take(LINE_MAX)).read_line(&mut line);
    read.map_err(|error| LobbyError::Address { address, error })?;
    serde_json::from_str(&line).map_err(|error| LobbyError::Words {
        address,
        why: format!("it does not speak as a player does: {error}"),
    })
}

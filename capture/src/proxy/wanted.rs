//! What is wanted of a proxy, what it tells on its way, and what its recording came to.

use std::collections::BTreeMap;
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use netreel_reel::Endpoint;

use crate::progress::Progress;
use netreel_record::{Options, RecordError, Summary};

use super::FaultSpec;

/// What to pass on, and how to record it.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Where to listen, and for whom; at least one.
    pub routes: Vec<Route>,
    /// What to do to packets on their way.
    pub faults: FaultSpec,
    /// What the faults' chances are drawn from.
    pub seed: u64,
    /// How many clients are served at a time.
    pub clients_max: usize,
    /// A client is forgotten when nothing has gone to or from it for this long.
    pub idle: Duration,
    /// The reel; its folder must be there.
    pub reel: PathBuf,
    /// How to record.
    pub options: Options,
}

/// A place to listen, and the server that is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where clients send to. Port 0 lets the operating system choose one.
    pub listen: Endpoint,
    /// `HOST:PORT`; the first address that the name has of the listener's kind, or else the first.
    pub target: String,
}

/// Words that are no route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not LISTEN=TARGET, such as 0.0.0.0:7000=game-host:7000 or [::]:7000=10.0.0.5:7000"
)]
pub struct RouteError(String);

impl FromStr for Route {
    type Err = RouteError;

    fn from_str(words: &str) -> Result<Route, RouteError> {
        let wrong = || RouteError(words.to_owned());
        let (listen, target) = words.split_once('=').ok_or_else(wrong)?;
        let listen = listen.parse().map_err(|_| wrong())?;
        let (host, port) = target.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        let target = target.to_owned();
        Ok(Route { listen, target })
    }
}

impl Route {
    /// The server's address.
    pub(super) fn resolve(&self) -> Result<Endpoint, ProxyError> {
        let failed = |error| ProxyError::Resolve {
            target: self.target.clone(),
            error,
        };
        let found: Vec<Endpoint> = self.target.to_socket_addrs().map_err(failed)?.collect();
        let same_kind = found
            .iter()
            .find(|each| each.is_ipv4() == self.listen.is_ipv4());
        let nobody = || failed(io::Error::other("the name has no address"));
        same_kind.or(found.first()).copied().ok_or_else(nobody)
    }
}

/// A proxy that could not be started, or that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The server's name has no address.
    #[error("{target}: no address for this server: {error}")]
    Resolve {
        /// `HOST:PORT`.
        target: String,
        /// Why.
        error: io::Error,
    },
    /// Clients could not be listened for.
    #[error("cannot listen on {listen}: {error}; {}", listen_advice(error))]
    Listen {
        /// Where.
        listen: Endpoint,
        /// Why.
        error: io::Error,
    },
    /// What is passed on would come back.
    #[error("{listen}={target} would send to itself; give the address of the server")]
    Itself {
        /// Where it listens.
        listen: Endpoint,
        /// The server.
        target: Endpoint,
    },
    /// Something else that it needs could not be had.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
    /// The reel could not be made.
    #[error(transparent)]
    Reel(#[from] RecordError),
}

fn listen_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there; choose another port",
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; 0.0.0.0 is every IPv4 address that it has"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 are for root; choose another port",
        _ => "choose another address or port",
    }
}

/// What happens while the proxy runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It listens.
    Listening {
        /// Where.
        listen: Endpoint,
        /// The server as it was named.
        target: String,
        /// The server's address.
        address: Endpoint,
    },
    /// A client sent its first packet.
    Came {
        /// Who.
        client: Endpoint,
        /// The proxy's socket for it, as the server sees it.
        local: Endpoint,
    },
    /// A client was silent for too long, and its socket was closed. Should it come back, it gets
    /// a new one.
    Went {
        /// Who.
        client: Endpoint,
        /// For how long.
        silent: Duration,
    },
    /// A client is not served: a sentence.
    Refused(String),
    /// Something failed, and it goes on: a sentence.
    Trouble(String),
    /// How far it is, ten times a second.
    Live {
        /// What was recorded; each packet counted once, when it came.
        progress: Progress,
        /// How many clients are served now.
        clients: usize,
        /// How many packets are held back now.
        held: usize,
    },
}

/// What a recording came to.
#[derive(Debug)]
pub struct Outcome {
    /// See [`Report::Live`].
    pub progress: Progress,
    /// How many clients were served, one that came back counted again.
    pub clients: u64,
    /// Packets of clients that were not served.
    pub refused: u64,
    /// Packets that could not be sent.
    pub failed: u64,
    /// Packets that the faults dropped.
    pub lost: u64,
    /// Packets that were still held back at the end, and were dropped.
    pub held: u64,
    /// How often the network answered packets to which server with which error code: where nobody listens
    /// there, "port unreachable" comes back, which is `ECONNREFUSED`, or on Windows `WSAECONNRESET`. Of
    /// answers that come at once, the kernel keeps one.
    pub answers: BTreeMap<(Endpoint, i32), u64>,
    /// The receive buffer of the first listener, in bytes as the kernel counts them.
    pub receive_buffer: usize,
    /// The reel.
    pub reel: Result<Summary, RecordError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_two_addresses() {
        let route: Route = "[::]:7000=game-host:7001".parse().unwrap();
        assert_eq!(route.listen, "[::]:7000".parse().unwrap());
        assert_eq!(route.target, "game-host:7001");
    }

    #[test]
    fn what_is_no_route_says_what_one_looks_like() {
        for wrong in [
            "",
            "7000",
            "0.0.0.0:7000",
            "0.0.0.0=a:1",
            "0.0.0.0:1=:2",
            "0.0.0.0:1=a:0",
        ] {
            let error = wrong.parse::<Route>().unwrap_err().to_string();
            assert!(error.contains("0.0.0.0:7000=game-host:7000"), "{error}");
        }
    }
}

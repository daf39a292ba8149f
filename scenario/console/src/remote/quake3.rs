//! The remote console of Quake 3: packets that belong to no connection, with the password in each.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::client::{ClientError, came};

/// What begins a packet that belongs to no connection.
const OUT_OF_BAND: &[u8] = &[0xff; 4];
/// A server says nothing of how much more it will say: so long is waited behind its last word.
const LAST_WORD: Duration = Duration::from_millis(150);
/// Servers hear no second command sooner than this after the first.
const BETWEEN: Duration = Duration::from_millis(550);

/// A server's remote console.
#[derive(Debug)]
pub struct Quake3 {
    socket: UdpSocket,
    address: SocketAddr,
    password: String,
    said: Option<Instant>,
}

impl Quake3 {
    /// Whether a server answers there, and takes the password.
    pub(super) fn connect(
        address: SocketAddr,
        password: &str,
        patience: Duration,
    ) -> Result<Quake3, ClientError> {
        let failed = |error| ClientError::Connection { address, error };
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any).map_err(failed)?;
        socket.connect(address).map_err(failed)?;
        let mut server = Quake3 {
            socket,
            address,
            password: password.to_owned(),
            said: None,
        };
        let said = server.say("echo netreel", patience.min(Duration::from_secs(1)))?;
        if said.is_empty() {
            return Err(failed(ErrorKind::ConnectionRefused.into()));
        }
        if said.to_lowercase().contains("bad rconpassword") || said.contains("No rconpassword") {
            return Err(ClientError::Refused { address, why: said });
        }
        Ok(server)
    }

    /// Says a command; all that the server prints.
    pub(super) fn say(&mut self, line: &str, patience: Duration) -> Result<String, ClientError> {
        if let Some(said) = self.said {
            std::thread::sleep(BETWEEN.saturating_sub(said.elapsed()));
        }
        let address = self.address;
        let answer = self.ask(line, patience);
        self.said = Some(Instant::now());
        match answer {
            // Nobody is there yet.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(String::new()),
            answer => answer.map_err(|error| ClientError::Connection { address, error }),
        }
    }

    fn ask(&self, line: &str, patience: Duration) -> std::io::Result<String> {
        let mut packet = [0; 65_536];
        // What came too late for the last command is no answer to this one.
        self.socket.set_nonblocking(true)?;
        while self.socket.recv(&mut packet).is_ok() {}
        self.socket.set_nonblocking(false)?;
        let mut asks = OUT_OF_BAND.to_vec();
        asks.extend_from_slice(format!("rcon \"{}\" {line}\n", self.password).as_bytes());
        self.socket.send(&asks)?;
        let mut text = String::new();
        let mut until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(text.trim_end().to_owned());
            }
            self.socket.set_read_timeout(Some(left))?;
            let Some(length) = came(self.socket.recv(&mut packet))? else {
                continue;
            };
            let bytes = packet[..length].strip_prefix(OUT_OF_BAND);
            if let Some(said) = bytes.and_then(|bytes| bytes.strip_prefix(b"print\n")) {
                text.push_str(&String::from_utf8_lossy(said));
                until = Instant::now() + LAST_WORD;
            }
        }
    }
}

//! Ways to speak to a node while a match is played.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use netreel_console::{Client, ClientError};

/// What begins a packet of Quake 3 that belongs to no connection.
const OUT_OF_BAND: &[u8] = &[0xff; 4];
/// A remote console says nothing of how much more it will say: so long is waited behind its last word.
const LAST_WORD: Duration = Duration::from_millis(150);

/// Somebody who hears a node's commands.
pub(crate) enum Speaker {
    Tcp(Client),
    Stdin(ChildStdin),
    Quake3 { socket: UdpSocket, password: String },
}

impl Speaker {
    /// Quake 3's remote console at an address.
    pub fn quake3(address: SocketAddr, password: String) -> std::io::Result<Speaker> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        Ok(Speaker::Quake3 { socket, password })
    }

    /// Says a command: what the node answers within `patience`; empty where it has no way to.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn say(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Tcp(client) => answered(client.command(line, patience)),
            Speaker::Stdin(stdin) => {
                let said = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
                said.map(|()| String::new())
                    .map_err(|error| format!("its standard input is closed: {error}"))
            }
            Speaker::Quake3 { socket, password } => remote(socket, password, line, patience)
                .map_err(|error| format!("its remote console: {error}")),
        }
    }

    /// Has the node run a script.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn script(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Tcp(client) => answered(client.script(text, patience)),
            _ => Err("only a console takes scripts".to_owned()),
        }
    }
}

fn answered(answer: Result<netreel_console::Answer, ClientError>) -> Result<String, String> {
    match answer {
        Ok(answer) if answer.ok => Ok(answer.text),
        Ok(answer) => Err(answer.text),
        Err(error) => Err(error.to_string()),
    }
}

fn remote(
    socket: &UdpSocket,
    password: &str,
    line: &str,
    patience: Duration,
) -> std::io::Result<String> {
    // A word that came too late for what was asked before is no answer to this.
    socket.set_nonblocking(true)?;
    let mut packet = [0; 65_536];
    while socket.recv(&mut packet).is_ok() {}
    socket.set_nonblocking(false)?;
    let mut asks = OUT_OF_BAND.to_vec();
    asks.extend_from_slice(format!("rcon \"{password}\" {line}\n").as_bytes());
    socket.send(&asks)?;
    let mut text = String::new();
    let mut until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(text.trim_end().to_owned());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv(&mut packet) {
            Ok(length) => {
                let bytes = packet[..length].strip_prefix(OUT_OF_BAND);
                let said = bytes.and_then(|bytes| bytes.strip_prefix(b"print\n"));
                text.push_str(&String::from_utf8_lossy(said.unwrap_or_default()));
                until = Instant::now() + LAST_WORD;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

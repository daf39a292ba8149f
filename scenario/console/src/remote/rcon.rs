//! The RCON of Source, Minecraft and others: packets over TCP, each with a length, a number and a kind.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::client::{ClientError, read_until};

/// Kinds of packets.
const LOGIN: i32 = 3;
const COMMAND: i32 = 2;
const ANSWER: i32 = 0;

/// The numbers of what is said.
const OWN: i32 = 1;
const END: i32 = 2;

/// The largest packet that is taken, without its length. Bytes.
const BYTES_MAX: usize = 64 << 10;
/// The longest answer that is put together. Bytes.
const TEXT_MAX: usize = 1 << 20;

/// A server's RCON.
#[derive(Debug)]
pub struct Rcon {
    stream: TcpStream,
    address: SocketAddr,
}

struct Packet {
    number: i32,
    kind: i32,
    text: Vec<u8>,
}

impl Rcon {
    pub(super) fn connect(
        address: SocketAddr,
        password: &str,
        patience: Duration,
    ) -> Result<Rcon, ClientError> {
        let failed = |error| ClientError::Connection { address, error };
        let stream = TcpStream::connect_timeout(&address, patience).map_err(failed)?;
        let mut server = Rcon { stream, address };
        let until = Instant::now() + patience;
        server.send(OWN, LOGIN, password).map_err(failed)?;
        loop {
            let packet = server.receive(until, patience)?;
            // Source sends an empty answer before its word.
            if packet.kind == ANSWER {
                continue;
            }
            return match packet.number {
                OWN => Ok(server),
                _ => {
                    let why = "it is not the password".to_owned();
                    Err(ClientError::Refused { address, why })
                }
            };
        }
    }

    /// Says a command; all that the server answers.
    pub(super) fn say(&mut self, line: &str, patience: Duration) -> Result<String, ClientError> {
        let address = self.address;
        let failed = |error| ClientError::Connection { address, error };
        let until = Instant::now() + patience;
        self.send(OWN, COMMAND, line).map_err(failed)?;
        // A long answer comes in several packets and does not say so. What is asked behind it is
        // answered behind it, whatever the server makes of it.
        self.send(END, ANSWER, "").map_err(failed)?;
        let mut text = Vec::new();
        loop {
            let packet = self.receive(until, patience)?;
            match packet.number {
                END => return Ok(String::from_utf8_lossy(&text).trim_end().to_owned()),
                _ if text.len() < TEXT_MAX => text.extend_from_slice(&packet.text),
                _ => {}
            }
        }
    }

    fn send(&mut self, number: i32, kind: i32, text: &str) -> std::io::Result<()> {
        let length = i32::try_from(text.len() + 10).map_err(|_| ErrorKind::InvalidInput)?;
        let mut packet = length.to_le_bytes().to_vec();
        packet.extend(number.to_le_bytes());
        packet.extend(kind.to_le_bytes());
        packet.extend(text.as_bytes());
        packet.extend([0, 0]);
        self.stream.write_all(&packet)
    }

    fn receive(&mut self, until: Instant, patience: Duration) -> Result<Packet, ClientError> {
        let address = self.address;
        let mut word = [0; 4];
        self.read(&mut word, until, patience)?;
        let length = usize::try_from(i32::from_le_bytes(word)).unwrap_or(0);
        if !(10..=BYTES_MAX).contains(&length) {
            let why = format!("a packet of {length} bytes is no RCON");
            return Err(ClientError::Stranger { address, why });
        }
        let mut bytes = vec![0; length];
        self.read(&mut bytes, until, patience)?;
        let number = |at: usize| {
            let word = bytes[at..at + 4].try_into().unwrap_or_default();
            i32::from_le_bytes(word)
        };
        let text = bytes[8..length - 2].to_vec();
        Ok(Packet {
            number: number(0),
            kind: number(4),
            text,
        })
    }

    fn read(
        &mut self,
        bytes: &mut [u8],
        until: Instant,
        patience: Duration,
    ) -> Result<(), ClientError> {
        let mut taken = 0;
        while taken < bytes.len() {
            let from = (&self.stream, self.address);
            taken += read_until(from, &mut bytes[taken..], (until, patience))?;
        }
        Ok(())
    }
}

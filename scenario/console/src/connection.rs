//! One connection, as the console's thread has it.

use std::io::{self, Read, Write};
use std::time::Instant;

use mio::net::TcpStream;

use crate::frame::{Message, Reader, json_frame};
use crate::words::{Answer, Said};

/// What waits to be sent to somebody who does not read it. Who leaves more unread is cut off. Bytes.
const UNREAD_MAX: usize = 1 << 20;

/// So many requests of one connection may wait for the node; no more is read before one is answered.
pub(crate) const PENDING_MAX: usize = 16;

/// So much of a connection is read before others have their turn. Bytes.
const TURN: usize = 16 << 10;

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    Ends,
}

/// What is said to a browser before it is cut off.
pub(crate) const BROWSER: &str = "this is a console, and no web server";

pub(crate) struct Connection {
    stream: TcpStream,
    reader: Reader,
    unsent: Vec<u8>,
    /// Whether the token was given, or none is needed.
    pub is_trusted: bool,
    /// Nothing more is read: what is unsent still goes out.
    is_ending: bool,
    /// There may be more to read.
    is_readable: bool,
    /// So much more of it is read in this turn.
    turn: usize,
    /// How many of its requests the node has not answered.
    pub pending: usize,
    pub since: Instant,
    /// When the last whole message came; `None` before the first.
    pub spoke: Option<Instant>,
}

impl Connection {
    pub fn new(stream: TcpStream, is_trusted: bool, since: Instant) -> Connection {
        Connection {
            stream,
            reader: Reader::default(),
            unsent: Vec::new(),
            is_trusted,
            is_ending: false,
            is_readable: false,
            turn: 0,
            pending: 0,
            since,
            spoke: None,
        }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// There is something to read.
    pub fn readable(&mut self) {
        self.is_readable = true;
    }

    /// It is its turn.
    pub fn begin_turn(&mut self) {
        self.turn = TURN;
    }

    /// Whether its turn was over before all was read.
    pub fn has_more(&self) -> bool {
        self.is_readable && !self.is_ending && !self.is_held()
    }

    /// Whether there is something to read that waits for the node's answers.
    pub fn is_held(&self) -> bool {
        self.pending >= PENDING_MAX
    }

    /// The next message that came in whole; `None` where nothing more is there now, or its turn is over.
    ///
    /// # Errors
    /// The other side is gone, or speaks no language.
    pub fn next_message(&mut self) -> io::Result<Option<Message>> {
        loop {
            if self.is_ending || self.is_held() {
                return Ok(None);
            }
            match self.reader.next_message() {
                Ok(Some(message)) => {
                    self.spoke = Some(Instant::now());
                    return Ok(Some(message));
                }
                Ok(None) if !self.is_readable || self.turn == 0 => return Ok(None),
                Ok(None) => {}
                Err(error) => {
                    self.answer(&Answer {
                        id: 0,
                        ok: false,
                        text: error.to_string(),
                    });
                    self.end();
                    return Ok(None);
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    // What was typed last may lack its line's end.
                    self.is_readable = false;
                    if self.pending == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.end();
                }
                Ok(count) => {
                    self.turn = self.turn.saturating_sub(count);
                    self.reader.push(&bytes[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What a message says, and the bytes that came with it.
    ///
    /// # Errors
    /// A sentence for whoever sent it.
    pub fn said(&self, message: Message) -> Result<(Said, Vec<u8>), String> {
        let (json, binary) = match message {
            // A page in a browser reaches loopback as well, and its lines are whatever it likes.
            Message::Line(line) if line.contains(" HTTP/") => return Err(BROWSER.to_owned()),
            Message::Line(line) => {
                let said = match line.strip_prefix("token ") {
                    Some(token) if !self.is_trusted => Said::Token {
                        token: token.trim().to_owned(),
                        id: 0,
                    },
                    _ => Said::Command {
                        command: line,
                        id: 0,
                    },
                };
                return Ok((said, Vec::new()));
            }
            Message::Frame { json, binary } => (json, binary),
        };
        let said = serde_json::from_slice(&json).map_err(|error| {
            format!(
                "this is no message: {error}; write {{\"type\":\"command\",\"command\":\"help\"}}, or type \
                 script, complete, token"
            )
        })?;
        Ok((said, binary))
    }

    /// Says something to the other side, in its language.
    pub fn answer(&mut self, answer: &Answer) {
        match self.reader.is_text() {
            Some(true) => {
                let failed = if answer.ok { "" } else { "error: " };
                let text = format!("{failed}{}\n", answer.text);
                self.unsent.extend_from_slice(text.as_bytes());
            }
            _ => {
                let json = serde_json::to_vec(answer).unwrap_or_default();
                self.unsent.extend_from_slice(&json_frame(&json));
            }
        }
    }

    /// Reads no more, and ends when all that is unsent is out.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// Sends what can be sent now.
    pub fn flush(&mut self) -> Fate {
        let mut sent = 0;
        let fate = loop {
            if sent == self.unsent.len() {
                break if self.is_ending && self.pending == 0 {
                    Fate::Ends
                } else {
                    Fate::Stays
                };
            }
            match self.stream.write(&self.unsent[sent..]) {
                Ok(0) => break Fate::Ends,
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Fate::Stays,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break Fate::Ends,
            }
        };
        self.unsent.drain(..sent);
        if self.unsent.len() > UNREAD_MAX {
            Fate::Ends
        } else {
            fate
        }
    }
}

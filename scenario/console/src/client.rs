//! Whoever speaks to a console.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::frame::{FrameError, Message, Reader, json_frame};
use crate::words::{Answer, Said};

/// A connection to a node's console.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    address: SocketAddr,
    reader: Reader,
    asked: u64,
}

/// A node that does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens, or the connection broke.
    #[error("the console at {address}: {error}")]
    Connection {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The node is there and says nothing.
    #[error("the console at {address} gave no answer in {:.1} s", patience.as_secs_f64())]
    Silent {
        /// Where.
        address: SocketAddr,
        /// How long it was waited for.
        patience: Duration,
    },
    /// What came is no answer.
    #[error("what listens at {address} is no console: {why}")]
    Stranger {
        /// Where.
        address: SocketAddr,
        /// What is wrong.
        why: String,
    },
    /// The token is not the right one, or one is needed.
    #[error("the console at {address} refuses the token: {why}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// What it said.
        why: String,
    },
}

impl Client {
    /// Connects within `patience`, and gives the token where there is one.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn connect(
        address: SocketAddr,
        token: Option<&str>,
        patience: Duration,
    ) -> Result<Client, ClientError> {
        let failed = |error| ClientError::Connection { address, error };
        let stream = TcpStream::connect_timeout(&address, patience).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut client = Client {
            stream,
            address,
            reader: Reader::default(),
            asked: 0,
        };
        // Whoever has nothing to say for long is taken for a stranger: so the first word is said at once.
        let token = token.unwrap_or_default().to_owned();
        let answer = client.ask(patience, |id| Said::Token { token, id })?;
        if !answer.ok {
            let why = answer.text;
            return Err(ClientError::Refused { address, why });
        }
        Ok(client)
    }

    /// Where the console is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says a command; what the node answers within `patience`.
    ///
    /// # Errors
    /// [`ClientError`]; a command that the node refuses is an [`Answer`] that is not `ok`.
    pub fn command(&mut self, line: &str, patience: Duration) -> Result<Answer, ClientError> {
        let command = line.to_owned();
        self.ask(patience, |id| Said::Command { command, id })
    }

    /// Has the node run a script.
    ///
    /// # Errors
    /// As [`Client::command`].
    pub fn script(&mut self, text: &str, patience: Duration) -> Result<Answer, ClientError> {
        let script = text.to_owned();
        self.ask(patience, |id| Said::Script { script, id })
    }

    /// What could stand at the end of a line, whole words.
    ///
    /// # Errors
    /// As [`Client::command`].
    pub fn complete(&mut self, line: &str, patience: Duration) -> Result<Vec<String>, ClientError> {
        let line = line.to_owned();
        let answer = self.ask(patience, |id| Said::Complete { line, id })?;
        Ok(answer.text.lines().map(str::to_owned).collect())
    }

    /// Says what `said` makes with a number of its own.
    fn ask(
        &mut self,
        patience: Duration,
        said: impl FnOnce(u64) -> Said,
    ) -> Result<Answer, ClientError> {
        let address = self.address;
        let failed = |error| ClientError::Connection { address, error };
        self.asked += 1;
        let json = serde_json::to_vec(&said(self.asked)).map_err(|error| failed(error.into()))?;
        self.stream.write_all(&json_frame(&json)).map_err(failed)?;
        let until = Instant::now() + patience;
        loop {
            let answer = self.hear(until, patience)?;
            // What was asked before and not waited for.
            if answer.id == self.asked || answer.id == 0 {
                return Ok(answer);
            }
        }
    }

    fn hear(&mut self, until: Instant, patience: Duration) -> Result<Answer, ClientError> {
        let address = self.address;
        let stranger = |why: String| ClientError::Stranger { address, why };
        let mut bytes = [0; 4096];
        loop {
            let message = self.reader.next_message();
            match message.map_err(|error: FrameError| stranger(error.to_string()))? {
                Some(Message::Frame { json, .. }) => {
                    let answer = serde_json::from_slice(&json);
                    return answer.map_err(|error| stranger(error.to_string()));
                }
                Some(Message::Line(line)) => {
                    let line: String = line.chars().take(60).collect();
                    return Err(stranger(format!("it says {line:?}")));
                }
                None => {}
            }
            let count = read_until((&self.stream, address), &mut bytes, (until, patience))?;
            self.reader.push(&bytes[..count]);
        }
    }
}

/// Reads what comes from `address`, once something does: how many bytes.
///
/// # Errors
/// Nothing came within `patience`, which ends at `until`; the connection broke.
pub(crate) fn read_until(
    (mut stream, address): (&TcpStream, SocketAddr),
    bytes: &mut [u8],
    (until, patience): (Instant, Duration),
) -> Result<usize, ClientError> {
    let failed = |error| ClientError::Connection { address, error };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ClientError::Silent { address, patience });
        }
        stream.set_read_timeout(Some(left)).map_err(failed)?;
        match came(stream.read(bytes)).map_err(failed)? {
            Some(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
            Some(count) => return Ok(count),
            None => {}
        }
    }
}

/// What came by a read that waits for some time alone; `None`: nothing did.
pub(crate) fn came(read: io::Result<usize>) -> io::Result<Option<usize>> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    match read {
        Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => Ok(None),
        read => read.map(Some),
    }
}

//! Whoever takes a node's commands: its console, or the remote console that a server has anyway.

mod quake3;
mod rcon;

use std::net::SocketAddr;
use std::time::Duration;

use crate::client::{Client, ClientError};
use quake3::Quake3;
use rcon::Rcon;

/// How a node is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By its own console ([`crate::Console`]).
    Console,
    /// By the remote console of Quake 3 and its kin, over UDP.
    Quake3,
    /// By the RCON of Source, Minecraft and others, over TCP.
    Rcon,
}

/// A node that takes commands.
#[derive(Debug)]
pub enum Remote {
    /// See [`Way::Console`].
    Console(Client),
    /// See [`Way::Quake3`].
    Quake3(Quake3),
    /// See [`Way::Rcon`].
    Rcon(Rcon),
}

impl Way {
    /// The way that a text begins with, and the rest of it: `quake3:127.0.0.1:27960`.
    pub fn of(text: &str) -> (Way, &str) {
        let quake3 = text.strip_prefix("quake3:").map(|rest| (Way::Quake3, rest));
        let rcon = text.strip_prefix("rcon:").map(|rest| (Way::Rcon, rest));
        quake3.or(rcon).unwrap_or((Way::Console, text))
    }

    /// Whether nobody is heard there without a password.
    pub fn needs_token(self) -> bool {
        self != Way::Console
    }
}

impl Remote {
    /// Connects within `patience`, with the token or password where there is one.
    ///
    /// # Errors
    /// [`ClientError::Connection`] where nobody listens yet; the others where trying again is of no use.
    pub fn connect(
        way: Way,
        address: SocketAddr,
        token: Option<&str>,
        patience: Duration,
    ) -> Result<Remote, ClientError> {
        let password = token.unwrap_or_default();
        Ok(match way {
            Way::Console => Remote::Console(Client::connect(address, token, patience)?),
            Way::Quake3 => Remote::Quake3(Quake3::connect(address, password, patience)?),
            Way::Rcon => Remote::Rcon(Rcon::connect(address, password, patience)?),
        })
    }

    /// Says a command: what the node answers within `patience`.
    ///
    /// # Errors
    /// Why it was not done, in a sentence.
    pub fn say(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        let told = |error: ClientError| error.to_string();
        match self {
            Remote::Console(client) => client.command(line, patience).map_err(told)?.said(),
            Remote::Quake3(server) => server.say(line, patience).map_err(told),
            Remote::Rcon(server) => server.say(line, patience).map_err(told),
        }
    }

    /// Has the node run a script.
    ///
    /// # Errors
    /// Why it was not done, in a sentence.
    pub fn script(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        let Remote::Console(client) = self else {
            return Err("a remote console takes no scripts".to_owned());
        };
        let answer = client.script(text, patience);
        answer.map_err(|error| error.to_string())?.said()
    }

    /// What could stand at the end of a line; nothing where the node cannot say.
    pub fn complete(&mut self, line: &str, patience: Duration) -> Vec<String> {
        match self {
            Remote::Console(client) => client.complete(line, patience).unwrap_or_default(),
            Remote::Quake3(_) | Remote::Rcon(_) => Vec::new(),
        }
    }
}

//! A console inside a game's node: a TCP server that takes commands, and whoever speaks to it.
//!
//! The node asks [`Console::take`] in each tick what somebody wants, and answers. All of the network
//! happens in a thread of the console's own, so that no tick waits for it. Who connects speaks frames of
//! JSON ([`frame`]) or types lines; a line is a command with its arguments. The node says once what
//! commands it has ([`Commands`]), and hears only of those that are right.
//!
//! Without a token a console listens on loopback alone.

pub mod frame;

mod client;
mod commands;
mod connection;
mod pace;
mod remote;
mod server;
mod words;

pub use client::{Client, ClientError};
pub use commands::{Call, Commands, Kind, Parameter, Value};
pub use remote::{Remote, Way};
pub use server::{Asked, Console, ListenError, Request};
pub use words::{Answer, read_token};

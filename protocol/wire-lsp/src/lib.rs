//! A language server for `.wire` files: diagnostics, hover with values of a recording, completion,
//! definitions, references, renaming, formatting.
//!
//! It is made of what `netreel-wire` says of a text; it knows no reels, and asks whoever starts it for
//! the packets of a recording ([`OpenCapture`]). [`Server`] is the conversation without pipes:
//! messages in, messages out.
//!
//! Why it is so: `docs/decisions/wire.md`.

mod answers;
mod capture;
mod completion;
mod hover;
mod positions;
mod project;
mod rename;
mod server;

use std::io;

use lsp_server::Connection;

pub use capture::{BYTES_MAX, Capture, CapturedPacket, OpenCapture, PACKETS_MAX};
pub use lsp_server::{Message, Notification, Request, RequestId, Response};
pub use server::{CLOSE_CAPTURE, OPEN_CAPTURE, Server};

/// Speaks with a client on the standard input and output until it says `exit`, or until nobody is
/// there any more. Gives whether the client shut the server down in order.
///
/// # Errors
/// The input is not the protocol, or the output cannot be written.
pub fn serve(mut server: Server<'_>) -> io::Result<bool> {
    let (connection, threads) = Connection::stdio();
    let in_order = converse(&mut server, &connection);
    // The threads end when nobody holds the other ends of their channels.
    drop(connection);
    threads.join()?;
    Ok(in_order)
}

fn converse(server: &mut Server<'_>, connection: &Connection) -> bool {
    let send = |messages: Vec<Message>| {
        let mut messages = messages.into_iter();
        messages.all(|message| connection.sender.send(message).is_ok())
    };
    while let Ok(message) = connection.receiver.recv() {
        let mut next = Some(message);
        // Whoever types fast is told once.
        while let Some(message) = next {
            if !send(server.take(message)) {
                return false;
            }
            if let Some(in_order) = server.ended() {
                return in_order;
            }
            next = connection.receiver.try_recv().ok();
        }
        if !send(server.settle()) {
            return false;
        }
    }
    false
}

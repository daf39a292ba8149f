//! What is not a packet, in words: frames that are written only when asked for.

use netreel_reel::{Event, os_code_words};

use crate::figures::moment;
use crate::session::SessionTime;

/// More bytes of a call or a snapshot are not shown.
const BYTES_MAX: usize = 64;

/// An event in words; `None` for packets, and for what there is too much of to be read: clock
/// reads, random draws, empty polls.
pub(super) fn words(event: &Event<'_>) -> Option<String> {
    Some(match *event {
        Event::SocketOpened { socket, local } => format!("socket {} opened at {local}", socket.0),
        Event::SocketClosed { socket } => format!("socket {} closed", socket.0),
        Event::ReceiveFailed { socket, code } => {
            format!(
                "receive on socket {} failed: {}",
                socket.0,
                os_code_words(code)
            )
        }
        Event::Input { call } => format!("input {}", hex(call)),
        Event::Tick { tick, time } => {
            format!(
                "tick {tick} at {} of the game",
                moment(SessionTime(time.0 as i64))
            )
        }
        Event::Note { text } => format!("note {}", String::from_utf8_lossy(text)),
        Event::Snapshot { state } => format!("snapshot {}", hex(state)),
        Event::Switched { on: true } => "recording switched on".to_owned(),
        Event::Switched { on: false } => "recording switched off".to_owned(),
        Event::Dropped { count } => format!("{count} events before this were dropped"),
        Event::Stalled { nanos } => {
            format!("the program waited {nanos} ns for the recorder")
        }
        Event::WriteFailed { code } => format!("recording stopped: {}", os_code_words(code)),
        Event::Called {
            call,
            result,
            details,
        } => format!("{} = {result} {}", call.name(), hex(details)),
        Event::Triggered { trigger, text } => format!(
            "this was to be kept: {:?}, {}",
            trigger.cause,
            String::from_utf8_lossy(text)
        ),
        Event::Relay {
            socket,
            listener,
            client,
        } => format!(
            "socket {} stands for {client} at socket {}",
            socket.0, listener.0
        ),
        Event::Interface { link_type, name } => format!(
            "interface {} of link type {link_type}",
            String::from_utf8_lossy(name)
        ),
        Event::Believed { object, believed } => {
            format!("the game says: {}", believed.words(object))
        }
        _ => return None,
    })
}

fn hex(bytes: &[u8]) -> String {
    let shown = bytes.get(..BYTES_MAX).unwrap_or(bytes);
    let mut words = format!("({} bytes)", bytes.len());
    for byte in shown {
        words.push_str(&format!(" {byte:02x}"));
    }
    if shown.len() < bytes.len() {
        words.push_str(" …");
    }
    words
}

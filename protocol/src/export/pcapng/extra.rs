//! What is not a packet, in words: frames that are written only when asked for.

use netreel_reel::{CallId, Endpoint, Event};

use crate::export::event_words;
use crate::figures::hex;

/// Of a call or a snapshot with as many bytes, or more, these are shown.
const BYTES_MAX: usize = 64;

/// An event in words; `None` for packets, and for what there is too much of to be read: clock
/// reads, random draws, empty polls.
pub(super) fn words(event: &Event<'_>) -> Option<String> {
    let bytes = match *event {
        Event::Sent { .. }
        | Event::SendResult { .. }
        | Event::Received { .. }
        | Event::Seen { .. }
        | Event::Cut { .. }
        | Event::Fault { .. }
        | Event::CaptureDrops { .. }
        | Event::PollEmpty { .. }
        | Event::Clock { .. }
        | Event::ClockRead { .. }
        | Event::Random { .. } => return None,
        Event::Input { call: bytes } | Event::Snapshot { state: bytes } => bytes,
        Event::Called { call, details, .. } if call != CallId::PRINTED => details,
        _ => &[],
    };
    let words = event_words(event, None, |endpoint: Endpoint| endpoint.to_string());
    let mut words = format!("{}: {words}", event.kind().name());
    if !bytes.is_empty() {
        let shown = bytes.get(..BYTES_MAX);
        words.extend([" ", &hex(shown.unwrap_or(bytes))]);
        words.extend(shown.map(|_| " …"));
    }
    Some(words)
}

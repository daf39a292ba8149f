//! What is not a packet, in words: frames that are written only when asked for.

use netreel_reel::{CallId, Endpoint, Event};

use crate::export::event_words;
use crate::figures::hex;

/// More bytes of a call or a snapshot are not shown.
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
    let name_of = |endpoint: Endpoint| endpoint.to_string();
    let words = event_words(event, None, name_of, usize::MAX);
    let mut words = format!("{}: {words}", event.kind().name());
    if !bytes.is_empty() {
        let shown = bytes.get(..BYTES_MAX).unwrap_or(bytes);
        words.extend([" ", &hex(shown)]);
        words.extend((shown.len() < bytes.len()).then_some(" …"));
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_shown_are_told_of_and_texts_are_whole() {
        let words = |call: &[u8]| words(&Event::Input { call }).expect("words");
        let all = " 07".repeat(BYTES_MAX).replace(' ', "");
        assert!(words(&[7; BYTES_MAX]).ends_with(&format!(" {all}")));
        assert!(words(&[7; BYTES_MAX + 1]).ends_with(&format!(" {all} …")));
        let text = "long ".repeat(100);
        let note = super::words(&Event::Note {
            text: text.as_bytes(),
        });
        assert_eq!(note, Some(format!("note: {text}")));
    }
}

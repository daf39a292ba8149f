//! What of a capture is not in the reel, in words.

use crate::pcap::{Counts, Ending, Interface};

/// What of a capture the reel lacks, a sentence each. What is no UDP is not missed.
pub fn left_out(counts: &Counts, ending: &Ending) -> Vec<String> {
    let some = [
        (
            counts.cut,
            "packet was cut by the capture's snap length: its first bytes alone are here",
            "packets were cut by the capture's snap length: their first bytes alone are here",
        ),
        (
            counts.dropped,
            "packet was dropped by the system or the interface while it was captured",
            "packets were dropped by the system or the interface while they were captured",
        ),
        (
            counts.incomplete,
            "packet is missing: not all of its IP fragments were captured",
            "packets are missing: not all of their IP fragments were captured",
        ),
        (
            counts.unreadable,
            "frame could not be read: its headers are cut or broken",
            "frames could not be read: their headers are cut or broken",
        ),
        (
            counts.unknown_link,
            "frame is of a kind of link that is not known here",
            "frames are of a kind of link that is not known here",
        ),
        (
            counts.oversized,
            "frame of more than 1 MiB was stepped over",
            "frames of more than 1 MiB were stepped over",
        ),
        (
            counts.broken_blocks,
            "block contradicts itself, or is of an interface that was not described",
            "blocks contradict themselves, or are of interfaces that were not described",
        ),
    ];
    let mut words: Vec<String> = some
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    match ending {
        Ending::Open | Ending::Whole => {}
        Ending::Cut { offset } => words.push(format!(
            "the capture ends inside the frame that starts at byte {offset}"
        )),
        Ending::Broken { offset, length } => words.push(format!(
            "the capture cannot be read from byte {offset} on: the block there says that it has \
             {length} bytes"
        )),
        Ending::Failed { offset, error } => words.push(format!(
            "the capture cannot be read from byte {offset} on: {error}"
        )),
    }
    words
}

/// What is known of an interface: `interface 0: eth0 (link type 1)`, or without a name, which pcap
/// files do not have, `interface 0 (link type 1)`.
pub(super) fn interface(place: usize, interface: &Interface) -> String {
    let name = match interface.name.as_str() {
        "" => String::new(),
        name => format!(": {name}"),
    };
    format!(
        "interface {place}{name} (link type {})",
        interface.link_type
    )
}

//! What of a capture is not in the reel, in words.

use crate::pcap::{Counts, Ending};

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
    words.extend(counts.unknown_links.iter().map(|(&link_type, &count)| {
        let (is, what) = unknown_link(link_type);
        let frames = if count == 1 { "frame is" } else { "frames are" };
        format!("{count} {frames} {is} (link type {link_type}), which is not read: {what}")
    }));
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

/// What a kind of link that is not read is called, and what to do about it.
fn unknown_link(link_type: i32) -> (&'static str, &'static str) {
    let wired = "capture at the access point's wired side, or at a station's interface without \
                 monitor mode";
    match link_type {
        105 => ("802.11 as it is on the air", wired),
        119 | 127 | 163 | 192 => ("802.11 with a radio's header", wired),
        189 | 220 | 249 => ("of USB", "capture at the interface that the adapter is"),
        _ => (
            "of another kind of link",
            "capture at an Ethernet interface, or at `any`",
        ),
    }
}

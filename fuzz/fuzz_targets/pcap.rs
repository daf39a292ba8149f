//! Any bytes as a packet capture: as they are, and behind a whole header of each format, so that
//! frames, blocks and network headers are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netreel_capture::pcap::{Ending, UdpPayloads};

const PCAP: &[u8] = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0";
const SECTION: &[u8] =
    b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0";

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    let links = [0, 1, 9, 51, 101, 108, 113, 20];
    let link = links[usize::from(choice >> 4) % links.len()];
    let header = [PCAP, &[link, 0, 0, 0]].concat();
    let file = match choice & 3 {
        0 => bytes.to_vec(),
        1 => [&header, rest].concat(),
        // One frame that is as long as there are bytes.
        2 => {
            let length = (rest.len() as u32).to_le_bytes();
            [&header, &[0; 8][..], &length, &length, rest].concat()
        }
        _ => {
            let interface = [&b"\x01\0\0\0\x14\0\0\0"[..], &[link, 0, 0, 0, 0, 0, 0, 0]].concat();
            [SECTION, &interface, &b"\x14\0\0\0"[..], rest].concat()
        }
    };
    let Ok(mut payloads) = UdpPayloads::new(file.as_slice()) else {
        return;
    };
    let bytes_out: usize = payloads.by_ref().map(|payload| payload.payload.len()).sum();
    let counts = payloads.counts();
    assert!(!matches!(payloads.ending(), Ending::Open));
    assert!(bytes_out <= file.len(), "more came out than went in");
    let judged = counts.payloads - counts.reassembled.min(counts.payloads)
        + counts.fragments
        + counts.unknown_links.values().sum::<u64>()
        + counts.not_ip
        + counts.not_udp
        + counts.oversized
        + counts.unreadable;
    assert!(counts.frames <= judged + counts.broken_blocks);
});

//! A classic packet capture: Ethernet, IPv4, UDP, with times in nanoseconds.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A capture file that grows.
pub struct Frames {
    out: BufWriter<File>,
    /// The calendar's time at the session's first moment, in nanoseconds since 1970.
    start_utc_ns: u64,
}

impl Frames {
    pub fn create(path: &Path, start_utc_ns: u64) -> Frames {
        let file = File::create(path).expect("a file in the bench's folder");
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut header = Vec::new();
        header.extend(0xa1b2_3c4d_u32.to_le_bytes());
        header.extend([2, 0, 4, 0]);
        header.extend([0; 8]);
        header.extend(65_535_u32.to_le_bytes());
        header.extend(1_u32.to_le_bytes());
        out.write_all(&header).expect("room for the capture");
        Frames { out, start_utc_ns }
    }

    /// Appends a packet; `time` is in nanoseconds of the session.
    pub fn push(&mut self, time: u64, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
        let utc = self.start_utc_ns + time;
        let udp = UDP_HEADER + payload.len();
        let ip = IPV4_HEADER + udp;
        let frame = ETHERNET.len() + ip;
        let mut head = Vec::with_capacity(16 + frame - payload.len());
        for word in [
            utc / 1_000_000_000,
            utc % 1_000_000_000,
            frame as u64,
            frame as u64,
        ] {
            head.extend((word as u32).to_le_bytes());
        }
        head.extend(ETHERNET);
        let at = head.len();
        head.extend([0x45, 0]);
        head.extend((ip as u16).to_be_bytes());
        head.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        head.extend(v4(from).octets());
        head.extend(v4(to).octets());
        let sum = checksum(&head[at..]);
        head[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        head.extend(from.port().to_be_bytes());
        head.extend(to.port().to_be_bytes());
        head.extend((udp as u16).to_be_bytes());
        head.extend([0, 0]); // no checksum
        self.out.write_all(&head).expect("room for the capture");
        self.out.write_all(payload).expect("room for the capture");
    }

    pub fn finish(mut self) {
        self.out.flush().expect("room for the capture");
    }
}

fn v4(end: SocketAddr) -> Ipv4Addr {
    match end.ip() {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => panic!("the nodes of this bench have IPv4 addresses"),
    }
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2);
    let sum: u32 = words
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

//! The UDP payloads in a packet capture: pcap (both byte orders, micro- and nanoseconds) and
//! pcapng (any number of sections and interfaces).
//!
//! Reads forward only, so that a pipe will do, and keeps one frame and the datagrams that wait
//! for their fragments in memory, nothing else. What is not a UDP payload is counted by its
//! reason; what is wrong with the file ends the reading and is told by [`UdpPayloads::ending`].

mod fragments;
mod frames;
mod layers;

use std::io::{self, Read};

use netreel_reel::Endpoint;

use fragments::Fragments;
use frames::Frames;
use layers::{Datagram, Sliced};

/// What one UDP datagram carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpPayload {
    /// Number of its frame in the file, from 0 (Wireshark counts from 1). Of a datagram that came
    /// in fragments, the frame that made it whole.
    pub index: u64,
    /// Nanoseconds since 1970-01-01 UTC, as the capture says. A pcapng simple packet has no time
    /// and gets that of the frame before it.
    pub time: u64,
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// The bytes that the capture holds.
    pub payload: Vec<u8>,
    /// Whether the datagram had more bytes than the capture kept.
    pub cut: bool,
}

/// What a capture held, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames of the file, whatever was in them.
    pub frames: u64,
    /// UDP payloads that were handed out.
    pub payloads: u64,
    /// Of these, how many were cut.
    pub cut: u64,
    /// Frames that were fragments of an IP packet.
    pub fragments: u64,
    /// Packets that were put together from fragments.
    pub reassembled: u64,
    /// Packets of which not all fragments came, or that waited for too long.
    pub incomplete: u64,
    /// Frames of a kind of link that is not known.
    pub unknown_link: u64,
    /// Frames without an IP packet.
    pub not_ip: u64,
    /// IP packets of another protocol.
    pub not_udp: u64,
    /// Frames whose headers are cut or broken; IP fragments that are cut.
    pub unreadable: u64,
    /// Frames of more than 1 MiB, which were stepped over.
    pub oversized: u64,
    /// pcapng packets of an interface that was not described, and blocks that contradict themselves.
    pub broken_blocks: u64,
}

/// How a capture ended.
#[derive(Debug)]
pub enum Ending {
    /// There is more to read.
    Open,
    /// With its last frame whole.
    Whole,
    /// In the middle of a frame or block, which starts at this byte.
    Cut {
        /// Bytes from the start of the file.
        offset: u64,
    },
    /// At a block whose length cannot be: what follows cannot be found.
    Broken {
        /// Where the block starts, in bytes from the start of the file.
        offset: u64,
        /// What its length says.
        length: u32,
    },
    /// With an error of the operating system.
    Failed {
        /// Bytes from the start of the file.
        offset: u64,
        /// What it said.
        error: io::Error,
    },
}

/// Why a file is not read as a capture.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// It holds nothing.
    #[error("the file is empty; a capture starts with a header")]
    Empty,
    /// It starts with something else.
    #[error("not a pcap or pcapng file: it starts with {}", hex(.start))]
    NotACapture {
        /// Its first bytes, four at most.
        start: Vec<u8>,
    },
    /// gzip or zstd around it.
    #[error("the file is compressed ({format}); unpack it first")]
    Compressed {
        /// With what.
        format: &'static str,
    },
    /// A pcap file that ends in its header.
    #[error("the file ends inside its header, after {length} of 24 bytes")]
    HeaderCut {
        /// How many bytes there are.
        length: usize,
    },
    /// The operating system could not read it.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// An iterator over the UDP payloads of a capture, in the order of the file.
#[derive(Debug)]
pub struct UdpPayloads<R> {
    frames: Frames<R>,
    fragments: Fragments,
    counts: Counts,
}

impl<R: Read> UdpPayloads<R> {
    /// Reads the header of a capture. `reader` needs no buffer of its own.
    pub fn new(reader: R) -> Result<UdpPayloads<R>, PcapError> {
        Ok(UdpPayloads {
            frames: Frames::new(reader)?,
            fragments: Fragments::default(),
            counts: Counts::default(),
        })
    }

    /// What was seen so far. Packets that still wait for fragments count as incomplete.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        counts.frames = self.frames.count();
        counts.oversized = self.frames.oversized();
        counts.broken_blocks = self.frames.broken_blocks();
        counts.incomplete = self.fragments.given_up() + self.fragments.waiting();
        counts
    }

    /// How the file ended; [`Ending::Open`] before the iterator returned `None`.
    pub fn ending(&self) -> &Ending {
        self.frames.ending()
    }
}

impl<R: Read> Iterator for UdpPayloads<R> {
    type Item = UdpPayload;

    fn next(&mut self) -> Option<UdpPayload> {
        loop {
            let frame = self.frames.next_frame()?;
            let counts = &mut self.counts;
            let count = match layers::slice(frame.link_type, frame.bytes) {
                Sliced::Udp(datagram) => {
                    counts.payloads += 1;
                    counts.cut += u64::from(datagram.cut);
                    return Some(payload(frame.index, frame.time, &datagram));
                }
                Sliced::Fragment(fragment) => {
                    counts.fragments += 1;
                    let whole = self.fragments.add(&fragment, frame.time);
                    let Some(whole) = whole else { continue };
                    counts.reassembled += 1;
                    let (source, destination) = (fragment.source, fragment.destination);
                    match layers::udp(source, destination, &whole, false) {
                        Some(datagram) => {
                            counts.payloads += 1;
                            counts.cut += u64::from(datagram.cut);
                            return Some(payload(frame.index, frame.time, &datagram));
                        }
                        None => &mut counts.unreadable,
                    }
                }
                Sliced::UnknownLink => &mut counts.unknown_link,
                Sliced::NotIp => &mut counts.not_ip,
                Sliced::NotUdp => &mut counts.not_udp,
                Sliced::Unreadable => &mut counts.unreadable,
            };
            *count += 1;
        }
    }
}

fn payload(index: u64, time: u64, datagram: &Datagram<'_>) -> UdpPayload {
    UdpPayload {
        index,
        time,
        source: datagram.source,
        destination: datagram.destination,
        payload: datagram.payload.to_vec(),
        cut: datagram.cut,
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

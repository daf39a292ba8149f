//! The UDP payloads in a packet capture: pcap (both byte orders, micro- and nanoseconds) and
//! pcapng (any number of sections and interfaces).
//!
//! Reads forward only, so that a pipe will do, and keeps one frame and the datagrams that wait
//! for their fragments in memory, nothing else. What is not a UDP payload is counted by its
//! reason; what is wrong with the file ends the reading and is told by [`UdpPayloads::ending`].

mod fragments;
mod frames;
mod layers;
mod links;

use std::collections::BTreeMap;
use std::io::Read;

use netreel_reel::Endpoint;

use fragments::Fragments;
pub(crate) use frames::Frame;
use frames::Frames;
pub use frames::{Ending, PcapError};
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
    /// How many bytes the datagram carried, of which the capture may have kept fewer.
    pub length: u32,
    /// Where it was captured: a place in [`UdpPayloads::interfaces`].
    pub interface: u16,
}

impl UdpPayload {
    /// Whether the datagram had more bytes than the capture kept.
    pub fn is_cut(&self) -> bool {
        self.payload.len() < self.length as usize
    }
}

/// Where frames were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What the capture calls it: `eth0`. Of a capture of several interfaces at once by Linux, its
    /// number there. Empty where the capture says nothing.
    pub name: String,
    /// The kind of link, a `LINKTYPE_` number of the tcpdump group's registry.
    pub link_type: i32,
}

/// What a capture held, so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Frames of kinds of links that are not read, by their `LINKTYPE_` number.
    pub unknown_links: BTreeMap<i32, u64>,
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
    /// Packets that the capture says the kernel or the interface dropped (pcapng: in statistics or at its
    /// packets, at each interface the larger of both).
    pub dropped: u64,
}

impl Counts {
    /// Frames whose headers were understood, whatever they carried.
    pub fn read(&self) -> u64 {
        self.payloads + self.fragments + self.not_ip + self.not_udp
    }

    /// Frames and blocks that are wrong in themselves. Kinds of links that are not read are not.
    pub fn not_readable(&self) -> u64 {
        self.unreadable + self.oversized + self.broken_blocks
    }
}

/// An iterator over the UDP payloads of a capture, in the order of the file.
#[derive(Debug)]
pub struct UdpPayloads<R> {
    frames: Frames<R>,
    sorter: Sorter,
}

impl<R: Read> UdpPayloads<R> {
    /// Reads the header of a capture. `reader` needs no buffer of its own.
    pub fn new(reader: R) -> Result<UdpPayloads<R>, PcapError> {
        Ok(UdpPayloads {
            frames: Frames::new(reader)?,
            sorter: Sorter::default(),
        })
    }

    /// What was seen so far. Packets that still wait for fragments count as incomplete.
    pub fn counts(&self) -> Counts {
        let mut counts = self.sorter.counts();
        counts.frames = self.frames.count;
        counts.oversized = self.frames.oversized;
        counts.broken_blocks = self.frames.broken_blocks;
        counts.dropped = self.frames.dropped;
        counts
    }

    /// Where the payloads so far were captured.
    pub fn interfaces(&self) -> &[Interface] {
        self.sorter.interfaces()
    }

    /// How the file ended; [`Ending::Open`] before the iterator returned `None`.
    pub fn ending(&self) -> &Ending {
        &self.frames.ending
    }

    /// How the file ended, when nothing else is wanted of it any more.
    pub fn into_ending(self) -> Ending {
        self.frames.ending
    }
}

/// Whether a file that starts with these bytes, at least four, says that it is a pcap or pcapng.
pub fn is_capture(start: &[u8]) -> bool {
    let Some(magic) = start
        .first_chunk::<4>()
        .map(|four| u32::from_le_bytes(*four))
    else {
        return false;
    };
    let known = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
    magic == 0x0a0d_0d0a
        || known
            .iter()
            .any(|&each| each == magic || each == magic.swap_bytes())
}

/// Whether a file that starts with these bytes is compressed with gzip or zstd, as captures often
/// are.
pub fn is_compressed(start: &[u8]) -> bool {
    frames::compression(start).is_some()
}

impl<R: Read> Iterator for UdpPayloads<R> {
    type Item = UdpPayload;

    fn next(&mut self) -> Option<UdpPayload> {
        loop {
            let frame = self.frames.next_frame()?;
            if let Some(payload) = self.sorter.take(&frame) {
                return Some(payload);
            }
        }
    }
}

/// Sorts frames: what is a UDP payload, what waits for the rest of its packet, what is neither.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    fragments: Fragments,
    counts: Counts,
    interfaces: Vec<Interface>,
    /// The section that described each of them last.
    sections: Vec<u32>,
    /// The places of interfaces by the capture's number and Linux's own.
    places: BTreeMap<(u32, u32), u16>,
    /// What this machine calls its interface of a number, where it is the one that captures.
    names: Option<fn(u32) -> Option<String>>,
}

impl Sorter {
    /// Of a machine that captures and can say what it calls its interface of a number.
    #[cfg(any(feature = "pcap", windows))]
    pub fn naming(names: fn(u32) -> Option<String>) -> Sorter {
        Sorter {
            names: Some(names),
            ..Sorter::default()
        }
    }

    /// Takes a frame; the payload, where one is whole with it.
    pub fn take(&mut self, frame: &Frame<'_>) -> Option<UdpPayload> {
        self.sort(frame, layers::slice(frame.link_type, frame.bytes))
    }

    fn sort(&mut self, frame: &Frame<'_>, sliced: Sliced<'_>) -> Option<UdpPayload> {
        let count = match sliced {
            Sliced::Udp(datagram) => return Some(self.payload(frame, &datagram)),
            Sliced::Fragment(fragment) => {
                self.counts.fragments += 1;
                let whole = self.fragments.add(&fragment, frame.time)?;
                self.counts.reassembled += 1;
                // What it carries may be a part of another packet; how deep that goes is limited.
                return self.sort(frame, layers::whole(&fragment, &whole));
            }
            Sliced::UnknownLink => {
                let links = &mut self.counts.unknown_links;
                links.entry(frame.link_type).or_default()
            }
            Sliced::NotIp => &mut self.counts.not_ip,
            Sliced::NotUdp => &mut self.counts.not_udp,
            Sliced::Unreadable => &mut self.counts.unreadable,
        };
        *count += 1;
        None
    }

    /// Where the payloads so far were captured.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// What was counted here; the reader of the frames counts the rest.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        counts.incomplete = self.fragments.given_up() + self.fragments.waiting();
        counts
    }

    fn payload(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> UdpPayload {
        self.counts.payloads += 1;
        let kept = u32::try_from(datagram.payload.len()).unwrap_or(u32::MAX);
        self.counts.cut += u64::from(kept < datagram.length);
        UdpPayload {
            index: frame.index,
            time: frame.time,
            source: datagram.source,
            destination: datagram.destination,
            payload: datagram.payload.to_vec(),
            length: datagram.length,
            interface: self.interface(frame),
        }
    }

    fn interface(&mut self, frame: &Frame<'_>) -> u16 {
        let (name, number) = frame.interface;
        let linux = layers::linux_interface(frame.link_type, frame.bytes).unwrap_or(0);
        if let Some(&place) = self.places.get(&(number, linux)) {
            return place;
        }
        let name = match linux {
            0 => name.to_owned(),
            _ => {
                let own = self.names.and_then(|names| names(linux));
                own.unwrap_or_else(|| format!("{name} {linux}").trim_start().to_owned())
            }
        };
        let interface = Interface {
            name,
            link_type: frame.link_type,
        };
        // A section of its own may describe an interface again; two of one section are two, also
        // where they have one name.
        let mut known = self.interfaces.iter().zip(&self.sections);
        let known = known.position(|(known, &section)| {
            !known.name.is_empty() && *known == interface && section != frame.section
        });
        // More than ids can number share the last.
        let last = self.interfaces.len().min(usize::from(u16::MAX));
        let place = known.unwrap_or(last) as u16;
        if known.is_none() && self.interfaces.len() <= usize::from(u16::MAX) {
            self.interfaces.push(interface);
            self.sections.push(frame.section);
        }
        if let Some(section) = self.sections.get_mut(usize::from(place)) {
            *section = frame.section;
        }
        self.places.insert((number, linux), place);
        place
    }
}

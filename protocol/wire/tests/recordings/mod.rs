//! Recordings of real traffic, packet by packet on a wire, with what the wire keeps of each
//! connection.
#![allow(dead_code)]

#[path = "../../../../tests/support/skipped.rs"]
mod skipped;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use netreel_capture::pcap::{UdpPayload, UdpPayloads};
use netreel_reel::Endpoint;
use netreel_wire::{ConnectionState, Context, Decoded, PacketFacts, Wire};
pub use skipped::skipped;

/// A capture file.
pub struct Recording {
    pub name: String,
    pub packets: Vec<UdpPayload>,
}

impl Recording {
    /// `path` from the package's folder.
    pub fn open(path: &Path) -> Recording {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let name = path.display().to_string();
        let file = File::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let payloads = UdpPayloads::new(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        Recording {
            name,
            packets: payloads.collect(),
        }
    }

    /// Only the packets to or from these ports.
    pub fn of_ports(mut self, ports: &[u16]) -> Recording {
        let ours = |packet: &UdpPayload| {
            ports.contains(&packet.source.port()) || ports.contains(&packet.destination.port())
        };
        self.packets.retain(ours);
        self
    }
}

/// A capture that is too large for the repository, or not ours: in `../shared/captures` beside it,
/// or in `NETREEL_CAPTURES`. Says so where it is not there.
pub fn capture(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let folder = std::env::var_os("NETREEL_CAPTURES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    skipped(format_args!("there is no {}", path.display()));
    None
}

/// Two endpoints, the lower one first.
type Connection = (Endpoint, Endpoint);

/// Decodes the packets of a recording one after the other, as a session does: closely, and for the
/// facts alone, which have to be the same.
pub struct Story<'a> {
    wire: &'a Wire,
    packets: std::slice::Iter<'a, UdpPayload>,
    connections: BTreeMap<Connection, Kept>,
}

struct Kept {
    first_source: Endpoint,
    full: ConnectionState,
    facts: ConnectionState,
}

impl<'a> Story<'a> {
    pub fn new(wire: &'a Wire, recording: &'a Recording) -> Story<'a> {
        Story {
            wire,
            packets: recording.packets.iter(),
            connections: BTreeMap::new(),
        }
    }
}

impl<'a> Iterator for Story<'a> {
    type Item = (&'a UdpPayload, Decoded);

    fn next(&mut self) -> Option<Self::Item> {
        let packet = self.packets.next()?;
        let (a, b) = (packet.source, packet.destination);
        let wire = self.wire;
        let kept = self
            .connections
            .entry((a.min(b), a.max(b)))
            .or_insert_with(|| Kept {
                first_source: a,
                full: wire.new_state(),
                facts: wire.new_state(),
            });
        let context = Context {
            source_port: a.port(),
            destination_port: b.port(),
            from_first: a == kept.first_source,
        };
        let decoded = wire.decode_in(&context, &mut kept.full, &packet.payload);
        let mut facts = PacketFacts::default();
        wire.facts_in(&context, &mut kept.facts, &packet.payload, &mut facts);
        assert_eq!(
            facts,
            decoded.facts,
            "both plans, frame {}",
            packet.index + 1
        );
        Some((packet, decoded))
    }
}

//! The packets of a recording, and those of them that are looked at together.

use crate::session::{PacketId, Session};

/// So many packets are looked at, the first ones.
pub const PACKETS_MAX: usize = 20_000;
/// So many bytes of each packet are looked at.
pub const HEAD_BYTES: usize = 64;
/// What packets outside connections begin with in Quake's family.
pub const OUTSIDE: [u8; 4] = [0xff; 4];

/// What is looked at of one packet.
pub(super) struct Packet {
    pub(super) link: (u32, u32),
    pub(super) time_ns: i64,
    pub(super) length: usize,
    pub(super) head: Vec<u8>,
}

/// The packets of a recording, in the order of time.
#[derive(Default)]
pub struct Packets {
    pub(super) packets: Vec<Packet>,
    /// How many were given.
    pub(super) given: usize,
}

/// Packets that are looked at together, from one place to another.
pub(super) struct Group {
    pub(super) kind: Option<u8>,
    pub(super) members: Vec<usize>,
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The byte that follows says the kind.
    pub(super) ends_with_kind: bool,
}

impl Packets {
    /// The packets of a session, each as its sender, or who saw it first, has it.
    pub fn of(session: &Session) -> Packets {
        let mut packets = Packets::default();
        for number in 0..session.packet_count().min(PACKETS_MAX) {
            let id = PacketId(number as u32);
            if let (Some(packet), Some(bytes)) = (session.packet(id), session.payload(id)) {
                let time = packet.first().map_or(0, |stamp| stamp.time.0);
                packets.push(packet.from.0.into(), packet.to.0.into(), time, &bytes);
            }
        }
        packets.given = session.packet_count();
        packets
    }

    /// Takes the next packet: who sent it to whom, when, and its bytes. One that is past
    /// [`PACKETS_MAX`] is only counted.
    pub fn push(&mut self, from: u32, to: u32, time_ns: i64, bytes: &[u8]) {
        self.given += 1;
        if self.packets.len() < PACKETS_MAX {
            self.packets.push(Packet {
                link: (from, to),
                time_ns,
                length: bytes.len(),
                head: bytes[..bytes.len().min(HEAD_BYTES)].to_vec(),
            });
        }
    }

    /// All packets but those outside connections.
    pub(super) fn inside(&self) -> Vec<usize> {
        let all = 0..self.packets.len();
        let inside: Vec<usize> = all
            .clone()
            .filter(|place| !self.packets[*place].head.starts_with(&OUTSIDE))
            .collect();
        if inside.len() * 2 < all.len() {
            all.collect()
        } else {
            inside
        }
    }

    /// A byte of a packet.
    pub(super) fn byte(&self, member: usize, place: usize) -> Option<u8> {
        self.packets[member].head.get(place).copied()
    }

    pub(super) fn histogram(&self, group: &Group, place: usize) -> [usize; 256] {
        let mut counts = [0; 256];
        for &member in &group.members {
            if let Some(byte) = self.byte(member, place) {
                counts[usize::from(byte)] += 1;
            }
        }
        counts
    }
}

//! The frame of a packet: who sent it, which it is, and what its sender has received.

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Message, Peer};
use crate::mode::Mode;
use crate::types::Types;

/// The most that a packet may be, in bytes.
pub const PACKET_BYTES_MAX: usize = 1200;

/// The most messages in one packet.
pub const MESSAGES_MAX: usize = 255;

/// The bits of a packet around its messages, at most: header with acks, count, filling.
pub const FRAME_BITS_MAX: usize = 8 + 8 + 16 + 48 + 8 + 7;

/// The bits of an UPDATE around its fields, at most: kind, reliable, origin, id, counter, type.
pub const UPDATE_BITS_MAX: usize = 4 + 1 + 4 + 80 + 1 + 80 + 4;

const MAGIC: u64 = 0xB0;

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// By which rules the sender plays.
    pub mode: Mode,
    /// Who sent it.
    pub sender: Peer,
    /// Its number on the link, modulo 65 536.
    pub sequence: u16,
    /// The newest packet received on the link, and of the 32 before it those that were:
    /// bit `i` is `ack - 1 - i`.
    pub ack: Option<(u16, u32)>,
}

/// Writes a packet of messages that were written before.
pub fn write_packet<'a>(
    header: &PacketHeader,
    messages: impl ExactSizeIterator<Item = &'a BitWriter>,
) -> Vec<u8> {
    let mut out = BitWriter::new();
    out.bits(MAGIC, 8);
    let mode = header.mode.number();
    out.bits(mode & 1, 1);
    out.flag(header.ack.is_some());
    out.bits(mode >> 1, 2);
    out.bits(u64::from(header.sender.0), 4);
    out.bits(u64::from(header.sequence), 16);
    if let Some((ack, ack_bits)) = header.ack {
        out.bits(u64::from(ack), 16);
        out.bits(u64::from(ack_bits), 32);
    }
    let count = messages.len().min(MESSAGES_MAX);
    out.bits(count as u64, 8);
    messages.take(count).for_each(|message| out.append(message));
    out.finish()
}

/// Reads a whole packet: all of it makes sense, or it is malformed.
pub fn read_packet(types: &Types, bytes: &[u8]) -> Result<(PacketHeader, Vec<Message>), Malformed> {
    let mut bits = BitReader::new(bytes);
    if bits.bits(8)? != MAGIC {
        return Err(Malformed {
            at_bit: 0,
            why: "not a packet of this protocol",
        });
    }
    let announcer = bits.bits(1)?;
    let has_ack = bits.flag()?;
    let Some(mode) = Mode::of_number(bits.bits(2)? << 1 | announcer) else {
        return Err(bits.malformed("a way to migrate that nobody knows"));
    };
    let sender = Peer(bits.bits(4)? as u8);
    let sequence = bits.short()?;
    let ack = if has_ack {
        Some((bits.short()?, bits.bits(32)? as u32))
    } else {
        None
    };
    let count = bits.byte()?;
    let messages = (0..count)
        .map(|_| Message::read(types, &mut bits))
        .collect::<Result<Vec<_>, _>>()?;
    bits.end()?;
    Ok((
        PacketHeader {
            mode,
            sender,
            sequence,
            ack,
        },
        messages,
    ))
}

#[cfg(test)]
mod tests;

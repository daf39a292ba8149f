//! The bytes of pcapng blocks, as draft-ietf-opsawg-pcapng has them, little-endian.

use std::io::{self, Write};
use std::net::IpAddr;

/// LINKTYPE_ETHERNET. With LINKTYPE_RAW libpcap takes no second interface: it compares the number
/// in the file with its own for the first, and for raw packets the two differ.
const LINK_TYPE: u16 = 1;
/// What libpcap says of an interface that cuts nothing.
const SNAP_LENGTH: u32 = 262_144;
/// Longer texts are cut. An option has room for 65535 bytes; nobody reads this much.
const TEXT_MAX: usize = 8 << 10;
const NAME_MAX: usize = 255;

const COMMENT: u16 = 1;

/// Which way a packet passed an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Unknown = 0,
    Inbound = 1,
    Outbound = 2,
}

/// An address of Ethernet.
pub(super) type Station = [u8; 6];

/// What stands around the bytes of a frame.
pub(super) struct FrameHead<'a> {
    pub interface: u32,
    /// Since 1970-01-01T00:00:00Z.
    pub utc_ns: u64,
    /// Without what was cut, in bytes.
    pub original_length: u32,
    pub direction: Direction,
    /// The same in every frame of one packet.
    pub packet: Option<u64>,
    /// Packets that the interface lost since its frame before this one.
    pub missed: u64,
    pub comments: &'a [String],
}

/// The start of the one section.
pub(super) fn section(
    out: &mut dyn Write,
    application: &str,
    comments: &[String],
) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(0x1a2b_3c4du32.to_le_bytes());
    body.extend(1u16.to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend(u64::MAX.to_le_bytes());
    for comment in comments {
        text(&mut body, COMMENT, comment, TEXT_MAX);
    }
    text(&mut body, 4, application, TEXT_MAX);
    end_of_options(&mut body);
    block(out, 0x0a0d_0d0a, &body)
}

/// An interface; the first has the number 0.
pub(super) fn interface(out: &mut dyn Write, name: &str, description: &str) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(LINK_TYPE.to_le_bytes());
    body.extend([0; 2]);
    body.extend(SNAP_LENGTH.to_le_bytes());
    text(&mut body, 2, name, NAME_MAX);
    text(&mut body, 3, description, TEXT_MAX);
    // Times are in units of 10^-9 s.
    option(&mut body, 9, &[9]);
    end_of_options(&mut body);
    block(out, 1, &body)
}

/// Whose address is whose; nothing where there is nothing to say.
pub(super) fn names(
    out: &mut dyn Write,
    stations: &[(Station, &str)],
    addresses: &[(IpAddr, &str)],
) -> io::Result<()> {
    if stations.is_empty() && addresses.is_empty() {
        return Ok(());
    }
    let mut body = Vec::new();
    let mut record = |kind, address: &[u8], name: &str| {
        let mut record = address.to_vec();
        record.extend(plain(name, NAME_MAX).bytes());
        record.push(0);
        option(&mut body, kind, &record);
    };
    for (address, name) in addresses {
        match address {
            IpAddr::V4(v4) => record(1, &v4.octets(), name),
            IpAddr::V6(v6) => record(2, &v6.octets(), name),
        }
    }
    for (station, name) in stations {
        record(3, station, name);
    }
    end_of_options(&mut body);
    block(out, 4, &body)
}

/// One frame.
pub(super) fn frame(out: &mut dyn Write, head: &FrameHead<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut body = Vec::with_capacity(bytes.len() + 64);
    body.extend(head.interface.to_le_bytes());
    body.extend(((head.utc_ns >> 32) as u32).to_le_bytes());
    body.extend((head.utc_ns as u32).to_le_bytes());
    body.extend((bytes.len() as u32).to_le_bytes());
    body.extend(head.original_length.to_le_bytes());
    body.extend(bytes);
    pad(&mut body);
    for comment in head.comments {
        text(&mut body, COMMENT, comment, TEXT_MAX);
    }
    if head.direction != Direction::Unknown {
        option(&mut body, 2, &(head.direction as u32).to_le_bytes());
    }
    if head.missed > 0 {
        option(&mut body, 4, &head.missed.to_le_bytes());
    }
    if let Some(packet) = head.packet {
        option(&mut body, 5, &packet.to_le_bytes());
    }
    if body.len() > 20 + bytes.len().next_multiple_of(4) {
        end_of_options(&mut body);
    }
    block(out, 6, &body)
}

/// How many frames an interface had, and how many it lost, at the end of the file.
pub(super) fn statistics(
    out: &mut dyn Write,
    interface: u32,
    utc_ns: u64,
    (frames, dropped): (u64, u64),
) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(interface.to_le_bytes());
    body.extend(((utc_ns >> 32) as u32).to_le_bytes());
    body.extend((utc_ns as u32).to_le_bytes());
    option(&mut body, 4, &frames.to_le_bytes());
    option(&mut body, 5, &dropped.to_le_bytes());
    end_of_options(&mut body);
    block(out, 5, &body)
}

fn block(out: &mut dyn Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len() + 12).map_err(io::Error::other)?;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&length.to_le_bytes())
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn text(body: &mut Vec<u8>, code: u16, text: &str, most: usize) {
    option(body, code, plain(text, most).as_bytes());
}

/// Without control characters, which a terminal would obey and which end a name.
fn plain(text: &str, most: usize) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        let letter = match letter {
            '\n' => letter,
            _ if letter.is_control() => char::REPLACEMENT_CHARACTER,
            _ => letter,
        };
        if plain.len() + letter.len_utf8() > most.saturating_sub('…'.len_utf8()) {
            plain.push('…');
            break;
        }
        plain.push(letter);
    }
    plain
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_its_length_at_both_ends() {
        let mut bytes = Vec::new();
        section(&mut bytes, "netreel", &["a".repeat(3)]).expect("memory takes all");
        let length = (bytes.len() as u32).to_le_bytes();
        assert_eq!(bytes[4..8], length);
        assert_eq!(bytes[bytes.len() - 4..], length);
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn a_long_text_is_cut_at_a_letter() {
        let long = plain(&"é".repeat(TEXT_MAX), TEXT_MAX);
        assert!(long.len() <= TEXT_MAX && long.ends_with("é…"));
    }

    #[test]
    fn control_characters_do_not_pass() {
        assert_eq!(plain("a\0b\x1b[1m", 64), "a\u{fffd}b\u{fffd}[1m");
    }
}

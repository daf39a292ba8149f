//! Headers of links that stand between a frame's first header and its IP packet.

use etherparse::EtherType;

/// What stands behind headers of links.
pub(super) enum Behind<'a> {
    Ip(&'a [u8]),
    /// What an ether type names.
    Ether(EtherType, &'a [u8]),
    NotIp,
    Unreadable,
}

/// PPPoE's frames that carry data (RFC 2516); those of its discovery have another type.
const PPPOE_SESSION: EtherType = EtherType(0x8864);
/// MPLS, to one and to many (RFC 3032).
const MPLS: [EtherType; 2] = [EtherType(0x8847), EtherType(0x8848)];
/// Tags of VLANs: 802.1Q, 802.1ad, and what came before it.
const VLAN: [EtherType; 3] = [EtherType(0x8100), EtherType(0x88a8), EtherType(0x9100)];
/// Up to this, what stands in the place of an ether type is a length (IEEE 802.3).
const LENGTH_MAX: u16 = 1500;
/// What LLC and its extension take before the packet.
const SNAP: usize = 8;

/// Looks behind a header that is not of IP.
pub(super) fn behind(ether_type: EtherType, packet: &[u8]) -> Behind<'_> {
    match ether_type {
        PPPOE_SESSION => pppoe(packet),
        // Behind the length, a short frame is filled up.
        EtherType(length @ 0..=LENGTH_MAX) => match packet.get(..usize::from(length)) {
            Some(frame) if frame.len() < SNAP => Behind::NotIp,
            frame => llc(frame.unwrap_or(packet)),
        },
        label if MPLS.contains(&label) => mpls(packet),
        // More tags than are read at once.
        tag if VLAN.contains(&tag) => Behind::Ether(tag, packet),
        _ => Behind::NotIp,
    }
}

/// Version, type and code, session, length; then as [`ppp`].
pub(super) fn pppoe(session: &[u8]) -> Behind<'_> {
    match session.split_at_checked(6) {
        Some(([0x11, 0, ..], frame)) => ppp(frame),
        Some(_) => Behind::NotIp,
        None => Behind::Unreadable,
    }
}

/// A frame of PPP (RFC 1661): its protocol in two bytes, or one where that was agreed on, with
/// address and control before it or not (RFC 1662).
pub(super) fn ppp(frame: &[u8]) -> Behind<'_> {
    match frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame) {
        [0, 0x21 | 0x57, packet @ ..] | [0x21 | 0x57, packet @ ..] => Behind::Ip(packet),
        [0x02, 0x81 | 0x83, packet @ ..] => mpls(packet),
        [] | [0] => Behind::Unreadable,
        _ => Behind::NotIp,
    }
}

/// A frame of LLC (IEEE 802.2) with the extension that says the ether type of what it carries
/// (SNAP, RFC 1042), also as bridges write it (802.1H).
pub(super) fn llc(frame: &[u8]) -> Behind<'_> {
    match frame {
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low, packet @ ..] => {
            let ether_type = EtherType(u16::from_be_bytes([*high, *low]));
            Behind::Ether(ether_type, packet)
        }
        [0xaa, 0xaa, ..] | [0xaa] | [] if frame.len() < SNAP => Behind::Unreadable,
        _ => Behind::NotIp,
    }
}

/// A stack of labels of four bytes each, the last one marked. No label says what it is on top of:
/// IP packets are told by their version, as routers do.
fn mpls(stack: &[u8]) -> Behind<'_> {
    let mut rest = stack;
    while let Some(([_, _, last, _], behind)) = rest.split_first_chunk::<4>() {
        rest = behind;
        if last & 1 == 1 {
            return match rest.first().map(|first| first >> 4) {
                Some(4 | 6) => Behind::Ip(rest),
                Some(_) => Behind::NotIp,
                None => Behind::Unreadable,
            };
        }
    }
    Behind::Unreadable
}

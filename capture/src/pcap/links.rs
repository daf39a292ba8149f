//! Headers of links that stand between a frame's first header and its IP packet.

use etherparse::EtherType;

use super::layers::{Outer, Sliced, ether, ip};

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
pub(super) fn behind<'a>(ether_type: EtherType, packet: &'a [u8], outer: &Outer) -> Sliced<'a> {
    match ether_type {
        PPPOE_SESSION => pppoe(packet, outer),
        // Behind the length, a short frame is filled up.
        EtherType(length @ 0..=LENGTH_MAX) => match packet.get(..usize::from(length)) {
            Some(frame) if frame.len() < SNAP => Sliced::NotIp,
            frame => llc(frame.unwrap_or(packet), outer),
        },
        label if MPLS.contains(&label) => mpls(packet, outer),
        // More tags than are read at once.
        tag if VLAN.contains(&tag) => ether(tag, packet, outer),
        _ => Sliced::NotIp,
    }
}

/// Version, type and code, session, length; then as [`ppp`].
pub(super) fn pppoe<'a>(session: &'a [u8], outer: &Outer) -> Sliced<'a> {
    match session.split_at_checked(6) {
        Some(([0x11, 0, ..], frame)) => ppp(frame, outer),
        Some(_) => Sliced::NotIp,
        None => Sliced::Unreadable,
    }
}

/// A frame of PPP (RFC 1661): its protocol in two bytes, or one where that was agreed on, with
/// address and control before it or not (RFC 1662).
pub(super) fn ppp<'a>(frame: &'a [u8], outer: &Outer) -> Sliced<'a> {
    match frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame) {
        [0, 0x21 | 0x57, packet @ ..] | [0x21 | 0x57, packet @ ..] => ip(packet, outer),
        [0x02, 0x81 | 0x83, packet @ ..] => mpls(packet, outer),
        [] | [0] => Sliced::Unreadable,
        _ => Sliced::NotIp,
    }
}

/// A frame of LLC (IEEE 802.2) with the extension that says the ether type of what it carries
/// (SNAP, RFC 1042), also as bridges write it (802.1H).
pub(super) fn llc<'a>(frame: &'a [u8], outer: &Outer) -> Sliced<'a> {
    match frame {
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low, packet @ ..] => {
            let ether_type = EtherType(u16::from_be_bytes([*high, *low]));
            ether(ether_type, packet, outer)
        }
        [0xaa, 0xaa, ..] | [0xaa] | [] if frame.len() < SNAP => Sliced::Unreadable,
        _ => Sliced::NotIp,
    }
}

/// A stack of labels of four bytes each, the last one marked. No label says what it is on top of:
/// IP packets are told by their version, as routers do.
fn mpls<'a>(stack: &'a [u8], outer: &Outer) -> Sliced<'a> {
    let mut rest = stack;
    while let Some(([_, _, last, _], behind)) = rest.split_first_chunk::<4>() {
        rest = behind;
        if last & 1 == 1 {
            return match rest.first().map(|first| first >> 4) {
                Some(4 | 6) => ip(rest, outer),
                Some(_) => Sliced::NotIp,
                None => Sliced::Unreadable,
            };
        }
    }
    Sliced::Unreadable
}

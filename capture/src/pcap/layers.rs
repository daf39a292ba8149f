//! From the bytes of a frame to the payload of a UDP datagram.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, IpFragOffset, IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket,
    TransportSlice, UdpSlice,
};
use netreel_reel::Endpoint;

use super::links::{self, Behind};

/// What a frame turned out to hold.
pub(super) enum Sliced<'a> {
    Udp(Datagram<'a>),
    Fragment(Fragment<'a>),
    UnknownLink,
    NotIp,
    NotUdp,
    Unreadable,
}

pub(super) struct Datagram<'a> {
    pub source: Endpoint,
    pub destination: Endpoint,
    pub payload: &'a [u8],
    /// How many bytes of payload the datagram had.
    pub length: u32,
}

/// What tells an IP packet that comes in fragments from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fragmented {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub identification: u32,
    pub vlan: Vec<u16>,
    /// What the packet carries.
    pub protocol: IpNumber,
}

/// A part of an IP packet that carries UDP, or another IP packet.
pub(super) struct Fragment<'a> {
    pub of: Fragmented,
    /// How many IP packets it is in.
    pub tunnels: usize,
    pub offset: IpFragOffset,
    pub more: bool,
    pub payload: &'a [u8],
}

const LINUX_SLL2: i32 = 276;
/// An IP packet in more IP packets than this is not looked for.
const TUNNELS_MAX: usize = 4;
/// What is behind more headers of links than this is not looked for. Three tags of VLANs in a row
/// are one of them.
const LINKS_MAX: usize = 8;

/// Linux's number of the interface of a frame that was captured at several at once.
pub(super) fn linux_interface(link_type: i32, frame: &[u8]) -> Option<u32> {
    let number = frame.get(4..)?.first_chunk::<4>()?;
    (link_type == LINUX_SLL2).then(|| u32::from_be_bytes(*number))
}

/// Looks into a frame of `link_type` (a `LINKTYPE_` number of the tcpdump group's registry).
pub(super) fn slice(link_type: i32, frame: &[u8]) -> Sliced<'_> {
    const NULL: i32 = 0;
    const ETHERNET: i32 = 1;
    const PPP: [i32; 2] = [9, 50];
    const PPPOE: i32 = 51;
    const RAW: [i32; 5] = [12, 14, 101, 228, 229];
    const LOOP: i32 = 108;
    const LINUX_SLL: i32 = 113;

    let bare = &Outer::default();
    // The two "cooked" headers of Linux differ in where the ether type stands.
    let cooked = |type_at: usize, header: usize| {
        let ether_type = frame.get(type_at..)?.first_chunk::<2>()?;
        let ether_type = EtherType(u16::from_be_bytes(*ether_type));
        Some((ether_type, frame.get(header..)?))
    };
    let cooked = match link_type {
        LINUX_SLL => cooked(14, 16),
        LINUX_SLL2 => cooked(0, 20),
        ETHERNET => {
            let packet = LaxSlicedPacket::from_ethernet(frame);
            return packet.map_or(Sliced::Unreadable, |packet| sort(&packet, bare));
        }
        // An address family in the byte order of the machine that captured. Its number for IPv6
        // differs between systems; the packet says itself which version it is.
        NULL | LOOP => {
            return match frame.split_at_checked(4) {
                Some((_, packet @ [first, ..])) if matches!(first >> 4, 4 | 6) => ip(packet, bare),
                Some(_) => Sliced::NotIp,
                None => Sliced::Unreadable,
            };
        }
        PPPOE => return go_on(links::pppoe(frame), bare),
        link if PPP.contains(&link) => return go_on(links::ppp(frame), bare),
        link if RAW.contains(&link) => return ip(frame, bare),
        _ => return Sliced::UnknownLink,
    };
    match cooked {
        // What the kernel calls an 802.2 frame (`LINUX_SLL_P_802_2`).
        Some((EtherType(4), llc)) => go_on(links::llc(llc), bare),
        Some((ether_type, packet)) => ether(ether_type, packet, bare),
        None => Sliced::Unreadable,
    }
}

/// What an IP packet carries that was put together from fragments.
pub(super) fn whole<'a>(fragment: &Fragment<'_>, payload: &'a [u8]) -> Sliced<'a> {
    let packet = &fragment.of;
    match packet.protocol {
        IpNumber::UDP => {
            let datagram = udp(packet.source, packet.destination, payload, false);
            datagram.map_or(Sliced::Unreadable, Sliced::Udp)
        }
        _ => {
            let around = Outer {
                vlan: packet.vlan.clone(),
                links: 0,
                tunnels: fragment.tunnels + 1,
            };
            ip(payload, &around)
        }
    }
}

/// What is around a packet.
#[derive(Default)]
struct Outer {
    vlan: Vec<u16>,
    /// How many headers of links were looked behind.
    links: usize,
    /// How many IP packets it is in.
    tunnels: usize,
}

/// An IP packet by itself.
fn ip<'a>(packet: &'a [u8], outer: &Outer) -> Sliced<'a> {
    match LaxSlicedPacket::from_ip(packet) {
        Ok(packet) if outer.tunnels <= TUNNELS_MAX => sort(&packet, outer),
        _ => Sliced::Unreadable,
    }
}

/// What an ether type names.
fn ether<'a>(ether_type: EtherType, packet: &'a [u8], outer: &Outer) -> Sliced<'a> {
    sort(&LaxSlicedPacket::from_ether_type(ether_type, packet), outer)
}

/// What stands behind headers of links.
fn go_on<'a>(behind: Behind<'a>, outer: &Outer) -> Sliced<'a> {
    match behind {
        Behind::Ip(packet) => ip(packet, outer),
        Behind::Ether(ether_type, packet) => ether(ether_type, packet, outer),
        Behind::NotIp => Sliced::NotIp,
        Behind::Unreadable => Sliced::Unreadable,
    }
}

/// The datagram in an IP payload. None: not even its header is whole.
fn udp(
    source: IpAddr,
    destination: IpAddr,
    payload: &[u8],
    packet_cut: bool,
) -> Option<Datagram<'_>> {
    let slice = UdpSlice::from_slice_lax(payload).ok()?;
    let kept = u32::try_from(slice.payload().len()).unwrap_or(u32::MAX);
    // A length of 0 stands for "as far as the packet goes" (RFC 2675; offloading does it, too).
    let length = match u32::from(slice.length()).checked_sub(8) {
        Some(length) => length.max(kept),
        None => kept.saturating_add(u32::from(packet_cut)),
    };
    Some(Datagram {
        source: SocketAddr::new(source, slice.source_port()),
        destination: SocketAddr::new(destination, slice.destination_port()),
        payload: slice.payload(),
        length,
    })
}

fn sort<'a>(packet: &LaxSlicedPacket<'a>, outer: &Outer) -> Sliced<'a> {
    let own = packet.vlan_ids().into_iter().map(|id| id.value());
    let vlan: Vec<u16> = outer.vlan.iter().copied().chain(own).collect();
    let Some(net) = &packet.net else {
        return match (packet.stop_err.is_some(), packet.ether_payload()) {
            (false, Some(inner)) if outer.links < LINKS_MAX => {
                let outer = Outer {
                    vlan,
                    links: outer.links + 1,
                    tunnels: outer.tunnels,
                };
                go_on(links::behind(inner.ether_type, inner.payload), &outer)
            }
            (false, None) => Sliced::NotIp,
            _ => Sliced::Unreadable,
        };
    };
    let Some(ip) = net.ip_payload_ref() else {
        return Sliced::NotIp;
    };
    let (source, destination): (IpAddr, IpAddr) = match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            (
                header.source_addr().into(),
                header.destination_addr().into(),
            )
        }
        LaxNetSlice::Arp(_) => return Sliced::NotIp,
    };
    let is_tunnel = matches!(ip.ip_number, IpNumber::IPV4 | IpNumber::IPV6);
    if is_tunnel && !ip.fragmented {
        let outer = Outer {
            vlan,
            tunnels: outer.tunnels + 1,
            ..*outer
        };
        return self::ip(ip.payload, &outer);
    }
    if ip.ip_number != IpNumber::UDP && !is_tunnel {
        // Where an extension header is cut, the number is that of the header, not of what it hides.
        return match packet.stop_err {
            Some(_) if !matches!(ip.ip_number, IpNumber::TCP | IpNumber::ICMP) => {
                Sliced::Unreadable
            }
            _ => Sliced::NotUdp,
        };
    }
    if ip.fragmented {
        return match fragment(packet, net) {
            Some((identification, offset, more)) if !ip.incomplete => Sliced::Fragment(Fragment {
                of: Fragmented {
                    source,
                    destination,
                    identification,
                    vlan,
                    protocol: ip.ip_number,
                },
                tunnels: outer.tunnels,
                offset,
                more,
                payload: ip.payload,
            }),
            _ => Sliced::Unreadable,
        };
    }
    if !matches!(packet.transport, Some(TransportSlice::Udp(_))) {
        return Sliced::Unreadable;
    }
    udp(source, destination, ip.payload, ip.incomplete).map_or(Sliced::Unreadable, Sliced::Udp)
}

/// Identification, offset, and whether more follow.
fn fragment(
    packet: &LaxSlicedPacket<'_>,
    net: &LaxNetSlice<'_>,
) -> Option<(u32, IpFragOffset, bool)> {
    if packet.stop_err.is_some() {
        return None;
    }
    match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            let identification = u32::from(header.identification());
            Some((
                identification,
                header.fragments_offset(),
                header.more_fragments(),
            ))
        }
        LaxNetSlice::Ipv6(v6) => v6.extensions().clone().into_iter().find_map(|extension| {
            let Ipv6ExtensionSlice::Fragment(slice) = extension else {
                return None;
            };
            let header = slice.to_header();
            Some((
                header.identification,
                header.fragment_offset,
                header.more_fragments,
            ))
        }),
        LaxNetSlice::Arp(_) => None,
    }
}

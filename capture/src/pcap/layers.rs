//! From the bytes of a frame to the payload of a UDP datagram.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, IpFragOffset, IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket,
    TransportSlice, UdpSlice,
};
use netreel_reel::Endpoint;

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

/// A part of an IP packet that carries UDP.
pub(super) struct Fragment<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub identification: u32,
    pub vlan: Vec<u16>,
    pub offset: IpFragOffset,
    pub more: bool,
    pub payload: &'a [u8],
}

const LINUX_SLL2: i32 = 276;

/// Linux's number of the interface of a frame that was captured at several at once.
pub(super) fn linux_interface(link_type: i32, frame: &[u8]) -> Option<u32> {
    let number = frame.get(4..)?.first_chunk::<4>()?;
    (link_type == LINUX_SLL2).then(|| u32::from_be_bytes(*number))
}

/// Looks into a frame of `link_type` (a `LINKTYPE_` number of the tcpdump group's registry).
pub(super) fn slice(link_type: i32, frame: &[u8]) -> Sliced<'_> {
    const NULL: i32 = 0;
    const ETHERNET: i32 = 1;
    const RAW: [i32; 5] = [12, 14, 101, 228, 229];
    const LOOP: i32 = 108;
    const LINUX_SLL: i32 = 113;

    // The two "cooked" headers of Linux differ in where the ether type stands.
    let cooked = |type_at: usize, header: usize| {
        let ether_type = frame.get(type_at..type_at + 2)?;
        let ether_type = u16::from_be_bytes(ether_type.try_into().ok()?);
        let packet = frame.get(header..)?;
        Some(LaxSlicedPacket::from_ether_type(
            EtherType(ether_type),
            packet,
        ))
    };
    let raw = |packet| LaxSlicedPacket::from_ip(packet).ok();
    let packet = match link_type {
        ETHERNET => LaxSlicedPacket::from_ethernet(frame).ok(),
        LINUX_SLL => cooked(14, 16),
        LINUX_SLL2 => cooked(0, 20),
        // An address family in the byte order of the machine that captured. Its number for IPv6
        // differs between systems; the packet says itself which version it is.
        NULL | LOOP => match frame.split_at_checked(4) {
            Some((_, packet)) if matches!(packet.first().map(|byte| byte >> 4), Some(4 | 6)) => {
                raw(packet)
            }
            Some(_) => return Sliced::NotIp,
            None => None,
        },
        link if RAW.contains(&link) => raw(frame),
        _ => return Sliced::UnknownLink,
    };
    packet.map_or(Sliced::Unreadable, |packet| sort(&packet))
}

/// The datagram in an IP payload. None: not even its header is whole.
pub(super) fn udp(
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

fn sort<'a>(packet: &LaxSlicedPacket<'a>) -> Sliced<'a> {
    let Some(net) = &packet.net else {
        return match packet.stop_err {
            Some(_) => Sliced::Unreadable,
            None => Sliced::NotIp,
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
    if ip.ip_number != IpNumber::UDP {
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
                source,
                destination,
                identification,
                vlan: packet.vlan_ids().iter().map(|id| id.value()).collect(),
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

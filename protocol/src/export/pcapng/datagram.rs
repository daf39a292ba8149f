//! Ethernet, IP and UDP headers around a payload. A reel has none: they are made up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::blocks::Station;
use crate::session::NodeId;

const TTL: u8 = 64;
const UDP: u8 = 17;
/// For experiments and tests (RFC 3692): no network carries it.
const EXPERIMENT: u8 = 253;
const ETHERNET_HEAD: usize = 14;
const UDP_HEAD: usize = 8;
const V4_HEAD: usize = 20;
/// What the length fields of IPv4 (header included) and IPv6 (header not) can say.
const LENGTH_MAX: usize = 65_535;

/// One end of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Whose it is; `None` where the session does not say.
    pub node: Option<NodeId>,
    pub endpoint: SocketAddr,
}

/// The Ethernet address that stands for a node: one that no hardware has.
pub(super) fn station(node: Option<NodeId>) -> Station {
    let [high, low] = node
        .map_or(0, |node| node.0.saturating_add(1))
        .to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

/// Makes the frame of a datagram in `frame`, and says how many bytes of the payload found no room.
pub(super) fn udp(
    frame: &mut Vec<u8>,
    (from, to): (End, End),
    identification: u16,
    payload: &[u8],
) -> usize {
    let (source, destination) = one_family(from.endpoint.ip(), to.endpoint.ip());
    let stations = (station(from.node), station(to.node));
    let (from, to) = (from.endpoint, to.endpoint);
    let head = match source {
        IpAddr::V4(_) => V4_HEAD,
        IpAddr::V6(_) => 0,
    };
    let room = LENGTH_MAX - UDP_HEAD - head;
    let kept = payload.get(..room).unwrap_or(payload);
    let length = (UDP_HEAD + kept.len()) as u16;
    ethernet_head(frame, stations, source);
    ip_head(frame, (source, destination), identification, UDP, length);
    let start = frame.len();
    frame.extend(from.port().to_be_bytes());
    frame.extend(to.port().to_be_bytes());
    frame.extend(length.to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(kept);
    let mut sum = Sum::default();
    sum.address(source);
    sum.address(destination);
    sum.add(&[0, UDP]);
    sum.add(&length.to_be_bytes());
    sum.add(frame.get(start..).unwrap_or(&[]));
    // All zeros would say that there is no checksum (RFC 768).
    let checksum = match sum.complement() {
        0 => 0xffff,
        other => other,
    };
    put(frame, start + 6, checksum);
    payload.len() - kept.len()
}

/// Makes a frame that holds `text` and is no datagram: an IP packet from an address to itself.
pub(super) fn text(frame: &mut Vec<u8>, node: NodeId, at: IpAddr, text: &[u8]) {
    let station = station(Some(node));
    ethernet_head(frame, (station, station), at);
    let kept = text.get(..TEXT_MAX).unwrap_or(text);
    ip_head(frame, (at, at), 0, EXPERIMENT, kept.len() as u16);
    frame.extend(kept);
}

const TEXT_MAX: usize = 1024;

fn ethernet_head(frame: &mut Vec<u8>, (from, to): (Station, Station), ip: IpAddr) {
    frame.clear();
    frame.extend(to);
    frame.extend(from);
    frame.extend(match ip {
        IpAddr::V4(_) => [0x08, 0x00],
        IpAddr::V6(_) => [0x86, 0xdd],
    });
}

/// `length` is that of what follows the header.
fn ip_head(
    frame: &mut Vec<u8>,
    (source, destination): (IpAddr, IpAddr),
    identification: u16,
    protocol: u8,
    length: u16,
) {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total = length.saturating_add(V4_HEAD as u16);
            frame.extend([0x45, 0]);
            frame.extend(total.to_be_bytes());
            frame.extend(identification.to_be_bytes());
            // Not to be fragmented.
            frame.extend([0x40, 0, TTL, protocol, 0, 0]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
            let mut sum = Sum::default();
            sum.add(frame.get(ETHERNET_HEAD..).unwrap_or(&[]));
            let checksum = sum.complement();
            put(frame, ETHERNET_HEAD + 10, checksum);
        }
        _ => {
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([protocol, TTL]);
            frame.extend(v6(source).octets());
            frame.extend(v6(destination).octets());
        }
    }
}

/// A socket for both families has IPv4 addresses written as IPv6: on the network they are not.
fn one_family(source: IpAddr, destination: IpAddr) -> (IpAddr, IpAddr) {
    match (source.to_canonical(), destination.to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => (source.into(), destination.into()),
        // What no address is known of takes the family of the other end.
        (IpAddr::V4(source), IpAddr::V6(any)) if any.is_unspecified() => {
            (source.into(), Ipv4Addr::UNSPECIFIED.into())
        }
        (IpAddr::V6(any), IpAddr::V4(destination)) if any.is_unspecified() => {
            (Ipv4Addr::UNSPECIFIED.into(), destination.into())
        }
        (IpAddr::V4(any), IpAddr::V6(destination)) if any.is_unspecified() => {
            (Ipv6Addr::UNSPECIFIED.into(), destination.into())
        }
        (IpAddr::V6(source), IpAddr::V4(any)) if any.is_unspecified() => {
            (source.into(), Ipv6Addr::UNSPECIFIED.into())
        }
        (source, destination) => (v6(source).into(), v6(destination).into()),
    }
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

fn put(frame: &mut [u8], at: usize, value: u16) {
    if let Some(place) = frame.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// The checksum of the Internet protocols (RFC 1071). Only the last part may have an odd length.
#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(2);
        for word in &mut words {
            self.0 += u64::from(word[0]) << 8 | u64::from(word[1]);
        }
        if let [last] = words.remainder() {
            self.0 += u64::from(*last) << 8;
        }
    }

    fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => self.add(&v4.octets()),
            IpAddr::V6(v6) => self.add(&v6.octets()),
        }
    }

    fn complement(&self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(from: &str, to: &str, payload: &[u8]) -> (Vec<u8>, usize) {
        let end = |text: &str| End {
            node: None,
            endpoint: text.parse().expect("an endpoint"),
        };
        let mut frame = Vec::new();
        let left = udp(&mut frame, (end(from), end(to)), 7, payload);
        (frame.split_off(ETHERNET_HEAD), left)
    }

    #[test]
    fn the_sum_over_a_right_header_is_zero() {
        let (frame, _) = frame("127.0.0.1:1", "127.0.0.1:2", b"odd");
        let mut sum = Sum::default();
        sum.add(&frame[..V4_HEAD]);
        assert_eq!(sum.complement(), 0);
        let mut sum = Sum::default();
        sum.add(&frame[12..V4_HEAD]);
        sum.add(&[0, UDP, 0, 11]);
        sum.add(&frame[V4_HEAD..]);
        assert_eq!(sum.complement(), 0);
    }

    #[test]
    fn the_largest_payload_of_each_family_fits() {
        let payload = vec![1; 70_000];
        let (v4, left) = frame("10.0.0.1:1", "10.0.0.2:2", &payload);
        assert_eq!((v4.len(), left), (65_535, 70_000 - 65_507));
        let (v6, left) = frame("[::1]:1", "[::1]:2", &payload);
        assert_eq!((v6.len(), left), (65_575, 70_000 - 65_527));
    }

    #[test]
    fn an_address_of_both_families_is_written_as_the_network_has_it() {
        let (frame, _) = frame("[::]:1", "[::ffff:10.0.0.2]:2", b"");
        assert_eq!(
            (frame[0], &frame[12..20]),
            (0x45, &[0, 0, 0, 0, 10, 0, 0, 2][..])
        );
    }
}

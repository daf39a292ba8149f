//! Captures built byte by byte.

#![allow(dead_code)] // each test uses some

pub const ETHERNET: u32 = 1;
pub const DATA: &[u8] = b"payload";

// ---- packets

pub fn udp(payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).expect("fits");
    [
        &5000u16.to_be_bytes()[..],
        &6000u16.to_be_bytes(),
        &length.to_be_bytes(),
        &[0, 0],
        payload,
    ]
    .concat()
}

pub fn ipv4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).expect("fits");
    let mut header = vec![0x45, 0];
    header.extend(length.to_be_bytes());
    header.extend([0, 7]);
    header.extend(fragment.to_be_bytes());
    header.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    [&header, payload].concat()
}

pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("fits");
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length.to_be_bytes());
    header.extend([next, 64]);
    for last in [1, 2] {
        header.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [&header, payload].concat()
}

pub fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), payload].concat()
}

pub fn datagram() -> Vec<u8> {
    ethernet(0x0800, &ipv4(17, 0, &udp(DATA)))
}

/// A datagram that goes the other way.
pub fn answer() -> Vec<u8> {
    let mut packet = ipv4(17, 0, &udp(b"answer"));
    packet[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    packet[20..24].copy_from_slice(&[0x17, 0x70, 0x13, 0x88]);
    ethernet(0x0800, &packet)
}

// ---- files

/// The byte order of a file.
#[derive(Clone, Copy)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for value in [0, 0, 65535, link] {
        file.extend(order.u32(value));
    }
    file
}

pub fn pcap_frame(order: Order, fraction: u32, frame: &[u8], kept: usize) -> Vec<u8> {
    let length = u32::try_from(frame.len()).expect("fits");
    let kept_length = u32::try_from(kept).expect("fits");
    let head = [3, fraction, kept_length, length].map(|value| order.u32(value));
    [&head.concat(), &frame[..kept]].concat()
}

/// A little-endian pcap file in microseconds.
pub fn pcap(link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(Order::Little, 0xa1b2_c3d4, link);
    for frame in frames {
        file.extend(pcap_frame(Order::Little, 5, frame, frame.len()));
    }
    file
}

pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = order.u32(u32::try_from(body.len() + 12).expect("fits"));
    [&order.u32(kind)[..], &length, &body, &length].concat()
}

pub fn section(order: Order) -> Vec<u8> {
    let body = [
        &order.u32(0x1a2b_3c4d)[..],
        &order.u16(1),
        &order.u16(0),
        &[0xff; 8],
    ]
    .concat();
    block(order, 0x0a0d_0d0a, &body)
}

pub fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [&order.u16(link)[..], &[0, 0], &order.u32(0)].concat();
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(u16::try_from(value.len()).expect("fits")));
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body.extend([0; 4]);
    block(order, 1, &body)
}

pub fn enhanced(order: Order, interface: u32, ticks: u64, frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).expect("fits");
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let head = [interface, high, low, length, length].map(|value| order.u32(value));
    block(order, 6, &[&head.concat(), frame].concat())
}

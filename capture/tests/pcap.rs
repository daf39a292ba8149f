//! Captures built byte by byte, and what comes out of them.

mod captures;

#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::PathBuf;

use captures::*;
use netreel_capture::pcap::{Counts, Ending, PcapError, UdpPayloads};
use skipped::skipped;

/// What a capture holds, one line a payload: index, time, ends, bytes.
fn read(file: &[u8]) -> (String, Counts, String) {
    let mut payloads = UdpPayloads::new(file).expect("a header");
    let mut lines = String::new();
    for payload in payloads.by_ref() {
        let text = String::from_utf8_lossy(&payload.payload).into_owned();
        let cut = if payload.is_cut() { " cut" } else { "" };
        let (index, time) = (payload.index, payload.time);
        let (source, destination) = (payload.source, payload.destination);
        writeln!(lines, "{index} {time} {source} > {destination} {text}{cut}").expect("a string");
    }
    let ending = format!("{:?}", payloads.ending());
    (lines, payloads.counts(), ending)
}

fn check(file: &[u8], expected: &str) {
    let (lines, _, ending) = read(file);
    assert_eq!((lines.as_str(), ending.as_str()), (expected, "Whole"));
}

fn check_counts(file: &[u8], expected: Counts) {
    assert_eq!(read(file).1, expected);
}

// ---- formats of files

#[test]
fn pcap_of_each_byte_order_and_resolution() {
    for (magic, fraction, nanoseconds) in [(0xa1b2_c3d4, 5, 5000), (0xa1b2_3c4d, 5, 5)] {
        for order in [Order::Little, Order::Big] {
            let mut file = pcap_header(order, magic, ETHERNET);
            file.extend(pcap_frame(order, fraction, &datagram(), datagram().len()));
            let time = 3_000_000_000u64 + nanoseconds;
            check(
                &file,
                &format!("0 {time} 10.0.0.1:5000 > 10.0.0.2:6000 payload\n"),
            );
        }
    }
}

#[test]
fn pcapng_interfaces_have_links_resolutions_and_offsets_of_their_own() {
    for order in [Order::Little, Order::Big] {
        let ten = match order {
            Order::Little => 10i64.to_le_bytes(),
            Order::Big => 10i64.to_be_bytes(),
        };
        let raw = ipv4(17, 0, &udp(DATA));
        let file = [
            section(order),
            interface(order, 1, &[]),
            interface(order, 101, &[(9, &[9])]),
            interface(order, 101, &[(9, &[0x81]), (14, &ten)]),
            enhanced(order, 0, 7, &datagram()),
            enhanced(order, 1, 7, &raw),
            enhanced(order, 2, 7, &raw),
        ];
        let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
        check(
            &file.concat(),
            &format!("0 7000 {ends}\n1 7 {ends}\n2 13500000000 {ends}\n"),
        );
    }
}

#[test]
fn a_new_pcapng_section_forgets_interfaces_and_may_turn_the_bytes_round() {
    let file = [
        section(Order::Little),
        interface(Order::Little, 1, &[]),
        enhanced(Order::Little, 0, 1, &datagram()),
        section(Order::Big),
        enhanced(Order::Big, 0, 1, &datagram()),
        interface(Order::Big, 1, &[]),
        enhanced(Order::Big, 0, 2, &datagram()),
    ];
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
    check(&file.concat(), &format!("0 1000 {ends}\n2 2000 {ends}\n"));
    let expected = Counts {
        frames: 3,
        payloads: 2,
        broken_blocks: 1,
        ..Counts::default()
    };
    check_counts(&file.concat(), expected);
}

#[test]
fn pcapng_simple_and_obsolete_packets_are_read_and_other_blocks_stepped_over() {
    let order = Order::Little;
    let length = u32::try_from(datagram().len()).expect("fits");
    let simple = [&order.u32(length)[..], &datagram()].concat();
    let head = [0, 0, 9, length, length]
        .map(|value| order.u32(value))
        .concat();
    let file = [
        section(order),
        interface(order, 1, &[]),
        block(order, 0xbad, &[1; 20]),
        block(order, 2, &[&head[..], &datagram()].concat()),
        block(order, 3, &simple),
    ];
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000 payload";
    check(&file.concat(), &format!("0 9000 {ends}\n1 9000 {ends}\n"));
}

#[test]
fn a_file_that_is_no_capture_says_what_it_is() {
    let says = |file: &[u8]| {
        UdpPayloads::new(file)
            .err()
            .map(|error: PcapError| error.to_string())
    };
    let expected = |text: &str| Some(text.to_owned());
    assert_eq!(
        says(b""),
        expected("the file is empty; a capture starts with a header")
    );
    assert_eq!(
        says(b"GIF89a"),
        expected("not a pcap or pcapng file: it starts with 47 49 46 38")
    );
    assert_eq!(
        says(b"\x1f\x8b\x08\x00"),
        expected("the file is compressed (gzip); unpack it first")
    );
    assert_eq!(
        says(&pcap(ETHERNET, &[])[..10]),
        expected("the file ends inside its header, after 10 of 24 bytes")
    );
}

#[test]
fn a_file_that_is_cut_keeps_what_is_whole() {
    let file = pcap(ETHERNET, &[datagram(), datagram()]);
    let second = file.len() - datagram().len() - 16;
    for length in second + 1..file.len() {
        let (lines, counts, ending) = read(&file[..length]);
        assert_eq!((lines.lines().count(), counts.frames), (1, 1));
        assert_eq!(ending, format!("Cut {{ offset: {second} }}"));
    }
    assert_eq!(read(&file[..second]).2, "Whole");
}

#[test]
fn a_length_that_lies_costs_no_memory_and_is_told() {
    let mut file = pcap(ETHERNET, &[datagram()]);
    let second = file.len();
    file.extend([
        3, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3,
    ]);
    let (lines, counts, ending) = read(&file);
    assert_eq!((lines.lines().count(), counts.oversized), (1, 1));
    assert_eq!(ending, format!("Cut {{ offset: {second} }}"));

    let order = Order::Little;
    let mut file = [section(order), interface(order, 1, &[])].concat();
    let broken = file.len();
    file.extend([6, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        read(&file).2,
        format!("Broken {{ offset: {broken}, length: 7 }}")
    );
}

#[test]
fn an_error_of_the_system_keeps_what_came_before_it() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let file = pcap(ETHERNET, &[datagram()]);
    let mut payloads = UdpPayloads::new(file.chain(Fails)).expect("a header");
    assert!(payloads.next().is_some());
    assert!(payloads.next().is_none());
    let Ending::Failed { offset, error } = payloads.ending() else {
        panic!("{:?}", payloads.ending())
    };
    assert_eq!(
        (*offset, error.to_string().as_str()),
        (file.len() as u64, "the disk is gone")
    );
}

// ---- layers

#[test]
fn links_that_carry_ip() {
    let v4 = ipv4(17, 0, &udp(DATA));
    let v6 = ipv6(17, &udp(DATA));
    let four = "10.0.0.1:5000 > 10.0.0.2:6000";
    let six = "[fe80::1]:5000 > [fe80::2]:6000";
    let vlan = [&[0, 5, 0x08, 0x00][..], &v4].concat();
    let two_vlans = [&[0, 5, 0x81, 0x00, 0, 6, 0x08, 0x00][..], &v4].concat();
    let sll = [&[0; 14][..], &[0x86, 0xdd], &v6].concat();
    let sll2 = [&[0x08, 0x00][..], &[0; 18], &v4].concat();
    let cases = [
        (1, ethernet(0x0800, &v4), four),
        (1, ethernet(0x86dd, &v6), six),
        (1, ethernet(0x8100, &vlan), four),
        (1, ethernet(0x88a8, &two_vlans), four),
        (113, sll, six),
        (276, sll2, four),
        (101, v4.clone(), four),
        (101, v6.clone(), six),
        (228, v4.clone(), four),
        (229, v6.clone(), six),
        (0, [&[2, 0, 0, 0][..], &v4].concat(), four),
        (0, [&[0, 0, 0, 30][..], &v6].concat(), six),
        (108, [&[0, 0, 0, 2][..], &v4].concat(), four),
        (12, v4.clone(), four),
        (14, v6.clone(), six),
        (9, [&[0xff, 3, 0, 0x21][..], &v4].concat(), four),
        (9, [&[0, 0x57][..], &v6].concat(), six),
        (9, [&[0x21][..], &v4].concat(), four),
        (50, [&[0xff, 3, 0, 0x57][..], &v6].concat(), six),
    ];
    for (link, frame, ends) in cases {
        check(
            &pcap(link, &[frame]),
            &format!("0 3000005000 {ends} payload\n"),
        );
    }
}

/// A session frame of PPPoE around what PPP's protocol says.
fn pppoe(protocol: u16, packet: &[u8]) -> Vec<u8> {
    let length = u16::try_from(2 + packet.len()).expect("fits");
    let head = [&[0x11, 0, 0, 9][..], &length.to_be_bytes()].concat();
    [&head, &protocol.to_be_bytes()[..], packet].concat()
}

#[test]
fn pppoe_sessions_carry_ip() {
    let four = pppoe(0x21, &ipv4(17, 0, &udp(DATA)));
    let six = pppoe(0x57, &ipv6(17, &udp(DATA)));
    let vlan = [&[0, 7, 0x88, 0x64][..], &four].concat();
    let sll = [&[0; 14][..], &[0x88, 0x64], &four].concat();
    let sll2 = [&[0x88, 0x64][..], &[0; 18], &six].concat();
    let v4 = "10.0.0.1:5000 > 10.0.0.2:6000";
    let v6 = "[fe80::1]:5000 > [fe80::2]:6000";
    let cases = [
        (1, ethernet(0x8864, &four), v4),
        (1, ethernet(0x8864, &six), v6),
        (1, ethernet(0x8100, &vlan), v4),
        (113, sll, v4),
        (276, sll2, v6),
        (51, six, v6),
    ];
    for (link, frame, ends) in cases {
        let line = format!("0 3000005000 {ends} payload\n");
        check(&pcap(link, &[frame]), &line);
    }
}

/// MPLS labels, the last one marked.
fn mpls(labels: usize, packet: &[u8]) -> Vec<u8> {
    let label = |n| [0, 1, 0x40 | u8::from(n + 1 == labels), 64];
    let stack: Vec<[u8; 4]> = (0..labels).map(label).collect();
    [&stack.concat(), packet].concat()
}

/// A frame of 802.3: its length, LLC and SNAP, filled up.
fn snap(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let llc = [
        &[0xaa, 0xaa, 3, 0, 0, 0][..],
        &ether_type.to_be_bytes(),
        packet,
    ]
    .concat();
    let length = u16::try_from(llc.len()).expect("fits");
    ethernet(length, &[&llc[..], &[0; 7]].concat())
}

/// Tags of VLANs around an IPv4 packet.
fn tagged(tags: usize, packet: &[u8]) -> Vec<u8> {
    let tag = |n| match n + 1 == tags {
        true => [0, 5, 0x08, 0x00],
        false => [0, 5, 0x81, 0x00],
    };
    let stack: Vec<[u8; 4]> = (0..tags).map(tag).collect();
    ethernet(0x8100, &[&stack.concat(), packet].concat())
}

#[test]
fn labels_of_mpls_carry_ip() {
    let (v4, v6) = (ipv4(17, 0, &udp(DATA)), ipv6(17, &udp(DATA)));
    let four = "10.0.0.1:5000 > 10.0.0.2:6000";
    let six = "[fe80::1]:5000 > [fe80::2]:6000";
    let vlan = [&[0, 5, 0x88, 0x47][..], &mpls(2, &v4)].concat();
    let sll = [&[0; 14][..], &[0x88, 0x47], &mpls(1, &v4)].concat();
    let cases = [
        (1, ethernet(0x8847, &mpls(1, &v4)), four),
        (1, ethernet(0x8848, &mpls(1, &v6)), six),
        (1, ethernet(0x8847, &mpls(12, &v4)), four),
        (1, ethernet(0x8100, &vlan), four),
        (1, snap(0x8847, &mpls(1, &v4)), four),
        (113, sll, four),
        (9, [&[2, 0x81][..], &mpls(1, &v4)].concat(), four),
    ];
    for (link, frame, ends) in cases {
        let line = format!("0 3000005000 {ends} payload\n");
        check(&pcap(link, &[frame]), &line);
    }
}

#[test]
fn llc_with_snap_carries_ip() {
    let (v4, v6) = (ipv4(17, 0, &udp(DATA)), ipv6(17, &udp(DATA)));
    let four = "10.0.0.1:5000 > 10.0.0.2:6000";
    let six = "[fe80::1]:5000 > [fe80::2]:6000";
    let vlan = [&[0, 5, 0x08, 0][..], &v4].concat();
    let inside_vlan = [&[0, 5][..], &snap(0x0800, &v4)[12..]].concat();
    let sll = [&[0; 14][..], &[0, 4], &snap(0x0800, &v4)[14..]].concat();
    let cases = [
        (1, snap(0x0800, &v4), four),
        (1, snap(0x86dd, &v6), six),
        (1, snap(0x8100, &vlan), four),
        (1, ethernet(0x8100, &inside_vlan), four),
        (113, sll, four),
    ];
    for (link, frame, ends) in cases {
        let line = format!("0 3000005000 {ends} payload\n");
        check(&pcap(link, &[frame]), &line);
    }
}

#[test]
fn eight_tags_of_vlans_are_read_and_a_hundred_are_told() {
    let v4 = ipv4(17, 0, &udp(DATA));
    for tags in 1..=8 {
        let line = "0 3000005000 10.0.0.1:5000 > 10.0.0.2:6000 payload\n";
        check(&pcap(ETHERNET, &[tagged(tags, &v4)]), line);
    }
    let expected = Counts {
        frames: 2,
        unreadable: 2,
        ..Counts::default()
    };
    let nested = (0..30).fold(snap(0x0800, &v4), |frame, _| snap(0x8100, &frame[10..]));
    check_counts(&pcap(ETHERNET, &[tagged(100, &v4), nested]), expected);
}

#[test]
fn what_mpls_and_llc_carry_that_is_no_ip_or_cut_is_counted() {
    let v4 = ipv4(17, 0, &udp(DATA));
    let ethernet_inside = ethernet(0x8847, &mpls(1, &[&[0; 4][..], &datagram()].concat()));
    let spanning_tree = ethernet(38, &[&[0x42, 0x42, 3][..], &[0; 43]].concat());
    let empty = ethernet(0, &[0; 46]);
    let labels_cut = ethernet(0x8847, &mpls(3, &v4)[..8]);
    let snap_cut = snap(0x0800, &v4)[..14 + 5].to_vec();
    let file = pcap(
        ETHERNET,
        &[ethernet_inside, spanning_tree, empty, labels_cut, snap_cut],
    );
    let expected = Counts {
        frames: 5,
        not_ip: 3,
        unreadable: 2,
        ..Counts::default()
    };
    check_counts(&file, expected);
}

#[test]
fn what_pppoe_says_for_itself_is_no_ip() {
    let echo = pppoe(0xc021, &[9, 1, 0, 8, 0, 0, 0, 0]);
    let discovery = [0x11, 9, 0, 0, 0, 0];
    let file = pcap(
        ETHERNET,
        &[ethernet(0x8864, &echo), ethernet(0x8863, &discovery)],
    );
    let expected = Counts {
        frames: 2,
        not_ip: 2,
        ..Counts::default()
    };
    check_counts(&file, expected);
}

#[test]
fn ip_in_ip_is_read_to_the_datagram_inside() {
    let four = ipv4(17, 0, &udp(DATA));
    let six = ipv6(17, &udp(DATA));
    let v4 = "10.0.0.1:5000 > 10.0.0.2:6000";
    let v6 = "[fe80::1]:5000 > [fe80::2]:6000";
    let cases = [
        (ipv6(4, &four), v4),
        (ipv4(41, 0, &six), v6),
        (ipv4(4, 0, &four), v4),
        (ipv6(41, &ipv6(4, &four)), v4),
    ];
    for (packet, ends) in cases {
        let line = format!("0 3000005000 {ends} payload\n");
        check(&pcap(101, &[packet]), &line);
    }
}

#[test]
fn ip_in_ip_without_end_is_not_followed() {
    let deep = (0..200).fold(ipv4(17, 0, &udp(DATA)), |packet, _| ipv4(4, 0, &packet));
    let expected = Counts {
        frames: 1,
        unreadable: 1,
        ..Counts::default()
    };
    check_counts(&pcap(101, &[deep]), expected);
}

#[test]
fn fragments_of_a_tunnel_are_put_together() {
    let inner = ipv4(17, 0, &udp(b"0123456789abcdef"));
    let part = |from: usize, to: usize| {
        let offset = u16::try_from(from).expect("fits") | u16::from(to < inner.len());
        let header = [&[4, 0][..], &offset.to_be_bytes(), &[0, 0, 0, 9]].concat();
        ipv6(44, &[&header, &inner[from..to]].concat())
    };
    check(
        &pcap(101, &[part(0, 24), part(24, inner.len())]),
        "1 3000005000 10.0.0.1:5000 > 10.0.0.2:6000 0123456789abcdef\n",
    );
}

#[test]
fn the_padding_of_a_short_ethernet_frame_is_no_payload() {
    let frame = [&datagram()[..], &[0; 20]].concat();
    check(
        &pcap(ETHERNET, &[frame]),
        "0 3000005000 10.0.0.1:5000 > 10.0.0.2:6000 payload\n",
    );
}

#[test]
fn a_frame_that_was_cut_says_so() {
    let mut file = pcap_header(Order::Little, 0xa1b2_c3d4, ETHERNET);
    let frame = datagram();
    file.extend(pcap_frame(Order::Little, 5, &frame, frame.len() - 3));
    file.extend(pcap_frame(Order::Little, 5, &frame, 14 + 20 + 8));
    file.extend(pcap_frame(Order::Little, 5, &frame, 14 + 20 + 7));
    file.extend(pcap_frame(Order::Little, 5, &frame, 14 + 19));
    file.extend(pcap_frame(Order::Little, 5, &frame, 13));
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000";
    check(
        &file,
        &format!("0 3000005000 {ends} payl cut\n1 3000005000 {ends}  cut\n"),
    );
    let expected = Counts {
        frames: 5,
        payloads: 2,
        cut: 2,
        unreadable: 3,
        ..Counts::default()
    };
    check_counts(&file, expected);
}

#[test]
fn what_is_no_udp_is_counted() {
    let arp = ethernet(0x0806, &[0, 1, 8, 0, 6, 4, 0, 1].repeat(4));
    let tcp = ethernet(0x0800, &ipv4(6, 0, &[0x50; 20]));
    let sctp = ethernet(0x0800, &ipv4(132, 0, &[0; 12]));
    let file = pcap(ETHERNET, &[arp, ethernet(0x1234, &[0; 40]), tcp, sctp]);
    let expected = Counts {
        frames: 4,
        not_ip: 2,
        not_udp: 2,
        ..Counts::default()
    };
    check_counts(&file, expected);
    let expected = Counts {
        frames: 1,
        unknown_links: [(147, 1)].into(),
        ..Counts::default()
    };
    check_counts(&pcap(147, &[vec![0; 40]]), expected);
}

#[test]
fn fragments_are_put_together_in_any_order() {
    let whole = udp(b"0123456789abcdefghijklmnopqrstuvwxyz");
    let part = |from: usize, to: usize| {
        let more = if to < whole.len() { 0x2000 } else { 0 };
        let fragment = more | u16::try_from(from / 8).expect("fits");
        ethernet(0x0800, &ipv4(17, fragment, &whole[from..to]))
    };
    let file = pcap(
        ETHERNET,
        &[part(32, 44), datagram(), part(0, 16), part(16, 32)],
    );
    let ends = "10.0.0.1:5000 > 10.0.0.2:6000";
    let text = "0123456789abcdefghijklmnopqrstuvwxyz";
    check(
        &file,
        &format!("1 3000005000 {ends} payload\n3 3000005000 {ends} {text}\n"),
    );
    let expected = Counts {
        frames: 4,
        payloads: 2,
        fragments: 3,
        reassembled: 1,
        ..Counts::default()
    };
    check_counts(&file, expected);
}

#[test]
fn ipv6_fragments_are_put_together() {
    let whole = udp(b"0123456789abcdef");
    let part = |from: usize, to: usize| {
        let offset = u16::try_from(from).expect("fits") | u16::from(to < whole.len());
        let header = [&[17, 0][..], &offset.to_be_bytes(), &[0, 0, 0, 9]].concat();
        ipv6(44, &[&header, &whole[from..to]].concat())
    };
    check(
        &pcap(101, &[part(0, 16), part(16, 24)]),
        "1 3000005000 [fe80::1]:5000 > [fe80::2]:6000 0123456789abcdef\n",
    );
}

#[test]
fn fragments_that_never_all_come_are_counted_and_bounded() {
    let first = |id: u16| {
        let mut packet = ipv4(17, 0x2000, &udp(b"01234567"));
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        ethernet(0x0800, &packet)
    };
    let frames: Vec<Vec<u8>> = (0..1000).map(first).collect();
    let expected = Counts {
        frames: 1000,
        fragments: 1000,
        incomplete: 1000,
        ..Counts::default()
    };
    check_counts(&pcap(ETHERNET, &frames), expected);
}

// ---- captures of real programs

/// Frames and UDP payloads as tshark counts them (`tshark -Y udp`, with reassembly).
#[test]
fn real_captures_give_as_many_payloads_as_tshark() {
    let folder = std::env::var_os("NETREEL_CAPTURES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures"),
        PathBuf::from,
    );
    if !folder.is_dir() {
        skipped(format_args!("no folder {}", folder.display()));
        return;
    }
    let cases = [
        ("enet_c.pcap", 7701, 7701, 748_200),
        ("godot3_enet.pcap", 5740, 5740, 479_731),
        ("kcp.pcap", 50, 50, 33_184),
        ("minetest.pcap", 13_093, 13_093, 2_934_608),
        ("nintendo.pcap", 1000, 869, 270_498),
        ("raknet.pcap", 66, 66, 6616),
        ("roblox.pcapng", 78, 44, 20_059),
        ("steam.pcapng", 48, 8, 872),
    ];
    for (name, frames, payloads, bytes) in cases {
        let file = std::fs::File::open(folder.join(name)).expect("a capture of the folder");
        let mut reader = UdpPayloads::new(file).expect("a header");
        let read: usize = reader.by_ref().map(|payload| payload.payload.len()).sum();
        let counts = reader.counts();
        assert_eq!(
            (name, counts.frames, counts.payloads, read),
            (name, frames, payloads, bytes)
        );
        assert_eq!(
            (counts.cut, counts.unreadable, counts.broken_blocks),
            (0, 0, 0)
        );
        assert!(matches!(reader.ending(), Ending::Whole), "{name}");
    }
}

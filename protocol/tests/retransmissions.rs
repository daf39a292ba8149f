//! Messages that were sent again, and round trips, of ENet, RakNet, KCP and Minetest: as many and as
//! long as the bytes of captures say. The bytes are read here by hand, from the captures' own headers
//! on; nothing of that is shared with what is tested.

#[path = "../../tests/support/skipped.rs"]
mod skipped;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_capture::import::{Origin, Target, import};
use netreel_protocol::history::History;
use netreel_protocol::session::{NodeId, PacketId, ReelInput, Session};
use netreel_protocol::stats::Stats;
use netreel_reel::{Append, AppendError, Reel};
use netreel_wire::Wire;
use skipped::skipped;

/// An address and a port.
type End = (Vec<u8>, u16);

/// A UDP packet of a capture.
struct Datagram {
    at_ns: u64,
    from: End,
    to: End,
    payload: Vec<u8>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u24_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The UDP packets of a classic capture with times in microseconds.
fn datagrams(capture: &[u8]) -> Vec<Datagram> {
    assert_eq!(capture[..4], [0xd4, 0xc3, 0xb2, 0xa1], "its byte order");
    let link_header = match u32_at(capture, 20) {
        1 => 14,
        113 => 16,
        276 => 20,
        101 | 228 => 0,
        other => panic!("a link type that the test does not know: {other}"),
    };
    let (mut all, mut at) = (Vec::new(), 24);
    while at + 16 <= capture.len() {
        let (seconds, micros) = (u32_at(capture, at), u32_at(capture, at + 4));
        let kept = u32_at(capture, at + 8) as usize;
        let ip = &capture[at + 16 + link_header..at + 16 + kept];
        at += 16 + kept;
        let (protocol, header, addresses) = match ip[0] >> 4 {
            4 => (ip[9], usize::from(ip[0] & 15) * 4, [12..16, 16..20]),
            _ => (ip[6], 40, [8..24, 24..40]),
        };
        if protocol != 17 {
            continue;
        }
        let udp = &ip[header..];
        let [from, to] = addresses.map(|address| ip[address].to_vec());
        all.push(Datagram {
            at_ns: u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000,
            from: (from, u16_at(udp, 0)),
            to: (to, u16_at(udp, 2)),
            payload: udp[8..usize::from(u16_at(udp, 4))].to_vec(),
        });
    }
    all
}

/// What a packet says that matters here. Numbers are those of a stream.
#[derive(Clone, Copy)]
enum Said {
    /// A reliable message, and when this copy of it was sent, where it says so.
    Reliable(u32, u32, Option<u32>),
    /// One of the other's messages came: the copy that was sent then, where that comes back.
    Came(u32, u32, Option<u32>),
    /// All of the other's messages before this one came.
    CameBefore(u32, u32),
    /// The packet's own number.
    Number(u32),
    /// The other's packets from one number to another came.
    Packets(u32, u32),
}

/// 1.3, without checksum and compression.
fn enet(bytes: &[u8]) -> Vec<Said> {
    let has_time = bytes[0] & 0x80 != 0;
    let sent = has_time.then(|| u16_at(bytes, 2).into());
    let mut at = if has_time { 4 } else { 2 };
    let mut said = Vec::new();
    while at < bytes.len() {
        let (command, channel) = (bytes[at], u32::from(bytes[at + 1]));
        if command & 0x80 != 0 {
            said.push(Said::Reliable(channel, u16_at(bytes, at + 2).into(), sent));
        }
        let (length, size_at) = match command & 15 {
            1 => (8, 0),
            2 => (48, 0),
            3 => (44, 0),
            4 => (8, 0),
            5 => (4, 0),
            6 => (6, 4),
            7 | 9 => (8, 6),
            8 | 12 => (24, 6),
            10 => (12, 0),
            11 => (16, 0),
            other => panic!("ENet has no command {other}"),
        };
        if command & 15 == 1 {
            let echoed = Some(u16_at(bytes, at + 6).into());
            said.push(Said::Came(channel, u16_at(bytes, at + 4).into(), echoed));
        }
        let data = match size_at {
            0 => 0,
            by => usize::from(u16_at(bytes, at + by)),
        };
        at += length + data;
    }
    said
}

fn minetest(bytes: &[u8]) -> Vec<Said> {
    if bytes.len() < 10 {
        return Vec::new();
    }
    let channel = u32::from(bytes[6]);
    match (bytes[7], bytes[8]) {
        (3, _) => vec![Said::Reliable(channel, u16_at(bytes, 8).into(), None)],
        (0, 0) => vec![Said::Came(channel, u16_at(bytes, 9).into(), None)],
        _ => Vec::new(),
    }
}

fn kcp(bytes: &[u8]) -> Vec<Said> {
    let (mut said, mut at) = (Vec::new(), 0);
    if bytes[..4] == [0xf0, 0x0f, 0xf0, 0x0f] {
        return said; // its clock
    }
    let mut before = Vec::new();
    while at < bytes.len() {
        let (stream, number) = (u32_at(bytes, at), u32_at(bytes, at + 12));
        let time = Some(u32_at(bytes, at + 8));
        match bytes[at + 4] {
            81 => said.push(Said::Reliable(stream, number, time)),
            82 => said.push(Said::Came(stream, number, time)),
            _ => {}
        }
        before.push(Said::CameBefore(stream, u32_at(bytes, at + 16)));
        at += 24 + u32_at(bytes, at + 20) as usize;
    }
    // What names one segment is taken before what names all before another.
    said.extend(before);
    said
}

fn raknet(bytes: &[u8]) -> Vec<Said> {
    let mut said = Vec::new();
    match bytes[0] {
        0..0x80 => {}    // outside connections
        0xa0..0xc0 => {} // what is missing
        0xc0.. => {
            let mut at = if bytes[0] & 0x20 != 0 { 5 } else { 1 };
            let count = u16_at(bytes, at);
            at += 2;
            for _ in 0..count {
                let (is_single, first) = (bytes[at] != 0, u24_at(bytes, at + 1));
                let last = if is_single {
                    first
                } else {
                    u24_at(bytes, at + 4)
                };
                said.push(Said::Packets(first, last));
                at += if is_single { 4 } else { 7 };
            }
        }
        _ => {
            said.push(Said::Number(u24_at(bytes, 1)));
            let mut at = 4;
            while at < bytes.len() {
                let (reliability, is_split) = (bytes[at] >> 5, bytes[at] & 0x10 != 0);
                let length = usize::from(u16_at(bytes, at + 1)).div_ceil(8);
                at += 3;
                if matches!(reliability, 2..=4) {
                    said.push(Said::Reliable(0, u24_at(bytes, at), None));
                    at += 3;
                }
                at += match reliability {
                    1 | 4 => 7,
                    3 => 4,
                    _ => 0,
                };
                at += if is_split { 10 } else { 0 } + length;
            }
        }
    }
    said
}

/// A packet's place in the capture, and the time that it says.
type Carrier = (usize, Option<u32>);

/// What was counted of the packets from one end to another.
#[derive(Default)]
struct Flow {
    resent: u64,
    /// The packets that carried each message, by their place in the capture, with the time that they
    /// say.
    carriers: BTreeMap<(u32, u32), Vec<Carrier>>,
    /// Messages of which a copy that was not the only one is known to have come.
    exact: BTreeSet<(u32, u32)>,
    /// How many packets that is.
    told_exactly: u64,
    numbers: BTreeMap<u32, usize>,
    /// The packets whose arrival the other end has told, and how long that took where no other copy
    /// can be meant.
    known: BTreeMap<usize, Option<u64>>,
    settled: BTreeSet<(u32, u32)>,
}

impl Flow {
    fn came(&mut self, key: (u32, u32), echoed: Option<u32>, at_ns: u64, all: &[Datagram]) {
        let Some(carriers) = self.carriers.get(&key) else {
            return;
        };
        let then = carriers
            .iter()
            .filter(|it| it.1.is_some() && it.1 == echoed);
        if let ([_, _, ..], [(one, _)]) = (&carriers[..], &then.collect::<Vec<_>>()[..]) {
            let took = at_ns - all[*one].at_ns;
            self.told_exactly += u64::from(!self.known.contains_key(one));
            self.known.entry(*one).or_insert(Some(took));
            self.settled.insert(key);
            self.exact.insert(key);
            return;
        }
        if self.exact.contains(&key) {
            return;
        }
        let (last, _) = *carriers.last().expect("one at the least");
        let took = match carriers.len() {
            1 => Some(at_ns - all[last].at_ns),
            _ => None,
        };
        self.settled.insert(key);
        self.known.entry(last).or_insert(took);
    }
}

/// Counts what the packets say.
fn counted(all: &[Datagram], read: fn(&[u8]) -> Vec<Said>) -> BTreeMap<(End, End), Flow> {
    let mut flows: BTreeMap<(End, End), Flow> = BTreeMap::new();
    for (place, packet) in all.iter().enumerate() {
        let ends = (packet.from.clone(), packet.to.clone());
        let back = (packet.to.clone(), packet.from.clone());
        flows.entry(ends.clone()).or_default();
        for said in read(&packet.payload) {
            let is_own = matches!(said, Said::Reliable(..) | Said::Number(..));
            let ends = if is_own { &ends } else { &back };
            let Some(flow) = flows.get_mut(ends) else {
                continue;
            };
            match said {
                Said::Reliable(stream, number, time) => {
                    let carriers = flow.carriers.entry((stream, number)).or_default();
                    flow.resent += u64::from(!carriers.is_empty());
                    carriers.push((place, time));
                }
                Said::Number(number) => {
                    flow.numbers.insert(number, place);
                }
                Said::Came(stream, number, echoed) => {
                    flow.came((stream, number), echoed, packet.at_ns, all);
                }
                Said::CameBefore(stream, number) => {
                    let new = flow.carriers.range((stream, 0)..(stream, number));
                    let new = new.map(|(&key, _)| key);
                    let new: Vec<_> = new.filter(|key| !flow.settled.contains(key)).collect();
                    new.into_iter()
                        .for_each(|key| flow.came(key, None, packet.at_ns, all));
                }
                Said::Packets(first, last) => {
                    for number in first..=last {
                        if let Some(&place) = flow.numbers.get(&number) {
                            let took = packet.at_ns - all[place].at_ns;
                            flow.known.entry(place).or_insert(Some(took));
                        }
                    }
                }
            }
        }
    }
    flows
}

/// Bytes of a reel that outlive its writer.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Append for &mut Kept {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The capture as the reel of one observer, read with a wire.
fn session(capture: &Path, wire: &str) -> Session {
    let mut file = std::fs::File::open(capture).expect("a capture");
    let origin = Origin::of(capture, &mut file).expect("a file");
    let mut reel = Kept::default();
    let target = Target {
        out: &mut reel,
        node: None,
    };
    import(file, &origin, vec![target]).expect("a capture");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/wires");
    let name = format!("{wire}.wire");
    let text = std::fs::read_to_string(root.join(&name)).expect("a wire");
    let wire = Wire::compile(&name, &text).expect("it compiles");
    let input = ReelInput {
        name: "captured.reel".to_owned(),
        reel: Arc::new(Reel::from_bytes(reel.0).expect("a reel")),
    };
    Session::builder()
        .wire(Arc::new(wire))
        .build(vec![input])
        .expect("a session")
}

/// Resends, and of the round trips the shortest, the middle one, and the longest.
type Told = (u64, Option<[i64; 3]>);

/// How many messages were sent again, and of how many packets with such messages an ack says by the time
/// that it returns that it was they that came. `left_out`: of packets at these ports the test cannot read
/// the bytes.
#[track_caller]
fn check(capture: &Path, wire: &str, read: fn(&[u8]) -> Vec<Said>, left_out: &[u16]) -> (u64, u64) {
    let bytes = std::fs::read(capture).expect("a capture");
    let mut all = datagrams(&bytes);
    let is_left_out = |end: &End| left_out.contains(&end.1);
    all.retain(|it| !is_left_out(&it.from) && !is_left_out(&it.to));
    let session = session(capture, wire);
    let node = |(address, port): &End| {
        let is_it = |it: &&netreel_reel::Endpoint| {
            let own = match it.ip() {
                std::net::IpAddr::V4(own) => own.octets().to_vec(),
                std::net::IpAddr::V6(own) => own.octets().to_vec(),
            };
            own == *address && it.port() == *port
        };
        let mut nodes = session.nodes.iter();
        let place = nodes.position(|node| node.endpoints.iter().any(|it| is_it(&it)));
        NodeId(place.expect("each end is of a node") as u16)
    };
    let mut expected: BTreeMap<(NodeId, NodeId), (u64, Vec<i64>)> = BTreeMap::new();
    let mut told_exactly = 0;
    for ((from, to), flow) in counted(&all, read) {
        let link = expected.entry((node(&from), node(&to))).or_default();
        link.0 += flow.resent;
        told_exactly += flow.told_exactly;
        let rounds = flow.known.into_values().flatten();
        link.1.extend(rounds.map(|round| round as i64));
    }
    let expected = expected.into_iter().map(|(link, (resent, mut rounds))| {
        rounds.sort_unstable();
        let ends = rounds.first().zip(rounds.last());
        let spread = ends.map(|(&first, &last)| [first, rounds[rounds.len() / 2], last]);
        (link, (resent, spread))
    });
    let expected: BTreeMap<_, Told> = expected.collect();
    let history = History::build(&session);
    let packets: Vec<PacketId> = (0..session.packet_count() as u32).map(PacketId).collect();
    let stats = Stats::new(&session, &history, &packets);
    let links = stats.links.iter().map(|(&link, it)| {
        let rounds = it.rtt_ns.map(|rtt| [rtt.min, rtt.median, rtt.max]);
        (link, (it.resent, rounds))
    });
    let links = links.filter(|(link, _)| expected.contains_key(link));
    assert_eq!(
        links.collect::<BTreeMap<_, Told>>(),
        expected,
        "{capture:?}"
    );
    (expected.values().map(|told| told.0).sum(), told_exactly)
}

/// A capture of the repository.
fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("wire/tests/recordings")
        .join(name)
}

/// A capture of two ends, written by hand: when each packet passed, in ms, whether the first end sent it,
/// and its bytes.
fn by_hand(packets: &[(u32, bool, Vec<u8>)]) -> tempfile::NamedTempFile {
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 228];
    let mut bytes: Vec<u8> = header.iter().flat_map(|it| it.to_le_bytes()).collect();
    for (at_ms, is_first, payload) in packets {
        let (from, to) = if *is_first { (1u8, 2u8) } else { (2, 1) };
        let udp = 8 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend([10, 0, 0, from, 10, 0, 0, to]);
        for half in [5000 + u16::from(from), 5000 + u16::from(to), udp, 0] {
            packet.extend(half.to_be_bytes());
        }
        packet.extend(payload);
        let length = packet.len() as u32;
        for word in [at_ms / 1000, at_ms % 1000 * 1000, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packet);
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("a capture");
    file
}

/// The first copy is lost; the second one is slow, and its ack comes behind a third; of the last two,
/// which were sent within a millisecond, nobody can say which came.
fn said_again(says: impl Fn(u8, u32) -> Vec<u8>, came: impl Fn(u8, u32) -> Vec<u8>) -> (u64, u64) {
    let capture = by_hand(&[
        (0, true, says(0, 100)),
        (20, false, came(0, 100)),
        (200, true, says(1, 300)),
        (400, true, says(1, 500)),
        (430, false, came(1, 500)),
        (500, true, says(2, 600)),
        (700, true, says(2, 800)),
        (720, false, came(2, 600)),
        (900, true, says(3, 1000)),
        (900, true, says(3, 1000)),
        (930, false, came(3, 1000)),
    ]);
    // What is counted from the bytes is what is told, or `check` fails.
    match says(0, 0).len() {
        25.. => check(capture.path(), "kcp", kcp, &[]),
        _ => check(capture.path(), "enet", enet, &[]),
    }
}

#[test]
fn an_ack_that_returns_the_time_of_a_copy_counts_for_that_one() {
    let segment = |command: u8, time: u32, number: u8, before: u8| {
        let mut bytes = vec![10, 0, 0, 0, command, 0, 128, 0];
        bytes.extend(time.to_le_bytes());
        bytes.extend([number, 0, 0, 0, before, 0, 0, 0]);
        bytes
    };
    let push = |number, time| [&segment(81, time, number, 0)[..], &[1, 0, 0, 0, 7]].concat();
    let ack = |number, time| [&segment(82, time, number, number + 1)[..], &[0; 4]].concat();
    assert_eq!(said_again(push, ack), (3, 2));
    let header = |time: u32| [&[0x80, 0], &(time as u16).to_be_bytes()[..]].concat();
    let send = |number, time| [&header(time)[..], &[0x86, 0, 0, number, 0, 1, 7]].concat();
    let ack = |number, time: u32| {
        let time = (time as u16).to_be_bytes();
        [&header(0)[..], &[1, 0, 0, 0, 0, number], &time].concat()
    };
    assert_eq!(said_again(send, ack), (3, 2));
}

/// A capture that is too large for the repository, or not ours: in `../shared/captures`, or in
/// `NETREEL_CAPTURES`. Says so where it is not there.
fn capture(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("NETREEL_CAPTURES").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures");
    let path = folder.unwrap_or_else(beside).join(name);
    if path.is_file() {
        return Some(path);
    }
    skipped(format_args!("there is no {}", path.display()));
    None
}

/// Compressed, and with a checksum.
const PACKED: u16 = 7778;

#[test]
fn enet_is_counted_as_its_bytes_say() {
    check(&recording("enet.pcap"), "enet", enet, &[PACKED]);
    check(&recording("enet_godot3.pcap"), "enet", enet, &[]);
    for name in ["enet_c.pcap", "godot3_enet.pcap"] {
        if let Some(capture) = capture(name) {
            assert_eq!(check(&capture, "enet", enet, &[PACKED]), (0, 0));
        }
    }
}

#[test]
fn minetest_is_counted_as_its_bytes_say() {
    check(&recording("minetest.pcap"), "minetest", minetest, &[]);
    if let Some(capture) = capture("minetest.pcap") {
        assert_eq!(check(&capture, "minetest", minetest, &[]), (232, 0));
    }
}

#[test]
fn kcp_is_counted_as_its_bytes_say() {
    if let Some(capture) = capture("kcp.pcap") {
        // None of what was sent again there was ever acked.
        assert_eq!(check(&capture, "kcp", kcp, &[]), (8, 0));
    }
}

#[test]
fn raknet_is_counted_as_its_bytes_say() {
    check(&recording("raknet.pcap"), "raknet", raknet, &[]);
    if let Some(capture) = capture("raknet_c.pcap") {
        assert_eq!(check(&capture, "raknet", raknet, &[]), (0, 0));
    }
}

//! What the wire interpreter costs: a packet of 64 bytes and 20 fields, a million RakNet packets
//! beside tshark on the same file, and wires with Huffman codes and deltas.
//!
//! `cargo bench -p netreel-benches --bench decoding`; with `-- --check` it fails where a target of
//! the design is missed. The RakNet packets are those of `../shared/captures/raknet_c.pcap` or of
//! `NETREEL_CAPTURES`, over and over; without them, of the small recording in the repository.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use netreel_benches::claim;
use netreel_capture::pcap::UdpPayloads;
use netreel_reel::Endpoint;
use netreel_wire::{ConnectionState, Context, PacketFacts, Wire};

const FACTS_TARGET_NS: f64 = 150.0;
const FULL_TARGET_NS: f64 = 1000.0;
const TSHARK_TARGET: f64 = 50.0;

const BATCHES: usize = 200;
const BATCH: usize = 1000;
const PACKETS: usize = 1_000_000;

/// The four fields that tshark is asked for.
const FIELDS: [&str; 4] = [
    "raknet.packet_number",
    "raknet.range.packet_number.min",
    "raknet.message.reliability",
    "raknet.reliable.number",
];

/// 64 bytes, 20 fields, no layers: a header, and a message about one object.
const TWENTY_FIELDS: &str = r#"
wire twenty { version = 1; byte_order = little; bit_order = lsb; root = Packet; }

enum Kind : u8 { connect = 0 @connect, create = 1 @create, update = 2 @update, destroy = 3 @destroy }

struct Packet {
    magic: u16 = 0x4e52;
    sequence: u16 @sequence;
    ack: u16 @ack;
    ack_bits: u32 @ack_bits;
    sender: u32 @sender;
    message: Message;
}

struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable;
    priority: u7;
    reliable_sequence: u16 @reliable_sequence;
    object: u32 @object;
    x: f32;
    y: f32;
    z: f32;
    speed_x: f32;
    speed_y: f32;
    speed_z: f32;
    yaw: quantized(-180.0, 180.0, 16);
    pitch: quantized(-90.0, 90.0, 16);
    health: range(0, 65535);
    name: string(12, ascii);
}
"#;

fn main() -> ExitCode {
    let mut missed = twenty_fields();
    println!();
    missed |= million_packets();
    println!();
    for (wire, captures) in [
        (
            "teeworlds07",
            ["protocol/wire/tests/recordings/teeworlds07.pcap", ""],
        ),
        (
            "quake3",
            [
                "openarena_q3.pcap",
                "protocol/wire/tests/recordings/quake3.pcap",
            ],
        ),
    ] {
        repeated(wire, captures);
    }
    let check = std::env::args().any(|argument| argument == "--check");
    if check && missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Whether a target is missed.
fn twenty_fields() -> bool {
    let wire = Wire::compile("twenty.wire", TWENTY_FIELDS).expect("the wire of this bench");
    let mut packet = (0u8..64).collect::<Vec<u8>>();
    packet[..2].copy_from_slice(&0x4e52u16.to_le_bytes());
    packet[14] = 2;
    packet[52..].copy_from_slice(b"a green box\0");
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics, []);
    let leaves = decoded.tree.iter().filter(|node| node.descendants() == 0);
    assert_eq!(leaves.count(), 20, "fields");

    println!("64 bytes, 20 fields, no layers          p50 ns   a field   target");
    let mut facts = PacketFacts::default();
    let quick = median(|| wire.facts(std::hint::black_box(&packet), &mut facts));
    let close = median(|| {
        drop(std::hint::black_box(
            wire.decode(std::hint::black_box(&packet)),
        ))
    });
    let row = |what: &str, ns: f64, target: f64| {
        let verdict = if ns > target { "MISSED" } else { "met" };
        println!(
            "{what:<38} {ns:>7.1} {:>9.2} {target:>8.0}  {verdict}",
            ns / 20.0
        );
        ns > target
    };
    let facts_missed = row("facts", quick, FACTS_TARGET_NS);
    let full_missed = row("full", close, FULL_TARGET_NS);
    claim(
        "a packet of 64 bytes and 20 fields, its facts",
        ("150 ns", Some(facts_missed)),
        format_args!("{quick:.0} ns"),
        "never",
    );
    claim(
        "the same, every field",
        ("1000 ns", Some(full_missed)),
        format_args!("{close:.0} ns"),
        "never",
    );
    facts_missed || full_missed
}

/// Nanoseconds of one call, the middle of all batches.
fn median(mut call: impl FnMut()) -> f64 {
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..BATCH {
                call();
            }
            begin.elapsed().as_nanos() as f64 / BATCH as f64
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    batches[BATCHES / 2]
}

/// Whether the target is missed.
fn million_packets() -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("million.pcap");
    let Some(source) = capture([
        "raknet_c.pcap",
        "protocol/wire/tests/recordings/raknet.pcap",
    ]) else {
        return false;
    };
    repeat(&source, &path);
    let Some(wire) = sample_wire("raknet") else {
        return false;
    };
    println!(
        "{PACKETS} frames of {}, from the file    seconds  packets/s   ns a packet",
        source.display()
    );
    let reading = pass(&path, |_, _, _| ());
    report("reading the file alone", &reading);
    let mut facts = PacketFacts::default();
    let quick = pass(&path, |context, state, packet| {
        wire.facts_in(
            &context,
            state.get_or_insert_with(|| wire.new_state()),
            packet,
            &mut facts,
        );
    });
    report("facts", &quick);
    let close = pass(&path, |context, state, packet| {
        let decoded = wire.decode_in(
            &context,
            state.get_or_insert_with(|| wire.new_state()),
            packet,
        );
        drop(std::hint::black_box(decoded));
    });
    report("full", &close);
    let Some((version, tshark)) = tshark(&path) else {
        return false;
    };
    report(
        &format!("tshark -T fields, four fields ({version})"),
        &Pass {
            packets: PACKETS,
            time: tshark,
        },
    );
    let times = |time: Duration| tshark.as_secs_f64() / time.as_secs_f64();
    let missed = times(quick.time) < TSHARK_TARGET;
    println!(
        "facts: {:.0} times tshark (target {TSHARK_TARGET:.0}: {}), {:.0} times without the reading; full: {:.1} times",
        times(quick.time),
        if missed { "MISSED" } else { "met" },
        times(quick.time.saturating_sub(reading.time)),
        times(close.time),
    );
    claim(
        "a million RakNet packets, from the file to facts",
        ("50 times tshark", Some(missed)),
        format_args!(
            "{:.2} s, {:.0} times",
            quick.time.as_secs_f64(),
            times(quick.time)
        ),
        format_args!(
            "{version}, `-T fields`, four fields: {:.1} s",
            tshark.as_secs_f64()
        ),
    );
    missed
}

/// How long all packets of a file took.
struct Pass {
    packets: usize,
    time: Duration,
}

fn report(what: &str, pass: &Pass) {
    let seconds = pass.time.as_secs_f64();
    println!(
        "{what:<52} {seconds:>9.3} {:>10.0} {:>13.1}",
        pass.packets as f64 / seconds,
        seconds * 1e9 / pass.packets as f64
    );
}

/// Reads a file, and does something with each packet and what is kept of its connection.
fn pass(path: &Path, mut each: impl FnMut(Context, &mut Option<ConnectionState>, &[u8])) -> Pass {
    let begin = Instant::now();
    let mut connections: BTreeMap<(Endpoint, Endpoint), (Endpoint, Option<ConnectionState>)> =
        BTreeMap::new();
    let mut packets = 0;
    let file = File::open(path).expect("the file");
    for packet in UdpPayloads::new(file).expect("a capture") {
        let (a, b) = (packet.source, packet.destination);
        let (first, state) = connections.entry((a.min(b), a.max(b))).or_insert((a, None));
        let context = Context {
            source_port: a.port(),
            destination_port: b.port(),
            from_first: a == *first,
        };
        each(context, state, &packet.payload);
        packets += 1;
    }
    Pass {
        packets,
        time: begin.elapsed(),
    }
}

/// Writes a capture with a million frames of another one (little-endian pcap), over and over.
fn repeat(source: &Path, path: &Path) {
    let source = fs::read(source).expect("the capture");
    let (header, frames) = source.split_at(24);
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(length) = frames.get(at + 8..at + 12) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
        at += 16 + length as usize;
        ends.push(at);
    }
    let mut out = BufWriter::new(File::create(path).expect("a temporary file"));
    out.write_all(header).expect("room for the file");
    for _ in 0..PACKETS / ends.len() {
        out.write_all(frames).expect("room for the file");
    }
    let rest = PACKETS % ends.len();
    if rest > 0 {
        out.write_all(&frames[..ends[rest - 1]])
            .expect("room for the file");
    }
    out.flush().expect("room for the file");
}

/// tshark's version, and its time for the file. Says so where it cannot be run.
fn tshark(path: &Path) -> Option<(String, Duration)> {
    let version = match Command::new("tshark").arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            println!("tshark cannot be run ({error}): nothing to compare with");
            return None;
        }
    };
    let version = version.split_whitespace().find(|word| word.contains('.'))?;
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status().expect("tshark ran before");
    assert!(status.success(), "tshark: {status}");
    Some((version.to_owned(), begin.elapsed()))
}

/// One capture again and again on one wire, without the reading.
fn repeated(wire: &str, captures: [&str; 2]) {
    let (Some(compiled), Some(path)) = (sample_wire(wire), capture(captures)) else {
        return;
    };
    let packets: Vec<_> = UdpPayloads::new(File::open(&path).expect("the capture"))
        .expect("a capture")
        .collect();
    let bytes: usize = packets.iter().map(|packet| packet.payload.len()).sum();
    let rounds = 100_000 / packets.len() + 1;
    let mut facts = PacketFacts::default();
    let mut nodes = 0;
    let mut run = |full: bool| {
        let begin = Instant::now();
        for _ in 0..rounds {
            let mut connections: BTreeMap<(Endpoint, Endpoint), (Endpoint, ConnectionState)> =
                BTreeMap::new();
            nodes = 0;
            for packet in &packets {
                let (a, b) = (packet.source, packet.destination);
                let (first, state) = connections
                    .entry((a.min(b), a.max(b)))
                    .or_insert_with(|| (a, compiled.new_state()));
                let context = Context {
                    source_port: a.port(),
                    destination_port: b.port(),
                    from_first: a == *first,
                };
                if full {
                    nodes += compiled
                        .decode_in(&context, state, &packet.payload)
                        .tree
                        .len();
                } else {
                    compiled.facts_in(&context, state, &packet.payload, &mut facts);
                }
            }
        }
        begin.elapsed().as_nanos() as f64 / (rounds * packets.len()) as f64
    };
    let (quick, close) = (run(false), run(true));
    let count = packets.len() as f64;
    println!(
        "{wire} on {}: {:.0} bytes and {:.1} nodes a packet: facts {quick:.0} ns, full {close:.0} ns, {:.1} ns a node",
        path.display(),
        bytes as f64 / count,
        nodes as f64 / count,
        close * count / nodes as f64
    );
}

/// The first of these that is there: a name in the captures beside the repository, or a path in it.
fn capture(names: [&str; 2]) -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let captures = std::env::var_os("NETREEL_CAPTURES")
        .map_or_else(|| repository.join("../shared/captures"), PathBuf::from);
    let places = names.into_iter().filter(|name| !name.is_empty());
    let found = places
        .flat_map(|name| [captures.join(name), repository.join(name)])
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: there is no {}", names.join(" or "));
    }
    found
}

fn sample_wire(name: &str) -> Option<Wire> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../samples/wires/{name}.wire"));
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return None;
    };
    Some(Wire::compile(name, &text).unwrap_or_else(|error| panic!("{error}")))
}

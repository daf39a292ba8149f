//! Every packet comes back to the byte through its JSON: of every recording, on its own wire and on
//! all others, which explain little of it.

use std::path::{Path, PathBuf};

use netreel_wire::{Connections, Wire};
use serde_json::Value as Json;

use crate::explained::wire;
use crate::recordings::{Recording, capture};

/// The wire of each capture, where there is one.
const CAPTURES: [(&str, Option<&str>); 15] = [
    ("bevy_replicon.pcap", None),
    ("enet_c.pcap", Some("enet.wire")),
    ("gaijin_warthunder.pcap", Some("enet.wire")),
    ("godot3_enet.pcap", Some("enet.wire")),
    ("kcp.pcap", Some("kcp.wire")),
    ("minetest.pcap", Some("minetest.wire")),
    ("nintendo.pcap", None),
    ("openarena_q3.pcap", Some("quake3.wire")),
    ("raknet.pcap", Some("raknet.wire")),
    ("raknet_c.pcap", Some("raknet.wire")),
    ("renet.pcap", Some("renet.wire")),
    ("roblox.pcapng", None),
    ("source_engine.pcap", None),
    ("steam.pcapng", None),
    ("teeworlds07.pcap", Some("teeworlds07.wire")),
];

/// All wires of the folder, by name.
fn wires() -> Vec<(String, Wire)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires");
    let entries = std::fs::read_dir(folder).expect("the folder of wires");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.ends_with(".wire"));
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), wire(&name)))
        .collect()
}

/// Decodes packets, prints them as JSON, reads that and encodes it: nothing has changed. `every`: of
/// this many packets one goes through JSON; the others only leave their state.
#[track_caller]
fn check(name: &str, wire: &Wire, recording: &Recording, every: usize) {
    let mut reading = Connections::new(wire);
    let mut writing = Connections::new(wire);
    for (number, packet) in recording.packets.iter().enumerate() {
        let (from, to, bytes) = (packet.source, packet.destination, &packet.payload);
        let text = reading.to_json(from, to, bytes).to_string();
        if number % every != 0 {
            writing.decode(from, to, bytes);
            continue;
        }
        let place = || format!("{name}, {}, packet {number}\n{text}", recording.name);
        let mut line: Json = serde_json::from_str(&text).expect("what was printed is JSON");
        // So that nobody copies them.
        line.as_object_mut()
            .expect("a line is an object")
            .remove("bytes");
        let encoded = writing.encode(&line);
        let encoded = encoded.unwrap_or_else(|error| panic!("{}\n{error}", place()));
        assert_eq!(encoded.bytes, *bytes, "{}", place());
        assert!(!encoded.differs, "{}", place());
    }
}

fn small() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let entries = std::fs::read_dir(folder).expect("the folder of recordings");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "pcap")
    });
    paths.sort();
    paths
}

#[test]
fn small_recordings_come_back_on_every_wire() {
    let wires = wires();
    assert!(small().len() >= 4 && wires.len() >= 3);
    for path in small() {
        let recording = Recording::open(&path);
        for (name, wire) in &wires {
            check(name, wire, &recording, 1);
        }
    }
}

#[test]
fn captures_come_back_on_their_own_wires() {
    let wires = wires();
    for (file, own) in CAPTURES {
        let Some(path) = capture(file) else { continue };
        let recording = Recording::open(&path);
        for (name, wire) in &wires {
            let is_own = own.is_none_or(|own| own == name);
            check(name, wire, &recording, if is_own { 1 } else { 31 });
        }
    }
}

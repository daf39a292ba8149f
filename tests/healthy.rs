//! Nothing is wrong in captures of sessions in which nothing went wrong.
//!
//! They are read from `../shared/captures` or `NETREEL_CAPTURES`. Where they are not there, nothing is
//! asked.

mod support;

use std::path::{Path, PathBuf};

use support::netreel;

/// Healthy captures, with their wires.
const HEALTHY: [(&str, &str); 7] = [
    ("enet_c.pcap", "enet"),
    ("godot3_enet.pcap", "enet"),
    ("kcp.pcap", "kcp"),
    ("minetest.pcap", "minetest"),
    ("openarena_q3.pcap", "quake3"),
    ("raknet_c.pcap", "raknet"),
    ("renet.pcap", "renet"),
];

/// Captures that hold packets of no or another protocol: four bytes of zeros to itself; netcode, which
/// encrypts.
const FOREIGN: [&str; 2] = ["raknet_c.pcap", "renet.pcap"];

#[test]
fn in_healthy_captures_there_is_no_error_and_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("NETREEL_CAPTURES");
    let folder = folder.map_or_else(|| root.join("../shared/captures"), PathBuf::from);
    if !folder.is_dir() {
        support::skipped(format_args!("no folder {}", folder.display()));
        return;
    }
    let mut wrong = Vec::new();
    for (file, wire) in HEALTHY {
        let capture = folder.join(file);
        let wire = root.join(format!("samples/wires/{wire}.wire"));
        let paths = [&capture, &wire].map(|path| path.to_str().expect("UTF-8"));
        let ran = netreel(&[
            "check",
            paths[0],
            "--wire",
            paths[1],
            "--no-index",
            "--json",
        ]);
        let said = ran.json();
        for finding in said["findings"].as_array().expect("findings") {
            let is_foreign = FOREIGN.contains(&file) && finding["rule"] == "undecodable-packet";
            if finding["level"] != "info" && !is_foreign {
                wrong.push(format!(
                    "{file}: {} {}",
                    finding["rule"], finding["sentence"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

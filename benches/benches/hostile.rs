//! What a stranger's wire can cost whoever opens it: `netreel info` on a capture whose wire calls, for
//! every packet, a function in Lua that never ends.
//!
//! `./dev bench --bench hostile [-- PACKETS]`; without a number, 100 000. The command itself is
//! measured, so it has to be built before: `cargo build --release --package netreel`.

#[path = "measure/capture.rs"]
mod capture;
#[path = "measure/child.rs"]
mod child;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode};

use capture::Frames;

/// What the function does, and how.
const FUNCTIONS: [(&str, &str); 7] = [
    ("an empty loop", "while true do end"),
    (
        "string.rep of a megabyte",
        "while true do local a = string.rep('x', 1000000) end",
    ),
    (
        "reverse of a megabyte",
        "local s = string.rep('x', 1000000) while true do local a = s:reverse() end",
    ),
    (
        "tables without end",
        "local t = {} while true do t = { t } end",
    ),
    (
        "table.concat of a thousand places",
        "local t = {} for i = 1, 1000 do t[i] = 'x' end while true do local a = table.concat(t) end",
    ),
    (
        "table.concat of 45 places",
        "local t = {} for i = 1, 45 do t[i] = '' end while true do local a = table.concat(t) end",
    ),
    (
        "comparing megabytes",
        "local h = string.rep('x', 500000) local a, b = h .. h, h .. h
         while true do local c = a == b end",
    ),
];

fn main() -> ExitCode {
    let asked = std::env::args().skip(1).find_map(|it| it.parse().ok());
    let packets: u64 = asked.unwrap_or(100_000);
    let bench = std::env::current_exe().expect("the path of this program");
    let release = bench.parent().and_then(Path::parent);
    let netreel = release.expect("a target folder").join("netreel");
    if !netreel.is_file() {
        eprintln!(
            "there is no {}: build it with `cargo build --release --package netreel`",
            netreel.display()
        );
        return ExitCode::from(2);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let many = folder.path().join("many.pcap");
    write_capture(&many, packets);
    println!("{packets} packets of 200 bytes");
    for (name, body) in FUNCTIONS {
        let wire = folder.path().join("hostile.wire");
        std::fs::write(&wire, hostile(body)).expect("a file in the temporary folder");
        let mut command = Command::new(&netreel);
        command.arg("info").arg(&many).arg("--wire").arg(&wire);
        command.args(["--no-index"]);
        let said = folder.path().join("said.txt");
        let usage = child::run(&mut command, &said).expect("the command runs");
        if usage.code != Some(0) {
            eprintln!(
                "{name}: the command ended with {:?}\n{}",
                usage.code, usage.said
            );
            return ExitCode::FAILURE;
        }
        let told = usage.said.lines().find(|line| line.contains("not read"));
        println!(
            "{name:<34} {:>7.1} s of processor time, {:>7.1} s by the clock, {:>5} MB; {}",
            usage.processor.as_secs_f64(),
            usage.wall.as_secs_f64(),
            usage.peak / 1_000_000,
            told.unwrap_or("nothing was left unread")
        );
    }
    ExitCode::SUCCESS
}

fn write_capture(path: &Path, packets: u64) {
    let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
    let mut frames = Frames::create(path, 0);
    let mut payload = [7; 200];
    for number in 0..packets {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        frames.push(number * 1_000_000, end(4000), end(5000), &payload);
    }
    frames.finish();
}

/// A wire that reads all of a packet through a function with this body.
fn hostile(body: &str) -> String {
    format!(
        "lua \"\"\"\nfunction decode(bytes)\n{body}\nend\nfunction encode(bytes) return bytes end\n\"\"\"\n\
         layer Hostile {{ transform = lua(\"decode\", \"encode\"); }}\n\
         wire hostile {{ byte_order = little; bit_order = lsb; root = Packet; }}\n\
         struct Packet {{ body: Body through Hostile; }}\n\
         struct Body {{ first: u32; }}\n"
    )
}

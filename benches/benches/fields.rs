//! How long it takes to decode single packets at random, of a session that was read: its folder is
//! named. With a wire that keeps state, what was before a packet on its connection decides how it
//! is read, and `Session` goes on from what it kept of the connection nearby.
//!
//! `./dev bench --bench fields -- FOLDER`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_transport::Draw;

const PACKETS: usize = 1000;

fn main() -> ExitCode {
    let named = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let Some(folder) = named.map(PathBuf::from) else {
        println!("fields: name a folder of reels, such as `./dev bench --bench story` makes");
        return ExitCode::SUCCESS;
    };
    let opened = netreel_capture::open_session(&[folder]).expect("the reels");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let session = Session::builder()
        .build(reels.collect())
        .expect("a session");
    let packets = session.packet_count() as u64;
    let messages = session.message_count();
    println!("{packets} packets, {messages} messages");

    let mut draw = Draw::named(1, "fields");
    let mut micros = Vec::new();
    let mut fields = 0;
    for _ in 0..PACKETS {
        let packet = PacketId(draw.below(packets) as u32);
        let begin = Instant::now();
        let decoded = session.decode(packet).expect("a packet that can be read");
        micros.push(begin.elapsed().as_micros());
        fields += decoded.tree.len();
    }
    micros.sort_unstable();
    let at = |part: usize| micros[(PACKETS - 1) * part / 1000] as f64 / 1e3;
    println!(
        "{PACKETS} of them at random, {fields} fields: p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        at(500),
        at(900),
        at(990),
        at(1000)
    );
    ExitCode::SUCCESS
}

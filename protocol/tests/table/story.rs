//! Everything that can be read of a session, as lines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_capture::import::{Origin, Target, import};
use netreel_protocol::export;
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{MessageId, Packet, PacketId, ReelInput, Session};
use netreel_protocol::verdict::Judgement;
use netreel_reel::Reel;
use netreel_wire::Wire;
use serde::Serialize;

/// What a session says of a packet: whole, and what the wire finds in it.
fn row(session: &Session, (number, packet): (u32, Packet)) -> String {
    let id = PacketId(number);
    let said = session.said(id).expect("the packet");
    let messages: Vec<_> = session.messages_of(id).collect();
    assert_eq!(messages.len(), said.messages.len());
    format!("{number}: {packet:?} {said:?} {messages:?}")
}

pub fn rows(session: &Session) -> Vec<String> {
    let packets = (0..).zip(session.packets());
    let mut rows: Vec<String> = packets.map(|packet| row(session, packet)).collect();
    rows.extend(session.warnings());
    rows
}

/// Everything that can be read of a session.
pub fn story(session: &Session) -> Vec<String> {
    story_of(session, &History::build(session))
}

/// The same with its history.
pub fn story_of(session: &Session, history: &History) -> Vec<String> {
    let mut story = rows(session);
    for id in (0..session.packet_count() as u32).map(PacketId) {
        story.push(json(export::packet(session, history, id)));
        story.push(format!("{id:?} {:?}", history.acked(session, id)));
    }
    for (number, message) in (0..).zip(session.messages()) {
        let id = MessageId(number);
        assert_eq!(session.message(id).as_ref(), Some(&message));
        let deliveries: Vec<u32> = history.deliveries_of(id).collect();
        let resent = history.resend_of(id);
        story.push(format!("{message:?} {deliveries:?} {resent:?}"));
    }
    let deliveries = history.deliveries.iter();
    story.extend(deliveries.map(|delivery| format!("{delivery:?}")));
    for joined in &history.joined {
        story.push(format!("{joined:?} {:?}", history.payload(session, joined)));
    }
    story.push(format!("{:?}", history.undelivered));
    story.push(format!("{:?}", history.links(session)));
    story.push(format!("{:?}", session.nodes));
    story.push(json(export::info(session, history)));
    story.push(json(export::objects(session, history, None)));
    let judgement = Judgement::new(session, history, Level::Info, &[]);
    story.push(json(export::check(session, history, &judgement)));
    story
}

fn json(value: impl Serialize) -> String {
    serde_json::to_string(&value).expect("JSON")
}

/// The captures in the repository, and their wires.
pub const RECORDINGS: [(&str, &str); 7] = [
    ("enet.pcap", "enet"),
    ("enet_godot3.pcap", "enet"),
    ("minetest.pcap", "minetest"),
    ("quake3.pcap", "quake3"),
    ("raknet.pcap", "raknet"),
    ("renet.pcap", "renet"),
    ("teeworlds07.pcap", "teeworlds07"),
];

/// The reel of a capture's observer, and one of each endpoint in `nodes`.
pub fn imported(capture: &Path, nodes: &[String]) -> Vec<ReelInput> {
    let mut file = File::open(capture).expect("the capture");
    let origin = Origin::of(capture, &mut file).expect("its name");
    let mut outs: Vec<Vec<u8>> = vec![Vec::new(); nodes.len() + 1];
    let named = nodes.iter().enumerate().map(|(place, endpoint)| {
        let named = format!("n{place}={endpoint}");
        Some(named.parse().expect("an endpoint"))
    });
    let targets = outs.iter_mut().zip([None].into_iter().chain(named));
    let targets = targets.map(|(out, node)| Target {
        out: Out(out),
        node,
    });
    import(file, &origin, targets.collect()).expect("memory takes every byte");
    let reels = outs
        .into_iter()
        .enumerate()
        .map(|(place, bytes)| ReelInput {
            name: format!("{place}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes).expect("a good reel")),
        });
    reels.collect()
}

/// Bytes that a reel is written to.
pub struct Out<'a>(pub &'a mut Vec<u8>);

impl netreel_reel::Append for Out<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), netreel_reel::AppendError> {
        netreel_reel::Append::append(self.0, bytes)
    }
}

/// A wire of the samples.
pub fn wire_of(name: &str) -> Arc<Wire> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = here.join(format!("../samples/wires/{name}.wire"));
    let text = std::fs::read_to_string(path).expect("a wire of the samples");
    Arc::new(Wire::compile(name, &text).expect("it compiles"))
}

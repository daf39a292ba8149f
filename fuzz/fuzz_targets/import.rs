//! Any bytes as a packet capture, imported: the reels open whole, the observer's has as many packets
//! as the reader handed out with the bytes and times that it gave, and a session is made of all of
//! them.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use netreel_capture::import::{Origin, Target, import};
use netreel_capture::pcap::UdpPayloads;
use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_reel::{Append, AppendError, Ending, Event, Reel};

const PCAP: &[u8] = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0";
const SECTION: &[u8] =
    b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0";

struct Out<'a>(&'a mut Vec<u8>);

impl Append for Out<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        Append::append(self.0, bytes)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    let links = [0, 1, 101, 108, 113, 20];
    let link = links[usize::from(choice >> 4) % links.len()];
    let header = [PCAP, &[link, 1, 0, 0][..]].concat();
    let file = match choice & 3 {
        0 => rest.to_vec(),
        1 => [&header, rest].concat(),
        // Datagrams between two nodes: a time, a length that may lie, and bytes.
        2 => frames(&header, rest),
        _ => {
            let interface = [&b"\x01\0\0\0\x14\0\0\0"[..], &[link, 0, 0, 0, 0, 0, 0, 0]].concat();
            [SECTION, &interface, &b"\x14\0\0\0"[..], rest].concat()
        }
    };
    let Ok(payloads) = UdpPayloads::new(file.as_slice()) else {
        return;
    };
    let expected: Vec<(u64, Vec<u8>)> = payloads.map(|udp| (udp.time, udp.payload)).collect();
    let origin = Origin {
        name: "fuzzed.pcap".to_owned(),
        identity: "capture".to_owned(),
        ..Origin::default()
    };
    let nodes = [None, Some("A=10.0.0.1"), Some("B=10.0.0.2:9")];
    let mut outs = [Vec::new(), Vec::new(), Vec::new()];
    let targets = outs.iter_mut().zip(nodes).map(|(out, node)| Target {
        out: Out(out),
        node: node.map(|node| node.parse().expect("a node")),
    });
    import(file.as_slice(), &origin, targets.collect()).expect("memory takes every byte");
    let open = |bytes: &Vec<u8>| Reel::from_bytes(bytes.clone()).expect("the reel opens");
    let reels: Vec<Reel> = outs.iter().map(open).collect();
    let mut found = Vec::new();
    for reel in &reels {
        assert_eq!(*reel.ending(), Ending::Clean);
        let walk = reel.for_each(|record| {
            if let Event::Seen { payload, .. } = record.event {
                found.push((record.time.0, payload.to_vec()));
            }
        });
        assert!(walk.damaged.is_empty() && walk.gaps.is_empty());
    }
    assert_eq!(found, expected);
    let inputs = reels
        .into_iter()
        .enumerate()
        .map(|(place, reel)| ReelInput {
            name: format!("{place}.reel"),
            reel: Arc::new(reel),
        });
    let Ok(session) = Session::builder().build(inputs.collect()) else {
        return;
    };
    let history = History::build(&session);
    let packets = session.packet_count() as u32;
    assert!(history.acked(&session, PacketId(packets)).is_none());
    for packet in (0..packets.min(32)).map(PacketId) {
        session.payload(packet).expect("its bytes");
        history.acked(&session, packet);
    }
});

/// Frames of raw IPv4 that hold datagrams between 10.0.0.1:9 and 10.0.0.2:9.
fn frames(header: &[u8], mut rest: &[u8]) -> Vec<u8> {
    let mut file = header[..20].to_vec();
    file.extend([101, 0, 0, 0]);
    while let Some((head, more)) = rest.split_first_chunk::<4>() {
        let [seconds, turned, kept, length] = *head;
        let (payload, behind) = more.split_at(more.len().min(usize::from(kept)));
        rest = behind;
        let whole = u16::from(length.max(kept));
        let (from, to) = if turned & 1 == 0 { (1, 2) } else { (2, 1) };
        let mut frame = vec![0x45, 0];
        frame.extend((28 + whole).to_be_bytes());
        frame.extend([0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        frame.extend([0, 9, 0, 9]);
        frame.extend((8 + whole).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        file.extend([seconds, 0, 0, 0, turned, 0, 0, 0]);
        file.extend((frame.len() as u32).to_le_bytes());
        file.extend(u32::from(28 + whole).to_le_bytes());
        file.extend(frame);
    }
    file
}

//! Objects of Teeworlds' snapshots, which are repeated inside one message, at each client: as many, and
//! with the same numbers, as a reader of the bytes counts that was written apart from this code. The sums
//! that the server sends with its snapshots agree with that reader.

use std::path::Path;
use std::sync::Arc;

use netreel_capture::import::{NamedNode, Origin, Target, import};
use netreel_protocol::history::History;
use netreel_protocol::history::state::{Known, Scalar, States};
use netreel_protocol::session::{NodeId, PacketId, ReelInput, Session};
use netreel_reel::{Append, AppendError, Reel};
use netreel_wire::Wire;

const WIRE: &str = include_str!("../../samples/wires/teeworlds07.wire");

/// Bytes of a reel that outlive its writer.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Append for &mut Kept {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

fn session() -> Session {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let capture = folder.join("wire/tests/recordings/teeworlds07.pcap");
    let mut file = std::fs::File::open(&capture).expect("the recording");
    let origin = Origin::of(&capture, &mut file).expect("a file");
    let mut reels = [Kept::default(), Kept::default(), Kept::default()];
    let named = ["SERVER", "ONE", "TWO"]
        .into_iter()
        .zip([8303, 51344, 48100]);
    let targets = reels.iter_mut().zip(named).map(|(out, (name, port))| {
        let name = name.to_owned();
        let addresses = vec![([127, 0, 0, 1].into(), Some(port))];
        let node = Some(NamedNode { name, addresses });
        Target { out, node }
    });
    import(file, &origin, targets.collect()).expect("a capture");
    let inputs = reels.map(|reel| ReelInput {
        name: "captured.reel".to_owned(),
        reel: Arc::new(Reel::from_bytes(reel.0).expect("a reel")),
    });
    let wire = Wire::compile("teeworlds07.wire", WIRE).expect("it compiles");
    Session::builder()
        .wire(Arc::new(wire))
        .build(inputs.into())
        .expect("one session")
}

/// Of the packets with snapshots that a client received: how many there were, how many objects the
/// client knew after each, and the sum of all their numbers.
fn counted(session: &Session, states: &States, name: &str) -> (u64, u64, i64) {
    let client = session.nodes.iter().position(|node| node.name == name);
    let client = NodeId(client.expect("it was named") as u16);
    let wire = session.wire.as_ref().expect("it was given");
    let (mut packets, mut objects, mut sum) = (0, 0, 0);
    for (place, packet) in session.packets().enumerate() {
        let Some(received) = packet.received.filter(|_| packet.to == client) else {
            continue;
        };
        let mut messages = session.messages_of(PacketId(place as u32));
        let is_snapshot = messages.any(|(_, facts)| {
            let kind = facts
                .kind
                .and_then(|kind| wire.kinds().get(usize::from(kind.0)));
            kind.is_some_and(|kind| kind.name.starts_with("sys_snap"))
        });
        if !is_snapshot {
            continue;
        }
        packets += 1;
        for (object, properties) in states.objects() {
            for property in properties {
                let held = states.at(object, property, client, received.time);
                let Some(Known::Value(parts)) = held.map(|held| held.value) else {
                    continue;
                };
                objects += 1;
                sum += parts
                    .iter()
                    .map(|part| match part {
                        Scalar::Integer(number) => *number as i64,
                        other => panic!("{other:?}"),
                    })
                    .sum::<i64>();
            }
        }
    }
    (packets, objects, sum)
}

#[test]
fn each_client_believes_what_its_last_snapshot_says() {
    let session = session();
    let history = History::build(&session);
    let states = States::build(&session, &history);
    let names: Vec<&str> = states.properties().iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["numbers"]);
    assert_eq!(counted(&session, &states, "ONE"), (107, 2051, 2_729_936));
    assert_eq!(counted(&session, &states, "TWO"), (78, 1348, 2_346_151));
}

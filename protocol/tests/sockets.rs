//! Equal payloads from several sockets of one node.

use std::sync::Arc;

use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time,
};

const PAYLOAD: &[u8] = b"the same each time";

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

/// The reel of a node with a socket at each of these ports, and what happened at them: when, at
/// which, and with whom.
fn reel(node: &str, ports: &[u16], is_sender: bool, happened: &[(u64, usize, u16)]) -> ReelInput {
    let header = Header {
        node: node.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            boot_id: "boot".to_owned(),
            ..ClockAnchor::default()
        },
        ..Header::default()
    };
    let opened = ports.iter().enumerate().map(|(place, &port)| {
        let (socket, local) = (SocketId(place as u16), at(port));
        (0, Event::SocketOpened { socket, local })
    });
    let packets = happened.iter().map(|&(time, place, port)| {
        let (socket, peer, payload) = (SocketId(place as u16), at(port), PAYLOAD);
        let event = match is_sender {
            true => Event::Sent {
                socket,
                to: peer,
                payload,
            },
            false => Event::Received {
                socket,
                from: peer,
                payload,
            },
        };
        (time, event)
    });
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    for (number, (time, event)) in (0..).zip(opened.chain(packets)) {
        let record = Record {
            number: EventNumber(number),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
    }
    ReelInput {
        name: format!("{node}.reel"),
        reel: Reel::open(Arc::new(writer.finish().unwrap()))
            .unwrap()
            .into(),
    }
}

/// For each packet when it was sent and received, and whether that is a guess.
fn pairs(received: &[(u64, usize, u16)]) -> Vec<(i64, Option<i64>, bool)> {
    let sender = reel(
        "A",
        &[7000, 7001],
        true,
        &[(1000, 0, 8000), (2000, 1, 8000)],
    );
    let receiver = reel("B", &[8000], false, received);
    let session = Session::build(vec![sender, receiver], None).unwrap();
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let packets = packets.map(|id| session.packet(id).unwrap());
    let times = packets.map(|packet| {
        let received = packet.received.map(|stamp| stamp.time.0);
        (packet.sent.unwrap().time.0, received, packet.doubtful)
    });
    times.collect()
}

#[test]
fn a_receipt_is_of_the_send_from_the_port_that_it_names() {
    // The second overtook the first.
    let found = pairs(&[(5000, 0, 7001), (6000, 0, 7000)]);
    assert_eq!(
        found,
        [(1000, Some(6000), false), (2000, Some(5000), false)]
    );
}

#[test]
fn what_came_from_one_port_alone_is_lost_at_the_other() {
    let found = pairs(&[(5000, 0, 7001)]);
    assert_eq!(found, [(1000, None, false), (2000, Some(5000), false)]);
}

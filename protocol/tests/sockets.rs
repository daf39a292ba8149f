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

/// The reel of a node with a socket at each of these ports of loopback, and what happened at them:
/// when, at which, and with whom.
fn reel(node: &str, ports: &[u16], is_sender: bool, happened: &[(u64, usize, u16)]) -> ReelInput {
    let sockets: Vec<Endpoint> = ports.iter().copied().map(at).collect();
    let happened = happened.iter().map(|&(time, place, port)| match is_sender {
        true => sent(time, place, port),
        false => received(time, place, port),
    });
    reel_of(node, &sockets, 0, &happened.collect::<Vec<_>>())
}

fn sent(time: u64, socket: usize, port: u16) -> (u64, Event<'static>) {
    let event = Event::Sent {
        socket: SocketId(socket as u16),
        to: at(port),
        payload: PAYLOAD,
    };
    (time, event)
}

fn received(time: u64, socket: usize, port: u16) -> (u64, Event<'static>) {
    let event = Event::Received {
        socket: SocketId(socket as u16),
        from: at(port),
        payload: PAYLOAD,
    };
    (time, event)
}

/// The reel of a node that opens these sockets at a time, and of what happened later.
fn reel_of(
    node: &str,
    sockets: &[Endpoint],
    opened: u64,
    happened: &[(u64, Event<'static>)],
) -> ReelInput {
    let header = Header {
        node: node.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            boot_id: "boot".to_owned(),
            ..ClockAnchor::default()
        },
        ..Header::default()
    };
    let sockets = sockets.iter().enumerate().map(|(place, &local)| {
        let socket = SocketId(place as u16);
        (opened, Event::SocketOpened { socket, local })
    });
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    for (number, (time, event)) in (0..).zip(sockets.chain(happened.iter().cloned())) {
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
    let session = Session::builder().build(vec![sender, receiver]).unwrap();
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

#[test]
fn a_port_that_the_system_gave_out_again_is_of_the_program_that_has_it_then() {
    let any = |port: u16| Endpoint::from(([0, 0, 0, 0], port));
    // The first sends to itself from the port at which the second listens later.
    let talks = [sent(10, 0, 8000), received(11, 1, 7000)];
    let first = reel_of("first", &[any(7000), at(8000)], 0, &talks);
    let talks = [sent(110, 1, 7000), received(111, 0, 7001)];
    let second = reel_of("second", &[at(7000), at(7001)], 100, &talks);
    let session = Session::builder().build(vec![first, second]).unwrap();
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let packets = packets.map(|id| session.packet(id).unwrap());
    let ends: Vec<(u16, u16)> = packets.map(|it| (it.from.0, it.to.0)).collect();
    assert_eq!(ends, [(0, 0), (1, 1)]);
}

#[test]
fn a_socket_at_every_address_that_two_share_since_a_fork_is_of_the_one_that_sent() {
    let (any, here) = (Endpoint::from(([0, 0, 0, 0], 7000)), at(8000));
    let talks = [
        sent(30, 0, 8000),
        received(31, 1, 7000),
        received(32, 1, 7000),
    ];
    let parent = reel_of("parent", &[any, here], 0, &talks);
    let child = reel_of("child", &[any], 10, &[sent(20, 0, 8000)]);
    let session = Session::builder().build(vec![parent, child]).unwrap();
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let packets = packets.map(|id| session.packet(id).unwrap());
    let ends = packets.map(|it| (it.from.0, it.to.0, it.received.is_some()));
    let child_first = session.nodes[0].name == "child";
    let (parent, child) = if child_first { (1, 0) } else { (0, 1) };
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [(child, parent, true), (parent, parent, true)]
    );
}

/// `connect`, dissolved and called again, gives a socket another port each time.
#[test]
fn packets_of_a_socket_whose_port_changes_are_matched_under_the_port_that_it_had() {
    let moves = |time, port| {
        let socket = SocketId(0);
        let local = match port {
            0 => ([0, 0, 0, 0], 0).into(),
            port => at(port),
        };
        (time, Event::SocketOpened { socket, local })
    };
    let client = [
        sent(1000, 0, 8000),
        moves(3000, 0),
        moves(4000, 7001),
        sent(5000, 0, 8000),
        received(6500, 0, 8000),
        moves(7000, 0),
        // What it sends binds it.
        sent(8000, 0, 8000),
        moves(8001, 7002),
    ];
    let server = [
        received(2000, 0, 7000),
        received(6000, 0, 7001),
        sent(6200, 0, 7001),
        received(9000, 0, 7002),
    ];
    let inputs = vec![
        reel_of("client", &[at(7000)], 0, &client),
        reel_of("server", &[at(8000)], 0, &server),
    ];
    let session = Session::builder().build(inputs).unwrap();
    let packets = (0..session.packet_count() as u32).map(|id| session.packet(PacketId(id)));
    let found: Vec<_> = packets
        .map(|packet| {
            let packet = packet.unwrap();
            let at = |stamp: Option<_>| stamp.map(|it: netreel_protocol::session::Stamp| it.time.0);
            (at(packet.sent), at(packet.received))
        })
        .collect();
    let both = |sent, received| (Some(sent), Some(received));
    assert_eq!(
        found,
        [
            both(1000, 2000),
            both(5000, 6000),
            both(6200, 6500),
            both(8000, 9000)
        ]
    );
    let names: Vec<&str> = session.nodes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["client", "server"]);
}

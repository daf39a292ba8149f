//! Who is called what while reels are followed.

use std::net::Ipv4Addr;

use netreel_protocol::session::{Live, LiveWhat};
use netreel_reel::{
    Endpoint, Event, EventNumber, Header, OwnedRecord, Record, SocketId, ThreadId, Time,
};

const SOCKET: SocketId = SocketId(0);

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

/// Nodes of one machine, and how many events each has so far.
struct Followed {
    live: Live,
    numbers: Vec<u64>,
}

impl Followed {
    fn of(names: &[&str]) -> Followed {
        let mut live = Live::new(None);
        for name in names {
            let node = (*name).to_owned();
            let header = Header {
                node,
                ..Header::default()
            };
            live.add(&header, name);
        }
        let numbers = vec![0; names.len()];
        Followed { live, numbers }
    }

    /// An event of a node, at a time in seconds: `from -> to` of a packet.
    fn take(&mut self, node: usize, seconds: u64, event: Event<'_>) -> String {
        let record = Record {
            number: EventNumber(self.numbers[node]),
            time: Time(seconds * 1_000_000_000),
            thread: ThreadId(0),
            event,
        };
        self.numbers[node] += 1;
        let record = OwnedRecord::copy_of(&record);
        match self.live.take(node, &record.as_record()).map(|it| it.what) {
            Some(LiveWhat::Packet(it)) => format!("{} -> {}", it.from, it.to),
            other => format!("{other:?}"),
        }
    }

    fn open(&mut self, node: usize, seconds: u64, local: Endpoint) {
        let socket = SOCKET;
        self.take(node, seconds, Event::SocketOpened { socket, local });
    }

    fn receive(&mut self, node: usize, seconds: u64, from: Endpoint) -> String {
        let (socket, payload) = (SOCKET, &b"payload"[..]);
        let received = Event::Received {
            socket,
            from,
            payload,
        };
        self.take(node, seconds, received)
    }
}

#[test]
fn an_endpoint_that_two_have_at_once_is_called_by_its_address() {
    let mut followed = Followed::of(&["parent", "child", "client"]);
    followed.open(0, 1, at(7));
    assert_eq!(followed.receive(2, 2, at(7)), "parent -> client");
    followed.open(1, 3, at(7));
    assert_eq!(followed.receive(2, 4, at(7)), "127.0.0.1:7 -> client");
    // What each of them does is its own.
    assert_eq!(followed.receive(1, 4, at(9)), "127.0.0.1:9 -> child");
    // What was before the other opened it is known as well.
    assert_eq!(followed.receive(2, 2, at(7)), "parent -> client");
    followed.take(0, 5, Event::SocketClosed { socket: SOCKET });
    assert_eq!(followed.receive(2, 6, at(7)), "child -> client");
}

#[test]
fn a_socket_for_both_families_hears_a_node_by_its_name() {
    let mut followed = Followed::of(&["server", "client"]);
    followed.open(0, 1, at(7));
    let mapped = Endpoint::new(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(), 7);
    assert_eq!(followed.receive(1, 2, mapped), "server -> client");
}

#[test]
fn a_server_that_was_started_again_is_called_by_its_new_name() {
    let mut followed = Followed::of(&["first", "second", "client"]);
    followed.open(0, 1, at(7));
    followed.receive(0, 2, at(9));
    // Killed: its socket was never closed.
    followed.live.ended(0);
    assert_eq!(followed.receive(2, 3, at(7)), "first -> client");
    followed.open(1, 4, at(7));
    assert_eq!(followed.receive(2, 5, at(7)), "second -> client");
}

#[test]
fn two_sockets_of_one_node_at_one_endpoint_are_that_node_until_both_are_closed() {
    let mut followed = Followed::of(&["server", "other", "client"]);
    followed.open(0, 1, at(7));
    let (socket, local) = (SocketId(1), at(7));
    followed.take(0, 1, Event::SocketOpened { socket, local });
    followed.take(0, 2, Event::SocketClosed { socket });
    followed.open(1, 3, at(7));
    assert_eq!(followed.receive(2, 4, at(7)), "127.0.0.1:7 -> client");
    followed.take(0, 5, Event::SocketClosed { socket: SOCKET });
    assert_eq!(followed.receive(2, 6, at(7)), "other -> client");
}

/// The work of a wire's scripts is bounded for all nodes together, and what comes after is told.
#[test]
fn scripts_take_so_many_steps_for_all_that_is_followed() {
    let text = "wire a { byte_order = big; bit_order = msb; root = Packet; }
struct Packet { n: u8; let sum: u32 = lua(\"sum\", n); rest: bytes(rest); }
lua \"\"\"
function sum(n)
  local all = 0
  for i = 1, 1000 do all = all + n end
  return all
end
\"\"\"
";
    let wire = netreel_wire::Wire::compile("a.wire", text).expect("a wire");
    let live = Live::new(Some(std::sync::Arc::new(wire))).with_steps(50_000);
    let mut followed = Followed {
        live,
        numbers: vec![0; 2],
    };
    for name in ["A", "B"] {
        followed.live.add(&Header::default(), name);
    }
    for second in 0..8 {
        followed.receive(second as usize % 2, second, at(9));
    }
    let unread = followed.live.unread();
    assert!((4..8).contains(&unread), "{unread} of 8 were not read");
}

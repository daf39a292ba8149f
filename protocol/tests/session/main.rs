//! Sessions of reels made by hand.

mod given_up;
mod sockets;

use std::sync::Arc;

use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{
    Fate, Node, Packet, PacketId, ReelInput, Session, SessionError, SessionTime,
};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SendOutcome,
    SocketId, ThreadId, Time, WireText,
};

/// A protocol of one byte for the sender and one for the sequence.
const WIRE: &str = "wire tiny { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { sender: u8 @sender; sequence: u8 @sequence; text: u8; }";

const SECOND: u64 = 1_000_000_000;

/// A reel under way.
struct Tape {
    header: Header,
    events: Vec<(u64, Happened)>,
}

/// An event that owns its bytes.
enum Happened {
    Sent(Endpoint, Vec<u8>),
    Failed(u64),
    Received(Endpoint, Vec<u8>),
    Dropped(u64),
    Switched(bool),
    Poll,
}

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

impl Tape {
    fn new(node: &str, boot: &str) -> Tape {
        let header = Header {
            node: node.to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: boot.to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "tiny.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        Tape {
            header,
            events: Vec::new(),
        }
    }

    fn sent(mut self, time: u64, to: u16, payload: &[u8]) -> Tape {
        self.events
            .push((time, Happened::Sent(at(to), payload.to_vec())));
        self
    }

    fn received(mut self, time: u64, from: u16, payload: &[u8]) -> Tape {
        self.events
            .push((time, Happened::Received(at(from), payload.to_vec())));
        self
    }

    fn event(mut self, time: u64, event: Happened) -> Tape {
        self.events.push((time, event));
        self
    }

    /// The reel, of a node whose socket is bound to `local` at time 0.
    fn reel(self, local: Endpoint) -> Vec<u8> {
        let mut writer = ReelWriter::create(Vec::new(), &self.header).unwrap();
        let socket = SocketId(0);
        let mut number = 0;
        let mut push = |time, event| {
            let thread = ThreadId(0);
            let record = Record {
                number: EventNumber(number),
                time: Time(time),
                thread,
                event,
            };
            writer.push(&record).unwrap();
            number += 1;
        };
        let first = self.events.first().map_or(0, |(time, _)| *time);
        push(first, Event::SocketOpened { socket, local });
        for (time, event) in &self.events {
            let event = match event {
                Happened::Sent(to, payload) => Event::Sent {
                    socket,
                    to: *to,
                    payload,
                },
                Happened::Failed(of) => Event::SendResult {
                    of: EventNumber(*of),
                    outcome: SendOutcome::Failed(101),
                },
                Happened::Received(from, payload) => Event::Received {
                    socket,
                    from: *from,
                    payload,
                },
                Happened::Dropped(count) => Event::Dropped { count: *count },
                Happened::Switched(on) => Event::Switched { on: *on },
                Happened::Poll => Event::PollEmpty { socket },
            };
            push(*time, event);
        }
        writer.finish().unwrap()
    }

    fn on(self, port: u16) -> Vec<u8> {
        self.reel(at(port))
    }
}

fn build(reels: Vec<Vec<u8>>) -> Result<Session, SessionError> {
    let name = |place: usize| format!("{}.reel", ["one", "two", "three", "four"][place]);
    let inputs = reels
        .into_iter()
        .enumerate()
        .map(|(place, bytes)| ReelInput {
            name: name(place),
            reel: Arc::new(Reel::from_bytes(bytes).unwrap()),
        });
    Session::builder().build(inputs.collect())
}

fn session(reels: Vec<Vec<u8>>) -> Session {
    build(reels).unwrap_or_else(|error| panic!("{error}"))
}

fn node<'a>(session: &'a Session, name: &str) -> &'a Node {
    session
        .nodes
        .iter()
        .find(|node| node.name == name)
        .expect("the node is there")
}

/// The packet with this number.
fn packet(session: &Session, number: u32) -> Packet {
    let packet = session.packet(PacketId(number));
    packet.expect("the packet is there")
}

/// The sequence number that the wire finds in a packet.
fn sequence(session: &Session, number: u32) -> Option<u64> {
    Some(session.said(PacketId(number))?.sequence?.value)
}

fn warns(session: &Session, words: &str) {
    assert!(
        session.warnings().iter().any(|each| each.contains(words)),
        "{:?}",
        session.warnings()
    );
}

/// A sends at 10 and B receives at 30, both on one machine.
fn pair() -> (Tape, Tape) {
    (
        Tape::new("A", "boot").sent(10, 2, &[1, 0, 9]),
        Tape::new("B", "boot")
            .received(30, 1, &[1, 0, 9])
            .sent(40, 1, &[2, 0, 9]),
    )
}

#[test]
fn a_send_and_its_receipt_are_one_packet() {
    let (a, b) = pair();
    let session = session(vec![a.on(1), b.on(2)]);
    let packet = packet(&session, 0);
    assert_eq!(
        (packet.sent.unwrap().time.0, packet.received.unwrap().time.0),
        (0, 20)
    );
    assert_eq!(
        (packet.fate, sequence(&session, 0)),
        (Fate::Received, Some(0))
    );
    assert_eq!(
        (session.name(packet.from), session.name(packet.to)),
        ("A".into(), "B".into())
    );
}

#[test]
fn times_that_no_clock_shows_are_kept_within_what_can_be_subtracted() {
    let (a, b) = pair();
    let (a, b) = (a.sent(u64::MAX, 2, b"late"), b.sent(1 << 63, 1, b"late"));
    let session = session(vec![a.on(1), b.on(2)]);
    let (first, last) = (session.span.start.0, session.span.end.0);
    assert_eq!((first, last), (0, SessionTime::MAX.0));
    warns(&session, "there are times beyond the year 2262");
    let history = History::build(&session);
    let acked = (0..4).map(|number| history.acked(&session, PacketId(number)));
    assert_eq!(acked.collect::<Vec<_>>(), [None; 4]);
    assert_eq!(session.packet_count(), 4);
}

#[test]
fn payload_and_fields_are_read_again_from_the_reel() {
    let (a, b) = pair();
    let session = session(vec![a.on(1), b.on(2)]);
    let id = PacketId(0);
    assert_eq!(session.payload(id), Some(vec![1, 0, 9]));
    assert_eq!(session.decode(id).unwrap().facts.sender, Some(1));
}

#[test]
fn reels_of_different_sessions_are_refused_by_name() {
    let (a, mut b) = pair();
    b.header.session = [2; 16];
    let error = build(vec![a.on(1), b.on(2)])
        .err()
        .expect("refused")
        .to_string();
    assert!(
        error.starts_with("one.reel and two.reel are from different sessions"),
        "{error}"
    );
}

#[test]
fn recordings_of_two_unmodified_programs_are_one_session_where_packets_tie_them() {
    let (mut a, mut b) = pair();
    for (end, id) in [(&mut a, 1), (&mut b, 2)] {
        end.header.session = [id; 16];
        end.header.engine = Header::UNMODIFIED.to_owned();
    }
    let met = session(vec![a.on(1), b.on(2)]);
    assert_eq!(met.warnings(), Vec::<String>::new());
}

#[test]
fn reels_that_never_met_and_name_no_session_are_refused() {
    let (mut a, _) = pair();
    let mut c = Tape::new("C", "boot").sent(5, 9, &[3, 0, 1]);
    (a.header.session, c.header.session) = ([0; 16], [0; 16]);
    let error = build(vec![a.on(1), c.on(3)])
        .err()
        .expect("refused")
        .to_string();
    assert!(
        error.starts_with("two.reel has no packet in common with one.reel"),
        "{error}"
    );
}

#[test]
fn reels_of_one_session_that_never_met_are_shown_with_a_warning() {
    let (a, _) = pair();
    let c = Tape::new("C", "boot").sent(5, 9, &[3, 0, 1]);
    warns(
        &session(vec![a.on(1), c.on(3)]),
        "but they have no packet in common",
    );
}

#[test]
fn no_reel_is_no_session() {
    assert_eq!(build(Vec::new()).err(), Some(SessionError::NoReels));
}

#[test]
fn the_same_reel_twice_is_used_once() {
    let (a, b) = pair();
    let bytes = a.on(1);
    let session = session(vec![bytes.clone(), bytes, b.on(2)]);
    assert_eq!((session.nodes.len(), session.packet_count()), (2, 2));
    warns(
        &session,
        "A was recorded twice: one.reel is used, two.reel is left out",
    );
}

#[test]
fn two_nodes_of_one_name_are_told_apart() {
    let (a, mut b) = pair();
    b.header.node = "A".to_owned();
    let session = session(vec![a.on(1), b.on(2)]);
    let names: Vec<&str> = session
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(names, ["A", "A (2)"]);
    warns(&session, "several reels call their node A");
}

#[test]
fn an_empty_reel_is_a_node_without_packets() {
    let (a, b) = pair();
    let empty = ReelWriter::create(Vec::new(), &Tape::new("C", "boot").header).unwrap();
    let session = session(vec![a.on(1), b.on(2), empty.finish().unwrap()]);
    assert_eq!(session.nodes.len(), 3);
    warns(&session, "three.reel holds no event");
}

#[test]
fn clocks_of_two_machines_are_aligned_by_packets_both_ways() {
    let ahead = 77 * SECOND;
    let a = Tape::new("A", "here")
        .sent(100, 2, &[1, 0, 0])
        .received(300, 2, &[2, 0, 0]);
    let b = Tape::new("B", "there")
        .received(ahead + 150, 1, &[1, 0, 0])
        .sent(ahead + 250, 1, &[2, 0, 0]);
    let session = session(vec![a.on(1), b.on(2)]);
    assert_eq!(packet(&session, 0).received.unwrap().time.0, 50);
    assert_eq!(
        (
            node(&session, "A").clock_error_ns,
            node(&session, "B").clock_error_ns
        ),
        (0, 50)
    );
    assert_eq!(session.warnings(), Vec::<String>::new());
}

#[test]
fn a_boot_id_that_was_copied_is_named_and_its_clocks_are_aligned() {
    // The second clock is 10 ms behind, and a packet takes 1 ms.
    let behind = 10_000_000;
    let (first, second) = (SECOND, 2 * SECOND);
    let a = Tape::new("A", "boot").sent(first, 2, &[1, 0, 0]).received(
        second + 1_000_000,
        2,
        &[2, 0, 0],
    );
    let b = Tape::new("B", "boot")
        .received(first + 1_000_000 - behind, 1, &[1, 0, 0])
        .sent(second - behind, 1, &[2, 0, 0]);
    let session = session(vec![a.on(1), b.on(2)]);
    warns(
        &session,
        "one.reel and two.reel have the same boot id, and yet 1 packet from A to B would arrive up \
         to 9.000 ms before they were sent: the id must be a copy",
    );
    for at in 0..2 {
        let packet = packet(&session, at);
        assert!(packet.sent.unwrap().time <= packet.received.unwrap().time);
    }
    // Half of the round, and what drift may do in a second.
    let bound = node(&session, "B").clock_error_ns;
    assert!((1_000_000..1_510_000).contains(&bound), "{bound}");
}

#[test]
fn a_packet_that_seems_to_arrive_before_it_was_sent_is_a_finding() {
    let a = Tape::new("A", "boot").sent(100, 2, &[1, 0, 0]);
    let b = Tape::new("B", "boot").received(40, 1, &[1, 0, 0]);
    let session = session(vec![a.on(1), b.on(2)]);
    let history = History::build(&session);
    let [finding] = &history.findings[..] else {
        panic!("{:?}", history.findings)
    };
    assert_eq!(
        (finding.rule, finding.level),
        ("clock-disagreement", Level::Warning)
    );
    assert_eq!(
        finding.sentence,
        "1 packet from A to B seem to arrive up to 60 ns before they were sent: their clocks \
         disagree"
    );
}

#[test]
fn a_socket_bound_to_every_address_is_reached_at_each() {
    let (a, b) = pair();
    let session = session(vec![a.reel(([0, 0, 0, 0], 1).into()), b.on(2)]);
    assert_eq!(session.nodes.len(), 2);
    assert!(session.packets().all(|packet| packet.sent.is_some()));
}

#[test]
fn a_node_behind_an_address_translation_is_known_by_its_packets() {
    let long = |first: u8| [first, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let a = Tape::new("A", "boot")
        .sent(10, 2, &long(1))
        .received(60, 2, &long(2));
    // B sees A at port 5000.
    let b = Tape::new("B", "boot")
        .received(30, 5000, &long(1))
        .sent(40, 5000, &long(2));
    let session = session(vec![a.on(1), b.on(2)]);
    assert_eq!(session.nodes.len(), 2);
    assert!(
        session
            .packets()
            .all(|packet| packet.fate == Fate::Received)
    );
    warns(
        &session,
        "127.0.0.1:5000 is A, seen through an address translation",
    );
}

#[test]
fn a_send_that_failed_is_not_lost() {
    let a = Tape::new("A", "boot")
        .sent(10, 2, &[1, 0, 9])
        .event(10, Happened::Failed(1));
    let b = Tape::new("B", "boot")
        .event(5, Happened::Poll)
        .event(SECOND, Happened::Poll);
    let session = session(vec![a.on(1), b.on(2)]);
    assert_eq!(packet(&session, 0).fate, Fate::SendFailed);
}

#[test]
fn dropped_events_are_a_hole_that_leaves_fates_unknown() {
    let a = Tape::new("A", "boot").sent(10, 2, &[1, 0, 9]);
    let b = Tape::new("B", "boot")
        .event(5, Happened::Poll)
        .event(50, Happened::Dropped(17))
        .event(SECOND, Happened::Poll);
    let session = session(vec![a.on(1), b.on(2)]);
    assert_eq!(packet(&session, 0).fate, Fate::Unknown);
    assert_eq!(node(&session, "B").holes[0].why, "17 events were dropped");
    let history = History::build(&session);
    assert_eq!(history.findings[0].rule, "incomplete-reel");
}

#[test]
fn a_reel_that_was_switched_off_says_so_and_is_not_complete() {
    let (a, b) = pair();
    let b = b.event(50, Happened::Switched(false));
    let session = session(vec![a.on(1), b.on(2)]);
    assert!(!node(&session, "B").complete);
    warns(&session, "switched off until its end");
}

#[test]
fn a_receipt_that_the_senders_reel_does_not_hold_is_warned_of() {
    let (a, b) = pair();
    let a = a.event(2 * SECOND, Happened::Poll);
    let b = b.received(SECOND, 1, &[1, 7, 7]);
    let session = session(vec![a.on(1), b.on(2)]);
    warns(
        &session,
        "B received 1 packet from A that the reel of A does not hold",
    );
}

#[test]
fn different_wires_are_warned_of_and_the_first_is_used() {
    let (a, mut b) = pair();
    b.header.wires[0].text.push_str("\n// changed");
    warns(
        &session(vec![a.on(1), b.on(2)]),
        "the reels hold 2 different wires",
    );
}

#[test]
fn a_wire_with_a_mistake_leaves_packets_as_bytes() {
    let (mut a, mut b) = pair();
    a.header.wires[0].text = "wire".to_owned();
    b.header.wires.clear();
    let session = session(vec![a.on(1), b.on(2)]);
    assert!(session.wire.is_none());
    assert_eq!(session.packet_count(), 2);
    warns(&session, "packets are shown as bytes");
}

#[test]
fn a_packet_that_the_wire_does_not_explain_is_a_finding() {
    let a = Tape::new("A", "boot")
        .sent(10, 2, &[1])
        .sent(20, 2, &[1, 2]);
    let b = Tape::new("B", "boot").received(30, 1, &[1]);
    let history = History::build(&session(vec![a.on(1), b.on(2)]));
    let found: Vec<&str> = history
        .findings
        .iter()
        .map(|each| each.sentence.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "the wire does not explain 2 packets from A, before their first message; the first is \
             packet 0"
        ]
    );
}

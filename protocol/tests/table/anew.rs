//! Connections that begin anew on the same ports and on others, acks of what was sent again, and
//! packets that nobody read.

use netreel_protocol::history::History;
use netreel_protocol::session::{Fate, PacketId, Session};
use netreel_reel::SocketId;

use crate::tape::Tape;

const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
enum Kind : u8 { hello = 1 @connect, bye = 2 @disconnect, talk = 3, ack = 4 }
struct P @message { kind: Kind @message_kind;
    switch (kind) {
        Kind.ack => of: u16 @acknowledges;
        default => number: u16 @reliable_sequence;
    }
    salt: u8;
}";

const HELLO: u8 = 1;
const BYE: u8 = 2;
const TALK: u8 = 3;
const ACK: u8 = 4;
const MS: u64 = 1_000_000;

/// A and B, who hear everything a millisecond after it was said.
struct Pair {
    a: Tape,
    b: Tape,
    /// At which A talks.
    port: u16,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            a: Tape::node("A", 1, WIRE),
            b: Tape::node("B", 2, WIRE),
            port: 1,
        }
    }

    /// A has a second socket, at port 11.
    fn with_two_sockets() -> Pair {
        let mut pair = Pair::new();
        pair.a.opens(0, SocketId(1), 11);
        pair
    }

    /// A talks at its first socket, or at its second.
    fn turns_to(&mut self, socket: u16) {
        self.a.turns_to(SocketId(socket));
        self.port = [1, 11][usize::from(socket)];
    }

    /// A says something; `arrives` after this long, if at all.
    fn says(&mut self, at_ms: u64, (kind, number, salt): (u8, u8, u8), takes_ms: Option<u64>) {
        let payload = [kind, number, 0, salt];
        self.a.sent(at_ms * MS, 2, &payload);
        if let Some(takes_ms) = takes_ms {
            self.b
                .received((at_ms + takes_ms) * MS, self.port, &payload);
        }
    }

    /// B answers, and A hears it a millisecond later.
    fn answers(&mut self, at_ms: u64, number: u8, salt: u8) {
        let payload = [ACK, number, 0, salt];
        self.b.sent(at_ms * MS, self.port, &payload);
        self.a.received((at_ms + 1) * MS, 2, &payload);
    }

    fn end(self) -> (Session, History) {
        let reels = vec![self.a.end(5000 * MS), self.b.end(5000 * MS)];
        let session = Session::builder()
            .build(reels)
            .unwrap_or_else(|error| panic!("{error}"));
        let history = History::build(&session);
        (session, history)
    }
}

/// A connection of ten messages, from a moment on.
fn connection(pair: &mut Pair, from_ms: u64, salt: u8) {
    pair.says(from_ms, (HELLO, 1, salt), Some(1));
    for number in 2..10 {
        pair.says(
            from_ms + u64::from(number) * 10,
            (TALK, number, salt),
            Some(1),
        );
        pair.answers(from_ms + u64::from(number) * 10 + 2, number, salt);
    }
    pair.says(from_ms + 100, (BYE, 10, salt), Some(1));
}

#[test]
fn who_parts_and_connects_anew_resends_nothing() {
    let mut pair = Pair::new();
    connection(&mut pair, 1, 1);
    connection(&mut pair, 1000, 2);
    let (session, history) = pair.end();
    assert_eq!(history.resends().count(), 0);
    assert_eq!(session.packet_count(), 2 * 18);
    assert_eq!(history.undelivered, []);
}

#[test]
fn who_connects_anew_from_another_port_resends_nothing() {
    let mut pair = Pair::with_two_sockets();
    connection(&mut pair, 1, 1);
    pair.turns_to(1);
    connection(&mut pair, 1000, 1);
    let (session, history) = pair.end();
    assert_eq!(history.resends().count(), 0);
    assert_eq!(session.packet_count(), 2 * 18);
    assert_eq!(history.undelivered, []);
}

#[test]
fn two_connections_at_a_time_between_two_nodes_count_apart() {
    let mut pair = Pair::with_two_sockets();
    for number in 0..10 {
        for socket in [0, 1] {
            pair.turns_to(socket);
            let at_ms = 1 + u64::from(number) * 20 + u64::from(socket) * 10;
            let kind = if number == 0 { HELLO } else { TALK };
            pair.says(at_ms, (kind, number, 0), Some(1));
            pair.answers(at_ms + 2, number, 0);
        }
    }
    let (session, history) = pair.end();
    assert_eq!(history.resends().count(), 0);
    assert_eq!(history.undelivered, []);
    let links = history.links(&session).values();
    let rounds: Vec<_> = links.filter_map(|link| link.rtt_ns).collect();
    assert_eq!(rounds, [(3_000_000, 3_000_000, 3_000_000)]);
    // Each ack is of the connection that it came in.
    let packets = (0..session.packet_count() as u32).map(PacketId);
    let acked = packets.filter(|&packet| history.acked(&session, packet).is_some());
    assert_eq!(acked.count(), 20);
}

/// Packets have numbers as well.
const COUNTED: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
enum Kind : u8 { hello = 1 @connect, bye = 2 @disconnect, talk = 3 }
struct P { sequence: u8 @sequence; message: M; }
struct M @message { kind: Kind @message_kind; number: u8 @reliable_sequence; }";

/// A says hello and, before B could have heard its bye, hello again in a packet with this number. How
/// many messages were sent again?
#[track_caller]
fn check_hello_after_bye(sequence: u8, resends: usize) {
    let mut a = Tape::node("A", 1, COUNTED);
    let mut b = Tape::node("B", 2, COUNTED);
    let said = [
        (10, [30, HELLO, 1]),
        (20, [31, TALK, 2]),
        (30, [32, BYE, 3]),
        (40, [sequence, HELLO, 1]),
        (50, [sequence + 1, TALK, 2]),
    ];
    for (at_ms, payload) in said {
        a.sent(at_ms * MS, 2, &payload);
        b.received((at_ms + 1) * MS, 1, &payload);
    }
    let reels = vec![a.end(5000 * MS), b.end(5000 * MS)];
    let session = Session::builder()
        .build(reels)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.warnings(), Vec::<String>::new());
    assert_eq!(History::build(&session).resends().count(), resends);
}

#[test]
fn a_hello_that_is_sent_again_after_a_bye_connects_nobody_anew() {
    check_hello_after_bye(33, 2);
    check_hello_after_bye(1, 0);
    check_hello_after_bye(32, 0);
}

#[test]
fn who_goes_on_at_another_port_without_a_word_counts_on() {
    let mut pair = Pair::with_two_sockets();
    connection(&mut pair, 1, 1);
    pair.turns_to(1);
    pair.says(500, (TALK, 9, 2), Some(1));
    pair.answers(502, 9, 2);
    let (_, history) = pair.end();
    assert_eq!(history.resends().count(), 1);
}

#[test]
fn acks_of_the_second_connection_tell_of_its_packets() {
    let mut pair = Pair::new();
    connection(&mut pair, 1, 1);
    connection(&mut pair, 1000, 2);
    let (session, history) = pair.end();
    let talk = session.packets().filter(|packet| packet.sent.is_some());
    let rounds = history
        .links(&session)
        .values()
        .filter_map(|link| link.rtt_ns);
    assert_eq!(
        rounds.collect::<Vec<_>>(),
        [(3_000_000, 3_000_000, 3_000_000)]
    );
    assert_eq!(talk.count(), 36);
}

#[test]
fn a_message_that_is_said_again_before_the_first_came_is_a_resend() {
    let mut pair = Pair::new();
    pair.says(10, (TALK, 1, 0), None);
    pair.says(60, (TALK, 1, 0), Some(1));
    let (_, history) = pair.end();
    assert_eq!(history.resends().count(), 1);
}

#[test]
fn the_ack_of_a_resend_is_of_the_copy_that_had_arrived_first() {
    let mut pair = Pair::new();
    // The first copy takes 140 ms; the second is under way when the ack comes.
    pair.a.sent(10 * MS, 2, &[TALK, 1, 0, 7]);
    pair.a.sent(110 * MS, 2, &[TALK, 1, 0, 8]);
    pair.b.received(150 * MS, 1, &[TALK, 1, 0, 7]);
    pair.answers(151, 1, 0);
    pair.b.received(250 * MS, 1, &[TALK, 1, 0, 8]);
    let (session, history) = pair.end();
    let link = history
        .links(&session)
        .values()
        .find_map(|link| link.rtt_ns);
    assert_eq!(
        link,
        Some((142 * MS as i64, 142 * MS as i64, 142 * MS as i64))
    );
}

#[test]
fn an_ack_that_fits_two_copies_is_no_measure_of_the_round_trip() {
    let mut a = Tape::node("A", 1, WIRE);
    a.sent(10 * MS, 2, &[TALK, 1, 0, 0]);
    a.sent(110 * MS, 2, &[TALK, 1, 0, 0]);
    a.received(160 * MS, 2, &[ACK, 1, 0, 0]);
    let session = Session::builder()
        .build(vec![a.end(500 * MS)])
        .expect("a session");
    let history = History::build(&session);
    assert!(
        history
            .links(&session)
            .values()
            .all(|link| link.rtt_ns.is_none())
    );
}

#[test]
fn what_lay_in_the_buffer_when_the_socket_was_closed_is_unread() {
    let mut pair = Pair::new();
    pair.says(10, (TALK, 1, 0), Some(1));
    for number in 2..40 {
        pair.says(10 + u64::from(number), (TALK, number, 0), None);
    }
    pair.b.closed(2000 * MS, 33_000);
    let (session, _) = pair.end();
    let unread = session
        .packets()
        .filter(|packet| packet.fate == Fate::Unread);
    assert_eq!(unread.count(), 38);
}

#[test]
fn what_was_read_to_the_end_leaves_nothing_unread() {
    let mut pair = Pair::new();
    pair.says(10, (TALK, 1, 0), None);
    pair.b.closed(6000 * MS, 0);
    let (session, _) = pair.end();
    assert!(session.packets().all(|packet| packet.fate == Fate::Lost));
}

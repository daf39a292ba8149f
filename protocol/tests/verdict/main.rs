//! What a check of a session comes to: each test is a session in which one thing is missing.

mod rest;
mod wires;

use std::sync::Arc;

use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{ReelInput, Session};
use netreel_protocol::verdict::{Judgement, REASONS, Verdict};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, LIMIT_NOTE, Record, Reel, ReelWriter,
    SocketId, ThreadId, Time, WireText,
};

const WIRE: &str = "
wire tiny { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
rules historic {
    unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
}
enum Mode : u8 { host = 0 @rules(historic), silent = 1, }
enum Kind : u8 { create = 0 @create, destroy = 1 @destroy, }
struct Packet {
    magic: u8 = 0xA7;
    mode: Mode @rules;
    sender: u8 @sender;
    sequence: u8 @sequence;
    count: u8;
    messages: Message[count];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    place: u8 @reliable_sequence;
    object: u8 @object;
    owner: u8 @owner;
}
";

const CREATE: u8 = 0;
const DESTROY: u8 = 1;
const HOST: u8 = 0;
const SILENT: u8 = 1;
const SOCKET: SocketId = SocketId(0);
const SECOND: u64 = 1_000_000_000;

/// Peer 1 is at port 1 of the first machine, and so on; `.255` is a group.
fn at(port: u16) -> Endpoint {
    let host = if port == 255 { 255 } else { 1 };
    ([10, 0, 0, host], port).into()
}

/// A packet of peer `sender` with a message about object 5, of a kind, at a place of its stream.
fn says(sender: u8, sequence: u8, (kind, place): (u8, u8)) -> Vec<u8> {
    let message = [kind, 1, place, 5, sender];
    [&[0xA7, HOST, sender, sequence, 1][..], &message].concat()
}

/// A packet without a message.
fn ack(sender: u8, sequence: u8) -> Vec<u8> {
    vec![0xA7, HOST, sender, sequence, 0]
}

/// A reel under way.
struct Tape {
    header: Header,
    writer: ReelWriter<Vec<u8>>,
}

impl Tape {
    /// The reel of a program whose one socket is bound to `port`.
    fn of(node: &str, port: u16) -> Tape {
        let tape = Tape::with(header(node));
        let local = at(port);
        tape.event(
            0,
            Event::SocketOpened {
                socket: SOCKET,
                local,
            },
        )
    }

    fn with(header: Header) -> Tape {
        let writer = ReelWriter::create(Vec::new(), &header).unwrap();
        Tape { header, writer }
    }

    fn event(mut self, time: u64, event: Event<'_>) -> Tape {
        let record = Record {
            number: self.writer.next_number(),
            time: Time(time),
            thread: ThreadId(0),
            event,
        };
        self.writer.push(&record).unwrap();
        self
    }

    fn sent(self, time: u64, to: u16, payload: &[u8]) -> Tape {
        let (socket, to) = (SOCKET, at(to));
        self.event(
            time,
            Event::Sent {
                socket,
                to,
                payload,
            },
        )
    }

    fn received(self, time: u64, from: u16, payload: &[u8]) -> Tape {
        let (socket, from) = (SOCKET, at(from));
        self.event(
            time,
            Event::Received {
                socket,
                from,
                payload,
            },
        )
    }

    fn seen(self, time: u64, (from, to): (u16, u16), payload: &[u8]) -> Tape {
        let (from, to) = (at(from), at(to));
        self.event(time, Event::Seen { from, to, payload })
    }

    /// The reel, closed in order ten seconds later.
    fn closed(self) -> ReelInput {
        let tape = self.event(10 * SECOND, Event::PollEmpty { socket: SOCKET });
        let name = format!("{}.reel", tape.header.node);
        input(name, tape.writer.finish().unwrap())
    }

    /// The reel without its index, as a kill leaves it.
    fn killed(self) -> ReelInput {
        let (name, bytes) = self.without_end();
        input(name, bytes)
    }

    fn going_on(self) -> ReelInput {
        let (name, bytes) = self.without_end();
        let mut reel = Reel::from_bytes(bytes).unwrap();
        reel.set_still_recorded();
        let reel = Arc::new(reel);
        ReelInput { name, reel }
    }

    fn without_end(self) -> (String, Vec<u8>) {
        let name = format!("{}.reel", self.header.node);
        let mut bytes = self.writer.finish().unwrap();
        bytes.truncate(bytes.len() - 9);
        (name, bytes)
    }
}

fn input(name: String, bytes: Vec<u8>) -> ReelInput {
    let reel = Arc::new(Reel::from_bytes(bytes).unwrap());
    ReelInput { name, reel }
}

fn header(node: &str) -> Header {
    Header {
        node: node.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            boot_id: "one machine".to_owned(),
            ..ClockAnchor::default()
        },
        wires: vec![WireText {
            name: "tiny.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    }
}

/// A tells B of object 5, and B answers.
fn pair() -> (Tape, Tape) {
    let (told, answered) = (says(1, 0, (CREATE, 0)), ack(2, 0));
    (
        Tape::of("A", 1)
            .sent(10, 2, &told)
            .received(40, 2, &answered),
        Tape::of("B", 2)
            .received(20, 1, &told)
            .sent(30, 1, &answered),
    )
}

fn judge(reels: Vec<ReelInput>) -> Judgement {
    let session = Session::builder()
        .build(reels)
        .unwrap_or_else(|error| panic!("{error}"));
    let history = History::build(&session);
    Judgement::new(&session, &history, Level::Error, &[])
}

/// The reasons, with their ids: the session is clean where there are none, else unknown.
#[track_caller]
fn check(reels: Vec<ReelInput>, expected: &[(&str, &str)]) {
    let judgement = judge(reels);
    let reasons = judgement.reasons.iter();
    let reasons: Vec<(&str, &str)> = reasons
        .map(|reason| (reason.id, reason.sentence.as_str()))
        .collect();
    assert_eq!(reasons, expected);
    assert!(reasons.iter().all(|(id, _)| REASONS.contains(id)));
    let verdict = match expected.is_empty() {
        true => Verdict::Clean,
        false => Verdict::Unknown,
    };
    assert_eq!(judgement.verdict, verdict);
}

#[test]
fn a_session_of_whole_reels_without_a_finding_is_clean() {
    let (a, b) = pair();
    let reels = vec![a.closed(), b.closed()];
    let judged = judge(reels);
    assert_eq!(judged.verdict, Verdict::Clean);
    assert_eq!(judged.line(), "clean: no errors, and all could be judged");
}

/// A destroys object 5, and then gets B's CREATE of it, which is older: a zombie at A.
fn zombies() -> (Tape, Tape) {
    let (create, destroy) = (says(2, 0, (CREATE, 1)), says(1, 0, (DESTROY, 0)));
    let a = Tape::of("A", 1).sent(20, 2, &destroy);
    let b = Tape::of("B", 2).sent(10, 1, &create);
    (a.received(25, 2, &create), b.received(30, 1, &destroy))
}

#[test]
fn a_finding_at_the_level_is_wrong() {
    let (a, b) = zombies();
    let judged = judge(vec![a.closed(), b.closed()]);
    assert_eq!((judged.verdict, judged.reasons.len()), (Verdict::Wrong, 0));
    assert_eq!(judged.line(), "wrong: 1 error");
}

#[test]
fn a_finding_that_a_missing_reel_could_clear_up_is_suspected() {
    let (a, b) = zombies();
    let c = says(3, 0, (CREATE, 0));
    check(
        vec![a.closed(), b.received(30, 3, &c).closed()],
        &[
            ("no-reel", "10.0.0.1:3 (peer 3) took part and has no reel"),
            (
                "suspected",
                "2 findings are suspected and not proven; the first: zombie-object of object 5 at A",
            ),
        ],
    );
}

#[test]
fn a_finding_below_the_level_is_not_wrong() {
    let (a, b) = pair();
    let unfit = [0xA7, 9, 9];
    let reels = vec![a.sent(50, 2, &unfit).closed(), b.closed()];
    let session = Session::builder().build(reels).unwrap();
    let history = History::build(&session);
    let judged = |level| Judgement::new(&session, &history, level, &[]);
    assert_eq!(judged(Level::Warning).verdict, Verdict::Wrong);
    assert_eq!(
        judged(Level::Warning).headline(),
        "wrong: 1 warning, and not all could be judged"
    );
    assert_eq!(judged(Level::Error).verdict, Verdict::Unknown);
    assert_eq!(
        judged(Level::Error).headline(),
        "unknown: no errors, but not all could be judged"
    );
}

#[test]
fn a_node_that_took_part_and_has_no_reel_is_named() {
    let (a, _) = pair();
    check(
        vec![a.closed()],
        &[("no-reel", "10.0.0.1:2 (peer 2) took part and has no reel")],
    );
}

#[test]
fn several_nodes_without_a_reel_are_one_sentence() {
    let (mut a, _) = pair();
    for peer in 3..=4 {
        a = a.received(50, peer, &says(peer as u8, 0, (CREATE, 0)));
    }
    check(
        vec![a.closed()],
        &[(
            "no-reel",
            "3 nodes took part and have no reel: 10.0.0.1:2 (peer 2), 10.0.0.1:3 (peer 3) and \
             10.0.0.1:4 (peer 4)",
        )],
    );
}

#[test]
fn who_was_only_spoken_to_took_no_part() {
    let (a, b) = pair();
    let a = a.sent(50, 9, &says(1, 1, (CREATE, 0)));
    check(vec![a.closed(), b.closed()], &[]);
}

#[test]
fn a_group_address_took_no_part_and_who_answers_from_it_did() {
    let (a, b) = pair();
    let asked = says(1, 1, (CREATE, 0));
    check(vec![a.sent(50, 255, &asked).closed(), b.closed()], &[]);
    let (a, b) = pair();
    let answer = says(7, 0, (CREATE, 0));
    let a = a.sent(50, 255, &asked).received(60, 7, &answer);
    check(
        vec![a.closed(), b.closed()],
        &[("no-reel", "10.0.0.1:7 (peer 7) took part and has no reel")],
    );
}

#[test]
fn a_server_of_another_protocol_that_answered_took_no_part() {
    let (mut a, mut b) = pair();
    for number in 1..40 {
        let payload = ack(1, number);
        a = a.sent(50, 2, &payload);
        b = b.received(60, 1, &payload);
    }
    let (query, answer) = ([0x12, 0x34, 1, 0, 0, 1], [0x12, 0x34, 0x81, 0x80, 0, 1]);
    let a = a.sent(50, 53, &query).received(60, 53, &answer);
    check(vec![a.closed(), b.closed()], &[]);
}

#[test]
fn a_reel_that_was_cut_ends_early() {
    let (a, b) = pair();
    check(
        vec![a.closed(), b.killed()],
        &[(
            "cut-reel",
            "the reel of B was cut: what came after its end is unknown",
        )],
    );
    let (a, b) = pair();
    check(
        vec![a.killed(), b.killed()],
        &[(
            "cut-reel",
            "the reels of A and B were cut: what came after their ends is unknown",
        )],
    );
}

#[test]
fn a_reel_that_is_still_recorded_was_not_cut() {
    let (a, b) = pair();
    check(
        vec![a.going_on(), b.going_on()],
        &[(
            "cut-reel",
            "the reels of A and B are still being recorded: what is yet to come is unknown",
        )],
    );
}

#[test]
fn a_recording_that_reached_a_limit_ends_early() {
    let (a, b) = pair();
    let note = format!("{LIMIT_NOTE}it has reached its time of 5 s");
    let event = Event::Note {
        text: note.as_bytes(),
    };
    let b = b.event(5 * SECOND, event);
    let bytes = b.writer.finish().unwrap();
    check(
        vec![a.closed(), input("B.reel".to_owned(), bytes)],
        &[(
            "limit",
            "the recording of B ended early: it has reached its time of 5 s",
        )],
    );
}

#[test]
fn a_reel_with_holes_says_the_first() {
    let (a, b) = pair();
    let b = b.event(50, Event::Dropped { count: 17 });
    check(
        vec![a.closed(), b.closed()],
        &[("holes", "the reel of B has a hole: 17 events were dropped")],
    );
    let (a, b) = pair();
    let b = b
        .event(50, Event::Switched { on: false })
        .event(60, Event::Switched { on: true })
        .event(70, Event::Dropped { count: 17 });
    check(
        vec![a.closed(), b.closed()],
        &[(
            "holes",
            "the reel of B has 2 holes; the first: switched off",
        )],
    );
}

#[test]
fn packets_that_the_kernel_dropped_are_a_hole_of_a_captured_node() {
    let (a, mut b) = pair();
    b.header.engine = Header::CAPTURED.to_owned();
    let (told, answered) = (says(1, 0, (CREATE, 0)), ack(2, 0));
    let b = Tape::with(b.header)
        .event(
            0,
            Event::SocketOpened {
                socket: SOCKET,
                local: at(2),
            },
        )
        .received(20, 1, &told)
        .sent(30, 1, &answered)
        .event(40, Event::CaptureDrops { count: 3 });
    check(
        vec![a.closed(), b.closed()],
        &[
            (
                "captured",
                "B is known from a packet capture: what its program read is unknown",
            ),
            (
                "holes",
                "the reel of B has a hole: 3 packets were not captured",
            ),
        ],
    );
}

#[test]
fn packets_that_a_reel_lacks_show_that_it_began_late() {
    let (a, b) = pair();
    let earlier = says(1, 9, (CREATE, 9));
    check(
        vec![a.closed(), b.received(50, 1, &earlier).closed()],
        &[(
            "lacks-packets",
            "1 packet was received from A that its reel does not hold",
        )],
    );
}

fn tap() -> Tape {
    let header = header("tap");
    Tape::with(Header {
        engine: Header::OBSERVER.to_owned(),
        ..header
    })
}

#[test]
fn what_an_observer_saw_is_not_what_a_program_read() {
    let (told, answered) = (says(1, 0, (CREATE, 0)), ack(2, 0));
    let tap = tap()
        .seen(15, (1, 2), &told)
        .seen(35, (2, 1), &answered)
        .event(50, Event::CaptureDrops { count: 2 });
    let bytes = tap.writer.finish().unwrap();
    check(
        vec![input("tap.reel".to_owned(), bytes)],
        &[
            (
                "no-reel",
                "2 nodes took part and have no reel: 10.0.0.1:1 (peer 1) and 10.0.0.1:2 (peer 2)",
            ),
            (
                "observed",
                "tap is a packet capture: what programs read of it is unknown",
            ),
            (
                "holes",
                "the reel of tap has a hole: 2 packets passed unseen",
            ),
        ],
    );
}

#[test]
fn a_capture_that_kept_the_first_bytes_says_of_how_many_packets() {
    let told = says(1, 0, (CREATE, 0));
    let mut tap = tap();
    for time in 0..60 {
        tap = tap
            .seen(time, (1, 2), &ack(1, 1))
            .seen(time, (2, 1), &ack(2, 1));
    }
    let tap = tap.seen(70, (1, 2), &told);
    let of = EventNumber(0);
    let tap = tap.event(80, Event::Cut { of, length: 600 });
    let judged = judge(vec![input(
        "tap.reel".to_owned(),
        tap.writer.finish().unwrap(),
    )]);
    let sentences: Vec<_> = judged
        .reasons
        .iter()
        .map(|it| (it.id, &it.sentence[..]))
        .collect();
    let said = "tap kept only the first bytes of 1 packet: what stands behind them is unknown";
    assert!(sentences.contains(&("cut-packets", said)), "{sentences:?}");
}

#[test]
fn an_observer_beside_whole_reels_takes_nothing_from_them() {
    let (a, b) = pair();
    let tap = tap()
        .seen(15, (1, 2), &says(1, 0, (CREATE, 0)))
        .event(16, Event::Dropped { count: 2 });
    let bytes = tap.writer.finish().unwrap();
    let tap = input("tap.reel".to_owned(), bytes);
    check(vec![a.closed(), b.closed(), tap], &[]);
}

#[test]
fn clocks_that_no_packets_tie_leave_the_order_open() {
    let told = says(1, 0, (CREATE, 0));
    let a = Tape::of("A", 1).sent(10, 2, &told);
    let mut other = header("B");
    other.clock.boot_id = "another machine".to_owned();
    let b = Tape::with(other).event(
        0,
        Event::SocketOpened {
            socket: SOCKET,
            local: at(2),
        },
    );
    let b = b.received(20, 1, &told);
    check(
        vec![a.closed(), b.closed()],
        &[(
            "clock",
            "no packets both ways tie the clock of B to the others: what came first is unknown",
        )],
    );
}

#[test]
fn reels_without_packets_show_nothing() {
    check(
        vec![Tape::of("A", 1).closed()],
        &[("no-packets", "the reels hold no packets")],
    );
}

#[test]
fn a_reel_that_could_not_be_read_is_missed() {
    let (a, b) = pair();
    let session = Session::builder()
        .build(vec![a.closed(), b.closed()])
        .unwrap();
    let history = History::build(&session);
    let unread = ["X.reel: it is not a reel".to_owned()];
    let judged = Judgement::new(&session, &history, Level::Error, &unread);
    assert_eq!(
        judged.line(),
        "unknown: no errors, but not all could be judged: a reel could not be read: X.reel: it is \
         not a reel"
    );
}

#[test]
fn a_recording_that_goes_on_is_not_blamed_for_having_no_end() {
    let (a, b) = pair();
    let judged = judge(vec![a.killed(), b.killed()]).under_way();
    assert_eq!((judged.verdict, judged.reasons.len()), (Verdict::Clean, 0));
    let (a, _) = pair();
    let judged = judge(vec![a.killed()]).under_way();
    assert_eq!(judged.verdict, Verdict::Unknown);
    assert_eq!(judged.reasons[0].id, "no-reel");
}

#[test]
fn the_guide_lists_every_reason() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/check.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for id in REASONS {
        assert!(page.contains(&format!("| `{id}` |")), "{id}");
    }
}

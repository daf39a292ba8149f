//! Objects that come in snapshots, in sessions of a tiny protocol that are made by hand: what the
//! receiver believes is what its last snapshot says.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::history::state::{Known, Scalar, States};
use netreel_protocol::session::{NodeId, ReelInput, Session, SessionTime};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time, WireText,
};
use netreel_wire::PropertyId;

/// A snapshot, with how many before it its base is, then objects; or baselines.
const WIRE: &str = "
wire snaps { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { snapshot = 0, update = 1 @update, gone = 2 @destroy, baseline = 3 @baseline }
struct Packet { sequence: u8 @sequence; messages: Message(sequence)[until end]; }
struct Message(sequence: int) @message {
    kind: Kind @message_kind;
    switch (kind) {
        Kind.snapshot => {
            let number: u8 = sequence @snapshot;
            delta: u8;
            if (delta != 0) { let base: u8 = sequence - delta @base; }
        }
        Kind.gone => object: u8 @object;
        default => {
            object: u8 @object;
            has_speed: u8;
            if (has_speed == 1) { speed: u8 @property(count); }
            has_size: u8;
            if (has_size == 1) { size: u8 @property(count); }
        }
    }
}
";

const FULL: [u8; 2] = [0, 0];

fn after(base: u8) -> [u8; 2] {
    [0, base]
}

/// The speed and the size of objects 1 and 2, as the receiver has them.
type Seen = [Option<(Option<u8>, Option<u8>)>; 2];

/// Packets of a server, 10 ms apart, each with what it holds and whether it arrives; what the client
/// believes 1 ms after each was received.
fn check(packets: &[(u8, &[&[u8]], bool)], expected: &[Seen]) {
    check_with_hole(packets, None, expected);
}

/// What stands for a value of which nobody can say what it is.
const UNKNOWN: u8 = 255;

/// The same where events are missing in the client's reel before its receipt of this many packets.
fn check_with_hole(packets: &[(u8, &[&[u8]], bool)], hole: Option<usize>, expected: &[Seen]) {
    let server: Endpoint = ([127, 0, 0, 1], 1).into();
    let client: Endpoint = ([127, 0, 0, 1], 2).into();
    let mut events: [Vec<(u64, bool, Vec<u8>)>; 2] = Default::default();
    let mut looks = Vec::new();
    for ((sequence, messages, arrives), ms) in packets.iter().zip((10..).step_by(10)) {
        let mut bytes = vec![*sequence];
        messages.iter().for_each(|it| bytes.extend_from_slice(it));
        events[0].push((ms, true, bytes.clone()));
        if *arrives {
            events[1].push((ms + 1, false, bytes));
        }
        looks.push(SessionTime((ms as i64 + 2) * 1_000_000));
    }
    let reels = (0usize..).zip(events).map(|(place, events)| {
        let (name, local, peer) = match place {
            0 => ("SERVER", server, client),
            _ => ("CLIENT", client, server),
        };
        let header = Header {
            node: name.to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "boot".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "snaps.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
        let mut next = 0;
        let mut write = |ms: u64, event: Event<'_>| {
            let record = Record {
                number: EventNumber(next),
                time: Time(ms * 1_000_000),
                thread: ThreadId(0),
                event,
            };
            next += 1;
            writer.push(&record).unwrap();
        };
        let socket = SocketId(0);
        write(0, Event::SocketOpened { socket, local });
        for (at, (ms, sent, payload)) in events.iter().enumerate() {
            if place == 1 && hole == Some(at) {
                // The last that the reel holds before it.
                write(*ms - 5, Event::PollEmpty { socket });
                write(*ms, Event::Dropped { count: 5 });
            }
            match sent {
                true => write(
                    *ms,
                    Event::Sent {
                        socket,
                        to: peer,
                        payload,
                    },
                ),
                false => write(
                    *ms,
                    Event::Received {
                        socket,
                        from: peer,
                        payload,
                    },
                ),
            }
        }
        ReelInput {
            name: format!("{name}.reel"),
            reel: Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap()),
        }
    });
    let session = Session::builder()
        .build(reels.collect())
        .expect("one session");
    let history = History::build(&session);
    let states = States::build(&session, &history);
    let place = session.nodes.iter().position(|node| node.name == "CLIENT");
    let client = NodeId(place.expect("it was recorded") as u16);
    let names: Vec<&str> = states.properties().iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["speed", "size"]);
    // The first event of the session is at 0.
    for (at, (time, expected)) in looks.into_iter().zip(expected).enumerate() {
        let value = |object, property| {
            let held = states.at(object, PropertyId(property), client, time)?;
            match held.value {
                Known::Value(parts) => match parts[..] {
                    [Scalar::Integer(value)] => Some(value as u8),
                    _ => panic!("{parts:?}"),
                },
                Known::Nothing => None,
                Known::Unknown => Some(UNKNOWN),
            }
        };
        let seen = [1, 2].map(|object| {
            let both = (value(object, 0), value(object, 1));
            (both != (None, None)).then_some(both)
        });
        assert_eq!(seen, *expected, "after packet {at}");
    }
}

#[test]
fn a_snapshot_is_its_base_with_its_differences() {
    check(
        &[
            (1, &[&FULL, &[1, 1, 1, 50, 1, 9], &[1, 2, 1, 60, 0]], true),
            (2, &[&after(1), &[1, 1, 1, 51, 0]], true),
            // From the first again, so that the change of the second is taken back.
            (3, &[&after(2), &[2, 2]], true),
        ],
        &[
            [Some((Some(50), Some(9))), Some((Some(60), None))],
            [Some((Some(51), Some(9))), Some((Some(60), None))],
            [Some((Some(50), Some(9))), None],
        ],
    );
}

#[test]
fn what_the_base_lacks_begins_with_its_baseline() {
    check(
        &[
            (1, &[&[3, 1, 1, 7, 1, 8]], true),
            (2, &[&FULL, &[1, 1, 0, 1, 9], &[1, 2, 1, 3, 0]], true),
            (3, &[&FULL, &[1, 1, 0, 0]], true),
        ],
        &[
            [None, None],
            [Some((Some(7), Some(9))), Some((Some(3), None))],
            [Some((Some(7), Some(8))), None],
        ],
    );
}

#[test]
fn one_whose_base_never_came_and_one_that_is_older_change_nothing() {
    let first: &[&[u8]] = &[&FULL, &[1, 1, 1, 50, 0]];
    let lacks: &[&[u8]] = &[&after(2), &[1, 1, 1, 99, 0]];
    let older: &[&[u8]] = &[&FULL, &[1, 1, 1, 88, 0]];
    let seen: Seen = [Some((Some(50), None)), None];
    check(
        &[
            (5, first, true),
            (6, first, false),
            (8, lacks, true),
            (4, older, true),
        ],
        &[seen, seen, seen, seen],
    );
}

#[test]
fn behind_a_hole_nothing_is_known_until_the_next_snapshot_says_it() {
    let unknown = Some((Some(UNKNOWN), Some(UNKNOWN)));
    let whole = [Some((Some(7), Some(8))), Some((Some(9), Some(10)))];
    let (one, other) = ([1, 1, 1, 7, 1, 8], [1, 2, 1, 9, 1, 10]);
    let packets: [(u8, &[&[u8]], bool); 4] = [
        (1, &[&FULL, &one, &other], true),
        // Its base never came: what was so before the hole is not so any more for sure.
        (3, &[&after(1)], true),
        // Object 2 has gone, in the hole or with this.
        (4, &[&FULL, &one], true),
        // And from there it goes on.
        (5, &[&after(1)], true),
    ];
    check_with_hole(
        &packets,
        Some(1),
        &[
            whole,
            [unknown, unknown],
            [whole[0], None],
            [whole[0], None],
        ],
    );
}

//! The recording, handed back call by call.

use super::*;
use netreel_reel::{SocketId, ThreadId};

struct List(Vec<(u64, Event<'static>)>, usize);

impl Events for List {
    fn peek(&mut self) -> Option<Record<'_>> {
        let (number, event) = *self.0.get(self.1)?;
        Some(Record {
            number: EventNumber(number),
            time: Time(100 + number),
            thread: ThreadId(0),
            event,
        })
    }

    fn advance(&mut self) {
        self.1 += 1;
    }
}

fn replay(events: &[Event<'static>]) -> ReplayTransport<List> {
    let numbered = events
        .iter()
        .enumerate()
        .map(|(n, event)| (n as u64, *event))
        .collect();
    ReplayTransport::new(List(numbered, 0))
}

fn peer() -> Endpoint {
    Endpoint::from(([127, 0, 0, 1], 7000))
}

fn sent(payload: &'static [u8]) -> Event<'static> {
    Event::Sent {
        socket: SocketId(0),
        to: peer(),
        payload,
    }
}

#[test]
fn the_clock_reads_what_it_read_then() {
    let mut io = replay(&[
        Event::Clock { value: Time(7) },
        Event::Clock { value: Time(9) },
    ]);
    assert_eq!(
        (io.now(), io.now(), io.divergence()),
        (Time(7), Time(9), None)
    );
}

#[test]
fn a_packet_is_received_again() {
    let received = Event::Received {
        socket: SocketId(0),
        from: peer(),
        payload: b"hello",
    };
    let mut io = replay(&[
        received,
        Event::PollEmpty {
            socket: SocketId(0),
        },
    ]);
    let mut buffer = [0; 8];
    assert_eq!(
        io.receive(&mut buffer),
        Ok(Some(Datagram {
            from: peer(),
            length: 5
        }))
    );
    assert_eq!(&buffer[..5], b"hello");
    assert_eq!(io.receive(&mut buffer), Ok(None));
}

#[test]
fn a_failed_send_fails_again() {
    let failed = SendOutcome::Failed(111);
    let mut io = replay(&[
        sent(b"one"),
        Event::SendResult {
            of: EventNumber(0),
            outcome: failed,
        },
        sent(b"two"),
    ]);
    assert_eq!(io.send(peer(), b"one"), Err(SendError::Os(111)));
    assert_eq!(io.send(peer(), b"two"), Ok(()));
    assert_eq!((io.compared(), io.divergence()), ((2, 6), None));
}

#[test]
fn a_send_fails_again_though_the_recorder_stalled_before_its_result() {
    let mut io = replay(&[
        sent(b"one"),
        Event::Stalled { nanos: 5 },
        Event::SendResult {
            of: EventNumber(0),
            outcome: SendOutcome::Failed(111),
        },
    ]);
    assert_eq!(io.send(peer(), b"one"), Err(SendError::Os(111)));
}

#[test]
fn another_byte_is_a_divergence_at_the_send() {
    let mut io = replay(&[Event::Clock { value: Time(1) }, sent(b"one")]);
    io.now();
    io.send(peer(), b"onE").unwrap();
    let divergence = io.divergence().unwrap();
    assert_eq!(divergence.number, EventNumber(1));
    assert_eq!(
        divergence.expected,
        Step::Send {
            to: peer(),
            packet: b"one".to_vec()
        }
    );
    assert_eq!(
        divergence.came,
        Step::Send {
            to: peer(),
            packet: b"onE".to_vec()
        }
    );
}

#[test]
fn a_call_out_of_its_place_is_a_divergence() {
    let mut io = replay(&[sent(b"one")]);
    io.random();
    assert_eq!(
        io.divergence().map(|found| &found.came),
        Some(&Step::Random)
    );
}

#[test]
fn another_socket_is_a_divergence_for_a_layer_with_several() {
    let empty = |socket| Event::PollEmpty {
        socket: SocketId(socket),
    };
    let mut io = replay(&[empty(0), empty(1), empty(0)]);
    assert_eq!(io.receive_on(SocketId(0), &mut []), Ok(None));
    assert_eq!(
        io.receive(&mut []),
        Ok(None),
        "for one that has one alone it is none"
    );
    assert_eq!(io.divergence(), None);
    assert_eq!(io.receive_on(SocketId(1), &mut []), Ok(None));
    let sockets = io.divergence().map(|found| found.sockets);
    assert_eq!(sockets, Some(Some((SocketId(0), SocketId(1)))));
}

#[test]
fn every_event_that_has_a_step_is_one() {
    let socket = SocketId(0);
    let value = Time(0);
    let steps = [
        Event::Tick {
            tick: 0,
            time: value,
        },
        Event::Input { call: b"" },
        Event::Clock { value },
        Event::Random { value: 0 },
        Event::PollEmpty { socket },
        Event::ReceiveFailed { socket, code: 1 },
        sent(b""),
        Event::Note { text: b"" },
        created(1),
        Event::Snapshot { state: b"" },
        Event::Switched { on: true },
    ];
    for event in steps {
        assert_eq!(Step::is_one(&event), Step::of(&event).is_some());
    }
}

#[test]
fn a_snapshot_is_taken_between_two_turns() {
    let mut io = replay(&[
        Event::Note { text: b"" },
        Event::Snapshot { state: b"state" },
        Event::Random { value: 1 },
        Event::Snapshot { state: b"later" },
    ]);
    let take = |number, _, state: &[u8]| (number, state.to_vec());
    let first = io.take_snapshot(take);
    assert_eq!(first, Some((EventNumber(1), b"state".to_vec())));
    assert_eq!(io.take_snapshot(take), None, "the draw is first");
    io.random();
    assert!(io.take_snapshot(take).is_some());
}

#[test]
fn only_the_first_divergence_is_kept() {
    let mut io = replay(&[sent(b"one")]);
    io.random();
    io.now();
    assert_eq!(
        io.divergence().map(|found| &found.came),
        Some(&Step::Random)
    );
}

#[test]
fn a_call_after_the_end_is_an_overrun() {
    let mut io = replay(&[Event::Clock { value: Time(5) }]);
    io.now();
    assert_eq!(io.send(peer(), b"more"), Ok(()));
    let overrun = io.overrun().unwrap();
    assert_eq!(
        (overrun.number, &overrun.expected),
        (EventNumber(1), &Step::Nothing)
    );
    assert_eq!(io.divergence(), None);
}

#[test]
fn what_only_the_recorder_said_is_stepped_over() {
    let mut io = replay(&[
        Event::Switched { on: true },
        Event::Note { text: b"a note" },
        Event::Random { value: 3 },
    ]);
    assert_eq!((io.random(), io.divergence()), (3, None));
}

fn created(object: u64) -> Event<'static> {
    let believed = Believed::Created { owner: None };
    Event::Believed { object, believed }
}

#[test]
fn a_belief_that_differs_is_told_and_ends_nothing() {
    let mut io = replay(&[
        created(1),
        created(2),
        Event::Random { value: 3 },
        Event::Random { value: 4 },
    ]);
    io.believes(1, Believed::Created { owner: None });
    io.believes(2, Believed::Destroyed);
    assert_eq!((io.random(), io.random(), io.divergence()), (3, 4, None));
    let differs = io.belief_differs().unwrap();
    assert_eq!(differs.number, EventNumber(1));
    assert_eq!(differs.recorded.as_deref(), Some("created 2"));
    assert_eq!(differs.said, "destroyed 2");
}

#[test]
fn a_belief_more_than_the_recording_has_differs_unless_it_has_none() {
    let random = Event::Random { value: 3 };
    let mut io = replay(&[created(1), random]);
    io.believes(1, Believed::Created { owner: None });
    io.believes_value(1, "hp", &[2.5]);
    let differs = io.belief_differs().unwrap();
    assert_eq!(
        (differs.recorded.as_deref(), differs.said.as_str()),
        (None, "value 1 hp 2.5")
    );
    let mut io = replay(&[random]);
    io.believes(1, Believed::Destroyed);
    assert_eq!(io.belief_differs(), None);
    assert_eq!(io.random(), 3);
}

#[test]
fn a_layer_that_says_nothing_differs_in_nothing() {
    let mut io = replay(&[created(1), Event::Random { value: 3 }]);
    assert_eq!((io.random(), io.belief_differs()), (3, None));
}

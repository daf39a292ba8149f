//! What crosses the seam is in the reel, in order.

use netreel_reel::{Ending, Endpoint, Event, Header, OwnedRecord, Reel, SendOutcome, Time};
use netreel_transport::{
    Datagram, MemoryRecorder, ReceiveError, Recorded, SendError, SnapshotPlan, Transport,
};

/// Answers from a list; its clock moves 1 µs a read.
#[derive(Default)]
struct Script {
    time: u64,
    arriving: Vec<Result<Option<Vec<u8>>, ReceiveError>>,
    send_results: Vec<Result<(), SendError>>,
}

fn peer() -> Endpoint {
    "127.0.0.1:7001".parse().unwrap()
}

fn local() -> Endpoint {
    "127.0.0.1:7000".parse().unwrap()
}

impl Transport for Script {
    fn now(&mut self) -> Time {
        self.time += 1_000;
        Time(self.time)
    }
    fn random(&mut self) -> u64 {
        4
    }
    fn send(&mut self, _: Endpoint, _: &[u8]) -> Result<(), SendError> {
        self.send_results.pop().unwrap_or(Ok(()))
    }
    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let Some(answer) = self.arriving.pop() else {
            return Ok(None);
        };
        Ok(answer?.map(|bytes| {
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Datagram {
                from: peer(),
                length: bytes.len(),
            }
        }))
    }
    fn tick(&mut self, _: u64, _: Time) {}
    fn input(&mut self, _: &[u8]) {}
    fn note(&mut self, _: &str) {}
}

fn record(inner: Script, play: impl FnOnce(&mut Recorded<Script>)) -> Vec<OwnedRecord> {
    let recorder = MemoryRecorder::create(&Header::default()).unwrap();
    let mut recorded = Recorded::new(inner, recorder.pusher(), local());
    play(&mut recorded);
    drop(recorded);
    let reel = Reel::from_bytes(recorder.finish()).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert_eq!(walk.events, reel.len());
    records
}

/// The events between the opening and the closing of the socket.
fn check(inner: Script, play: impl FnOnce(&mut Recorded<Script>), expected: &[Event<'_>]) {
    let records = record(inner, play);
    let events: Vec<_> = records.iter().map(|r| r.as_record().event).collect();
    let [
        Event::SocketOpened { .. },
        between @ ..,
        Event::SocketClosed { .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(between, expected);
    for (index, record) in records.iter().enumerate() {
        assert_eq!(
            record.as_record().number.0,
            index as u64,
            "numbers are dense"
        );
    }
}

#[test]
fn a_send_is_two_events_and_the_second_tells_the_result() {
    let socket = Default::default();
    let results = vec![Err(SendError::Os(11)), Err(SendError::Short(2)), Ok(())];
    let to = peer();
    check(
        Script {
            send_results: results,
            ..Script::default()
        },
        |io| {
            for packet in [b"one", b"two", b"six"] {
                let _ = io.send(to, packet);
            }
        },
        &[
            Event::Sent {
                socket,
                to,
                payload: b"one",
            },
            Event::SendResult {
                of: netreel_reel::EventNumber(1),
                outcome: SendOutcome::Sent,
            },
            Event::Sent {
                socket,
                to,
                payload: b"two",
            },
            Event::SendResult {
                of: netreel_reel::EventNumber(3),
                outcome: SendOutcome::Short(2),
            },
            Event::Sent {
                socket,
                to,
                payload: b"six",
            },
            Event::SendResult {
                of: netreel_reel::EventNumber(5),
                outcome: SendOutcome::Failed(11),
            },
        ],
    );
}

#[test]
fn a_receive_is_a_packet_an_empty_poll_or_a_failure() {
    let socket = Default::default();
    check(
        Script {
            arriving: vec![Ok(None), Err(ReceiveError(111)), Ok(Some(b"hey".to_vec()))],
            ..Script::default()
        },
        |io| {
            let mut buffer = [0; 2000];
            for _ in 0..3 {
                let _ = io.receive(&mut buffer);
            }
        },
        &[
            Event::Received {
                socket,
                from: peer(),
                payload: b"hey",
            },
            Event::ReceiveFailed { socket, code: 111 },
            Event::PollEmpty { socket },
        ],
    );
}

#[test]
fn what_the_game_and_the_layer_ask_is_recorded_with_the_answer() {
    check(
        Script::default(),
        |io| {
            io.tick(3, Time(50));
            io.now();
            io.random();
            io.input(b"jump");
            io.note("here");
            io.snapshot(b"all");
        },
        &[
            Event::Tick {
                tick: 3,
                time: Time(50),
            },
            Event::Clock { value: Time(3_000) },
            Event::Random { value: 4 },
            Event::Input { call: b"jump" },
            Event::Note { text: b"here" },
            Event::Snapshot { state: b"all" },
        ],
    );
}

#[test]
fn a_clock_read_is_stamped_with_what_the_layer_was_told() {
    let records = record(Script::default(), |io| {
        io.now();
    });
    let clock = records[1].as_record();
    assert_eq!(clock.event, Event::Clock { value: clock.time });
}

#[test]
fn nothing_is_recorded_while_switched_off_and_both_switches_are() {
    check(
        Script::default(),
        |io| {
            io.switch(false);
            io.switch(false);
            io.random();
            io.switch(true);
            io.random();
        },
        &[
            Event::Switched { on: false },
            Event::Switched { on: true },
            Event::Random { value: 4 },
        ],
    );
}

/// The states that were written down.
fn states(records: &[OwnedRecord]) -> Vec<Vec<u8>> {
    let states = records.iter().filter_map(|it| match it.as_record().event {
        Event::Snapshot { state } => Some(state.to_vec()),
        _ => None,
    });
    states.collect()
}

/// Offers the tick's number as state in each of this many ticks of 1 µs, in which 10 bytes are sent.
fn offer(io: &mut Recorded<Script>, ticks: std::ops::Range<u8>) {
    for tick in ticks {
        io.offer_state(&mut || Some(vec![tick; 5]));
        io.tick(u64::from(tick), Time::ZERO);
        let _ = io.send(peer(), b"ten bytes.");
    }
}

fn plan(micros: u64, others: u64) -> SnapshotPlan {
    SnapshotPlan {
        every: std::time::Duration::from_micros(micros),
        others,
    }
}

#[test]
fn a_state_is_written_down_when_it_is_time() {
    let records = record(Script::default(), |io| {
        io.snapshots(plan(20, 1));
        offer(io, 0..40);
    });
    let states = states(&records);
    assert!((3..8).contains(&states.len()), "{states:?}");
    assert!(states[0][0] > 0, "none at the begin");
}

#[test]
fn snapshots_wait_until_enough_else_was_recorded() {
    let few = record(Script::default(), |io| {
        io.snapshots(plan(1, 20));
        offer(io, 0..40);
    });
    // A state has 5 bytes, so 100 others: ten ticks.
    assert!((3..6).contains(&states(&few).len()), "{:?}", states(&few));
}

#[test]
fn the_state_is_written_down_at_once_after_a_pause() {
    let records = record(Script::default(), |io| {
        io.snapshots(plan(1_000_000, 1));
        offer(io, 0..3);
        io.switch(false);
        offer(io, 3..6);
        io.switch(true);
        offer(io, 6..9);
    });
    assert_eq!(states(&records), [[6; 5]]);
}

#[test]
fn without_a_plan_no_state_is_asked_for() {
    let records = record(Script::default(), |io| {
        io.offer_state(&mut || panic!("nobody wants it"));
    });
    assert_eq!(states(&records).len(), 0);
}

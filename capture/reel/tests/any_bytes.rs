//! Whatever bytes a block has, whatever is damaged, whatever events come: no panic, and events come
//! back as they were written.

mod sample;

use netreel_reel::{
    CallId, ClockId, Event, EventNumber, Reel, SendOutcome, SocketId, ThreadId, Time, block_frame,
    compressed_frame,
};
use proptest::prelude::*;
use sample::{called, clock_read, open, read, sample, v4, write};

/// What can be asked of a reel, without a panic and without an end to memory.
fn ask_everything(reel: &Reel) {
    let walk = reel.for_each(|_| {});
    let _ = reel.record(EventNumber(walk.events / 2));
    let _ = reel.find(EventNumber(u64::MAX));
    let _ = format!("{reel:?} {:?} {:?} {walk:?}", reel.totals(), reel.gaps());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_in_a_block_are_read_without_a_panic(
        body in prop::collection::vec(any::<u8>(), 0..400)
    ) {
        let mut bytes = write(&[], 1);
        let index_at = bytes.windows(4).position(|w| w == b"\xf7Idx").unwrap();
        bytes.truncate(index_at);
        bytes.extend_from_slice(&block_frame(&body));
        ask_everything(&open(&bytes).unwrap());
        // As a torn block, whose bytes no checksum covers.
        bytes.pop();
        ask_everything(&open(&bytes).unwrap());
    }

    #[test]
    fn any_bytes_in_a_compressed_block_are_read_without_a_panic(
        claimed in any::<u32>(),
        stored in prop::collection::vec(any::<u8>(), 0..400),
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = write(&[], 1);
        let index_at = bytes.windows(4).position(|w| w == b"\xf7Idx").unwrap();
        bytes.truncate(index_at);
        let good = zstd::bulk::compress(&body, 1).unwrap();
        for compressed in [&stored, &good] {
            for length in [claimed, body.len() as u32] {
                let mut bytes = bytes.clone();
                let stored = [&length.to_le_bytes()[..], compressed].concat();
                bytes.extend_from_slice(&compressed_frame(&stored));
                ask_everything(&open(&bytes).unwrap());
                bytes.pop();
                ask_everything(&open(&bytes).unwrap());
            }
        }
    }

    #[test]
    fn any_damage_is_read_without_a_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        seal_every in 1usize..40,
    ) {
        let mut bytes = write(&sample(b"payload"), seal_every);
        for (place, value) in places {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(reel) = open(&bytes) {
            ask_everything(&reel);
        }
    }

    #[test]
    fn any_events_come_back(
        events in prop::collection::vec(
            (any::<u64>(), 0u16..3, 0u8..13, any::<u64>(), 0u16..40), 0..200),
    ) {
        let payload = [7; 300];
        let events: Vec<_> = events.iter().enumerate().map(|(index, (time, thread, kind, value, port))| {
            let payload = &payload[..(*value % 300) as usize];
            let socket = SocketId(*port % 3);
            let event = match kind {
                0 | 1 => Event::Sent { socket, to: v4(*port), payload },
                2 => Event::Received { socket, from: v4(*port), payload },
                3 => Event::SendResult {
                    of: EventNumber((index as u64).saturating_sub(value % 4)),
                    outcome: SendOutcome::Sent,
                },
                4 => Event::Clock { value: Time(*value) },
                5 => Event::Tick { tick: *value, time: Time(*time) },
                6 => Event::PollEmpty { socket },
                7 => Event::Input { call: payload },
                8 => clock_read(ClockId(*port as u8), *value),
                9 => clock_read(ClockId::GETTIMEOFDAY, *time),
                10 => called(CallId(3), *port as i32, payload),
                11 => Event::Seen { from: v4(*port), to: v4(*port ^ 1), payload },
                _ => Event::Stalled { nanos: *value },
            };
            (*time % (1 << (value % 64)), *thread, event)
        }).collect();
        let reel = open(&write(&events, 64)).unwrap();
        let records = read(&reel);
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, thread, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!(record.event, *event);
            prop_assert_eq!((record.time, record.thread), (Time(*time), ThreadId(*thread)));
        }
    }

    #[test]
    fn clock_reads_and_calls_close_together_come_back(
        reads in prop::collection::vec((0u64..600_000, 0u8..4, 0u16..2, 0u64..3), 0..200),
    ) {
        let mut time = 86_400_000_000_000;
        let mut ahead = 1_700_000_000_000_000_000;
        let mut events = Vec::new();
        for (later, kind, thread, jump) in reads {
            time += later;
            if later % 50 == 0 {
                ahead += jump;
            }
            match kind {
                0 => events.push((time, thread, clock_read(ClockId::MONOTONIC, time))),
                1 => {
                    let value = (time + ahead) / 1000 * 1000;
                    let clock = ClockId::GETTIMEOFDAY;
                    events.push((value - ahead, thread, clock_read(clock, value)));
                }
                2 => {
                    let value = (time + ahead) / 1_000_000_000 * 1_000_000_000;
                    events.push((time, thread, clock_read(ClockId::TIME, value)));
                }
                _ => {
                    let details = &[1, 2, 3][..jump as usize];
                    events.push((time, thread, called(CallId::POLL, jump as i32, details)));
                }
            }
        }
        let reel = open(&write(&events, 100)).unwrap();
        let records = read(&reel);
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, thread, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!((record.time, record.thread), (Time(*time), ThreadId(*thread)));
            prop_assert_eq!(record.event, *event);
        }
    }

    #[test]
    fn small_packets_close_together_come_back(
        packets in prop::collection::vec((0u64..20_000, 0usize..40, 0u16..6, 0u8..4), 0..100),
    ) {
        let payload = [7; 40];
        let socket = SocketId(0);
        let (mut time, mut events) = (0, Vec::new());
        for (delta, length, port, kind) in packets {
            time += delta;
            let payload = &payload[..length];
            let of = EventNumber(events.len() as u64);
            if kind < 2 {
                events.push((time, 0, Event::Sent { socket, to: v4(port), payload }));
            } else {
                events.push((time, 0, Event::Received { socket, from: v4(port), payload }));
            }
            match kind {
                0 => events.push((time, 0, Event::SendResult { of, outcome: SendOutcome::Sent })),
                2 => events.push((time, 0, Event::PollEmpty { socket })),
                _ => {}
            }
        }
        let records = read(&open(&write(&events, 1000)).unwrap());
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, _, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!((record.time, record.event), (Time(*time), *event));
        }
    }
}

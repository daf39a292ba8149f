//! Many events at full speed: with `block` all are there, with `drop` all are counted.

use std::path::Path;

use netreel_record::{Limits, Options, Recorder, Summary, WhenFull, open};
use netreel_reel::{Event, EventKind, Header, SocketId, Time};

const THREADS: u64 = 4;

/// Sends `count` packets from each of four threads as fast as they can; how many were taken.
fn send(path: &Path, options: Options, count: u64) -> (u64, Summary) {
    let recorder = Recorder::create(path, &Header::default(), options).unwrap();
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let mut pusher = recorder.pusher().unwrap();
                scope.spawn(move || {
                    let socket = SocketId(pusher.thread().0);
                    let to = "127.0.0.1:9".parse().unwrap();
                    let mut taken = 0;
                    for number in 0..count {
                        let mut payload = [0; 40];
                        payload[..8].copy_from_slice(&number.to_le_bytes());
                        let payload = &payload[..8 + number as usize % 32];
                        let event = Event::Sent {
                            socket,
                            to,
                            payload,
                        };
                        taken += u64::from(pusher.push(Time(number), event).is_some());
                    }
                    taken
                })
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    (taken, recorder.finish().unwrap())
}

/// What a reel holds: packets, and events that were dropped. Each thread's packets are in order.
fn held(path: &Path) -> (u64, u64) {
    let reel = open(path).unwrap();
    assert_eq!((reel.gaps(), reel.damage()), (&[][..], &[][..]));
    let mut next = [0; THREADS as usize];
    let mut packets = 0;
    let walk = reel.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            let number = u64::from_le_bytes(payload[..8].try_into().unwrap());
            let next = &mut next[usize::from(record.thread.0)];
            assert!(number >= *next, "{record:?} after {next}");
            assert_eq!(payload.len(), 8 + number as usize % 32);
            *next = number + 1;
            packets += 1;
        }
    });
    assert_eq!(walk.damaged, []);
    assert_eq!(reel.counts()[&EventKind::Sent], packets);
    (packets, reel.totals().dropped())
}

#[test]
fn a_million_packets_of_four_threads_are_all_there_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let (taken, summary) = send(&path, Options::default(), 250_000);
    assert_eq!((taken, summary.dropped), (1_000_000, 0));
    assert_eq!(held(&path), (1_000_000, 0));
}

#[test]
fn a_million_packets_in_rotating_compressed_files_through_little_rings_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let options = Options {
        ring_capacity: 256 << 10,
        rotate: Limits {
            bytes: Some(1 << 20),
            time: None,
        },
        zstd: true,
        ..Options::default()
    };
    let (taken, summary) = send(&path, options, 250_000);
    assert_eq!((taken, summary.dropped), (1_000_000, 0));
    assert!(summary.files > 1, "{summary:?}");
    assert_eq!(held(&path), (1_000_000, 0));
}

#[test]
fn where_packets_are_dropped_kept_and_dropped_are_those_that_were_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    // Four threads into the smallest rings outrun one that compresses.
    let options = Options {
        ring_capacity: 256 << 10,
        when_full: WhenFull::Drop,
        zstd: true,
        ..Options::default()
    };
    let (taken, summary) = send(&path, options, 100_000);
    let (kept, dropped) = held(&path);
    assert_eq!(kept, taken);
    assert_eq!(kept + dropped, THREADS * 100_000);
    assert_eq!(summary.dropped, dropped);
    assert!(dropped > 0, "the rings were too large for this test");
}

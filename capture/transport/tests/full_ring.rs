//! A pusher whose ring nobody empties must not hang the recorded program.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use netreel_reel::bell::Bell;
use netreel_reel::ring::{RING_PAGE, RingControl, RingHead, RingMemory, RingReader, RingWriter};
use netreel_reel::{Event, EventKind, ThreadId, Time, plain_read};
use netreel_transport::{BellRef, Gate, GateRef, Pusher, RingSink, WhenFull};

const CAPACITY: usize = 4 * RING_PAGE;

/// A ring in memory that is never given back.
struct Ring {
    memory: RingMemory,
    gate: &'static Gate,
}

#[repr(C, align(4096))]
struct Data([u8; CAPACITY]);

fn ring() -> Ring {
    // Leaked: a test's few pages outlive everything that points to them.
    let memory = RingMemory {
        control: Box::leak(Box::new(RingControl::default())),
        head: Box::leak(Box::new(RingHead::default())),
        data: Box::leak(Box::new(Data([0; CAPACITY]))).0.as_mut_ptr(),
        capacity: CAPACITY,
    };
    Ring {
        memory,
        gate: Box::leak(Box::new(Gate::default())),
    }
}

impl Ring {
    fn pusher(&self, when_full: WhenFull, wait_max: Duration) -> Pusher {
        // SAFETY: the memory is leaked, and each test makes one writer.
        let writer = unsafe { RingWriter::new(self.memory) };
        // SAFETY: the gate is leaked.
        let gate = unsafe { GateRef::new(self.gate, Arc::new(())) };
        let bell = BellRef::new(Box::leak(Box::new(Bell::default())));
        Pusher::into_ring(
            RingSink::new(writer, gate, bell, when_full, wait_max),
            ThreadId(0),
        )
    }

    fn reader(&self) -> RingReader {
        // SAFETY: the memory is leaked, and each test makes one reader.
        unsafe { RingReader::new(self.memory) }
    }

    /// The kinds of all events in the ring, which is then empty.
    fn take_all(&self, reader: &mut RingReader) -> Vec<EventKind> {
        let mut kinds = Vec::new();
        while let Some(record) = reader.next() {
            kinds.push(plain_read(record.kind, record.body).unwrap().kind());
        }
        let at = reader.at();
        reader.give_back(at);
        kinds
    }
}

fn fill(pusher: &mut Pusher) -> usize {
    let call = [1; 500];
    (0..1000)
        .take_while(|at| {
            pusher
                .push(Time(*at), Event::Input { call: &call })
                .is_some()
        })
        .count()
}

fn check_full(when_full: WhenFull) {
    let ring = ring();
    let mut reader = ring.reader();
    let mut pusher = ring.pusher(when_full, Duration::from_millis(20));
    let room = fill(&mut pusher);
    assert!(
        (20..40).contains(&room),
        "16 KiB take about 30 events of 500 bytes: {room}"
    );
    // Each of these would wait again if the pusher did not remember that it had waited in vain.
    for at in 0..100_000 {
        assert_eq!(pusher.push(Time(at), Event::Random { value: 1 }), None);
    }
    // SAFETY: as in `ring`.
    let head = unsafe { &*ring.memory.head };
    assert_eq!(head.dropped.0.load(Ordering::Relaxed), 100_001);

    // Once there is room, the next event tells of the drops first.
    assert_eq!(ring.take_all(&mut reader).len(), room);
    ring.gate.made_progress();
    assert!(pusher.push(Time(1), Event::Random { value: 2 }).is_some());
    assert_eq!(
        ring.take_all(&mut reader),
        [EventKind::Dropped, EventKind::Random]
    );
    assert_eq!(head.dropped.0.load(Ordering::Relaxed), 0);
}

#[test]
fn a_pusher_that_may_wait_gives_up_on_a_recorder_that_hangs() {
    check_full(WhenFull::Block);
}

#[test]
fn a_pusher_that_may_drop_does_not_wait() {
    check_full(WhenFull::Drop);
}

#[test]
fn a_wait_ends_when_recording_stops() {
    let ring = ring();
    let mut pusher = ring.pusher(WhenFull::Block, Duration::from_secs(3600));
    let gate = ring.gate;
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        gate.stop();
    });
    fill(&mut pusher);
    stopper.join().unwrap();
    assert_eq!(pusher.push(Time(1), Event::Random { value: 1 }), None);
}

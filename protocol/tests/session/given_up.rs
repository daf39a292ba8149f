//! Sessions that nobody wants any more while their reels are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netreel_protocol::session::{ReelInput, Session, SessionError};
use netreel_reel::{ReadAt, ReadError, Reel};
use netreel_system::Cancel;

use crate::Tape;

/// Bytes of which it is known how many were read.
struct Counted {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadAt for Counted {
    fn length(&self) -> Result<u64, ReadError> {
        self.bytes.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let read = self.bytes.read_at(offset, buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[test]
fn reels_that_nobody_wants_any_more_are_not_read_to_their_end() {
    let packet = |place: u64| (0..1_000).map(move |byte| (place * 31 + byte * byte) as u8);
    // A processor that reads ahead has read at most 8 MB when nobody wants it any more.
    let tape = (1..24_000).fold(Tape::new("one", "machine"), |tape, place| {
        let payload: Vec<u8> = packet(place).collect();
        tape.sent(place * 1_000, 2, &payload)
    });
    let source = Arc::new(Counted {
        bytes: tape.on(1),
        read: AtomicU64::new(0),
    });
    let reel = Arc::new(Reel::open(source.clone()).unwrap());
    let build = |wanted: Cancel| {
        let before = source.read.load(Ordering::Relaxed);
        let input = ReelInput {
            name: "one.reel".to_owned(),
            reel: reel.clone(),
        };
        let session = Session::builder().cancel(&wanted).build(vec![input]);
        let read = source.read.load(Ordering::Relaxed) - before;
        (session.map(|it| it.packet_count()), read)
    };
    let (packets, all) = build(Cancel::default());
    assert_eq!(packets, Ok(23_999));
    let (given_up, some) = build(Cancel::after(0));
    assert_eq!(given_up, Err(SessionError::GivenUp));
    assert!(some < all / 2, "{some} of {all} bytes");
}

#[test]
fn packets_that_nobody_wants_any_more_are_neither_matched_nor_put_in_order() {
    const PACKETS: u64 = 10_000;
    let payload = |place: u64| place.to_le_bytes();
    let tapes = [("one", 1), ("two", 2)].map(|(name, own)| {
        let tape = (1..=PACKETS).fold(Tape::new(name, "machine"), |tape, place| match own {
            1 => tape.sent(place * 1_000, 2, &payload(place)),
            _ => tape.received(place * 1_000 + 500, 1, &payload(place)),
        });
        (name, Arc::new(Reel::open(Arc::new(tape.on(own))).unwrap()))
    });
    // Wanted this many times, and then no more.
    let build = |times: i64| {
        let inputs = tapes.iter().map(|(name, reel)| ReelInput {
            name: format!("{name}.reel"),
            reel: reel.clone(),
        });
        let cancel = Cancel::after(times);
        let session = Session::builder().cancel(&cancel).build(inputs.collect());
        let session = session.map(|it| it.packet_count());
        (session, times - cancel.left())
    };
    let (whole, asked) = build(i64::MAX);
    assert_eq!(whole, Ok(PACKETS as usize));
    // Of 20 000 events it is asked while they are read, before and behind each step of matching, and
    // twice while their packets are put in order.
    assert!(asked >= 6, "{asked}");
    for times in 0..asked {
        let (given_up, then) = build(times);
        assert_eq!(given_up, Err(SessionError::GivenUp), "wanted {times} times");
        assert!(then <= asked, "{then}");
    }
}

//! Where the writing thread cannot keep up and the engine does not want to wait, every packet is in
//! the reel or counted there.

mod support;

use std::ptr::null_mut;

use netreel::Api;
use netreel::types::*;
use netreel_reel::EventKind;
use support::table::{NOTHING, call, open_with, peer, text};

const THREADS: usize = 4;
const EACH: u64 = 100_000;

/// What a thread sends with.
#[derive(Clone, Copy)]
struct Sender {
    api: Api,
    thread: Handle,
    socket: u32,
}

// SAFETY: a handle's value is a number; the header lets any thread use it, one at a time.
unsafe impl Send for Sender {}

impl Sender {
    /// Sends as fast as it can; how many packets were taken, and how many were not.
    fn send(self) -> (u64, u64) {
        let (mut taken, mut dropped) = (0, 0);
        let (to, payload) = (peer(), [7u8; 40]);
        for number in 0..EACH {
            let (bytes, length) = (payload.as_ptr().cast(), 8 + number % 32);
            let code = call!(
                self.api,
                packet_sent(self.thread, self.socket, &to, bytes, length, null_mut())
            );
            match code {
                OK => taken += 1,
                DROPPED => dropped += 1,
                other => panic!("{other}: {}", text(&self.api)),
            }
        }
        (taken, dropped)
    }
}

#[test]
fn where_packets_are_dropped_kept_and_dropped_are_those_that_were_sent() {
    // Four threads into the smallest buffers outrun one that compresses.
    let open = open_with(|options| {
        options.flags = DROP_WHEN_FULL | ZSTD;
        options.buffer_bytes = 256 << 10;
    });
    let senders = [(); THREADS].map(|()| {
        let mut thread = NOTHING;
        let code = call!(open.api, thread_open(open.recorder, &mut thread));
        assert_eq!(code, OK, "{}", text(&open.api));
        let (api, socket) = (open.api, open.socket);
        Sender {
            api,
            thread,
            socket,
        }
    });
    let told = std::thread::scope(|scope| {
        let running = senders.map(|sender| scope.spawn(move || sender.send()));
        running.map(|each| each.join().unwrap())
    });
    let taken: u64 = told.iter().map(|(taken, _)| taken).sum();
    let dropped: u64 = told.iter().map(|(_, dropped)| dropped).sum();
    assert_eq!(taken + dropped, THREADS as u64 * EACH);
    assert!(dropped > 0, "the buffers were too large for this test");

    let mut summary = CSummary {
        size: u32::try_from(size_of::<CSummary>()).unwrap(),
        ..CSummary::default()
    };
    let code = call!(open.api, close(open.recorder, &mut summary));
    assert_eq!(code, OK, "{}", text(&open.api));
    assert_eq!(summary.dropped, dropped);
    let reel = open.reel();
    assert_eq!((reel.gaps(), reel.damage()), (&[][..], &[][..]));
    assert_eq!(reel.counts()[&EventKind::Sent], taken);
    assert_eq!(reel.totals().dropped(), dropped);
}

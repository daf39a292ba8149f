//! Whatever a caller does wrong is an error code with a sentence.

mod support;

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use netreel::types::*;
use support::table::{NOTHING, api, c_path, call, open, open_with, options, peer, text};

#[test]
fn null_is_refused_everywhere() {
    let it = open();
    let (api, thread, socket) = (&it.api, it.thread, it.socket);
    let place = &mut [0u8; 64];
    let room = place.as_mut_ptr().cast::<c_void>();
    let codes = [
        call!(api, endpoint_from_sockaddr(null(), 16, &mut peer())),
        call!(api, endpoint_to_sockaddr(null(), room, &mut 64)),
        call!(api, endpoint_to_sockaddr(&peer(), null_mut(), &mut 64)),
        call!(api, endpoint_to_sockaddr(&peer(), room, null_mut())),
        call!(api, open(null(), &mut NOTHING.clone())),
        call!(api, thread_open(it.recorder, null_mut())),
        call!(api, socket_opened(thread, null(), &mut 0)),
        call!(api, socket_opened(thread, &peer(), null_mut())),
        call!(
            api,
            packet_sent(thread, socket, null(), null(), 0, null_mut())
        ),
        call!(
            api,
            packet_sent(thread, socket, &peer(), null(), 1, null_mut())
        ),
        call!(api, send_result(thread, null(), 1)),
        call!(api, packet_received(thread, socket, &peer(), null(), 9)),
        call!(api, input(thread, null(), 1)),
        call!(api, note(thread, null(), 1)),
        call!(api, snapshot(thread, null(), u64::MAX)),
        call!(api, replay_open(null(), &mut NOTHING.clone())),
        call!(api, replay_open(c"x".as_ptr(), null_mut())),
        call!(api, replay_next(NOTHING, null_mut())),
        call!(api, replay_receive(NOTHING, 0, null_mut(), 0, null_mut())),
        call!(api, replay_clock(NOTHING, null_mut())),
        call!(api, replay_random(NOTHING, null_mut())),
    ];
    assert_eq!(codes, [E_ARGUMENT; 21]);
    assert_eq!(text(api), "value is NULL");
    let codes = [
        call!(api, close(NOTHING, null_mut())),
        call!(api, trigger(NOTHING, null())),
        call!(api, thread_close(NOTHING)),
        call!(api, switch_on(NOTHING, 1)),
        call!(api, tick(NOTHING, 0, 0)),
        call!(api, replay_close(NOTHING)),
        call!(api, replay_tick(NOTHING, 0)),
    ];
    assert_eq!(codes, [E_HANDLE; 7]);
    assert_eq!(text(api), "the netreel_replay is NULL: was it opened?");
    assert_eq!(it.note(), OK, "it still records");
}

#[test]
fn a_length_of_minus_one_is_refused() {
    let it = open();
    let bytes = [1u8; 4];
    let (to, bytes) = (peer(), bytes.as_ptr().cast());
    let code = call!(
        it.api,
        packet_sent(it.thread, it.socket, &to, bytes, u64::MAX, null_mut())
    );
    assert_eq!(code, E_ARGUMENT);
    assert!(text(&it.api).ends_with("was a -1 given?"));
}

#[test]
fn a_handle_of_another_kind_is_named() {
    let it = open();
    assert_eq!(call!(it.api, tick(it.recorder, 0, 0)), E_KIND);
    assert_eq!(
        text(&it.api),
        "a netreel_recorder was given for a netreel_thread"
    );
    assert_eq!(call!(it.api, close(it.thread, null_mut())), E_KIND);
    assert_eq!(call!(it.api, replay_tick(it.thread, 0)), E_KIND);
    assert_eq!(it.note(), OK, "it still records");
}

#[test]
fn a_closed_handle_stays_closed() {
    let it = open();
    assert_eq!(call!(it.api, thread_close(it.thread)), OK);
    assert_eq!(call!(it.api, thread_close(it.thread)), E_CLOSED);
    let mut next = NOTHING;
    assert_eq!(call!(it.api, thread_open(it.recorder, &mut next)), OK);
    assert_ne!(next, it.thread, "a handle is never given out again");
    assert_eq!(it.note(), E_CLOSED);
    assert_eq!(text(&it.api), "this netreel_thread was closed");
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), E_CLOSED);
    assert_eq!(call!(it.api, trigger(it.recorder, null())), E_CLOSED);
}

#[test]
fn a_thread_outlives_its_recorder_and_records_nothing() {
    let it = open();
    assert_eq!(it.note(), OK);
    // SAFETY: zeros are a value.
    let mut summary: CSummary = unsafe { zeroed() };
    summary.size = u32::try_from(size_of::<CSummary>()).unwrap();
    assert_eq!(call!(it.api, close(it.recorder, &mut summary)), OK);
    assert_eq!((summary.events, summary.dropped), (2, 0));
    assert_eq!(it.note(), E_CLOSED);
    assert_eq!(call!(it.api, switch_on(it.thread, 1)), E_CLOSED);
    assert_eq!(call!(it.api, thread_close(it.thread)), OK);
    assert_eq!(it.reel().len(), 2);
}

#[test]
fn a_pointer_that_never_was_a_handle_is_refused() {
    let it = open();
    let stack = 7u64;
    for number in [1, 0xffff, usize::MAX, (&raw const stack).addr()] {
        let handle = Handle(std::ptr::without_provenance_mut(number));
        let code = call!(it.api, tick(handle, 0, 0));
        assert!([E_HANDLE, E_KIND, E_CLOSED].contains(&code), "{code}");
    }
    assert_eq!(it.note(), OK, "it still records");
}

#[test]
fn endpoints_and_sockets_that_cannot_be_are_refused() {
    let it = open();
    let code = call!(it.api, poll_empty(it.thread, it.socket + 1));
    assert_eq!(code, E_ARGUMENT);
    assert!(text(&it.api).starts_with("socket 1 was never opened"));
    let nowhere = CEndpoint::default();
    let code = call!(
        it.api,
        packet_received(it.thread, it.socket, &nowhere, null(), 0)
    );
    assert_eq!(code, E_ARGUMENT);
    assert_eq!(text(&it.api), "an endpoint of family 0: set it to 4 or 6");
    let unix = [1u16; 8];
    let code = call!(
        it.api,
        endpoint_from_sockaddr(unix.as_ptr().cast(), 16, &mut peer())
    );
    assert_eq!(code, E_ARGUMENT);
    let code = call!(
        it.api,
        endpoint_to_sockaddr(&peer(), unix.as_ptr().cast_mut().cast(), &mut 3)
    );
    assert_eq!(code, E_ARGUMENT);
}

#[test]
fn a_reel_that_is_there_is_not_replaced_unless_asked() {
    let it = open();
    let path = c_path(&it.folder.path().join("a.reel"));
    let mut second = NOTHING;
    let mut options = options(&path);
    assert_eq!(call!(it.api, open(&options, &mut second)), E_EXISTS);
    assert!(text(&it.api).contains("a.reel: there is a file already"));
    assert_eq!(second, NOTHING);
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    options.flags = REPLACE;
    assert_eq!(call!(it.api, open(&options, &mut second)), OK);
    assert_eq!(call!(it.api, close(second, null_mut())), OK);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let api = api();
    let options = options(c"/nowhere/at/all/a.reel");
    let mut recorder = NOTHING;
    assert_eq!(call!(api, open(&options, &mut recorder)), E_IO);
    assert!(
        text(&api).contains("/nowhere/at/all/a.reel"),
        "{}",
        text(&api)
    );
}

#[test]
fn flags_that_are_not_known_are_refused() {
    let api = api();
    let mut options = options(c"/nowhere/a.reel");
    options.flags = 1 << 31;
    let mut recorder = NOTHING;
    assert_eq!(call!(api, open(&options, &mut recorder)), E_UNSUPPORTED);
}

#[test]
fn more_threads_than_asked_for_are_refused_until_one_is_closed() {
    let it = open_with(|options| options.threads_max = 1);
    let mut second = NOTHING;
    assert_eq!(
        call!(it.api, thread_open(it.recorder, &mut second)),
        E_LIMIT
    );
    assert!(text(&it.api).ends_with("raise netreel_options.threads_max"));
    assert_eq!(call!(it.api, thread_close(it.thread)), OK);
    assert_eq!(call!(it.api, thread_open(it.recorder, &mut second)), OK);
}

#[test]
fn switched_off_nothing_is_recorded_and_that_is_no_error() {
    let it = open();
    assert_eq!(call!(it.api, switch_on(it.thread, 0)), OK);
    assert_eq!(it.note(), OFF);
    let mut late = 0;
    let code = call!(it.api, socket_opened(it.thread, &peer(), &mut late));
    assert_eq!((code, late), (OFF, 1));
    let mut sent = CSent::default();
    let (to, bytes) = (peer(), [0u8; 4]);
    let bytes = bytes.as_ptr().cast();
    let code = call!(
        it.api,
        packet_sent(it.thread, late, &to, bytes, 4, &mut sent)
    );
    assert_eq!(code, OFF);
    assert_eq!(call!(it.api, send_result(it.thread, &sent, 4)), OFF);
    assert_eq!(call!(it.api, switch_on(it.thread, 1)), OK);
    assert_eq!(it.note(), OK);
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    let mut kinds = Vec::new();
    it.reel().for_each(|record| kinds.push(record.event.kind()));
    use netreel_reel::EventKind::{Note, SocketOpened, Switched};
    assert_eq!(
        kinds,
        [SocketOpened, Switched, Switched, SocketOpened, Note],
        "a socket of the pause is told of at its end"
    );
}

#[test]
fn an_event_that_is_too_large_is_dropped_and_counted() {
    let it = open_with(|options| options.buffer_bytes = 1);
    let large = vec![0u8; 200 << 10];
    let bytes = large.as_ptr().cast();
    let code = call!(it.api, snapshot(it.thread, bytes, large.len() as u64));
    assert_eq!(code, DROPPED);
    // SAFETY: zeros are a value.
    let mut summary: CSummary = unsafe { zeroed() };
    summary.size = u32::try_from(size_of::<CSummary>()).unwrap();
    assert_eq!(call!(it.api, close(it.recorder, &mut summary)), OK);
    assert_eq!(summary.dropped, 1);
}

#[test]
fn without_ring_mode_a_trigger_says_so() {
    let it = open();
    assert_eq!(
        call!(it.api, trigger(it.recorder, c"now".as_ptr())),
        E_NO_RING
    );
    assert!(text(&it.api).contains("not in ring mode"));
}

#[test]
fn errno_is_left_alone() {
    let it = open();
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = 4242 };
    let mut recorder = NOTHING;
    let nowhere = options(c"/nowhere/a.reel");
    assert_eq!(call!(it.api, open(&nowhere, &mut recorder)), E_IO);
    assert_eq!(it.note(), OK);
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, 4242);
}

#[test]
fn two_threads_on_one_handle_record_whole_events_or_are_told() {
    let it = open();
    let (api, thread) = (it.api, it.thread.0.addr());
    let (taken, busy) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let thread = Handle(std::ptr::without_provenance_mut(thread));
                start.wait();
                for _ in 0..20_000 {
                    match call!(api, note(thread, c"hello".as_ptr(), 5)) {
                        OK => taken.fetch_add(1, Ordering::Relaxed),
                        E_BUSY => busy.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{other}"),
                    };
                }
            });
        }
    });
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    let (taken, busy) = (taken.into_inner(), busy.into_inner());
    assert_eq!(taken + busy, 40_000);
    let mut notes = 0;
    it.reel().for_each(|record| {
        if let netreel_reel::Event::Note { text } = record.event {
            assert_eq!(text, b"hello");
            notes += 1;
        }
    });
    assert_eq!(notes, taken);
}

#[test]
fn all_threads_may_use_one_recorder() {
    let it = open_with(|options| {
        options.threads_max = 8;
        options.buffer_bytes = 1;
    });
    let (api, recorder) = (it.api, it.recorder.0.addr());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let recorder = Handle(std::ptr::without_provenance_mut(recorder));
                for _ in 0..50 {
                    let mut thread = NOTHING;
                    assert_eq!(call!(api, thread_open(recorder, &mut thread)), OK);
                    assert_eq!(call!(api, tick(thread, 1, 1)), OK);
                    assert_eq!(call!(api, thread_close(thread)), OK);
                }
            });
        }
    });
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    assert_eq!(it.reel().len(), 201);
}

#[test]
fn closing_under_threads_that_record_is_told_to_them() {
    let it = open();
    let (api, thread) = (it.api, it.thread.0.addr());
    let running = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pushes = scope.spawn(|| {
            let thread = Handle(std::ptr::without_provenance_mut(thread));
            let mut taken = 0u64;
            loop {
                match call!(api, tick(thread, taken, 0)) {
                    OK => taken += 1,
                    E_CLOSED => return taken,
                    // Between the two steps of closing, or while closing is inside this handle.
                    E_STOPPED | DROPPED | E_BUSY => {}
                    other => panic!("{other}"),
                }
                running.store(true, Ordering::Relaxed);
            }
        });
        while !running.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
        let taken = pushes.join().unwrap();
        // One event is the recorder's own; what is pushed at the very moment of closing, one by one
        // thread, may be missing.
        assert!(it.reel().len() >= taken, "{taken}");
    });
}

#[test]
fn what_cannot_be_replayed_is_refused_with_the_reason() {
    let it = open_with(|options| options.start_length = 0);
    assert_eq!(call!(it.api, close(it.recorder, null_mut())), OK);
    let path = c_path(&it.folder.path().join("a.reel"));
    let mut replay = NOTHING;
    let code = call!(it.api, replay_open(path.as_ptr(), &mut replay));
    assert_eq!(code, E_NOT_REPLAYABLE);
    let said = text(&it.api);
    assert!(
        said.ends_with("Set netreel_options.start when it is recorded"),
        "{said}"
    );
    let code = call!(it.api, replay_open(c"/dev/null".as_ptr(), &mut replay));
    assert_eq!(code, E_REEL);
    assert_eq!(replay, NOTHING);
}

//! What a replay answers, call by call, and what it says of a call that is not in the reel.

mod support;

use std::ffi::{CStr, c_void};
use std::mem::zeroed;
use std::ptr::{null, null_mut};

use netreel::Api;
use netreel::types::*;
use support::table::{NOTHING, Open, api, c_path, call, open_with, peer, text};

/// A reel being replayed.
struct Replay {
    api: Api,
    handle: Handle,
    _folder: tempfile::TempDir,
}

/// Records with `record`, and replays that.
fn replay(change: impl FnOnce(&mut COptions), record: impl FnOnce(&Open)) -> Replay {
    let open = open_with(change);
    record(&open);
    assert_eq!(call!(open.api, close(open.recorder, null_mut())), OK);
    let path = c_path(&open.folder.path().join("a.reel"));
    let mut handle = NOTHING;
    let code = call!(open.api, replay_open(path.as_ptr(), &mut handle));
    assert_eq!(code, OK, "{}", text(&open.api));
    Replay {
        api: open.api,
        handle,
        _folder: open.folder,
    }
}

fn sized<T>(size: impl FnOnce(&mut T) -> &mut u32) -> T {
    // SAFETY: only used for structs of numbers and pointers.
    let mut it: T = unsafe { zeroed() };
    *size(&mut it) = u32::try_from(size_of::<T>()).unwrap();
    it
}

impl Replay {
    fn next(&self) -> (i32, CStep) {
        let mut step = sized(|step: &mut CStep| &mut step.size);
        let code = call!(self.api, replay_next(self.handle, &mut step));
        (code, step)
    }

    fn receive(&self, socket: u32, room: usize) -> (i32, CPacket, Vec<u8>) {
        let mut packet = sized(|packet: &mut CPacket| &mut packet.size);
        let mut bytes = vec![0; room];
        let place = bytes.as_mut_ptr().cast::<c_void>();
        let code = call!(
            self.api,
            replay_receive(self.handle, socket, place, room as u64, &mut packet)
        );
        (code, packet, bytes)
    }

    fn send(&self, socket: u32, bytes: &[u8]) -> (i32, i64) {
        let mut result = 99;
        let (to, place) = (peer(), bytes.as_ptr().cast());
        let code = call!(
            self.api,
            replay_send(
                self.handle,
                socket,
                &to,
                place,
                bytes.len() as u64,
                &mut result
            )
        );
        (code, result)
    }

    fn report(&self) -> (CReport, String) {
        let mut report = sized(|report: &mut CReport| &mut report.size);
        assert_eq!(call!(self.api, replay_report(self.handle, &mut report)), OK);
        // SAFETY: the library says that it ends with a zero byte.
        let text = unsafe { CStr::from_ptr(report.text) };
        (report, text.to_str().unwrap().to_owned())
    }
}

fn tick(open: &Open, number: u64) {
    assert_eq!(call!(open.api, tick(open.thread, number, 17)), OK);
}

fn send(open: &Open, socket: u32, bytes: &[u8], result: i64) {
    let (to, mut sent) = (peer(), CSent::default());
    let place = bytes.as_ptr().cast();
    let length = bytes.len() as u64;
    let code = call!(
        open.api,
        packet_sent(open.thread, socket, &to, place, length, &mut sent)
    );
    assert_eq!(code, OK);
    assert_eq!(call!(open.api, send_result(open.thread, &sent, result)), OK);
}

fn receive(open: &Open, socket: u32, bytes: &[u8]) {
    let (from, place) = (peer(), bytes.as_ptr().cast());
    let code = call!(
        open.api,
        packet_received(open.thread, socket, &from, place, bytes.len() as u64)
    );
    assert_eq!(code, OK);
}

#[test]
fn each_answer_is_the_recorded_one() {
    let it = replay(
        |_| {},
        |open| {
            let (api, thread) = (&open.api, open.thread);
            tick(open, 4);
            call!(api, clock_read(thread, 123));
            call!(api, random_drawn(thread, u64::MAX));
            receive(open, 0, b"hello");
            call!(api, poll_empty(thread, 0));
            call!(api, receive_failed(thread, 0, 111));
            send(open, 0, b"one", 3);
            send(open, 0, b"two", 2);
            send(open, 0, b"three", -90);
            call!(api, input(thread, b"call".as_ptr().cast(), 4));
        },
    );
    let (mut start, mut length) = (null(), 0);
    assert_eq!(
        call!(it.api, replay_start(it.handle, &mut start, &mut length)),
        OK
    );
    // SAFETY: the library gave so many bytes.
    let start = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) };
    assert_eq!(start, b"start");
    let mut local = CEndpoint::default();
    assert_eq!(call!(it.api, replay_socket(it.handle, 0, &mut local)), OK);
    assert_eq!(local, peer());
    assert_eq!(
        call!(it.api, replay_socket(it.handle, 1, &mut local)),
        E_ARGUMENT
    );

    let (code, step) = it.next();
    assert_eq!(
        (code, step.kind, step.tick, step.tick_time),
        (OK, STEP_TICK, 4, 17)
    );
    assert_eq!(step.number, 1);
    let mut value = 0;
    assert_eq!(call!(it.api, replay_clock(it.handle, &mut value)), OK);
    assert_eq!(value, 123);
    assert_eq!(call!(it.api, replay_random(it.handle, &mut value)), OK);
    assert_eq!(value, u64::MAX);
    let (code, packet, bytes) = it.receive(0, 8);
    assert_eq!((code, packet.kind, packet.length), (OK, RECEIVED, 5));
    assert_eq!((packet.from, &bytes[..5]), (peer(), &b"hello"[..]));
    let (code, packet, _) = it.receive(0, 8);
    assert_eq!((code, packet.kind, packet.length), (OK, EMPTY, 0));
    let (code, packet, _) = it.receive(0, 8);
    assert_eq!((code, packet.kind, packet.os_error), (OK, FAILED, 111));
    assert_eq!(it.send(0, b"one"), (OK, 3));
    assert_eq!(it.send(0, b"two"), (OK, 2));
    assert_eq!(it.send(0, b"three"), (OK, -90));
    let (code, step) = it.next();
    assert_eq!((code, step.kind, step.call_length), (OK, STEP_INPUT, 4));
    // SAFETY: the library gave so many bytes.
    let call = unsafe { std::slice::from_raw_parts(step.call.cast::<u8>(), 4) };
    assert_eq!(call, b"call");
    assert_eq!(it.report().0.finished, 1);
    let (code, step) = it.next();
    assert_eq!((code, step.kind), (OK, STEP_END));
    let (report, text) = it.report();
    assert_eq!((report.outcome, report.cut, text.as_str()), (EXACT, 0, ""));
    assert_eq!(
        (report.ticks, report.inputs, report.sends, report.bytes),
        (1, 1, 3, 11)
    );
    assert_eq!(call!(it.api, replay_close(it.handle)), OK);
    assert_eq!(it.next().0, E_CLOSED);
}

#[test]
fn a_loop_of_the_programs_own_is_compared_tick_by_tick() {
    let it = replay(
        |_| {},
        |open| {
            tick(open, 1);
            call!(open.api, input(open.thread, b"go".as_ptr().cast(), 2));
        },
    );
    assert_eq!(call!(it.api, replay_tick(it.handle, 1)), OK);
    let other = b"no";
    let code = call!(it.api, replay_input(it.handle, other.as_ptr().cast(), 2));
    assert_eq!(code, E_DIVERGED);
    let (report, _) = it.report();
    assert_eq!((report.ticks, report.inputs, report.event), (1, 0, 2));
}

/// Sends `one` where the reel has a tick and then `send`; what the report says.
fn diverged(change: impl FnOnce(&mut COptions), came: &[u8]) -> String {
    let it = replay(change, |open| {
        tick(open, 1);
        send(open, 0, &[1, 2, 3, 4], 4);
        call!(open.api, clock_read(open.thread, 7));
    });
    it.next();
    assert_eq!(it.send(0, came).0, E_DIVERGED);
    let said = text(&it.api);
    let (report, text) = it.report();
    assert_eq!((report.outcome, report.event), (DIVERGED, 2));
    assert_eq!(said, text);

    // From now on it says nothing, and everybody comes to an end.
    let mut value = 99;
    assert_eq!(
        call!(it.api, replay_random(it.handle, &mut value)),
        E_DIVERGED
    );
    assert_eq!(value, 0);
    assert_eq!(it.receive(0, 4).1.kind, EMPTY);
    assert_eq!(it.send(0, b"more"), (E_DIVERGED, 4));
    let (code, step) = it.next();
    assert_eq!((code, step.kind), (E_DIVERGED, STEP_END));
    assert_eq!(it.report().1, text, "the first one is kept");
    text
}

#[test]
fn a_divergence_names_the_byte() {
    let said = diverged(|_| {}, &[1, 2, 9, 4]);
    assert_eq!(
        said,
        "diverged at event 2: expected a packet of 4 bytes to 127.0.0.1:7000, came a packet of 4 \
         bytes to 127.0.0.1:7000; byte 2 (bits 16..24): expected 0x03, came 0x09"
    );
}

#[test]
fn with_a_wire_it_names_the_field() {
    let wire = c"wire four { byte_order = big; bit_order = msb; root = Packet; }\n\
                 struct Packet { first: u16; second: u16; }\n";
    let wires = [CText {
        name: c"four.wire".as_ptr(),
        text: wire.as_ptr(),
    }];
    let said = diverged(
        |options| {
            options.wires = wires.as_ptr();
            options.wires_count = 1;
        },
        &[1, 2, 9, 4],
    );
    assert!(
        said.ends_with("; second (bits 16..32): expected 772, came 2308"),
        "{said}"
    );
}

#[test]
fn what_packets_are_joined_to_is_told_beside_the_part() {
    let wire = c"wire parted { byte_order = little; bit_order = lsb; root = Packet; state = Connection; }\n\
                 state Connection { splits: parts[8]; }\n\
                 struct Packet { id: u8; index: u8; count: u8; data: bytes(3);\n\
                 join whole: Message from state.splits[id] (index, count, data); }\n\
                 struct Message { kind: u8; place: u32; rest_of: u8; }\n";
    let wires = [CText {
        name: c"parted.wire".as_ptr(),
        text: wire.as_ptr(),
    }];
    let it = replay(
        |options| {
            options.wires = wires.as_ptr();
            options.wires_count = 1;
        },
        |open| {
            tick(open, 1);
            send(open, 0, &[7, 0, 2, 3, 1, 2], 6);
            send(open, 0, &[7, 1, 2, 3, 4, 9], 6);
        },
    );
    it.next();
    assert_eq!(it.send(0, &[7, 0, 2, 3, 1, 2]).0, OK);
    assert_eq!(it.send(0, &[7, 1, 2, 3, 5, 9]).0, E_DIVERGED);
    let (_, said) = it.report();
    let inside = format!(
        "inside, whole.place (bits 8..40): expected {}, came {}",
        0x0403_0201_u32, 0x0503_0201_u32
    );
    assert!(
        said.contains("; data (") && said.ends_with(&inside),
        "{said}"
    );
}

#[test]
fn a_layer_that_does_less_is_a_divergence_at_the_next_tick() {
    let it = replay(
        |_| {},
        |open| {
            tick(open, 1);
            send(open, 0, b"one", 3);
            tick(open, 2);
        },
    );
    it.next();
    let (code, step) = it.next();
    assert_eq!((code, step.kind), (E_DIVERGED, STEP_END));
    let (_, said) = it.report();
    assert!(said.ends_with("came nothing"), "{said}");
}

#[test]
fn a_layer_that_does_more_at_the_end_is_a_divergence() {
    let it = replay(|_| {}, |open| tick(open, 1));
    it.next();
    assert_eq!(it.send(0, b"more").0, E_DIVERGED);
    let (_, said) = it.report();
    assert!(
        said.contains("expected nothing, came a packet of 4 bytes"),
        "{said}"
    );
}

#[test]
fn two_sockets_are_told_apart() {
    let it = replay(
        |_| {},
        |open| {
            let mut second = 0;
            let code = call!(open.api, socket_opened(open.thread, &peer(), &mut second));
            assert_eq!((code, second), (OK, 1));
            tick(open, 1);
            receive(open, 1, b"a");
            receive(open, 0, b"b");
            send(open, 1, b"c", 1);
        },
    );
    it.next();
    assert_eq!(it.receive(1, 1).2, b"a");
    assert_eq!(it.receive(0, 1).2, b"b");
    assert_eq!(it.send(0, b"c").0, E_DIVERGED);
    let (_, said) = it.report();
    assert!(said.ends_with("; socket: expected 1, came 0"), "{said}");
}

#[test]
fn a_buffer_that_is_too_small_gets_what_fits() {
    let it = replay(
        |_| {},
        |open| {
            tick(open, 1);
            receive(open, 0, b"hello");
        },
    );
    it.next();
    let (code, packet, bytes) = it.receive(0, 2);
    assert_eq!((code, packet.length, bytes.as_slice()), (OK, 2, &b"he"[..]));
}

#[test]
fn a_reel_that_was_not_closed_replays_to_its_end() {
    let open = open_with(|_| {});
    tick(&open, 1);
    send(&open, 0, b"one", 3);
    let api = api();
    let path = c_path(&open.folder.path().join("a.reel"));
    let mut handle = NOTHING;
    assert_eq!(call!(api, replay_open(path.as_ptr(), &mut handle)), OK);
    let it = Replay {
        api,
        handle,
        _folder: tempfile::tempdir().unwrap(),
    };
    it.next();
    assert_eq!(it.send(0, b"one"), (OK, 3));
    assert_eq!(it.send(0, b"two").0, END);
    let (code, step) = it.next();
    assert_eq!((code, step.kind), (END, STEP_END));
    let (report, _) = it.report();
    assert_eq!((report.outcome, report.cut, report.finished), (EXACT, 1, 1));
}

#[test]
fn structs_of_an_older_header_are_filled_as_far_as_they_go() {
    let it = replay(|_| {}, |open| tick(open, 1));
    // SAFETY: zeros are a value.
    let mut step: CStep = unsafe { zeroed() };
    step.size = 16;
    step.tick = 0xeeee;
    assert_eq!(call!(it.api, replay_next(it.handle, &mut step)), OK);
    assert_eq!(
        (step.size, step.kind, step.number, step.tick),
        (16, STEP_TICK, 1, 0xeeee)
    );
    let mut larger = [0xee_u8; 100];
    larger[..4].copy_from_slice(&96u32.to_ne_bytes());
    let place = larger.as_mut_ptr().cast();
    assert_eq!(call!(it.api, replay_report(it.handle, place)), OK);
    assert!(
        larger[size_of::<CReport>()..96]
            .iter()
            .all(|byte| *byte == 0)
    );
    assert_eq!(larger[96..], [0xee; 4]);
}

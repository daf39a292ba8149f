//! The kinds of events, and where the fields of each lie in its body.
//!
//! This is the plain layout, in which events stand in a ring: fields of fixed width, numbers with
//! their lowest byte first, bytes of any number at the end. The kinds that a library in a foreign
//! program pushes are laid out here; `plain.rs` lays out the others, and reads all of them back.
//!
//! This file depends on `core` and on `call.rs` beside it alone, so that the library which is
//! loaded into foreign programs can include it as it stands.

use crate::call::{CallId, ClockId};

/// The kind of an event, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // `Event` in event.rs says what each is
pub enum EventKind {
    SocketOpened = 1,
    SocketClosed = 2,
    Sent = 3,
    SendResult = 4,
    Received = 5,
    PollEmpty = 6,
    ReceiveFailed = 7,
    Clock = 8,
    Random = 9,
    Input = 10,
    Tick = 11,
    Note = 12,
    Snapshot = 13,
    Switched = 14,
    Dropped = 15,
    Stalled = 16,
    WriteFailed = 17,
    ClockRead = 18,
    Called = 19,
    Seen = 20,
    Fault = 21,
    CaptureDrops = 22,
    Triggered = 23,
    Interface = 24,
    Believed = 25,
    Cut = 28,
    Relay = 29,
}

impl EventKind {
    /// Every kind, in the order of its number.
    pub const ALL: [EventKind; 27] = [
        EventKind::SocketOpened,
        EventKind::SocketClosed,
        EventKind::Sent,
        EventKind::SendResult,
        EventKind::Received,
        EventKind::PollEmpty,
        EventKind::ReceiveFailed,
        EventKind::Clock,
        EventKind::Random,
        EventKind::Input,
        EventKind::Tick,
        EventKind::Note,
        EventKind::Snapshot,
        EventKind::Switched,
        EventKind::Dropped,
        EventKind::Stalled,
        EventKind::WriteFailed,
        EventKind::ClockRead,
        EventKind::Called,
        EventKind::Seen,
        EventKind::Fault,
        EventKind::CaptureDrops,
        EventKind::Triggered,
        EventKind::Interface,
        EventKind::Believed,
        EventKind::Cut,
        EventKind::Relay,
    ];

    /// The kind with this number, as it stands in a reel; `None` for one that is not known here.
    #[inline]
    pub fn from_number(number: u8) -> Option<EventKind> {
        EventKind::ALL
            .into_iter()
            .find(|&kind| kind as u8 == number)
    }
}

/// What a send call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The whole packet was taken.
    Sent,
    /// Only this many bytes were taken.
    Short(u32),
    /// The call failed with this operating-system error code.
    Failed(i32),
}

/// An IPv4 endpoint.
#[inline(always)]
pub const fn v4(port: u16, address: [u8; 4]) -> [u8; 7] {
    let ([p, q], [a, b, c, d]) = (port.to_le_bytes(), address);
    [4, p, q, a, b, c, d]
}

/// An IPv6 endpoint.
#[inline(always)]
pub fn v6(port: u16, address: [u8; 16], flow: u32, scope: u32) -> [u8; 27] {
    let mut bytes = [0; 27];
    bytes[0] = 6;
    bytes[1..3].copy_from_slice(&port.to_le_bytes());
    bytes[3..19].copy_from_slice(&address);
    bytes[19..23].copy_from_slice(&flow.to_le_bytes());
    bytes[23..27].copy_from_slice(&scope.to_le_bytes());
    bytes
}

/// Hands `put` the fields of a socket that was opened, or of a packet that was sent or received;
/// a packet's payload follows them. `endpoint` is what [`v4`] or [`v6`] made.
#[inline(always)]
pub fn packet(mut put: impl FnMut(&[u8]), number: u16, endpoint: &[u8]) {
    put(&socket(number));
    put(endpoint);
}

/// A socket that was closed, or had no packet.
#[inline(always)]
pub const fn socket(number: u16) -> [u8; 2] {
    number.to_le_bytes()
}

/// The result of the call that sent packet `of`.
#[inline(always)]
pub fn send_result(of: u64, outcome: SendOutcome) -> [u8; 13] {
    let (tag, value) = match outcome {
        SendOutcome::Sent => (0, 0),
        SendOutcome::Short(taken) => (1, taken),
        SendOutcome::Failed(code) => (2, code as u32),
    };
    let mut bytes = [0; 13];
    bytes[..8].copy_from_slice(&of.to_le_bytes());
    bytes[8] = tag;
    bytes[9..].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// A receive that failed with an operating-system error code.
#[inline(always)]
pub fn receive_failed(number: u16, code: i32) -> [u8; 6] {
    let ([s, t], [a, b, c, d]) = (socket(number), code.to_le_bytes());
    [s, t, a, b, c, d]
}

/// How many events were dropped.
#[inline(always)]
pub const fn dropped(count: u64) -> [u8; 8] {
    count.to_le_bytes()
}

/// How long a thread waited for room.
#[inline(always)]
pub const fn stalled(nanos: u64) -> [u8; 8] {
    nanos.to_le_bytes()
}

/// What a clock answered, in nanoseconds.
#[inline(always)]
pub fn clock_read(clock: ClockId, value: u64) -> [u8; 9] {
    let mut bytes = [0; 9];
    bytes[0] = clock.0;
    bytes[1..].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// A call of the operating system; its details follow.
#[inline(always)]
pub const fn called(call: CallId, result: i32) -> [u8; 5] {
    let [a, b, c, d] = result.to_le_bytes();
    [call.0, a, b, c, d]
}

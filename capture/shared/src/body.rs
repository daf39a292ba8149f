//! The kinds of events, and where the fields of each lie in its body.
//!
//! This is the plain layout, in which events stand in a ring: fields of fixed width, numbers with
//! their lowest byte first, bytes of any number at the end. The kinds that a library in a foreign
//! program pushes are laid out here; `netreel-reel` lays out the others, and reads all of them back.

use crate::call::{CallId, ClockId};

macro_rules! kinds {
    ($($kind:ident = $number:literal $name:literal,)*) => {
        /// The kind of an event, without its content.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)] // `Event` in netreel-reel says what each is
        pub enum EventKind {
            $($kind = $number,)*
        }

        impl EventKind {
            /// Every kind, in the order of its number.
            pub const ALL: [EventKind; [$($number),*].len()] = [$(EventKind::$kind),*];

            /// A word for people, and for what is typed: `poll-empty`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(EventKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    SocketOpened = 1 "socket-opened",
    SocketClosed = 2 "socket-closed",
    Sent = 3 "sent",
    SendResult = 4 "send-result",
    Received = 5 "received",
    PollEmpty = 6 "poll-empty",
    ReceiveFailed = 7 "receive-failed",
    Clock = 8 "clock",
    Random = 9 "random",
    Input = 10 "input",
    Tick = 11 "tick",
    Note = 12 "note",
    Snapshot = 13 "snapshot",
    Switched = 14 "switched",
    Dropped = 15 "dropped",
    Stalled = 16 "stalled",
    WriteFailed = 17 "write-failed",
    ClockRead = 18 "clock-read",
    Called = 19 "called",
    Seen = 20 "seen",
    Fault = 21 "fault",
    CaptureDrops = 22 "capture-drops",
    Triggered = 23 "triggered",
    Interface = 24 "interface",
    Believed = 25 "believed",
    Cut = 28 "cut",
    Relay = 29 "relay",
}

impl EventKind {
    /// The kind that [`name`](EventKind::name) calls so.
    pub fn named(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

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

impl SendOutcome {
    /// The number in a reel, and how many bytes were taken, or the error code.
    #[inline(always)]
    pub const fn to_numbers(self) -> (u8, u32) {
        match self {
            SendOutcome::Sent => (0, 0),
            SendOutcome::Short(taken) => (1, taken),
            SendOutcome::Failed(code) => (2, code as u32),
        }
    }

    /// Of what [`to_numbers`](SendOutcome::to_numbers) gave.
    #[inline(always)]
    pub const fn from_numbers((number, value): (u8, u32)) -> Option<SendOutcome> {
        Some(match number {
            0 => SendOutcome::Sent,
            1 => SendOutcome::Short(value),
            2 => SendOutcome::Failed(value as i32),
            _ => return None,
        })
    }
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
    let (tag, value) = outcome.to_numbers();
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

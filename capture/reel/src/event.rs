//! What a reel holds: everything that crossed the boundary of a network layer, on both sides.

use netreel_shared::body::{EventKind, SendOutcome};
use netreel_shared::call::{CallId, ClockId};

use crate::field::{Field, PlainHead};
use crate::varint::Cursor;
use crate::{Believed, Endpoint, EventNumber, FaultVerdict, SocketId, ThreadId, Time, Trigger};

/// One event with its place in the order and on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The place in the total order.
    pub number: EventNumber,
    /// When it happened, on the node's clock. A [`Event::SendResult`] has the time of its send.
    pub time: Time,
    /// The thread that it happened on.
    pub thread: ThreadId,
    /// What happened.
    pub event: Event<'a>,
}

macro_rules! events {
    ($($(#[$what:meta])* $kind:ident { $($field:ident: $type:ty),* $(,)? },)*) => {
        /// What happened at the boundary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the fields are what the variant's sentence says
        pub enum Event<'a> {
            $($(#[$what])* $kind { $($field: $type),* },)*
        }

        impl<'a> Event<'a> {
            /// The kind of this event.
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Event::$kind { .. } => EventKind::$kind,)*
                }
            }

            /// What it carries besides fixed fields: a packet's payload, a call, a text, a state.
            pub fn bytes(&self) -> Option<&'a [u8]> {
                match *self {
                    $(Event::$kind { $($field),* } => None$(.or(Field::tail($field)))*,)*
                }
            }

            /// Lays it out: the fixed part of its body, and the bytes that follow it.
            // Where the kind of the event is known, most of this is not there.
            #[inline(always)]
            pub(crate) fn laid_out(&self) -> (PlainHead, &'a [u8]) {
                let (mut head, mut tail) = (PlainHead::new(), &[][..]);
                match *self {
                    $(Event::$kind { $($field),* } => {
                        $(Field::put($field, &mut head, &mut tail);)*
                    })*
                }
                (head, tail)
            }

            /// Reads back what was laid out.
            #[inline(always)]
            pub(crate) fn read(kind: EventKind, from: &mut Cursor<'a>) -> Option<Event<'a>> {
                Some(match kind {
                    $(EventKind::$kind => Event::$kind { $($field: Field::read(from)?),* },)*
                })
            }
        }
    };
}

// The fields stand in the order in which they lie in the body.
events! {
    /// A socket was opened and bound to `local`.
    SocketOpened { socket: SocketId, local: Endpoint },
    /// A socket was closed.
    SocketClosed { socket: SocketId },
    /// The layer asked for a packet to be sent. Numbered before the call.
    Sent {
        socket: SocketId,
        to: Endpoint,
        payload: &'a [u8],
    },
    /// What the call that sent packet `of` returned.
    SendResult {
        of: EventNumber,
        outcome: SendOutcome,
    },
    /// The layer was given a packet. Numbered after the call.
    Received {
        socket: SocketId,
        from: Endpoint,
        payload: &'a [u8],
    },
    /// The layer asked for a packet and there was none. Takes no clock read of its own: it has
    /// the time of the event before it on its thread.
    PollEmpty { socket: SocketId },
    /// The layer asked for a packet and the call failed with an operating-system error code.
    ReceiveFailed { socket: SocketId, code: i32 },
    /// The layer read the clock and was told `value`.
    Clock { value: Time },
    /// The layer drew a random number and was given `value`.
    Random { value: u64 },
    /// The game called into the layer; the call is the engine's own encoding.
    Input { call: &'a [u8] },
    /// A tick of the layer begins. `time` is the game's virtual time.
    Tick { tick: u64, time: Time },
    /// Something that the engine or a person wanted to be found again. UTF-8, shown lossily.
    Note { text: &'a [u8] },
    /// The engine's state, in its own encoding: a replay can start here.
    Snapshot { state: &'a [u8] },
    /// Recording was switched on (`true`) or off (`false`).
    Switched { on: bool },
    /// `count` events before this one were dropped, because the disk could not keep up.
    Dropped { count: u64 },
    /// The recorded thread waited `nanos` ns for room in the buffer.
    Stalled { nanos: u64 },
    /// Recording stopped here for good; `code` is the operating-system error of the write.
    WriteFailed { code: i32 },
    /// An unmodified program read `clock` and was told `value`, in nanoseconds.
    ClockRead { clock: ClockId, value: u64 },
    /// An unmodified program called its operating system, and this came of it. `result` is what
    /// the call returned, or the negative error code; `details` have a layout for each call.
    Called {
        call: CallId,
        result: i32,
        details: &'a [u8],
    },
    /// A packet passed an observer, who took no part in it. The thread is the interface that it
    /// was seen at.
    Seen {
        from: Endpoint,
        to: Endpoint,
        payload: &'a [u8],
    },
    /// `count` packets went past an observer since the last such event (or since it began) without
    /// being seen: the kernel or the interface dropped its copies. The game lost nothing by it.
    /// In the reel of a proxy they were on their way through it, and are lost.
    CaptureDrops { count: u64 },
    /// The reel holds only the first bytes of packet `of`, which had `length` bytes of payload.
    Cut { of: EventNumber, length: u32 },
    /// A moment around which the recording was to be kept, and what was said of it. UTF-8, shown
    /// lossily.
    Triggered { trigger: Trigger, text: &'a [u8] },
    /// A proxy did not simply pass on the packet that it received as event `of`, or a network between nodes
    /// the one that it saw.
    Fault {
        of: EventNumber,
        verdict: FaultVerdict,
    },
    /// A proxy opened `socket` to pass on what `client` sends to its socket `listener`: what it
    /// sends there stands for packets of the client, and what it receives there is for the client.
    Relay {
        socket: SocketId,
        listener: SocketId,
        client: Endpoint,
    },
    /// What this thread sees from here on passes the interface that the capture calls `name` (UTF-8,
    /// shown lossily; empty where the capture says nothing). `link_type` is a `LINKTYPE_` number of
    /// the tcpdump group's registry.
    Interface { link_type: u32, name: &'a [u8] },
    /// The game says what it believes of `object`, the protocol's number, from here on.
    Believed { object: u64, believed: Believed<'a> },
}

impl Event<'_> {
    /// Whether it is a packet that was sent, received or seen.
    pub fn is_packet(&self) -> bool {
        matches!(
            self,
            Event::Sent { .. } | Event::Received { .. } | Event::Seen { .. }
        )
    }
}

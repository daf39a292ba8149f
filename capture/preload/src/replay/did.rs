//! What a thread of a replayed program does, which is compared with the tape.

use netreel_shared::body::EventKind;
use netreel_shared::call::CallId;
use netreel_shared::tape::why;

use crate::sys::IoVec;

/// What this thread did.
#[derive(Clone, Copy)]
pub struct Did<'a> {
    pub(super) why: u32,
    pub(super) kind: EventKind,
    pub(super) id: u8,
    pub(super) socket: u16,
    pub(super) descriptor: i32,
    pub(super) endpoint: &'a [u8],
    pub(super) bytes: &'a [IoVec],
}

impl Did<'_> {
    pub(super) fn plain(kind: EventKind, id: u8) -> Did<'static> {
        Did {
            why: why::OTHER,
            kind,
            id,
            socket: u16::MAX,
            descriptor: -1,
            endpoint: &[],
            bytes: &[],
        }
    }

    /// A call.
    pub fn made(call: CallId) -> Did<'static> {
        Did::plain(EventKind::Called, call.0)
    }

    /// A call on a descriptor.
    pub fn called(call: CallId, descriptor: i32) -> Did<'static> {
        Did {
            descriptor,
            ..Did::made(call)
        }
    }

    /// A call on a UDP socket.
    pub fn on_socket(call: CallId, descriptor: i32, socket: u16) -> Did<'static> {
        Did {
            socket,
            ..Did::called(call, descriptor)
        }
    }
}

//! How the fields of an event lie in its body: fixed widths, the lowest byte first, and bytes of any
//! number at the end.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use netreel_shared::body::{self, SendOutcome};
use netreel_shared::call::{CallId, ClockId};

use crate::varint::Cursor;
use crate::{Believed, EventNumber, FaultVerdict, SocketId, Time, Trigger, TriggerCause};

/// The longest fixed part of a body: two IPv6 endpoints.
const HEAD_MAX: usize = 54;

/// The fixed part of a body. The variable part is the event's own bytes, which follow it.
#[derive(Clone, Copy)]
pub struct PlainHead {
    bytes: [u8; HEAD_MAX],
    length: usize,
}

impl PlainHead {
    /// One without a field.
    #[inline(always)]
    pub(crate) fn new() -> PlainHead {
        PlainHead {
            bytes: [0; HEAD_MAX],
            length: 0,
        }
    }

    /// The bytes of the fixed part.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        // The layouts of events fit HEAD_MAX; a test holds each of them to it.
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

/// A field of an event.
pub(crate) trait Field<'a>: Sized + Copy {
    /// Puts it behind what is there; bytes of any number become the tail.
    fn put(self, head: &mut PlainHead, tail: &mut &'a [u8]);

    /// Reads what [`put`](Field::put) wrote; `None` where it is not there.
    fn read(from: &mut Cursor<'a>) -> Option<Self>;

    /// The bytes of any number in it.
    #[inline(always)]
    fn tail(self) -> Option<&'a [u8]> {
        None
    }
}

impl<'a> Field<'a> for &'a [u8] {
    #[inline(always)]
    fn put(self, _: &mut PlainHead, tail: &mut &'a [u8]) {
        *tail = self;
    }

    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some(from.rest())
    }

    #[inline(always)]
    fn tail(self) -> Option<&'a [u8]> {
        Some(self)
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl<'a> Field<'a> for $number {
            #[inline(always)]
            fn put(self, head: &mut PlainHead, _: &mut &'a [u8]) {
                head.put(&self.to_le_bytes());
            }

            #[inline(always)]
            fn read(from: &mut Cursor<'a>) -> Option<Self> {
                from.array().map(<$number>::from_le_bytes)
            }
        })*
    };
}

numbers!(u8 u16 u32 u64 i32 i64);

/// Fields that lie as what `$out` makes of them, of which `$of` makes them again, if it can.
macro_rules! made_of {
    ($($type:ty: $inner:ty, $out:expr, $of:expr;)*) => {
        $(impl<'a> Field<'a> for $type {
            #[inline(always)]
            fn put(self, head: &mut PlainHead, tail: &mut &'a [u8]) {
                let out: fn(Self) -> $inner = $out;
                out(self).put(head, tail);
            }

            #[inline(always)]
            fn read(from: &mut Cursor<'a>) -> Option<Self> {
                let of: fn($inner) -> Option<Self> = $of;
                of(Field::read(from)?)
            }
        })*
    };
}

made_of! {
    bool: u8, u8::from, |byte| Some(byte != 0);
    Time: u64, |it| it.0, |number| Some(Time(number));
    EventNumber: u64, |it| it.0, |number| Some(EventNumber(number));
    SocketId: u16, |it| it.0, |number| Some(SocketId(number));
    CallId: u8, |it| it.0, |number| Some(CallId(number));
    ClockId: u8, |it| it.0, |number| Some(ClockId(number));
    TriggerCause: u8, |it| it.0, |number| Some(TriggerCause(number));
    SendOutcome: (u8, u32), SendOutcome::to_numbers, SendOutcome::from_numbers;
    FaultVerdict: (u8, u64), FaultVerdict::to_numbers, FaultVerdict::from_numbers;
    Trigger: ((TriggerCause, bool), ((u64, i64), (u32, u32))),
        |it| ((it.cause, it.from_peer), ((it.id, it.utc_ns), (it.before_ms, it.after_ms))),
        |((cause, from_peer), ((id, utc_ns), (before_ms, after_ms)))| Some(Trigger {
            cause,
            id,
            utc_ns,
            before_ms,
            after_ms,
            from_peer,
        });
}

impl<'a, A: Field<'a>, B: Field<'a>> Field<'a> for (A, B) {
    #[inline(always)]
    fn put(self, head: &mut PlainHead, tail: &mut &'a [u8]) {
        self.0.put(head, tail);
        self.1.put(head, tail);
    }

    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some((A::read(from)?, B::read(from)?))
    }
}

impl<'a> Field<'a> for SocketAddr {
    #[inline(always)]
    fn put(self, head: &mut PlainHead, _: &mut &'a [u8]) {
        match self {
            SocketAddr::V4(v4) => head.put(&body::v4(v4.port(), v4.ip().octets())),
            SocketAddr::V6(v6) => {
                let ip = v6.ip().octets();
                head.put(&body::v6(v6.port(), ip, v6.flowinfo(), v6.scope_id()));
            }
        }
    }

    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        let (family, port) = (from.u8()?, from.u16()?);
        match family {
            4 => {
                let ip = Ipv4Addr::from(from.array::<4>()?);
                Some(SocketAddrV4::new(ip, port).into())
            }
            6 => {
                let ip = Ipv6Addr::from(from.array::<16>()?);
                let (flow, scope) = (from.u32()?, from.u32()?);
                Some(SocketAddrV6::new(ip, port, flow, scope).into())
            }
            _ => None,
        }
    }
}

/// What a game believes, in a body.
const CREATED: u8 = 0;
const CREATED_BY: u8 = 1;
const DESTROYED: u8 = 2;
const OWNER: u8 = 3;
const VALUE: u8 = 4;

impl<'a> Field<'a> for Believed<'a> {
    #[inline(always)]
    fn put(self, head: &mut PlainHead, tail: &mut &'a [u8]) {
        match self {
            Believed::Created { owner: None } => CREATED.put(head, tail),
            Believed::Created { owner: Some(owner) } => (CREATED_BY, owner).put(head, tail),
            Believed::Destroyed => DESTROYED.put(head, tail),
            Believed::Owner { owner } => (OWNER, owner).put(head, tail),
            Believed::Value { said } => (VALUE, said).put(head, tail),
        }
    }

    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some(match from.u8()? {
            CREATED => Believed::Created { owner: None },
            CREATED_BY => Believed::Created {
                owner: Some(from.u64()?),
            },
            DESTROYED => Believed::Destroyed,
            OWNER => Believed::Owner { owner: from.u64()? },
            VALUE => Believed::Value { said: from.rest() },
            _ => return None,
        })
    }

    #[inline(always)]
    fn tail(self) -> Option<&'a [u8]> {
        match self {
            Believed::Value { said } => Some(said),
            _ => None,
        }
    }
}

//! Packets that are sent in parts (`MSG_MORE`, `UDP_CORK`): the kernel sends as one packet what the
//! parts come to, so they are kept here until it does.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::sys::{IoVec, pause};
use crate::vectors::Vectors;

const SOCKETS: usize = 1 << 16;
/// So many sockets may have parts waiting at a time.
const PLACES: usize = 64;
/// The kernel sends no longer packet.
const BYTES: usize = 1 << 16;

/// 1 where the kernel sends nothing before it is told to (`UDP_CORK`).
static CORKED: [AtomicU8; SOCKETS] = [const { AtomicU8::new(0) }; SOCKETS];
/// How many places are taken.
static TAKEN: AtomicU32 = AtomicU32::new(0);
static ALL: [Place; PLACES] = [const { Place::free() }; PLACES];

/// What a socket's parts come to so far.
struct Place {
    /// Whose parts these are, as [`waits_for`] has it, or whose they are while a thread has the
    /// place to itself ([`HELD`]); 0 where nobody's are.
    owner: AtomicU32,
    parts: UnsafeCell<Parts>,
}

/// Set while one thread reads or writes what is in a place.
const HELD: u32 = 1 << 31;
/// So often a thread looks whether another one is done with a place.
const LOOKS_MAX: u32 = 200;

// SAFETY: only the thread that has set `HELD` touches what is inside.
unsafe impl Sync for Place {}

struct Parts {
    first: First,
    length: usize,
    bytes: [u8; BYTES],
}

/// What the first part says for all of them.
#[derive(Clone, Copy)]
pub struct First {
    address: [u8; 28],
    address_length: u32,
    /// The size into which the kernel cuts the packet.
    pub segment: u16,
}

impl First {
    /// # Safety
    /// `address` is null or leads to `length` bytes.
    pub unsafe fn new(address: *const u8, length: u32, segment: u16) -> First {
        let mut first = First {
            address: [0; 28],
            address_length: 0,
            segment,
        };
        if !address.is_null() {
            first.address_length = length.min(28);
            let place = first.address.as_mut_ptr();
            let length = first.address_length as usize;
            // SAFETY: so many are there, and as much room.
            unsafe { core::ptr::copy_nonoverlapping(address, place, length) };
        }
        first
    }

    /// Where the packet goes, where the call said so; null otherwise.
    pub fn address(&self) -> (*const u8, u32) {
        match self.address_length {
            0 => (core::ptr::null(), 0),
            length => (self.address.as_ptr(), length),
        }
    }
}

impl Place {
    const fn free() -> Place {
        let first = First {
            address: [0; 28],
            address_length: 0,
            segment: 0,
        };
        Place {
            owner: AtomicU32::new(0),
            parts: UnsafeCell::new(Parts {
                first,
                length: 0,
                bytes: [0; BYTES],
            }),
        }
    }

    fn take(&self, before: u32, held: u32) -> bool {
        let order = (Ordering::Acquire, Ordering::Relaxed);
        let owner = &self.owner;
        owner
            .compare_exchange(before, held, order.0, order.1)
            .is_ok()
    }
}

fn waits_for(socket: u16) -> u32 {
    u32::from(socket) + 1
}

/// From now on the kernel keeps what is sent until it is told to send it; 0: it does not.
pub fn corks(socket: u16, on: i32) {
    CORKED[usize::from(socket)].store(u8::from(on != 0), Ordering::Relaxed);
}

/// Whether what is sent now is only a part of a packet, whatever the call says.
#[inline]
pub fn is_corked(socket: u16) -> bool {
    CORKED[usize::from(socket)].load(Ordering::Relaxed) != 0
}

/// Whether parts wait for what comes next.
#[inline]
pub fn waits(socket: u16) -> bool {
    TAKEN.load(Ordering::Relaxed) != 0 && place_of(socket).is_some()
}

fn place_of(socket: u16) -> Option<&'static Place> {
    let own = waits_for(socket);
    let is_own = |place: &&Place| place.owner.load(Ordering::Relaxed) & !HELD == own;
    ALL.iter().find(is_own)
}

/// The parts of a socket's packet, which this thread alone has now.
pub struct Whole {
    place: &'static Place,
    owner: u32,
}

impl Whole {
    fn parts(&self) -> &Parts {
        // SAFETY: this thread alone has them.
        unsafe { &*self.place.parts.get() }
    }

    pub fn first(&self) -> First {
        self.parts().first
    }

    /// The packet's bytes.
    pub fn bytes(&self) -> IoVec {
        let parts = self.parts();
        IoVec::new(parts.bytes.as_ptr(), parts.length)
    }

    /// Adds a part. One that makes the packet too long is refused by the kernel as well.
    fn add(&mut self, vectors: &mut Vectors<'_>, length: usize) {
        // SAFETY: this thread alone has them; there is so much room, and so many bytes are there.
        unsafe {
            let parts = &mut *self.place.parts.get();
            if length <= BYTES - parts.length {
                vectors.take(parts.bytes.as_mut_ptr().add(parts.length), length);
                parts.length += length;
            }
        }
    }

    /// Leaves them for the next part.
    fn leave(self) {
        self.place.owner.store(self.owner, Ordering::Release);
        core::mem::forget(self);
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.place.owner.store(0, Ordering::Release);
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes a socket's parts, which leave now; `None` where none wait.
pub fn leave(socket: u16) -> Option<Whole> {
    let owner = waits_for(socket);
    for _ in 0..LOOKS_MAX {
        let place = place_of(socket)?;
        if place.take(owner, owner | HELD) {
            return Some(Whole { place, owner });
        }
        pause();
    }
    None
}

/// A place for a packet whose first part comes.
fn open(socket: u16, first: First) -> Option<Whole> {
    let owner = waits_for(socket);
    let place = ALL.iter().find(|place| place.take(0, owner | HELD))?;
    TAKEN.fetch_add(1, Ordering::Relaxed);
    // SAFETY: this thread alone has them.
    unsafe {
        let parts = &mut *place.parts.get();
        (parts.first, parts.length) = (first, 0);
    }
    Some(Whole { place, owner })
}

/// Keeps a part of `length` bytes; `false` where there is no place for it.
pub fn keep(socket: u16, first: First, vectors: &mut Vectors<'_>, length: usize) -> bool {
    let Some(mut whole) = leave(socket).or_else(|| open(socket, first)) else {
        return false;
    };
    whole.add(vectors, length);
    whole.leave();
    true
}

/// What waits is never sent: the socket is closed, or a part was refused.
pub fn forget(socket: u16) {
    if TAKEN.load(Ordering::Relaxed) != 0 {
        drop(leave(socket));
    }
}

/// In a forked child: forgets its parent's parts, which wait in the kernel for both. Whether there
/// were some.
pub fn abandon() -> bool {
    for place in &ALL {
        place.owner.store(0, Ordering::Relaxed);
    }
    TAKEN.swap(0, Ordering::Relaxed) != 0
}

//! Packets that are sent in parts (`MSG_MORE`, `UDP_CORK`): the kernel sends as one packet what the
//! parts come to, so they are kept here until it does.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::endpoint::Endpoint;
use crate::plainly::{Plainly, Zero, zero};
use crate::sys::{IoVec, pause};
use crate::vectors::{Vectors, length};

/// How many sockets may have parts waiting at a time.
const PLACES: usize = 64;
/// The kernel sends no longer packet.
const BYTES: usize = 1 << 16;

/// How many places are taken.
static TAKEN: AtomicU32 = zero();
static ALL: [Place; PLACES] = zero();

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

// SAFETY: numbers and a bool.
unsafe impl Zero for Place {}

struct Parts {
    first: First,
    length: usize,
    bytes: [u8; BYTES],
}

/// What the first part says for all of them. Zeros before there is one, so that the places take no room
/// in the library's file.
#[derive(Clone, Copy)]
pub struct First {
    /// As [`Endpoint::to_words`] makes it.
    to: [u64; 5],
    to_peer: bool,
    /// The size into which the kernel cuts the packet.
    pub segment: u16,
}

// SAFETY: numbers and a bool.
unsafe impl Zero for First {}

impl First {
    pub fn new(to: Option<To>, segment: u16) -> First {
        let mut first = First { segment, ..zero() };
        if let Some(To { endpoint, is_peer }) = to {
            first.to = endpoint.to_words();
            first.to_peer = is_peer;
        }
        first
    }

    /// Where the packet goes, as far as that was known then.
    pub fn to(&self) -> Option<To> {
        let endpoint = Endpoint::from_words(self.to)?;
        let is_peer = self.to_peer;
        Some(To { endpoint, is_peer })
    }
}

/// Where a packet goes, whatever its socket's peer is by then.
#[derive(Clone, Copy)]
pub struct To {
    pub endpoint: Endpoint,
    /// It was the socket's peer, and no call named it.
    pub is_peer: bool,
}

impl Place {
    fn take(&self, before: u32, held: u32) -> bool {
        self.owner.exchange(before, held, Ordering::Acquire).is_ok()
    }
}

fn waits_for(socket: u16) -> u32 {
    u32::from(socket) + 1
}

/// Whether parts wait for what comes next.
#[inline]
pub fn waits(socket: u16) -> bool {
    TAKEN.get() != 0 && place_of(socket).is_some()
}

fn place_of(socket: u16) -> Option<&'static Place> {
    let own = waits_for(socket);
    let is_own = |place: &&Place| place.owner.get() & !HELD == own;
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
        // SAFETY: this thread alone has them.
        unsafe { IoVec::new(parts.bytes.as_ptr(), parts.length) }
    }

    /// Adds a part. One that makes the packet too long is refused by the kernel as well.
    fn add(&mut self, list: &[IoVec]) {
        let length = length(list);
        // SAFETY: this thread alone has them; there is this much room, and this many bytes are there.
        unsafe {
            let parts = &mut *self.place.parts.get();
            if length <= BYTES - parts.length {
                Vectors::new(list).take(parts.bytes.as_mut_ptr().add(parts.length), length);
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

/// Keeps a part, of which `first` tells if it is the first; `false` where there is no place for it.
pub fn keep(socket: u16, first: impl FnOnce() -> First, list: &[IoVec]) -> bool {
    let Some(mut whole) = leave(socket).or_else(|| open(socket, first())) else {
        return false;
    };
    whole.add(list);
    whole.leave();
    true
}

/// The socket was connected: the kernel sends what waits there, if that is an address of IPv4.
pub fn connected(socket: u16, peer: &Endpoint) {
    if TAKEN.get() == 0 || !peer.is_v4() {
        return;
    }
    if let Some(whole) = leave(socket) {
        let to = To {
            endpoint: *peer,
            is_peer: true,
        };
        let segment = whole.first().segment;
        // SAFETY: this thread alone has them.
        unsafe { (*whole.place.parts.get()).first = First::new(Some(to), segment) };
        whole.leave();
    }
}

/// What waits is never sent: the socket is closed, or a part was refused.
pub fn forget(socket: u16) {
    if TAKEN.get() != 0 {
        drop(leave(socket));
    }
}

/// In a forked child: forgets its parent's parts, which wait in the kernel for both. Whether there
/// were some.
pub fn abandon() -> bool {
    for place in &ALL {
        place.owner.set(0);
    }
    TAKEN.swap(0, Ordering::Relaxed) != 0
}

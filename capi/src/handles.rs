//! Handles: numbers that name an object, and stay wrong for ever once it is closed.
//!
//! A handle holds an index, a kind and a life. Nothing is read through it as a pointer, so
//! that no value that a caller invents can do harm.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use crate::console::Answering;
use crate::error::{Failure, failure, guarded};
use crate::memory::put;
use crate::record::{Recording, Thread, forked};
use crate::replay::Replaying;
use crate::types::{
    E_BUSY, E_CLOSED, E_HANDLE, E_INTERNAL, E_KIND, E_LIMIT, HANDLES_MAX, Handle, OK,
};

const INDEX_BITS: u32 = 16;
const KIND_BITS: u32 = 4;

/// What a handle names.
pub(crate) enum Object {
    Recorder(Box<Recording>),
    Thread(Box<Thread>),
    Replay(Box<Replaying>),
    Console(Box<Answering>),
}

/// The kinds of objects, as callers know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Recorder = 1,
    Thread = 2,
    Replay = 3,
    Console = 4,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Recorder => "netreel_recorder",
            Kind::Thread => "netreel_thread",
            Kind::Replay => "netreel_replay",
            Kind::Console => "netreel_console",
        }
    }

    fn from_number(number: usize) -> Option<Kind> {
        [Kind::Recorder, Kind::Thread, Kind::Replay, Kind::Console]
            .into_iter()
            .find(|kind| *kind as usize == number)
    }
}

/// An object with the type that its kind of handle names.
pub(crate) trait Named: Sized {
    const KIND: Kind;
    fn of(object: &mut Object) -> Option<&mut Self>;
    fn into_object(self) -> Object;
    fn from_object(object: Object) -> Option<Self>;
}

macro_rules! named {
    ($($kind:ident $type:ty)*) => { $(
        impl Named for $type {
            const KIND: Kind = Kind::$kind;
            #[inline]
            fn of(object: &mut Object) -> Option<&mut Self> {
                match object {
                    Object::$kind(it) => Some(it),
                    _ => None,
                }
            }
            fn into_object(self) -> Object {
                Object::$kind(Box::new(self))
            }
            fn from_object(object: Object) -> Option<Self> {
                match object {
                    Object::$kind(it) => Some(*it),
                    _ => None,
                }
            }
        }
    )* };
}

named! { Recorder Recording Thread Thread Replay Replaying Console Answering }

struct Slot {
    /// Odd while an object is there, and then part of its handle; one more when it goes and when the
    /// next comes. Changes under the lock. Read before the lock is tried, so that only those that
    /// hold the handle of the present object ever make another caller wait.
    life: AtomicUsize,
    held: Mutex<Option<Object>>,
    /// The process that made the object. In a forked child a lock that another thread held stays
    /// locked for ever.
    process: AtomicU32,
}

type Held = MutexGuard<'static, Option<Object>>;

static TABLE: [Slot; HANDLES_MAX] = [const {
    Slot {
        life: AtomicUsize::new(0),
        held: Mutex::new(None),
        process: AtomicU32::new(0),
    }
}; HANDLES_MAX];

impl Slot {
    /// Whether this is a forked child of the process that made the object.
    fn is_forked(&self) -> bool {
        self.process.load(Ordering::Relaxed) != std::process::id()
    }

    /// Whether the handle is of the object that is there.
    #[inline]
    fn check(&self, handle: Handle, kind: Kind) -> Result<(), Failure> {
        let now = self.life.load(Ordering::Acquire);
        if life_of(handle) == now && now % 2 == 1 {
            return Ok(());
        }
        Err(match life_of(handle) {
            before if before < now && before % 2 == 1 => closed(kind),
            _ => nonsense(kind),
        })
    }

    #[cold]
    fn busy(&self, handle: Handle, kind: Kind) -> Failure {
        if self.is_forked() {
            return forked();
        }
        if let Err(failure) = self.check(handle, kind) {
            return failure;
        }
        let advice = match kind {
            Kind::Recorder | Kind::Console => "another call on it does not end",
            Kind::Thread => "another thread is using it; open one for each thread",
            Kind::Replay => "another thread is using it; a replay is for one thread at a time",
        };
        failure(E_BUSY, format!("this {} is busy: {advice}", kind.name()))
    }
}

/// How long a call waits for another thread's call on the same recorder, which is short.
const PATIENCE: Duration = Duration::from_secs(10);

/// Gives `object` a handle.
pub(crate) fn insert<T: Named>(object: T) -> Result<Handle, Failure> {
    for (index, slot) in TABLE.iter().enumerate() {
        let is_free = || slot.life.load(Ordering::Relaxed).is_multiple_of(2);
        if !is_free() {
            continue;
        }
        let Ok(mut held) = slot.held.try_lock() else {
            continue;
        };
        if !is_free() {
            continue;
        }
        *held = Some(object.into_object());
        slot.process.store(std::process::id(), Ordering::Relaxed);
        let life = slot.life.fetch_add(1, Ordering::Release) + 1;
        let number =
            (life << (INDEX_BITS + KIND_BITS)) | ((T::KIND as usize) << INDEX_BITS) | index;
        return Ok(Handle(std::ptr::without_provenance_mut::<c_void>(number)));
    }
    Err(failure(
        E_LIMIT,
        format!("{HANDLES_MAX} handles are open already; close those that are not needed"),
    ))
}

/// Uses the object of a handle that is for one thread at a time.
#[inline]
pub(crate) fn with<T: Named, R>(
    handle: Handle,
    action: impl FnOnce(&mut T) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let slot = slot_of(handle, T::KIND)?;
    match slot.held.try_lock() {
        Ok(mut held) => action(object(slot, &mut held, handle)?),
        Err(TryLockError::WouldBlock) => Err(slot.busy(handle, T::KIND)),
        Err(TryLockError::Poisoned(_)) => Err(broken()),
    }
}

/// The same, for C.
#[inline]
pub(crate) fn call<T: Named>(
    handle: Handle,
    action: impl FnOnce(&mut T) -> Result<i32, Failure>,
) -> i32 {
    guarded(|| with(handle, action))
}

/// Uses the object of a handle that many threads may use: waits for the others.
pub(crate) fn with_shared<T: Named, R>(
    handle: Handle,
    action: impl FnOnce(&mut T) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let slot = slot_of(handle, T::KIND)?;
    let mut held = wait(slot, handle, T::KIND)?;
    action(object(slot, &mut held, handle)?)
}

/// Takes the object out of the table: its handle is closed from now on. `waits`: for the calls of
/// other threads that are under way.
pub(crate) fn remove<T: Named>(handle: Handle, waits: bool) -> Result<T, Failure> {
    let slot = slot_of(handle, T::KIND)?;
    let (mut held, broke) = match slot.held.try_lock() {
        Ok(held) => (held, false),
        Err(TryLockError::Poisoned(broken)) => (broken.into_inner(), true),
        Err(TryLockError::WouldBlock) if waits => (wait(slot, handle, T::KIND)?, false),
        Err(TryLockError::WouldBlock) => return Err(slot.busy(handle, T::KIND)),
    };
    object::<T>(slot, &mut held, handle)?;
    // What broke is dropped: that is what closing it is for.
    if broke {
        slot.held.clear_poison();
    }
    slot.life.fetch_add(1, Ordering::Release);
    let object = held.take().and_then(T::from_object);
    object.ok_or_else(|| closed(T::KIND))
}

fn wait(slot: &'static Slot, handle: Handle, kind: Kind) -> Result<Held, Failure> {
    let since = Instant::now();
    loop {
        match slot.held.try_lock() {
            Ok(held) => return Ok(held),
            Err(TryLockError::Poisoned(_)) => return Err(broken()),
            Err(TryLockError::WouldBlock) => {
                slot.check(handle, kind)?;
                if slot.is_forked() || since.elapsed() > PATIENCE {
                    return Err(slot.busy(handle, kind));
                }
                std::thread::yield_now();
            }
        }
    }
}

/// The slot of a handle whose object is there. It may go before the slot is locked.
#[inline]
fn slot_of(handle: Handle, wanted: Kind) -> Result<&'static Slot, Failure> {
    let number = handle.0.addr();
    let kind = (number >> INDEX_BITS) & ((1 << KIND_BITS) - 1);
    let slot = TABLE.get(number & ((1 << INDEX_BITS) - 1));
    match slot {
        Some(slot) if kind == wanted as usize => slot.check(handle, wanted).map(|()| slot),
        _ => Err(not_this(handle, wanted)),
    }
}

#[inline]
fn life_of(handle: Handle) -> usize {
    handle.0.addr() >> (INDEX_BITS + KIND_BITS)
}

/// The object of a handle, if it is still there.
#[inline]
fn object<'a, T: Named>(
    slot: &Slot,
    held: &'a mut Option<Object>,
    handle: Handle,
) -> Result<&'a mut T, Failure> {
    slot.check(handle, T::KIND)?;
    match held.as_mut().map(T::of) {
        Some(Some(object)) => Ok(object),
        // The handle was made up: the slot holds another kind.
        Some(None) => Err(nonsense(T::KIND)),
        None => Err(closed(T::KIND)),
    }
}

#[cold]
fn not_this(handle: Handle, wanted: Kind) -> Failure {
    let number = handle.0.addr();
    if number == 0 {
        let name = wanted.name();
        return failure(E_HANDLE, format!("the {name} is NULL: was it opened?"));
    }
    let kind = (number >> INDEX_BITS) & ((1 << KIND_BITS) - 1);
    let index = number & ((1 << INDEX_BITS) - 1);
    match Kind::from_number(kind) {
        Some(other) if other != wanted && index < HANDLES_MAX => failure(
            E_KIND,
            format!("a {} was given for a {}", other.name(), wanted.name()),
        ),
        _ => nonsense(wanted),
    }
}

#[cold]
fn nonsense(kind: Kind) -> Failure {
    let name = kind.name();
    failure(
        E_HANDLE,
        format!("this {name} never was a handle: was the variable set?"),
    )
}

#[cold]
fn closed(kind: Kind) -> Failure {
    failure(E_CLOSED, format!("this {} was closed", kind.name()))
}

#[cold]
fn broken() -> Failure {
    failure(
        E_INTERNAL,
        "a call on this handle failed inside the netreel library; it can only be closed",
    )
}

/// Puts a new object's handle where the caller wants it; a null handle where there is an error.
///
/// # Safety
/// A handle may be written at `place`, or `place` is null.
pub(crate) unsafe fn opened<T: Named>(
    place: *mut Handle,
    name: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> i32 {
    guarded(|| {
        // SAFETY: promised by the caller, as below.
        unsafe { put(place, Handle(std::ptr::null_mut()), name)? };
        let handle = insert(make()?)?;
        // SAFETY: see above.
        unsafe { put(place, handle, name)? };
        Ok(OK)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::guarded;
    use crate::types::OK;

    fn reel() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reel");
        let header = netreel_reel::Header {
            start: vec![1],
            ..Default::default()
        };
        let recorder = netreel_record::Recorder::create(&path, &header, Default::default());
        let recorder = recorder.unwrap();
        let (tick, time) = (1, netreel_reel::Time(0));
        let event = netreel_reel::Event::Tick { tick, time };
        recorder.pusher().unwrap().push(time, event);
        recorder.finish().unwrap();
        (folder, path)
    }

    #[test]
    fn an_object_that_broke_can_only_be_closed() {
        let (_folder, path) = reel();
        let handle = insert(Replaying::open(&path).unwrap()).unwrap();
        let broke = guarded(|| with(handle, |_: &mut Replaying| panic!("a fault of ours")));
        assert_eq!(broke, E_INTERNAL);
        let again = guarded(|| with(handle, |_: &mut Replaying| Ok(OK)));
        assert_eq!(again, E_INTERNAL);
        assert!(remove::<Replaying>(handle, false).is_ok());
        let closed = guarded(|| with(handle, |_: &mut Replaying| Ok(OK)));
        assert_eq!(closed, E_CLOSED);
        let next = insert(Replaying::open(&path).unwrap()).unwrap();
        assert_eq!(guarded(|| with(next, |_: &mut Replaying| Ok(OK))), OK);
    }

    /// The handle of an object that was closed, and of the next in its slot.
    fn two_of_one_slot(path: &std::path::Path) -> (Handle, Handle) {
        let index = |handle: Handle| handle.0.addr() & ((1 << INDEX_BITS) - 1);
        loop {
            let before = insert(Replaying::open(path).unwrap()).unwrap();
            assert!(remove::<Replaying>(before, false).is_ok());
            let after = insert(Replaying::open(path).unwrap()).unwrap();
            if index(before) == index(after) {
                return (before, after);
            }
        }
    }

    #[test]
    fn a_closed_handle_is_closed_also_while_the_next_of_its_slot_is_busy() {
        let (_folder, path) = reel();
        let (before, after) = two_of_one_slot(&path);
        let used = with(after, |_: &mut Replaying| {
            let closed = guarded(|| with(before, |_: &mut Replaying| Ok(OK)));
            assert_eq!(closed, E_CLOSED);
            assert!(remove::<Replaying>(before, true).is_err());
            Ok(OK)
        });
        assert!(used.is_ok());
    }

    #[test]
    fn a_closed_handle_does_not_mend_the_next_of_its_slot() {
        let (_folder, path) = reel();
        let (before, after) = two_of_one_slot(&path);
        let broke = guarded(|| with(after, |_: &mut Replaying| panic!("a fault of ours")));
        assert_eq!(broke, E_INTERNAL);
        assert!(remove::<Replaying>(before, false).is_err());
        let again = guarded(|| with(after, |_: &mut Replaying| Ok(OK)));
        assert_eq!(again, E_INTERNAL);
    }

    #[test]
    fn to_open_handles_never_makes_those_of_others_busy() {
        let (_folder, path) = reel();
        let mine = insert(Replaying::open(&path).unwrap()).unwrap();
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| {
                for _ in 0..2_000 {
                    let other = insert(Replaying::open(&path).unwrap()).unwrap();
                    assert!(remove::<Replaying>(other, false).is_ok());
                }
            });
            while !opening.is_finished() {
                assert_eq!(guarded(|| with(mine, |_: &mut Replaying| Ok(OK))), OK);
            }
        });
    }
}

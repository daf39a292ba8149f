//! Which of the program's threads a thread is: the nth that its parent has made. So a replay knows
//! each again, whatever the kernel calls it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::attach;
use crate::hook::hook;
use crate::sys::{self, nr};
use crate::tape::{MAIN_THREAD, THREADS_MAX, thread_identity};

/// What is remembered of a thread while it lives.
struct Slot {
    /// 0: nobody's.
    identity: AtomicU64,
    /// How many threads it has made.
    children: AtomicU64,
    run: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
    /// See [`replayed_as`].
    tape: AtomicU32,
}

impl Slot {
    const fn of(identity: u64) -> Slot {
        Slot {
            identity: AtomicU64::new(identity),
            children: AtomicU64::new(0),
            run: AtomicPtr::new(core::ptr::null_mut()),
            argument: AtomicPtr::new(core::ptr::null_mut()),
            tape: AtomicU32::new(0),
        }
    }
}

static MAIN: Slot = Slot::of(MAIN_THREAD);
static SLOTS: [Slot; THREADS_MAX] = [const { Slot::of(0) }; THREADS_MAX];
/// The key of each thread's slot, plus 1; 0 before it was made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key. `None` where there are no more.
pub fn prepare() -> Option<()> {
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: a place for the key, and a function that lives as long as the library.
        if unsafe { sys::pthread_key_create(&raw mut key, Some(thread_ends)) } != 0 {
            return None;
        }
        KEY.store(key + 1, Ordering::Relaxed);
    }
    Some(())
}

/// This thread's slot; `None` where it was made past the C library, or there are too many.
fn own() -> Option<&'static Slot> {
    let key = KEY.load(Ordering::Relaxed).checked_sub(1)?;
    // SAFETY: the key is there; what is set is a slot, which lives as long as the library.
    let known = unsafe { sys::pthread_getspecific(key).cast::<Slot>().as_ref() };
    if known.is_some() {
        return known;
    }
    // SAFETY: asks for a number.
    let this = unsafe { sys::syscall(nr::GETTID, [0; 6]) } as u32;
    let main = this == sys::process();
    if main {
        // SAFETY: as above.
        unsafe { sys::pthread_setspecific(key, (&raw const MAIN).cast()) };
    }
    main.then_some(&MAIN)
}

/// This thread's identity; 0 where it has none.
pub fn identity() -> u64 {
    own().map_or(0, |slot| slot.identity.load(Ordering::Relaxed))
}

/// A number that a replay keeps for this thread; 0 at its start. `None` as in [`own`].
#[inline]
pub fn replayed_as() -> Option<&'static AtomicU32> {
    own().map(|slot| &slot.tape)
}

unsafe extern "C" fn thread_ends(slot: *mut c_void) {
    // SAFETY: a slot, as `own` and `begin` set it.
    let slot = unsafe { &*slot.cast::<Slot>() };
    if !core::ptr::eq(slot, &raw const MAIN) {
        slot.tape.store(0, Ordering::Relaxed);
        slot.identity.store(0, Ordering::Release);
    }
}

type Run = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a thread of the program does first.
unsafe extern "C" fn begin(slot: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below has put the program's function and its argument there.
    unsafe {
        let key = KEY.load(Ordering::Relaxed).wrapping_sub(1);
        sys::pthread_setspecific(key, slot);
        let slot = &*slot.cast::<Slot>();
        let (run, argument) = (&slot.run, &slot.argument);
        let run: Run = core::mem::transmute(run.load(Ordering::Acquire));
        run(argument.load(Ordering::Relaxed))
    }
}

/// A slot for the next thread that this one makes.
fn slot_for_child() -> Option<&'static Slot> {
    let parent = own()?;
    let nth = parent.children.fetch_add(1, Ordering::Relaxed) + 1;
    let identity = thread_identity(parent.identity.load(Ordering::Relaxed), nth);
    let order = (Ordering::Acquire, Ordering::Relaxed);
    let free = |slot: &&Slot| {
        let taken = slot
            .identity
            .compare_exchange(0, identity, order.0, order.1);
        taken.is_ok()
    };
    let slot = SLOTS.iter().find(free)?;
    slot.children.store(0, Ordering::Relaxed);
    Some(slot)
}

hook! {
    fn pthread_create[real](thread: *mut c_void, attributes: *const c_void, run: *mut c_void, argument: *mut c_void) -> i32 {
        let slot = match attach::generation() {
            Some(_) => slot_for_child(),
            None => None,
        };
        let Some(slot) = slot else {
            // SAFETY: as the program vouches for its own call.
            return unsafe { real(thread, attributes, run, argument) };
        };
        slot.argument.store(argument, Ordering::Relaxed);
        slot.run.store(run, Ordering::Release);
        let place = (&raw const *slot).cast_mut().cast();
        // SAFETY: as above; `begin` goes on to the program's function.
        let result = unsafe { real(thread, attributes, begin as *mut c_void, place) };
        if result != 0 {
            slot.identity.store(0, Ordering::Release);
        }
        result
    }
}

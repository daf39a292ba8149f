//! Handlers of the signals that people and timers send: where one runs is in the recording, and in a
//! replay it runs at that place.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use netreel_shared::call::CallId;

use crate::hook::hook;
use crate::plainly::zero;
use crate::push::pushing_unless_busy;
use crate::sys::{Opaque, quietly};
use crate::{attach, floor, replay};

/// Interrupts, what is asked of a program, and that a child has ended: HUP, INT, QUIT, USR1, USR2, ALRM,
/// TERM, CHLD. The others come of what the program itself does.
const WATCHED: [i32; 8] = [1, 2, 3, 10, 12, 14, 15, CHLD];
const CHLD: i32 = 17;
/// Those that end a program that has no handler for them, and that a person sends.
const ENDING: [i32; 4] = [1, 2, 3, 15];
const SIGNALS: usize = 65;

/// The program's handlers; null where there is none.
static HANDLERS: [AtomicPtr<c_void>; SIGNALS] = zero();

/// As glibc has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    handler: Opaque,
    mask: [u64; 16],
    flags: i32,
    restorer: Opaque,
}

type Handler = unsafe extern "C" fn(i32, Opaque, Opaque);

fn place(signal: i32) -> Option<&'static AtomicPtr<c_void>> {
    let watched = WATCHED.contains(&signal) && attach::generation().is_some();
    // Where the recording does not tell of children, they are really there.
    let watched = watched && (signal != CHLD || !replay::on() || replay::tells_of_children());
    handler(signal).filter(|_| watched)
}

fn handler(signal: i32) -> Option<&'static AtomicPtr<c_void>> {
    HANDLERS.get(usize::try_from(signal).ok()?)
}

/// Whether it is a function, and not one of the two words for the usual and for nothing.
fn is_function(handler: Opaque) -> bool {
    !matches!(handler as isize, -1..=1)
}

fn ours() -> Opaque {
    handles as Opaque
}

/// What the kernel is told in place of the program's handler, which is kept at `place` where it is a
/// function.
fn before_handler(handler: Opaque, place: &AtomicPtr<c_void>) -> Opaque {
    if !is_function(handler) || handler == ours() {
        return handler;
    }
    place.store(handler, Ordering::Release);
    ours()
}

/// Stands before the program's handler.
unsafe extern "C" fn handles(signal: i32, info: Opaque, context: Opaque) {
    if replay::on() && !replay::is_muted() {
        // The recording's signals come from the tape.
        let is_nudge = quietly(|| replay::is_nudge(signal));
        if !is_nudge && ENDING.contains(&signal) {
            replay::leave();
        }
        return;
    }
    let lent = quietly(|| {
        let lent = floor::lends();
        if let Some(mut pushing) = pushing_unless_busy() {
            pushing.called(CallId::SIGNAL, signal, &[]);
        }
        lent
    });
    // SAFETY: as the kernel has called this.
    unsafe { call(signal, info, context) };
    floor::hands_back(lent);
}

/// # Safety
/// As the kernel calls a handler.
unsafe fn call(signal: i32, info: Opaque, context: Opaque) {
    let handler = handler(signal).map(|place| place.load(Ordering::Acquire));
    if let Some(handler) = handler.filter(|handler| is_function(*handler)) {
        // SAFETY: the program has said that it is one.
        unsafe {
            let handler: Handler = core::mem::transmute(handler);
            handler(signal, info, context);
        }
    }
}

/// Runs the program's handler in a replay.
pub fn comes(signal: i32) {
    let mut info = [0u64; 16];
    info[0] = signal as u64;
    let mut context = [0u64; 128];
    // SAFETY: room for what handlers look at: which signal it was.
    unsafe {
        call(
            signal,
            info.as_mut_ptr().cast(),
            context.as_mut_ptr().cast(),
        )
    };
}

hook! {
    fn sigaction[real](signal: i32, action: *const Action, old: *mut Action) -> i32 {
        let Some(place) = place(signal) else {
            return real(signal, action, old);
        };
        let before = place.load(Ordering::Acquire);
        let mut wanted = action.as_ref().copied();
        if let Some(wanted) = &mut wanted {
            wanted.handler = before_handler(wanted.handler, place);
        }
        let pointer = wanted.as_ref().map_or(core::ptr::null(), |it| &raw const *it);
        let result = real(signal, pointer, old);
        if result != 0 {
            place.store(before, Ordering::Release);
        } else if let Some(old) = old.as_mut().filter(|old| old.handler == ours()) {
            old.handler = before;
        }
        result
    }

    fn signal[real](signal: i32, handler: Opaque) -> Opaque {
        let Some(place) = place(signal) else {
            return real(signal, handler);
        };
        let before = place.load(Ordering::Acquire);
        let old = real(signal, before_handler(handler, place));
        if old == ours() { before } else { old }
    }

    // Others have the floor while this thread waits for a signal.
    fn sigwait[goes_on](set: Opaque, signal: *mut i32),
    fn sigwaitinfo[goes_on](set: Opaque, info: Opaque),
    fn sigtimedwait[goes_on](set: Opaque, info: Opaque, time: Opaque) -> i32 {
        goes_on()
    }
}

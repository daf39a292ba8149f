//! Functions that are looked up while the program runs, and libraries that it loads.
//!
//! Whoever asks the C library for one of its functions that a hook stands before is given the
//! hook. What these calls do depends on who calls them, so the hooks go on to the C library by a
//! jump, with the caller's registers, stack and return address as they were.

use core::ffi::{CStr, c_char, c_void};

use crate::call::PastId;
use crate::objects::{Function, Place, View};
use crate::sockets;
use crate::sys::{RTLD_NEXT, errno, set_errno};
use crate::{
    by_number, clocks, descriptors, exec_list, others, processes, randomness, receive, send, twins,
    uring, waits,
};

/// A function of the C library that a hook stands before.
pub struct Hooked {
    name: &'static CStr,
    hook: *const (),
}

// SAFETY: both lead to what never changes.
unsafe impl Sync for Hooked {}

impl Hooked {
    pub const fn new(name: &'static CStr, hook: *const ()) -> Hooked {
        Hooked { name, hook }
    }
}

static HOOKED: &[Hooked] = &[
    Hooked::new(c"dlsym", dlsym as *const ()),
    Hooked::new(c"dlvsym", dlvsym as *const ()),
    Hooked::new(c"dlopen", dlopen as *const ()),
    Hooked::new(c"dlmopen", dlmopen as *const ()),
    Hooked::new(c"execl", exec_list::execl as *const ()),
    Hooked::new(c"execlp", exec_list::execlp as *const ()),
    Hooked::new(c"execle", exec_list::execle as *const ()),
    Hooked::new(c"dprintf", descriptors::dprintf as *const ()),
    Hooked::new(c"__dprintf_chk", descriptors::__dprintf_chk as *const ()),
    Hooked::new(c"closefrom", descriptors::closefrom as *const ()),
    Hooked::new(c"arc4random_buf", randomness::arc4random_buf as *const ()),
];

/// The hook before the function of this name.
fn hook_of(name: &CStr) -> Option<*mut c_void> {
    let lists = [
        send::HOOKED,
        receive::HOOKED,
        by_number::HOOKED,
        twins::HOOKED,
        descriptors::HOOKED,
        others::HOOKED,
        uring::HOOKED,
        waits::HOOKED,
        clocks::HOOKED,
        randomness::HOOKED,
        processes::HOOKED,
        HOOKED,
    ];
    let mut all = lists.into_iter().flatten();
    let found = all.find(|hooked| hooked.name == name)?;
    Some(found.hook.cast_mut().cast())
}

/// Where a hook goes on.
#[repr(C)]
pub struct Onward {
    /// What to answer, where there is nowhere to go on to.
    answer: *mut c_void,
    /// The function to jump to; null: answer.
    function: *mut c_void,
}

impl Onward {
    fn answer(answer: *mut c_void) -> Onward {
        let function = core::ptr::null_mut();
        Onward { answer, function }
    }

    /// To a function; one that the system lacks answers null.
    pub fn to(function: *mut c_void) -> Onward {
        let answer = core::ptr::null_mut();
        Onward { answer, function }
    }
}

/// Declares hooks that ask a function where to go on, with the first six arguments and the return
/// address, and then go there as if nobody had come in between.
macro_rules! passing {
    ($($name:ident => $asks:ident;)*) => {
        $(
            /// As the C library's.
            #[cfg(target_arch = "x86_64")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "sub rsp, 192",
                    "mov [rsp], rdi",
                    "mov [rsp+8], rsi",
                    "mov [rsp+16], rdx",
                    "mov [rsp+24], rcx",
                    "mov [rsp+32], r8",
                    "mov [rsp+40], r9",
                    "mov [rsp+48], rax",
                    "movaps [rsp+64], xmm0",
                    "movaps [rsp+80], xmm1",
                    "movaps [rsp+96], xmm2",
                    "movaps [rsp+112], xmm3",
                    "movaps [rsp+128], xmm4",
                    "movaps [rsp+144], xmm5",
                    "movaps [rsp+160], xmm6",
                    "movaps [rsp+176], xmm7",
                    "mov rdi, rsp",
                    "mov rsi, [rbp+8]",
                    "call {asks}",
                    "mov r10, rax",
                    "mov r11, rdx",
                    "mov rdi, [rsp]",
                    "mov rsi, [rsp+8]",
                    "mov rdx, [rsp+16]",
                    "mov rcx, [rsp+24]",
                    "mov r8, [rsp+32]",
                    "mov r9, [rsp+40]",
                    "mov rax, [rsp+48]",
                    "movaps xmm0, [rsp+64]",
                    "movaps xmm1, [rsp+80]",
                    "movaps xmm2, [rsp+96]",
                    "movaps xmm3, [rsp+112]",
                    "movaps xmm4, [rsp+128]",
                    "movaps xmm5, [rsp+144]",
                    "movaps xmm6, [rsp+160]",
                    "movaps xmm7, [rsp+176]",
                    "leave",
                    "test r11, r11",
                    "jz 2f",
                    "jmp r11",
                    "2:",
                    "mov rax, r10",
                    "ret",
                    asks = sym $asks,
                )
            }

            /// As the C library's.
            #[cfg(target_arch = "aarch64")]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "stp x29, x30, [sp, #-208]!",
                    "mov x29, sp",
                    "stp x0, x1, [sp, #16]",
                    "stp x2, x3, [sp, #32]",
                    "stp x4, x5, [sp, #48]",
                    "stp x6, x7, [sp, #64]",
                    "stp q0, q1, [sp, #80]",
                    "stp q2, q3, [sp, #112]",
                    "stp q4, q5, [sp, #144]",
                    "stp q6, q7, [sp, #176]",
                    "add x0, sp, #16",
                    "mov x1, x30",
                    "bl {asks}",
                    "mov x17, x0",
                    "mov x16, x1",
                    "ldp x0, x1, [sp, #16]",
                    "ldp x2, x3, [sp, #32]",
                    "ldp x4, x5, [sp, #48]",
                    "ldp x6, x7, [sp, #64]",
                    "ldp q0, q1, [sp, #80]",
                    "ldp q2, q3, [sp, #112]",
                    "ldp q4, q5, [sp, #144]",
                    "ldp q6, q7, [sp, #176]",
                    "ldp x29, x30, [sp], #208",
                    "cbz x16, 2f",
                    "br x16",
                    "2:",
                    "mov x0, x17",
                    "ret",
                    asks = sym $asks,
                )
            }
        )*
    };
}
pub(crate) use passing;

passing! {
    dlsym => dlsym_asks;
    dlvsym => dlvsym_asks;
    dlopen => dlopen_asks;
    dlmopen => dlmopen_asks;
}

static DLSYM: Function = Function::next(c"dlsym");
static DLSYM_OF_C: Function = Function::of_c(c"dlsym");
static DLVSYM: Function = Function::next(c"dlvsym");
static DLOPEN: Function = Function::next(c"dlopen");
static DLMOPEN: Function = Function::next(c"dlmopen");

const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();
const RTLD_DEEPBIND: usize = 8;
const LM_ID_BASE: isize = 0;

/// The function of this name behind this library.
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends in a zero byte.
    unsafe { find(RTLD_NEXT, name) }
}

/// # Safety
/// The handle is one of a library, or a special one.
unsafe fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    let found = DLSYM_OF_C.get();
    if found.is_null() {
        return found;
    }
    // SAFETY: the C library's function has this signature; the caller vouches for the handle.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
            core::mem::transmute(found);
        real(handle, name.as_ptr())
    }
}

unsafe extern "C" fn dlsym_asks(arguments: &[usize; 6], caller: usize) -> Onward {
    let [handle, name, ..] = *arguments;
    let handle = handle as *mut c_void;
    // SAFETY: as the program vouches for its own call.
    unsafe { looked_up(DLSYM.get(), handle, name, caller, |name| find(handle, name)) }
}

unsafe extern "C" fn dlvsym_asks(arguments: &[usize; 6], caller: usize) -> Onward {
    let [handle, name, version, ..] = *arguments;
    let (handle, found) = (handle as *mut c_void, DLVSYM.get());
    // SAFETY: as the program vouches for its own call; the C library's function has this signature.
    unsafe {
        looked_up(found, handle, name, caller, |name| {
            let real: unsafe extern "C" fn(
                *mut c_void,
                *const c_char,
                *const c_char,
            ) -> *mut c_void = core::mem::transmute(found);
            real(handle, name.as_ptr(), version as *const c_char)
        })
    }
}

/// What `caller` is to get that looks `name` up with `function`.
///
/// # Safety
/// `name` is null or a zero-ended string.
unsafe fn looked_up(
    function: *mut c_void,
    handle: *mut c_void,
    name: usize,
    caller: usize,
    look: impl FnOnce(&CStr) -> *mut c_void,
) -> Onward {
    if function.is_null() || name == 0 || handle == RTLD_DEFAULT {
        return Onward::to(function);
    }
    // SAFETY: the caller vouches for it.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    let Some(hook) = hook_of(name) else {
        return Onward::to(function);
    };
    if handle == RTLD_NEXT {
        return match behind(name, caller) {
            Behindward::Hook => Onward::answer(hook),
            Behindward::Past => Onward::to(function),
        };
    }
    let found = look(name);
    if found.is_null() || found == hook {
        return Onward::answer(found);
    }
    let chain = next(name);
    let mut view = View::new(name, [caller, chain as usize, found as usize]);
    view.look();
    let [asking, chained, found_in] = view.places;
    let answer = if found != chain && !found_in.is_c {
        found
    } else if leads_to_c(found, chain, chained) || is_the_programs(asking) {
        hook
    } else {
        name_unless_it_stands_before(asking);
        found
    };
    Onward::answer(answer)
}

enum Behindward {
    Hook,
    Past,
}

/// What `caller` gets for RTLD_NEXT. To libraries that the loader put behind this one the C
/// library's function is the next one, and the hook takes its place where nothing stands between.
fn behind(name: &CStr, caller: usize) -> Behindward {
    let chain = next(name);
    let mut view = View::new(name, [caller, chain as usize, 0]);
    view.look();
    let [asking, chained, _] = view.places;
    // The program, and what was preloaded before this library, find the hook by themselves.
    if asking.index.is_none_or(|index| index <= view.own) {
        return Behindward::Past;
    }
    if chained.is_c && !view.late_definition {
        return Behindward::Hook;
    }
    if asking.is_late() {
        quietly_past(PastId::LOOKED_UP);
    } else {
        name_unless_it_stands_before(asking);
    }
    Behindward::Past
}

/// Whether nobody stands between the hook and the C library.
fn leads_to_c(found: *mut c_void, chain: *mut c_void, chained: Place) -> bool {
    found == chain || chained.is_c
}

/// Whether the hook never calls this object: the program itself, or what it loaded.
fn is_the_programs(asking: Place) -> bool {
    asking.index.is_none_or(|index| index == 0) || asking.is_late()
}

/// An object that has a function of that name stands before the C library's, and needs that one.
fn name_unless_it_stands_before(asking: Place) {
    if !asking.defines {
        quietly_past(PastId::LOOKED_UP);
    }
}

fn quietly_past(what: PastId) {
    let code = errno();
    sockets::past(what);
    set_errno(code);
}

unsafe extern "C" fn dlopen_asks(arguments: &[usize; 6], _: usize) -> Onward {
    let [_, mode, ..] = *arguments;
    if mode & RTLD_DEEPBIND != 0 {
        quietly_past(PastId::DEEP);
    }
    Onward::to(DLOPEN.get())
}

unsafe extern "C" fn dlmopen_asks(arguments: &[usize; 6], _: usize) -> Onward {
    let [space, _, mode, ..] = *arguments;
    if space as isize != LM_ID_BASE {
        quietly_past(PastId::NAMESPACE);
    } else if mode & RTLD_DEEPBIND != 0 {
        quietly_past(PastId::DEEP);
    }
    Onward::to(DLMOPEN.get())
}

//! What all hooks are made with: how a hook is declared, what it is in front of, and how it goes on.
//!
//! This file knows none of the hooks. Whatever all of them are to do differently begins here.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::plainly::zero;

/// What is to be done behind a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Floor,
    Inside,
}

/// What is done before and behind each call that a hook makes of the function that it stands before.
pub struct Around {
    pub before: fn() -> Left,
    /// Unless nothing is left to be done.
    pub behind: fn(Left),
}

/// Null: nothing is done.
static AROUND: AtomicPtr<Around> = zero();

/// From now on this is done around each such call.
pub fn around(around: &'static Around) {
    AROUND.store((&raw const *around).cast_mut(), Ordering::Release);
}

fn known_around() -> Option<&'static Around> {
    // SAFETY: null, or what `around` has put there.
    unsafe { AROUND.load(Ordering::Acquire).as_ref() }
}

/// Behind a call of the C library's function.
#[inline(always)]
pub fn back(left: Left) {
    if left != Left::Nothing
        && let Some(around) = known_around()
    {
        (around.behind)(left);
    }
}

/// What makes a call in which the thread may be cancelled; null: nothing stands around it.
static GUARD: AtomicPtr<Guard> = zero();

/// What makes such a call: with its number ([`point`](crate::points::point)), and what is to be done
/// behind it. It calls once, or the thread ends in it.
pub type Guard = fn(u32, Left, &mut dyn FnMut());

/// From now on `guard` makes the calls in which threads may be cancelled.
pub fn guard(guard: &'static Guard) {
    GUARD.store((&raw const *guard).cast_mut(), Ordering::Release);
}

/// Calls the function behind a hook, of this number: others may have the floor meanwhile, and this
/// thread may be cancelled there, unless the number is 0.
#[inline(always)]
pub fn calls<R>(point: u32, call: impl FnOnce() -> R) -> R {
    let left = known_around().map_or(Left::Nothing, |around| (around.before)());
    // SAFETY: null, or what `guard` has put there.
    let guard = unsafe { GUARD.load(Ordering::Acquire).as_ref() };
    let result = match guard.filter(|_| point != 0) {
        Some(guard) => guarded(guard, (point, left), call),
        None => call(),
    };
    back(left);
    result
}

#[inline(never)]
fn guarded<R>(guard: &Guard, (point, left): (u32, Left), call: impl FnOnce() -> R) -> R {
    let mut result = core::mem::MaybeUninit::uninit();
    let mut call = Some(call);
    guard(point, left, &mut || {
        if let Some(call) = call.take() {
            result.write(call());
        }
    });
    // SAFETY: a guard calls before it comes back.
    unsafe { result.assume_init() }
}

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

    /// Whether it stands before the function of this name.
    pub fn is_before(&self, name: &CStr) -> bool {
        self.name == name
    }

    /// Where the hook is.
    pub fn address(&self) -> *mut c_void {
        self.hook.cast_mut().cast()
    }
}

/// The hooks of these names, for those who look functions up.
macro_rules! hooked {
    ($($name:ident)*) => {
        &[$($crate::hook::Hooked::new(
            $crate::objects::name(concat!(stringify!($name), "\0")),
            $name as *const (),
        ),)*]
    };
}
pub(crate) use hooked;

/// Declares hooks: each becomes a C function of that name, with `real` inside it as the function
/// that it stands before, `real by path` as the same of that argument alone, where the others are as they
/// came, or `goes_on` as the call of it with all arguments as they came. Where the system lacks that
/// function, the hook fails with ENOSYS. Several names are as many hooks that do the same, as are several
/// declarations with commas between them, which differ in their arguments. To be used once in a file.
macro_rules! hook {
    ($(
        $(fn $first:ident $(| $name:ident)* [$real:ident $(by $($changed:ident),+)?] $arguments:tt),+
        -> $result:ty $body:block
    )*) => {
        $($(
            $crate::hook::each_hook! {
                [$first $($name)*] of $first [$real $real $(by $($changed),+)?] $arguments -> $result $body
            }
        )+)*

        /// The hooks of this file, for those who look functions up.
        pub static HOOKED: &[$crate::hook::Hooked] = $crate::hook::hooked![$($($first $($name)*)+)*];
    };
}
pub(crate) use hook;

/// Declares those that do the same with the same arguments.
macro_rules! each_hook {
    ([$($name:ident)+] of $first:ident $called:tt $arguments:tt -> $result:ty $body:block) => {
        $($crate::hook::one_hook! { fn $name of $first $called $arguments -> $result $body })+
    };
}
pub(crate) use each_hook;

/// Declares one of them, which threads are cancelled in as in `first`. What is in its body is done as the
/// program vouches for its own call.
macro_rules! one_hook {
    (fn $name:ident of $first:ident [goes_on $goes_on:ident] ($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        $crate::hook::one_hook! {
            fn $name of $first [real real] ($($argument: $type),*) -> $result {
                let $goes_on = move || real($($argument),*);
                $body
            }
        }
    };
    (fn $name:ident of $first:ident [real $real:ident by $($changed:ident),+] ($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        $crate::hook::one_hook! {
            fn $name of $first [real real] ($($argument: $type),*) -> $result {
                let $real = move |$($changed),+| real($($argument),*);
                $body
            }
        }
    };
    (fn $name:ident of $first:ident [real $real:ident] ($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::missing_safety_doc, clippy::too_many_arguments, missing_docs, unused_unsafe)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            $crate::objects::real! { REAL = $name($($type),*) -> $result; }
            let Some(function) = REAL.get() else {
                $crate::sys::set_errno(38);
                return -1isize as $result;
            };
            #[allow(unused_variables)]
            let $real = |$($argument: $type),*| -> $result {
                const POINT: u32 = $crate::points::point(stringify!($first));
                // SAFETY: as the program vouches for its own call.
                $crate::hook::calls(POINT, || unsafe { function($($argument),*) })
            };
            // SAFETY: as above.
            unsafe { $body }
        }
    };
}
pub(crate) use one_hook;

/// Where a hook goes on.
#[repr(C)]
pub struct Onward {
    /// What to answer, where there is nowhere to go on to.
    answer: *mut c_void,
    /// The function to jump to; null: answer.
    function: *mut c_void,
}

impl Onward {
    /// Nowhere: the caller gets `answer`.
    pub fn answer(answer: *mut c_void) -> Onward {
        let function = core::ptr::null_mut();
        Onward { answer, function }
    }

    /// To a function; one that the system lacks answers null.
    pub fn to(function: *mut c_void) -> Onward {
        let answer = core::ptr::null_mut();
        Onward { answer, function }
    }
}

/// Declares a hook in the machine's own words, of which `{does}` is the function that it calls.
macro_rules! in_assembly {
    ($name:ident calls $does:path; x86_64 [$($x86_64:literal)*] aarch64 [$($aarch64:literal)*]) => {
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!($($x86_64,)* does = sym $does);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!($($aarch64,)* does = sym $does);
        }
    };
}
pub(crate) use in_assembly;

/// Declares hooks that say where to go on, by the first six arguments of the call and its return address, and
/// then jump there with the registers and the stack as they came. `real` is where the function lies that the
/// hook stands before.
macro_rules! passing {
    ($(fn $name:ident[$real:ident]($arguments:pat, $caller:pat) $body:block)*) => {
        $(
            /// Where the hook of this name goes on.
            #[allow(non_camel_case_types)]
            enum $name {}

            impl $name {
                unsafe extern "C" fn asks($arguments: &[usize; 6], $caller: usize) -> $crate::hook::Onward {
                    static REAL: $crate::objects::Real =
                        $crate::objects::Real::behind($crate::objects::name(concat!(stringify!($name), "\0")));
                    let $real = REAL.address();
                    // SAFETY: as the program vouches for its own call.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                }
            }

            $crate::hook::in_assembly! {
                $name calls $name::asks;
                x86_64 [
                    "push rbp"
                    "mov rbp, rsp"
                    "sub rsp, 192"
                    "mov [rsp], rdi"
                    "mov [rsp+8], rsi"
                    "mov [rsp+16], rdx"
                    "mov [rsp+24], rcx"
                    "mov [rsp+32], r8"
                    "mov [rsp+40], r9"
                    "mov [rsp+48], rax"
                    "movaps [rsp+64], xmm0"
                    "movaps [rsp+80], xmm1"
                    "movaps [rsp+96], xmm2"
                    "movaps [rsp+112], xmm3"
                    "movaps [rsp+128], xmm4"
                    "movaps [rsp+144], xmm5"
                    "movaps [rsp+160], xmm6"
                    "movaps [rsp+176], xmm7"
                    "mov rdi, rsp"
                    "mov rsi, [rbp+8]"
                    "call {does}"
                    "mov r10, rax"
                    "mov r11, rdx"
                    "mov rdi, [rsp]"
                    "mov rsi, [rsp+8]"
                    "mov rdx, [rsp+16]"
                    "mov rcx, [rsp+24]"
                    "mov r8, [rsp+32]"
                    "mov r9, [rsp+40]"
                    "mov rax, [rsp+48]"
                    "movaps xmm0, [rsp+64]"
                    "movaps xmm1, [rsp+80]"
                    "movaps xmm2, [rsp+96]"
                    "movaps xmm3, [rsp+112]"
                    "movaps xmm4, [rsp+128]"
                    "movaps xmm5, [rsp+144]"
                    "movaps xmm6, [rsp+160]"
                    "movaps xmm7, [rsp+176]"
                    "leave"
                    "test r11, r11"
                    "jz 2f"
                    "jmp r11"
                    "2:"
                    "mov rax, r10"
                    "ret"
                ]
                aarch64 [
                    "stp x29, x30, [sp, #-208]!"
                    "mov x29, sp"
                    "stp x0, x1, [sp, #16]"
                    "stp x2, x3, [sp, #32]"
                    "stp x4, x5, [sp, #48]"
                    "stp x6, x7, [sp, #64]"
                    "stp q0, q1, [sp, #80]"
                    "stp q2, q3, [sp, #112]"
                    "stp q4, q5, [sp, #144]"
                    "stp q6, q7, [sp, #176]"
                    "add x0, sp, #16"
                    "mov x1, x30"
                    "bl {does}"
                    "mov x17, x0"
                    "mov x16, x1"
                    "ldp x0, x1, [sp, #16]"
                    "ldp x2, x3, [sp, #32]"
                    "ldp x4, x5, [sp, #48]"
                    "ldp x6, x7, [sp, #64]"
                    "ldp q0, q1, [sp, #80]"
                    "ldp q2, q3, [sp, #112]"
                    "ldp q4, q5, [sp, #144]"
                    "ldp q6, q7, [sp, #176]"
                    "ldp x29, x30, [sp], #208"
                    "cbz x16, 2f"
                    "br x16"
                    "2:"
                    "mov x0, x17"
                    "ret"
                ]
            }
        )*
    };
}
pub(crate) use passing;

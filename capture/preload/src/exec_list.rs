//! `execl`, `execlp` and `execle`, whose arguments stand in the call itself.
//!
//! Stable Rust cannot define functions with a variable number of arguments. These few instructions
//! lay those that came in registers before those that came on the stack, which makes them the list
//! that `execv` takes.

use crate::hook::in_assembly;
use crate::processes::{execv, execve, execvp};
use crate::sys::{Text, Texts};

macro_rules! listed {
    ($($name:ident => $does:ident;)*) => {
        $(
            // Does not return where it succeeds.
            in_assembly! {
                $name calls $does;
                x86_64 [
                    "pop r10"
                    "push r9"
                    "push r8"
                    "push rcx"
                    "push rdx"
                    "push rsi"
                    "mov rsi, rsp"
                    "push r10"
                    "call {does}"
                    "pop r10"
                    "add rsp, 40"
                    "push r10"
                    "ret"
                ]
                aarch64 [
                    "sub sp, sp, #80"
                    "stp x29, x30, [sp]"
                    "str x1, [sp, #24]"
                    "stp x2, x3, [sp, #32]"
                    "stp x4, x5, [sp, #48]"
                    "stp x6, x7, [sp, #64]"
                    "add x1, sp, #24"
                    "bl {does}"
                    "ldp x29, x30, [sp]"
                    "add sp, sp, #80"
                    "ret"
                ]
            }
        )*
    };
}

listed! {
    execl => execv;
    execlp => execvp;
    execle => with_environment;
}

/// The environment stands behind the null pointer that ends the arguments.
unsafe extern "C" fn with_environment(path: Text, list: Texts) -> i32 {
    // SAFETY: the program vouches for its own call.
    unsafe {
        let mut end = list;
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, list, *end.add(1).cast())
    }
}

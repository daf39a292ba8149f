//! The library that `netreel record` loads into an unmodified program.
//!
//! It stands before the C library's functions that reach the network, the clocks and the sources
//! of randomness, calls each as the program does, and pushes the results into a ring of memory
//! shared with the recorder. It starts no thread, allocates nothing, writes no file, and leaves
//! results, bytes and `errno` as they were.
//!
//! No package depends on this one, and it depends on `capture/shared` alone: the command carries it
//! inside.
//!
//! Why it is so: `docs/decisions/programs.md`.

#![cfg_attr(feature = "carried", no_std)]
// The C library's functions have no words of their own here.
#![allow(missing_docs)]

mod asking;
mod attach;
mod by_number;
mod cancels;
mod children;
mod clocks;
mod corks;
mod counters;
mod descriptors;
mod elsewhere;
mod endpoint;
mod environment;
mod exec_list;
mod files;
mod filters;
mod floor;
mod found;
mod holder;
mod hook;
mod hosts;
mod joined;
mod locks;
mod lookups;
mod meets;
mod names;
mod nr;
mod numbered;
mod objects;
mod others;
mod own_number;
mod paths;
mod plainly;
mod points;
mod printed;
mod processes;
mod push;
mod randomness;
mod reads;
mod receive;
mod replay;
mod row;
mod sandbox;
mod send;
mod signals;
mod sockets;
mod stat;
mod statics;
mod stdio;
mod streams;
mod sys;
mod taken;
mod thread;
mod threads;
mod tree;
mod tripwire;
mod typed;
mod vectors;
mod waits;

/// Nothing here panics on purpose; should it happen, the program ends rather than going on in a
/// state that nobody knows.
#[cfg(feature = "carried")]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process.
    unsafe { sys::abort() }
}

// The compiled `core` names the function that unwinding would go through. Nothing unwinds here;
// hidden, so that no Rust program takes this one for its own.
#[cfg(feature = "carried")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "ret",
);

/// Meets the recorder before the program's `main`.
extern "C" fn start() {
    objects::count_at_start();
    let _ = attach::generation();
}

/// Pushes the last state of the receive buffers, after the program's `main`.
extern "C" fn end() {
    sockets::push_receive_queues();
    processes::ends();
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

//! The library that `netreel record` loads into an unmodified program.
//!
//! It stands before the C library's functions that reach the network, the clocks and the sources
//! of randomness, lets each do what it does, and pushes what came of it into a ring of memory
//! shared with the recorder. It starts no thread, allocates nothing, writes no file, and leaves
//! results, bytes and `errno` as they were.
//!
//! No package depends on this one, and it depends on none: the command carries it inside.

// The C library's functions have no words of their own here.
#![allow(missing_docs)]

#[allow(missing_docs)]
#[path = "../../reel/src/call.rs"]
mod call;
#[allow(dead_code)]
#[path = "../../reel/src/ring.rs"]
mod ring;

mod attach;
mod clocks;
mod descriptors;
mod hello;
mod processes;
mod push;
mod randomness;
mod receive;
mod send;
mod sockets;
mod sys;
mod tripwire;
mod waits;

/// Meets the recorder before the program's `main`.
extern "C" fn start() {
    let _ = attach::generation();
}

/// Tells what receive buffers came to, after the program's `main`.
extern "C" fn end() {
    sockets::tell_receive_queues();
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

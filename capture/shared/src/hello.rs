//! What the library and the recorder say to each other at the start.

/// The first four bytes of both messages. Changes with their layout.
pub const HELLO_MAGIC: u32 = u32::from_le_bytes(*b"nrl1");
/// A process wants to be recorded.
pub const KIND_ATTACH: u32 = 0;
/// A recorded process needs one ring more.
pub const KIND_MORE: u32 = 1;
/// A process passes the listener of its tripwire.
pub const KIND_TRIPWIRE: u32 = 2;
/// An accepted process cannot map the ring file; `flags` is the error code.
pub const KIND_UNMAPPED: u32 = 3;
/// A process that has forked has changed how the kernel cuts or joins the packets of the socket that
/// it passes. It is answered when whoever else has the socket was named.
pub const KIND_SEGMENTS: u32 = 4;

/// A process is about to become the program that it passes, into which no library can be loaded; where
/// `flags` is one of its threads, that one is about to start it as a child. It is answered when it is
/// watched, or will not be.
pub const KIND_WATCH: u32 = 5;

/// The environment variable that holds the path of the recorder's socket.
pub const VARIABLE: &str = "NETREEL_RECORD";

/// From the program.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Hello {
    /// [`HELLO_MAGIC`].
    pub magic: u32,
    /// [`KIND_ATTACH`] and the others.
    pub kind: u32,
    /// The process that asks.
    pub pid: u32,
    /// 1: a forked child.
    pub flags: u32,
    /// Of the reel, where there is one already.
    pub identity: u64,
}

/// [`Welcome::accepted`]: nothing of the process is recorded.
pub const REFUSED: u32 = 0;
/// The ring file comes with it.
pub const ACCEPTED: u32 = 1;
/// The process is replayed; the tape comes with it.
pub const REPLAYED: u32 = 2;
/// The process was started by one that is replayed, and may send nothing.
pub const MUTED: u32 = 3;

/// From the recorder.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Welcome {
    /// [`HELLO_MAGIC`].
    pub magic: u32,
    /// [`REFUSED`] and the others.
    pub accepted: u32,
    /// How many rings the file has; for one more ring, its index.
    pub rings: u32,
    /// The length of each ring's data in bytes.
    pub capacity: u32,
    /// Of the reel; for a replay the length of the tape in bytes.
    pub identity: u64,
    /// 1: a full ring drops at once instead of waiting.
    pub drop_when_full: u32,
    /// 1: watch for system calls that the hooks do not see.
    pub tripwire: u32,
    /// 1: one of the process's threads runs at a time.
    pub one_thread: u32,
    /// 1: what the process prints is none of the recorder's.
    pub no_log: u32,
}

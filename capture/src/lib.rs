//! Every way to make a reel.

pub use netreel_transport::{MemoryRecorder, Pusher, Recorded};

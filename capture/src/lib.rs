//! Every way to make a reel, and to open one by its path.
//!
//! Why it is so: `docs/decisions/recording.md`.

// What serves preload alone.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

pub mod import;
mod index_file;
#[cfg(any(feature = "pcap", windows))]
pub mod live;
mod open;
pub mod pcap;
#[cfg_attr(not(target_os = "linux"), path = "preload/elsewhere.rs")]
pub mod preload;
mod progress;
pub mod proxy;

pub use index_file::IndexFile;
pub use netreel_record::{
    FileAppend, FileSource, FollowEnd, FollowError, Follower, Journal, Limits, OpenError, OpenWhy,
    OpenedReel, OpenedSession, Openings, Options, Presence, PresentRecorder, Pusher, Reached,
    RecordError, Recorded, Recorder, Summary, WhenFull, clock_anchor, is_recorded, part_path,
    reels_at, ring_mode, ring_path, tidy,
};
pub use netreel_system::signals::{Signals, keep_children};
pub use open::{
    open, open_capture_beginning, open_session, open_session_again, open_session_while, reel_files,
};
pub use progress::Progress;

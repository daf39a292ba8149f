//! Every way to make a reel, and to open one by its path.
//!
//! Why it is so: `docs/decisions/recording.md`.

// What serves preload alone.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod anchor;
mod bell;
mod drainer;
mod file;
mod follow;
pub mod import;
mod index_file;
#[cfg(feature = "pcap")]
pub mod live;
mod open;
mod options;
mod part_file;
pub mod pcap;
#[cfg_attr(not(target_os = "linux"), path = "preload/elsewhere.rs")]
pub mod preload;
mod presence;
mod progress;
pub mod proxy;
mod recorder;
mod ring_image;
pub mod ring_mode;
mod rings;
mod series;
mod tidy;
mod writer;

pub use anchor::clock_anchor;
pub use file::{FileAppend, FileSource};
pub use follow::{FollowEnd, FollowError, Follower};
pub use index_file::IndexFile;
pub use netreel_system::signals::{Signals, keep_children};
#[cfg(feature = "tokio")]
pub use netreel_transport::tokio;
pub use netreel_transport::{
    Journal, MemoryRecorder, Pusher, Recorded, RecordedSocket, Shared, WhenFull,
};
pub use open::{
    OpenError, OpenWhy, OpenedReel, OpenedSession, Openings, open, open_capture_beginning,
    open_session, open_session_again, open_session_while, reel_files, reels_at,
};
pub use options::{Limits, Options, Reached};
pub use presence::{Presence, PresentRecorder};
pub use progress::Progress;
pub use recorder::{RecordError, Recorder, Summary, ring_path};
pub use series::part_path;
pub use tidy::{is_recorded, tidy};

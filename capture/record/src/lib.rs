//! The recorder that an engine takes on: it records a node while it plays, and opens what it recorded.
//!
//! [`Recorder`] makes a reel; its [`pusher`](Recorder::pusher) goes into what stands between a network
//! layer and the world: [`Recorded`] around a [`Transport`], a [`RecordedSocket`], or a [`Journal`].
//!
//! ```
//! use netreel_record::{
//!     Header, Options, Recorded, Recorder, Time, Transport, UdpTransport, clock_anchor,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("server.reel");
//! let header = Header {
//!     node: "server".to_owned(),
//!     clock: clock_anchor(), // ties its clock to the calendar and the machine
//!     ..Header::default()
//! };
//! let recorder = Recorder::create(&path, &header, Options::default())?;
//! let socket = UdpTransport::bind("127.0.0.1:0".parse()?)?;
//! let local = socket.local();
//! let mut io = Recorded::new(socket, recorder.pusher()?, local);
//! io.tick(1, Time(0)); // and then whatever the network layer does with a `&mut dyn Transport`
//! io.send(local, b"hello")?;
//! recorder.finish()?;
//!
//! let opened = netreel_record::open(&path)?;
//! assert_eq!(opened.header().node, "server");
//! # Ok(())
//! # }
//! ```
//!
//! How an engine is recorded: `docs/engines.md`. Why it is so: `docs/decisions/recording.md`.

mod anchor;
mod bell;
mod drainer;
mod file;
mod follow;
mod open;
mod options;
pub mod others;
mod part_file;
mod pause;
mod presence;
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
pub use netreel_reel::{Believed, Endpoint, Header, Time, WireText};
#[cfg(feature = "tokio")]
pub use netreel_transport::tokio;
pub use netreel_transport::{
    Journal, MemoryRecorder, Pusher, Recorded, RecordedSocket, Shared, Transport, UdpTransport,
    WhenFull,
};
pub use open::{
    OpenError, OpenWhy, OpenedReel, OpenedSession, Openings, OpensOthers, OtherFile, open,
    open_session, open_session_with, reel_files, reels_at,
};
pub use options::{Limits, Options, Reached, Summary};
pub use presence::{Presence, PresentRecorder};
pub use recorder::{RecordError, Recorder, ring_path};
pub use series::part_path;
pub use tidy::{is_recorded, tidy};

//! Several reels, one story.
//!
//! [`session`] brings the reels of a play-through onto one clock and matches each send to its receive.
//! [`history`] says what followed from the packets: what was acked, delivered, believed, and what went wrong;
//! [`why`] goes back along what led to something, [`stats`] counts, [`diff`] compares two sessions.
//! [`verdict`] says whether all of it could be judged, [`rules`] asks a team's own rules. [`packet_fields`]
//! declares what is known of a packet, from which its columns and its names in filters are made. [`guess`]
//! writes the wire that packets without one suggest. [`query`] filters packets and messages; [`export`] says
//! it all in JSON, with times and numbers in words as [`figures`] writes them. Nothing here touches a clock,
//! a socket or a file: whoever asks reads the files.
//!
//! ```
//! use std::sync::Arc;
//!
//! use netreel_protocol::history::History;
//! use netreel_protocol::session::{ReelInput, Session};
//! use netreel_reel::Reel;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut reels = Vec::new();
//! for node in ["HOST", "A", "B", "X"] {
//!     let bytes = std::fs::read(format!("../samples/sessions/host/{node}.reel"))?;
//!     let reel = Arc::new(Reel::from_bytes(bytes)?);
//!     reels.push(ReelInput { name: node.to_owned(), reel });
//! }
//! let session = Session::builder().build(reels)?; // packets are read by the wire in the reels
//! let history = History::build(&session);
//! for finding in &history.findings {
//!     let proof: Vec<u32> = finding.proof().map(|it| it.packet.0).collect();
//!     println!("{}: packets {proof:?}", finding.rule);
//! }
//! assert_eq!(session.packet_count(), 573);
//! assert!(!history.findings.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Why it is so: `docs/decisions/session.md`.

#[macro_use]
mod named;

pub mod diff;
pub mod export;
pub mod figures;
pub mod guess;
pub mod history;
pub mod packet_fields;
pub mod query;
pub mod rules;
pub mod session;
pub mod stats;
pub mod verdict;
pub mod why;

//! Several reels, one story.
//!
//! [`session`] brings the reels of a play-through onto one clock and matches each send to its
//! receive. [`history`] says what followed from the packets: what was acked, delivered, believed,
//! and what went wrong; [`why`] goes back along what led to something, [`stats`] counts, [`diff`]
//! compares two sessions. [`verdict`] says whether all of it could be judged, [`rules`] asks a team's
//! own rules. [`packet_fields`] declares what is known of a packet, from which its columns and
//! its names in filters are made. [`query`] filters packets and messages; [`export`] says it all in JSON, with times and
//! numbers in words as [`figures`] writes them.
//! Nothing here touches a clock, a socket or a file.
//!
//! Why it is so: `docs/decisions/session.md`.

pub mod diff;
pub mod export;
pub mod figures;
pub mod history;
pub mod packet_fields;
pub mod query;
pub mod rules;
pub mod session;
pub mod stats;
pub mod verdict;
pub mod why;

//! What a recorder shares with whoever pushes events from another process: the rings, the bell, the
//! tape of a replay, what the two say to each other at the start, and how events lie in a ring.
//!
//! It depends on `core` alone, so that the library which is loaded into foreign programs
//! (`capture/preload`) is made of it as it stands.

#![no_std]

pub mod bell;
pub mod body;
pub mod call;
pub mod hello;
pub mod ring;
pub mod tape;

//! A signal by which other processes pull this one's triggers: there is none here. What pulls triggers
//! within the program, from peers and by findings works all the same.

use std::convert::Infallible;
use std::io;

/// The signal that is one where nothing else was asked for.
pub const USUAL: Option<i32> = None;
/// Another that programs leave free.
pub const OTHER: Option<i32> = None;

/// Counts `signal` from now on.
///
/// # Errors
/// Always.
pub fn catch(_: i32, _: fn()) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How often `signal` came.
pub fn count(_: i32) -> u32 {
    0
}

/// The moment that the latest signal of this number named.
pub fn moment(_: i32) -> Option<i64> {
    None
}

/// The signal's name.
pub fn name(signal: i32) -> String {
    format!("signal {signal}")
}

/// A process that is to be sent a signal.
#[derive(Debug)]
pub struct Target(Infallible);

impl Target {
    /// The process of this number.
    ///
    /// # Errors
    /// Always.
    pub fn of(_: u32) -> io::Result<Target> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Sends it `signal`.
    ///
    /// # Errors
    /// None: there is no target.
    pub fn send(&self, _: i32, _: i64) -> io::Result<()> {
        match self.0 {}
    }
}

/// Whether there is a signal of this number.
pub fn is_signal(_: i32) -> bool {
    false
}

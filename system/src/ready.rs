//! Waiting for descriptors.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of them is ready, or a signal comes, at most so long; `None`: however long.
///
/// # Errors
/// The operating system's.
pub fn wait(descriptors: &mut [PollFd<'_>], most: Option<Duration>) -> io::Result<()> {
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    match poll(descriptors, most.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

//! Pseudo-terminals for programs that are started.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A terminal of its own: the end that programs get, and the other one.
pub fn terminal() -> (OwnedFd, File) {
    let (mut master, mut slave) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: two places for numbers; the rest is not asked for.
    let made = unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) };
    assert_eq!(made, 0);
    // SAFETY: the descriptors that were just made.
    unsafe { (OwnedFd::from_raw_fd(slave), File::from_raw_fd(master)) }
}

/// The command is steered by the terminal that is its standard input, as in a shell.
pub fn steered(command: &mut Command) {
    // SAFETY: between fork and exec: system calls alone.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
}

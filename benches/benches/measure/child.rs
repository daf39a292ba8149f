//! A program that is run, and what it took.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What one run of a program took.
pub struct Usage {
    pub wall: Duration,
    /// Of all its threads, in the program and in the system for it.
    pub processor: Duration,
    /// The most memory that was resident at a time, in bytes. Linux counts into it what this
    /// process had when it started the program, so this process has to stay small.
    pub peak: u64,
    /// `None`: a signal ended it.
    pub code: Option<i32>,
    /// What it said on its error output.
    pub said: String,
}

/// Runs a program to its end, without its output; `said` is a file for its error output.
pub fn run(command: &mut Command, said: &Path) -> io::Result<Usage> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(said)?);
    let begin = Instant::now();
    let child = command.spawn()?;
    let process = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let (status, usage) = wait(process)?;
    let wall = begin.elapsed();
    let mut text = String::new();
    File::open(said)?
        .take(1 << 16)
        .read_to_string(&mut text)
        .or_else(|error| match error.kind() {
            io::ErrorKind::InvalidData => Ok(0),
            _ => Err(error),
        })?;
    Ok(Usage {
        wall,
        processor: time(usage.ru_utime) + time(usage.ru_stime),
        peak: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        said: text,
    })
}

/// Waits for a child of this process that nobody else waits for.
fn wait(process: libc::pid_t) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is made of numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places can be written, and outlive the call.
        let waited = unsafe { libc::wait4(process, &mut status, 0, &mut usage) };
        if waited == process {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn time(of: libc::timeval) -> Duration {
    let seconds = u64::try_from(of.tv_sec).unwrap_or(0);
    let micros = u64::try_from(of.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

//! Network namespaces.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A network namespace with a loopback interface, for one test.
pub struct Net(pub String);

impl Net {
    /// `None`, with a sentence, where there is no right to it.
    pub fn new() -> Option<Net> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let net = Net(format!("netreel-{}-{number}", std::process::id()));
        if !ip(&["netns", "add", &net.0]) {
            super::no_namespace();
            return None;
        }
        if !net.ip(&["link", "set", "lo", "up"]) {
            super::skipped("no right to work inside a network namespace");
            return None;
        }
        Some(net)
    }

    pub fn ip(&self, arguments: &[&str]) -> bool {
        ip(&[&["-n", &self.0][..], arguments].concat())
    }

    /// Does something with sockets that are inside.
    pub fn inside<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        let file = File::open(Path::new("/run/netns").join(&self.0)).expect("the namespace");
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                // SAFETY: moves this thread alone into the namespace; the descriptor is open.
                let moved = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(moved, 0, "{}", std::io::Error::last_os_error());
                act()
            });
            inside.join().expect("no panic inside")
        })
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.0]);
    }
}

fn ip(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    let command = command.args(arguments).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

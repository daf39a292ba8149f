//! Hearing of system calls that went past the hooks.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};

use super::look;

/// What is known of one that is watched.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// What is to be said of it, should it come to packets: in whose reel, and the sentence.
    pub gap: Option<(u32, String)>,
    /// Whether it kept apart from packets to its end, once that is known.
    pub apart: Option<bool>,
}

/// The listener of one process's tripwire.
#[derive(Debug)]
pub(super) struct Tripwire {
    listener: OwnedFd,
    seen: BTreeMap<i32, u64>,
    /// UDP sockets, by their inodes.
    sockets: BTreeSet<u64>,
}

/// How many sockets are remembered.
const SOCKETS_MAX: usize = 1024;

impl Tripwire {
    pub fn new(listener: OwnedFd) -> Tripwire {
        Tripwire {
            listener,
            seen: BTreeMap::new(),
            sockets: BTreeSet::new(),
        }
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.listener
    }

    /// Lets one call go on, and names it where it is the first of its kind, and not of a program that is
    /// `watched` whatever it calls. To be asked when the listener is readable.
    pub fn answer(&mut self, watched: &BTreeMap<u32, Watched>) -> Option<(u32, &'static str)> {
        let fd = self.listener.as_raw_fd();
        // SAFETY: a structure of plain numbers, which the kernel wants to be zero.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request reads and writes the structure that it is given.
        if unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) } != 0 {
            return None;
        }
        // While the call waits, the descriptor is what it was.
        let counts =
            !watched.contains_key(&call.pid) && self.concerns_the_recorder(call.pid, &call.data);
        let mut answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        // SAFETY: as above. The process may be gone; then there is nobody to answer.
        unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        if !counts {
            return None;
        }
        let count = self.seen.entry(call.data.nr).or_default();
        *count += 1;
        (*count == 1).then_some((call.pid, name(call.data.nr)))
    }

    /// Whether a call is one that the recorder should have seen: files are read and written as well.
    fn concerns_the_recorder(&mut self, thread: u32, call: &libc::seccomp_data) -> bool {
        let of_files = [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_close,
        ];
        if !of_files.contains(&libc::c_long::from(call.nr)) {
            return true;
        }
        let Some(inode) = look::socket(thread, call.args[0] as i32) else {
            return false;
        };
        if self.sockets.contains(&inode) {
            return true;
        }
        let is_udp = look::udp_sockets(thread)
            .iter()
            .any(|(udp, _)| *udp == inode);
        if is_udp && self.sockets.len() < SOCKETS_MAX {
            self.sockets.insert(inode);
        }
        is_udp
    }

    /// What was seen, in words: `sendto 12 times`.
    pub fn summary(&self) -> Option<String> {
        let counts = self.seen.iter();
        let words: Vec<String> = counts
            .map(|(number, count)| match count {
                1 => format!("{} once", name(*number)),
                _ => format!("{} {count} times", name(*number)),
            })
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

fn name(number: i32) -> &'static str {
    match libc::c_long::from(number) {
        libc::SYS_socket => "socket",
        libc::SYS_sendto => "sendto",
        libc::SYS_recvfrom => "recvfrom",
        libc::SYS_sendmsg => "sendmsg",
        libc::SYS_recvmsg => "recvmsg",
        libc::SYS_sendmmsg => "sendmmsg",
        libc::SYS_recvmmsg => "recvmmsg",
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        libc::SYS_readv => "readv",
        libc::SYS_writev => "writev",
        libc::SYS_close => "close",
        libc::SYS_getrandom => "getrandom",
        libc::SYS_io_uring_setup => "io_uring_setup",
        _ => "a network call",
    }
}

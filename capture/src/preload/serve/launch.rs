//! The program's start: the socket that it will find, and the library that is loaded into it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use netreel_shared::hello::VARIABLE;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use super::super::Wanted;
use super::super::library::Unpacked;
use netreel_system::signals::Signals;

/// Where recorded programs reach the recorder.
pub(in crate::preload) fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kind = SocketType::SEQPACKET;
    let socket = net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
    net::bind(&socket, &net::SocketAddrUnix::new(path)?)?;
    // A program may drop its privileges before it reaches the recorder.
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    net::listen(&socket, 64)?;
    Ok(socket)
}

/// Has the program that this process becomes lie at the same addresses each time. Between fork and exec.
pub(in crate::preload) fn keep_addresses() {
    // SAFETY: system calls that take numbers alone.
    unsafe {
        let before = libc::personality(0xffff_ffff);
        if before >= 0 {
            let wanted = before | libc::ADDR_NO_RANDOMIZE;
            // Where it is forbidden, the program runs all the same.
            libc::personality(wanted as libc::c_ulong);
        }
    }
}

/// Starts the program with the library in it. What was ignored before `signals` it ignores.
pub(super) fn start(wanted: &Wanted, unpacked: &Unpacked, signals: &Signals) -> io::Result<Child> {
    let (program, arguments) = wanted
        .command
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut preload = OsString::new();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(others);
        preload.push(":");
    }
    preload.push(&unpacked.library);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", preload)
        .env(VARIABLE, &unpacked.socket);
    if !wanted.random_addresses {
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                keep_addresses();
                Ok(())
            })
        };
    }
    let ignored: Vec<i32> = signals.ignored_before().collect();
    // SAFETY: system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for signal in &ignored {
                libc::signal(*signal, libc::SIG_IGN);
            }
            Ok(())
        })
    };
    command.spawn()
}

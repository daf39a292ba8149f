//! The program's second start: by the same path, in the same folder, with the same environment.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use super::super::again::{Descriptor, Rerun};
use super::standard::Standards;
use crate::preload::library::Unpacked;
use crate::preload::serve::keep_addresses;
use netreel_shared::hello::VARIABLE;
use netreel_system::signals::{END, bit};

/// Starts it, with its ends of `standards`.
pub(super) fn start(
    wanted: &Rerun,
    standards: &Standards,
    unpacked: &Unpacked,
) -> io::Result<Child> {
    let variables: Vec<CString> = wanted
        .variables
        .iter()
        .map(|variable| CString::new(with_library(variable, unpacked)))
        .collect::<Result<_, _>>()?;
    let arguments: Vec<CString> = wanted
        .arguments
        .iter()
        .map(|one| CString::new(one.clone()))
        .collect::<Result<_, _>>()?;
    let program = CString::new(wanted.program.clone())?;
    let pointers = |list: &[CString]| -> Vec<usize> {
        let each = list.iter().map(|one| one.as_ptr() as usize);
        each.chain([0]).collect()
    };
    let (arguments_at, variables_at) = (pointers(&arguments), pointers(&variables));
    // What is named here is not run: the last thing that happens before is the program itself.
    let mut command = Command::new(OsString::from("/"));
    command.current_dir(&wanted.folder);
    let held = held(&wanted.descriptors)?;
    let descriptors: Vec<(RawFd, RawFd)> =
        held.iter().map(|(to, it)| (*to, it.as_raw_fd())).collect();
    let own = |end: &Option<OwnedFd>| end.as_ref().map(AsRawFd::as_raw_fd);
    let first = standards.given.each_ref().map(own);
    let terminal = standards.terminal;
    let (random, signals) = (wanted.random_addresses, wanted.signals);
    // SAFETY: between fork and exec: system calls alone.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // So that a debugger may be attached by whoever started this.
            libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0);
            begin_with(signals);
            if !random {
                keep_addresses();
            }
            libc::syscall(
                libc::SYS_close_range,
                3,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
            for (to, from) in (0..).zip(first) {
                match from {
                    Some(from) if libc::dup2(from, to) < 0 => {
                        return Err(io::Error::last_os_error());
                    }
                    None if libc::close(to) < 0 => {}
                    _ => {}
                }
            }
            if let Some(terminal) = terminal {
                // It is steered by its own terminal, and not by that of this process.
                libc::setsid();
                libc::ioctl(terminal, libc::TIOCSCTTY, 0);
            }
            for (to, from) in &descriptors {
                // Whatever is there in this process is none of the program's.
                if libc::dup2(*from, *to) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            let list = |of: &[usize]| of.as_ptr().cast::<*const libc::c_char>();
            let (arguments, variables) = (list(&arguments_at), list(&variables_at));
            libc::execve(program.as_ptr(), arguments, variables);
            Err(io::Error::last_os_error())
        });
    }
    let child = command.spawn();
    drop((arguments, variables, held));
    child
}

/// What stands for each descriptor behind the first three, under numbers that none of them has.
fn held(descriptors: &[Descriptor]) -> io::Result<Vec<(RawFd, OwnedFd)>> {
    let highest = descriptors.iter().map(|it| it.fd).max().unwrap_or(0);
    let above = highest.max(2).saturating_add(1);
    let further = descriptors.iter().filter(|it| it.fd > 2);
    let each = further.map(|it| {
        let file = match &it.file {
            Some((path, position)) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*position))?;
                file
            }
            None => File::options().read(true).write(true).open("/dev/null")?,
        };
        // SAFETY: a second number of a descriptor that is there.
        let fd = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, above) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor that was just made.
        Ok((it.fd, unsafe { OwnedFd::from_raw_fd(fd) }))
    });
    each.collect()
}

/// Ignores and blocks what was ignored and blocked then, whatever this process was started with.
/// Between fork and exec.
fn begin_with(signals: Option<(u64, u64)>) {
    let (asked, ignored) = match signals {
        Some((ignored, blocked)) => {
            // SAFETY: a set of the size that the kernel has.
            unsafe {
                let (set, none) = (&raw const blocked, std::ptr::null_mut::<u64>());
                libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, set, none, 8);
            }
            (u64::MAX, ignored)
        }
        None => (END.into_iter().fold(0, |all, it| all | bit(it)), 0),
    };
    for signal in (1..=64).filter(|signal| asked & bit(*signal) != 0) {
        let action = match ignored & bit(signal) {
            0 => libc::SIG_DFL,
            _ => libc::SIG_IGN,
        };
        // SAFETY: no handler; those that cannot be changed stay as they are.
        unsafe { libc::signal(signal, action) };
    }
}

/// A variable of the recorded environment, with this library and this socket in place of the
/// recorder's, and as long as it was where that is possible: so the program's stack lies where it
/// lay.
fn with_library(variable: &[u8], unpacked: &Unpacked) -> Vec<u8> {
    if let Some(list) = variable.strip_prefix(b"LD_PRELOAD=") {
        let own = |path: &&[u8]| path.windows(9).any(|part| part == b".netreel-");
        let paths: Vec<Vec<u8>> = list
            .split(|byte| matches!(byte, b':' | b' '))
            .map(|path| {
                if own(&path) {
                    as_long(&unpacked.library, path.len())
                } else {
                    path.to_vec()
                }
            })
            .collect();
        return [b"LD_PRELOAD=".to_vec(), paths.join(&b':')].concat();
    }
    let name = [VARIABLE.as_bytes(), b"="].concat();
    match variable.strip_prefix(name.as_slice()) {
        Some(path) => [name.clone(), as_long(&unpacked.socket, path.len())].concat(),
        None => variable.to_vec(),
    }
}

/// The same path, with more slashes.
fn as_long(path: &Path, length: usize) -> Vec<u8> {
    let path = path.as_os_str().as_bytes();
    let last = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let (folder, name) = path.split_at(last);
    let slashes = length.saturating_sub(path.len());
    [folder, &vec![b'/'; slashes], name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_longer_by_slashes_and_never_shorter() {
        let path = Path::new("/tmp/nr1/l.so");
        assert_eq!(as_long(path, 16), b"/tmp/nr1////l.so");
        assert_eq!(as_long(path, 3), b"/tmp/nr1/l.so");
    }
}

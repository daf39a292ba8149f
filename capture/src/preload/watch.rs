//! Whether a program into which no library can be loaded has anything to do with packets.
//!
//! From before its first instruction on it is traced (`ptrace`), until it ends or does the first thing
//! that may lead to a packet; from then on it runs untraced. Should the recorder die, it goes on.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::{io, thread};

use super::escape::check_program;
use super::process::{Doing, Telling};
use super::{Escape, look};

/// Who makes more system calls is let go: each costs it two stops.
const STOPS_MAX: u32 = 40_000;
/// Who has become no other program after so many stops will not. A child of `posix_spawn` sets each signal
/// first.
const STOPS_BEFORE_MAX: u32 = 1000;

/// Who becomes the program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    /// This process, which waits.
    Process(u32),
    /// The next child of this thread, which waits.
    ChildOf(u32),
}

/// Watches whoever is about to become `program`; tells who that is, and what came of it. `false`: it is not
/// watched.
pub(super) fn watch(who: Who, program: &OwnedFd, telling: Telling) -> bool {
    let program = format!("/proc/self/fd/{}", program.as_raw_fd());
    if !matches!(check_program(Path::new(&program)), Err(Escape::Static)) {
        return false;
    }
    // Who traces is a thread, and only that one may go on with it.
    let (began, begins) = std::sync::mpsc::sync_channel(1);
    let builder = thread::Builder::new().name("watch".to_owned());
    let started = builder.spawn(move || {
        let is_traced = begin(who);
        if began.send(is_traced).is_err() || !is_traced {
            return;
        }
        let tell = |pid: i32, apart| {
            let pid = pid.cast_unsigned();
            telling.send(Doing::Watched { pid, apart });
        };
        let pid = match who {
            Who::Process(pid) => pid.cast_signed(),
            Who::ChildOf(thread) => {
                // Before its starter goes on, and tells that it has started it.
                let Some(pid) = child_of(thread.cast_signed(), |pid| tell(pid, None)) else {
                    return;
                };
                pid
            }
        };
        tell(pid, Some(keeps_apart(pid)));
    });
    started.is_ok() && begins.recv().unwrap_or(false)
}

fn trace(request: libc::c_uint, pid: i32, address: usize, data: usize) -> libc::c_long {
    // SAFETY: none of the requests that are made here writes to memory of this process but
    // `PTRACE_GET_SYSCALL_INFO` and `PTRACE_GETEVENTMSG`, which are given a place of the length that they
    // write.
    unsafe { libc::ptrace(request, pid, address, data) }
}

/// Has the process stop before it does anything more, or the thread when it starts a child, which stops then.
fn begin(who: Who) -> bool {
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC;
    let starts = libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
    let seize = |pid: u32, options: i32| {
        trace(libc::PTRACE_SEIZE, pid.cast_signed(), 0, options as usize) == 0
    };
    match who {
        Who::Process(pid) => {
            seize(pid, options) && trace(libc::PTRACE_INTERRUPT, pid.cast_signed(), 0, 0) == 0
        }
        Who::ChildOf(thread) => seize(thread, options | starts),
    }
}

/// The child that a traced thread starts, if that is the first thing for which it stops. The thread is
/// traced no more, once `told` has returned.
fn child_of(thread: i32, told: impl FnOnce(i32)) -> Option<i32> {
    let mut found = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let look = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::WNOWAIT;
    // How it ended is somebody else's to know.
    // SAFETY: a place for what is told.
    let is_told = until_told(|| unsafe {
        libc::waitid(libc::P_PID, thread as u32, found.as_mut_ptr(), look)
    }) == 0;
    // SAFETY: plain numbers, zero where the kernel wrote none.
    let is_stopped = unsafe { found.assume_init() }.si_code == libc::CLD_TRAPPED;
    if !is_told || !is_stopped {
        return None;
    }
    let mut status = 0;
    // SAFETY: a place for the status.
    let told_of = until_told(|| unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) });
    if told_of != thread {
        return None;
    }
    let event = status >> 16;
    let has_started = matches!(event, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK);
    let mut child: libc::c_ulong = 0;
    let place = (&raw mut child) as usize;
    let named = has_started && trace(libc::PTRACE_GETEVENTMSG, thread, 0, place) == 0;
    let child = i32::try_from(child).ok().filter(|_| named);
    if let Some(child) = child {
        told(child);
    }
    // A signal that it is to get.
    let signal = if event == 0 {
        libc::WSTOPSIG(status)
    } else {
        0
    };
    trace(libc::PTRACE_DETACH, thread, 0, signal as usize);
    child
}

/// Whether the process ends before it does anything that may lead to packets. Returns when that is known.
fn keeps_apart(pid: i32) -> bool {
    const STANDS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let (mut runs, mut stops) = (false, 0);
    while let Some(status) = stopped(pid) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let is_call = signal == libc::SIGTRAP | 0x80;
        // A signal that it is to get, also where it is let go with it.
        let passed = if event == 0 && !is_call { signal } else { 0 };
        let becomes = event == libc::PTRACE_EVENT_EXEC;
        runs |= becomes;
        stops += 1;
        let is_enough = stops >= if runs { STOPS_MAX } else { STOPS_BEFORE_MAX };
        let leads = is_call && runs && leads_to_packets(pid);
        if is_enough || leads || becomes && look::may_carry_packets(pid.cast_unsigned()) {
            trace(libc::PTRACE_DETACH, pid, 0, passed as usize);
            return false;
        }
        let stands = event == libc::PTRACE_EVENT_STOP && STANDS.contains(&signal);
        let request = if stands {
            libc::PTRACE_LISTEN
        } else {
            libc::PTRACE_SYSCALL
        };
        // Where it was killed meanwhile, the next wait tells.
        trace(request, pid, 0, passed as usize);
    }
    runs
}

/// How the process has stopped; `None` where it has ended, also where somebody else was told of that.
fn stopped(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: a place for the status.
    let told_of = until_told(|| unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) });
    (told_of == pid && libc::WIFSTOPPED(status)).then_some(status)
}

/// What `wait` comes to. A signal to this program interrupts it, and says nothing of whom it waits for.
fn until_told(mut wait: impl FnMut() -> i32) -> i32 {
    loop {
        let told = wait();
        if told >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return told;
        }
    }
}

const ARCHITECTURE: u32 = if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0xc000_003e
};

/// Whether the system call that it begins makes a socket that could carry packets, brings one from
/// elsewhere, makes a process or thread that is not watched, or is about tracing, which another who traces
/// it would spoil.
fn leads_to_packets(pid: i32) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let (length, place) = (size_of_val(&info), info.as_mut_ptr() as usize);
    if trace(libc::PTRACE_GET_SYSCALL_INFO, pid, length, place) <= 0 {
        return true;
    }
    // SAFETY: plain numbers, zero where the kernel wrote none.
    let info = unsafe { info.assume_init() };
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return false;
    }
    // SAFETY: it is this one at the beginning of a call.
    let (number, domain) = unsafe { (info.u.entry.nr, info.u.entry.args[0]) };
    let is_own = info.arch == ARCHITECTURE;
    !is_own || is_of_packets(libc::c_long::try_from(number).unwrap_or(-1), domain)
}

fn is_of_packets(number: libc::c_long, first: u64) -> bool {
    /// Numbers from here on are another way to call (x32).
    const OTHERS: libc::c_long = 0x4000_0000;
    #[cfg(target_arch = "x86_64")]
    if matches!(number, libc::SYS_fork | libc::SYS_vfork) {
        return true;
    }
    match number {
        libc::SYS_socket => !matches!(first as i32, libc::AF_UNIX | libc::AF_NETLINK),
        libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_pidfd_getfd
        | libc::SYS_io_uring_setup
        | libc::SYS_ptrace
        | libc::SYS_clone
        | libc::SYS_clone3
        | libc::SYS_execve
        | libc::SYS_execveat => true,
        number => !(0..OTHERS).contains(&number),
    }
}

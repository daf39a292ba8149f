//! Processes: how they are started beside this one, ended, and how they ended.

use std::process::{Command, ExitStatus};

pub use here::{FORBIDDEN_CALL, end, end_group, is_gone, marked};

/// How a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is asked to end. Windows asks console programs alone (Ctrl-Break).
    Asked,
    /// It ends at once.
    Killed,
}

/// Whether processes can be started as the first of a group of their own, and a group be ended.
pub const HAS_GROUPS: bool = cfg!(unix);

/// The process is the first of a group of its own.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    here::in_own_group(command)
}

/// The process ends with the thread that starts it, where the system has that: Linux.
pub fn ends_with_this(command: &mut Command) -> &mut Command {
    here::ends_with_this(command)
}

/// This process becomes the program of `command`; returns only where that cannot be, with the reason.
/// Windows starts it as another process, waits for it, and ends with its exit code.
pub fn become_program(command: &mut Command) -> std::io::Error {
    here::become_program(command)
}

/// The signal that ended a process; `None` where it ended by itself, and always on Windows.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    here::signal_of(status)
}

/// Whether a signal is one of those that ask a program to end.
pub fn asks_to_end(signal: i32) -> bool {
    here::ASK_TO_END.contains(&signal)
}

/// A signal that kills a process, its name and what it means; `None` for those that mean something else.
pub fn fatal(signal: i32) -> Option<&'static str> {
    let mut known = here::FATAL.iter();
    known.find(|(it, _)| *it == signal).map(|(_, name)| *name)
}

#[cfg(unix)]
mod here {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, ExitStatus};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use crate::process::How;

    pub(super) const ASK_TO_END: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];

    /// The signal that ends a program which made a call that a filter forbids.
    pub const FORBIDDEN_CALL: i32 = libc::SIGSYS;

    pub(super) const FATAL: [(i32, &str); 6] = [
        (libc::SIGSEGV, "SIGSEGV, a bad address"),
        (libc::SIGABRT, "SIGABRT, abort or a failed assertion"),
        (libc::SIGBUS, "SIGBUS, a bad address"),
        (libc::SIGILL, "SIGILL, a bad instruction"),
        (libc::SIGFPE, "SIGFPE, a division by zero"),
        (libc::SIGKILL, "SIGKILL, somebody killed it"),
    ];

    pub(super) fn in_own_group(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn ends_with_this(command: &mut Command) -> &mut Command {
        // SAFETY: between fork and exec it makes one system call, and touches no memory.
        unsafe {
            command.pre_exec(|| {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                    .map_err(Into::into)
            })
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn ends_with_this(command: &mut Command) -> &mut Command {
        command
    }

    pub(super) fn become_program(command: &mut Command) -> std::io::Error {
        command.exec()
    }

    pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
        status.signal()
    }

    fn signal(how: How) -> Signal {
        match how {
            How::Asked => Signal::TERM,
            How::Killed => Signal::KILL,
        }
    }

    fn pid(process: u32) -> Option<Pid> {
        i32::try_from(process).ok().and_then(Pid::from_raw)
    }

    /// Ends a process. One that has ended meanwhile is left alone.
    pub fn end(process: u32, how: How) {
        if let Some(pid) = pid(process) {
            let _ = kill_process(pid, signal(how));
        }
    }

    /// The same of the group that a process is the first of.
    pub fn end_group(process: u32, how: How) {
        if let Some(pid) = pid(process) {
            let _ = kill_process_group(pid, signal(how));
        }
    }

    /// Whether a process has ended, also where nobody has asked yet how.
    #[cfg(target_os = "linux")]
    pub fn is_gone(process: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        // Behind its name in brackets stands its state: a zombie is gone.
        stat.map_or(true, |stat| {
            let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
            state.is_none_or(|state| state.starts_with('Z'))
        })
    }

    /// Whether a process has ended.
    #[cfg(not(target_os = "linux"))]
    pub fn is_gone(process: u32) -> bool {
        pid(process).is_none_or(|pid| {
            rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        })
    }

    /// The processes in whose environment `variable` has a value for which `is_meant`, where the system
    /// shows it: Linux.
    pub fn marked(variable: &str, is_meant: &dyn Fn(&str) -> bool) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().parse().ok();
        let all = entries.filter_map(name);
        let is_marked = |process: &u32| {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|it| {
                let text = std::str::from_utf8(it).ok();
                let value = text.and_then(|text| text.strip_prefix(variable)?.strip_prefix('='));
                value.is_some_and(is_meant)
            })
        };
        all.filter(is_marked).collect()
    }
}

#[cfg(windows)]
mod here {
    use std::os::windows::process::CommandExt;
    use std::process::{Command, ExitStatus};

    use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0};
    use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
    use windows_sys::Win32::System::Threading::{
        CREATE_NEW_PROCESS_GROUP, OpenProcess, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
        TerminateProcess, WaitForSingleObject,
    };

    use crate::process::How;

    pub(super) const ASK_TO_END: [i32; 0] = [];
    pub(super) const FATAL: [(i32, &str); 0] = [];
    /// The signal that ends a program which made a call that a filter forbids: no such signal comes.
    pub const FORBIDDEN_CALL: i32 = 0;
    /// What a process ends with that was ended.
    const ENDED: u32 = 137;

    pub(super) fn in_own_group(command: &mut Command) -> &mut Command {
        command.creation_flags(CREATE_NEW_PROCESS_GROUP)
    }

    pub(super) fn ends_with_this(command: &mut Command) -> &mut Command {
        command
    }

    pub(super) fn become_program(command: &mut Command) -> std::io::Error {
        match command.status() {
            Ok(status) => std::process::exit(status.code().unwrap_or(1)),
            Err(error) => error,
        }
    }

    pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
        None
    }

    /// With an open handle on a process; `None` where there is none.
    fn with<R>(process: u32, rights: u32, work: impl FnOnce(HANDLE) -> R) -> Option<R> {
        // SAFETY: it takes numbers; the handle is closed below.
        let handle = unsafe { OpenProcess(rights, 0, process) };
        (!handle.is_null()).then(|| {
            let done = work(handle);
            // SAFETY: opened above.
            unsafe { CloseHandle(handle) };
            done
        })
    }

    /// Ends a process. One that has ended meanwhile is left alone.
    pub fn end(process: u32, how: How) {
        match how {
            // SAFETY: it takes numbers.
            How::Asked => unsafe {
                GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, process);
            },
            How::Killed => {
                // SAFETY: the handle is open and has the right.
                with(process, PROCESS_TERMINATE, |it| unsafe {
                    TerminateProcess(it, ENDED)
                });
            }
        }
    }

    /// The same; processes that it started go on.
    pub fn end_group(process: u32, how: How) {
        end(process, how);
    }

    /// Whether a process has ended.
    pub fn is_gone(process: u32) -> bool {
        // SAFETY: the handle is open and has the right.
        let ended = with(process, PROCESS_SYNCHRONIZE, |it| unsafe {
            WaitForSingleObject(it, 0) == WAIT_OBJECT_0
        });
        ended.unwrap_or(true)
    }

    /// The processes whose environment says something: other processes' is not shown here.
    pub fn marked(_: &str, _: &dyn Fn(&str) -> bool) -> Vec<u32> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_gone_and_one_that_ended_is() {
        assert!(!is_gone(std::process::id()));
        let mut ended = Command::new(std::env::current_exe().expect("this program"));
        let mut ended = ended
            .arg("--list")
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        ended.wait().expect("its end");
        assert!(is_gone(ended.id()));
    }
}

//! Processes: how they are started beside this one, ended, and how they ended.

use std::process::ExitStatus;

pub use here::{
    DEBUGGER, FORBIDDEN_CALL, become_program, crash_without_asking, end, end_group, ends_with_this,
    in_own_group, is_gone, marked, signal_of,
};

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

/// Whether a signal is one of those that ask a program to end.
pub fn asks_to_end(signal: i32) -> bool {
    here::ASK_TO_END.contains(&signal)
}

/// What killed a process: a signal, or an exception of Windows, and what it means. `None` where it ended by
/// itself.
pub fn death_of(status: ExitStatus) -> Option<String> {
    let code = here::killed_by(status)?;
    let mut known = here::FATAL.iter();
    let meant = known
        .find(|(it, _)| *it == code)
        .map(|(_, what)| *what)
        .unwrap_or(here::FATAL_ARE_IN);
    Some(format!("{} ({meant})", here::killer(code)))
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
    pub(super) const FATAL_ARE_IN: &str = "see signal(7)";
    /// What starts a command in a debugger that follows the processes which that one starts.
    pub const DEBUGGER: &str = "gdb -ex 'set follow-fork-mode child' -ex run --args";

    /// A crash ends this process at once, and whoever waits for it is told: Windows asks neither somebody nor
    /// a debugger that is to be started then. One that is attached sees the crash.
    pub fn crash_without_asking() {}

    pub(super) fn killed_by(status: ExitStatus) -> Option<i32> {
        signal_of(status)
    }

    pub(super) fn killer(signal: i32) -> String {
        format!("signal {signal}")
    }

    /// The process is the first of a group of its own.
    pub fn in_own_group(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    /// The process ends with the thread that starts it, where the system has that: Linux.
    #[cfg(target_os = "linux")]
    pub fn ends_with_this(command: &mut Command) -> &mut Command {
        // SAFETY: between fork and exec it makes one system call, and touches no memory.
        unsafe {
            command.pre_exec(|| {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                    .map_err(Into::into)
            })
        }
    }

    /// The process ends with the thread that starts it, where the system has that: Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn ends_with_this(command: &mut Command) -> &mut Command {
        command
    }

    /// This process becomes the program of `command`; returns only where that cannot be, with the reason.
    /// Windows starts it as another process, waits for it, and ends with its exit code.
    pub fn become_program(command: &mut Command) -> std::io::Error {
        command.exec()
    }

    /// The signal that ended a process; `None` where it ended by itself, and always on Windows.
    pub fn signal_of(status: ExitStatus) -> Option<i32> {
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

    use windows_sys::Win32::Foundation::{
        CloseHandle, HANDLE, STATUS_ACCESS_VIOLATION, STATUS_HEAP_CORRUPTION,
        STATUS_ILLEGAL_INSTRUCTION, STATUS_INTEGER_DIVIDE_BY_ZERO, STATUS_STACK_BUFFER_OVERRUN,
        STATUS_STACK_OVERFLOW, WAIT_OBJECT_0,
    };
    use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
    use windows_sys::Win32::System::Diagnostics::Debug::{
        GetErrorMode, SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
    };
    use windows_sys::Win32::System::Threading::{
        CREATE_NEW_PROCESS_GROUP, OpenProcess, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
        TerminateProcess, WaitForSingleObject,
    };

    use crate::process::How;

    pub(super) const ASK_TO_END: [i32; 0] = [];
    pub(super) const FATAL: [(i32, &str); 7] = [
        (STATUS_ACCESS_VIOLATION, "a bad address"),
        (
            STATUS_STACK_BUFFER_OVERRUN,
            "abort or a failed assertion, or a stack that was written over",
        ),
        (STATUS_ILLEGAL_INSTRUCTION, "a bad instruction"),
        (STATUS_INTEGER_DIVIDE_BY_ZERO, "a division by zero"),
        (STATUS_STACK_OVERFLOW, "no stack is left"),
        (STATUS_HEAP_CORRUPTION, "a heap that was written over"),
        (ABORTED, "abort or a failed assertion, or exit(3)"),
    ];
    /// What abort ends a program with whose C library is msvcrt.
    const ABORTED: i32 = 3;
    pub(super) const FATAL_ARE_IN: &str = "see NTSTATUS values";
    /// What starts a command in a debugger that follows the processes which that one starts.
    pub const DEBUGGER: &str = "windbg -o";
    /// The signal that ends a program which made a call that a filter forbids: no such signal comes.
    pub const FORBIDDEN_CALL: i32 = 0;
    /// What a process ends with that was ended.
    const ENDED: u32 = 137;

    /// The process is the first of a group of its own.
    pub fn in_own_group(command: &mut Command) -> &mut Command {
        command.creation_flags(CREATE_NEW_PROCESS_GROUP)
    }

    /// The process ends with the thread that starts it, where the system has that: Linux.
    pub fn ends_with_this(command: &mut Command) -> &mut Command {
        command
    }

    /// This process becomes the program of `command`; returns only where that cannot be, with the reason.
    /// Windows starts it as another process, waits for it, and ends with its exit code.
    pub fn become_program(command: &mut Command) -> std::io::Error {
        match command.status() {
            Ok(status) => std::process::exit(status.code().unwrap_or(1)),
            Err(error) => error,
        }
    }

    /// The signal that ended a process; `None` where it ended by itself, and always on Windows.
    pub fn signal_of(_: ExitStatus) -> Option<i32> {
        None
    }

    // Its declaration in windows-sys takes the registers of every processor.
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn SetUnhandledExceptionFilter(filter: ExceptionFilter) -> Option<ExceptionFilter>;
    }
    type ExceptionFilter = unsafe extern "system" fn(*const std::ffi::c_void) -> i32;

    /// The process ends with the exception as its code.
    unsafe extern "system" fn end_with(_: *const std::ffi::c_void) -> i32 {
        const EXCEPTION_EXECUTE_HANDLER: i32 = 1;
        EXCEPTION_EXECUTE_HANDLER
    }

    /// A crash ends this process at once, and whoever waits for it is told: Windows asks neither somebody nor
    /// a debugger that is to be started then. One that is attached sees the crash.
    pub fn crash_without_asking() {
        // SAFETY: the filter lives as long as the program, and does nothing; the rest are numbers.
        unsafe {
            SetUnhandledExceptionFilter(end_with);
            SetErrorMode(GetErrorMode() | SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
        }
    }

    /// An exception that nobody caught is the exit code, and begins with 0xC.
    pub(super) fn killed_by(status: ExitStatus) -> Option<i32> {
        let is_death = |code: &i32| *code == ABORTED || code.cast_unsigned() >> 28 == 0xC;
        status.code().filter(is_death)
    }

    pub(super) fn killer(code: i32) -> String {
        match code {
            ABORTED => format!("exit code {code}"),
            code => format!("exception 0x{code:X}"),
        }
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
    use std::process::Command;

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

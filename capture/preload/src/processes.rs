//! Other processes: forked children, and programs that take this one's place.

use core::ffi::CStr;

use netreel_shared::call::CallId;

use crate::environment::strings;
use crate::hook::hook;
use crate::replay::{self, Did};
use crate::statics::{self, LONGEST};
use crate::sys::{self, AT_FDCWD, Opaque, Text, Texts, environ, errno, nr};
use crate::{attach, children, floor, meets, own_number, paths, printed, push};

/// Whether the environment of a new program no longer names the recorder.
///
/// # Safety
/// `list` is null or a list of zero-ended strings, ended by a null pointer.
unsafe fn is_cleared(list: Texts) -> bool {
    let (mut named, mut loaded) = (false, false);
    // SAFETY: the caller vouches for it.
    for entry in unsafe { strings(list) } {
        named |= entry.starts_with(b"NETREEL_RECORD=");
        loaded |= entry.starts_with(b"LD_PRELOAD=") && entry.windows(7).any(|it| it == b"netreel");
    }
    !(named && loaded)
}

/// Whether the recorder may be asked to watch a program into which no library can be loaded.
fn may_watch() -> bool {
    attach::generation().is_some() && !replay::on() && !replay::is_muted()
}

/// See [`statics::found`].
///
/// # Safety
/// As there.
unsafe fn found(name: Text, place: &mut [u8; LONGEST]) -> Text {
    match attach::generation() {
        // SAFETY: the caller vouches for it.
        Some(_) => unsafe { statics::found(name, place) },
        None => name,
    }
}

/// Pushes that another program is about to run, or, with a negative result, that it failed to.
///
/// # Safety
/// `path` is null or a zero-ended string; `list` as for [`is_cleared`].
unsafe fn starts(call: CallId, result: i32, path: Text, list: Texts) {
    if attach::generation().is_none() || path.is_null() {
        return;
    }
    // Between vfork and exec a child runs in the memory and the thread of its parent, which waits
    // meanwhile: the event is one of the parent's.
    let (call, result) = if result == 0 && attach::is_borrowed() {
        (CallId::SPAWN, sys::process() as i32)
    } else {
        (call, result)
    };
    // SAFETY: the caller vouches for it.
    let (cleared, path) = unsafe { (is_cleared(list), CStr::from_ptr(path).to_bytes()) };
    let mut folder = [0u8; 1024];
    let parts = paths::from_root(AT_FDCWD, path, &mut folder);
    let [folder, slash, path] = parts.unwrap_or_default();
    push::called(call, result, &[&[u8::from(cleared)], folder, slash, path]);
}

/// Becomes another program by `run`, which returns only where that failed. `list` says where the
/// environment is.
///
/// # Safety
/// As [`starts`].
unsafe fn becomes(path: Text, list: impl Fn() -> Texts, run: impl FnOnce() -> i32) -> i32 {
    if !attach::is_borrowed() && replay::on() {
        // No thread that is replayed becomes another program: those are refused beforehand. Parts from the
        // recording.
        let _ = replay::call(Did::made(CallId::EXEC));
    }
    // SAFETY: the caller vouches for it.
    unsafe {
        // Before it is told of: then it is known whether it is watched.
        if may_watch() {
            statics::ask_to_watch(path, 0);
        }
        starts(CallId::EXEC, 0, path, list());
        let result = run();
        starts(CallId::EXEC, -errno(), path, list());
        result
    }
}

/// Starts the program at the path that `find` finds as a child by `real`, and pushes what came of it; in a
/// replay the child is not there where the recording tells of it.
///
/// # Safety
/// As [`starts`]; `child` is null or a place for a number.
unsafe fn spawns(
    child: *mut i32,
    find: impl FnOnce() -> Text,
    list: Texts,
    real: impl FnOnce() -> i32,
) -> i32 {
    // SAFETY: the caller vouches for it.
    unsafe {
        if let Some(told) = children::starts(CallId::SPAWN) {
            if let (0.., Some(place)) = (told, child.as_mut()) {
                *place = told;
            }
            return -told.min(0);
        }
        let path = find();
        if may_watch() {
            statics::ask_to_watch(path, sys::thread());
        }
        let result = real();
        let list = if list.is_null() { environ } else { list };
        let pid = match result {
            0 => child.as_ref().copied().unwrap_or(0),
            code => -code,
        };
        starts(CallId::SPAWN, pid, path, list);
        result
    }
}

const AT_SYSINFO_EHDR: u64 = 33;

/// Pushes that the program ends by itself, after its `main`.
pub fn ends() {
    printed::ends();
    if replay::on() {
        replay::ends();
    } else if attach::generation().is_some() {
        floor::ends_for_all();
        push::called(CallId::END, 0, &[]);
    }
}

/// Forks by `real`, unless a recording tells of the child.
fn forks(real: impl FnOnce() -> i32) -> i32 {
    attach::forks();
    if let Some(child) = children::starts(CallId::FORK) {
        return child;
    }
    let child = real();
    if child == 0 {
        replay::forked();
        floor::forks();
        meets::forks();
        paths::forks();
        // Asks for a reel of its own now rather than at the first packet.
        let _ = attach::generation();
    } else if child > 0 {
        push::called(CallId::FORK, child, &[]);
    }
    child
}

/// `clone` by number, by `real`. One that makes a process with a memory of its own is a fork, after which a
/// descriptor of the child may stand at `place`; in a replay nobody has the other end of that.
///
/// # Safety
/// `place` is one for a number, where `flags` say so.
pub unsafe fn clone(flags: usize, place: *mut i32, real: impl FnOnce() -> isize) -> isize {
    const CLONE_VM: usize = 0x100;
    const CLONE_PIDFD: usize = 0x1000;
    if flags & CLONE_VM != 0 {
        return real();
    }
    let is_told = replay::on() && !replay::is_muted();
    let child = forks(|| real() as i32);
    if is_told && child > 0 && flags & CLONE_PIDFD != 0 {
        let arguments = [0, sys::O_CLOEXEC as usize];
        // SAFETY: the caller vouches for the place.
        unsafe { *place = sys::syscall(nr::EVENTFD2, arguments) as i32 };
    }
    child as isize
}

hook! {
    fn getauxval[goes_on](kind: u64) -> u64 {
        if kind == AT_SYSINFO_EHDR {
            push::called(CallId::VDSO, 0, &[]);
        }
        goes_on()
    }

    fn fork | __fork[goes_on]() -> i32 {
        forks(goes_on)
    }

    fn execve[goes_on](path: Text, arguments: Texts, list: Texts) -> i32 {
        becomes(path, || list, goes_on)
    }

    fn execv[goes_on](path: Text, arguments: Texts) -> i32 {
        becomes(path, || environ, goes_on)
    }

    fn execvp[goes_on](name: Text, arguments: Texts) -> i32 {
        let mut place = [0; LONGEST];
        becomes(found(name, &mut place), || environ, goes_on)
    }

    fn execvpe[goes_on](name: Text, arguments: Texts, list: Texts) -> i32 {
        let mut place = [0; LONGEST];
        becomes(found(name, &mut place), || list, goes_on)
    }

    fn posix_spawn[goes_on](child: *mut i32, path: Text, actions: Opaque, attributes: Opaque, arguments: Texts, list: Texts) -> i32 {
        spawns(child, || path, list, goes_on)
    }

    fn posix_spawnp[goes_on](child: *mut i32, name: Text, actions: Opaque, attributes: Opaque, arguments: Texts, list: Texts) -> i32 {
        let mut place = [0; LONGEST];
        spawns(child, || found(name, &mut place), list, goes_on)
    }

    fn getpid[goes_on]() -> i32 {
        let result = goes_on();
        replay::processes().map_or(result, |(this, _)| this as i32)
    }

    fn getppid[goes_on]() -> i32 {
        let result = goes_on();
        replay::processes().map_or(result, |(_, parent)| parent as i32)
    }

    fn kill[real](process: i32, signal: i32) -> i32 {
        let is_this = own_number::is_recorded(process);
        if !is_this && !matches!(process, -1 | 0) && replay::tells_of_children() {
            // A child of the recording's, whose number is another process's by now.
            return 0;
        }
        let process = if is_this { sys::process() as i32 } else { process };
        real(process, signal)
    }
}

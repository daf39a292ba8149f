//! A signal by which other processes pull this one's triggers.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

/// The signal that is one where nothing else was asked for.
pub const USUAL: Option<i32> = Some(libc::SIGUSR1);
/// Another that programs leave free.
pub const OTHER: Option<i32> = Some(libc::SIGUSR2);

/// Signals have numbers from 1 to 64.
const SIGNALS: usize = 65;

static COUNTS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];
/// The moment that the latest one named; 0 where it named none.
static MOMENTS: [AtomicI64; SIGNALS] = [const { AtomicI64::new(0) }; SIGNALS];
/// Who is told whenever one comes.
static HEARS: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// What a signal says of itself, as the kernel lays it out.
#[repr(C)]
struct Told {
    signal: i32,
    error: i32,
    code: i32,
    _gap: i32,
    process: u32,
    user: u32,
    value: i64,
    _rest: [u64; 12],
}

/// Counts `signal` from now on. `hears` is called in the signal's handler: it may do what is allowed there.
///
/// # Errors
/// No such signal, or none that can be caught.
pub fn catch(signal: i32, hears: fn()) -> io::Result<()> {
    HEARS.store(hears as *mut (), Ordering::Release);
    if usize::try_from(signal).is_ok_and(|place| (1..SIGNALS).contains(&place)) {
        // SAFETY: a structure of plain values; the handler touches atomics alone.
        let caught = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = caught as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if caught == 0 {
            return Ok(());
        }
        return Err(io::Error::last_os_error());
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// How often `signal` came; goes round at 2^32.
pub fn count(signal: i32) -> u32 {
    let place = usize::try_from(signal).unwrap_or(0);
    COUNTS
        .get(place)
        .map_or(0, |count| count.load(Ordering::Relaxed))
}

/// The moment that the latest signal of this number named: nanoseconds since
/// 1970-01-01T00:00:00Z.
pub fn moment(signal: i32) -> Option<i64> {
    let place = usize::try_from(signal).unwrap_or(0);
    let named = MOMENTS.get(place)?.load(Ordering::Acquire);
    (named != 0).then_some(named)
}

/// A process that is to be sent a signal; it stays that one, whatever becomes of its number.
#[derive(Debug)]
pub struct Target(OwnedFd);

impl Target {
    /// The process of this number.
    ///
    /// # Errors
    /// There is none.
    pub fn of(process: u32) -> io::Result<Target> {
        let pid = i32::try_from(process)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::NotFound)?;
        Ok(Target(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Sends it `signal`, and with it the moment that it is about.
    ///
    /// # Errors
    /// It is gone, or another user's.
    pub fn send(&self, signal: i32, utc_ns: i64) -> io::Result<()> {
        let told = Told {
            signal,
            error: 0,
            code: libc::SI_QUEUE,
            _gap: 0,
            process: std::process::id(),
            // SAFETY: asks for a number.
            user: unsafe { libc::getuid() },
            value: utc_ns,
            _rest: [0; 12],
        };
        let (call, fd) = (libc::SYS_pidfd_send_signal, self.0.as_raw_fd());
        // SAFETY: a structure of the kernel's layout, for the time of the call.
        match unsafe { libc::syscall(call, fd, signal, &raw const told, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Whether there is a signal of this number.
pub fn is_signal(signal: i32) -> bool {
    Signal::from_named_raw(signal).is_some()
}

/// The signal's name, as kill(1) has it.
pub fn name(signal: i32) -> String {
    match signal {
        libc::SIGUSR1 => "SIGUSR1".to_owned(),
        libc::SIGUSR2 => "SIGUSR2".to_owned(),
        libc::SIGHUP => "SIGHUP".to_owned(),
        libc::SIGQUIT => "SIGQUIT".to_owned(),
        other => format!("signal {other}"),
    }
}

extern "C" fn caught(signal: i32, told: *const Told, _: *const libc::c_void) {
    let place = usize::try_from(signal).unwrap_or(SIGNALS);
    if let (Some(count), Some(moment)) = (COUNTS.get(place), MOMENTS.get(place)) {
        // SAFETY: the kernel hands over what the signal says of itself.
        let named = unsafe { told.as_ref() }.filter(|told| told.code == libc::SI_QUEUE);
        moment.store(named.map_or(0, |told| told.value), Ordering::Release);
        count.fetch_add(1, Ordering::Release);
    }
    let hears = HEARS.load(Ordering::Acquire);
    if !hears.is_null() {
        // SAFETY: `catch` put a function there.
        unsafe { std::mem::transmute::<*mut (), fn()>(hears)() };
    }
}

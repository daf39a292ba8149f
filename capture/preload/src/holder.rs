//! What another thread of this process does: how long it has had a processor, and whether it
//! sleeps. On a loaded machine the time that passes tells neither.

use crate::nr;
use crate::sys::{self, TimeSpec};

/// A thread, as the kernel numbers it; 0: none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Holder(pub u32);

/// A holder that has computed for this long lets nobody else run.
const COMPUTES_NS: u64 = 1_000_000_000;
/// One that had a processor for less than this since the look before may be asleep.
const RESTS_NS: u64 = 5_000_000;
/// A holder that this many looks in a row find asleep waits for something.
const ASLEEP_LOOKS: u32 = 20;

/// What one that waits for the floor has seen of the holder, as long as it is the same grant.
pub struct Watch {
    holder: Holder,
    grant: u64,
    /// The holder's processor time at the first look and at the latest.
    first_ns: Option<u64>,
    latest_ns: Option<u64>,
    asleep: u32,
}

impl Watch {
    pub fn new() -> Watch {
        Watch {
            holder: Holder(0),
            grant: 0,
            first_ns: None,
            latest_ns: None,
            asleep: 0,
        }
    }

    /// A look at whoever has the floor, to be taken every 50 ms. Whether, and why, it will not give it up.
    pub fn finds_it_stuck(&mut self, holder: Holder, grant: u64) -> Option<Stuck> {
        if holder.0 == 0 {
            // It has just got the floor, or gives it up.
            *self = Watch::new();
            return None;
        }
        let now_ns = holder.worked_ns();
        if holder != self.holder || grant != self.grant {
            *self = Watch {
                holder,
                grant,
                first_ns: now_ns,
                latest_ns: now_ns,
                asleep: 0,
            };
            return None;
        }
        let since = |then: Option<u64>| Some(now_ns?.saturating_sub(then?));
        let rests = since(self.latest_ns).is_none_or(|it| it < RESTS_NS);
        self.latest_ns = now_ns;
        self.asleep = if rests && holder.does() != Does::GoesOn {
            self.asleep + 1
        } else {
            0
        };
        if self.asleep >= ASLEEP_LOOKS {
            return Some(Stuck::Asleep);
        }
        let computes = since(self.first_ns).is_some_and(|it| it >= COMPUTES_NS);
        computes.then_some(Stuck::AtWork)
    }
}

/// Why a thread does not give the floor up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stuck {
    /// It waits for something where no hook stands.
    Asleep,
    /// It computes.
    AtWork,
}

/// What a look at a thread finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It runs, or would if it had a processor; it waits for a disk, or is stopped by a debugger or
    /// a signal. All this ends without the program's doing.
    GoesOn,
    /// It waits for something that it may be told or not.
    Sleeps,
    /// The thread is gone, or the system tells nothing of it.
    Unknown,
}

impl Holder {
    /// This thread.
    pub fn this() -> Holder {
        // SAFETY: asks for a number.
        let number = unsafe { sys::syscall(nr::GETTID, [0; 6]) };
        // Where a filter forbids to ask, it is one of whom nothing is known.
        Holder(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The processor time that it has had, in nanoseconds; `None` where the system does not tell.
    pub fn worked_ns(self) -> Option<u64> {
        let number = i32::try_from(self.0).ok()?;
        let mut time = TimeSpec::default();
        // The clock of a thread's processor time, as the kernel makes its number of the thread's.
        let clock = (!number << 3 | 0b110) as usize;
        let arguments = [clock, (&raw mut time) as usize, 0, 0, 0, 0];
        // SAFETY: a place to write to.
        let told = unsafe { sys::syscall(nr::CLOCK_GETTIME, arguments) };
        (told == 0).then(|| time.in_nanos())
    }

    /// What it does at this moment. Opens a file for that, and closes it.
    pub fn does(self) -> Does {
        const AT_FDCWD: usize = -100isize as usize;
        let mut path = [0; 40];
        if self.path(&mut path).is_none() {
            return Does::Unknown;
        }
        let arguments = [
            AT_FDCWD,
            path.as_ptr() as usize,
            sys::O_CLOEXEC as usize,
            0,
            0,
            0,
        ];
        // SAFETY: a path that ends in a zero byte.
        let Ok(file) = i32::try_from(unsafe { sys::syscall(nr::OPENAT, arguments) }) else {
            return Does::Unknown;
        };
        if file < 0 {
            return Does::Unknown;
        }
        let mut line = [0u8; 128];
        let arguments = [
            file as usize,
            line.as_mut_ptr() as usize,
            line.len(),
            0,
            0,
            0,
        ];
        // SAFETY: room of that length.
        let length = unsafe { sys::syscall(nr::READ, arguments) };
        sys::close(file);
        let line = usize::try_from(length).ok().and_then(|it| line.get(..it));
        line.map_or(Does::Unknown, state)
    }

    /// Where the kernel tells of it, as a path that ends in a zero byte.
    fn path(self, into: &mut [u8; 40]) -> Option<()> {
        let mut digits = [0u8; 10];
        let (mut number, mut first) = (self.0, digits.len());
        loop {
            first -= 1;
            *digits.get_mut(first)? = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let parts = [
            b"/proc/self/task/".as_slice(),
            digits.get(first..)?,
            b"/stat\0",
        ];
        let mut at = 0;
        for part in parts {
            into.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        Some(())
    }
}

/// The state in such a line: the letter behind the thread's name, which stands in parentheses and
/// may have some in it.
fn state(line: &[u8]) -> Does {
    let end = line.iter().rposition(|byte| *byte == b')');
    match end.and_then(|end| line.get(end + 2)) {
        Some(b'S') => Does::Sleeps,
        Some(b'R' | b'D' | b'T' | b't' | b'W' | b'P' | b'K' | b'I') => Does::GoesOn,
        _ => Does::Unknown,
    }
}

//! What another thread of this process does: how long it has had a processor, and whether it
//! sleeps. On a loaded machine the time that passes tells neither.

use crate::paths::{decimal, put};
use crate::sys::{self, AT_FDCWD, TimeSpec, nr};

/// A thread, as the kernel numbers it; 0: none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Holder(pub u32);

/// A holder that has computed for this long lets nobody else run.
const COMPUTES_NS: u64 = 1_000_000_000;
/// One that had a processor for less than this since the look before may be asleep.
const RESTS_NS: u64 = 5_000_000;
/// A holder that this many looks in a row find asleep waits for something.
const ASLEEP_LOOKS: u32 = 20;

/// What one that waits for the floor has seen of the holder, as long as it is the same grant.
#[derive(Default)]
pub struct Watch {
    holder: Holder,
    grant: u64,
    /// The holder's processor time at the first look and at the latest.
    first_ns: Option<u64>,
    latest_ns: Option<u64>,
    asleep: u32,
}

impl Watch {
    /// A look at whoever has the floor, to be taken every 50 ms. Whether, and why, it will not give it up.
    pub fn finds_it_stuck(&mut self, holder: Holder, grant: u64) -> Option<Stuck> {
        if holder.0 == 0 {
            // It has just got the floor, or gives it up.
            *self = Watch::default();
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
        self.asleep = if rests && holder.goes_on() != Some(true) {
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

impl Holder {
    /// The processor time that it has had, in nanoseconds; `None` where the system does not tell.
    pub fn worked_ns(self) -> Option<u64> {
        let number = i32::try_from(self.0).ok()?;
        let mut time = TimeSpec::default();
        // The clock of a thread's processor time, as the kernel makes its number of the thread's.
        let clock = (!number << 3 | 0b110) as usize;
        let arguments = [clock, (&raw mut time) as usize];
        // SAFETY: a place to write to.
        let told = unsafe { sys::syscall(nr::CLOCK_GETTIME, arguments) };
        (told == 0).then(|| time.in_nanos())
    }

    /// Whether it runs at this moment, or would if it had a processor, waits for a disk, or is stopped by a
    /// debugger or a signal: all this ends without the program's doing. Otherwise it waits for something that
    /// it may be told or not, or is gone, or the system tells nothing of it. Opens a file for that, and
    /// closes it.
    fn goes_on(self) -> Option<bool> {
        let (mut path, mut digits) = ([0; 40], [0; 10]);
        let number = decimal(self.0, &mut digits);
        put(&mut path, &[b"/proc/self/task/", number, b"/stat"])?;
        // SAFETY: a path that ends in a zero byte.
        let file = unsafe { sys::open(AT_FDCWD, path.as_ptr().cast(), 0, 0) }?;
        let mut line = [0u8; 128];
        let line = sys::read(file, &mut line);
        sys::close(file);
        let line = line?;
        // The letter behind the thread's name, which stands in parentheses and may have some in it.
        let end = line.iter().rposition(|byte| *byte == b')')?;
        Some(b"RDTtWPKI".contains(line.get(end + 2)?))
    }
}

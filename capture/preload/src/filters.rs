//! Filters of system calls (seccomp), and copies of the program's own: what they forbid to the program
//! they forbid to this library.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::nr;
use crate::plainly::{Plainly, Zero, zero};

/// One instruction of a filter (classic BPF).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Instruction {
    pub code: u16,
    /// How many instructions are left out where it holds, and where it does not.
    pub yes: u8,
    pub no: u8,
    pub value: u32,
}

/// As `struct sock_fprog`.
#[repr(C)]
pub struct Filter {
    pub length: u16,
    pub instructions: *const Instruction,
}

/// A call is made.
pub const ALLOW: u32 = 0x7fff_0000;

/// How many filters are remembered, of this many instructions together.
const FILTERS_MAX: usize = 16;
const ROOM: usize = 8192;

struct Copies(core::cell::UnsafeCell<[Instruction; ROOM]>);

// SAFETY: instructions are written behind those that `ENDS` shows to readers, by one thread at a
// time.
unsafe impl Sync for Copies {}

// SAFETY: numbers.
unsafe impl Zero for Instruction {}

static COPIES: Copies = Copies(core::cell::UnsafeCell::new(zero()));
/// Where each filter ends among the copies.
static ENDS: [AtomicUsize; FILTERS_MAX] = zero();
static COUNT: AtomicUsize = zero();
/// A filter that finds no room here forbids everything that is asked.
static UNKNOWN: AtomicU32 = zero();
static COPYING: AtomicU32 = zero();

/// Whether they let this library make a call. A call that they would answer with
/// an error is forbidden as well.
#[inline]
pub fn allow(number: usize, arguments: &[usize; 6]) -> bool {
    let count = COUNT.load(Ordering::Acquire);
    if count == 0 && UNKNOWN.get() == 0 {
        return true;
    }
    UNKNOWN.get() == 0 && filters_allow(count, number, arguments)
}

#[cold]
fn filters_allow(count: usize, number: usize, arguments: &[usize; 6]) -> bool {
    // As `struct seccomp_data`: number, architecture, place of the instruction, arguments.
    let mut data = [0u32; 16];
    data[0] = number as u32;
    data[1] = nr::AUDIT_ARCH;
    for (index, argument) in arguments.iter().enumerate() {
        data[4 + 2 * index] = *argument as u32;
        data[5 + 2 * index] = (*argument as u64 >> 32) as u32;
    }
    // SAFETY: up to the latest end nobody writes any more.
    let copies: &[Instruction] = unsafe { &*COPIES.0.get() };
    let mut start = 0;
    for end in ENDS.iter().take(count) {
        let end = end.get();
        const LOG: u32 = 0x7ffc_0000;
        match run(copies.get(start..end).unwrap_or(&[]), &data) {
            Some(ALLOW | LOG) => {}
            _ => return false,
        }
        start = end;
    }
    true
}

/// What a filter answers, without its data; `None` where it cannot be followed.
fn run(filter: &[Instruction], data: &[u32; 16]) -> Option<u32> {
    const ACTION: u32 = 0xffff_0000;
    let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [0u32; 16], 0usize);
    loop {
        let Instruction {
            code,
            yes,
            no,
            value,
        } = *filter.get(at)?;
        at += 1;
        // Of ALU and jumps, bit 3 says that the other side is X.
        let side = if code & 8 == 0 { value } else { x };
        match code {
            0x20 => a = *data.get(value as usize / 4)?,
            0x80 => a = 64,
            0x81 => x = 64,
            0x00 => a = value,
            0x01 => x = value,
            0x60 => a = *memory.get(value as usize)?,
            0x61 => x = *memory.get(value as usize)?,
            0x02 => *memory.get_mut(value as usize)? = a,
            0x03 => *memory.get_mut(value as usize)? = x,
            0x07 => x = a,
            0x87 => a = x,
            0x06 => return Some(value & ACTION),
            0x16 => return Some(a & ACTION),
            0x05 => at = at.checked_add(value as usize)?,
            0x84 => a = a.wrapping_neg(),
            _ => match code & !8 {
                0x04 => a = a.wrapping_add(side),
                0x14 => a = a.wrapping_sub(side),
                0x24 => a = a.wrapping_mul(side),
                0x34 => a = a.checked_div(side)?,
                0x44 => a |= side,
                0x54 => a &= side,
                0x64 => a = a.checked_shl(side).unwrap_or(0),
                0x74 => a = a.checked_shr(side).unwrap_or(0),
                0xa4 => a ^= side,
                jump => {
                    let holds = match jump {
                        0x15 => a == side,
                        0x25 => a > side,
                        0x35 => a >= side,
                        0x45 => a & side != 0,
                        _ => return None,
                    };
                    at += usize::from(if holds { yes } else { no });
                }
            },
        }
    }
}

/// Keeps a copy of a filter that is about to be set; whether it is a new one.
///
/// # Safety
/// `filter` is null or leads to a filter.
pub unsafe fn copy(filter: *const Filter) -> bool {
    if filter.is_null() || COPYING.swap(1, Ordering::Acquire) != 0 {
        return false;
    }
    // SAFETY: the caller vouches for the filter; readers do not look behind the latest end, and
    // `COPYING` keeps other writers out.
    let copied = unsafe {
        let count = COUNT.get();
        let start = match count.checked_sub(1) {
            Some(last) => ENDS.get(last).map_or(ROOM, |end| end.get()),
            None => 0,
        };
        let length = usize::from((*filter).length);
        let fits = count < FILTERS_MAX && start + length <= ROOM;
        let known = fits && !(*filter).instructions.is_null();
        if known {
            let to = COPIES.0.get().cast::<Instruction>().add(start);
            core::ptr::copy_nonoverlapping((*filter).instructions, to, length);
            ENDS[count].set(start + length);
            COUNT.store(count + 1, Ordering::Release);
        } else {
            UNKNOWN.set(1);
        }
        known
    };
    COPYING.store(0, Ordering::Release);
    copied
}

/// The filter that was copied last was not set.
pub fn forget_last() {
    COUNT.fetch_sub(1, Ordering::Release);
}

//! Bytes that lie in several places of the program's memory, taken one stretch after the other.

use crate::sys::IoVec;

pub struct Vectors<'a> {
    list: &'a [IoVec],
    /// How much of the first one was taken.
    taken: usize,
}

/// How many bytes lie in these places.
#[inline]
pub fn length(list: &[IoVec]) -> usize {
    list.iter().map(|vector| vector.length).sum()
}

impl<'a> Vectors<'a> {
    pub const fn new(list: &'a [IoVec]) -> Self {
        Vectors { list, taken: 0 }
    }

    /// Copies the next `length` bytes.
    ///
    /// # Safety
    /// `to` has room for them.
    #[inline]
    pub unsafe fn take(&mut self, mut to: *mut u8, mut length: usize) {
        while let Some((first, rest)) = self.list.split_first().filter(|_| length > 0) {
            let left = first.length - self.taken;
            let part = left.min(length);
            if part > 0 {
                // SAFETY: whoever made the places vouches for them, the caller for the room.
                unsafe {
                    core::ptr::copy_nonoverlapping(first.base.add(self.taken), to, part);
                    to = to.add(part);
                }
                length -= part;
            }
            if part == left {
                (self.list, self.taken) = (rest, 0);
            } else {
                self.taken += part;
            }
        }
    }
}

/// What stands beside a packet under UDP's level and the name `kind`: its first `N` bytes.
///
/// # Safety
/// `control` is null or leads to `length` bytes.
pub unsafe fn control<const N: usize>(
    control: *const u8,
    length: usize,
    kind: i32,
) -> Option<[u8; N]> {
    let mut found = None;
    // SAFETY: the caller vouches for it.
    unsafe {
        each_control(control, length, |level, its_kind, content| {
            if found.is_none() && level == crate::sys::SOL_UDP && its_kind == kind {
                found = Some(content.first_chunk().copied());
            }
        });
    }
    found.flatten()
}

/// The descriptors that came beside a message.
///
/// # Safety
/// As [`control`].
pub unsafe fn descriptors(control: *const u8, length: usize, mut each: impl FnMut(i32)) {
    // SAFETY: the caller vouches for it.
    unsafe {
        each_control(control, length, |level, kind, content| {
            if level == crate::sys::SOL_SOCKET && kind == crate::sys::SCM_RIGHTS {
                for fd in content.as_chunks().0 {
                    each(i32::from_ne_bytes(*fd));
                }
            }
        });
    }
}

/// Shows the pieces of control data: level, kind, content.
///
/// # Safety
/// As [`control`].
unsafe fn each_control(control: *const u8, length: usize, mut each: impl FnMut(i32, i32, &[u8])) {
    /// Of a piece before its content: length, level, kind.
    const HEAD: usize = 16;
    // SAFETY: the caller vouches for it.
    let mut left = unsafe { crate::sys::slice(control, length) };
    while let Some((head, content)) = left.split_first_chunk::<HEAD>() {
        let word =
            |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = word(0) as usize;
        let own = length.saturating_sub(HEAD).min(content.len());
        each(word(8) as i32, word(12) as i32, &content[..own]);
        left = left
            .get(length.max(HEAD).next_multiple_of(8)..)
            .unwrap_or(&[]);
    }
}

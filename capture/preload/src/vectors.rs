//! Bytes that lie in several places of the program's memory, taken one stretch after the other.

use crate::sys::{self, IoVec};

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
    // SAFETY: the caller vouches for it.
    let mut all = unsafe { pieces(control, length) };
    let found = all.find(|(its, _)| *its == (sys::SOL_UDP, kind));
    found?.1.first_chunk().copied()
}

/// The descriptors that came beside a message.
///
/// # Safety
/// As [`control`].
pub unsafe fn descriptors(control: *const u8, length: usize, mut each: impl FnMut(i32)) {
    // SAFETY: the caller vouches for it.
    let all = unsafe { pieces(control, length) };
    for (_, content) in all.filter(|(its, _)| *its == (sys::SOL_SOCKET, sys::SCM_RIGHTS)) {
        for fd in content.as_chunks().0 {
            each(i32::from_ne_bytes(*fd));
        }
    }
}

/// The pieces of control data: level and kind, and content.
///
/// # Safety
/// As [`control`].
unsafe fn pieces<'a>(
    control: *const u8,
    length: usize,
) -> impl Iterator<Item = ((i32, i32), &'a [u8])> {
    /// Of a piece before its content: length, level, kind.
    const HEAD: usize = 16;
    // SAFETY: the caller vouches for it.
    let mut left: &[u8] = unsafe { sys::slice(control, length) };
    core::iter::from_fn(move || {
        let (head, content) = left.split_first_chunk::<HEAD>()?;
        let word = |at: usize| {
            head[at..]
                .first_chunk()
                .map_or(0, |it| u32::from_ne_bytes(*it))
        };
        let length = word(0) as usize;
        let own = length.saturating_sub(HEAD).min(content.len());
        let next = length.max(HEAD).next_multiple_of(8);
        left = left.get(next..).unwrap_or(&[]);
        Some(((word(8) as i32, word(12) as i32), &content[..own]))
    })
}

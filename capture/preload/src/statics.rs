//! Programs that have no place for a library.

use crate::sys::{self, nr};

/// How much of a program is looked at: where its headers lie.
const HEAD: usize = 4096;
const PT_INTERP: u32 = 3;

/// Whether a program names nobody who loads libraries into it.
pub fn is_static(fd: i32) -> bool {
    let mut place = [0u8; HEAD];
    let arguments = [fd as usize, place.as_mut_ptr() as usize, HEAD, 0, 0, 0];
    // SAFETY: a place of that length.
    let length = unsafe { sys::syscall(nr::PREAD, arguments) };
    let head = usize::try_from(length).ok();
    let head = head.and_then(|length| place.get(..length));
    head.and_then(names_nobody).unwrap_or(false)
}

/// The same of its head; `None` where its headers do not lie there.
fn names_nobody(head: &[u8]) -> Option<bool> {
    // Of 64 bits, little-endian.
    if head.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let offset = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let offset = usize::try_from(offset).ok()?;
    let u16_at = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let (size, count) = (usize::from(u16_at(54)?), usize::from(u16_at(56)?));
    let headers = head.get(offset..offset.checked_add(size.checked_mul(count)?)?)?;
    let mut kinds = headers.chunks_exact(size.max(4)).map(|header| {
        let kind = header.first_chunk::<4>().copied().unwrap_or_default();
        u32::from_le_bytes(kind)
    });
    Some(!kinds.any(|kind| kind == PT_INTERP))
}

//! What a ring file holds, for whoever reads it beside a recorder that is at work.

use netreel_reel::ReadAt;
use netreel_reel::ring::RING_PAGE;

use crate::file::FileSource;
use crate::rings::RINGS_MAX;

/// Makes `image` as long as the ring file, with its control page, the pages of its rings, and of each
/// ring what lies between its ends: all that was pushed and is not yet in the reel. Elsewhere the image
/// has what it had, or zeros. Returns the capacity of each ring in bytes, as the file claims it;
/// `None` where it cannot be read or is longer than a ring file may be.
///
/// What is given back while this reads may be written over, so where the rings begin is read again at
/// the end. What lies before that is in the reel by then.
pub(crate) fn read_image(file: &FileSource, image: &mut Vec<u8>) -> Option<usize> {
    let mut control = [0; RING_PAGE];
    // Before the length: a ring that is added after it holds no number below the counter's then.
    file.read_at(0, &mut control).ok()?;
    let length = file.length().ok().filter(|length| *length <= RINGS_MAX)?;
    let length = usize::try_from(length).ok()?;
    match image.len() < length {
        // Pages that nobody writes to take no time and no memory.
        true => *image = vec![0; length],
        false => image.truncate(length),
    }
    for (byte, own) in image.iter_mut().zip(control) {
        *byte = own;
    }
    let capacity = u32::from_le_bytes(control.get(12..16)?.try_into().ok()?) as usize;
    let mut rings = Vec::new();
    let mut at = RING_PAGE;
    while capacity > 0
        && let Some(after) = read_ring(file, image, (at, capacity))
    {
        rings.push(at);
        at = after;
    }
    for at in rings {
        read(file, image, (at + 128, 8))?;
    }
    Some(capacity)
}

/// Reads the ring whose page is `at`; where the next one is. `None` where there is no whole one.
fn read_ring(file: &FileSource, image: &mut [u8], (at, capacity): (usize, usize)) -> Option<usize> {
    read(file, image, (at, RING_PAGE))?;
    let field = |place: usize| {
        let bytes = image.get(at + place..at + place + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (tail, head) = (field(64)?, field(128)?);
    let data = at + RING_PAGE;
    let used = usize::try_from(tail.saturating_sub(head))
        .ok()?
        .min(capacity);
    let start = (head % capacity as u64) as usize;
    let first = used.min(capacity - start);
    read(file, image, (data + start, first))?;
    read(file, image, (data, used - first))?;
    data.checked_add(capacity)
}

/// Reads `length` bytes at `at` of the file to the same place of the image.
fn read(file: &FileSource, image: &mut [u8], (at, length): (usize, usize)) -> Option<()> {
    let part = image.get_mut(at..at.checked_add(length)?)?;
    file.read_at(at as u64, part).ok()?;
    Some(())
}

//! Reading and writing the caller's memory.

use std::ffi::{CStr, c_char, c_void};

use crate::error::{Failure, failure};
use crate::types::{
    CConsoleOptions, COptions, CPacket, CReport, CRequest, CStep, CSummary, E_ARGUMENT,
    E_UNSUPPORTED,
};

/// A struct that begins with its size and grows at its end. Its default is all zeros: that is what
/// an older caller's struct has in the fields that it lacks.
///
/// # Safety
/// The first field is a `u32`, there is no padding, and whatever bytes a caller has there are a value
/// of it.
pub(crate) unsafe trait Sized32: Copy + Default {
    const NAME: &'static str;
}

macro_rules! sized {
    ($($type:ty: $name:literal)*) => { $(
        // SAFETY: the layouts are tested; numbers and raw pointers may have any bytes.
        unsafe impl Sized32 for $type {
            const NAME: &'static str = $name;
        }
    )* };
}

sized! {
    COptions: "netreel_options"
    CSummary: "netreel_summary"
    CStep: "netreel_step"
    CPacket: "netreel_packet"
    CReport: "netreel_report"
    CConsoleOptions: "netreel_console_options"
    CRequest: "netreel_request"
}

/// No struct of ours is this large: a larger `size` was never set.
pub(crate) const SIZE_MAX: u32 = 4096;

/// The `size` that the caller set.
///
/// # Safety
/// `place` is null, or begins with a `u32` that can be read.
#[inline]
unsafe fn size_of_theirs<T: Sized32>(place: *const T) -> Result<usize, Failure> {
    if place.is_null() {
        return Err(null(T::NAME));
    }
    // SAFETY: not null, so the caller promised it.
    let size = unsafe { place.cast::<u32>().read_unaligned() };
    if !(8..=SIZE_MAX).contains(&size) {
        return Err(failure(
            E_ARGUMENT,
            format!("{}.size is {size}: set it to sizeof({})", T::NAME, T::NAME),
        ));
    }
    Ok(size as usize)
}

/// Copies a struct of the caller in. What an older caller's struct lacks is 0; what a newer one's
/// has in addition must be 0.
///
/// # Safety
/// `place` is null, or can be read for as many bytes as its `size` says.
pub(crate) unsafe fn read_sized<T: Sized32>(place: *const T) -> Result<T, Failure> {
    // SAFETY: promised by the caller.
    let size = unsafe { size_of_theirs(place)? };
    let known = size.min(size_of::<T>());
    let mut ours = T::default();
    // SAFETY: both sides have `known` bytes, and any bytes are a value of ours.
    unsafe {
        (&raw mut ours)
            .cast::<u8>()
            .copy_from_nonoverlapping(place.cast(), known);
    }
    for offset in known..size {
        // SAFETY: below the size that the caller promised.
        if unsafe { place.cast::<u8>().add(offset).read() } != 0 {
            return Err(failure(
                E_UNSUPPORTED,
                format!(
                    "{} has a field at byte {offset} that this library is too old for; leave it 0 \
                     or use a newer libnetreel",
                    T::NAME
                ),
            ));
        }
    }
    Ok(ours)
}

/// Copies a struct out to the caller, as much of it as theirs has; what theirs has in addition
/// becomes 0. Their `size` stays.
///
/// # Safety
/// `place` is null, or can be read and written for as many bytes as its `size` says.
#[inline]
pub(crate) unsafe fn write_sized<T: Sized32>(place: *mut T, ours: T) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    let size = unsafe { size_of_theirs(place)? };
    let known = size.min(size_of::<T>());
    let theirs = place.cast::<u8>();
    // SAFETY: both sides have `known` bytes, theirs `size`; `size` itself is left as it is.
    unsafe {
        (&raw const ours)
            .cast::<u8>()
            .add(4)
            .copy_to_nonoverlapping(theirs.add(4), known - 4);
        theirs.add(known).write_bytes(0, size - known);
    }
    Ok(())
}

/// Whether [`write_sized`] would work: asked before something is taken that cannot be given back.
///
/// # Safety
/// As for `write_sized`.
pub(crate) unsafe fn check_sized<T: Sized32>(place: *const T) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    unsafe { size_of_theirs(place) }.map(|_| ())
}

/// Writes through a pointer that must not be null.
///
/// # Safety
/// `place` is null or can be written.
#[inline]
pub(crate) unsafe fn put<T>(place: *mut T, value: T, name: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, so the caller promised it.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Reads through a pointer that must not be null.
///
/// # Safety
/// `place` is null or can be read.
#[inline]
pub(crate) unsafe fn get<T: Copy>(place: *const T, name: &str) -> Result<T, Failure> {
    if place.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, so the caller promised it.
    Ok(unsafe { place.read_unaligned() })
}

/// The caller's bytes.
///
/// # Safety
/// `bytes` is null, or can be read for `length` bytes during `'a`.
#[inline]
pub(crate) unsafe fn bytes<'a>(
    bytes: *const c_void,
    length: u64,
    name: &str,
) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(null(name));
    }
    let length = checked_length(length, name)?;
    // SAFETY: not null, so the caller promised it.
    Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
}

/// The caller's buffer.
///
/// # Safety
/// `bytes` is null, or can be written for `length` bytes during `'a`, by nobody else.
pub(crate) unsafe fn buffer<'a>(
    bytes: *mut c_void,
    length: u64,
    name: &str,
) -> Result<&'a mut [u8], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    if bytes.is_null() {
        return Err(null(name));
    }
    let length = checked_length(length, name)?;
    // SAFETY: not null, so the caller promised it. A buffer of `u8` that was never written is
    // only written here.
    Ok(unsafe { std::slice::from_raw_parts_mut(bytes.cast(), length) })
}

/// An optional string: null is empty.
///
/// # Safety
/// `text` is null, or ends with a zero byte.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, so the caller promised it.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// The items of an array of the caller.
///
/// # Safety
/// `items` is null, or can be read for `count` items during `'a`.
pub(crate) unsafe fn items<'a, T>(
    items: *const T,
    count: u32,
    name: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(null(name));
    }
    if count > 1 << 16 {
        let why = format!("{name}: {count} items are more than 65536: was the count set?");
        return Err(failure(E_ARGUMENT, why));
    }
    // SAFETY: not null, so the caller promised it; the count is far from overflowing.
    Ok(unsafe { std::slice::from_raw_parts(items, count as usize) })
}

fn checked_length(length: u64, name: &str) -> Result<usize, Failure> {
    isize::try_from(length)
        .map(isize::unsigned_abs)
        .map_err(|_| {
            let why = format!("{name}: a length of {length} bytes cannot be: was a -1 given?");
            failure(E_ARGUMENT, why)
        })
}

#[cold]
pub(crate) fn null(name: &str) -> Failure {
    failure(E_ARGUMENT, format!("{name} is NULL"))
}

//! What a game says that it believes: the functions of the table for it.

use std::ffi::c_char;

use netreel_reel::{Believed, Event, say_numbers, say_text};

use crate::error::{Failure, failure, guarded};
use crate::handles::{call, with};
use crate::memory::{bytes, items, text};
use crate::record::Thread;
use crate::types::{E_ARGUMENT, Handle, NO_OWNER};

pub(crate) unsafe extern "C" fn believes_created(thread: Handle, object: u64, owner: u64) -> i32 {
    let owner = Some(owner).filter(|&owner| owner != NO_OWNER);
    believes(thread, object, Believed::Created { owner })
}

pub(crate) unsafe extern "C" fn believes_destroyed(thread: Handle, object: u64) -> i32 {
    believes(thread, object, Believed::Destroyed)
}

pub(crate) unsafe extern "C" fn believes_owner(thread: Handle, object: u64, owner: u64) -> i32 {
    believes(thread, object, Believed::Owner { owner })
}

pub(crate) unsafe extern "C" fn believes_value(
    thread: Handle,
    object: u64,
    property: *const c_char,
    numbers: *const f64,
    count: u32,
) -> i32 {
    guarded(|| {
        // SAFETY: the header asks the caller for what these functions ask for; the same holds
        // for every function below.
        let (property, numbers) =
            unsafe { (property_name(property)?, items(numbers, count, "numbers")?) };
        let mut said = String::new();
        say_numbers(&property, numbers, &mut said);
        believes_said(thread, object, &said)
    })
}

pub(crate) unsafe extern "C" fn believes_text(
    thread: Handle,
    object: u64,
    property: *const c_char,
    text: *const c_char,
    length: u64,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let (property, text) = unsafe {
            (
                property_name(property)?,
                bytes(text.cast(), length, "text")?,
            )
        };
        let mut said = String::new();
        say_text(&property, &String::from_utf8_lossy(text), &mut said);
        believes_said(thread, object, &said)
    })
}

/// The name of a property.
///
/// # Safety
/// As for [`text`].
unsafe fn property_name(property: *const c_char) -> Result<String, Failure> {
    // SAFETY: the caller promises it.
    let property = unsafe { text(property) };
    if property.is_empty() || property.contains(char::is_whitespace) {
        let why = format!("property: `{property}` is no name: one has no blanks");
        Err(failure(E_ARGUMENT, why))
    } else {
        Ok(property)
    }
}

fn believes_said(thread: Handle, object: u64, said: &str) -> Result<i32, Failure> {
    let said = said.as_bytes();
    let believed = Believed::Value { said };
    with(thread, |it: &mut Thread| {
        it.record(Event::Believed { object, believed })
    })
}

fn believes(thread: Handle, object: u64, believed: Believed<'_>) -> i32 {
    call(thread, |it: &mut Thread| {
        it.record(Event::Believed { object, believed })
    })
}

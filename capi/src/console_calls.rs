//! The functions of the table for a console.

use std::ffi::c_char;

use crate::console::Answering;
use crate::error::guarded;
use crate::handles::{opened, remove, with_shared};
use crate::memory::{bytes, check_sized, put, write_sized};
use crate::types::{CConsoleOptions, CEndpoint, CRequest, Handle, OK};

pub(crate) unsafe extern "C" fn console_open(
    options: *const CConsoleOptions,
    console: *mut Handle,
) -> i32 {
    // SAFETY: the header asks the caller for what these functions ask for; the same holds for
    // every function below.
    unsafe { opened(console, "console", || Answering::listen(options)) }
}

pub(crate) unsafe extern "C" fn console_close(console: Handle) -> i32 {
    guarded(|| remove::<Answering>(console, true).map(|_| OK))
}

pub(crate) unsafe extern "C" fn console_local(console: Handle, local: *mut CEndpoint) -> i32 {
    guarded(|| {
        let at = with_shared(console, |it: &mut Answering| Ok(it.local()))?;
        // SAFETY: see above.
        unsafe { put(local, at.into(), "local")? };
        Ok(OK)
    })
}

pub(crate) unsafe extern "C" fn console_take(console: Handle, request: *mut CRequest) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        unsafe { check_sized(request)? };
        let taken = with_shared(console, |it: &mut Answering| it.take());
        let (result, seen) = match taken {
            Ok(seen) => (Ok(OK), seen),
            // Who does not look at the code sees no request.
            Err(failure) => (Err(failure), CRequest::default()),
        };
        // SAFETY: see above.
        unsafe { write_sized(request, seen)? };
        result
    })
}

pub(crate) unsafe extern "C" fn console_answer(
    console: Handle,
    id: u64,
    done: i32,
    answer: *const c_char,
    length: u64,
) -> i32 {
    guarded(|| {
        // SAFETY: see above.
        let answer = unsafe { bytes(answer.cast(), length, "text")? };
        with_shared(console, |it: &mut Answering| {
            it.answer(id, done != 0, answer)
        })
    })
}

//! Error codes with their sentences, and the wall that no panic passes.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::types::E_INTERNAL;

/// An error on its way to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) text: String,
}

pub(crate) fn failure(code: i32, text: impl Into<String>) -> Failure {
    Failure {
        code,
        text: text.into(),
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function of the table: its code is the result's, an error's sentence is
/// kept for the thread, and a panic becomes an error. `errno` stays as it was: a caller looks at it
/// after it recorded that a call failed.
#[inline]
pub(crate) fn guarded(body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    // Windows' `GetLastError`.
    let before = errno::errno();
    let code = caught(body);
    errno::set_errno(before);
    code
}

#[inline]
fn caught(body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => tell(failure),
        Err(payload) => {
            // Dropping a payload could panic once more.
            std::mem::forget(payload);
            tell(failure(
                E_INTERNAL,
                "a fault of the netreel library; close the handle, and report this with what was \
                 printed to stderr",
            ))
        }
    }
}

#[cold]
fn tell(failure: Failure) -> i32 {
    let mut bytes = failure.text.into_bytes();
    bytes.retain(|byte| *byte != 0);
    let text = CString::new(bytes).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = text;
        }
    });
    failure.code
}

/// The calling thread's last error; empty if it had none.
pub(crate) fn last() -> *const c_char {
    const NOTHING: &CStr = c"";
    let last = LAST.try_with(|last| last.try_borrow().map_or(NOTHING.as_ptr(), |it| it.as_ptr()));
    last.unwrap_or(NOTHING.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::OK;

    fn text() -> String {
        // SAFETY: it ends with a zero byte, and stays until the next error of this thread.
        let text = unsafe { CStr::from_ptr(last()) };
        text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_ends_at_the_boundary_as_an_error() {
        assert_eq!(guarded(|| panic!("a fault of ours")), E_INTERNAL);
        assert!(text().starts_with("a fault of the netreel library"));
    }

    #[test]
    fn a_text_with_a_zero_byte_is_told_without_it() {
        assert_eq!(guarded(|| Err(failure(-1, "a\0b"))), -1);
        assert_eq!(text(), "ab");
    }

    #[test]
    fn an_error_is_told_to_its_own_thread_and_stays_until_the_next() {
        guarded(|| Err(failure(-1, "mine")));
        let other = std::thread::spawn(text).join().unwrap();
        assert_eq!(guarded(|| Ok(OK)), OK);
        assert_eq!((other.as_str(), text().as_str()), ("", "mine"));
    }
}

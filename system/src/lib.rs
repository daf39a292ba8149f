//! What netreel asks of an operating system where systems differ: the one place for it.
//!
//! Three kinds are told apart: Linux, where everything works; Windows; and whatever else is a Unix,
//! which takes the portable way. Where a system has no such thing, a function says so by its answer
//! (an error of the kind `Unsupported`, `None`, `false`), and whoever called it does without or tells
//! people what to do instead. Everybody else asks the standard library alone.

#[cfg(feature = "aside")]
pub mod aside;
mod cancel;
pub mod clock;
pub mod codes;
pub mod file;
pub mod folder;
#[cfg_attr(not(target_os = "linux"), path = "forked_elsewhere.rs")]
pub mod forked;
pub mod library;
mod locked;
pub mod memory;
#[cfg_attr(not(target_os = "linux"), path = "network_elsewhere.rs")]
pub mod network;
pub mod pipe;
pub mod process;
#[cfg(unix)]
pub mod ready;
#[cfg_attr(not(target_os = "linux"), path = "signals_elsewhere.rs")]
pub mod signals;
pub mod terminal;
pub mod thread;
#[cfg_attr(not(target_os = "linux"), path = "trigger_elsewhere.rs")]
pub mod trigger;
#[cfg_attr(not(target_os = "linux"), path = "udp_elsewhere.rs")]
pub mod udp;
pub mod wake;

pub use cancel::{Cancel, CancelOnDrop};
pub use locked::locked;

use std::ffi::OsString;
use std::io;

/// Fills `bytes` with random bits of the operating system's, fit for keys.
///
/// # Errors
/// The system has none.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    // In one call it gives no more than 256 bytes.
    #[cfg(unix)]
    for part in bytes.chunks_mut(256) {
        // SAFETY: it writes no more than `part` is long.
        if unsafe { libc::getentropy(part.as_mut_ptr().cast(), part.len()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    #[cfg(not(unix))]
    getrandom::fill(bytes).map_err(io::Error::other)?;
    Ok(())
}

/// A text of the system's, a path for example, from its bytes. Windows has none that is not Unicode here.
pub fn os_text(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    #[cfg(not(unix))]
    String::from_utf8_lossy(bytes).into_owned().into()
}

//! Files that a forked child of this process has no part in.
//!
//! A child has all descriptors of its parent, and with them the locks: a reel would look as if
//! somebody wrote it for as long as a child lives, also when its recorder was killed long ago.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// Keeps a file from children that are forked, until it is dropped. To be dropped before the file
/// is closed.
#[derive(Debug)]
pub struct KeptFromChildren {
    place: Option<usize>,
}

const NONE: i32 = -1;
/// How many files of a recorder a forked child takes care of; a recorder has one or two.
const FILES_MAX: usize = 1024;
static FILES: [AtomicI32; FILES_MAX] = [const { AtomicI32::new(NONE) }; FILES_MAX];
/// What a child has in their place.
static NOTHING: AtomicI32 = AtomicI32::new(NONE);
static PREPARED: Once = Once::new();

impl KeptFromChildren {
    /// Keeps this one.
    pub fn new(file: &File) -> KeptFromChildren {
        PREPARED.call_once(|| {
            if let Ok(nothing) = File::open("/dev/null") {
                NOTHING.store(nothing.into_raw_fd(), Ordering::Relaxed);
                // SAFETY: the handler lives as long as the program, and calls nothing but what is
                // allowed between a fork and an exec.
                unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            }
        });
        let descriptor = file.as_raw_fd();
        let take = |place: &AtomicI32| {
            let taken =
                place.compare_exchange(NONE, descriptor, Ordering::Relaxed, Ordering::Relaxed);
            taken.is_ok()
        };
        KeptFromChildren {
            place: FILES.iter().position(take),
        }
    }
}

impl Drop for KeptFromChildren {
    fn drop(&mut self) {
        if let Some(place) = self.place.and_then(|place| FILES.get(place)) {
            place.store(NONE, Ordering::Relaxed);
        }
    }
}

/// Puts an empty file in the place of each: the descriptors stay taken, as whoever has them will
/// close them.
unsafe extern "C" fn in_child() {
    let nothing = NOTHING.load(Ordering::Relaxed);
    for place in &FILES {
        let descriptor = place.swap(NONE, Ordering::Relaxed);
        if descriptor != NONE && nothing != NONE {
            // SAFETY: a system call on two descriptors, which this process has of its parent.
            unsafe { libc::dup3(nothing, descriptor, libc::O_CLOEXEC) };
        }
    }
}

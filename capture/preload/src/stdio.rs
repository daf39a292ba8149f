//! The C library's streams: where in its table of a stream's functions a function of ours can stand.
//!
//! What goes through streams the C library reads and writes inside itself, where no hook stands. An
//! entry of the table is set to a function that goes on to the one which stood there.

use core::ffi::c_void;

use crate::objects;
use crate::objects::next;
use crate::sys::{self, nr};

/// Where the descriptor lies in the C library's `FILE`, as `<bits/types/struct_FILE.h>` has it for 64
/// bits: programs are compiled against it, so that it does not change.
pub const DESCRIPTOR: usize = 112;
/// Behind the `FILE`: the table of its functions.
const FUNCTIONS: usize = 216;
/// Which of them reads.
pub const READ: usize = 14;
/// Which of them writes.
pub const WRITE: usize = 15;

/// How large the system's pages may be.
const PAGES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];

/// Sets `entry` in the table of these streams, and in that of streams of wide characters, which a
/// stream gets when such are first read or written. `false` where the C library is not laid out as
/// this knows it: `known` stands there.
pub fn stands_before(files: &[*mut u8], entry: usize, known: *mut c_void, ours: *const ()) -> bool {
    if files.iter().any(|file| file.is_null()) {
        return false;
    }
    // SAFETY: the C library's streams, which have a table of functions behind them.
    let mut tables = files
        .iter()
        .map(|file| unsafe { file.add(FUNCTIONS).cast::<*mut usize>().read() });
    let Some(table) = tables.next() else {
        return false;
    };
    if tables.any(|other| other != table) || !is_set(table, entry, known, ours) {
        return false;
    }
    is_set(next(c"_IO_wfile_jumps").cast(), entry, known, ours);
    true
}

/// Sets the entry in a table of functions, if it is there.
fn is_set(table: *mut usize, entry: usize, known: *mut c_void, ours: *const ()) -> bool {
    if known.is_null() || table.is_null() {
        return false;
    }
    // SAFETY: a table of the C library's, which is longer.
    unsafe {
        let place = table.add(entry);
        if place.read_volatile() != known as usize {
            return false;
        }
        let protect = |size: usize, how: usize| {
            let page = place as usize & !(size - 1);
            sys::syscall(nr::MPROTECT, [page, size, how, 0, 0, 0]) == 0
        };
        let set = || place.write_volatile(ours as usize);
        if !objects::is_read_only(place as usize) {
            set();
            return true;
        }
        let mut sizes = PAGES.into_iter();
        let size = sizes.find(|size| protect(*size, sys::PROT_READ_WRITE));
        if let Some(size) = size {
            set();
            protect(size, sys::PROT_READ);
        }
        size.is_some()
    }
}

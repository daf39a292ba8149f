//! The codes of errors that a recorder meets and writes into a reel: Linux's, on every system.

use std::io::{Error, ErrorKind};

/// The disk is full.
pub const NO_ROOM: i32 = 28;
/// The user may have no more of the disk.
pub const NO_ROOM_FOR_USER: i32 = 122;
/// The file would be larger than is allowed.
pub const FILE_TOO_LARGE: i32 = 27;
/// The device failed.
pub const INPUT_OUTPUT: i32 = 5;
/// Another file has its name.
pub const FILE_REPLACED: i32 = 116;

/// The code of an error of a file; [`INPUT_OUTPUT`] where there is none.
pub fn of_file(error: &Error) -> i32 {
    if cfg!(target_os = "linux")
        && let Some(code) = error.raw_os_error()
    {
        return code;
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::WriteZero => NO_ROOM,
        ErrorKind::QuotaExceeded => NO_ROOM_FOR_USER,
        ErrorKind::FileTooLarge => FILE_TOO_LARGE,
        ErrorKind::NotFound => 2,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::StaleNetworkFileHandle => FILE_REPLACED,
        _ => INPUT_OUTPUT,
    }
}

//! What the codes of errors in a reel mean, on whatever system it is read: those of Linux, and from 10000 on
//! those of Windows' sockets.

/// What an operating system says of an error code, with the code: `Connection refused (os error 111)`.
pub fn os_code_words(code: i32) -> String {
    let place = usize::try_from(code).ok().and_then(|it| it.checked_sub(1));
    let linux = place.and_then(|place| LINUX.get(place).copied());
    let words = linux
        .filter(|words| !words.is_empty())
        .or_else(|| windows(code))
        .map_or_else(|| format!("Unknown error {code}"), str::to_owned);
    format!("{words} (os error {code})")
}

/// Whether it says that nobody listens where a packet went.
pub fn says_nobody_listens(code: i32) -> bool {
    const LINUX_REFUSED: i32 = 111;
    const WINDOWS_RESET: i32 = 10054;
    const WINDOWS_REFUSED: i32 = 10061;
    matches!(code, LINUX_REFUSED | WINDOWS_RESET | WINDOWS_REFUSED)
}

/// Of Windows' sockets, in the words of Linux.
fn windows(code: i32) -> Option<&'static str> {
    Some(match code {
        10013 => "Permission denied",
        10022 => "Invalid argument",
        10024 => "Too many open files",
        10035 => "Resource temporarily unavailable",
        10038 => "Socket operation on non-socket",
        10040 => "Message too long",
        10047 => "Address family not supported by protocol",
        10048 => "Address already in use",
        10049 => "Cannot assign requested address",
        10050 => "Network is down",
        10051 => "Network is unreachable",
        10052 => "Network dropped connection on reset",
        10053 => "Software caused connection abort",
        10054 => "Connection reset by peer",
        10055 => "No buffer space available",
        10057 => "Transport endpoint is not connected",
        10060 => "Connection timed out",
        10061 => "Connection refused",
        10065 => "No route to host",
        _ => return None,
    })
}

/// Linux's, from 1 on, in the words of its C library; nothing where it has no such code.
const LINUX: [&str; 133] = [
    "Operation not permitted",
    "No such file or directory",
    "No such process",
    "Interrupted system call",
    "Input/output error",
    "No such device or address",
    "Argument list too long",
    "Exec format error",
    "Bad file descriptor",
    "No child processes",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "Permission denied",
    "Bad address",
    "Block device required",
    "Device or resource busy",
    "File exists",
    "Invalid cross-device link",
    "No such device",
    "Not a directory",
    "Is a directory",
    "Invalid argument",
    "Too many open files in system",
    "Too many open files",
    "Inappropriate ioctl for device",
    "Text file busy",
    "File too large",
    "No space left on device",
    "Illegal seek",
    "Read-only file system",
    "Too many links",
    "Broken pipe",
    "Numerical argument out of domain",
    "Numerical result out of range",
    "Resource deadlock avoided",
    "File name too long",
    "No locks available",
    "Function not implemented",
    "Directory not empty",
    "Too many levels of symbolic links",
    "",
    "No message of desired type",
    "Identifier removed",
    "Channel number out of range",
    "Level 2 not synchronized",
    "Level 3 halted",
    "Level 3 reset",
    "Link number out of range",
    "Protocol driver not attached",
    "No CSI structure available",
    "Level 2 halted",
    "Invalid exchange",
    "Invalid request descriptor",
    "Exchange full",
    "No anode",
    "Invalid request code",
    "Invalid slot",
    "",
    "Bad font file format",
    "Device not a stream",
    "No data available",
    "Timer expired",
    "Out of streams resources",
    "Machine is not on the network",
    "Package not installed",
    "Object is remote",
    "Link has been severed",
    "Advertise error",
    "Srmount error",
    "Communication error on send",
    "Protocol error",
    "Multihop attempted",
    "RFS specific error",
    "Bad message",
    "Value too large for defined data type",
    "Name not unique on network",
    "File descriptor in bad state",
    "Remote address changed",
    "Can not access a needed shared library",
    "Accessing a corrupted shared library",
    ".lib section in a.out corrupted",
    "Attempting to link in too many shared libraries",
    "Cannot exec a shared library directly",
    "Invalid or incomplete multibyte or wide character",
    "Interrupted system call should be restarted",
    "Streams pipe error",
    "Too many users",
    "Socket operation on non-socket",
    "Destination address required",
    "Message too long",
    "Protocol wrong type for socket",
    "Protocol not available",
    "Protocol not supported",
    "Socket type not supported",
    "Operation not supported",
    "Protocol family not supported",
    "Address family not supported by protocol",
    "Address already in use",
    "Cannot assign requested address",
    "Network is down",
    "Network is unreachable",
    "Network dropped connection on reset",
    "Software caused connection abort",
    "Connection reset by peer",
    "No buffer space available",
    "Transport endpoint is already connected",
    "Transport endpoint is not connected",
    "Cannot send after transport endpoint shutdown",
    "Too many references: cannot splice",
    "Connection timed out",
    "Connection refused",
    "Host is down",
    "No route to host",
    "Operation already in progress",
    "Operation now in progress",
    "Stale file handle",
    "Structure needs cleaning",
    "Not a XENIX named type file",
    "No XENIX semaphores available",
    "Is a named type file",
    "Remote I/O error",
    "Disk quota exceeded",
    "No medium found",
    "Wrong medium type",
    "Operation canceled",
    "Required key not available",
    "Key has expired",
    "Key has been revoked",
    "Key was rejected by service",
    "Owner died",
    "State not recoverable",
    "Operation not possible due to RF-kill",
    "Memory page has hardware error",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn each_code_of_linux_is_what_linux_says() {
        for code in 1..140 {
            let error = std::io::Error::from_raw_os_error(code);
            assert_eq!(os_code_words(code), error.to_string());
            let refused = error.kind() == std::io::ErrorKind::ConnectionRefused;
            assert_eq!(says_nobody_listens(code), refused);
        }
    }

    #[test]
    fn windows_sockets_say_the_same_of_the_same() {
        assert_eq!(os_code_words(10040), "Message too long (os error 10040)");
        assert_eq!(os_code_words(10999), "Unknown error 10999 (os error 10999)");
    }
}

//! The library inside the command, and where it lies while it is used.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Built by `build.rs` from `capture/preload`; empty where unmodified programs cannot be recorded.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libnetreel_preload.so"));

/// The unpacked library and the recorder's socket, gone when this is dropped.
#[derive(Debug)]
pub(super) struct Unpacked {
    pub(super) library: PathBuf,
    pub(super) socket: PathBuf,
}

/// The longest path of a Unix socket, without its zero byte.
const SOCKET_PATH_MAX: usize = 107;

impl Unpacked {
    /// Whether this command has a library for its machine.
    pub(super) fn exists() -> bool {
        !LIBRARY.is_empty()
    }

    /// Writes the library into `folder`; into the system's temporary folder where the path could
    /// not be named to the loader (a space or a colon in it) or to a socket (too long).
    pub(super) fn new(folder: &Path) -> io::Result<Unpacked> {
        let folder = fs::canonicalize(folder)?;
        let stem = format!(".netreel-{}", std::process::id());
        let socket = folder.join(format!("{stem}.socket"));
        let bytes = socket.as_os_str().as_bytes();
        let named = bytes.len() <= SOCKET_PATH_MAX
            && !bytes
                .iter()
                .any(|byte| matches!(byte, b' ' | b':' | b'\n' | b'$'));
        let folder = if named { folder } else { std::env::temp_dir() };
        let unpacked = Unpacked {
            library: folder.join(format!("{stem}.so")),
            socket: folder.join(format!("{stem}.socket")),
        };
        let _ = fs::remove_file(&unpacked.socket);
        fs::write(&unpacked.library, LIBRARY)?;
        Ok(unpacked)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.library);
        let _ = fs::remove_file(&self.socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &[u8]) -> bool {
        LIBRARY.windows(text.len()).any(|part| part == text)
    }

    #[test]
    fn the_library_needs_nothing_but_c_and_names_nothing_that_allocates() {
        assert!(
            holds(b"\0sendto\0") && holds(b"\0libc.so.6\0"),
            "it is the library"
        );
        for name in [
            "malloc",
            "calloc",
            "realloc",
            "pthread_create",
            "libgcc_s.so.1",
        ] {
            let name = [b"\0", name.as_bytes(), b"\0"].concat();
            assert!(!holds(&name), "{}", String::from_utf8_lossy(&name));
        }
    }
}

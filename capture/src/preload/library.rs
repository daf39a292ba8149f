//! The library inside the command, and where it lies while it is used.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use netreel_record::others::{OWN, REPLAY_LIBRARY, REPLAY_SOCKET, TEMPORARY, TEMPORARY_REPLAY};
use netreel_system::file::{lock, within_limit};

/// Built by `build.rs` from `capture/preload`; empty where unmodified programs cannot be recorded.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libnetreel_preload.so"));

/// The unpacked library and the recorder's socket, gone when this is dropped.
#[derive(Debug)]
pub(super) struct Unpacked {
    pub library: PathBuf,
    pub socket: PathBuf,
    /// The folder that was made for them.
    own: Option<PathBuf>,
    /// The library, locked: whoever finds it without the lock knows that its recorder was killed.
    locked: Option<fs::File>,
    /// Whether the library stays, for programs that go on.
    stays: bool,
}

/// The longest path of a Unix socket, without its zero byte.
const SOCKET_PATH_MAX: usize = 107;

impl Unpacked {
    /// Whether this command has a library for its machine.
    pub fn exists() -> bool {
        !LIBRARY.is_empty()
    }

    /// Writes the library into `folder`; into a folder of its own in the system's temporary folder
    /// where the path could not be named to the loader (a space or a colon in it) or to a socket
    /// (too long), or where a program that drops root's rights could not reach it.
    pub fn new(folder: &Path) -> io::Result<Unpacked> {
        let folder = fs::canonicalize(folder)?;
        let stem = format!("{OWN}{}", std::process::id());
        let socket = folder.join(format!("{stem}.socket"));
        let bytes = socket.as_os_str().as_bytes();
        let named = bytes.len() <= SOCKET_PATH_MAX
            && !bytes
                .iter()
                .any(|byte| matches!(byte, b' ' | b':' | b'\n' | b'$'));
        let reached = !rustix::process::geteuid().is_root() || others_may_search(&folder);
        let mut own = None;
        let folder = if named && reached {
            folder
        } else {
            let made = std::env::temp_dir().join(format!("{TEMPORARY}{}", std::process::id()));
            let _ = fs::remove_dir_all(&made);
            fs::create_dir(&made)?;
            fs::set_permissions(&made, Permissions::from_mode(0o711))?;
            own = Some(made.clone());
            made
        };
        Unpacked::write(Unpacked {
            library: folder.join(format!("{stem}.so")),
            socket: folder.join(format!("{stem}.socket")),
            own,
            locked: None,
            stays: false,
        })
    }

    /// Writes the library into a folder of its own in the system's temporary folder, by a path as
    /// short as can be.
    pub fn in_temporary() -> io::Result<Unpacked> {
        let mut again = 0;
        let folder = loop {
            let name = format!("{TEMPORARY_REPLAY}{}.{again}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                // Somebody of this number was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => again += 1,
                Err(error) => return Err(error),
            }
        };
        fs::set_permissions(&folder, Permissions::from_mode(0o711))?;
        Unpacked::write(Unpacked {
            library: folder.join(REPLAY_LIBRARY),
            socket: folder.join(REPLAY_SOCKET),
            own: Some(folder),
            locked: None,
            stays: false,
        })
    }

    /// Leaves the library where it is: the loader would complain to the programs that those start
    /// which go on. It is tidied up once nobody uses it.
    pub fn leave_library(&mut self) {
        self.stays = true;
    }

    fn write(mut unpacked: Unpacked) -> io::Result<Unpacked> {
        let _ = fs::remove_file(&unpacked.socket);
        within_limit(LIBRARY.len() as u64)?;
        fs::write(&unpacked.library, LIBRARY)?;
        fs::set_permissions(&unpacked.library, Permissions::from_mode(0o755))?;
        let locked = fs::File::open(&unpacked.library)?;
        // Where the file system has no locks, others may remove it while it is used: then programs
        // that start later are named as not recorded.
        let _ = lock(&locked);
        unpacked.locked = Some(locked);
        Ok(unpacked)
    }
}

/// Whether everybody may reach what is in the folder.
fn others_may_search(folder: &Path) -> bool {
    folder.ancestors().all(|folder| {
        let mode = folder.metadata().map(|folder| folder.permissions().mode());
        mode.is_ok_and(|mode| mode & 0o001 != 0)
    })
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
        if self.stays {
            return;
        }
        let _ = fs::remove_file(&self.library);
        if let Some(own) = &self.own {
            let _ = fs::remove_dir(own);
        }
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
        for name in ["malloc", "calloc", "realloc", "libgcc_s.so.1"] {
            let name = [b"\0", name.as_bytes(), b"\0"].concat();
            assert!(!holds(&name), "{}", String::from_utf8_lossy(&name));
        }
    }
}

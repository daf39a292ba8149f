//! Folders: those that may be renamed while somebody writes into them, and where caches belong.

use std::path::{Path, PathBuf};

/// A handle on a folder, which stays with it whatever it is called.
#[derive(Debug)]
pub struct Folder(here::Held);

impl Folder {
    /// Of the folder that is called so now; `None` where it cannot be had, or the system has no way to ask
    /// what it is called later. Windows refuses to rename a folder with open files, so nothing is missed.
    pub fn hold(path: &Path) -> Option<Folder> {
        here::hold(path).map(Folder)
    }

    /// What it is called by now, if that is not `path`; `None` also where it was removed.
    pub fn renamed(&self, path: &Path) -> Option<PathBuf> {
        here::renamed(&self.0, path)
    }
}

/// Where programs keep what they can make again, for this user.
pub fn cache() -> Option<PathBuf> {
    let folder = |variable| std::env::var_os(variable).map(PathBuf::from);
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    // One that is not absolute is to be ignored (XDG Base Directory Specification).
    let named = folder("XDG_CACHE_HOME").filter(|it| it.is_absolute());
    named.or_else(|| Some(folder("HOME")?.join(".cache")))
}

#[cfg(target_os = "linux")]
mod here {
    use std::fs::{File, metadata, read_link};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};

    pub(super) type Held = File;

    pub(super) fn hold(path: &Path) -> Option<Held> {
        let mut open = File::options();
        open.read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY);
        open.open(path).ok()
    }

    pub(super) fn renamed(folder: &Held, path: &Path) -> Option<PathBuf> {
        let own = folder.metadata().ok()?;
        let is_own = |path: &Path| {
            metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino()))
        };
        if is_own(path) {
            return None;
        }
        let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
        // One that was removed has a name there as well, under which it is not.
        read_link(link).ok().filter(|path| is_own(path))
    }
}

#[cfg(not(target_os = "linux"))]
mod here {
    use std::path::{Path, PathBuf};

    pub(super) type Held = std::convert::Infallible;

    pub(super) fn hold(_: &Path) -> Option<Held> {
        None
    }

    pub(super) fn renamed(folder: &Held, _: &Path) -> Option<PathBuf> {
        match *folder {}
    }
}

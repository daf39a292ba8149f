//! Files: bytes at a place, locks, what tells one from another, limits.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use here::{
    allocate, is_locked, open_at_once, open_files_max, permissions, private_file, private_folder,
    read_at, size_max, try_lock, written_at,
};

/// What tells a file from all others of the machine, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    /// The disk.
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
}

impl FileIdentity {
    /// That of an open file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn of(file: &File) -> io::Result<FileIdentity> {
        here::identity(file)
    }

    /// That of whatever has this name now, be it a link.
    ///
    /// # Errors
    /// There is none, or none that can be looked at.
    pub fn at(path: &Path) -> io::Result<FileIdentity> {
        here::identity_at(path)
    }
}

/// The files that processes have in their memory.
#[derive(Clone, Debug, Default)]
pub struct MappedFiles {
    inodes: BTreeSet<u64>,
    names: BTreeSet<String>,
}

impl MappedFiles {
    /// Those of all processes; `None` where that cannot be seen. Windows keeps such files from being removed
    /// or replaced by itself: nothing is listed there.
    pub fn look() -> Option<MappedFiles> {
        if cfg!(windows) {
            return Some(MappedFiles::default());
        }
        let mut found = MappedFiles::default();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
            // Another user's process has no ring of this one's.
            let maps = fs::read_to_string(entry.path().join("maps")).unwrap_or_default();
            for line in maps.lines().filter(|_| is_process) {
                let inode = line.split_whitespace().nth(4);
                found
                    .inodes
                    .extend(inode.and_then(|it| it.parse::<u64>().ok()));
                let name = line.rsplit_once('/').map(|(_, name)| name);
                let name = name.map(|name| name.trim_end_matches(" (deleted)").to_owned());
                found.names.extend(name);
            }
        }
        found.inodes.remove(&0);
        Some(found)
    }

    /// Whether the file at `path` is one of them, or cannot be told from them.
    pub fn has(&self, path: &Path) -> bool {
        if cfg!(windows) {
            false
        } else {
            FileIdentity::at(path).map_or(true, |it| self.inodes.contains(&it.inode))
        }
    }

    /// Whether one of them has this name, or had it before it was removed.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Writes all of `bytes` at `offset`. Where the file is read or written next is left open.
///
/// # Errors
/// The operating system's.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match written_at(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// When a file was last changed, in nanoseconds since 1970-01-01T00:00:00Z; 0 where the system does not say.
pub fn changed_ns(found: &fs::Metadata) -> i64 {
    let since = |time: SystemTime| match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |it| -it),
    };
    found.modified().map_or(0, since)
}

/// Locks a file of this process's own, for as long as it is open. Whoever looks whether it is locked
/// has a lock of it for a moment: then it is tried again, for a tenth of a second at most.
///
/// # Errors
/// Somebody else has it locked (`WouldBlock`), or the operating system's.
pub fn lock(file: &File) -> io::Result<()> {
    let mut left = 100;
    while !try_lock(file)? {
        left -= 1;
        if left == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Refuses to let a file grow to `end` bytes where the process's limit forbids it: the attempt
/// would end the program with SIGXFSZ.
///
/// # Errors
/// The code [`FILE_TOO_LARGE`](crate::codes::FILE_TOO_LARGE).
pub fn within_limit(end: u64) -> io::Result<()> {
    match size_max() {
        Some(limit) if end > limit => {
            Err(io::Error::from_raw_os_error(crate::codes::FILE_TOO_LARGE))
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
mod here {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    use rustix::process::{Resource, getrlimit};

    use crate::file::FileIdentity;

    /// Reads what is at `offset`, as much as comes by one call. Where the file is read or written next is
    /// left open.
    ///
    /// # Errors
    /// The operating system's.
    pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    /// The same for writing.
    ///
    /// # Errors
    /// The operating system's.
    pub fn written_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    pub(super) fn identity(file: &File) -> io::Result<FileIdentity> {
        file.metadata().map(|found| numbers(&found))
    }

    pub(super) fn identity_at(path: &Path) -> io::Result<FileIdentity> {
        std::fs::symlink_metadata(path).map(|found| numbers(&found))
    }

    fn numbers(found: &std::fs::Metadata) -> FileIdentity {
        FileIdentity {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    /// Locks a file for as long as it is open, against all who ask for a lock of it; reading and writing
    /// are not hindered. `false`: somebody else has a lock of it.
    ///
    /// # Errors
    /// The file system has no locks, or what else the operating system says.
    pub fn try_lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether somebody holds a lock of a file, which is open for reading.
    pub fn is_locked(file: &File) -> bool {
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                let _ = flock(file, FlockOperation::Unlock);
                false
            }
            Err(error) => error == Errno::WOULDBLOCK,
        }
    }

    /// Backs a part of the file with storage, so that writing there cannot meet a full disk.
    ///
    /// # Errors
    /// There is no room.
    pub fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
        match allocated(file, offset, length) {
            // The file system cannot: write zeros, as posix_fallocate(3) does.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            done => return Ok(done?),
        }
        const PAGE: u64 = 4096;
        let mut at = offset;
        while at < offset + length {
            let page = (offset + length - at).min(PAGE) as usize;
            file.write_all_at(&[0; PAGE as usize][..page], at)?;
            at += PAGE;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn allocated(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
        loop {
            let how = rustix::fs::FallocateFlags::empty();
            match rustix::fs::fallocate(file, how, offset, length) {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn allocated(_: &File, _: u64, _: u64) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Opens what is there for reading, be it a pipe that nobody writes to, and never waits for it.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open_at_once(path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
    }

    /// What the file's user, its group and all others may do with it, as chmod(1) has it.
    ///
    /// # Errors
    /// The operating system's.
    pub fn permissions(file: &File) -> io::Result<u32> {
        Ok(file.metadata()?.mode() & 0o777)
    }

    /// Makes a folder that no other user may look into.
    ///
    /// # Errors
    /// The operating system's.
    pub fn private_folder(path: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().mode(0o700).create(path)
    }

    /// Makes a file that no other user may read, to be written.
    ///
    /// # Errors
    /// The operating system's; there is one of that name.
    pub fn private_file(path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600).open(path)
    }

    /// How large a file of this process may get, in bytes: to write past that ends it (SIGXFSZ).
    pub fn size_max() -> Option<u64> {
        getrlimit(Resource::Fsize).current
    }

    /// How many files this process may have open.
    pub fn open_files_max() -> Option<u64> {
        getrlimit(Resource::Nofile).current
    }
}

#[cfg(windows)]
mod here {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::Path;

    use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK,
        LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFileEx,
    };
    use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

    use crate::file::FileIdentity;

    /// Reads what is at `offset`, as much as comes by one call. Where the file is read or written next is
    /// left open.
    ///
    /// # Errors
    /// The operating system's.
    pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek_read(buffer, offset)
    }

    /// The same for writing.
    ///
    /// # Errors
    /// The operating system's.
    pub fn written_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.seek_write(bytes, offset)
    }

    pub(super) fn identity(file: &File) -> io::Result<FileIdentity> {
        // SAFETY: a structure of numbers.
        let mut told: BY_HANDLE_FILE_INFORMATION = unsafe { std::mem::zeroed() };
        // SAFETY: the handle is open, and the call fills in `told`.
        if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut told) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let (high, low) = (told.nFileIndexHigh, told.nFileIndexLow);
        Ok(FileIdentity {
            device: told.dwVolumeSerialNumber.into(),
            inode: u64::from(high) << 32 | u64::from(low),
        })
    }

    pub(super) fn identity_at(path: &Path) -> io::Result<FileIdentity> {
        identity(&File::open(path)?)
    }

    /// Where locks are: a byte that no file has, because whoever locks a byte here keeps others from
    /// reading it.
    fn place() -> OVERLAPPED {
        // SAFETY: a structure of plain values.
        let mut place: OVERLAPPED = unsafe { std::mem::zeroed() };
        place.Anonymous = OVERLAPPED_0 {
            Anonymous: OVERLAPPED_0_0 {
                Offset: u32::MAX - 1,
                OffsetHigh: i32::MAX as u32,
            },
        };
        place
    }

    fn locked(file: &File, how: u32) -> io::Result<bool> {
        let how = how | LOCKFILE_FAIL_IMMEDIATELY;
        let mut place = place();
        // SAFETY: the handle is open, and the place outlives the call, which does not wait.
        if unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &raw mut place) } != 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().unwrap_or(0) as u32 {
            ERROR_LOCK_VIOLATION | ERROR_IO_PENDING => Ok(false),
            _ => Err(error),
        }
    }

    /// Locks a file for as long as it is open, against all who ask for a lock of it; reading and writing
    /// are not hindered. `false`: somebody else has a lock of it.
    ///
    /// # Errors
    /// The file system has no locks, or what else the operating system says.
    pub fn try_lock(file: &File) -> io::Result<bool> {
        locked(file, LOCKFILE_EXCLUSIVE_LOCK)
    }

    /// Whether somebody holds a lock of a file, which is open for reading.
    pub fn is_locked(file: &File) -> bool {
        let Ok(is_free) = locked(file, 0) else {
            return false;
        };
        if is_free {
            let mut place = place();
            // SAFETY: as above.
            unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place) };
        }
        !is_free
    }

    /// Backs a part of the file with storage, so that writing there cannot meet a full disk: whatever is
    /// within a file's length has it here.
    ///
    /// # Errors
    /// There is no room.
    pub fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
        if file.metadata()?.len() < offset + length {
            file.set_len(offset + length)
        } else {
            Ok(())
        }
    }

    /// Opens what is there for reading.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open_at_once(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    /// What the file's user, its group and all others may do with it, as chmod(1) has it: all may run it.
    ///
    /// # Errors
    /// None here.
    pub fn permissions(_: &File) -> io::Result<u32> {
        Ok(0o755)
    }

    /// Makes a folder; who may look into it follows from where it lies, which is the user's own.
    ///
    /// # Errors
    /// The operating system's.
    pub fn private_folder(path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    /// Makes a file to be written; who may read it follows from where it lies.
    ///
    /// # Errors
    /// The operating system's; there is one of that name.
    pub fn private_file(path: &Path) -> io::Result<File> {
        File::create_new(path)
    }

    /// How large a file of this process may get: there is no such limit.
    pub fn size_max() -> Option<u64> {
        None
    }

    /// How many files this process may have open: there is no such limit.
    pub fn open_files_max() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn file() -> (tempfile::TempDir, File, File) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let again = File::open(&path).expect("a file");
        (folder, file.expect("a file"), again)
    }

    #[test]
    fn bytes_are_written_and_read_at_their_place() {
        let (_folder, file, again) = file();
        write_all_at(&file, b"four", 3).expect("written");
        let mut bytes = [1; 8];
        assert_eq!(read_at(&again, &mut bytes, 1).expect("read"), 6);
        assert_eq!(&bytes[..6], b"\0\0four");
    }

    #[test]
    fn one_has_the_lock_and_others_read_and_see_it() {
        let (_folder, file, again) = file();
        assert!(!is_locked(&again));
        assert!(try_lock(&file).expect("a lock"));
        write_all_at(&file, b"four", 0).expect("written");
        assert!(is_locked(&again));
        assert_eq!(read_at(&again, &mut [0; 4], 0).expect("read"), 4);
        drop(file);
        assert!(!is_locked(&again));
    }

    #[test]
    fn a_file_is_itself_by_whatever_handle() {
        let (_folder, one, again) = file();
        let (_other, two, _) = file();
        let identity = |file| FileIdentity::of(file).expect("its numbers");
        assert_eq!(identity(&one), identity(&again));
        assert_ne!(identity(&one), identity(&two));
    }

    #[test]
    fn what_was_allocated_is_there() {
        let (_folder, file, again) = file();
        allocate(&file, 4096, 4096).expect("room");
        assert_eq!(again.metadata().expect("a file").len(), 8192);
    }

    #[test]
    fn a_file_is_locked_although_somebody_looks_whether_it_is() {
        let (folder, ..) = file();
        let path = folder.path().join("file");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = File::open(&path).expect("the file");
                while !done.load(Ordering::Relaxed) {
                    is_locked(&file);
                }
            });
            let locked = (0..2000).all(|_| lock(&File::open(&path).expect("the file")).is_ok());
            done.store(true, Ordering::Relaxed);
            assert!(locked);
        });
    }
}

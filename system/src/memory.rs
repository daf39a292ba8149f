//! Memory that processes share, and how the C library keeps it.

use std::io;

pub use here::{give_back_large_pieces, make_writable, own_page, shared_page};

/// A lock in shared memory that the system marks when the thread that holds it is gone, however it went.
#[derive(Debug)]
pub struct Held(*mut here::Robust);

impl Held {
    /// How many bytes the lock takes.
    pub const BYTES: usize = size_of::<here::Robust>();

    /// Makes the lock at `place` and takes it, from now on and for the thread that calls this.
    ///
    /// # Errors
    /// The system has no such locks.
    ///
    /// # Safety
    /// [`BYTES`](Held::BYTES) bytes of zeros that stay mapped, aligned to eight, and that nobody else uses
    /// yet.
    pub unsafe fn take(place: *mut u8) -> io::Result<Held> {
        let place = place.cast();
        // SAFETY: what the caller says.
        unsafe { here::take(place) }.map(|()| Held(place))
    }

    /// The thread ends in order.
    pub fn release(self) {
        here::release(self.0);
    }
}

#[cfg(target_os = "linux")]
mod here {
    use std::fs::File;
    use std::io;

    use memmap2::MmapMut;
    use rustix::fs::MemfdFlags;
    use rustix::mm::{Advice, madvise};

    /// A page of this process's own, which a forked child finds empty.
    ///
    /// # Errors
    /// The operating system's.
    pub fn own_page(bytes: usize) -> io::Result<MmapMut> {
        let mut page = MmapMut::map_anon(bytes)?;
        // SAFETY: the advice changes what a child sees of this page, which is anonymous and private.
        unsafe {
            let start = page.as_mut_ptr().cast();
            madvise(start, bytes, Advice::LinuxWipeOnFork)?;
        }
        Ok(page)
    }

    /// A page without a name that other processes map as well, and the file of it.
    ///
    /// # Errors
    /// The system has no such pages, or what else it says.
    pub fn shared_page(name: &str, bytes: usize) -> io::Result<(MmapMut, File)> {
        let file = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
        file.set_len(bytes as u64)?;
        // SAFETY: nobody else has the file before it is shared, and nobody cuts it then.
        let page = unsafe { MmapMut::map_mut(&file)? };
        Ok((page, file))
    }

    /// Makes pages of a mapped file writable, so that whoever writes there meets no page fault. Where the
    /// kernel is older than this call (5.14), or is none that has it, the writer meets it.
    ///
    /// # Safety
    /// The range lies inside of a mapping.
    pub unsafe fn make_writable(place: *mut u8, bytes: usize) {
        // SAFETY: the advice changes no byte of the range, and the caller says the rest.
        let _ = unsafe { madvise(place.cast(), bytes, Advice::LinuxPopulateWrite) };
    }

    /// From now on memory that is asked for in pieces of more bytes than this goes back to the system as
    /// soon as it is let go. To be called before there is a second thread.
    pub fn give_back_large_pieces(bytes: u32) {
        #[cfg(target_env = "gnu")]
        // SAFETY: it sets a number.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, bytes.cast_signed());
        }
        #[cfg(not(target_env = "gnu"))]
        let _ = bytes;
    }

    pub(super) type Robust = libc::pthread_mutex_t;

    pub(super) unsafe fn take(place: *mut Robust) -> io::Result<()> {
        // SAFETY: zeros that nobody uses, as the caller says.
        let code = unsafe {
            let mut how: libc::pthread_mutexattr_t = std::mem::zeroed();
            libc::pthread_mutexattr_init(&raw mut how);
            libc::pthread_mutexattr_setpshared(&raw mut how, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(&raw mut how, libc::PTHREAD_MUTEX_ROBUST);
            let made = libc::pthread_mutex_init(place, &raw const how);
            libc::pthread_mutexattr_destroy(&raw mut how);
            match made {
                0 => libc::pthread_mutex_lock(place),
                code => code,
            }
        };
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    pub(super) fn release(place: *mut Robust) {
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_mutex_unlock(place) };
    }
}

#[cfg(not(target_os = "linux"))]
mod here {
    use std::fs::File;
    use std::io;

    use memmap2::MmapMut;

    /// A page of this process's own. Where processes fork, a child finds it as its parent had it.
    ///
    /// # Errors
    /// The operating system's.
    pub fn own_page(bytes: usize) -> io::Result<MmapMut> {
        MmapMut::map_anon(bytes)
    }

    /// A page without a name that other processes map as well: there is none here.
    ///
    /// # Errors
    /// Always.
    pub fn shared_page(_: &str, _: usize) -> io::Result<(MmapMut, File)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes pages of a mapped file writable: here whoever writes there meets the page fault.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn make_writable(_: *mut u8, _: usize) {}

    /// Large pieces of memory: what becomes of them is the system's affair here.
    pub fn give_back_large_pieces(_: u32) {}

    pub(super) type Robust = u64;

    pub(super) unsafe fn take(_: *mut Robust) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn release(_: *mut Robust) {}
}

//! What this library needs of C and of the kernel, declared by hand.

use core::arch::asm;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicU32;

use crate::filters;
pub(crate) use crate::nr;
use crate::plainly::Plainly;

pub const AF_UNSPEC: c_int = 0;
pub const AF_UNIX: c_int = 1;
pub const AF_INET: c_int = 2;
pub const AF_INET6: c_int = 10;
pub const SOCK_STREAM: c_int = 1;
pub const SOCK_DGRAM: c_int = 2;
pub const SOCK_SEQPACKET: c_int = 5;
pub const SOCK_CLOEXEC: c_int = 0o2000000;
/// Of `ioctl`: how many bytes could be read.
pub const FIONREAD: u64 = 0x541b;
pub const O_CLOEXEC: c_int = 0o2000000;
pub const O_NONBLOCK: c_int = 0o4000;
/// The program's working directory, as the calls name it that open a file below a directory.
pub const AT_FDCWD: c_int = -100;
pub const SOL_SOCKET: c_int = 1;
pub const SO_TYPE: c_int = 3;
pub const SO_DOMAIN: c_int = 39;
pub const SO_PROTOCOL: c_int = 38;
/// The protocol's number, and the level of its options.
pub const SOL_UDP: c_int = 17;
pub const SOL_TCP: c_int = 6;
pub const UDP_CORK: c_int = 1;
pub const UDP_SEGMENT: c_int = 103;
pub const UDP_GRO: c_int = 104;
pub const SO_MEMINFO: c_int = 55;
pub const SCM_RIGHTS: c_int = 1;
pub const MSG_PEEK: c_int = 0x2;
pub const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
pub const MSG_NOSIGNAL: c_int = 0x4000;
pub const MSG_DONTWAIT: c_int = 0x40;
pub const MSG_MORE: c_int = 0x8000;
pub const MSG_CTRUNC: c_int = 0x8;
pub const MSG_ERRQUEUE: c_int = 0x2000;
pub const EINTR: c_int = 4;
pub const EAGAIN: c_int = 11;
pub const ENOTSOCK: c_int = 88;
pub const CLOCK_MONOTONIC: c_int = 1;
pub const PROT_READ: usize = 1;
pub const PROT_READ_WRITE: usize = 3;
pub const F_GETFD: usize = 1;
pub const F_GETFL: usize = 3;
pub const MAP_SHARED: usize = 1;
pub const MAP_NORESERVE: usize = 0x4000;
pub const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
pub const MADV_WIPEONFORK: usize = 18;
pub const MADV_POPULATE_WRITE: usize = 23;
/// On a word that other processes have as well.
pub const FUTEX_WAKE: usize = 1;
pub const FUTEX_WAIT_PRIVATE: usize = 128;
pub const FUTEX_WAKE_PRIVATE: usize = 129;
pub const RTLD_NEXT: *mut c_void = -1isize as *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct IoVec {
    pub base: *mut u8,
    pub length: usize,
}

impl IoVec {
    /// # Safety
    /// `length` bytes are there for the call, which may be written to where it gives something.
    pub unsafe fn new(base: *const u8, length: usize) -> IoVec {
        let base = base.cast_mut();
        IoVec { base, length }
    }
}

/// What lies from `first` on, `count` in number; nothing where there is no place, or that is negative.
///
/// # Safety
/// `first` is null or leads to so many, which stay as they are for the call.
#[inline]
pub unsafe fn slice<'a, T>(first: *const T, count: impl TryInto<usize>) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { core::slice::from_raw_parts(first, count.try_into().unwrap_or(0)) }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MsgHdr {
    pub name: *mut u8,
    pub name_length: u32,
    pub iov: *mut IoVec,
    pub iov_count: usize,
    pub control: *mut u8,
    pub control_length: usize,
    pub flags: c_int,
}

impl MsgHdr {
    /// A message in these places, with no address and nothing beside it.
    pub fn new(list: &[IoVec]) -> MsgHdr {
        MsgHdr {
            name: core::ptr::null_mut(),
            name_length: 0,
            iov: list.as_ptr().cast_mut(),
            iov_count: list.len(),
            control: core::ptr::null_mut(),
            control_length: 0,
            flags: 0,
        }
    }

    /// The places of its bytes.
    ///
    /// # Safety
    /// The message is the program's own, for a call that it makes.
    pub unsafe fn list<'a>(&self) -> &'a [IoVec] {
        // SAFETY: the caller vouches for it.
        unsafe { slice(self.iov, self.iov_count) }
    }
}

#[repr(C)]
pub struct MMsgHdr {
    pub header: MsgHdr,
    pub length: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TimeSpec {
    pub seconds: i64,
    pub nanos: i64,
}

impl TimeSpec {
    /// The time in nanoseconds.
    #[inline]
    pub fn in_nanos(&self) -> u64 {
        (self.seconds as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(self.nanos as u64)
    }

    /// The time of this many nanoseconds.
    pub fn of_nanos(nanos: u64) -> TimeSpec {
        TimeSpec {
            seconds: (nanos / 1_000_000_000) as i64,
            nanos: (nanos % 1_000_000_000) as i64,
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TimeVal {
    pub seconds: i64,
    pub micros: i64,
}

/// Of a program or library in memory, one part.
#[repr(C)]
pub struct ProgramHeader {
    pub kind: u32,
    pub flags: u32,
    pub offset: usize,
    pub address: usize,
    pub physical: usize,
    pub file_size: usize,
    pub memory_size: usize,
    pub align: usize,
}

/// A part of a program that is loaded.
pub const PT_LOAD: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PollFd {
    pub fd: c_int,
    pub events: i16,
    pub revents: i16,
}

#[cfg_attr(target_arch = "x86_64", repr(C, packed))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C))]
#[derive(Clone, Copy)]
pub struct EpollEvent {
    pub events: u32,
    pub data: u64,
}

#[link(name = "c")]
unsafe extern "C" {
    #[cfg(feature = "carried")]
    pub fn abort() -> !;
    pub fn __errno_location() -> *mut c_int;
    fn pthread_key_create(
        key: *mut u32,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub static environ: *const *const c_char;
}

/// A key under which each thread keeps a pointer: its number plus 1; 0 before it was made.
pub struct Key(AtomicU32);

impl Key {
    pub const fn new() -> Key {
        Key(AtomicU32::new(0))
    }

    /// Makes it, unless it was made before. `ends` is given what a thread that ends has kept. `None`: there
    /// are no more.
    pub fn make(&self, ends: Option<unsafe extern "C" fn(*mut c_void)>) -> Option<()> {
        if self.0.get() == 0 {
            let mut key = 0;
            // SAFETY: a place for the key, and a function that lives as long as the library.
            if unsafe { pthread_key_create(&raw mut key, ends) } != 0 {
                return None;
            }
            self.0.set(key + 1);
        }
        Some(())
    }

    /// What this thread keeps: null where that is nothing. `None`: the key was not made yet.
    #[inline]
    pub fn get(&self) -> Option<*mut c_void> {
        let key = self.0.get().checked_sub(1)?;
        // SAFETY: the key is there.
        Some(unsafe { pthread_getspecific(key) })
    }

    /// This thread keeps `value`.
    pub fn set(&self, value: *const c_void) {
        let key = self.0.get().wrapping_sub(1);
        // SAFETY: a key, or a number of none.
        unsafe { pthread_setspecific(key, value) };
    }
}

/// A system call that no hook sees and that leaves `errno` alone. Negative: the error code. One that
/// the program's own filters forbid is not made. Arguments that are left out are zeros.
///
/// # Safety
/// As the call says.
#[inline]
pub unsafe fn syscall<const N: usize>(number: usize, arguments: [usize; N]) -> isize {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    if !filters::allow(number, &all) {
        return -EPERM;
    }
    // SAFETY: the caller vouches for it.
    unsafe { enter(number, all) }
}

const EPERM: isize = 1;

#[cfg(target_arch = "x86_64")]
unsafe fn enter(number: usize, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; the caller vouches for the arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn enter(number: usize, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; the caller vouches for the arguments.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a[0] as isize => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5],
            options(nostack),
        );
    }
    result
}

/// Lets others run for a moment.
pub fn pause() {
    let time = TimeSpec {
        seconds: 0,
        nanos: 50_000,
    };
    // SAFETY: a time to read from, nowhere to write to.
    unsafe { syscall(nr::NANOSLEEP, [(&raw const time) as usize]) };
}

/// Waits on a word, or wakes who waits on it.
pub fn futex(word: &AtomicU32, operation: usize, value: u32, nanos: Option<i64>) {
    let time = nanos.map(|nanos| TimeSpec { seconds: 0, nanos });
    let time = time.as_ref().map_or(0, |time| &raw const *time as usize);
    let word = (&raw const *word) as usize;
    // SAFETY: a word that is there for the call, and nothing or a time.
    unsafe { syscall(nr::FUTEX, [word, operation, value as usize, time]) };
}

/// The number of this process.
pub fn process() -> u32 {
    // SAFETY: asks for a number.
    unsafe { syscall(nr::GETPID, []) as u32 }
}

/// The number of this thread; the largest one where a filter forbids to ask.
pub fn thread() -> u32 {
    // SAFETY: asks for a number.
    unsafe { syscall(nr::GETTID, []) as u32 }
}

/// Maps `length` bytes that may be read and written to: of a file from `offset` on, or new ones. The error
/// code where that fails.
pub fn map(
    place: usize,
    length: usize,
    kind: usize,
    fd: c_int,
    offset: usize,
) -> Result<*mut u8, u32> {
    let arguments = [place, length, PROT_READ_WRITE, kind, fd as usize, offset];
    // SAFETY: a new mapping where the kernel finds room.
    let base = unsafe { syscall(nr::MMAP, arguments) };
    if base > 0 {
        Ok(base as *mut u8)
    } else {
        Err(base.unsigned_abs() as u32)
    }
}

/// Asks about a descriptor. Negative: the error code.
pub fn fcntl(fd: c_int, command: usize) -> isize {
    // SAFETY: asks about a number.
    unsafe { syscall(nr::FCNTL, [fd as usize, command]) }
}

/// Whether a set of descriptors has this one; no set has none.
///
/// # Safety
/// The set has a bit for it.
pub unsafe fn is_in(set: *const u64, fd: c_int) -> bool {
    // SAFETY: the caller vouches for it.
    !set.is_null() && unsafe { *set.add(fd as usize / 64) } >> (fd % 64) & 1 != 0
}

/// Something of the program's into which this library does not look.
pub type Opaque = *mut c_void;
/// A path or a word of the program's: null, or a zero-ended string.
pub type Text = *const c_char;
/// Several of them: null, or a list that a null pointer ends.
pub type Texts = *const *const c_char;

/// Opens a file for this library's own use.
///
/// # Safety
/// `path` is a zero-ended string.
pub unsafe fn open(folder: c_int, path: *const c_char, flags: c_int, mode: u32) -> Option<c_int> {
    let flags = (flags | O_CLOEXEC) as usize;
    let arguments = [folder as usize, path as usize, flags, mode as usize];
    // SAFETY: the caller vouches for it.
    let fd = unsafe { syscall(nr::OPENAT, arguments) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

/// Reads on; `None` where that fails.
pub fn read(fd: c_int, room: &mut [u8]) -> Option<&[u8]> {
    let arguments = [fd as usize, room.as_mut_ptr() as usize, room.len()];
    // SAFETY: room of that length.
    let length = unsafe { syscall(nr::READ, arguments) };
    room.get(..usize::try_from(length).ok()?)
}

/// Writes all of it; `false` where that fails.
pub fn write(fd: c_int, bytes: &[u8]) -> bool {
    let arguments = [fd as usize, bytes.as_ptr() as usize, bytes.len()];
    // SAFETY: this many bytes are there.
    unsafe { syscall(nr::WRITE, arguments) == bytes.len() as isize }
}

/// Reads at an offset; `None` where that fails.
pub fn read_at(fd: c_int, room: &mut [u8], at: u64) -> Option<&[u8]> {
    let place = room.as_mut_ptr() as usize;
    let arguments = [fd as usize, place, room.len(), at as usize];
    // SAFETY: room of that length.
    let length = unsafe { syscall(nr::PREAD, arguments) };
    room.get(..usize::try_from(length).ok()?)
}

/// Where the link leads to that lies at a path, which ends in a zero byte; `None`: it is none.
pub fn read_link<'a>(path: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let (from, to) = (path.as_ptr() as usize, room.as_mut_ptr() as usize);
    // SAFETY: a zero-ended string, and room of that length.
    let length = unsafe { syscall(nr::READLINKAT, [AT_FDCWD as usize, from, to, room.len()]) };
    room.get(..usize::try_from(length).ok()?)
}

/// Closes a descriptor of this library's own.
pub fn close(fd: c_int) {
    // SAFETY: nobody else has it.
    unsafe { syscall(nr::CLOSE, [fd as usize]) };
}

/// The error code of the latest call that failed in this thread.
pub fn errno() -> c_int {
    // SAFETY: C gives each thread its own, always there.
    unsafe { *__errno_location() }
}

/// What a call came to that answers a negative number where it fails: then the error code.
pub fn or_code(result: c_int) -> c_int {
    if result < 0 { -errno() } else { result }
}

/// The same the other way round: -1, with the error code, where it is negative.
pub fn with_errno(result: c_int) -> c_int {
    if result < 0 {
        set_errno(-result);
        return -1;
    }
    result
}

/// Runs this and leaves `errno` as it is.
#[inline]
pub fn quietly<R>(run: impl FnOnce() -> R) -> R {
    let code = errno();
    let result = run();
    set_errno(code);
    result
}

/// Puts the error code back that the hooked call left.
pub fn set_errno(code: c_int) {
    // SAFETY: as above.
    unsafe { *__errno_location() = code }
}

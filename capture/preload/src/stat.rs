//! What the kernel says of a file.

use crate::sys::{self, AT_FDCWD, nr};

pub const S_IFMT: u32 = 0o170_000;
pub const S_IFREG: u32 = 0o100_000;

/// As the kernel has it, up to what is looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Stat {
    pub device: u64,
    pub inode: u64,
    #[cfg(target_arch = "x86_64")]
    links: u64,
    pub mode: u32,
    #[cfg(not(target_arch = "x86_64"))]
    links: u32,
    user: u32,
    group: u32,
    padding: u32,
    /// Which device it is, where it is one.
    pub special: u64,
    #[cfg(not(target_arch = "x86_64"))]
    more_padding: u64,
    pub size: i64,
    block: i64,
    blocks: i64,
    accessed: [i64; 2],
    pub changed: [i64; 2],
    rest: [i64; 8],
}

impl Stat {
    /// Asks about an open file.
    pub fn of(fd: i32) -> Option<Stat> {
        // SAFETY: a place of the size that the kernel writes.
        Stat::asked(|place| unsafe { sys::syscall(nr::FSTAT, [fd as usize, place]) }).ok()
    }

    /// Asks about what lies at a path, which ends in a zero byte: the link itself where it is one. The
    /// error code where nobody says.
    pub fn at(path: &[u8]) -> Result<Stat, i32> {
        const AT_SYMLINK_NOFOLLOW: usize = 0x100;
        let (folder, path) = (AT_FDCWD as usize, path.as_ptr() as usize);
        let arguments = |place| [folder, path, place, AT_SYMLINK_NOFOLLOW];
        // SAFETY: as above, and a path that ends in a zero byte.
        Stat::asked(|place| unsafe { sys::syscall(nr::NEWFSTATAT, arguments(place)) })
    }

    fn asked(call: impl FnOnce(usize) -> isize) -> Result<Stat, i32> {
        // SAFETY: numbers alone.
        let mut stat: Stat = unsafe { core::mem::zeroed() };
        match call((&raw mut stat) as usize) {
            0 => Ok(stat),
            code => Err(-code as i32),
        }
    }

    /// When it was last changed, in nanoseconds since 1970.
    pub fn changed_ns(&self) -> i64 {
        let [seconds, nanos] = self.changed;
        seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
    }

    pub fn is_file(&self) -> bool {
        self.mode & S_IFMT == S_IFREG
    }
}

//! Files that the program opens: each is pushed with a checksum, so that a replay can say which one
//! is another than it was.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use netreel_shared::call::CallId;

use crate::paths::{from_root, path_of};
use crate::plainly::zero;
use crate::push::pushing_unless_busy;
use crate::row::Row;
use crate::stat::Stat;
use crate::sys::{self, Text, errno, nr, quietly};
use crate::{attach, replay};

/// A longer file is not kept: its length and the time of its last change are.
const SUMMED_MAX: u64 = 64 << 10;
/// How many bytes are summed up in one process.
const SUMMED_IN_ALL: u64 = 16 << 20;
static SUMMED: AtomicU64 = zero();

/// What was told of files: device, inode and the time of the last change, mixed, each at the place
/// that follows from that; what another one takes the place of is told again.
static TOLD: [AtomicU64; 512] = zero();

pub const ENOENT: i32 = 2;
const O_ACCMODE: i32 = 3;
pub const O_WRONLY: i32 = 1;
pub const O_CREAT: i32 = 0o100;
pub const O_TRUNC: i32 = 0o1000;
pub const O_NOFOLLOW: i32 = if cfg!(target_arch = "aarch64") {
    0o100_000
} else {
    0o400_000
};

/// Files of the kernel's own, whose bytes are made when they are read: to read some of them takes
/// the bytes from the program, or waits. `statfs` says of which kind a file system is.
const OF_THE_KERNEL: [u32; 10] = [
    PROC,
    0x6265_6572, // sysfs
    0x7472_6163, // tracefs
    0x6462_6720, // debugfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
];

const PROC: u32 = 0x0000_9fa0;

/// What the program may do with a file that it opens.
#[derive(Clone, Copy)]
pub struct Use {
    pub writes: bool,
    /// What was there before.
    reads: bool,
}

/// What these flags of `open` let it do.
pub fn of_flags(flags: i32) -> Use {
    Use {
        writes: flags & (O_ACCMODE | O_CREAT | O_TRUNC) != 0,
        reads: flags & O_ACCMODE != O_WRONLY && flags & O_TRUNC == 0,
    }
}

/// What this mode of `fopen` does.
///
/// # Safety
/// `mode` is null or a zero-ended string.
pub unsafe fn of_mode(mode: Text) -> Use {
    let (writes, reads) = (true, false);
    if mode.is_null() {
        return Use { writes, reads };
    }
    // SAFETY: the caller vouches for it.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let (first, both) = (mode.first(), mode.contains(&b'+'));
    Use {
        writes: first != Some(&b'r') || both,
        reads: first == Some(&b'r') || first == Some(&b'a') && both,
    }
}

/// The program has opened a file, or was told that there is none below the directory `folder`.
///
/// # Safety
/// `path` is null or a zero-ended string.
pub unsafe fn opened(folder: i32, path: Text, fd: i32, how: Use) {
    if replay::is_muted() || attach::generation().is_none() {
        return;
    }
    quietly(|| {
        if fd >= 0 {
            there(fd, how);
        } else if errno() == ENOENT && !path.is_null() && !how.writes {
            // SAFETY: the caller vouches for it.
            missing(folder, unsafe { CStr::from_ptr(path) }.to_bytes());
        }
    });
}

#[cold]
fn missing(folder: i32, path: &[u8]) {
    let mut place = [0u8; 1024];
    if replay::on() {
        if let Some(path) = of_this_process(path, &mut place) {
            replay::opened(sum(path), 0);
        }
        return;
    }
    if let Some(path) = from_root(folder, path, &mut place) {
        push(-ENOENT, [0; 3], 0, &path);
    }
}

/// Pushes that a file was opened, of this length, changed at this time, with this sum. `flags` say what is
/// known of it.
fn push(result: i32, numbers: [u64; 3], flags: u8, path: &[&[u8]; 3]) {
    if let Some(mut pushing) = pushing_unless_busy() {
        let [size, changed, sum] = numbers.map(u64::to_le_bytes);
        let head = Row::<25>::of(&[&size, &changed, &sum, &[flags]]);
        pushing.called(
            CallId::FILE,
            result,
            &[head.bytes(), path[0], path[1], path[2]],
        );
    }
}

#[cold]
fn there(fd: i32, Use { writes, reads }: Use) {
    let Some(stat) = Stat::of(fd).filter(Stat::is_file) else {
        return;
    };
    let size = stat.size as u64;
    if !writes && size == 0 && is_of(fd, &[PROC]) {
        of_the_kernel(fd);
    }
    if replay::on() {
        return;
    }
    // What says that it is empty may well have bytes: what is made when it is read.
    if !writes && size == 0 || was_told(&stat) || is_of(fd, &OF_THE_KERNEL) {
        return;
    }
    let mut path = [0u8; 1024];
    let Some(path) = path_of(fd, &mut path) else {
        return;
    };
    let sum = if reads { sum_of(fd, size) } else { None };
    let flags = u8::from(writes) | u8::from(sum.is_some()) << 1 | u8::from(writes && reads) << 3;
    let numbers = [size, stat.changed_ns() as u64, sum.unwrap_or(0)];
    push(fd, numbers, flags, &[path, &[], &[]]);
}

/// [`CallId::FILE`]: a stream to another program of this machine.
const STREAM: u8 = 16;

/// The program has connected a stream to another program, which is found by this path.
pub fn speaks_with(fd: i32, path: &[u8]) {
    let (start, name) = match path.split_first() {
        // One that is no file.
        Some((0, name)) => (&b"@"[..], name),
        _ => (&[][..], path),
    };
    let end = name.iter().position(|byte| *byte == 0);
    let path = [
        start,
        name.get(..end.unwrap_or(name.len())).unwrap_or(&[]),
        &[],
    ];
    push(fd, [0; 3], STREAM, &path);
}

/// Whether this file was told of as it is now, in this process. From now on it was.
fn was_told(stat: &Stat) -> bool {
    let generation = u64::from(attach::generation().unwrap_or(0));
    let [seconds, nanos] = stat.changed.map(|it| it as u64);
    let all = [generation, stat.device, stat.inode, seconds, nanos];
    let mixed = all.iter().fold(FNV_START, |sum, word| {
        let sum = (sum ^ word).wrapping_mul(FNV_TIMES);
        sum ^ (sum >> 29)
    });
    let place = &TOLD[mixed as usize % TOLD.len()];
    place.swap(mixed, Ordering::Relaxed) == mixed
}

/// The files below `/proc` whose bytes say something of the machine; and below the folder of a process
/// all but those that are its memory, or that are only written to.
const READABLE: [&[u8]; 18] = [
    b"buddyinfo",
    b"cmdline",
    b"cpuinfo",
    b"diskstats",
    b"filesystems",
    b"interrupts",
    b"loadavg",
    b"meminfo",
    b"modules",
    b"mounts",
    b"partitions",
    b"softirqs",
    b"stat",
    b"swaps",
    b"uptime",
    b"version",
    b"vmstat",
    b"zoneinfo",
];
const UNREADABLE: [&[u8]; 3] = [b"mem", b"pagemap", b"clear_refs"];
/// How many of them are told, each with the sum of its first bytes.
const OF_PROC_MAX: u64 = 64;
const OF_PROC_BYTES: u64 = 4 << 10;
static OF_PROC: AtomicU64 = zero();

/// A file of the kernel's own was opened: pushes what it says, or puts it beside the tape of a replay.
#[cold]
fn of_the_kernel(fd: i32) {
    let mut paths = [[0u8; 1024]; 2];
    let [first, second] = &mut paths;
    let path = path_of(fd, first).and_then(|path| of_this_process(path, second));
    let Some(path) = path.filter(|path| is_readable(path)) else {
        return;
    };
    if OF_PROC.fetch_add(1, Ordering::Relaxed) >= OF_PROC_MAX {
        return;
    }
    let (sum, _) = sum_up_to(fd, OF_PROC_BYTES);
    if replay::on() {
        return replay::opened(self::sum(path), sum);
    }
    push(fd, [0, 0, sum], IN_PROC, &[path, &[], &[]]);
}

/// [`CallId::FILE`]: a file of the kernel's own.
const IN_PROC: u8 = 4;

fn is_readable(path: &[u8]) -> bool {
    let Some(path) = path.strip_prefix(b"/proc/") else {
        return false;
    };
    let of_process = path.first().is_some_and(u8::is_ascii_digit) || path.starts_with(b"self/");
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(&[]);
    READABLE.contains(&path) || of_process && !UNREADABLE.contains(&last)
}

/// A path below `/proc` in which this process, or in a replay the recorded one, is called `self`.
fn of_this_process<'a>(path: &'a [u8], place: &'a mut [u8; 1024]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(b"/proc/")?;
    let (number, behind) = self::number(rest);
    let recorded = replay::processes().map(|(own, _)| own);
    let is_own = number == Some(sys::process()) || number.is_some() && number == recorded;
    if !is_own {
        return Some(path);
    }
    let length = b"/proc/self".len();
    place[..length].copy_from_slice(b"/proc/self");
    let place = place.get_mut(..length + behind.len())?;
    place[length..].copy_from_slice(behind);
    Some(place)
}

/// The number that stands before the first slash, and what is behind that, with the slash.
pub fn number(path: &[u8]) -> (Option<u32>, &[u8]) {
    let slash = path.iter().position(|byte| *byte == b'/');
    let (name, behind) = path.split_at(slash.unwrap_or(path.len()));
    let number = name.iter().try_fold(0u32, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u32::from(digit))
    });
    (number.filter(|_| !name.is_empty()), behind)
}

/// Whether it lies in one of these file systems, or nobody says.
fn is_of(fd: i32, kinds: &[u32]) -> bool {
    // As the kernel's structure, which begins with the kind and is shorter.
    let mut found = [0u64; 32];
    let arguments = [fd as usize, found.as_mut_ptr() as usize];
    // SAFETY: a place with room for what the kernel writes.
    let result = unsafe { sys::syscall(nr::FSTATFS, arguments) };
    result != 0 || kinds.contains(&(found[0] as u32))
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_TIMES: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a with 64 bits, over the `size` bytes of a small file; `None` where it has fewer.
fn sum_of(fd: i32, size: u64) -> Option<u64> {
    if size > SUMMED_MAX || SUMMED.fetch_add(size, Ordering::Relaxed) > SUMMED_IN_ALL {
        return None;
    }
    let (sum, length) = sum_up_to(fd, size);
    (length == size).then_some(sum)
}

pub fn sum(bytes: &[u8]) -> u64 {
    go_on(FNV_START, bytes)
}

fn go_on(sum: u64, bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(FNV_TIMES);
    bytes.iter().fold(sum, step)
}

/// The sum of a file's first bytes, at most `size`, and how many that were.
fn sum_up_to(fd: i32, size: u64) -> (u64, u64) {
    // Little of the stack: a handler of a signal may open a file.
    let (mut sum, mut at, mut chunk) = (FNV_START, 0u64, [0u8; 512]);
    while at < size {
        let room = (size - at).min(chunk.len() as u64) as usize;
        let got = sys::read_at(fd, &mut chunk[..room], at);
        let Some(got) = got.filter(|got| !got.is_empty()) else {
            break;
        };
        sum = go_on(sum, got);
        at += got.len() as u64;
    }
    (sum, at)
}

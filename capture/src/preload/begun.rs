//! What a recorded process was started with, as far as a replay needs it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use netreel_reel::{StartId, is_terminal};

use super::look::{self, field, signals};

/// How a process says that it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Its number, as itself sees it.
    pub pid: u32,
    /// Whether it is a forked child, so that its start was its parent's.
    pub forked: bool,
    /// Whether one of its threads runs at a time.
    pub one_thread: bool,
    /// Whether what it prints is recorded.
    pub log: bool,
}

/// Hands `put` what was asked to be started, `command`, found at `file`, where process `pid` is another
/// program or has other arguments: a script, a launcher.
pub(super) fn tell_launched(
    pid: u32,
    (file, command): (&Path, &[OsString]),
    put: &mut dyn FnMut(&[u8]),
) {
    let own = look::arguments(pid);
    let same = own.iter().map(OsStr::new).eq(command.iter());
    if same && file.canonicalize().ok() == look::path(pid) {
        return;
    }
    let sum = fs::read(file).map_or(0, |bytes| crc32fast::hash(&bytes));
    let mut details = vec![StartId::LAUNCHED.0];
    details.extend_from_slice(&sum.to_le_bytes());
    for word in command {
        details.extend_from_slice(word.as_bytes());
        details.push(0);
    }
    put(&details);
}

/// Names of variables whose values are nobody's business: of each a checksum is kept.
const SECRET: [&str; 7] = [
    "TOKEN",
    "SECRET",
    "PASSW",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "PRIVATE",
];

/// Hands `put` what process `pid` was started with, an event's details each. The process waits
/// meanwhile, before its `main`; it maps so many `rings` at once, each as long as `capacity`.
pub(super) fn tell_start(
    pid: u32,
    seen: &Seen,
    (rings, capacity): (usize, usize),
    put: &mut dyn FnMut(&[u8]),
) {
    let mut told = |what: StartId, parts: &[&[u8]]| {
        let mut details = vec![what.0];
        parts
            .iter()
            .for_each(|part| details.extend_from_slice(part));
        put(&details);
    };
    told(
        StartId::NUMBERS,
        &[
            &seen.pid.to_le_bytes(),
            &parent(pid).to_le_bytes(),
            &(rings as u32).to_le_bytes(),
            &(capacity as u32).to_le_bytes(),
            // Children, how they ended and what they wrote are recorded.
            &[kept_besides(pid, seen), 1],
        ],
    );
    let status = look::told(pid, "status");
    if let (Some(ignored), Some(blocked)) =
        (signals(&status, "SigIgn:"), signals(&status, "SigBlk:"))
    {
        told(
            StartId::SIGNALS,
            &[&ignored.to_le_bytes(), &blocked.to_le_bytes()],
        );
    }
    if let Ok(folder) = fs::read_link(format!("/proc/{pid}/cwd")) {
        told(StartId::FOLDER, &[folder.as_os_str().as_bytes()]);
    }
    if let Some(program) = started_as(pid) {
        told(StartId::PROGRAM, &[&program]);
    }
    let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    for variable in look::words(&variables) {
        let at = variable.iter().position(|byte| *byte == b'=');
        let (name, value) = variable.split_at(at.unwrap_or(variable.len()));
        let value = value.get(1..).unwrap_or(&[]);
        if is_secret(name) {
            let (sum, length) = (crc32fast::hash(value), value.len() as u32);
            told(
                StartId::SECRET,
                &[&sum.to_le_bytes(), &length.to_le_bytes(), name],
            );
        } else {
            told(StartId::VARIABLE, &[variable]);
        }
    }
    for (address, path) in files(pid) {
        let Ok(bytes) = fs::read(&path) else { continue };
        let sum = crc32fast::hash(&bytes);
        told(
            StartId::FILE,
            &[&address.to_le_bytes(), &sum.to_le_bytes(), path.as_bytes()],
        );
    }
    for (fd, target) in descriptors(pid) {
        told(StartId::DESCRIPTOR, &[&fd.to_le_bytes(), target.as_bytes()]);
        if let Some(held) = held(pid, fd) {
            told(StartId::HELD, &[&fd.to_le_bytes(), &held]);
        }
        if let Some((rows, columns)) = terminal_size(pid, fd) {
            let size = [rows.to_le_bytes(), columns.to_le_bytes()];
            told(StartId::TERMINAL, &[&fd.to_le_bytes(), size.as_flattened()]);
        }
    }
}

/// What the recording tells besides.
fn kept_besides(pid: u32, seen: &Seen) -> u8 {
    u8::from(random_addresses(pid))
        | u8::from(seen.forked) << 1
        // The order of locks is recorded as well.
        | 4
        | u8::from(seen.one_thread) << 3
        | u8::from(seen.log) << 4
        // Rings lie out of the way.
        | 32
        // Barriers, eventfds and the like are recorded.
        | 64
        // So is what is read of the standard input through the C library's streams.
        | 128
}

fn is_secret(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_uppercase();
    SECRET.iter().any(|part| name.contains(part)) || name.ends_with("_KEY")
}

fn random_addresses(pid: u32) -> bool {
    let text = look::told(pid, "personality");
    let flags = u32::from_str_radix(text.trim(), 16).unwrap_or(0);
    flags & libc::ADDR_NO_RANDOMIZE as u32 == 0
}

fn parent(pid: u32) -> u32 {
    let parent = field(&look::told(pid, "status"), "PPid:").and_then(|number| number.parse().ok());
    parent.unwrap_or(0)
}

/// The path that the kernel was given to start it.
fn started_as(pid: u32) -> Option<Vec<u8>> {
    const AT_EXECFN: u64 = 31;
    let vector = fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let (pairs, _) = vector.as_chunks::<16>();
    let place = pairs.iter().find_map(|pair| {
        let word = |at: usize| Some(u64::from_ne_bytes(*pair.get(at..)?.first_chunk()?));
        (word(0)? == AT_EXECFN).then(|| word(8))?
    })?;
    let mut path = [0; 4096];
    let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let length = memory.read_at(&mut path, place).ok()?;
    let path = path.get(..length)?;
    Some(path.split(|byte| *byte == 0).next()?.to_vec())
}

/// The program and its libraries: where each begins in memory. Without the recorder's own.
fn files(pid: u32) -> Vec<(u64, String)> {
    let text = look::told(pid, "maps");
    let mut seen = BTreeSet::new();
    let lines = text.lines().filter_map(|line| {
        let mut words = line.splitn(6, ' ');
        let start = words.next()?.split('-').next()?;
        let path = words.last()?.trim_start();
        let own = path.contains("/.netreel-");
        let file = path.starts_with('/') && !own && !path.ends_with(" (deleted)");
        let first = file && seen.insert(path.to_owned());
        first.then(|| Some((u64::from_str_radix(start, 16).ok()?, path.to_owned())))?
    });
    lines.collect()
}

/// A line of what the kernel says of a descriptor.
fn line(pid: u32, fd: i32, name: &str) -> Option<String> {
    let text = look::told(pid, &format!("fdinfo/{fd}"));
    field(&text, name).map(str::to_owned)
}

fn flags(pid: u32, fd: i32) -> u32 {
    let flags = line(pid, fd, "flags:");
    flags.map_or(0, |it| u32::from_str_radix(&it, 8).unwrap_or(0))
}

/// More of a descriptor that leads to a file, or to nothing, as [`StartId::HELD`] has it behind the number.
fn held(pid: u32, fd: i32) -> Option<Vec<u8>> {
    let path = format!("/proc/{pid}/fd/{fd}");
    let file = fs::metadata(&path).ok()?;
    let position: u64 = line(pid, fd, "pos:")?.parse().ok()?;
    let is_nothing = || fs::read_link(&path).is_ok_and(|it| it == Path::new("/dev/null"));
    (file.is_file() || is_nothing()).then(|| {
        let changed = file.mtime().wrapping_mul(1_000_000_000);
        let mut held = flags(pid, fd).to_le_bytes().to_vec();
        held.extend_from_slice(&position.to_le_bytes());
        held.extend_from_slice(&file.len().to_le_bytes());
        held.extend_from_slice(&changed.wrapping_add(file.mtime_nsec()).to_le_bytes());
        held
    })
}

/// How many rows and columns the terminal has that a descriptor leads to.
fn terminal_size(pid: u32, fd: i32) -> Option<(u16, u16)> {
    let path = format!("/proc/{pid}/fd/{fd}");
    if !is_terminal(&fs::read_link(&path).ok()?.to_string_lossy()) {
        return None;
    }
    let mut options = fs::File::options();
    let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
    let terminal = options.read(true).custom_flags(flags).open(path).ok()?;
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: a descriptor that is open, and a place for what is asked for.
    let asked = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (asked == 0).then_some((size.ws_row, size.ws_col))
}

/// The descriptors that it has from whoever started it: what each leads to. Sockets that it has made
/// itself are left out, which end with the program; one of them is the way to the recorder.
fn descriptors(pid: u32) -> Vec<(i32, String)> {
    let udp: BTreeSet<u64> = look::udp_sockets(pid).into_iter().map(|it| it.0).collect();
    let all = look::descriptors(pid);
    let given = all.filter_map(|(fd, target)| match look::inode(&target) {
        Some(inode) if udp.contains(&inode) => Some((fd, "udp socket".to_owned())),
        Some(_) if flags(pid, fd) & libc::O_CLOEXEC as u32 != 0 => None,
        _ => Some((fd, target)),
    });
    let mut found: Vec<(i32, String)> = given.collect();
    found.sort();
    found
}

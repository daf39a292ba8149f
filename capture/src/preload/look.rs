//! What `/proc` says of a recorded process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Its program, by the name of the file.
pub(super) fn program(pid: u32) -> String {
    let path = path(pid).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.map_or_else(|| "program".to_owned(), |name| name.into_owned());
    // A file that was replaced meanwhile.
    name.trim_end_matches(" (deleted)").replace('/', "_")
}

/// What the kernel says of a process in one of its texts; empty where it does not.
pub(super) fn told(pid: u32, text: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{text}")).unwrap_or_default()
}

/// What stands behind a name at the start of a line.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// The same of a set of signals.
pub(super) fn signals(text: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(field(text, name)?, 16).ok()
}

/// Its program.
pub(super) fn path(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Its arguments.
pub(super) fn arguments(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = words(&bytes).map(String::from_utf8_lossy);
    text.map(|argument| argument.into_owned()).collect()
}

/// What the kernel says in words that each end with a zero.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    text.split(|byte| *byte == 0)
}

/// A checksum of its program, with the path.
pub(super) fn hash(pid: u32) -> Option<(String, String)> {
    let bytes = fs::read(format!("/proc/{pid}/exe")).ok()?;
    let path = path(pid)?.display().to_string();
    Some((path, format!("crc32 {:08x}", crc32fast::hash(&bytes))))
}

/// Whether a program was linked with AddressSanitizer's library, whose name stands in it.
pub(super) fn has_address_sanitizer(program: &Path) -> bool {
    let bytes = fs::read(program).unwrap_or_default();
    let names: [&[u8]; 2] = [b"\0libasan.so", b"\0libclang_rt.asan"];
    names
        .iter()
        .any(|name| bytes.windows(name.len()).any(|part| part == *name))
}

/// The inode of the socket behind a descriptor of a process or thread.
pub(super) fn socket(pid: u32, fd: i32) -> Option<u64> {
    let target = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    inode(&target.to_string_lossy())
}

/// That of the socket which a descriptor leads to.
pub(super) fn inode(target: &str) -> Option<u64> {
    let number = target.strip_prefix("socket:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// The UDP sockets that have a port, as a process or thread sees them: their inodes, and how many
/// packets the kernel dropped because a receive buffer was full.
pub(super) fn udp_sockets(pid: u32) -> Vec<(u64, u64)> {
    let mut sockets = Vec::new();
    for table in ["udp", "udp6"] {
        let text = told(pid, &format!("net/{table}"));
        for line in text.lines().skip(1) {
            let mut columns = line.split_whitespace();
            let inode = columns.nth(9).and_then(|inode| inode.parse().ok());
            let drops = columns.next_back().and_then(|drops| drops.parse().ok());
            sockets.extend(inode.map(|inode| (inode, drops.unwrap_or(0))));
        }
    }
    sockets
}

/// The inodes of the sockets that it has open.
pub(super) fn sockets(pid: u32) -> BTreeSet<u64> {
    let targets = descriptors(pid).map(|(_, target)| target);
    targets.filter_map(|target| inode(&target)).collect()
}

/// Whether it has a socket that is not known to be a Unix one.
pub(super) fn may_carry_packets(pid: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return true;
    };
    let targets: Option<Vec<PathBuf>> = descriptors
        .map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .collect();
    let Some(targets) = targets else { return true };
    let table = told(pid, "net/unix");
    let lines = table.lines().skip(1);
    let unix: BTreeSet<u64> = lines
        .filter_map(|line| line.split_whitespace().nth(6)?.parse().ok())
        .collect();
    let mut sockets = targets.iter().filter_map(|it| inode(&it.to_string_lossy()));
    sockets.any(|socket| !unix.contains(&socket))
}

/// Its open descriptors, and what each leads to.
pub(super) fn descriptors(pid: u32) -> impl Iterator<Item = (i32, String)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    entries.flatten().flatten().filter_map(|entry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        let target = fs::read_link(entry.path()).ok()?;
        Some((fd, target.to_string_lossy().into_owned()))
    })
}

/// What its open descriptors come to.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// Whether one of them is an io_uring.
    pub io_uring: bool,
    /// Of each of its UDP sockets, by inode, how many packets the kernel dropped because the
    /// receive buffer was full.
    pub drops: Vec<(u64, u64)>,
}

/// The UDP sockets of the machine during one look at several processes: processes that share a
/// network share the tables.
#[derive(Debug, Default)]
pub(super) struct Sockets(BTreeMap<PathBuf, BTreeMap<u64, u64>>);

impl Sockets {
    /// Looks at the descriptors of a process; what cannot be read counts as nothing.
    pub fn of(&mut self, pid: u32) -> Descriptors {
        let mut found = Descriptors::default();
        let mut sockets = BTreeSet::new();
        for (_, target) in descriptors(pid) {
            found.io_uring |= target == "anon_inode:[io_uring]";
            sockets.extend(inode(&target));
        }
        if sockets.is_empty() {
            return found;
        }
        let network =
            fs::read_link(format!("/proc/{pid}/ns/net")).unwrap_or_else(|_| pid.to_string().into());
        let table = self.0.entry(network);
        let table = table.or_insert_with(|| udp_sockets(pid).into_iter().collect());
        let own = sockets.into_iter();
        found.drops = own
            .filter_map(|inode| Some((inode, *table.get(&inode)?)))
            .collect();
        found
    }
}

//! Programs that a preloaded library cannot record, recognised before they start.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::wanted::Escape;

/// Why a program with AddressSanitizer refuses to run.
pub(super) const ADDRESS_SANITIZER: &str = "It is built with AddressSanitizer, which refuses to run beside \
other preloaded libraries: set ASAN_OPTIONS=verify_asan_link_order=0";

/// Looks at the program that would run, through the interpreters of scripts.
pub fn check_program(path: &Path) -> Result<(), Escape> {
    check(path, 4)
}

fn check(path: &Path, depth: u32) -> Result<(), Escape> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut head = [0; 256];
    let length = read_up_to(&file, &mut head)?;
    let head = head.get(..length).unwrap_or(&[]);
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
        let text = String::from_utf8_lossy(line);
        let interpreter = text.split_whitespace().next();
        return match interpreter.filter(|_| depth > 0) {
            Some(interpreter) => check(Path::new(interpreter), depth - 1),
            None => Err(Escape::NotAProgram),
        };
    }
    let user = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let mode = metadata.permissions().mode();
    let set_user = mode & 0o4000 != 0 && metadata.uid() != user;
    let set_group = mode & 0o2010 == 0o2010 && metadata.gid() != group;
    if set_user || set_group || (user != 0 && has_capabilities(path)) {
        return Err(Escape::Setuid);
    }
    check_elf(&file, head)
}

fn has_capabilities(path: &Path) -> bool {
    let mut value = [0u8; 64];
    rustix::fs::getxattr(path, "security.capability", &mut value).is_ok()
}

const MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};
/// No program has more of either.
const TABLE_MAX: usize = 4096;
const NAMES_MAX: u64 = 1 << 20;

fn check_elf(file: &File, head: &[u8]) -> Result<(), Escape> {
    let (u16_at, u64_at) = (|at| u16_in(head, at), |at| u64_in(head, at));
    if head.get(..4) != Some(b"\x7fELF") {
        return Err(Escape::NotAProgram);
    }
    match (head.get(4), head.get(5)) {
        (Some(2), Some(1)) => {}
        (Some(1), _) => return Err(Escape::Bits32),
        _ => return Err(Escape::OtherMachine),
    }
    if u16_at(18) != Some(MACHINE) {
        return Err(Escape::OtherMachine);
    }
    let headers = u64_at(32).zip(u16_at(54)).zip(u16_at(56));
    let ((offset, size), count) = headers.ok_or(Escape::NotAProgram)?;
    let (mut interpreter, mut dynamic) = (None, None);
    for entry in entries(file, (offset, size, count)) {
        const PT_DYNAMIC: u32 = 2;
        const PT_INTERP: u32 = 3;
        let place = match u32_in(&entry, 0) {
            Some(PT_DYNAMIC) => &mut dynamic,
            Some(PT_INTERP) => &mut interpreter,
            _ => continue,
        };
        *place = u64_in(&entry, 8).zip(u64_in(&entry, 32));
    }
    let sections = u64_at(40).zip(u16_at(58)).zip(u16_at(60)).zip(u16_at(62));
    if let Some((((offset, size), count), names)) = sections
        && is_go(file, offset, size, count, names)
    {
        return Err(Escape::Go);
    }
    let Some((at, length)) = interpreter else {
        // The loader loads the library, and then the program that it is given.
        return match dynamic.and_then(|(at, length)| own_name(file, at, length)) {
            Some(name) if name.starts_with(b"ld-linux") || name.starts_with(b"ld.so") => Ok(()),
            _ => Err(Escape::Static),
        };
    };
    let name = bytes(file, at, length.min(4096)).unwrap_or_default();
    if name.windows(4).any(|part| part == b"musl") {
        return Err(Escape::Musl);
    }
    Ok(())
}

/// The beginning of the name that a library has for others (its SONAME), from its dynamic section;
/// for those whose names lie in the file as in memory, as the loader's do.
fn own_name(file: &File, at: u64, length: u64) -> Option<Vec<u8>> {
    const DT_STRTAB: u64 = 5;
    const DT_SONAME: u64 = 14;
    let section = bytes(file, at, length.min(NAMES_MAX))?;
    let value = |tag: u64| {
        let mut entries = section.chunks_exact(16);
        let entry = entries.find(|entry| u64_in(entry, 0) == Some(tag))?;
        u64_in(entry, 8)
    };
    bytes(file, value(DT_STRTAB)?.checked_add(value(DT_SONAME)?)?, 8)
}

/// Whether the program has the section in which the Go linker notes its version.
fn is_go(file: &File, offset: u64, size: u16, count: u16, names: u16) -> bool {
    let names = entry(file, offset, size, usize::from(names))
        .and_then(|names| u64_in(&names, 24).zip(u64_in(&names, 32)))
        .and_then(|(at, length)| bytes(file, at, length.min(NAMES_MAX)));
    let Some(names) = names else { return false };
    entries(file, (offset, size, count))
        .filter_map(|section| names.get(u32_in(&section, 0)? as usize..))
        .any(|name| name.starts_with(b".go.buildinfo\0") || name.starts_with(b".note.go.buildid\0"))
}

/// The entries of a table, up to the first that cannot be read: where it begins, how long each is, and
/// how many there are.
fn entries(file: &File, (offset, size, count): (u64, u16, u16)) -> impl Iterator<Item = Vec<u8>> {
    let places = 0..usize::from(count).min(TABLE_MAX);
    places.map_while(move |index| entry(file, offset, size, index))
}

fn entry(file: &File, offset: u64, size: u16, index: usize) -> Option<Vec<u8>> {
    let at = offset.checked_add(u64::from(size).checked_mul(index as u64)?)?;
    bytes(file, at, u64::from(size))
}

fn bytes(file: &File, at: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn u16_in(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_in(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_in(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn read_up_to(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Whether an executable part of the program holds the bytes of the instruction that enters the
/// kernel. One without cannot go past the hooks by itself; in one with, they may be part of
/// something else.
pub(super) fn has_system_calls(path: &Path) -> bool {
    look_for_system_calls(path).unwrap_or(true)
}

fn look_for_system_calls(path: &Path) -> Option<bool> {
    let file = File::open(path).ok()?;
    let head = bytes(&file, 0, 64)?;
    let table = (u64_in(&head, 32)?, u16_in(&head, 54)?, u16_in(&head, 56)?);
    const PT_LOAD: u32 = 1;
    const EXECUTE: u32 = 1;
    let loaded: Vec<Vec<u8>> = entries(&file, table)
        .filter(|entry| u32_in(entry, 0) == Some(PT_LOAD))
        .collect();
    let starts = loaded.iter().filter_map(|entry| u64_in(entry, 16));
    let ends = loaded
        .iter()
        .filter_map(|entry| u64_in(entry, 16)?.checked_add(u64_in(entry, 40)?));
    let memory = starts.min().unwrap_or(0)..ends.max().unwrap_or(0);
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let is_code = |entry: &&Vec<u8>| u32_in(entry, 4).is_some_and(|flags| flags & EXECUTE != 0);
    Some(loaded.iter().filter(is_code).any(|entry| {
        let place = u64_in(entry, 8).zip(u64_in(entry, 32));
        let text = place.and_then(|(at, size)| bytes(&file, at, size.min(length)));
        let start = u64_in(entry, 16).unwrap_or(0);
        text.is_none_or(|text| enters_kernel(&text, start, &memory))
    }))
}

/// Whether the bytes of the instruction stand in `text` where they may be one. It lies at `start`, of a
/// program that takes this `memory`.
fn enters_kernel(text: &[u8], start: u64, memory: &Range<u64>) -> bool {
    (0..text.len()).any(|at| {
        let (before, rest) = text.split_at(at);
        let Some(behind) = rest.strip_prefix(SYSTEM_CALL) else {
            return false;
        };
        // Of a distance, which counts from behind its four bytes.
        let from = start.wrapping_add(at as u64 + 4);
        !(cfg!(target_arch = "x86_64")
            && (is_in_distance(behind)
                || leads_into(before, rest, from, memory)
                || before.ends_with(SIGNALS_RETURN)))
    })
}

/// Whether the bytes in front of `rest` are the lower half of a distance in the program, by the
/// upper half of it. As an instruction, those would write to what the system call has returned; or
/// they fill the text up, and then more of the same follows.
fn is_in_distance(rest: &[u8]) -> bool {
    let upper = matches!(rest, [0, ..] | [0..0x40, 0, ..]);
    let fills = rest.iter().take(8).all(|byte| *byte == 0);
    upper && !fills
}

/// Whether the bytes stand where a jump, a call or an address in the program has its distance, and lead into
/// the program as one.
fn leads_into(before: &[u8], rest: &[u8], from: u64, memory: &Range<u64>) -> bool {
    let jumps = matches!(before, [.., 0xe8 | 0xe9] | [.., 0x0f, 0x80..=0x8f]);
    let addresses = matches!(before, [.., mode] if mode & 0xc7 == 0x05);
    let distance = rest.first_chunk().map(|four| i32::from_le_bytes(*four));
    let target = distance.map(|distance| from.wrapping_add_signed(distance.into()));
    (jumps || addresses) && target.is_some_and(|target| memory.contains(&target))
}

/// What stands before the instruction where it returns from a signal's handler, which is none of the
/// recorder's. Who unwinds the stack looks for such a place, and has its bytes as a number.
const SIGNALS_RETURN: &[u8] = b"\xc7\xc0\x0f\0\0\0";

const SYSTEM_CALL: &[u8] = if cfg!(target_arch = "aarch64") {
    &[0x01, 0x00, 0x00, 0xd4]
} else {
    &[0x0f, 0x05]
};

/// Where the shell would find a program: itself where it has a slash, else the first of that name
/// in `PATH` that may be run.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    let may_run = |path: &Path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 || name.is_absolute() {
        return may_run(name).then(|| name.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| may_run(path))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: bool) {
        // In a program of 16 MB that has this in its middle.
        let (start, memory) = (0x80_0000, 0x40_0000..0x140_0000);
        assert_eq!(enters_kernel(text, start, &memory), expected, "{text:x?}");
    }

    #[test]
    fn the_instructions_bytes_in_a_distance_are_none() {
        // call, lea and jz over 0x50f bytes and more, as in bash and ioquake3.
        check(b"\xe8\x29\x0f\x05\x00\x83\x3d\x36", false);
        check(b"\x48\x8d\x35\x0f\x05\x07\x00\x31\xff\x31", false);
        check(b"\x0f\x84\x0f\x05\x00\x00\x44\x39", false);
        // jmp, jz and lea backwards and far, as in Python and supertuxkart.
        check(b"\xff\xe9\x0f\x05\xe9\xff\xe9\x0a", false);
        check(b"\x01\x0f\x84\x0f\x05\xe1\xff\x48\x8b", false);
        check(b"\x4c\x8d\x25\x0f\x05\x91\x00\x48\x8d", false);
    }

    #[test]
    fn the_instruction_that_an_unwinder_looks_for_is_none() {
        // As in gcc: movabs $0x50f0000000fc0c7, %rcx; cmp %rcx, 1(%rdx).
        check(b"\x48\xb9\xc7\xc0\x0f\0\0\0\x0f\x05\x48\x39\x4a\x01", false);
    }

    #[test]
    fn the_instruction_is_seen_wherever_it_stands() {
        check(b"\x0f\x05\x48\x3d\x01\xf0\xff\xff", true);
        check(b"\xe8\x29\x0f\x05\x00\x83\x0f\x05\xc3\x90", true);
        check(b"\xb8\x3c\0\0\0\x0f\x05", true);
        check(b"\x0f\x05\0\0\0\0\0\0\0\0\x55", true);
        // mov %ebp, %eax; syscall; and what it returned is compared, kept, or handed on.
        check(b"\x89\xe8\x0f\x05\x48\x3d\x01\xf0", true);
        check(b"\x89\xe8\x0f\x05\x89\xc3\x85\xc0", true);
        check(b"\x89\xe8\x0f\x05\xc3\x90\x90\x90", true);
    }
}

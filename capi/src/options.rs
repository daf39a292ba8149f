//! From `netreel_options` to a recorder.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netreel_record::ring_mode::Ring;
use netreel_record::{Limits, Options, WhenFull, clock_anchor};
use netreel_reel::{Header, WireText};

use crate::error::{Failure, failure};
use crate::memory::{bytes, items, null, read_sized, text};
use crate::types::{
    CLOCK_MONOTONIC, COptions, CText, DROP_WHEN_FULL, E_ARGUMENT, E_UNSUPPORTED, HANDLES_MAX,
    REPLACE, ZSTD,
};

/// What to record, and how.
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) options: Options,
    /// Threads at a time.
    pub(crate) threads_max: u32,
    /// Clock reads of the engine are `CLOCK_MONOTONIC`.
    pub(crate) clock_is_monotonic: bool,
}

/// Reads the options of the caller.
///
/// # Safety
/// `options` is null, or as `netreel.h` says.
pub(crate) unsafe fn read(options: *const COptions) -> Result<Wanted, Failure> {
    // SAFETY: promised by the caller, as for all reads below.
    let given = unsafe { read_sized(options)? };
    let known = REPLACE | DROP_WHEN_FULL | CLOCK_MONOTONIC | ZSTD;
    if given.flags & !known != 0 || given.reserved != 0 {
        let flags = given.flags & !known;
        return Err(failure(
            E_UNSUPPORTED,
            format!(
                "netreel_options.flags {flags:#x} or reserved {} are not known to this library: \
                 leave them 0 or use a newer libnetreel",
                given.reserved
            ),
        ));
    }
    // SAFETY: as above.
    let path = unsafe { read_path(given.path, "netreel_options.path")? };
    // SAFETY: as above.
    let header = unsafe { header(&given, &path)? };
    Ok(Wanted {
        path,
        header,
        options: recorder_options(&given),
        threads_max: threads_max(&given),
        clock_is_monotonic: given.flags & CLOCK_MONOTONIC != 0,
    })
}

/// A path: any bytes but zero, as the operating system has it.
///
/// # Safety
/// `path` is null, or ends with a zero byte.
pub(crate) unsafe fn read_path(
    path: *const std::ffi::c_char,
    name: &str,
) -> Result<PathBuf, Failure> {
    if path.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, so the caller promised it.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.is_empty() {
        return Err(failure(E_ARGUMENT, format!("{name} is empty")));
    }
    Ok(netreel_system::os_text(path).into())
}

unsafe fn header(given: &COptions, path: &Path) -> Result<Header, Failure> {
    // SAFETY: promised by the caller of `read`, as for all reads below.
    let mut node = unsafe { text(given.node) };
    if node.is_empty() {
        node = path
            .file_stem()
            .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    }
    let pairs = |pairs: &[CText]| {
        let both = pairs.iter().map(|pair| {
            // SAFETY: as above.
            unsafe { (text(pair.name), text(pair.text)) }
        });
        both.collect::<Vec<_>>()
    };
    // SAFETY: as above.
    unsafe {
        let start = bytes(given.start, given.start_length, "netreel_options.start")?;
        let args = items(given.args, given.args_count, "netreel_options.args")?;
        let wires = items(given.wires, given.wires_count, "netreel_options.wires")?;
        let seeds = items(given.seeds, given.seeds_count, "netreel_options.seeds")?;
        let hashes = items(given.hashes, given.hashes_count, "netreel_options.hashes")?;
        Ok(Header {
            node,
            session: given.session,
            clock: clock_anchor(),
            engine: text(given.engine),
            build: text(given.build),
            args: args.iter().map(|argument| text(*argument)).collect(),
            start: start.to_vec(),
            seeds: seeds.iter().map(|it| (text(it.name), it.value)).collect(),
            hashes: pairs(hashes),
            wires: pairs(wires)
                .into_iter()
                .map(|(name, text)| WireText { name, text })
                .collect(),
            redacted: None,
        })
    }
}

fn threads_max(given: &COptions) -> u32 {
    match given.threads_max {
        0 => 16,
        wanted => wanted.min(HANDLES_MAX as u32),
    }
}

fn limits(bytes: u64, ms: u64) -> Limits {
    Limits {
        bytes: (bytes != 0).then_some(bytes),
        time: (ms != 0).then(|| Duration::from_millis(ms)),
    }
}

fn recorder_options(given: &COptions) -> Options {
    let usual = Options::default();
    let ring = limits(0, given.ring_ms).time.map(Ring::new);
    Options {
        replace: given.flags & REPLACE != 0,
        when_full: match given.flags & DROP_WHEN_FULL {
            0 => usual.when_full,
            _ => WhenFull::Drop,
        },
        ring_capacity: match given.buffer_bytes {
            0 => usual.ring_capacity,
            bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
        },
        // The ring of a thread that was closed is free once what it holds is written; triggers have one.
        pushers_max: 2 * threads_max(given) as usize + usize::from(ring.is_some()),
        rotate: limits(given.rotate_bytes, given.rotate_ms),
        keep: limits(given.keep_bytes, given.keep_ms),
        max: limits(given.max_bytes, given.max_ms),
        zstd: given.flags & ZSTD != 0,
        ring,
        ..usual
    }
}

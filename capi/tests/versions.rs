//! An old plugin works with a newer library, and the other way round.

mod support;

use std::mem::{MaybeUninit, offset_of};
use std::path::Path;
use std::process::Command;

use netreel::types::*;
use netreel::{Api, netreel_load};
use support::{C99, checked, file};

/// Compiles `versions.c` with the header as `change` makes it, and runs it.
fn run(define: &str, change: impl Fn(&str) -> String) -> Option<(String, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let header = std::fs::read_to_string(file("include/netreel.h")).unwrap();
    let changed = change(&header);
    assert_ne!(changed, header);
    std::fs::write(folder.path().join("netreel.h"), changed).unwrap();
    // A file's own folder does not come before -I for <netreel.h>: so another include path would.
    let text = std::fs::read_to_string(file("tests/programs/versions.c")).unwrap();
    let text = text.replace("<netreel.h>", "\"netreel.h\"");
    let source = folder.path().join("versions.c");
    std::fs::write(&source, format!("#define {define} 1\n{text}")).unwrap();
    let program = C99.build(&source, folder.path(), &[])?;
    let reel = folder.path().join("a.reel");
    let said = checked(Command::new(program).arg(&reel));
    check_reel(&reel);
    Some((said, folder))
}

fn check_reel(path: &Path) {
    let reel = netreel_record::open(path).unwrap();
    assert_eq!((reel.len(), reel.header().node.as_str()), (1, "a"));
}

/// Takes out what stands from the line with `from` up to the line with `to`, `to` excluded.
fn cut(text: &str, from: &str, to: &str) -> String {
    let start = text.find(from).expect(from);
    let end = start + text[start..].find(to).expect(to);
    format!("{}{}", &text[..start], &text[end..])
}

#[test]
fn a_plugin_with_an_older_header_works() {
    let older = |header: &str| {
        let header = cut(header, "    uint64_t ring_ms;", "} netreel_options;");
        let header = cut(&header, "    uint64_t dropped; ", "} netreel_summary;");
        let replay = "    /*\n     * ---- Replay ----";
        cut(&header, replay, "} netreel_api;")
    };
    let Some((said, _)) = run("OLDER", older) else {
        return;
    };
    let (theirs, ours) = (offset_of!(Api, replay_open), size_of::<Api>());
    assert_eq!(said, format!("table of {theirs} bytes, {ours} known\n"));
}

#[test]
fn a_plugin_with_a_newer_header_works_and_an_option_that_is_not_known_is_refused() {
    let newer = |header: &str| {
        let add = |text: String, field: &str, end: &str| {
            text.replace(end, &format!("    {field}\n{end}"))
        };
        let header = add(header.to_owned(), "uint64_t newer;", "} netreel_options;");
        let header = add(header, "uint64_t newer;", "} netreel_summary;");
        add(header, "int32_t (*newer)(void);", "} netreel_api;")
    };
    let Some((said, _)) = run("NEWER", newer) else {
        return;
    };
    let known = size_of::<Api>();
    let field = size_of::<COptions>();
    assert!(
        said.contains(&format!("netreel_options has a field at byte {field}")),
        "{said}"
    );
    let table = format!("table of {} bytes, {known} known", known + 8);
    assert!(said.contains(&table), "{said}");
}

/// Loads a table of `size` bytes into memory that is full of 0xee.
fn load(size: usize) -> (i32, Vec<u8>) {
    let mut memory = vec![0xeeu64; 4096 / 8 + 1];
    let place = memory.as_mut_ptr().cast::<Api>();
    let bytes = memory.len() * 8;
    // SAFETY: `size` is at most what the memory has.
    unsafe {
        place.cast::<u8>().write_bytes(0xee, bytes);
        let code = netreel_load(place, u32::try_from(size).unwrap(), API_VERSION);
        let bytes = std::slice::from_raw_parts(place.cast::<u8>(), bytes);
        (code, bytes.to_vec())
    }
}

#[test]
fn a_table_of_any_size_is_filled_to_its_end_and_no_further() {
    let (_, whole) = load(size_of::<Api>());
    for size in 8..size_of::<Api>() + 40 {
        let (code, bytes) = load(size);
        assert_eq!(code, OK);
        assert!(bytes[size..].iter().all(|byte| *byte == 0xee), "{size}");
        for (at, slot) in bytes[..size].chunks(8).enumerate() {
            let is = whole.get(at * 8..at * 8 + 8);
            let expected = match is.filter(|_| at * 8 < size_of::<Api>()) {
                // A slot that is not whole is none.
                Some(slot) if at * 8 + 8 <= size => slot,
                _ => &[0; 8][..slot.len()],
            };
            if at > 0 {
                assert_eq!(slot, expected, "slot {at} of a table of {size} bytes");
            }
        }
    }
}

#[test]
fn sizes_and_versions_that_cannot_be_are_refused() {
    assert_eq!(load(0).0, E_ARGUMENT);
    assert_eq!(load(7).0, E_ARGUMENT);
    let mut api = MaybeUninit::<Api>::uninit();
    // SAFETY: nothing is written where the arguments are refused.
    unsafe {
        assert_eq!(netreel_load(std::ptr::null_mut(), 8, 1), E_ARGUMENT);
        assert_eq!(netreel_load(api.as_mut_ptr(), u32::MAX, 1), E_ARGUMENT);
        assert_eq!(netreel_load(api.as_mut_ptr(), 8, 0), E_VERSION);
        assert_eq!(netreel_load(api.as_mut_ptr(), 8, 2), E_VERSION);
    }
}

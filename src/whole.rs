//! Small files that are there whole or not at all, and folders that are empty at first.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// Writes a file under another name beside it, which then takes its place: whoever reads it meanwhile
/// has it as it was. A link of that name is not followed, wherever a stranger made it lead.
///
/// # Errors
/// The operating system's.
pub fn write(file: &Path, text: &str) -> io::Result<()> {
    let name = file.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut fresh = name.to_owned();
    fresh.push(format!(".{}.new", std::process::id()));
    let fresh = file.with_file_name(fresh);
    let open = || OpenOptions::new().write(true).create_new(true).open(&fresh);
    let opened = open().or_else(|error| match error.kind() {
        // Of one that was killed while it wrote.
        ErrorKind::AlreadyExists => fs::remove_file(&fresh).and_then(|()| open()),
        _ => Err(error),
    });
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    let placed = written.and_then(|()| fs::rename(&fresh, file));
    if placed.is_err() {
        // It may never have been made.
        drop(fs::remove_file(&fresh));
    }
    placed
}

/// Reads a file that may be a stranger's: no pipe that nobody writes to, and none of more bytes than
/// `most`.
///
/// # Errors
/// The operating system's, or why it is none of ours.
pub fn read(file: &Path, most: u64) -> io::Result<String> {
    let found = fs::metadata(file)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    let mut text = String::new();
    fs::File::open(file)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Makes a folder where there is none. Whether it is empty.
pub fn make_empty(folder: &Path) -> io::Result<bool> {
    fs::create_dir_all(folder)?;
    Ok(fs::read_dir(folder)?.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_a_stranger_laid_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("mine");
        fs::write(&own, "my own").expect("a file");
        let file = folder.path().join("kept.json");
        let fresh = format!("kept.json.{}.new", std::process::id());
        std::os::unix::fs::symlink(&own, folder.path().join(fresh)).expect("a link");
        std::os::unix::fs::symlink(&own, &file).expect("a link");
        write(&file, "ours").expect("written");
        assert_eq!(fs::read_to_string(&own).expect("a file"), "my own");
        assert_eq!(read(&file, 10).expect("a file"), "ours");
    }

    #[test]
    fn what_is_no_file_or_too_long_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(folder.path(), 10).is_err());
        let file = folder.path().join("long");
        write(&file, "eleven here").expect("written");
        let why = read(&file, 10).expect_err("too long").to_string();
        assert_eq!(why, "it has more than 10 bytes");
    }
}

//! Checksums of files, each read once: a program of a gigabyte is asked for more than once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The CRC-32 of files, by what their paths lead to.
pub struct Sums {
    known: BTreeMap<PathBuf, Option<u32>>,
    read: fn(&Path) -> Option<u32>,
}

impl Sums {
    /// Reads files as they are now.
    pub fn new() -> Sums {
        Sums::by(netreel_capture::preload::sum_of_file)
    }

    fn by(read: fn(&Path) -> Option<u32>) -> Sums {
        let known = BTreeMap::new();
        Sums { known, read }
    }

    /// That of the file at this path; `None` where it cannot be read.
    pub fn of(&mut self, path: &Path) -> Option<u32> {
        let file = path.canonicalize().ok()?;
        let read = self.read;
        *self.known.entry(file).or_insert_with_key(|file| read(file))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static READ: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn a_file_is_read_once_whatever_path_leads_to_it() {
        let mut sums = Sums::by(|file| {
            READ.with(|read| read.set(read.get() + 1));
            netreel_capture::preload::sum_of_file(file)
        });
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("program"), folder.path().join("link"));
        std::fs::write(&file, "abc").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link, &file] {
            assert_eq!(sums.of(path), Some(0x3524_41c2));
        }
        assert_eq!(READ.with(Cell::get), 1);
        assert_eq!(sums.of(&folder.path().join("none")), None);
    }
}

//! The file of a session's index: where it lies, how it is mapped, how it gets there.
//!
//! It lies beside the reels, or where nothing can be written there, in the user's cache folder. It
//! is written under another name and put in place whole: whoever reads sees an old one or a new
//! one. A name of a writer that was killed is removed by the next. Of the indexes of one session, of
//! which there is one for each wire that it was read by, the last few are kept.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use memmap2::Mmap;
use netreel_system::file::{lock, try_lock};

/// Where an index may be.
#[derive(Clone, Debug)]
pub struct IndexFile {
    /// How the names of all indexes of the session begin.
    family: String,
    name: String,
    /// The first that can be written is taken.
    folders: Vec<PathBuf>,
}

/// A name under way ends so.
const UNDER_WAY: &str = ".part";

/// How many indexes of one session are kept in a folder, those that were written last: whoever works
/// on a wire leaves one behind with each change.
const KEPT: usize = 4;

impl IndexFile {
    /// The index with this file name, of reels of which the first is at `reel`. The names of all
    /// indexes of these reels begin with `family`.
    pub fn new(reel: &Path, family: &str, name: &str) -> IndexFile {
        let beside = reel.parent().filter(|folder| *folder != Path::new(""));
        let beside = beside.unwrap_or(Path::new(".")).to_owned();
        let cache = netreel_system::folder::cache();
        let folders = [Some(beside), cache.map(|cache| cache.join("netreel"))];
        IndexFile {
            family: family.to_owned(),
            name: name.to_owned(),
            folders: folders.into_iter().flatten().collect(),
        }
    }

    /// The bytes of the index, mapped; `None` where there is none that can be read. The file is
    /// never changed, only replaced, so that what is mapped stays as it is.
    pub fn map(&self) -> Option<Bytes> {
        let mut files = self.folders.iter().map(|folder| folder.join(&self.name));
        files.find_map(|path| {
            let file = File::open(path).ok()?;
            // SAFETY: whoever follows this module's rules never changes the file in place. Who does
            // otherwise, or cuts it, may as well have changed the program.
            let map = unsafe { Mmap::map(&file) }.ok()?;
            Some(Bytes::from_owner(map))
        })
    }

    /// Writes the index anew; where it lies now.
    ///
    /// # Errors
    /// It could not be written, be it beside the reels or in the cache folder: the last of these, and
    /// the reason.
    pub fn write(
        &self,
        mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for (place, folder) in self.folders.iter().enumerate() {
            let made = match place {
                0 => Ok(()),
                _ => fs::create_dir_all(folder),
            };
            match made.and_then(|()| self.write_in(folder, &mut write)) {
                Ok(path) => return Ok(path),
                Err(error) => {
                    let told = format!("{}: {error}", folder.display());
                    failed = io::Error::new(error.kind(), told);
                }
            }
        }
        Err(failed)
    }

    fn write_in(
        &self,
        folder: &Path,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        self.tidy(folder);
        let part = folder.join(format!("{}.{}{UNDER_WAY}", self.name, std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)?;
        // Says to others that somebody writes it.
        let written = lock(&file).and_then(|()| write(&mut file));
        let path = folder.join(&self.name);
        let placed = written.and_then(|()| fs::rename(&part, &path));
        if placed.is_err() {
            let _ = fs::remove_file(&part);
        }
        placed.map(|()| {
            self.forget(folder);
            path
        })
    }

    /// Removes indexes of the session but the last few, and never this one.
    fn forget(&self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let others = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&self.family) && name.ends_with(".index") && name != self.name
        });
        let mut written: Vec<_> = others
            .filter_map(|entry| {
                let written = entry.metadata().and_then(|it| it.modified()).ok()?;
                Some((written, entry.path()))
            })
            .collect();
        written.sort();
        for (_, path) in written.iter().rev().skip(KEPT - 1) {
            // Somebody else may have removed it; whoever has it mapped keeps it.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes what writers left that were killed: nobody holds a lock on it.
    fn tidy(&self, folder: &Path) {
        let is_ours = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with(&self.name) && name.ends_with(UNDER_WAY)
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_ours(&entry.file_name())) {
            let Ok(file) = File::open(entry.path()) else {
                continue;
            };
            if try_lock(&file).unwrap_or(false) {
                // Somebody else may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(folder: &Path) -> IndexFile {
        IndexFile {
            family: ".netreel-7-".to_owned(),
            name: ".netreel-7-1.index".to_owned(),
            folders: vec![folder.to_owned()],
        }
    }

    #[test]
    fn what_was_written_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let index = index(folder.path());
        assert!(index.map().is_none());
        index.write(|out| out.write_all(b"one")).unwrap();
        let one = index.map().unwrap();
        index.write(|out| out.write_all(b"another")).unwrap();
        assert_eq!(&one[..], b"one", "whoever read goes on reading the old one");
        assert_eq!(&index.map().unwrap()[..], b"another");
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let index = index(folder.path());
        index.write(|out| out.write_all(b"one")).unwrap();
        let full = index.write(|out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(&index.map().unwrap()[..], b"one");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_is_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let index = index(folder.path());
        let name = |writer| folder.path().join(format!("{}.{writer}.part", index.name));
        std::fs::write(name(1), b"left").unwrap();
        let writing = File::create(name(2)).unwrap();
        assert!(try_lock(&writing).unwrap());
        index.write(|out| out.write_all(b"one")).unwrap();
        assert!(!name(1).exists());
        assert!(name(2).exists());
    }

    #[test]
    fn of_the_indexes_of_a_session_the_last_few_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(folder.path());
        std::fs::write(folder.path().join(".netreel-8-1.index"), b"of others").unwrap();
        for wire in 0..9 {
            index.name = format!(".netreel-7-{wire}.index");
            index.write(|out| out.write_all(b"one")).unwrap();
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(wire);
            let file = File::options()
                .write(true)
                .open(folder.path().join(&index.name));
            file.unwrap().set_modified(at).unwrap();
        }
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let kept = [5, 6, 7, 8].map(|wire| format!(".netreel-7-{wire}.index"));
        assert_eq!(names[..4], kept);
        assert_eq!(names[4..], [".netreel-8-1.index"]);
    }

    #[test]
    fn where_nothing_can_be_written_it_is_told_where() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), b"").unwrap();
        let mut index = index(&folder.path().join("gone"));
        let cache = folder.path().join("file/cache");
        index.folders.push(cache.clone());
        let error = index.write(|out| out.write_all(b"one")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("{}: ", cache.display()))
        );
    }

    #[test]
    fn where_nothing_can_be_written_the_next_folder_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(&folder.path().join("gone"));
        index.folders.push(folder.path().join("cache"));
        let path = index.write(|out| out.write_all(b"one")).unwrap();
        assert!(path.starts_with(folder.path().join("cache")));
        assert_eq!(&index.map().unwrap()[..], b"one");
    }
}

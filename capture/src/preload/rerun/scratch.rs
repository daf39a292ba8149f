//! The folder in which the files lie that a program changes while it is started again, each as the program
//! found it when it was recorded.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use netreel_reel::{FoundAs, FoundFile};

/// Gone when this is dropped.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder, and the files in it.
    pub fn new(folder: PathBuf, files: &[FoundFile]) -> io::Result<Scratch> {
        fs::create_dir(&folder)?;
        let scratch = Scratch(folder);
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o755))?;
        let mut files: Vec<&FoundFile> = files.iter().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let missing: BTreeSet<&[u8]> = files
            .iter()
            .filter(|it| it.was == FoundAs::Missing)
            .map(|it| it.path.as_slice())
            .collect();
        for file in files {
            // The program made the folder first, or could not.
            let mut above = Path::new(OsStr::from_bytes(&file.path))
                .ancestors()
                .skip(1)
                .map(|it| it.as_os_str().as_bytes());
            if !above.any(|folder| missing.contains(folder)) {
                scratch.put(file)?;
            }
        }
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn put(&self, file: &FoundFile) -> io::Result<()> {
        let path = Path::new(OsStr::from_bytes(&file.path));
        // A reel may say anything.
        let is_plain =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return Ok(());
        }
        let place = self.place(path);
        self.above(path)?;
        match &file.was {
            FoundAs::Missing | FoundAs::NotKept { .. } => Ok(()),
            FoundAs::Folder { mode } => {
                fs::create_dir(&place)?;
                owned_as(path, &place);
                fs::set_permissions(&place, Permissions::from_mode(*mode))
            }
            FoundAs::Link { target } => symlink(OsStr::from_bytes(target), &place),
            FoundAs::File {
                mode,
                changed,
                bytes,
            } => {
                let mut made = File::create_new(&place)?;
                made.write_all(bytes)?;
                owned_as(path, &place);
                made.set_permissions(Permissions::from_mode(*mode))?;
                let since = Duration::from_nanos(changed.unsigned_abs());
                let time = if *changed < 0 {
                    SystemTime::UNIX_EPOCH - since
                } else {
                    SystemTime::UNIX_EPOCH + since
                };
                made.set_modified(time)
            }
        }
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Makes the folders above a path that are there for the program; one that it makes itself is not.
    fn above(&self, path: &Path) -> io::Result<()> {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let place = self.place(folder);
            if place.symlink_metadata().is_err() {
                fs::create_dir(&place)?;
                owned_as(folder, &place);
                let mode = folder
                    .metadata()
                    .map_or(0o755, |it| it.permissions().mode());
                fs::set_permissions(&place, Permissions::from_mode(mode & 0o7777))?;
            }
        }
        Ok(())
    }
}

/// Who has the one has the other too, where this process may say so.
fn owned_as(path: &Path, place: &Path) {
    if let Ok(there) = path.metadata() {
        let _ = chown(place, Some(there.uid()), Some(there.gid()));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

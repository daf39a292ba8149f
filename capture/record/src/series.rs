//! The files of one recording: `NAME.reel`, and, where it rotates, `NAME.0001.reel` and so on.
//!
//! The next file is made, with its header, before the one before it is ended: whenever the process
//! is killed, the file with the highest number is the one that the ring file goes on from.

use std::collections::VecDeque;
use std::fs;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use netreel_reel::{
    CallId, Event, EventNumber, Header, Part, Record, ReelWriter, SocketId, Start, WriteError,
};
use netreel_system::file::FileIdentity;
use netreel_system::folder::Folder;

use crate::file::{FileAppend, FileSource, os_code};
use crate::options::{Limits, Options, Reached, Summary};

/// Writes one recording.
pub(crate) struct Series {
    base: PathBuf,
    /// The folder of its files, whatever it is called by now; `None` where it could not be had.
    folder: Option<Folder>,
    header: Header,
    identity: u64,
    options: Options,
    rotation: Option<Limits>,
    writer: ReelWriter<FileAppend>,
    file: Own,
    /// What the next part's start will say.
    next: Part,
    /// The number in the name of the latest file.
    name: u32,
    ended: VecDeque<Own>,
    done: Done,
    /// What the recording's ring file takes beside them, in bytes.
    beside: u64,
    begun: Instant,
    file_begun: Instant,
    again_at: Option<Instant>,
}

/// A file of the recording.
struct Own {
    path: PathBuf,
    identity: FileIdentity,
    bytes: u64,
    events: u64,
    ended: Instant,
}

/// A file that was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub path: PathBuf,
    pub bytes: u64,
    pub events: u64,
}

/// How a file ends.
enum How {
    GoesOn,
    Last,
    /// Without an index, because a write failed.
    Stopped,
}

/// What a recording has come to.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// What is told of it, but for its limit and where it was moved to.
    pub summary: Summary,
    /// Written, also into files that were deleted.
    pub bytes_written: u64,
    /// Files that somebody else has removed, replaced or renamed.
    pub files_gone: u32,
}

/// How long a recording stays in its file after a rotation failed.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Series {
    /// Makes the first file.
    pub fn create(
        base: &Path,
        header: &Header,
        identity: u64,
        options: Options,
    ) -> Result<Series, CreateError> {
        let taken = existing(base);
        if !options.replace && (base.exists() || !taken.is_empty()) {
            return Err(CreateError::Make(io::ErrorKind::AlreadyExists.into()));
        }
        for old in taken {
            fs::remove_file(old)?;
        }
        let mut open = File::options();
        open.write(true)
            .create(true)
            .truncate(options.replace)
            .create_new(!options.replace);
        let file = open.open(base)?;
        let rotation = options.rotation();
        let first = Part::first();
        let part = rotation.map(|_| &first);
        let (writer, file) = begun(base, file, (header, identity, part), options.zstd)?;
        let now = Instant::now();
        Ok(Series {
            base: base.to_owned(),
            folder: Folder::hold(folder_of(base)),
            header: header.clone(),
            identity,
            options,
            rotation,
            writer,
            file,
            next: first,
            name: 0,
            ended: VecDeque::new(),
            done: Done::default(),
            beside: 0,
            begun: now,
            file_begun: now,
            again_at: None,
        })
    }

    pub fn next_number(&self) -> EventNumber {
        self.writer.next_number()
    }

    pub fn sealed_number(&self) -> EventNumber {
        self.writer.sealed_number()
    }

    pub fn push(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        self.writer.push(record)?;
        match record.event {
            Event::SocketOpened { socket, local } => {
                self.close_socket(socket);
                self.next.sockets.push((socket, local));
            }
            Event::SocketClosed { socket } => self.close_socket(socket),
            Event::Switched { on } => self.next.on = on,
            Event::Called {
                call: CallId::START,
                details,
                ..
            } => self.next.begun.push(details.to_vec()),
            _ => {}
        }
        Ok(())
    }

    fn close_socket(&mut self, socket: SocketId) {
        self.next.sockets.retain(|(open, _)| *open != socket);
    }

    pub fn seal(&mut self) -> Result<(), WriteError> {
        self.writer.seal()
    }

    /// Whether it is time to go on in a new file.
    pub fn rotation_is_due(&self) -> bool {
        let Some(limits) = &self.rotation else {
            return false;
        };
        let some = self.next_number() > self.next.first;
        some && limits.reached(self.writer.length(), || self.file_begun.elapsed())
            && self.may_rotate()
    }

    /// When time alone makes something due: a new file, an old one to delete, the end. `at_work`:
    /// events are to be expected.
    pub fn due(&self, now: Instant, at_work: bool) -> Option<Instant> {
        let some = at_work || self.next_number() > self.next.first;
        let time = self.rotation.and_then(|limits| limits.time);
        let rotation = time
            .filter(|_| some)
            .map(|time| self.file_begun + time)
            .map(|at| self.again_at.map_or(at, |again| at.max(again)));
        let oldest = self.ended.front().zip(self.options.keep.time);
        let deletion = oldest.map(|(oldest, keep)| oldest.ended + keep);
        let end = self.options.max.time.map(|time| self.begun + time);
        let due = [rotation, deletion, end].into_iter().flatten().min();
        // Just passed is as good as now; a moment later it is not asked again at once.
        due.map(|at| at.max(now + Duration::from_millis(1)))
    }

    /// Goes on in a new file. All that was pushed is sealed. Where a new file cannot be had, the
    /// recording stays in the one it has, and tries again later. In ring mode the file that was
    /// ended is the caller's from then on.
    pub fn rotate(&mut self) -> Option<Ended> {
        self.follow_folder();
        let mut given = None;
        let mut next = self.next.clone();
        next.number = self.next.number.saturating_add(1);
        next.first = self.next_number();
        match self.make_next(&next) {
            Ok((writer, file)) => {
                self.next = next;
                self.again_at = None;
                self.file_begun = Instant::now();
                let before = std::mem::replace(&mut self.writer, writer);
                let file = std::mem::replace(&mut self.file, file);
                let (file, ended) = file.end(before, How::GoesOn, &mut self.done);
                match self.options.ring {
                    Some(_) => {
                        given = Some(Ended {
                            path: file.path,
                            bytes: file.bytes,
                            events: file.events,
                        });
                    }
                    None => self.ended.push_back(file),
                }
                if let Err(error) = ended {
                    // Its blocks are there; only its index is not.
                    self.done.summary.rotation_failed = Some(code(&error));
                }
            }
            Err(error) => {
                self.done.summary.rotation_failed = Some(match error {
                    CreateError::Make(error) => os_code(&error),
                    CreateError::Write(error) => code(&error),
                });
                self.again_at = Some(Instant::now() + AGAIN_AFTER);
            }
        }
        self.delete_oldest();
        given
    }

    /// The ring file has grown.
    pub fn add_beside(&mut self, bytes: u64) {
        self.beside += bytes;
    }

    /// The file under way.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Whether a new file may be tried: the latest try was not just now.
    pub fn may_rotate(&self) -> bool {
        self.again_at.is_none_or(|at| Instant::now() >= at)
    }

    /// The next file with its header in it: it gets its name when it is whole.
    fn make_next(&mut self, part: &Part) -> Result<(ReelWriter<FileAppend>, Own), CreateError> {
        let mut made = self.base.clone().into_os_string();
        made.push(".new");
        let made = PathBuf::from(made);
        let outcome = (|| {
            let file = File::create(&made)?;
            let start = (&self.header, self.identity, Some(part));
            let (writer, mut own) = begun(&made, file, start, self.options.zstd)?;
            loop {
                self.name = self.name.saturating_add(1);
                let path = part_path(&self.base, self.name);
                // A file of that name may be another recording.
                if path.symlink_metadata().is_ok() {
                    continue;
                }
                fs::rename(&made, &path)?;
                own.path = path;
                return Ok((writer, own));
            }
        })();
        if outcome.is_err() {
            let _ = fs::remove_file(&made);
        }
        outcome
    }

    fn delete_oldest(&mut self) {
        let keep = self.options.keep;
        if self.options.ring.is_some() {
            return;
        }
        loop {
            let ended: u64 = self.ended.iter().map(|file| file.bytes).sum();
            let bytes = ended + self.writer.length();
            let Some(oldest) = self.ended.front() else {
                return;
            };
            let large = keep.bytes.is_some_and(|limit| {
                // A ring file that takes more than half would leave nothing to keep.
                let counts = self.beside <= limit / 2;
                bytes > limit - if counts { self.beside } else { 0 }
            });
            let old = keep
                .time
                .is_some_and(|limit| oldest.ended.elapsed() > limit);
            if !large && !old {
                return;
            }
            self.done.summary.files_deleted += 1;
            self.done.summary.events_deleted += oldest.events;
            self.follow_folder();
            if let Some(oldest) = self.ended.pop_front() {
                // One that is gone already is as good as deleted; one that cannot be deleted would
                // stop all others.
                let _ = fs::remove_file(&oldest.path);
            }
        }
    }

    /// Where the folder was renamed, goes on under its new name. In ring mode others have its name
    /// as well.
    fn follow_folder(&mut self) {
        if self.options.ring.is_some() {
            return;
        }
        let at = folder_of(&self.base);
        let renamed = self.folder.as_ref().and_then(|it| it.renamed(at));
        let Some(folder) = renamed else { return };
        let own = self.ended.iter_mut().chain([&mut self.file]);
        let paths = own.map(|file| &mut file.path).chain([&mut self.base]);
        for path in paths {
            *path = folder.join(path.file_name().unwrap_or_default());
        }
    }

    /// Deletes what has become too old.
    pub fn tidy(&mut self) {
        if self.options.keep.time.is_some() {
            self.delete_oldest();
        }
    }

    /// The limit that ends the recording.
    pub fn limit_reached(&self) -> Option<Reached> {
        let max = self.options.max;
        let bytes = self.done.bytes_written + self.writer.length();
        let size = max.bytes.filter(|limit| bytes >= *limit);
        let time = max.time.filter(|limit| self.begun.elapsed() >= *limit);
        size.map(Reached::Bytes).or(time.map(Reached::Time))
    }

    /// Ends the recording: in order, or, where it had to stop, as it is. The path is that of the
    /// first file, also where that was deleted.
    pub fn finish(mut self, in_order: bool) -> (Done, PathBuf, Result<(), WriteError>) {
        self.follow_folder();
        let how = if in_order { How::Last } else { How::Stopped };
        let (file, result) = self.file.end(self.writer, how, &mut self.done);
        self.ended.push_back(file);
        for file in &self.ended {
            if file.is_there() {
                self.done.summary.files += 1;
                self.done.summary.bytes += file.bytes;
            } else {
                self.done.files_gone += 1;
            }
        }
        (self.done, self.base, result)
    }
}

fn folder_of(base: &Path) -> &Path {
    let folder = base.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

impl Own {
    fn end(
        mut self,
        writer: ReelWriter<FileAppend>,
        how: How,
        done: &mut Done,
    ) -> (Own, Result<(), WriteError>) {
        self.events = writer.totals().events();
        done.summary.events += self.events;
        done.summary.dropped += writer.totals().dropped();
        self.bytes = writer.length();
        let ended = match how {
            How::GoesOn => writer.finish_part().map(|out| self.bytes = out.length()),
            How::Last => writer.finish().map(|out| self.bytes = out.length()),
            How::Stopped => Ok(()),
        };
        self.ended = Instant::now();
        done.bytes_written += self.bytes;
        (self, ended)
    }

    /// Whether it still has its name: nobody has removed, replaced or renamed it.
    fn is_there(&self) -> bool {
        FileIdentity::at(&self.path).is_ok_and(|found| found == self.identity)
    }
}

/// Why a file of a recording could not be made.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum CreateError {
    Make(#[from] io::Error),
    Write(#[from] WriteError),
}

/// Begins a file of a recording, with its header, the recording's identity, and which part it is where
/// there may be several.
fn begun(
    path: &Path,
    file: File,
    (header, identity, part): (&Header, u64, Option<&Part>),
    zstd: bool,
) -> Result<(ReelWriter<FileAppend>, Own), CreateError> {
    let own = Own {
        path: path.to_owned(),
        identity: FileIdentity::of(&file)?,
        bytes: 0,
        events: 0,
        ended: Instant::now(),
    };
    let out = FileAppend::new(file);
    let mut writer = match part {
        Some(part) => ReelWriter::create_part(out, header, identity, part),
        None => ReelWriter::create_with_identity(out, header, identity),
    }?;
    if zstd {
        writer.compress();
    }
    Ok((writer, own))
}

/// The file of a recording with this number in its name: `NAME.reel` for 0, `NAME.0001.reel` for 1.
pub fn part_path(base: &Path, number: u32) -> PathBuf {
    match number {
        0 => base.to_owned(),
        _ => base.with_extension(format!("{number:04}.reel")),
    }
}

/// The base of a part's path, if its name is one that a part may have: `NAME.0001.reel`.
pub(crate) fn base_of(path: &Path) -> Option<PathBuf> {
    let stem = Path::new(path.file_stem()?);
    let number = stem.extension()?.to_str()?;
    let digits = number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && path.extension()? == "reel")
        .then(|| path.with_file_name(stem).with_extension("reel"))
}

/// The number in the name of a part; 0 where it has none.
pub(crate) fn name_number(path: &Path) -> u32 {
    let stem = base_of(path).and(path.file_stem());
    let number = stem.and_then(|stem| Path::new(stem).extension()?.to_str()?.parse().ok());
    number.unwrap_or(0)
}

/// The files whose names follow on number `name`, up to the first that is not there. A recorder at
/// work that goes on in a new file makes it there, so that it is found without reading the folder.
pub(crate) fn named_next(base: &Path, name: u32) -> impl Iterator<Item = PathBuf> {
    let later = name.saturating_add(1)..u32::MAX;
    let paths = later.map(move |number| part_path(base, number));
    paths.take_while(|path| path.symlink_metadata().is_ok())
}

/// Files whose names are those of parts of `base`, itself left out; in the order of their names.
pub fn named_like_parts(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder_of(base)).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    let paths = names.map(|name| base.with_file_name(name));
    let mut found: Vec<PathBuf> = paths
        .filter(|path| base_of(path).as_deref() == Some(base))
        .collect();
    found.sort();
    found
}

/// Parts of a former recording at `base`.
fn existing(base: &Path) -> Vec<PathBuf> {
    let mut found = named_like_parts(base);
    found.retain(|path| {
        let start = File::open(path)
            .map(FileSource::new)
            .ok()
            .and_then(|file| Start::read(&file).ok());
        let part = start.and_then(|start| start.part);
        part.is_some_and(|part| part.number > 0)
    });
    found
}

/// The operating system's code of a write that failed.
pub(crate) fn code(error: &WriteError) -> i32 {
    match error {
        WriteError::Append(error) => error.0,
        _ => netreel_system::codes::FILE_TOO_LARGE,
    }
}

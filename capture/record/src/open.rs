//! Opening reels by path.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_reel::{Opening, ReadAt, Reel, Start, Until};

use crate::file::{FileSource, is_in_hand};
use crate::part_file::{PartFile, PartSource};
use crate::recorder::ring_path;
use crate::ring_image::read_image;
use crate::series::{base_of, name_number, named_like_parts, named_next};

/// A reel with the path that it came from.
#[derive(Clone, Debug)]
pub struct OpenedReel {
    /// The file.
    pub path: PathBuf,
    /// The reel.
    pub reel: Arc<Reel>,
    /// What of a packet capture is not in the reel, a sentence each.
    pub left_out: Vec<String>,
    /// Whether a recorder was at work on it just before it was opened.
    pub is_written: bool,
}

/// What is known of recordings that are opened again and again while they are written: what was
/// read of them is not read again.
#[derive(Debug, Default)]
pub struct Openings(BTreeMap<PathBuf, Opening>);

/// The reels of a session, sorted by file name, and those that could not be opened.
#[derive(Debug)]
pub struct OpenedSession {
    /// The reels; at least one.
    pub reels: Vec<OpenedReel>,
    /// What could not be opened.
    pub failed: Vec<OpenError>,
}

impl OpenedSession {
    /// Whether a recorder has just begun a reel that could not be opened: its header is not whole yet.
    pub fn is_beginning(&self) -> bool {
        self.failed.iter().any(|it| {
            let is_cut = matches!(
                it.why,
                OpenWhy::Reel(
                    netreel_reel::OpenError::Empty | netreel_reel::OpenError::HeaderCut { .. }
                )
            );
            is_cut && is_in_hand(&it.path)
        })
    }
}

/// A path that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .path.display())]
pub struct OpenError {
    /// The path.
    pub path: PathBuf,
    /// Why.
    pub why: OpenWhy,
}

/// Why a path could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenWhy {
    /// The operating system refused.
    #[error("cannot open it: {0}")]
    Io(#[from] io::Error),
    /// A device, a pipe, or a folder where a file is asked for.
    #[error("it is not a plain file; a reel is read from one")]
    NotAFile,
    /// The file is not a reel that can be read.
    #[error(transparent)]
    Reel(#[from] netreel_reel::OpenError),
    /// The file is of another kind ([`OtherFile`]), and cannot be read as one.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
    /// A folder without reels.
    #[error("there is no file *.reel in this folder")]
    NoReels,
    /// No path was given.
    #[error("name a reel, or a folder of reels")]
    NoPath,
    /// Nobody wants it any more.
    #[error("it was given up")]
    GivenUp,
}

impl OpenWhy {
    /// The error of a path that could not be opened for this.
    pub fn at(self, path: &Path) -> OpenError {
        let (path, why) = (path.to_owned(), self);
        OpenError { path, why }
    }
}

/// A file that is no reel, but can be shown as one: its reel, and what of it is not in there, a sentence
/// each.
pub type OtherFile = (Reel, Vec<String>);

/// Who opens files of another kind: `None` where it is none of those either. Asked before a file is read as
/// a reel.
pub type OpensOthers<'a> = &'a dyn Fn(&Path) -> Result<Option<OtherFile>, OpenWhy>;

/// Opens a reel with what its ring file (`NAME.reel.ring` beside it) still holds.
///
/// The first file of a recording in several, `NAME.reel`, stands for all that are beside it, also
/// where it is itself gone; a later one is opened alone.
///
/// # Errors
/// There is no such file, or it is no reel.
pub fn open(path: impl AsRef<Path>) -> Result<Reel, OpenError> {
    let path = path.as_ref();
    let found = Named::find(path).and_then(|named| named.open(&mut Opening::default()));
    found.map_or_else(|why| Err(why.at(path)), |(reel, _)| Ok(reel))
}

/// Opens every path: a reel, or a folder whose files `*.reel` are opened in the order of their names;
/// the files of one recording as one reel.
///
/// # Errors
/// Not one reel could be opened.
pub fn open_session<P: AsRef<Path>>(paths: &[P]) -> Result<OpenedSession, OpenError> {
    open_session_with(paths, None, &|_| Ok(None))
}

/// The same with `others`, and of recordings that are opened again and again with `openings`, the same
/// each time.
///
/// # Errors
/// As for [`open_session`]; [`OpenWhy::GivenUp`] where `others` gives up.
pub fn open_session_with<P: AsRef<Path>>(
    paths: &[P],
    mut openings: Option<&mut Openings>,
    others: OpensOthers<'_>,
) -> Result<OpenedSession, OpenError> {
    let mut failed = Vec::new();
    let mut found: Vec<Named> = Vec::new();
    let mut reels = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let files = files(path).unwrap_or_else(|why| {
            failed.push(why.at(path));
            Vec::new()
        });
        for path in files {
            match others(&path) {
                Ok(None) => {}
                Ok(Some((reel, left_out))) => {
                    reels.push(OpenedReel {
                        path,
                        reel: Arc::new(reel),
                        left_out,
                        is_written: false,
                    });
                    continue;
                }
                Err(why @ OpenWhy::GivenUp) => return Err(OpenError { path, why }),
                Err(why) => {
                    failed.push(OpenError { path, why });
                    continue;
                }
            }
            match Named::find(&path) {
                Ok(named) => match found.iter_mut().find(|other| other.is_same(&named)) {
                    Some(other) => other.add(named),
                    None => found.push(named),
                },
                Err(why) => failed.push(OpenError { path, why }),
            }
        }
    }
    for named in found {
        let path = named.shown();
        let mut once = Opening::default();
        let opening = match &mut openings {
            Some(openings) => openings.0.entry(named.base.clone()).or_default(),
            None => &mut once,
        };
        match named.open(opening) {
            Ok((reel, is_written)) => reels.push(OpenedReel {
                path,
                reel: Arc::new(reel),
                left_out: Vec::new(),
                is_written,
            }),
            Err(why) => failed.push(OpenError { path, why }),
        }
    }
    if reels.is_empty() {
        let nothing = || OpenWhy::NoPath.at(Path::new(""));
        return Err(failed.into_iter().next().unwrap_or_else(nothing));
    }
    reels.sort_by(|a, b| (a.path.file_name(), &a.path).cmp(&(b.path.file_name(), &b.path)));
    Ok(OpenedSession { reels, failed })
}

/// The files of the reel at `path`: itself, and, if it is the first of a recording in several,
/// those of the others that are beside it. In the order of the recording.
///
/// # Errors
/// As for [`open`].
pub fn reel_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, OpenError> {
    let path = path.as_ref();
    let named = Named::find(path).map_err(|why| why.at(path))?;
    Ok(named.files.into_iter().map(|(_, path)| path).collect())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, OpenWhy> {
    if !path.is_dir() {
        // It may stand for parts that are there.
        return Ok(vec![path.to_owned()]);
    }
    let files = reels_at(path)?;
    if files.is_empty() {
        Err(OpenWhy::NoReels)
    } else {
        Ok(files)
    }
}

/// The file at `path`, or the reels in the folder there, in the order of their names.
pub fn reels_at(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let path = path.as_ref();
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path)? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|it| it == "reel"));
    files.sort();
    Ok(files)
}

/// The files that make one reel.
struct Named {
    /// By the numbers of the parts; one file, with number 0, where the recording has no parts.
    files: Vec<(u32, PathBuf)>,
    /// What ties parts together; `None` where the recording has no parts.
    identity: Option<u64>,
    /// `NAME.reel`, also where it is not there.
    base: PathBuf,
}

impl Named {
    fn find(path: &Path) -> Result<Named, OpenWhy> {
        let start = match start(path) {
            Ok(start) => start,
            Err(OpenWhy::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Named::without_first(path).ok_or(OpenWhy::Io(error));
            }
            Err(why) => return Err(why),
        };
        let number = start.part.as_ref().map(|part| part.number);
        let base = match number {
            None | Some(0) => path.to_owned(),
            Some(_) => base_of(path).unwrap_or_else(|| path.to_owned()),
        };
        let mut named = Named {
            files: vec![(number.unwrap_or(0), path.to_owned())],
            identity: number.map(|_| start.identity),
            base,
        };
        if number == Some(0) {
            named.files.extend(named.others());
        }
        Ok(named)
    }

    /// The parts of `base` whose first one is gone.
    fn without_first(base: &Path) -> Option<Named> {
        let mut parts = named_like_parts(base).into_iter();
        let start = parts.find_map(|path| start(&path).ok())?;
        start.part?;
        let mut named = Named {
            files: Vec::new(),
            identity: Some(start.identity),
            base: base.to_owned(),
        };
        named.files = named.others();
        Some(named)
    }

    /// The recording's parts that are beside its base.
    fn others(&self) -> Vec<(u32, PathBuf)> {
        let parts = named_like_parts(&self.base).into_iter();
        let numbered = parts.filter_map(|path| Some((self.part_number(&path)?, path)));
        let mut others: Vec<_> = numbered.collect();
        others.sort();
        others
    }

    fn is_same(&self, other: &Named) -> bool {
        match (self.identity, other.identity) {
            // 0 ties nothing together.
            (Some(one), Some(other_one)) if one != 0 => {
                one == other_one && self.base.parent() == other.base.parent()
            }
            _ => self.identity == other.identity && self.base == other.base,
        }
    }

    fn add(&mut self, other: Named) {
        self.files.extend(other.files);
        self.files.sort();
        self.files.dedup();
    }

    /// What people call it.
    fn shown(&self) -> PathBuf {
        match self.files.as_slice() {
            [(_, path)] => path.clone(),
            _ => self.base.clone(),
        }
    }

    /// Whether a recorder is at work: it has the last file in hand, or has gone on in a later one. A later
    /// one is there before the recorder lets go of one.
    fn is_written(&self) -> bool {
        let mut last = self.files.last().cloned();
        for _ in 0..AHEAD_MAX {
            let Some((number, path)) = &last else {
                return false;
            };
            // A recorder that keeps no more than it was told to deletes files.
            if is_in_hand(path) || !path.exists() {
                return true;
            }
            let later = self.is_whole().then(|| self.behind(*number, path));
            last = later.and_then(|mut later| later.pop());
        }
        true
    }

    /// Whether all parts of the recording are asked for, and not a later one by itself.
    fn is_whole(&self) -> bool {
        self.identity.is_some() && (self.files.len() > 1 || matches!(*self.files, [(0, _)]))
    }

    /// Opens it; and whether a recorder was at work just before.
    fn open(mut self, opening: &mut Opening) -> Result<(Reel, bool), OpenWhy> {
        // Before all reading: what is there when the recorder is gone is all that there will be.
        let is_written = self.is_written();
        // Before the files: what a recorder takes from the rings meanwhile is in the files then.
        let rings = read_rings(&ring_path(&self.base));
        let mut is_last = true;
        let mut under_way = None;
        if self.identity.is_some() {
            // A recorder may be at work, and may have gone on in a new file since.
            let last = self.files.last().map(|(number, _)| *number);
            let others = self.others();
            if self.is_whole() {
                self.files.extend(others);
                under_way = self.add_up_to_last();
            } else {
                is_last = others.iter().all(|(number, _)| Some(*number) <= last);
            }
        }
        if under_way.is_some() {
            self.files.pop();
        }
        let mut sources: Vec<Arc<dyn ReadAt>> = Vec::new();
        for (_, path) in &self.files {
            match PartFile::open(path) {
                Ok(file) => sources.push(Arc::new(PartSource(file))),
                // The recorder has just deleted it, as it was told to keep less.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && self.identity.is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(last) = under_way {
            sources.push(Arc::new(last));
        }
        let rings = rings.as_deref().filter(|_| is_last);
        let mut reel = Reel::open_again(sources, rings, opening)?;
        if is_written && is_last {
            reel.set_still_recorded();
        }
        Ok((reel, is_written))
    }

    /// Adds the parts that a recorder makes while this looks. The last one, as it was when there was
    /// no later one; `None` where it cannot be opened, or where the recorder is always ahead.
    ///
    /// As the next part is made before one gets its end, this one had no end then, unless the whole
    /// recording has ended. So the ring file goes on from it. Were it read after its end, what the
    /// ring file held behind that would be lost: it is in a part that is not among these.
    fn add_up_to_last(&mut self) -> Option<Until<FileSource>> {
        self.fill();
        for _ in 0..AHEAD_MAX {
            let (last, path) = self.files.last()?.clone();
            let file = FileSource::new(File::open(&path).ok()?);
            let length = file.length().ok()?;
            let later = self.behind(last, &path);
            if later.is_empty() {
                return Some(Until::new(file, length));
            }
            self.files.extend(later);
        }
        None
    }

    /// Puts the parts in order, with those that were made while the folder was read: a listing may
    /// have one of them and not the one before it.
    fn fill(&mut self) {
        self.sort();
        let mut made = Vec::new();
        for two in self.files.windows(2) {
            if let [(number, path), (next, _)] = two
                && number.saturating_add(1) < *next
            {
                made.extend(self.behind(*number, path));
            }
        }
        self.files.extend(made);
        self.sort();
    }

    fn sort(&mut self) {
        self.files.sort();
        self.files.dedup_by_key(|(number, _)| *number);
    }

    /// The parts whose names follow on that of part `number`.
    fn behind(&self, number: u32, path: &Path) -> Vec<(u32, PathBuf)> {
        let next = named_next(&self.base, name_number(path));
        let numbered = next.filter_map(|path| Some((self.part_number(&path)?, path)));
        numbered.filter(|(later, _)| *later > number).collect()
    }

    /// Which part of this recording is at `path`.
    fn part_number(&self, path: &Path) -> Option<u32> {
        let start = start(path).ok()?;
        let ours = Some(start.identity) == self.identity;
        start.part.filter(|_| ours).map(|part| part.number)
    }
}

/// How often a part that was the last one may have got a successor. Each time costs a few system
/// calls; a recorder takes about a millisecond for a part of the smallest size.
const AHEAD_MAX: usize = 10_000;

fn start(path: &Path) -> Result<Start, OpenWhy> {
    let file = FileSource::open(path)?.ok_or(OpenWhy::NotAFile)?;
    Ok(Start::read(&file)?)
}

/// What a ring file holds, if there is one.
fn read_rings(path: &Path) -> Option<Vec<u8>> {
    let file = FileSource::open(path).ok()??;
    let mut image = Vec::new();
    read_image(&file, &mut image)?;
    Some(image)
}

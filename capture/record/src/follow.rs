//! Following a reel while it is recorded.

use std::path::{Path, PathBuf};

use netreel_reel::{
    CutWhy, Ending, Endpoint, EventNumber, Header, ReadError, Record, SocketId, Start, Tail,
    TailState,
};

use crate::file::{FileSource, is_being_written};
use crate::open::{OpenError, OpenWhy, open};
use crate::recorder::ring_path;
use crate::ring_image::read_image;
use crate::series::{base_of, name_number, named_like_parts, named_next};

/// A reel that is followed: each look shows what came since the one before, every event once and
/// in order. Only what is new is read.
///
/// An event is shown as soon as it is pushed, be it in a block of the reel or still in the ring
/// file, and no event with a higher number before it. Nothing of the recording is touched, nor is
/// the recorder ever kept waiting.
pub struct Follower {
    path: PathBuf,
    /// The recording's first part, whether it is there or not.
    base: PathBuf,
    source: FileSource,
    /// The number in the name of the part that is read.
    name: u32,
    header: Header,
    sockets: Vec<(SocketId, Endpoint)>,
    tail: Tail,
    rings: Rings,
    end: Option<FollowEnd>,
}

/// How a recording that was followed ended. All that it holds was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowEnd {
    /// In order.
    InOrder,
    /// The recorder is gone, and had not ended it: it was killed, or a write failed. What the ring
    /// file and a torn block held was shown as well.
    Cut(CutWhy),
}

/// Why a recording cannot be followed further.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The reel.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// Somebody cut it or wrote another over it.
    #[error("{}: it is shorter than what was read of it: somebody cut or replaced it", .path.display())]
    Shrunk {
        /// The reel.
        path: PathBuf,
    },
}

impl Follower {
    /// Opens a reel, whether it is still recorded or not. Nothing is shown yet.
    ///
    /// # Errors
    /// It is not a reel, or not yet: of a file that is empty or ends in its header, try again.
    pub fn open(path: impl AsRef<Path>) -> Result<Follower, OpenError> {
        let path = path.as_ref();
        let opened = (|| {
            let source = FileSource::open(path)?.ok_or(OpenWhy::NotAFile)?;
            let (tail, header) = Tail::open(&source)?;
            let sockets = Start::read(&source)?.part.map(|part| part.sockets);
            let base = base_of(path).filter(|_| tail.part() > 0);
            let name = base.as_ref().map_or(0, |_| name_number(path));
            let base = base.unwrap_or_else(|| path.to_owned());
            Ok(Follower {
                path: path.to_owned(),
                rings: Rings::new(ring_path(&base)),
                base,
                source,
                name,
                header,
                sockets: sockets.unwrap_or_default(),
                tail,
                end: None,
            })
        })();
        opened.map_err(|why: OpenWhy| why.at(path))
    }

    /// The reel.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the reel says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The sockets that were open already where following began, with their local endpoints.
    pub fn sockets(&self) -> &[(SocketId, Endpoint)] {
        &self.sockets
    }

    /// What ties the files of one recording together, and which of its parts is read; 0 for a reel
    /// without. A follower goes on from part to part by itself.
    pub fn part(&self) -> (u64, u32) {
        (self.tail.identity(), self.tail.part())
    }

    /// The number of the next event that will be shown, or a lower one than that.
    pub fn next_number(&self) -> EventNumber {
        self.tail.next_number()
    }

    /// Shows every event that came since the last look, and says how the recording ended, once it
    /// has.
    ///
    /// # Errors
    /// The reel cannot be read any more, or is another one.
    pub fn look(
        &mut self,
        show: &mut dyn FnMut(&Record<'_>),
    ) -> Result<Option<FollowEnd>, FollowError> {
        if self.end.is_some() {
            return Ok(self.end);
        }
        // Before all reading: what is there when the recorder is gone is all that there will be.
        let alive = is_being_written(self.source.file());
        // Before the blocks, see `Tail::rings`.
        let has_rings = self.rings.read().is_some();
        let pushed = self.rings.next_number().filter(|_| has_rings);
        let mut state = self.blocks(show)?;
        let mut alive = alive;
        let mut went_on = false;
        while state == TailState::GoesOn || !alive {
            // All that was there when this look began is shown: a recorder that makes files as fast
            // as they are read must not keep it from ending.
            let all = pushed.is_some_and(|pushed| self.tail.next_number() > pushed);
            if all && went_on && state == TailState::GoesOn {
                return Ok(None);
            }
            // A part that lost its recorder without an end may have a successor all the same.
            if self.next_part() {
                (alive, went_on) = (true, true);
                state = self.blocks(show)?;
            } else if state == TailState::GoesOn {
                self.end = Some(FollowEnd::Cut(CutWhy::NextPartMissing));
                return Ok(self.end);
            } else {
                break;
            }
        }
        match state {
            TailState::Shrunk => {
                let path = self.path.clone();
                return Err(FollowError::Shrunk { path });
            }
            TailState::Ended => {
                self.end = Some(FollowEnd::InOrder);
                return Ok(self.end);
            }
            TailState::Open | TailState::Strange | TailState::GoesOn => {}
        }
        if has_rings {
            // One of another reel is as good as none.
            let _ = self.tail.rings(&self.rings.image, show);
        }
        if !alive {
            self.rest(show)?;
        }
        Ok(self.end)
    }

    fn blocks(&mut self, show: &mut dyn FnMut(&Record<'_>)) -> Result<TailState, FollowError> {
        let state = self.tail.blocks(&self.source, show);
        state.map_err(|error| FollowError::Read {
            path: self.path.clone(),
            error,
        })
    }

    /// Goes on with the next part that is there; `false` if there is none.
    fn next_part(&mut self) -> bool {
        let part = |path: PathBuf| {
            let source = FileSource::open(&path).ok()??;
            let start = Start::read(&source).ok()?;
            let number = self.tail.later_part(&start)?;
            Some((number, start, source, name_number(&path)))
        };
        let next = self.tail.part().checked_add(1);
        let mut found = named_next(&self.base, self.name)
            .filter_map(part)
            .find(|(number, ..)| Some(*number) == next);
        for _ in 0..LISTINGS {
            if found.is_some() {
                break;
            }
            let later = named_like_parts(&self.base).into_iter().filter_map(part);
            found = later.min_by_key(|(number, ..)| *number);
        }
        let Some((_, start, source, name)) = found else {
            return false;
        };
        self.tail.go_on(&start);
        self.source = source;
        self.name = name;
        true
    }

    /// Shows what only a reader of the whole reel finds: events behind damage and behind numbers
    /// that were never published.
    fn rest(&mut self, show: &mut dyn FnMut(&Record<'_>)) -> Result<(), FollowError> {
        let reel = open(&self.base).or_else(|_| open(&self.path))?;
        let next = self.tail.next_number();
        for block in reel.find(next).unwrap_or(0)..reel.blocks() {
            // What cannot be read is lost, as it is for every reader.
            let Ok(block) = reel.block(block) else {
                continue;
            };
            let new = block.records().filter(|record| record.number >= next);
            new.for_each(|record| show(&record));
        }
        self.end = Some(match reel.ending() {
            Ending::Clean => FollowEnd::InOrder,
            Ending::Cut { why, .. } => FollowEnd::Cut(*why),
        });
        Ok(())
    }
}

/// How often the folder is read for a part that has to be there: a recorder that keeps little may
/// delete what was listed, and make others, before one of them is opened.
const LISTINGS: usize = 3;

/// What the ring file holds, read again and again.
struct Rings {
    path: PathBuf,
    file: Option<FileSource>,
    image: Vec<u8>,
}

impl Rings {
    fn new(path: PathBuf) -> Rings {
        Rings {
            path,
            file: None,
            image: Vec::new(),
        }
    }

    /// The number that the next event would have taken when the image was made.
    fn next_number(&self) -> Option<EventNumber> {
        let bytes = self.image.get(64..72)?.try_into().ok()?;
        Some(EventNumber(u64::from_le_bytes(bytes)))
    }

    /// Makes the image what is there now; `None` where there is no ring file.
    fn read(&mut self) -> Option<()> {
        if self.file.is_none() {
            self.file = FileSource::open(&self.path).ok()?;
        }
        let capacity = read_image(self.file.as_ref()?, &mut self.image)?;
        (capacity > 0).then_some(())
    }
}
